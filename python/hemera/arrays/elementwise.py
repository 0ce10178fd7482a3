"""Functions of single elements of encrypted arrays, approximated on the range of the values."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera import circuits
from hemera.arrays.arithmetic import both, either
from hemera.arrays.comparisons import stepped
from hemera.arrays.facts import common_step
from hemera.arrays.look_ups import tabulated
from hemera.arrays.near_zero import NearZeroError, kept_from_zero, near_zero, places_of
from hemera.arrays.operations import FORMULAS, Apply, Formula
from hemera.arrays.recorded import (
    A,
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
from hemera.arrays.recorder import GRID, user_line
from hemera.circuits import Function
from hemera.errors import ParameterError
from hemera.inputs.plain import plain_array, stepping_array

_NAMES = {"reciprocal": "inverse"}
"""Names of `hemera.circuits` for functions that have others in `FORMULAS`."""
_WIDER = 1 + 2.0**-8
"""So much wider than the range are the magnitudes that maxima are made for."""
_WITHIN_ONE = ("arccos", "arcsin", "arctanh")
"""Functions of values from -1 to 1: products of normalised vectors are beyond by errors."""
_NEARLY = 2.0**-7
"""Bits by which functions may differ that are made once."""


def named(x: A, name: str, least_bits: float = 2.0) -> A:
    """A function of `hemera.circuits` on the range of the values, with the program's precision."""
    recorder_of(x).approximates(name)
    if name == "sqrt":
        x = at_node(x, recorder_of(x).not_negative(number_of(x)))
    x = kept_from_zero(x, name)
    found = _named(x, name, least_bits)
    facts_of(found).applied = name, number_of(x)
    return found


def _named(x: A, name: str, least_bits: float) -> A:
    clear, make = FORMULAS[name], getattr(circuits, _NAMES.get(name, name))
    size = np.abs if name == "gelu" else clear
    low, high = x.range
    refusal: ParameterError | NearZeroError | None = None
    if name in ("log", "sqrt") and (low < 0 or (low == 0 and name == "log")):
        refusal = NearZeroError(
            f"{name} of values from {low:g} on ({user_line()}): give the inputs a narrower range (range=, or "
            f"calibrate=), or add a number before, as in np.{name}(np.maximum(x, 0) + 0.01)"
        )
    elif name == "reciprocal" and low <= 0 <= high:
        refusal = NearZeroError(
            f"1 / x of values from {low:g} to {high:g} ({user_line()}): the range has 0 in it. Give the "
            "inputs a narrower range or samples (range=, calibrate=), or keep the divisor from 0 by a number"
        )
    else:
        ends = recorder_of(x).interval(number_of(x))
        with np.errstate(all="ignore"):
            values = np.abs(size(np.linspace(*ends, GRID)))
        largest = float(values[np.isfinite(values)].max(initial=1.0))
        bits = max(least_bits, recorder_of(x).tolerance_bits(largest))
        try:
            function = recorder_of(x).made(make.__name__, *ends, lambda: make(ends, bits=bits))
            return x.apply(function, formula=clear)
        except ParameterError as error:
            refusal = near_zero(error, x, name)
    one = recorder_of(x).composed(clear, name, number_of(x))
    if one is None and isinstance(refusal, ParameterError):
        one = recorder_of(x).unmade(clear, name, number_of(x), refusal)
    if one is None:
        if isinstance(refusal, NearZeroError):
            refusal.places = places_of(x, name)
        raise refusal
    return at_node(x, one)


def reciprocal(x: A) -> A:
    """1 / x of values that do not come near 0. RangeError where 0 is in the range."""
    recorder_of(x).approximates("1 / x")
    return named(x, "reciprocal")


def divide(x: A, other: Any) -> A:
    """x / other. ZeroDivisionError for plain zeros; see `reciprocal`."""
    given = as_operand(other, x)
    if given is None:
        return NotImplemented  # type: ignore[no-any-return]
    if not isinstance(given, np.ndarray):
        return x * reciprocal(given)
    if not given.all():
        raise ZeroDivisionError("an encrypted array is divided by 0")
    return of_kind(x * (1 / given), "f")


def by_number(function: np.ufunc, x: A, divisor: Any) -> A:
    """x // divisor or x % divisor, of multiples of a step and one plain number.

    Raises:
        TypeError: where no step is known, and for other divisors: in exact programs they are whole.
        ParameterError: for more than 10 different values in approximate programs, and for a divisor that
            float64 has not.
        ZeroDivisionError: for 0.
    """
    number = number_in(divisor)
    if number is None or not math.isfinite(number) or (recorder_of(x).is_exact and not number.is_integer()):
        raise TypeError("encrypted numbers are divided by one plain number, in exact programs by a whole one")
    stepping_array(divisor, f"np.{function.__name__}")
    if not number:
        raise ZeroDivisionError("an encrypted array is divided by 0")
    step = 1.0 if function is np.floor_divide else common_step(np.array([x.step or 1.0, number]))
    kind = promoted(1, x, divisor)
    return stepped(x, lambda values: function(values, number), step, kind)


