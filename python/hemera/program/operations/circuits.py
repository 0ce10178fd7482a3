"""Circuits: matrices and functions of CKKS."""

from __future__ import annotations

import functools
import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import numpy as np

from hemera import _core, circuits
from hemera._noise_warning import ranges_are_known
from hemera._process import cached_property
from hemera.circuits import Function, FunctionPlan, LinearTransform, Polynomial
from hemera.circuits.elementary import reaches_zero
from hemera.circuits.functions import stages_of
from hemera.errors import MismatchError, ParameterError, PrecisionError
from hemera.objects.ciphertext import Ciphertext
from hemera.parameters import Parameters
from hemera.program.operations.base import LATER, OfMatrix, Operation, Running, SlotBySlot, in_parts, narrowed
from hemera.program.operations.places import Bounded, Bounds, Place
from hemera.program.values import MAX_SLOTS, Array, Form, SchemeName, constant, integer, real


@dataclass(frozen=True, eq=False)
class Matmul(OfMatrix):
    """Each vector as a row times a plain matrix of shape (values, columns)."""

    name: ClassVar[str] = "matmul"
    timed_by = ("matrix", "baby_steps", "fewest_keys")
    matrix: Array
    baby_steps: int = 0
    fewest_keys: bool = False

    def validated(self, scheme: SchemeName) -> Operation:
        matrix = constant(self.matrix, scheme, "a matrix")
        if matrix.ndim != 2:
            raise TypeError(f"x @ matrix takes a plain matrix of two axes, not an array of {matrix.shape}")
        return Matmul(matrix, integer(self.baby_steps, "baby_steps", 0, MAX_SLOTS), bool(self.fewest_keys))

    def form(self, forms: list[Form]) -> Form:
        if max(self.matrix.shape) > forms[0].slots:
            raise MismatchError(
                f"a matrix of shape {self.matrix.shape} and values of {forms[0].slots} slots do not fit; "
                "give the input more: InputSpec(..., slots=)"
            )
        return forms[0]

    def expanded_bytes(self, slots: int) -> int:
        return 32 * math.prod(self.matrix.shape)

    def plan(self, place: Place) -> LinearTransform:
        return LinearTransform(
            self.matrix.T,
            place.params,
            slots=place.form.slots,
            level=place.level,
            baby_steps=self.baby_steps,
            fewest_keys=self.fewest_keys,
        )

    def clear(self, *xs: Array) -> Array:
        rows, columns = self.matrix.shape
        result = np.zeros((*xs[0].shape[:-1], xs[0].shape[-1]), np.result_type(xs[0], self.matrix))
        result[..., :columns] = xs[0][..., :rows] @ self.matrix
        return result


_OF_SLOPES = 4.0
"""Where noise times the square of a slope is this part of 1, it counts as all of a function's error."""


MOST_NOISE = {"maximum": 0.8, "relu": 0.8, "leaky_relu": 0.8, "abs": 0.4}
"""The most noise near 0, in errors of functions by the sign of a value. A sign is a chain of polynomials that
make values near 0 as large as 1, and their noise with them: its imaginary part, which nothing bounds, leaves
the interval from -1 to 1 with twice as much for one of a thousand values, and grows to anything."""


@functools.lru_cache(maxsize=128)
def _slope_at_low_end(function: Function) -> float:
    low, _ = function.intervals[0]
    step = 0.25 * function.error**2
    near, far = function.evaluate_clear(np.array([low, low + step]))
    return float((far - near) / step)


@functools.lru_cache(maxsize=128)
def _steepness(function: Function) -> tuple[Array, Array]:
    """Points of a function's interval, and how steep it is or how it bends there, as part of the most."""
    points = np.linspace(*function.intervals[0], 4097)
    slopes = np.gradient(function.evaluate_clear(points), points)
    parts = [np.abs(x) / (np.abs(x).max() or 1.0) for x in (slopes, np.gradient(slopes, points))]
    return points, np.maximum(*parts)


