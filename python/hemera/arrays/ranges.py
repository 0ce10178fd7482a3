"""Ranges of functions' values, and their slopes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hemera.circuits import Function, Polynomial

__all__ = ["range_of", "sign_of", "slope_of", "widened"]

Floats = NDArray[np.float64]

_GRID = 257
"""Points of an interval at which a function's range is found."""
_FINE_GRID = 4097
"""Points between which slopes are taken."""
_LIMITS = {"sign": (-1.0, 1.0), "compare": (0.0, 1.0)}
"""Ranges of functions by their names, without their errors."""
_MONOTONE = ("clip", "exp", "inverse", "log", "sigmoid", "sqrt", "tanh")


def range_of(function: Function, bounds: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """The least and the largest value of a function's approximation of each element."""
    error = function.error
    size = bounds[0][0].shape
    kind = function.name if function.recipe is not None else ""
    ends = [
        _inside(function, at, float(low.min()), float(high.max())) for at, (low, high) in enumerate(bounds)
    ]
    if kind == "maximum":
        (a_low, a_high), (b_low, b_high) = bounds
        return np.maximum(a_low, b_low) - error, np.maximum(a_high, b_high) + error
    if kind in _LIMITS:
        low, high = _LIMITS[kind]
    elif kind in _MONOTONE:
        values = function.evaluate_clear(np.array(ends[0]))
        low, high = float(values.min()) - error, float(values.max()) + error
    elif isinstance(function, Polynomial):
        low, high = _polynomial_range(function, *ends[0])
    else:
        count = _GRID if len(ends) == 1 else 65
        grid = np.meshgrid(*(np.linspace(*each, count) for each in ends), indexing="ij")
        values = function.evaluate_clear(*grid)
        # Between points a smooth function goes beyond its values by an eighth of their second difference.
        room = max(float(np.abs(np.diff(values, 2, axis)).max()) for axis in range(values.ndim))
        low, high = float(values.min()) - room, float(values.max()) + room
    return np.full(size, low - error), np.full(size, high + error)


def _inside(function: Function, at: int, low: float, high: float) -> tuple[float, float]:
    """A range without what rounding puts outside of a function's interval."""
    if function._native.is_unbounded:
        return low, high
    least, most = function.intervals[at]
    return min(max(low, least), most), max(min(high, most), least)


def _polynomial_range(function: Polynomial, low: float, high: float) -> tuple[float, float]:
    """Bounds of a polynomial by its values at N Chebyshev nodes: in the middle of them, with their largest
    distance times 1 / cos(n pi / 2 N) for degree n (H. Ehlich, K. Zeller, "Schwankung von Polynomen zwischen
    Gitterpunkten", 1964)."""
    degree = max(1, len(function.coefficients) - 1)
    count = max(_GRID, 8 * degree)
    nodes = np.cos((2 * np.arange(count) + 1) * (np.pi / (2 * count)))
    values = function.evaluate_clear((low + high) / 2 + (high - low) / 2 * nodes)
    middle = (values.min() + values.max()) / 2
    room = (values.max() - values.min()) / 2 / np.cos(degree * np.pi / (2 * count))
    room += 2.0**-40 * np.abs(values).max()
    return float(middle - room), float(middle + room)


def slope_of(function: Function, low: float, high: float) -> float:
    """The largest slope of a function of one value, between points of a grid."""
    if not high > low:
        return 0.0
    x = np.linspace(low, high, _FINE_GRID)
    values = np.asarray(function.evaluate_clear(x), np.float64)
    return float(np.abs(np.diff(values)).max() / (x[1] - x[0]))


def widened(least: float, most: float, room: float, margin: float, sign: int) -> tuple[float, float]:
    """The range of samples from `least` to `most` with room on both sides. What is meant to have one sign
    keeps it, since it may be a divisor, or of a logarithm or a root: its range is widened by a factor there.

    Args:
        sign: 1 or -1, which samples keep; 0: none.
    """
    low, high = least - room, most + room
    if sign > 0 and least >= 0:
        low = max(low, _towards_zero(least, most, margin))
    elif sign < 0 and most <= 0:
        high = min(high, _towards_zero(most, least, margin))
    return low, high


def _towards_zero(near: float, far: float, margin: float) -> float:
    """The end of a range of numbers of one sign, by samples from `near` 0 to `far`: as many times nearer as
    the samples differ, to the power of the margin."""
    return float(near * (near / far) ** margin / (1 + margin)) if near else 0.0


def sign_of(low: Floats, high: Floats) -> int:
    """The sign of all numbers between these."""
    return 1 if low.min(initial=0.0) >= 0 else -1 if high.max(initial=0.0) <= 0 else 0
