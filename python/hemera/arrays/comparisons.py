"""Comparisons of values that are multiples of a step, by which masks are made, and counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera import circuits
from hemera.arrays.kinds import DTYPES, kind_of, promoted
from hemera.arrays.masks import as_mask, both, is_mask, negated, require_mask
from hemera.arrays.recorded import A, Recorded, as_operand, broadcast, joined_shape, moved, rearranged
from hemera.arrays.steps import common_step, multiples
from hemera.arrays.sums import total
from hemera.arrays.tensor import Input
from hemera.errors import ParameterError

__all__ = [
    "bin_counts",
    "bins_of",
    "bounded",
    "chosen",
    "counted",
    "differs",
    "equal",
    "exceeds",
    "is_in",
    "of_few",
    "of_type",
    "reaches",
    "selected",
    "sign",
    "stays_below",
    "stays_within",
    "values_counted",
]

Values = NDArray[Any]

_MOST_POINTS = 10
"""Different values of which a function is a polynomial through its points: more make it too steep."""
_MOST_SEEN = 1 << 16
"""Different values at which a function is looked at, for whether it is the same everywhere."""
_MOST_TOGETHER = 1 << 15
"""Elements times plain numbers that exact programs compare at once: the largest rows have no more slots."""
_MORE_BITS = 4
"""Bits that masks have more than results: many of them are added."""
_GAP = 15 / 16
"""So much of the gap between different values is left by their errors."""


def exceeds(x: A, other: Any) -> A:
    """x > other, as 0 and 1. See `_difference` for errors."""
    known = _decided(x, other, lambda low, high: (low > 0, high <= 0))
    return _from(_difference(x, other, np.floor), 1) if known is None else known


def reaches(x: A, other: Any) -> A:
    """x >= other, as 0 and 1. See `_difference` for errors."""
    known = _decided(x, other, lambda low, high: (low >= 0, high < 0))
    return _from(_difference(x, other, np.ceil), 0) if known is None else known


def stays_below(x: A, other: Any) -> A:
    """x < other, as 0 and 1. See `_difference` for errors."""
    return negated(reaches(x, other))


def stays_within(x: A, other: Any) -> A:
    """x <= other, as 0 and 1. See `_difference` for errors."""
    return negated(exceeds(x, other))


def equal(x: A, other: Any) -> A:
    """x == other, as 0 and 1. See `_difference` for errors."""
    known = _decided(x, other, lambda low, high: ((low == 0) & (high == 0), (low > 0) | (high < 0)))
    if known is not None:
        return known
    found = _is_zero(_difference(x, other, np.round))
    given = as_operand(other, x)
    if isinstance(given, np.ndarray):
        _, possible = multiples(given, _step(x))
        if not possible.all():
            return both(found, np.broadcast_to(possible, found.shape))
    return found


def differs(x: A, other: Any) -> A:
    """x != other, as 0 and 1. See `_difference` for errors."""
    return negated(equal(x, other))


def _step(x: Recorded) -> float:
    step = x.step
    if step is None:
        raise TypeError(
            "encrypted numbers are compared where they are multiples of a known step: give inputs one, "
            "hm.ArraySpec(shape, range=, step=). For others hm.circuits.compare(gap=, largest=)(x, y) is 1 "
            "where x > y and 0 where x < y, if they differ by the gap"
        )
    return step


def _compared_with(x: A, other: Any) -> A | Values:
    """What x is compared with, as numbers. TypeError for operands that are none."""
    given = as_operand(other, x)
    if given is None:
        raise TypeError(f"an encrypted array is compared with arrays and numbers, not {type(other).__name__}")
    return given if isinstance(given, np.ndarray) else given._as_numbers()


def _decided(
    x: A, other: Any, decide: Callable[[Values, Values], tuple[NDArray[np.bool_], NDArray[np.bool_]]]
) -> A | None:
    """The result of a comparison that the ranges of all elements decide; None where some are not decided.

    Args:
        decide: by the least and the largest difference of each element, whether it is true for all values in
            between, and whether it is false for all.
    """
    given = _compared_with(x, other)
    if not all(_is_promised(each) for each in (x, given) if isinstance(each, Recorded)):
        return None
    shape = joined_shape(x.shape, given.shape)
    low, high = (end.reshape(x.shape) for end in x._recorder.bounds[x._number])
    if isinstance(given, np.ndarray):
        least, most = given, given
    else:
        least, most = (end.reshape(given.shape) for end in given._recorder.bounds[given._number])
    always, never = (np.broadcast_to(each, shape) for each in decide(low - most, high - least))
    return as_mask(x._filled(always)) if (always | never).all() else None


def _is_promised(x: Recorded) -> bool:
    """Whether the range holds for all inputs in theirs: samples show those of values in between, and no
    more."""
    is_input = isinstance(x._recorder.program.nodes[x._number].operation, Input)
    return is_input or x._recorder.samples[x._number] is None


def _difference(x: A, other: Any, rounded: Callable[[Values], Values]) -> A:
    """x - other, as multiples of a step; plain numbers are rounded to one.

    Raises:
        TypeError: when no step of the difference is known, and for operands that are no numbers.
    """
    given = _compared_with(x, other)
    x = x._as_numbers()
    if isinstance(given, np.ndarray):
        step = _step(x)
        found = x - step * rounded(multiples(given, step)[0])
        return _with_step(found, step)
    _step(given)
    found = x - given
    _step(x)
    _step(found)
    return found


def _with_step(x: A, step: float) -> A:
    x._recorder.steps[x._number] = step
    return x


def _points(x: Recorded) -> Values | None:
    """The multiples of the step that an element can be; None where there are too many to look at."""
    low, high = (end / _step(x) for end in x.range)
    return None if high - low > _MOST_SEEN else np.arange(np.ceil(low - 0.25), np.floor(high + 0.25) + 1)


def of_few(x: A, function: Callable[[Values], Values], step: float | None) -> A | None:
    """A function of multiples of a step, exact on them, where they are few: by the polynomial through its
    points. None where there are too many.

    Args:
        function: of arrays of multiples, in units of the step.
        step: of the function's values.
    """
    unit = _step(x)
    exact = x._recorder.tabulated(x._number, lambda values: function(values / unit))
    if exact is not None:
        return x._at(exact)
    points = _points(x)
    if points is None:
        return None
    values = np.asarray(function(points), np.float64)
    if (values == values[0]).all():
        return x._filled(values[0])
    if len(points) == 2:
        slope = float(values[1] - values[0]) / _step(x)
        found = x * slope + float(values[0] - slope * points[0] * _step(x))
        return found if step is None else _with_step(found, step)
    if len(points) > _MOST_POINTS:
        return None
    # Values with errors lie a little beyond the points.
    low, high = min(x.range[0], points[0] * _step(x)), max(x.range[1], points[-1] * _step(x))
    nodes = (2 * points * _step(x) - low - high) / (high - low)
    coefficients = np.linalg.solve(np.polynomial.chebyshev.chebvander(nodes, len(points) - 1), values)
    polynomial = circuits.Polynomial(coefficients, basis="chebyshev", interval=(low, high))
    room = _room(x) * float(np.ptp(values))
    limits = (float(values.min()) - room, float(values.max()) + room)
    return x._at(x._recorder.apply(polynomial, x._number, limits=limits, step=step))


def _room(x: Recorded) -> float:
    """So far from its exact values a mask is taken to be at most, in ranges."""
    if x._recorder.is_exact:
        return 0.0
    return float(2.0 ** -min(x._recorder.precision_bits, 10))


def bounded(x: A, low: Any, high: Any) -> A:
    """The array, known to lie between these ends but for the errors of masks."""
    room = _room(x) * max(1.0, float(np.abs(low).max()), float(np.abs(high).max()))
    x._recorder.narrow(x._number, low - room, high + room)
    return x


def _signs(x: A, gap: float) -> A:
    """-1 or 1 of values that are at least so far from 0."""
    low, high = x.range
    bits = max(2.0, x._recorder.tolerance_bits(1.0) + _MORE_BITS)
    largest = max(-low, high, gap) * (1 + 2.0**-8)
    function = x._recorder.made(
        "sign", -largest, largest, lambda: circuits.sign(gap=gap * _GAP, bits=bits, largest=largest)
    )
    return x.apply(function, formula=np.sign)


def _from(x: A, least: int) -> A:
    """1 where the element is at least so many steps, 0 elsewhere."""
    found = of_few(x, lambda points: points >= least, 1.0)
    if found is not None:
        return as_mask(found)
    step = _step(x)
    signs = _signs(x - (least - 0.5) * step, step / 2)
    return as_mask(signs * 0.5 + 0.5)


def _is_zero(x: A) -> A:
    found = of_few(x, lambda points: points == 0, 1.0)
    if found is not None:
        return as_mask(found)
    return as_mask(1 - _signs(x, _step(x)).square())


def sign(x: A) -> A:
    """-1, 0 or 1: the sign of each element. TypeError for truth values, as of NumPy."""
    if x._kind == "b":
        raise TypeError("np.sign takes no truth values, as in NumPy; mask * 1 has numbers")
    found = of_few(x, np.sign, 1.0)
    return _with_step(_signs(x, _step(x)), 1.0) if found is None else found


# --- Masks, and counts of them. ---


def counted(x: A, axis: Any = None, *, keepdims: bool = False) -> A:
    """How many elements along axes are not 0. TypeError where no step is known."""
    return total(x if is_mask(x) else differs(x, 0), axis, keepdims=keepdims)._of_kind("i")


def selected(mask: A, x: Any, y: Any) -> A:
    """x where a mask is 1, y where it is 0."""
    require_mask(mask)
    kind = promoted([kind_of(x), kind_of(y)])
    first, second = (mask._encrypted(each)._as_numbers() for each in (x, y))
    found = mask._as_numbers() * (first - second) + second
    ends = [broadcast(each, found.shape) for each in (first, second)]
    lows, highs = zip(*(each._recorder.bounds[each._number] for each in ends), strict=True)
    found = bounded(found, np.minimum(*lows), np.maximum(*highs))
    return as_mask(found) if kind == "b" else found._of_kind(kind)


def of_type(x: A, dtype: np.dtype[Any]) -> A:
    """`x.astype(dtype)`. See `Array.astype` for errors."""
    kind = "i" if dtype.kind == "u" else dtype.kind
    if kind not in DTYPES:
        raise TypeError(f"encrypted arrays hold truth values and real numbers, and can not be of {dtype}")
    if kind == "b":
        return x if x._kind == "b" else differs(x, 0)
    low, high = x.range
    is_whole = x._kind != "f" or (x.step is not None and float(x.step).is_integer())
    if kind == "i" and not is_whole:
        raise TypeError(
            f"x.astype({dtype}) rounds numbers that need not be whole, which jumps; give inputs a step, "
            "hm.ArraySpec(shape, range=, step=1)"
        )
    limits = np.iinfo(dtype) if kind == "i" else np.finfo(dtype)
    if x._kind != "b" and not (limits.min <= low + 0.25 and high - 0.25 <= limits.max):
        raise TypeError(f"x.astype({dtype}): values from {low:g} to {high:g} are beyond the type")
    return x._of_kind(kind)


# --- Counts, and tables. ---


def is_in(x: A, values: Any) -> A:
    """`numpy.isin`: 1 where an element is one of some plain numbers."""
    known = np.unique(np.asarray(values, np.float64))
    x = x._as_numbers()
    step = _step(x)
    whole, is_whole = multiples(known, step)
    low, high = x.range
    whole = whole[is_whole & (low <= known) & (known <= high)]
    found = of_few(x, lambda points: np.isin(points, whole), 1.0) if len(whole) else x._filled(False)
    if found is not None:
        return as_mask(found)
    each = equal(rearranged(x, lambda y: y[..., None]), whole * step)
    return as_mask(bounded(total(each, -1), 0, 1))


def _edges(edges: Any) -> Values:
    known = np.asarray(edges, np.float64)
    if known.ndim != 1 or not len(known) or (np.diff(known) < 0).any() or not np.isfinite(known).all():
        raise ParameterError("edges are ascending numbers, on one axis")
    return known


def bins_of(x: A, edges: Any, *, right: bool = False) -> A:
    """`numpy.digitize`: how many of ascending edges are at most x; with `right`, below x."""
    reached = (exceeds if right else reaches)(rearranged(x, lambda y: y[..., None]), _edges(edges))
    return total(reached, -1)


def bin_counts(x: A, edges: Any) -> A:
    """How many elements lie between ascending edges, the last one included: `numpy.histogram`'s counts."""
    known = _edges(edges)
    if len(known) < 2:
        raise ParameterError("a histogram takes two edges at least")
    flat = rearranged(x, lambda y: y.reshape(-1, 1))
    lower = _counts(reaches, flat, known[:-1])
    last = total(exceeds(flat, known[-1:]), 0)
    after: A = moved([lower, last], lambda a, b: np.concatenate([a[1:], b]))
    return bounded(lower - after, 0, x.size)