class _OfFunction(SlotBySlot):
    """A function of `hemera.circuits`, slot by slot."""

    schemes = ("ckks",)

    @property
    @abstractmethod
    def function(self) -> Function: ...

    @property
    def depth(self) -> int:
        return self.function.depth

    def plan(self, place: Place) -> Function:
        return self.function

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        # Who made the program knows closer bounds than those that operations carry along.
        bounds = [max(map(abs, ends)) for ends in self.function.intervals]

        def applied(*parts: Ciphertext) -> Ciphertext:
            own = (narrowed(at, x, bound) for x, bound in zip(parts, bounds, strict=True))
            with ranges_are_known():
                found: Ciphertext = at.ev.apply(at.plan, *own)
                return found

        return in_parts(applied, xs)

    def clear(self, *xs: Array) -> Array:
        return self.function.evaluate_clear(*xs)

    def noise(self, at: Place, *xs: Array) -> Any:
        mean, worst = self._at(at).own_error
        gap = (self.function.recipe or {}).get("gap", 0.0)
        if len(xs) == 1 and not gap:  # errors of first steps grow as the slope does, and as its changes
            return np.hypot(mean, worst * np.interp(xs[0].real, *_steepness(self.function)))
        # Steps are steep at 0. Beyond the gap, errors of their stages are squared, or carry values over it.
        beyond = max(mean, (2 * worst) ** 2) if gap else mean
        return np.where(np.abs(xs[0] - sum(xs[1:])) < gap, worst, beyond)

    @property
    def is_frail(self) -> bool:
        recipe = self.function.recipe or {}
        return self.function.name == "sqrt" and reaches_zero(
            recipe.get("low", math.inf), recipe.get("high", 0.0)
        )

    @property
    def most_noise(self) -> float:
        return MOST_NOISE.get(self.function.name, math.inf) * self.function.error

    def worst_noise(self, at: Place, error: float, /) -> float:
        # Near 0 a value's noise times the slope. Where noise times the square of the slope is near 1, as may
        # be that of a copy of its slot, values below 0 grow without bounds.
        slope = _slope_at_low_end(self.function)
        noise = math.hypot(error, max(1.0, *self.function.intervals[0]) * at.rounding)
        of_operand = slope * noise * max(1.0, _OF_SLOPES * self.function.error * slope * at.copies)
        mean, worst = self._at(at).own_error
        return max(of_operand, worst if worst > mean else 0.0)  # of draws both are one, as large as values

    def keys(self, place: Place) -> list[tuple[_core.KeyNeed, int]]:
        # A key serves each level whose primes it has; where levels are quotients it has more than one level.
        bases = list(enumerate(map(frozenset, place.params.primes[: place.level + 1])))
        needs = self._at(place).needed_keys
        return [(need, max(at for at, base in bases if base.issubset(need.primes))) for need in needs]

    def _at(self, place: Place) -> FunctionPlan:
        """The function's circuit at a place."""
        return self.function.plan(place.params, level=place.level, slots=place.form.slots)

    def bounded(self, at: Bounds, *xs: Bounded) -> Bounded:
        return at.function(self.function, xs)

    def clear_with_noise(self, axes: int, *xs: Array) -> Array:
        return self.function.evaluate_near(*map(np.real, xs))


_MAX_DEGREE = 1023


