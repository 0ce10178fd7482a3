"""Running sums, products and extremes along an axis, as `numpy.cumsum` and `numpy.maximum.accumulate`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from hemera.arrays import elementwise, linear_algebra
from hemera.arrays.arithmetic import times
from hemera.arrays.recorded import as_numbers, axes_of, moved, of_kind, promoted, rearranged, reduced


def _along(x: Any, axis: Any) -> tuple[Any, int]:
    """The array, and an axis of it; None: its elements on one axis."""
    along = None if axis is None else reduced(operator.index(axis), x)
    rows, at = (rearranged(x, np.ravel), 0) if along is None else (x, along)
    return rows, axes_of(at, rows.ndim)[0]


def running_sums(x: Any, axis: Any = None) -> Any:
    """`numpy.cumsum`."""
    rows, at = _along(x, axis)
    return of_kind(linear_algebra.along_axis(rows, np.tri(rows.shape[at]), at), promoted(1, x))


def running_products(x: Any, axis: Any = None) -> Any:
    """`numpy.cumprod`, in ceil(log2(n)) levels."""
    return _running(times, as_numbers(x), axis)


def running_most(x: Any, axis: Any = 0) -> Any:
    """`numpy.maximum.accumulate`."""
    return _running(elementwise.larger, x, axis)


def running_least(x: Any, axis: Any = 0) -> Any:
    """`numpy.minimum.accumulate`."""
    return _running(elementwise.smaller, x, axis)


def _running(join: Callable[[Any, Any], Any], x: Any, axis: Any) -> Any:
    """Each element joined with all before it by an associative operation, in rounds of twice the distance
    (Hillis and Steele, 1986)."""
    rows, at = _along(x, axis)
    count, distance = rows.shape[at], 1
    while distance < count:
        rows = _joined(join, rows, at, distance)
        distance *= 2
    return rows


def _joined(join: Callable[[Any, Any], Any], rows: Any, at: int, distance: int) -> Any:
    """Each element joined with the one at a distance before it, where there is one."""
    before = rearranged(rows, lambda y: y.take(range(y.shape[at] - distance), at))
    later = rearranged(rows, lambda y: y.take(range(distance, y.shape[at]), at))
    return moved(
        [rows, join(later, before)], lambda y, z: np.concatenate([y.take(range(distance), at), z], at)
    )