def values_counted(x: A, extent: int) -> A:
    """How many elements are 0, 1, ... extent - 1: `numpy.bincount`."""
    if x.ndim != 1:
        raise ParameterError(f"bincount takes one axis, not an array of shape {x.shape}")
    return _counts(equal, rearranged(x, lambda y: y[:, None]), np.arange(extent))


def _counts(comparison: Callable[[A, Any], A], column: A, others: Values) -> A:
    """How many elements of an array of shape (elements, 1) compare so with each plain number."""
    slots = 1 << ((column.size - 1).bit_length() + (len(others) - 1).bit_length())
    if not column._recorder.is_exact or slots <= _MOST_TOGETHER:
        return total(comparison(column, others), 0)
    # One after the other, which takes some times longer: tables of the same elements share their powers.
    each = [total(comparison(column, other), 0) for other in others]
    found: A = moved(each, lambda *counts: np.concatenate(counts))
    return found


def chosen(x: A, choices: Sequence[Any]) -> A:
    """`numpy.choose`: the element of the array of which x is the number.

    Raises:
        IndexError: when x can be no integer, or the number of no array.
    """
    low, high = x.range
    if _step(x) % 1 > 2.0**-10 or low < -0.25 or high > len(choices) - 0.75:
        raise IndexError(
            f"values from {low:g} to {high:g} with the step {_step(x):g} do not choose of {len(choices)} "
            "arrays"
        )
    kind = promoted(map(kind_of, choices))
    if all(isinstance(as_operand(each, x), np.ndarray) and np.ndim(each) == 0 for each in choices):
        found = _table(x._as_numbers(), np.asarray(choices, np.float64))
        return as_mask(found) if kind == "b" else found._of_kind(kind)
    numbers = [each._as_numbers() if isinstance(each, Recorded) else np.asarray(each) * 1 for each in choices]
    first, *others = (equal(x, at)._as_numbers() * each for at, each in enumerate(numbers))
    found = sum(others, start=first)
    return as_mask(found) if kind == "b" else found._of_kind(kind)


def _table(x: A, known: Values) -> A:
    """The entry of a plain table for each element, which is its index."""
    found = of_few(
        x, lambda points: known[np.round(points * _step(x)).astype(int)], common_step(known) or None
    )
    if found is not None:
        return found
    masks = equal(rearranged(x, lambda y: y[..., None]), np.arange(len(known)))
    return total(masks * known, -1)