def number_in(value: Any) -> float | None:
    """A single plain number, or None."""
    try:
        return float(plain_array(operator.index(value), "a plain number", np.float64))
    except TypeError:
        known = isinstance(value, (float, np.floating)) or (isinstance(value, np.ndarray) and value.ndim == 0)
        return float(value) if known and not np.iscomplexobj(value) else None


def approximated(x: A, function: Callable[[Any], Any], *, most: int = 1023, of_arrays: bool = False) -> A:
    """Any real function of one number, by the polynomial of the least degree with the program's precision.

    Args:
        of_arrays: whether the function takes arrays, too, element by element.

    Raises:
        ParameterError: where the function is not finite on the range of the values, and where no polynomial
            up to the degree `most` has the precision.
    """
    formula = function if of_arrays else np.vectorize(function, otypes=[np.float64])
    exact = tabulated(x, formula)
    if exact is not None:
        return exact
    name = getattr(function, "__name__", "")
    name = name if name.isidentifier() else "the function"
    one = recorder_of(x).composed(formula, name, number_of(x))
    if one is not None:
        return at_node(x, one)
    low, high = recorder_of(x).interval(number_of(x))
    with np.errstate(all="ignore"):
        values = np.abs([float(function(at)) for at in np.linspace(low, high, 257)])
    if not np.isfinite(values).all():
        raise ParameterError(
            f"{name} is not finite everywhere from {low:g} to {high:g} ({user_line()}): give the inputs a "
            "narrower range (range=, or calibrate=)"
            + (f", or take np.{name}(np.clip(x, -0.99, 0.99))" if name in _WITHIN_ONE else "")
        )
    tolerance = 2.0 ** -recorder_of(x).tolerance_bits(float(values.max(initial=1.0)))
    degree = 1
    while degree <= most:
        found = circuits.approximate(function, (low, high), degree)
        if found.error <= tolerance:
            return x.apply(found, formula=formula)
        degree = 2 * degree + 1
    raise recorder_of(x).refusal(name, low, high, f"no polynomial of degree {most} is within {tolerance:g}")


def polyval(coefficients: NDArray[np.float64], x: A) -> A:
    """A polynomial with these real coefficients, the lowest power first."""
    known = np.trim_zeros(coefficients, "b")
    if len(known) <= 1:
        return filled(x, float(known[0]) if len(known) else 0.0)
    if len(known) == 2:
        return x * float(known[1]) + float(known[0])
    if recorder_of(x).is_exact:
        first, *others = (x.power(at) * each for at, each in enumerate(known.tolist()) if at and each)
        total: A = sum(others, start=first)
        return total + float(known[0])
    # In the power basis it takes all values; its stated errors hold for those in the interval.
    return x.apply(circuits.Polynomial(known, interval=recorder_of(x).interval(number_of(x))))


def larger(x: A, other: Any) -> A:
    """The larger of two arrays, by the sign of the difference: around the middle of their range, or of x and
    plain numbers by the rectifier, which takes fewer levels. For truth values: whether one is true."""
    if promoted(x, other) == "b":
        return either(x, other)
    kind = promoted(1, x, other)
    x, plain = as_numbers(x), as_operand(other, x)
    if isinstance(plain, np.ndarray):
        return of_kind(_rectified(x - plain) + plain, kind)
    y = as_numbers(encrypted(x, other))
    for one, another in ((x, y), (y, x)):
        if bounds_of(one, certain=True)[0].min() >= bounds_of(another, certain=True)[1].max():
            return of_kind(broadcast(one, joined_shape(x.shape, y.shape)), kind)
    if recorder_of(x).is_exact:
        return _rectified(x - y) + y
    middle, largest, bits = _around(x, y)
    function = _known_maximum(x, largest, bits) or recorder_of(x).made(
        "maximum", -largest, largest, lambda: circuits.maximum(bits=bits, largest=largest)
    )
    found = (x - middle).apply(function, y - middle, formula=np.maximum)
    return of_kind(found + middle, kind)


def _known_maximum(x: A, largest: float, bits: float) -> Function | None:
    """A maximum of the program for nearly these values and bits: rounds of a tournament differ by errors
    alone, and a search for one takes a second."""
    for node in recorder_of(x).program.nodes:
        function = node.operation.function if isinstance(node.operation, Apply) else None
        known = function.recipe if function and function.name == "maximum" else None
        if (
            known
            and abs(known["bits"] - bits) <= _NEARLY
            and 1 + _NEARLY**2 < known["largest"] * _WIDER / largest < _WIDER**2
        ):
            return function
    return None


