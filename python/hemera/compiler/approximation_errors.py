"""How far approximations take a program's results, at most."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.sparse_map import SparseMap
from hemera.arrays.tensor import Affine, Apply, Input, Multiply, TensorProgram
from hemera.circuits import Function

__all__ = ["error_bounds"]

Floats = NDArray[np.float64]

_GRID = 4097


def error_bounds(program: TensorProgram) -> list[Floats]:
    """A bound for each element of each output, flat: by how much it may differ from the same program with
    exact functions, where values lie in their ranges. Without the noise of ciphertexts.

    Errors of functions are those that they tell; slopes are the largest between points of a grid.
    """
    found: list[Floats] = []
    for node in program.nodes:
        operation = node.operation
        own = [found[at] for at in node.operands]
        if isinstance(operation, Input):
            error = np.zeros(node.size)
        elif isinstance(operation, Affine):
            error = np.zeros(node.size)
            for each, before in zip(operation.maps, own, strict=True):
                error = error + _sizes(each).apply(before)
        elif isinstance(operation, Multiply):
            a, b = (max(map(abs, program.nodes[at].range)) for at in node.operands)
            error = a * own[1] + b * own[0] + own[0] * own[1]
        else:
            assert isinstance(operation, Apply)  # look-ups are of exact programs
            error = np.full(node.size, operation.function.error)
            for at, before in enumerate(own):
                if before.any():
                    ranges = [program.nodes[operand].range for operand in node.operands]
                    error = error + _slope(operation.function, ranges, at) * before
        found.append(error)
    return [found[at] for _, at in program.outputs]


def _sizes(own: SparseMap) -> SparseMap:
    return SparseMap(own.outputs, own.inputs, own.rows, own.columns, np.abs(own.values))


def _slope(function: Function, ranges: list[tuple[float, float]], at: int) -> float:
    """The largest change of a function by one of its operands."""
    if len(ranges) > 1:
        return 1.0  # the functions of two values are maximum and comparisons
    low, high = ranges[at]
    if not high > low:
        return 0.0
    x = np.linspace(low, high, _GRID)
    values = np.asarray(function.evaluate_clear(x), np.float64)
    return float(np.abs(np.diff(values)).max() / (x[1] - x[0]))
