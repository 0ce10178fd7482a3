"""Circuits: matrices and functions of CKKS, and bootstraps."""

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
from hemera.circuits import Bootstrap, Function, FunctionPlan, IntegerBootstrap, LinearTransform, Polynomial
from hemera.circuits.bootstrap import prepared_for
from hemera.errors import MismatchError, ParameterError, PrecisionError
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.context import Context
from hemera.parameters import Parameters
from hemera.program.operations.base import LATER, OfMatrix, Operation, Running, SlotBySlot, in_parts, parts_of
from hemera.program.operations.places import Bounded, Bounds, Place
from hemera.program.values import (
    MAX_PASSES,
    MAX_SLOTS,
    MAX_UPLOAD,
    Array,
    Form,
    SchemeName,
    constant,
    integer,
    real,
)


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
            own = (_narrowed(at, x, bound) for x, bound in zip(parts, bounds, strict=True))
            with ranges_are_known():
                found: Ciphertext = at.ev.apply(at.plan, *own)
                return found

        return in_parts(applied, xs)

    def clear(self, *xs: Array) -> Array:
        return self.function.evaluate_clear(*xs)

    def noise(self, at: Place, *xs: Array) -> Any:
        mean, worst = self._at(at).expected_error(0.0)
        gap = (self.function.recipe or {}).get("gap", 0.0)
        # Steps are steep at 0. Beyond the gap, errors of their stages are squared, or carry values over it.
        beyond = max(mean, (2 * worst) ** 2) if gap else mean
        return np.where(np.abs(xs[0] - sum(xs[1:])) < gap, worst, beyond)

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

    def clipped(self, xs: list[Array]) -> list[Array]:
        if self.function._native.is_unbounded:
            return xs
        return [np.clip(np.real(x), *own) for x, own in zip(xs, self.function.intervals, strict=True)]


def _narrowed(at: Running, x: Ciphertext, bound: float) -> Ciphertext:
    """The value with this bound declared, where its own one is wider."""
    return at.ev.declare(x, bound) if bound < x.largest else x


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
"""Different functions of a program by name: each is approximated anew when a file is loaded, in up to some
seconds."""


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
    timed_by = ("of", "numbers")
    operands: ClassVar[int] = 0
    of: str
    numbers: dict[str, float]

    def validated(self, scheme: SchemeName) -> Operation:
        if not isinstance(self.of, str) or not isinstance(self.numbers, dict):
            raise TypeError("a function is given by its name and numbers")
        numbers = {str(key): real(value, key) for key, value in self.numbers.items()}
        if numbers.get("bits", 0) > _MAX_BITS:
            raise PrecisionError(f"a function to {numbers['bits']} bits; at most {_MAX_BITS} are taken")
        checked = OfNamedFunction(self.of, numbers)
        _ = checked.function  # raises
        return checked

    @cached_property
    def function(self) -> Function:
        return _made(*self.approximated)

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


class Refresh(SlotBySlot):
    """A bootstrap of any scheme."""

    @abstractmethod
    def settings(self, form: Form) -> dict[str, Any]:
        """The settings that decide its keys: arguments of its plan besides the parameters."""


@functools.lru_cache(maxsize=16)
def bootstrap_with(params: Parameters, *settings: tuple[str, Any]) -> Bootstrap:
    """One plan for all bootstraps of the same settings, sorted by name, whose matrices then stand in a
    context's memory once."""
    return Bootstrap(params, **dict(settings))


@functools.lru_cache(maxsize=16)
def _own_error(plan: Bootstrap) -> float:
    return plan.expected_error(0.0)[0]


_OF_ZERO = 0.06
"""The part of a bootstrap's squared error that is left where all values are 0: measured, 0.03 to 0.09."""


