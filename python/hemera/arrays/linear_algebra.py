"""Linear functions of encrypted arrays, and `numpy.linalg`: determinants, inverses, systems, powers."""

from __future__ import annotations

import functools
import operator
import string
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hemera.arrays.contraction import MOST_ENTRIES, each_moved, einsum, matmul, of_kinds, outer
from hemera.arrays.elementwise import reciprocal
from hemera.arrays.recorded import Recorded, axes_of, moved, rearranged, sum_of_maps
from hemera.arrays.sparse_map import SparseMap, Values
from hemera.errors import MismatchError, ParameterError
from hemera.inputs.plain import plain_array

_MOST = 4
"""Rows of the largest matrix of which minors are computed."""


def _require_square(x: Any, most: int = _MOST) -> int:
    """The number of rows of square matrices. ParameterError for others, and for more rows."""
    shape = np.shape(x)
    if len(shape) < 2 or shape[-1] != shape[-2] or shape[-1] > most:
        raise ParameterError(
            f"encrypted square matrices of at most {most} rows are taken, not one of shape {shape}; "
            "systems with a plain matrix have any size: np.linalg.solve(matrix, x)"
        )
    return int(shape[-1])


def _minor(x: Recorded, rows: Sequence[int], columns: Sequence[int]) -> Any:
    """The determinant of some rows and columns, by the first row."""
    if not rows:
        return 1.0
    first, *others = rows
    terms = [
        rearranged(x, operator.itemgetter((..., first, column)))
        * _minor(x, others, [each for each in columns if each != column])
        * (-1) ** at
        for at, column in enumerate(columns)
    ]
    return functools.reduce(operator.add, terms)


def determinant(a: Any) -> Any:
    """`numpy.linalg.det` of matrices of at most 4 rows, by minors."""
    every = range(_require_square(a))
    return _minor(a * 1.0, every, every)


def inverse(a: Any) -> Any:
    """`numpy.linalg.inv` of matrices of at most 4 rows. RangeError where a determinant can be 0."""
    count = _require_square(a)
    x = a * 1.0
    others = [[each for each in range(count) if each != at] for at in range(count)]
    scale = reciprocal(determinant(a))
    parts = [
        scale * _minor(x, others[row], others[column]) * (-1) ** (row + column)
        for column in range(count)
        for row in range(count)
    ]
    return moved(parts, lambda *y: np.stack(y, -1).reshape(*x.shape[:-2], count, count))


def solution(a: Any, b: Any) -> Any:
    """`numpy.linalg.solve`: of plain matrices of any size, and of encrypted ones of at most 4 rows."""
    if isinstance(a, Recorded):
        inverted = inverse(a)
    else:
        plain = plain_array(a, "np.linalg.solve", np.float64)
        _require_square(plain, 1 << 20)
        inverted = np.linalg.inv(plain)
    shape = np.shape(b)
    if not shape or shape[-1 if len(shape) == 1 else -2] != np.shape(inverted)[-1]:
        raise MismatchError(f"solve: arrays of shapes {np.shape(a)} and {shape} do not fit each other")
    return matmul(inverted, b)


def matrix_power(a: Any, n: int) -> Any:
    """`numpy.linalg.matrix_power`, by squaring; negative powers as `inverse`."""
    _require_square(a, 1 << 20)
    count = operator.index(n)
    if count < 0:
        return matrix_power(inverse(a), -count)
    if count == 0:
        raise ParameterError("the power 0 of matrices is plain: np.eye(rows)")
    half = matrix_power(a, count // 2) if count > 1 else None
    found = a if half is None else matmul(half, half)
    return matmul(found, a) if half is not None and count % 2 else found


def multi_dot(arrays: Sequence[Any]) -> Any:
    """`numpy.linalg.multi_dot`, from the left."""
    if len(arrays) < 2:
        raise ParameterError("np.linalg.multi_dot takes two arrays at least")
    return functools.reduce(lambda a, b: a @ b, arrays)


@of_kinds
def convolve(a: Any, v: Any, mode: Any = "full") -> Any:
    """`numpy.convolve`."""
    return _slid(a, v, lambda x, y: np.convolve(x, y, mode))


@of_kinds
def correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
    """`numpy.correlate`."""
    return _slid(a, v, lambda x, y: np.correlate(x, y, mode))


def _slid(a: Any, b: Any, function: Callable[[Values, Values], Values]) -> Any:
    """A bilinear function of two vectors, by its values at pairs of unit vectors."""
    if len(a.shape) > 1 or len(b.shape) > 1:
        raise MismatchError(f"two vectors are needed, not arrays of shapes {a.shape} and {b.shape}")
    a, b = (each_moved(x, np.atleast_1d) for x in (a, b))
    if isinstance(b, Recorded) and not isinstance(a, Recorded):
        return linear(lambda y: function(a, y), b)
    if not isinstance(b, Recorded):
        return linear(lambda x: function(x, b), a)
    # Each result is a sum of products of pairs: its place is that of the pair's.
    n, m = a.size, b.size
    if n * m > MOST_ENTRIES // max(n, m):
        raise ParameterError(f"encrypted vectors of {n} and {m} elements are too long for this")
    values = np.stack([[function(x, y) for y in np.eye(m)] for x in np.eye(n)])
    return linear(lambda pairs: np.tensordot(pairs.reshape(n, m), values, 2), outer(a, b))


def linear(function: Callable[[Values], Any], x: Recorded) -> Any:
    """A linear function of an array, by its values at unit vectors: an array, or a list or tuple of them.

    Raises:
        ParameterError: for more elements than it can be tried with.
    """
    if x.size**2 > MOST_ENTRIES:
        raise ParameterError(f"an array of shape {x.shape} is too large for this function")
    columns = [function(unit) for unit in np.eye(x.size).reshape(x.size, *x.shape)]
    if isinstance(columns[0], (list, tuple)):
        return type(columns[0])([_with_columns(x, parts) for parts in zip(*columns, strict=True)])
    return _with_columns(x, columns)


def _with_columns(x: Recorded, columns: Sequence[Any]) -> Recorded:
    """The sum of x's elements times an array each."""
    matrix = np.stack([np.ravel(each) for each in columns], axis=1)
    return sum_of_maps(x, [(x, SparseMap.dense(matrix))], np.shape(columns[0]))


def along_axis(x: Recorded, matrix: Values, axis: int) -> Any:
    """A plain matrix of shape (results, extent) times the vectors along an axis."""
    (at,) = axes_of(int(axis), x.ndim)
    letters = string.ascii_letters
    labels, new = letters[: x.ndim], letters[x.ndim]
    return einsum(f"{new}{labels[at]},{labels}->{labels.replace(labels[at], new)}", matrix, x)