@dataclass(frozen=True, eq=False)
class OfPolynomial(_OfFunction):
    name: ClassVar[str] = "polynomial"
    timed_by = ("depth", "coefficients", "basis")
    coefficients: Array
    basis: str
    low: float
    high: float
    per_slot: bool
    error: float
    title: str

    @classmethod
    def of(cls, function: Polynomial) -> OfPolynomial:
        low, high = function.interval
        per_slot = function._native.width != 1
        return cls(function.coefficients, function.basis, low, high, per_slot, function.error, function.name)

    def validated(self, scheme: SchemeName) -> Operation:
        coefficients = constant(self.coefficients, scheme, "coefficients")
        if coefficients.ndim != 1 + bool(self.per_slot) or len(coefficients) > _MAX_DEGREE + 1:
            raise ParameterError(
                f"coefficients of shape {coefficients.shape}: one polynomial of a degree up to {_MAX_DEGREE}"
            )
        checked = OfPolynomial(
            coefficients,
            self.basis,
            real(self.low, "an interval's end"),
            real(self.high, "an interval's end"),
            bool(self.per_slot),
            real(self.error, "an error"),
            str(self.title)[:_MAX_TITLE],
        )
        _ = checked.function  # raises
        if checked.per_slot:
            vars(checked).pop(
                "function"
            )  # the plan makes it again: it takes four times what the coefficients do
        return checked

    def with_samples(self, samples: int, whole: bool) -> Operation | None:
        return None if self.per_slot else self

    def expanded_bytes(self, slots: int) -> int:
        return 32 * math.prod(self.coefficients.shape)

    @cached_property
    def function(self) -> Function:
        return Polynomial(
            self.coefficients,
            basis=cast(Any, self.basis),
            interval=(self.low, self.high),
            per_slot=self.per_slot,
            error=self.error,
            name=self.title,
        )

    def form(self, forms: list[Form]) -> Form:
        if self.per_slot and self.coefficients.shape[-1] != forms[0].slots:
            raise MismatchError(
                f"coefficients for {self.coefficients.shape[-1]} slots and a value of {forms[0].slots}"
            )
        return forms[0]


_MAX_TITLE = 200
_MAX_BITS = 50
MAX_FUNCTIONS = 32
"""Different functions of a program by name: each is approximated anew when a file is loaded, in seconds."""


@functools.lru_cache(maxsize=4 * MAX_FUNCTIONS)
def _made(name: str, numbers: tuple[tuple[str, float], ...]) -> Function:
    return circuits.from_recipe(name, dict(numbers))


@functools.lru_cache(maxsize=8 * MAX_FUNCTIONS)
def _circuit(function: Function, params: Parameters, level: int, slots: int) -> FunctionPlan:
    """One circuit for all that ask what it takes: its keys and operations are counted once."""
    return function.plan(params, level=level, slots=slots)


@dataclass(frozen=True)
class OfNamedFunction(_OfFunction):
    """A function that `hemera.circuits` makes of a name and numbers, such as sigmoid((-8, 8), bits=20)."""

    name: ClassVar[str] = "function"
    timed_by = ("of", "numbers", "stage")
    operands: ClassVar[int] = 0
    of: str
    numbers: dict[str, float]
    stage: tuple[int, ...] = field(default=(), metadata=LATER)
    """The number of one of its stages, and of a value that this gives: see `stages_of` of
    `hemera.circuits.functions`. Empty: the whole function."""

    def validated(self, scheme: SchemeName) -> Operation:
        if not isinstance(self.of, str) or not isinstance(self.numbers, dict):
            raise TypeError("a function is given by its name and numbers")
        numbers = {str(key): real(value, key) for key, value in self.numbers.items()}
        if numbers.get("bits", 0) > _MAX_BITS:
            raise PrecisionError(f"a function to {numbers['bits']} bits; at most {_MAX_BITS} are taken")
        checked = OfNamedFunction(self.of, numbers, tuple(self.stage))
        _ = checked.function  # raises
        return checked

    @cached_property
    def function(self) -> Function:
        whole = _made(*self.approximated)
        if not self.stage:
            return whole
        number, value = self.stage
        _, functions = stages_of(whole).get(number, ((), {}))
        if value not in functions:
            raise ParameterError(f"{self.of} has no value {value} of a stage {number}")
        return functions[value]

    def _at(self, place: Place) -> FunctionPlan:
        return _circuit(self.function, place.params, place.level, place.form.slots)

    @property
    def approximated(self) -> tuple[str, tuple[tuple[str, float], ...]]:
        return self.of, tuple(sorted(self.numbers.items()))

    @property
    def arity(self) -> int:
        """How many values it takes."""
        return len(self.function.intervals)

    def form(self, forms: list[Form]) -> Form:
        if len(forms) != self.arity:
            raise MismatchError(f"{self.of} takes {self.arity} values, not {len(forms)}")
        return super().form(forms)
