"""What a recorder knows of values: ranges, signs, steps, and which clients watch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.sparse_map import Floats
from hemera.circuits import Function, Polynomial
from hemera.errors import ParameterError

Bounds = tuple[Floats, Floats]
"""The least and the largest value of each element, flat."""

_GRID = 257
"""Points of an interval at which a function's range is found."""
_FINE_GRID = 4097
"""Points between which slopes are taken."""
_LIMITS = {"sign": (-1.0, 1.0), "compare": (0.0, 1.0)}
"""Ranges of functions by their names, without their errors."""
_MONOTONE = ("clip", "exp", "inverse", "log", "sigmoid", "sqrt", "tanh")


def range_of(function: Function, bounds: Sequence[Bounds]) -> Bounds:
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


MOST_WHOLE = 1 << 53
"""Below, float64 holds each whole number; maps and offsets of exact programs are kept in it."""
_MOST_DISTINCT = 1 << 12
"""Different numbers of which a common step is looked for."""


def beside_steps(values: NDArray[Any], step: float) -> NDArray[np.bool_]:
    """Marks values that are no integer multiples of a step, by more than a thousandth of it."""
    quotients = values / step
    found: NDArray[np.bool_] = np.abs(quotients - np.rint(quotients)) > 2.0**-10
    return found


def require_samples(name: str, samples: NDArray[Any], ends: tuple[float, float], step: float | None) -> None:
    """ParameterError for samples outside of a range, or that are no multiples of the step of their input."""
    low, high = ends
    slack = 2.0**-30 * max(abs(low), abs(high))
    if not (np.isfinite(samples).all() and samples.min() >= low - slack and samples.max() <= high + slack):
        raise ParameterError(
            f"input {name!r}: samples from {samples.min():g} to {samples.max():g}, and the range is from "
            f"{low:g} to {high:g}"
        )
    if step is not None and beside_steps(samples, step).any():
        raise ParameterError(f"input {name!r}: samples are no multiples of the step {step:g}")


def multiples(values: Floats, step: float) -> tuple[Floats, NDArray[np.bool_]]:
    """Plain numbers in units of a step, and which are whole: but for roundings, where the step is no power of
    two and multiples of it have some."""
    quotients = values / step
    near = np.rint(quotients)
    slack = 0.0 if math.frexp(step)[0] == 0.5 else 2.0**-26
    is_whole = np.abs(quotients - near) <= slack * np.maximum(1.0, np.abs(near))
    return np.where(is_whole, near, quotients), is_whole


def multiples_within(low: float, high: float, step: float) -> tuple[float, float]:
    """The least and the largest multiple of a step in a range, the first above the second if there is none.
    Ends may be multiples but for roundings: 0.7 is one of 0.1, and 0.7 / 0.1 is below 7."""
    (least, most), _ = multiples(np.array([low, high], np.float64), step)
    return max(low, float(np.ceil(least)) * step), min(high, float(np.floor(most)) * step)


def distinct(values: NDArray[Any]) -> NDArray[Any]:
    """The different values, ascending: as `np.unique`, which imports numpy.ma at its first call."""
    ordered = np.sort(values, axis=None)
    return np.concatenate((ordered[:1], ordered[1:][ordered[1:] != ordered[:-1]]))


def common_step(values: Floats) -> float | None:
    """The largest number of which all of these are integer multiples, nearly; 0 if all are 0, None if none
    is at least 2^-20 of the largest."""
    known = distinct(np.abs(values))
    known = known[known > 0]
    if not len(known) or len(known) > _MOST_DISTINCT:
        return None if len(known) else 0.0
    least = 2.0**-20 * float(known[-1])
    found = 0.0
    for value in known.tolist():
        a, b = value, found
        while b > 2.0**-30 * known[-1]:
            a, b = b, abs(a - b * round(a / b))
        found = a
        if found < least:
            return None
    quotients = known / found
    return found if np.abs(quotients - np.round(quotients)).max() < 2.0**-12 else None


def common_divisor(values: NDArray[Any]) -> float:
    """The greatest common divisor of whole numbers; 0 where all are 0. 1 divides those beyond 2^53, too."""
    largest = np.abs(values).max(initial=0)
    return float(np.gcd.reduce(values.astype(np.int64))) if largest < MOST_WHOLE else 1.0


def step_of_sum(
    steps: Sequence[float | None], common: Callable[[Floats], float | None] = common_step
) -> float | None:
    """The step of a sum of values with these steps; 0 stands for values that are all 0."""
    known = [each for each in steps if each is not None]
    return common(np.array(known)) or None if known == steps else None


@dataclass(frozen=True)
class Watch:
    """A function's argument: its interval, and the ends that inputs inside of their ranges can give it."""

    at: int
    """The node."""
    low: float
    high: float
    least: float
    """The ends by interval arithmetic of the inputs' ranges alone."""
    most: float
    where: str
    """The line of the function."""


@dataclass(frozen=True, eq=False)
class Extreme:
    """A node whose elements are the largest or the smallest ones of another node, but for errors."""

    of: int
    """The other node."""
    sign: int
    """1: of the largest, -1: of the smallest."""
    places: NDArray[np.int64]
    """For each element of the other node the number of the one here."""
    slack: float
    """The most by which an element of the other node is beyond."""


@dataclass(eq=False)
class Facts:
    """Facts of the elements of a node."""

    bounds: Bounds
    """The least and the largest value of each element."""
    certain: Bounds
    """The same by interval arithmetic alone, without samples, where functions take what is in their
    intervals. The same object as `bounds` where samples show nothing more."""
    sign: int
    """The intended sign of all elements: 1: none is below 0, -1: none is above 0, 0: not known. Errors of
    functions do not count."""
    step: float | None
    """A number of which all elements are integer multiples, to the program's precision; None where there is
    none known."""
    samples: NDArray[Any] | None
    """Values for samples of the inputs, of shape (samples, *shape)."""
    watch: Watch | None = None
    """The watch on the arguments of functions, if its values may leave their intervals."""
    jump: tuple[int, float] | None = None
    """For a mask of real numbers, which nothing computes: the node that it is of, and where that jumps."""
    extreme: Extreme | None = None
    """What these are the largest or smallest ones of."""
    applied: tuple[str, int] | None = None
    """The function of a node that these are, by its name in `hemera.arrays.elementwise.named`."""
