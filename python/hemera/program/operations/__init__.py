"""The operations that programs are made of: each checks, plans, runs, and computes in the clear."""

from hemera.program.operations.arithmetic import (
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
from hemera.program.operations.base import Encoded, OfMatrix, Operation, Running, parts_of
from hemera.program.operations.batches import Joined, MatrixRows, PairProducts, Reordered, pair_product
from hemera.program.operations.circuits import MAX_FUNCTIONS, Matmul, OfNamedFunction, OfPolynomial
from hemera.program.operations.integers import IntegerFunction, integer_keys
from hemera.program.operations.maps import Map, RowMap
from hemera.program.operations.parts import Join, Parts
from hemera.program.operations.places import Place
from hemera.program.operations.refreshes import (
    Bootstraps,
    ExactBootstraps,
    Refresh,
    bootstrap_with,
    exact_bootstrap,
)
from hemera.program.operations.slots import Conjugate, Lower, Rotate, RotateRows, Sum, SwapRows, Take
from hemera.program.operations.turns import Rotations, SumsOfProducts

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
    "IntegerFunction",
    "Join",
    "Joined",
    "Lower",
    "Map",
    "Matmul",
    "MatrixRows",
    "Multiply",
    "MultiplyArray",
    "MultiplyNumber",
    "Negate",
    "OfMatrix",
    "OfNamedFunction",
    "OfPolynomial",
    "Operation",
    "PairProducts",
    "Parts",
    "Place",
    "Power",
    "Refresh",
    "Reordered",
    "Rotate",
    "RotateRows",
    "Rotations",
    "RowMap",
    "Running",
    "Subtract",
    "Sum",
    "SumsOfProducts",
    "SwapRows",
    "Take",
    "bootstrap_with",
    "exact_bootstrap",
    "integer_keys",
    "pair_product",
    "parts_of",
]

OPERATIONS: dict[str, type[Operation]] = {
    kind.name: kind
    for kind in map(globals().get, __all__)
    if isinstance(kind, type) and hasattr(kind, "name")
}
"""The operations, by the names that files have."""
