"""Ready-made circuits, which say what they need and cost before they run."""

from hemera._core import KeyNeed
from hemera.circuits.bootstrap import Bootstrap
from hemera.circuits.functions import (
    Function,
    FunctionPlan,
    Polynomial,
    approximate,
    clip,
    compare,
    exp,
    from_recipe,
    gelu,
    inverse,
    log,
    maximum,
    sigmoid,
    sign,
    sqrt,
    tanh,
)
from hemera.circuits.linear import LinearTransform
from hemera.circuits.matrices import MatrixProduct, MatrixVectorProduct
from hemera.circuits.plans import Plan
from hemera.circuits.slots import InnerSum, Mask, Replication

__all__ = [
    "Bootstrap",
    "Function",
    "FunctionPlan",
    "InnerSum",
    "KeyNeed",
    "LinearTransform",
    "Mask",
    "MatrixProduct",
    "MatrixVectorProduct",
    "Plan",
    "Polynomial",
    "Replication",
    "approximate",
    "clip",
    "compare",
    "exp",
    "from_recipe",
    "gelu",
    "inverse",
    "log",
    "maximum",
    "sigmoid",
    "sign",
    "sqrt",
    "tanh",
]
