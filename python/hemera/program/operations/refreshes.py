"""Bootstraps of all schemes."""

from __future__ import annotations

import functools
import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from hemera._noise_warning import ranges_are_known
from hemera.circuits import Bootstrap, IntegerBootstrap
from hemera.circuits.bootstrap import prepared_for
from hemera.errors import ParameterError
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.context import Context
from hemera.parameters import Parameters
from hemera.program.operations.base import LATER, Operation, Running, SlotBySlot, narrowed, parts_of
from hemera.program.operations.places import Place
from hemera.program.values import MAX_PASSES, MAX_SLOTS, MAX_UPLOAD, Array, Form, SchemeName, integer, real


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
        x = narrowed(at, xs[0], self.magnitude) if self.known else xs[0]
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
