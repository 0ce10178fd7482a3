"""The operations that programs are made of: each checks, plans, runs, and computes in the clear."""

from hemera.serving.operations.arithmetic import (
    Add,
    AddArray,
    AddNumber,
    Dot,
    DotArrays,
    Multiply,
    MultiplyArray,
    MultiplyNumber,
    Negate,
    Power,
    Subtract,
)
from hemera.serving.operations.base import Encoded, OfMatrix, Operation, Place, Running, parts_of
from hemera.serving.operations.circuits import (
    MAX_FUNCTIONS,
    Bootstraps,
    ExactBootstraps,
    Matmul,
    OfNamedFunction,
    OfPolynomial,
    Refresh,
    exact_bootstrap,
)
from hemera.serving.operations.maps import Map, RowMap
from hemera.serving.operations.parts import Join, Parts
from hemera.serving.operations.slots import Conjugate, Lower, Rotate, RotateRows, Sum, SwapRows, Take

__all__ = [
    "MAX_FUNCTIONS",
    "OPERATIONS",
    "Add",
    "AddArray",
    "AddNumber",
    "Bootstraps",
    "Conjugate",
    "Dot",
    "DotArrays",
    "Encoded",
    "ExactBootstraps",
    "Join",
    "Lower",
    "Map",
    "Matmul",
    "Multiply",
    "MultiplyArray",
    "MultiplyNumber",
    "Negate",
    "OfMatrix",
    "OfNamedFunction",
    "OfPolynomial",
    "Operation",
    "Parts",
    "Place",
    "Power",
    "Refresh",
    "Rotate",
    "RotateRows",
    "RowMap",
    "Running",
    "Subtract",
    "Sum",
    "SwapRows",
    "Take",
    "exact_bootstrap",
    "parts_of",
]

OPERATIONS: dict[str, type[Operation]] = {
    kind.name: kind
    for kind in (
        Add,
        Subtract,
        Negate,
        Multiply,
        Power,
        Dot,
        AddNumber,
        MultiplyNumber,
        AddArray,
        MultiplyArray,
        DotArrays,
        Rotate,
        RotateRows,
        Conjugate,
        SwapRows,
        Sum,
        Take,
        Matmul,
        Map,
        RowMap,
        OfPolynomial,
        OfNamedFunction,
        Bootstraps,
        ExactBootstraps,
        Lower,
        Parts,
        Join,
    )
}
"""By the name that files have."""
