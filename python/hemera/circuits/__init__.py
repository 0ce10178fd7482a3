"""Ready-made circuits, whose keys and cost are known before they run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hemera._core import KeyNeed
from hemera.circuits.bootstrap import Bootstrap
from hemera.circuits.composition import function
from hemera.circuits.elementary import (
    abs,  # noqa: A004
    clip,
    compare,
    divide,
    exp,
    from_recipe,
    gelu,
    inverse,
    leaky_relu,
    log,
    maximum,
    relu,
    sigmoid,
    sign,
    silu,
    softplus,
    sqrt,
    tanh,
)
from hemera.circuits.functions import Function, FunctionPlan
from hemera.circuits.grid import TransformGrid
from hemera.circuits.integer_bootstrap import IntegerBootstrap
from hemera.circuits.linear import LinearTransform
from hemera.circuits.matrices import MatrixBatchProduct, MatrixProduct, MatrixVectorProduct
from hemera.circuits.plans import Plan
from hemera.circuits.polynomials import Polynomial, approximate
from hemera.circuits.rows import PlainMatrixProduct
from hemera.circuits.selection import argmax, softmax
from hemera.circuits.slots import InnerSum, Mask, Replication

if TYPE_CHECKING:
    from hemera.circuits.packed_rows import PackedRowsProduct
    from hemera.circuits.periodic import PeriodicTransform

__all__ = [
    "Bootstrap",
    "Function",
    "FunctionPlan",
    "InnerSum",
    "IntegerBootstrap",
    "KeyNeed",
    "LinearTransform",
    "Mask",
    "MatrixBatchProduct",
    "MatrixProduct",
    "MatrixVectorProduct",
    "PackedRowsProduct",
    "PeriodicTransform",
    "PlainMatrixProduct",
    "Plan",
    "Polynomial",
    "Replication",
    "TransformGrid",
    "abs",
    "approximate",
    "argmax",
    "clip",
    "compare",
    "divide",
    "exp",
    "from_recipe",
    "function",
    "gelu",
    "inverse",
    "leaky_relu",
    "log",
    "maximum",
    "relu",
    "sigmoid",
    "sign",
    "silu",
    "softmax",
    "softplus",
    "sqrt",
    "tanh",
]


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        # Imported at their first use.
        if name == "PackedRowsProduct":
            from hemera.circuits.packed_rows import PackedRowsProduct

            return PackedRowsProduct
        if name == "PeriodicTransform":
            from hemera.circuits.periodic import PeriodicTransform

            return PeriodicTransform
        raise AttributeError(f"module 'hemera.circuits' has no attribute {name!r}")