@dataclass(frozen=True)
class Bootstraps(Refresh):
    """A bootstrap by `hemera.circuits.Bootstrap` with these settings."""

    name: ClassVar[str] = "bootstrap"
    settled = True
    schemes: ClassVar[tuple[SchemeName, ...]] = ("ckks",)
    real: bool = False
    iterations: int = 1
    merge_parts: bool = False
    magnitude: float = 1.0
    """The largest magnitude of the values."""
    known: bool = False
    """Whether it holds whatever the operations before it declare, which can be wider."""
    together: int = field(default=1, metadata=LATER)
    """Elements of a batch that are bootstrapped at once: of requests that run as one, too."""
    upload_limit: int = field(default=0, metadata=LATER)
    """The most bytes of its keys to upload; 0: no limit."""

    def validated(self, scheme: SchemeName) -> Operation:
        iterations = integer(self.iterations, "iterations", 1, 8)
        magnitude = real(self.magnitude, "a magnitude")
        if magnitude <= 0:
            raise ParameterError(f"the magnitude of what is bootstrapped must be positive, not {magnitude:g}")
        together = integer(self.together, "together", 1, MAX_SLOTS)
        limit = integer(self.upload_limit, "upload_limit", 0, MAX_UPLOAD)
        parts = bool(self.merge_parts), magnitude, bool(self.known), together, limit
        return Bootstraps(bool(self.real), iterations, *parts)

    def settings(self, form: Form) -> dict[str, Any]:
        """Arguments of `hemera.circuits.Bootstrap`."""
        settings = {"slots": form.slots, **parts_of(self)}
        return {name: value for name, value in settings.items() if name not in ("magnitude", "known")}

    def noise(self, at: Place, *xs: Array) -> Any:
        # Values are scaled to the interval from -1 to 1, where the model has uniform ones.
        squares: Any = np.mean(np.abs(xs[0]) ** 2)
        size = min(1.0, 3 * squares / self.magnitude**2)
        own = _own_error(self.plan(at)) * (self.magnitude * math.sqrt(_OF_ZERO + (1 - _OF_ZERO) * size))
        return own * math.sqrt(2) if self.real else own

    def refreshed(self, place: Place) -> tuple[int, int]:
        """The least level that it takes, and the level of its result."""
        plan = self.plan(place)
        return plan.input_level, plan.result_level

    def plan(self, place: Place) -> Bootstrap:
        return bootstrap_with(place.params, *sorted(self.settings(place.form).items()))

    def encode(self, plan: Bootstrap, context: Context) -> None:
        prepared_for(plan, context, self.magnitude)

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        x = _narrowed(at, xs[0], self.magnitude) if self.known else xs[0]
        with ranges_are_known():
            return at.ev.bootstrap(x, at.plan, magnitude=self.magnitude)

    def clear(self, *xs: Array) -> Array:
        return np.real(xs[0]) if self.real else xs[0]


@functools.lru_cache(maxsize=16)
def exact_bootstrap(params: Parameters, passes: int, failure_bits: int) -> IntegerBootstrap:
    """One plan for all bootstraps of the same settings. `passes`: 0: as few as have the budget of a product.
    ParameterError as of `hemera.circuits.IntegerBootstrap`."""
    return IntegerBootstrap(params, passes=passes or None, failure=2.0**-failure_bits)


@dataclass(frozen=True)
class ExactBootstraps(Refresh):
    """A bootstrap by `hemera.circuits.IntegerBootstrap` with these settings."""

    name: ClassVar[str] = "exact bootstrap"
    linear = True
    moves = True
    schemes: ClassVar[tuple[SchemeName, ...]] = ("bfv", "bgv")
    passes: int = 0
    """0: as few as have the budget of one product; decided once, when the model is packaged."""
    failure_bits: int = 40
    """-log2 of the largest probability that the noise of a result is beyond its bound."""

    def validated(self, scheme: SchemeName) -> Operation:
        return ExactBootstraps(
            integer(self.passes, "passes", 0, MAX_PASSES),
            integer(self.failure_bits, "-log2 of the probability of a failure", 40, 128),
        )

    def settings(self, form: Form) -> dict[str, Any]:
        """The keys are the same for all forms, and any number of passes."""
        return {"passes": self.passes}

    def decided(self, place: Place) -> ExactBootstraps:
        """The same with the passes that it has with these parameters."""
        return self if self.passes else ExactBootstraps(self.plan(place).passes, self.failure_bits)

    def plan(self, place: Place) -> IntegerBootstrap:
        return exact_bootstrap(place.params, self.passes, self.failure_bits)

    def encode(self, plan: IntegerBootstrap, context: Context) -> None:
        plan.prepare(context)

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        return at.ev.bootstrap(xs[0], at.plan)

    def clear(self, *xs: Array) -> Array:
        return xs[0]