def _rectified(x: A) -> A:
    """max(x, 0)."""
    low, high = x.range
    if low >= 0:
        return x
    if high <= 0:
        return filled(x, 0.0)
    return _homogeneous(x, circuits.relu, high, _positive)


def _positive(x: Any) -> Any:
    return np.maximum(x, 0)


@functools.lru_cache
def _between(low: float | None, high: float | None) -> Formula:
    """One object for equal ends, so that equal operations are known as such."""
    return lambda x: np.clip(x, low, high)


def _homogeneous(x: A, make: Callable[..., Function], most: float, formula: Formula) -> A:
    """A function of values around 0 with f(s x) = s f(x) for s > 0, from 0 to `most`. On (-1, 1), where that
    takes fewer levels: maps before and after it take the scaling in."""
    exact = tabulated(x, formula)
    if exact is not None:
        return exact
    low, high = (end * _WIDER for end in x.range)
    largest = max(-low, high)
    bits = max(2.0, recorder_of(x).tolerance_bits(largest))

    def made(scale: float) -> Function:
        ends, more = (low / scale, high / scale), math.log2(scale)
        return recorder_of(x).made(make.__name__, low, high, lambda: make(ends, bits=bits + more))

    function, scale = made(1.0), 1.0
    if recorder_of(x).program.nodes[number_of(x)].operation.is_linear:
        unit = made(largest)
        if unit.depth < function.depth:
            function, scale = unit, largest
    limits = (-function.error, most * _WIDER / scale + function.error)
    operand = x if scale == 1 else x * (1 / scale)
    found = at_node(x, recorder_of(x).apply(function, number_of(operand), limits=limits, formula=formula))
    return found if scale == 1 else found * scale


def _around(x: A, y: A) -> tuple[float, float, float]:
    """The middle of the ranges of two arrays, the largest distance from it, and the bits that fit it."""
    ends = [*x.range, *y.range]
    middle = (min(ends) + max(ends)) / 2
    largest = max(2.0**-20, max(ends) - middle) * _WIDER
    size = max(largest, *map(abs, ends))
    return middle, largest, max(2.0, recorder_of(x).tolerance_bits(size))


def smaller(x: A, other: Any) -> A:
    """The smaller of two arrays. For truth values: whether both are true."""
    if promoted(x, other) == "b":
        return both(x, other)
    y = as_numbers(other) if isinstance(other, Recorded) else as_operand(other, x)
    found = -larger(-as_numbers(x), None if y is None else -y)
    return of_kind(found, promoted(1, x, other))


def absolute(x: A) -> A:
    """The magnitude of each element. Truth values stay."""
    low, high = x.range
    if low >= 0 or kind_of(x) == "b":
        return x
    if high <= 0:
        return -x
    return of_kind(_homogeneous(x, circuits.abs, max(-low, high), np.abs), kind_of(x))


def clip(x: A, low: Any = None, high: Any = None) -> A:
    """`numpy.clip`. ParameterError for plain ends of which the lower one is above the higher one."""
    kind = promoted(*(each for each in (x, low, high) if each is not None))
    if kind == "b":
        raise TypeError("np.clip of truth values takes no truth values as ends; & and | combine masks")
    if not isinstance(x, Recorded):  # of which an end is encrypted
        x = encrypted(low if isinstance(low, Recorded) else high, x)
    return of_kind(_clipped(as_numbers(x), low, high), kind)


def _range_of(end: Any) -> tuple[float, float]:
    return end.range if isinstance(end, Recorded) else (float(np.min(end)), float(np.max(end)))


def _clipped(x: A, low: Any, high: Any) -> A:
    least, most = x.range
    ends = [number_in(end) for end in (low, high)]
    if ends[0] is not None and ends[1] is not None:
        if ends[0] > ends[1]:
            raise ParameterError(f"clip from {ends[0]:g} to {ends[1]:g}: the ends are the wrong way round")
        if ends[0] == ends[1]:
            return filled(x, ends[0])
        if least < ends[0] and ends[1] < most:
            exact = tabulated(x, lambda values: np.clip(values, ends[0] or 0.0, ends[1] or 0.0))
            if exact is not None:
                return exact
            largest = _WIDER * max(-least, most, -ends[0], ends[1])
            bits = max(2.0, recorder_of(x).tolerance_bits(largest))
            inner = (ends[0], ends[1])
            found = recorder_of(x).made(
                "clip", -largest, largest, lambda: circuits.clip(inner, bits=bits, largest=largest)
            )
            return x.apply(found, formula=_between(*ends))
    if low is not None and high is not None and _range_of(high)[1] <= _range_of(low)[0]:
        return broadcast(encrypted(x, high), joined_shape(x.shape, np.shape(low), np.shape(high)))
    if low is not None and not (ends[0] is not None and least >= ends[0]):
        x = larger(x, low)
        most = max(most, _range_of(low)[1])
    if high is not None and not (ends[1] is not None and most <= ends[1]):
        x = smaller(x, high)
    return x
