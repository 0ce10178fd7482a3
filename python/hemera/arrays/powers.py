"""Powers of encrypted arrays, and angles of points."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from hemera.arrays.arithmetic import times
from hemera.arrays.elementwise import approximated, divide, named, number_in, reciprocal
from hemera.arrays.facts import distinct
from hemera.arrays.recorded import (
    A,
    Recorded,
    as_operand,
    broadcast,
    joined_shape,
    kind_of,
    moved,
    of_kind,
    promoted,
    recorder_of,
)
from hemera.arrays.recorder import user_line
from hemera.circuits.elementary import reaches_zero
from hemera.errors import ParameterError, PrecisionError, RangeError

_MOST_EXPONENTS = 32
_LEAST_OF_ROOTS = 0.8
"""Powers of roots below this lose most of the bits that roots have."""


def power(x: A, exponent: Any) -> A:
    """x to plain numbers, arrays of at most 32 different ones, and of positive values to encrypted ones.

    Raises:
        RangeError: for exponents that are not whole, of values below 0.
        TypeError: for other exponents; for whole numbers to negative ones.
    """
    number = number_in(exponent)
    if number is None:
        return _by_exponents(x, exponent)
    if not math.isfinite(number):
        raise TypeError("an encrypted array is raised to finite numbers")
    if number.is_integer():
        whole = int(number)
        if whole < 0:
            found = reciprocal(x.power(-whole))  # which exact programs refuse
            _refuse_negative_powers(x, exponent)
            return found
        return of_kind(x.power(whole), promoted(1, x, exponent))
    if (2 * number).is_integer():
        root = named(x, "sqrt")
        whole = int(abs(number))
        found = root * x.power(whole) if whole else root
        return found if number > 0 else reciprocal(found)
    return _real_power(x, number)


def _real_power(x: A, number: float) -> A:
    recorder_of(x).approximates(f"x ** {number:g}")
    low, high = x.range
    if low < 0 or (low == 0 and number < 0):
        raise RangeError(
            f"x ** {number:g} of values from {low:g} to {high:g} ({user_line()}), which NumPy has of "
            "positive ones alone: give the inputs a narrower range or samples (range=, calibrate=)"
        )
    try:
        return approximated(x, _power_function(number))
    except PrecisionError:
        if 2 * number < _LEAST_OF_ROOTS or not reaches_zero(low, high):
            raise
    # Near 0 the root's power bends less than that of x, and takes the root's error to this power.
    least_bits = 1 + recorder_of(x).tolerance_bits(high**number) / (2 * number)
    return approximated(named(x, "sqrt", least_bits), _power_function(2 * number))


@functools.lru_cache
def _power_function(number: float) -> Callable[[Any], Any]:
    """One object for equal exponents, so that equal operations are known as such."""

    def power_of(x: Any) -> Any:
        return np.maximum(x, 0.0) ** number

    power_of.__name__ = "power"
    return power_of


def _by_exponents(x: A, exponent: Any) -> A:
    """x to encrypted exponents, or to an array of plain ones."""
    given = as_operand(exponent, x)
    if given is None:
        raise TypeError("an encrypted array is raised to numbers and arrays of them")
    _refuse_negative_powers(x, given if isinstance(given, Recorded) else exponent)
    if isinstance(given, Recorded):
        return of_kind(named(named(x, "log") * given, "exp"), "f")
    shape = joined_shape(x.shape, given.shape)
    found = distinct(given)
    if not 0 < len(found) <= _MOST_EXPONENTS:
        raise ParameterError(f"{len(found)} different exponents; 1 to {_MOST_EXPONENTS} can be")
    wide = broadcast(x, shape)
    powers = [power(wide, number) for number in found.tolist()]
    index = np.searchsorted(found, np.broadcast_to(given, shape))[np.newaxis]
    chosen: A = moved(powers, lambda *parts: np.take_along_axis(np.stack(parts), index, 0)[0])
    return of_kind(chosen, promoted(1, x, exponent))


def raised(base: Any, x: A) -> A:
    """A positive plain number to the power x."""
    number = number_in(base)
    if number is None or not 0 < number < math.inf:
        raise TypeError("one positive plain number is raised to an encrypted array, by exp(x * log(number))")
    recorder_of(x).approximates(f"{number:g} ** x")
    kind = promoted(1, base, x)
    if x.range[0] <= -0.5:
        _refuse_negative_powers(base, x)
    return of_kind(named(x * math.log(number), "exp"), kind)


def _refuse_negative_powers(x: Any, exponent: Any) -> None:
    """TypeError for whole numbers to exponents below 0, or that may be, of which NumPy has none."""
    is_plain = not isinstance(exponent, Recorded)
    if "f" not in (kind_of(x), kind_of(exponent)) and not (is_plain and np.min(exponent, initial=0) >= 0):
        raise TypeError(
            "whole numbers to powers that are whole and can be negative are an error in NumPy: "
            "x.astype(float) ** -1 has real ones"
        )


def arctan2(y: Any, x: Any) -> Any:
    """`numpy.arctan2`, of which one operand at least is encrypted, where all x are above 0, or all y have one
    sign: by the arctangent of the quotient that is smaller.

    Raises:
        RangeError: for other points, among which it jumps.
    """
    (y_low, y_high), (x_low, x_high) = (_ends_of(each) for each in (y, x))
    nearest = max(y_low, -y_high)
    of_x = max(-y_low, y_high) / x_low if x_low > 0 else math.inf
    of_y = max(-x_low, x_high) / nearest if nearest > 0 else math.inf
    if min(of_x, of_y) == math.inf:
        raise RangeError(
            f"np.arctan2 of x from {x_low:g} to {x_high:g} and y from {y_low:g} to {y_high:g} "
            f"({user_line()}) jumps where x is negative and y is 0: give x a range above 0, or y one on a "
            "side of 0 (range=, or calibrate=)"
        )
    if of_x <= of_y:
        return approximated(_quotient(y, x), np.arctan)
    return math.copysign(math.pi / 2, y_low) - approximated(_quotient(x, y), np.arctan)


def _ends_of(value: Any) -> tuple[float, float]:
    return value.range if isinstance(value, Recorded) else (float(np.min(value)), float(np.max(value)))


def _quotient(a: Any, b: Any) -> Any:
    return divide(a, b) if isinstance(a, Recorded) else times(reciprocal(b), a)
