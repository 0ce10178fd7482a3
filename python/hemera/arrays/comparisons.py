"""Comparisons of values that are multiples of a step, by which masks are made, and counts."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera import circuits
from hemera.arrays.arithmetic import as_mask, both, is_mask, negated, product, require_mask, total
from hemera.arrays.facts import common_step, multiples, step_of_sum
from hemera.arrays.lines import NEAR
from hemera.arrays.look_ups import tabulated
from hemera.arrays.operations import Input
from hemera.arrays.recorded import (
    DTYPES,
    A,
    Kind,
    Recorded,
    as_numbers,
    as_operand,
    at_node,
    bounds_of,
    broadcast,
    encrypted,
    facts_of,
    filled,
    joined_shape,
    kind_of,
    number_of,
    of_kind,
    promoted,
    recorder_of,
)
from hemera.arrays.recorder import NoStepError, user_line
from hemera.arrays.sparse_map import Values
from hemera.errors import ParameterError
from hemera.inputs.plain import stepping_array

_MOST_POINTS = 10
"""Different values of which a function is a polynomial through its points: more make it too steep."""
_ROUNDING = 2.0**-40
"""Coefficients that are less than this part of the values are 0 but for rounding."""
_MOST_SEEN = 1 << 16
"""Different values at which a function is looked at, for whether it is the same everywhere."""
_MORE_BITS = 4
"""Bits that masks have more than results: many of them are added."""
_NO_STEP = (
    "encrypted numbers are compared where they are multiples of a known step: give inputs one, "
    "hm.ArraySpec(shape, range=, step=). For others hm.circuits.compare(gap=, largest=)(x, y) is 1 "
    "where x > y and 0 where x < y, if they differ by the gap"
)
_GAP = 15 / 16
"""So much of the gap between different values is left by their errors."""


def exceeds(x: A, other: Any) -> A:
    """x > other, as 0 and 1. See `_difference` for errors."""
    known = _known(x, other, np.greater)
    return _from(_difference(x, other, np.floor), 1) if known is None else known


def reaches(x: A, other: Any) -> A:
    """x >= other, as 0 and 1. See `_difference` for errors."""
    known = _known(x, other, np.greater_equal)
    return _from(_difference(x, other, np.ceil), 0) if known is None else known


def _known(x: A, other: Any, compare: np.ufunc) -> A | None:
    """A comparison of order that the ranges of all elements decide, or that `numpy.where` takes in; None for
    others."""
    known = _decided(x, other, lambda low, high: (compare(low, 0), ~compare(high, 0)))
    return _jump(x, other, compare) if known is None else known


def equal(x: A, other: Any) -> A:
    """x == other, as 0 and 1. See `_difference` for errors."""
    known = _decided(x, other, lambda low, high: ((low == 0) & (high == 0), (low > 0) | (high < 0)))
    if known is not None:
        return known
    found = _is_zero(_difference(x, other, np.round))
    given = as_operand(other, x)
    if isinstance(given, np.ndarray):
        _, possible = multiples(given, step_of(x))
        if not possible.all():
            return both(found, np.broadcast_to(possible, found.shape))
    return found


def differs(x: A, other: Any) -> A:
    """x != other, as 0 and 1. See `_difference` for errors."""
    return negated(equal(x, other))


def step_of(x: Recorded) -> float:
    step = x.step
    if step is None:
        raise NoStepError(_NO_STEP)
    return step


def _jump(x: A, other: Any, compare: Callable[[Values, Values], Values]) -> A | None:
    """A comparison of real numbers with one plain number, which `numpy.where` takes in: of two pieces that
    meet there it makes one function. None where there is a step, the ranges decide, or for other operands.
    Programs that need the jump itself are refused as by `step_of`, once they are recorded."""
    given = as_operand(other, x)
    if x.step is not None or recorder_of(x).is_exact or not isinstance(given, np.ndarray) or given.ndim:
        return None
    at = float(given)
    near = NEAR * max(abs(end - at) for end in x.range)

    def formula(values: Values) -> Values:
        own = np.where(np.abs(np.asarray(values) - at) <= near, at, values)
        return np.asarray(compare(own, np.float64(at)), np.float64)

    reason = NoStepError(
        f"{_NO_STEP} ({user_line()}). np.where(x > {at:g}, f(x), g(x)) takes any x where f and g meet"
    )
    found = as_mask(at_node(x, recorder_of(x).unmade(formula, "a comparison", number_of(x), reason)))
    facts_of(found).jump = number_of(x), at
    return found


def _compared_with(x: A, other: Any) -> A | Values:
    """The operand that x is compared with, as numbers. TypeError for operands that are none."""
    given = as_operand(other, x)
    if given is None:
        raise TypeError(f"an encrypted array is compared with arrays and numbers, not {type(other).__name__}")
    return stepping_array(other, "a comparison") if isinstance(given, np.ndarray) else as_numbers(given)


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
    low, high = (end.reshape(x.shape) for end in bounds_of(x))
    if isinstance(given, np.ndarray):
        least, most = given, given
    else:
        least, most = (end.reshape(given.shape) for end in bounds_of(given))
    always, never = (np.broadcast_to(each, shape) for each in decide(low - most, high - least))
    return as_mask(filled(x, always)) if (always | never).all() else None


def _is_promised(x: Recorded) -> bool:
    """Whether the range holds for all inputs in theirs: samples show those of values in between, and no
    more."""
    is_input = isinstance(recorder_of(x).program.nodes[number_of(x)].operation, Input)
    return is_input or facts_of(x).samples is None


def _difference(x: A, other: Any, rounded: Callable[[Values], Values]) -> A:
    """x - other, as multiples of a step; plain numbers are rounded to one.

    Raises:
        TypeError: when no step of the difference is known, and for operands that are no numbers.
    """
    given = _compared_with(x, other)
    x = as_numbers(x)
    if isinstance(given, np.ndarray):
        step = step_of(x)
        found = x - step * rounded(multiples(given, step)[0])
        return _with_step(found, step)
    step_of(given)
    found = x - given
    step_of(x)
    step_of(found)
    return found


def _with_step(x: A, step: float) -> A:
    facts_of(x).step = step
    return x


def _points(x: Recorded, bounds: tuple[Values, Values]) -> Values | None:
    """The multiples of the step that an element can be, by the least and largest of each; None where there
    are too many to look at."""
    low, high = float(bounds[0].min()) / step_of(x), float(bounds[1].max()) / step_of(x)
    return None if high - low > _MOST_SEEN else np.arange(np.ceil(low - 0.25), np.floor(high + 0.25) + 1)


def of_few(x: A, function: Callable[[Values], Values], step: float | None) -> A | None:
    """A function of multiples of a step, exact on them, where they are few: by the polynomial through its
    points. None where there are too many.

    Args:
        function: of arrays of multiples, in units of the step.
        step: of the function's values.
    """
    unit = step_of(x)
    exact = tabulated(x, lambda values: function(values / unit))
    if exact is not None:
        return exact
    points = _points(x, bounds_of(x))
    shows = points is not None and len(points) > 2 and (function(points) != function(points[:1])).any()
    if points is not None and not shows and not _is_promised(x):
        # A number, or a line, takes any value: nothing would show that a row leaves what samples show.
        points = _points(x, bounds_of(x, certain=True))
    if points is None:
        return None
    values = np.asarray(function(points), np.float64)
    if (values == values[0]).all():
        return filled(x, values[0])
    if len(points) == 2:
        slope = float(values[1] - values[0]) / step_of(x)
        found = x * slope + float(values[0] - slope * points[0] * step_of(x))
        return found if step is None else _with_step(found, step)
    if len(points) > _MOST_POINTS:
        return None
    # Values with errors lie a little beyond the points.
    low, high = min(x.range[0], points[0] * step_of(x)), max(x.range[1], points[-1] * step_of(x))
    nodes = (2 * points * step_of(x) - low - high) / (high - low)
    coefficients = np.linalg.solve(np.polynomial.chebyshev.chebvander(nodes, len(points) - 1), values)
    coefficients[np.abs(coefficients) < _ROUNDING * np.abs(values).max()] = 0.0  # no product for them
    polynomial = circuits.Polynomial(coefficients, basis="chebyshev", interval=(low, high))
    room = _room(x) * float(np.ptp(values))
    limits = (float(values.min()) - room, float(values.max()) + room)
    return at_node(x, recorder_of(x).apply(polynomial, number_of(x), limits=limits, step=step))


def _room(x: Recorded) -> float:
    """So far from its exact values a mask is taken to be at most, in ranges."""
    if recorder_of(x).is_exact:
        return 0.0
    return float(2.0 ** -min(recorder_of(x).precision_bits, 10))


def bounded(x: A, low: Any, high: Any) -> A:
    """The array, known to lie between these ends but for the errors of masks."""
    room = _room(x) * max(1.0, float(np.abs(low).max()), float(np.abs(high).max()))
    recorder_of(x).narrow(number_of(x), low - room, high + room)
    return x


def _signs(x: A, gap: float) -> A:
    """-1 or 1 of values that are at least so far from 0."""
    low, high = x.range
    bits = max(2.0, recorder_of(x).tolerance_bits(1.0) + _MORE_BITS)
    largest = max(-low, high, gap) * (1 + 2.0**-8)
    function = recorder_of(x).made(
        "sign", -largest, largest, lambda: circuits.sign(gap=gap * _GAP, bits=bits, largest=largest)
    )
    return x.apply(function, formula=functools.partial(_sign_beyond, gap / 2))


def _sign_beyond(least: float, x: Any) -> Any:
    """The sign; 0 of values nearer to 0 than others can be, which are 0 but for roundings."""
    return np.where(np.abs(x) < least, 0.0, np.sign(x))


def _from(x: A, least: int) -> A:
    """1 where the element is at least `least` steps, 0 elsewhere."""
    found = of_few(x, lambda points: points >= least, 1.0)
    if found is not None:
        return as_mask(found)
    step = step_of(x)
    signs = _signs(x - (least - 0.5) * step, step / 2)
    return as_mask(signs * 0.5 + 0.5)


def _is_zero(x: A) -> A:
    found = of_few(x, lambda points: points == 0, 1.0)
    if found is not None:
        return as_mask(found)
    return as_mask(1 - _signs(x, step_of(x)).square())


def sign(x: A) -> A:
    """-1, 0 or 1: the sign of each element. TypeError for truth values, as of NumPy."""
    if kind_of(x) == "b":
        raise TypeError("np.sign takes no truth values, as in NumPy; mask * 1 has numbers")
    found = of_few(x, np.sign, 1.0)
    if found is None:
        signs = _signs(x, step_of(x))
        # Errors at 0, where a step is steep, become their cubes.
        found = _with_step(bounded(signs.square() * signs, -1.0, 1.0), 1.0)
    return of_kind(found, kind_of(x))


def stepped(x: A, function: Callable[[Values], Values], step: float | None, kind: Kind) -> A:
    """A function that jumps, as `numpy.floor`, of multiples of a step.

    Args:
        function: of arrays of values.
        step: of the function's values.

    Raises:
        TypeError: where no step is known.
        ParameterError: for more than 10 different values.
    """
    unit = x.step
    if unit is None:
        raise NoStepError(
            "floor, round, // and % jump: they take multiples of a known step. Give inputs one, "
            "hm.ArraySpec(shape, range=, step=), or round in the clear"
        )
    values = _points(x, bounds_of(x, certain=True))
    is_same = values is not None and bool((function(values * unit) == values * unit).all())
    found = x if is_same else of_few(x, lambda points: function(points * unit), step)
    if found is None:
        raise ParameterError(
            f"floor, round, // and % take at most {_MOST_POINTS} different values: give a narrower range, or "
            "round in the clear"
        )
    return of_kind(found, kind)


# --- Masks, and counts of them. ---


def truths(x: A) -> A:
    """Whether elements are not 0; masks as they are."""
    return x if is_mask(x) else differs(x, 0)


def all_true(x: A, axis: Any = None, *, keepdims: bool = False) -> A:
    """`numpy.all`."""
    return as_mask(product(truths(x), axis, keepdims=keepdims))


def any_true(x: A, axis: Any = None, *, keepdims: bool = False) -> A:
    """`numpy.any`."""
    return negated(all_true(negated(truths(x)), axis, keepdims=keepdims))


def counted(x: A, axis: Any = None, *, keepdims: bool = False) -> A:
    """How many elements along axes are not 0. TypeError where no step is known."""
    return of_kind(total(truths(x), axis, keepdims=keepdims), "i")


def selected(mask: A, x: Any, y: Any) -> A:
    """x where a mask is 1, y where it is 0."""
    require_mask(mask)
    kind = promoted(x, y)
    first, second = (as_numbers(encrypted(mask, each)) for each in (x, y))
    found = as_numbers(mask) * (first - second) + second
    ends = [broadcast(each, found.shape) for each in (first, second)]
    lows, highs = zip(*(bounds_of(each) for each in ends), strict=True)
    found = bounded(found, np.minimum(*lows), np.maximum(*highs))
    sides = [z.step if isinstance(z, Recorded) else common_step(np.asarray(z, np.float64)) for z in (x, y)]
    facts_of(found).step = step_of_sum(sides)
    return as_mask(found) if kind == "b" else of_kind(found, kind)


def of_type(x: A, dtype: np.dtype[Any]) -> A:
    """`x.astype(dtype)`. See `Array.astype` for errors."""
    kind = "i" if dtype.kind == "u" else dtype.kind
    if kind not in DTYPES:
        raise TypeError(f"encrypted arrays hold truth values and real numbers, and can not be of {dtype}")
    if kind == "b":
        return of_kind(x, "b") if kind_of(x) == "b" else differs(x, 0)
    low, high = x.range
    is_whole = kind_of(x) != "f" or (x.step is not None and float(x.step).is_integer())
    if kind == "i" and not is_whole:
        raise NoStepError(
            f"x.astype({dtype}) rounds numbers that need not be whole, which jumps; give inputs a step, "
            "hm.ArraySpec(shape, range=, step=1)"
        )
    limits = np.iinfo(dtype) if kind == "i" else np.finfo(dtype)
    if kind_of(x) != "b" and not (limits.min <= low + 0.25 and high - 0.25 <= limits.max):
        raise TypeError(f"x.astype({dtype}): values from {low:g} to {high:g} are beyond the type")
    return of_kind(x, kind)
