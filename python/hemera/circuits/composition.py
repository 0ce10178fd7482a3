"""Functions of several values, written as formulas of others."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from hemera import _core
from hemera.circuits.elementary import slopes_of
from hemera.circuits.functions import Function, Interval
from hemera.inputs.arguments import described, require_type
from hemera.inputs.operators import Operators

# Whole factors up to this one are taken without a level.
_LARGEST_WHOLE = 1024.0
# Points at which the range of a function is looked at, and how much wider than these values it may be.
_POINTS = 4096
_ROUNDING = 2**-20

Real = int | float | np.integer[Any] | np.floating[Any]
_REAL = (int, float, np.integer, np.floating)


@dataclass(eq=False, repr=False, slots=True)
class Expression(Operators):
    """A value inside of a function that is being composed, with + - * ** and functions of `hm.circuits`.

    It is a sum that is not taken yet: factor (products) + terms + constant, so that one level takes all.
    """

    _instead: ClassVar[Mapping[str, str]] = {}
    _otherwise: ClassVar[str] = "a formula has + - * ** of values and numbers, and functions of hm.circuits"

    builder: _core.FunctionBuilder
    terms: dict[int, float]
    interval: Interval
    """Where its values lie, for inputs anywhere in their intervals."""
    slopes: NDArray[np.float64]
    constant: float = 0.0
    products: tuple[tuple[int, int], ...] = ()
    factor: int = 1
    error: float = 0.0
    """How far they are from the values of the formula, at most."""

    @property
    def _largest(self) -> float:
        return max(abs(end) for end in self.interval)

    # --- Values of the function that is built. ---

    def _settled(self) -> Expression:
        """The same as one value of the function."""
        if not self.products and self.constant == 0 and list(self.terms.values()) == [1.0]:
            return self
        # Whole factors take no level where all terms have one scale.
        is_whole = all(f == round(f) and abs(f) <= _LARGEST_WHOLE for f in self.terms.values())
        is_even = len(self.terms) == 1 or all(self.builder.depth(value) == 0 for value in self.terms)
        is_free = is_whole and is_even and not self.products
        number = self.builder.sum(
            self.factor, list(self.products), list(self.terms.items()), self.constant, is_free
        )
        return replace(self, terms={number: 1.0}, constant=0.0, products=(), factor=1)

    def _number(self) -> int:
        (number,) = self._settled().terms
        return number

    def _affine(self) -> tuple[float, int, float]:
        """factor, value and constant: a sum of several is taken."""
        settled = self if not self.products and len(self.terms) == 1 else self._settled()
        ((value, factor),) = settled.terms.items()
        return factor, value, settled.constant

    # --- Operators. ---

    def _other(self, other: object) -> Expression | None:
        """An expression of the same function; None for what is no operand."""
        if not isinstance(other, Expression):
            return None
        if other.builder is not self.builder:
            raise _core.ParameterError("values of two functions do not meet; compose one function of both")
        return other

    def _plus(self, other: Any) -> Expression:
        if _is_number(other):
            c = _finite(other)
            low, high = self.interval
            return replace(self, constant=self.constant + c, interval=(low + c, high + c))
        right = self._other(other)
        if right is None:
            return NotImplemented  # type: ignore[no-any-return]
        left = self
        if left.products and right.products and left.factor != right.factor:
            right = right._settled()
        terms = dict(left.terms)
        for value, factor in right.terms.items():
            terms[value] = terms.get(value, 0.0) + factor
            if terms[value] == 0 and len(terms) > 1:
                del terms[value]
        return Expression(
            left.builder,
            terms,
            (left.interval[0] + right.interval[0], left.interval[1] + right.interval[1]),
            constant=left.constant + right.constant,
            products=left.products + right.products,
            factor=left.factor if left.products else right.factor,
            error=left.error + right.error,
            slopes=left.slopes + right.slopes,
        )

    def _minus(self, other: Any) -> Expression:
        if not _is_number(other) and self._other(other) is None:
            return NotImplemented  # type: ignore[no-any-return]
        return self._plus(-other)

    def _scaled(self, c: float) -> Expression:
        ends = (c * self.interval[0], c * self.interval[1])
        products, factor = self.products, self.factor
        if products and c * factor in (1, 2, -1):
            factor = int(c * factor)
        elif products:
            products = tuple(self._scaled_product(a, b, c * factor) for a, b in products)
            factor = 1
        return replace(
            self,
            terms={value: c * own for value, own in self.terms.items()},
            interval=(min(ends), max(ends)),
            constant=c * self.constant,
            products=products,
            factor=factor,
            error=abs(c) * self.error,
            slopes=abs(c) * self.slopes,
        )

    def _scaled_product(self, a: int, b: int, c: float) -> tuple[int, int]:
        """The factors of a product, the less deep one times a number."""
        if self.builder.depth(a) > self.builder.depth(b):
            a, b = b, a
        scaled = replace(self, terms={a: c}, constant=0.0, products=(), factor=1)
        return scaled._number(), b

    def _times(self, other: Any) -> Expression:
        if _is_number(other):
            return self._scaled(_finite(other))
        right = self._other(other)
        if right is None:
            return NotImplemented  # type: ignore[no-any-return]
        (f, a, c), (g, b, d) = self._affine(), right._affine()
        is_square = (f, a, c) == (g, b, d)
        factor, pair = 1, (a, b)
        if f * g in (1, 2, -1):
            factor = int(f * g)
        else:
            pair = self._scaled_product(a, b, f * g)
        terms: dict[int, float] = {}
        for value, own in ((a, f * d), (b, g * c)):
            if own != 0:
                terms[value] = terms.get(value, 0.0) + own
        e, h = self.error, right.error
        return Expression(
            self.builder,
            terms,
            _square(self.interval) if is_square else _product(self.interval, right.interval),
            constant=c * d,
            products=(pair,),
            factor=factor,
            error=self._largest * h + right._largest * e + e * h,
            slopes=self._largest * right.slopes + right._largest * self.slopes,
        )

    def _divided(self, other: Any) -> Expression:
        if _is_number(other):
            if other == 0:
                raise ZeroDivisionError("division of a value by zero")
            return self._scaled(1 / _finite(other))
        if self._other(other) is None:
            return NotImplemented  # type: ignore[no-any-return]
        raise TypeError(
            "values of a function are divided by hm.circuits.divide(numerator, denominator)(x, y), which "
            "takes the intervals of both"
        )

    def _power(self, exponent: Any) -> Expression:
        if isinstance(exponent, bool) or not isinstance(exponent, int | np.integer) or exponent < 1:
            raise TypeError(f"a value of a function is raised to 1, 2, 3, ..., not to {exponent!r}")
        powers: dict[int, Expression] = {1: self}

        def power(n: int) -> Expression:
            if n not in powers:
                for below in {n // 2, n - n // 2}:
                    powers[below] = power(below)._settled()
                powers[n] = powers[n // 2] * powers[n - n // 2]
            return powers[n]

        return power(int(exponent))

    _meanings: ClassVar = {
        np.add: _plus,
        np.subtract: _minus,
        np.multiply: _times,
        np.divide: _divided,
        np.power: _power,
        np.negative: lambda self: self._scaled(-1),
        np.positive: lambda x: x,
    }
    _reflected: ClassVar = {np.subtract: lambda self, other: -self + other}

    # --- Functions. ---

    def _evaluated(self, circuit: object, others: Sequence[Any], out: object) -> Expression:
        """The method that `hemera.circuits` asks of values: a function becomes part of this one."""
        if not isinstance(circuit, Function):
            raise TypeError(f"a function is composed of functions of slots, not of {described(circuit)}")
        if circuit._native.outputs != 1 or not circuit._native.is_real:
            raise TypeError(
                f"a function is composed of functions with one real result, not of {circuit.name}"
            )
        if out is not None:
            raise TypeError("values of a function have no out=")
        inputs = [self]
        for other in others:
            found = self._other(other)
            if found is None:
                raise TypeError(f"{circuit.name} takes values of the function, not {described(other)}")
            inputs.append(found)
        if len(inputs) != len(circuit.intervals):
            raise TypeError(f"{circuit.name} takes {len(circuit.intervals)} values, not {len(inputs)}")
        if not circuit._native.is_unbounded:
            for given, interval in zip(inputs, circuit.intervals, strict=True):
                _require_inside(circuit.name, given.interval, interval)
        ranges = [given.interval for given in inputs]
        own = circuit._slopes if isinstance(circuit, Composed) else slopes_of(circuit, ranges)
        error, slopes = circuit.error, np.zeros_like(self.slopes)
        for slope, given in zip(own, inputs, strict=True):
            # An exact input makes no error, however steep a function is.
            error += slope * given.error if given.error else 0.0
            depends = given.slopes > 0
            slopes[depends] += slope * given.slopes[depends]
        (number,) = self.builder.append(circuit._native, [given._number() for given in inputs])
        return Expression(self.builder, {number: 1.0}, _range_of(circuit, ranges), error=error, slopes=slopes)

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "the value of a function is encrypted when it runs, so a formula can not depend on it; compute "
            "both sides and select with hm.circuits.compare"
        )

    def __repr__(self) -> str:
        low, high = self.interval
        return f"<a value from {low:g} to {high:g}>"


class Composed(Function):
    """A function that is written as a formula of its inputs: `hemera.circuits.function` makes one."""

    def __init__(
        self, native: _core.Function, name: str, formula: Callable[..., Any], slopes: Sequence[float]
    ) -> None:
        super().__init__(native, name)
        self._formula = formula
        self._slopes = tuple(slopes)

    @property
    def formula(self) -> Callable[..., Any]:
        """The function that it was made of. It takes ciphertexts and values of programs, too, by steps."""
        return self._formula


def function(
    formula: Callable[..., Any], intervals: Sequence[Interval], *, name: str | None = None
) -> Composed:
    """A function of several values from a formula, slot by slot (CKKS).

        relu = hm.circuits.relu((-2, 2), bits=10)
        gate = hm.circuits.function(lambda x, y: relu(x - y) * y + 0.5, [(-1, 1), (-1, 1)])
        print(gate.depth, gate.error)
        z = gate(x, y)

    The formula takes a value for each interval, and returns one: by + - * and ** of values and real numbers,
    and by other functions, composed ones too. It runs once, when the function is made.

    Sums, products with numbers and one product of values take a level together. Sums of inputs times whole
    numbers, and a value times a whole number plus a number, take none. The depth is that of the deepest path.

    `error` is a bound: that of each function, and the errors of its inputs times its steepest slope. Errors
    of a `sign` and a `compare` count where their inputs differ by more than the gap and the inputs' errors.

    Args:
        formula: of as many arguments as there are intervals.
        intervals: where the inputs lie.
        name: for people; None: the formula's.

    Raises:
        ParameterError: where values of the formula may lie outside of a function's interval; for intervals
            that are empty, none at all, and numbers that are not finite.
        TypeError: for a formula that is none, asks for the values, or returns something else.
    """
    if not callable(formula):
        raise TypeError(f"a function is composed by a formula, not by {described(formula)}")
    found = [(float(low), float(high)) for low, high in intervals]
    builder = _core.FunctionBuilder(found)
    inputs = [
        Expression(builder, {i: 1.0}, interval, np.eye(len(found))[i]) for i, interval in enumerate(found)
    ]
    result = require_type(formula(*inputs), Expression, "function", "a formula that returns one value")
    if result.builder is not builder:
        raise _core.ParameterError("the formula returned a value of another function")
    native = builder.finish(result._number(), result.error, result._largest)
    own = getattr(formula, "__name__", "function")
    title = name or (own if own.isidentifier() else "function")
    return Composed(native, title, formula, result.slopes.tolist())


def _is_number(value: object) -> bool:
    return isinstance(value, _REAL) and not isinstance(value, bool)


def _finite(value: Real) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise _core.ParameterError(f"a formula has the number {number}, which is not finite")
    return number


def _product(a: Interval, b: Interval) -> Interval:
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


def _square(a: Interval) -> Interval:
    low, high = sorted(end * end for end in a)
    return (0.0 if a[0] <= 0 <= a[1] else low), high


def _require_inside(name: str, given: Interval, interval: Interval) -> None:
    """ParameterError where values of a range may lie outside of an interval."""
    slack = _ROUNDING * max(abs(end) for end in interval)
    if interval[0] - slack <= given[0] and given[1] <= interval[1] + slack:
        return
    raise _core.ParameterError(
        f"{name} takes values from {interval[0]:g} to {interval[1]:g}, and the formula gives it values from "
        f"{given[0]:g} to {given[1]:g}, errors among them; make it for a wider interval"
    )


def _range_of(function: Function, ranges: Sequence[Interval]) -> Interval:
    """Where values of a function lie: of one input from many of its values, else from its bound."""
    if len(ranges) > 1 or function._native.width != 1:
        bound = function._native.bounds[0] + function.error
        return -bound, bound
    low, high = ranges[0]
    if not function._native.is_unbounded:
        low, high = max(low, function.intervals[0][0]), min(high, function.intervals[0][1])
    middle, half = (low + high) / 2, (high - low) / 2
    angles = np.linspace(0, np.pi, _POINTS + 1)
    points = np.clip(middle + half * np.cos(angles), low, high)
    values = np.real(function._native.evaluate(np.ascontiguousarray(points[None], dtype=np.complex128))[0])
    margin = 2 * function.error + _ROUNDING * float(np.abs(values).max())
    return float(values.min()) - margin, float(values.max()) + margin
