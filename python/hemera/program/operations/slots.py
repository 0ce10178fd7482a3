"""Operations that move values between slots, sum them, and take parts of batches."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from hemera import _core
from hemera.errors import MismatchError
from hemera.objects.ciphertext import Ciphertext
from hemera.program.operations.base import OfOneForm, Operation, Running, SlotBySlot
from hemera.program.operations.places import Bounded, Bounds, Place
from hemera.program.values import MAX_SLOTS, Array, Form, SchemeName, integer


@dataclass(frozen=True)
class Rotate(OfOneForm):
    """Slots turned left."""

    name: ClassVar[str] = "rotate"
    schemes: ClassVar[tuple[SchemeName, ...]] = ("ckks",)
    linear = True
    settled = True
    moves = True
    steps: int

    def validated(self, scheme: SchemeName) -> Operation:
        return type(self)(integer(self.steps, "the steps of a rotation", 1 - MAX_SLOTS, MAX_SLOTS - 1))

    def rotations(self, place: Place) -> frozenset[int]:
        return frozenset((self.steps,))

    def with_samples(self, samples: int, whole: bool) -> Operation:
        return type(self)(self.steps * samples)

    def bounded(self, at: Bounds, *xs: Bounded) -> Bounded:
        return Bounded(xs[0].largest, xs[0].error + at.unit)

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        return at.ev.rotate(xs[0], self.steps)

    def clear(self, *xs: Array) -> Array:
        return np.roll(xs[0], -self.steps, axis=-1)


class RotateRows(Rotate):
    """Each of the two rows of slots turned left."""

    name = "rotate rows"
    schemes = ("bfv", "bgv")

    def clear(self, *xs: Array) -> Array:
        return np.roll(rows_of(xs[0]), -self.steps, axis=-1).reshape(xs[0].shape)


def rows_of(values: Array) -> Array:
    """Slots of BFV and BGV as their two rows."""
    return values.reshape(*values.shape[:-1], 2, -1)


class Conjugate(SlotBySlot):
    name = calls = "conjugate"
    ufunc = np.conj
    schemes = ("ckks",)
    settled = True
    conjugates = True


class SwapRows(OfOneForm):
    name = "swap rows"
    calls = "swap_rows"
    schemes = ("bfv", "bgv")
    linear = True
    moves = True

    def clear(self, *xs: Array) -> Array:
        return rows_of(xs[0])[..., ::-1, :].reshape(xs[0].shape)


class Sum(OfOneForm):
    name = calls = "sum"
    linear = True
    settled = True

    def rotations(self, place: Place) -> frozenset[int]:
        return frozenset(_core.rotations_for_sum(place.params._native, place.form.slots))

    def noise(self, at: Place, *xs: Array) -> Any:
        return at.rounding * math.sqrt(at.form.slots - 1)

    def clear_bound(self, largest: int, operands: int, slots: int) -> int:
        return slots * largest

    def clear(self, *xs: Array) -> Array:
        return cast(Array, xs[0].sum(axis=-1, keepdims=True) + np.zeros_like(xs[0]))


@dataclass(frozen=True)
class Take(Operation):
    """An element of the batch that a request has, along its first axis."""

    name: ClassVar[str] = "take"
    linear = True
    moves = True
    adds_noise = False
    index: int

    def validated(self, scheme: SchemeName) -> Operation:
        return Take(integer(self.index, "an index", 0, MAX_SLOTS))

    def form(self, forms: list[Form]) -> Form:
        shape = forms[0].shape
        if not shape or self.index >= shape[0]:
            raise MismatchError(f"index {self.index} of a batch of shape {shape} for each request")
        return Form(forms[0].slots, shape[1:])

    def plan(self, place: Place) -> Any:
        return len(place.form.shape)

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        return xs[0][(slice(None),) * (xs[0].ndim - at.plan) + (self.index,)]

    def clear_of_batch(self, axes: int, *xs: Array) -> Array:
        return xs[0][(slice(None),) * (xs[0].ndim - 1 - axes) + (self.index,)]

    def clear(self, *xs: Array) -> Array:
        raise MismatchError(
            f"take {self.index} of values of shape {xs[0].shape}: they may have axes of a batch before their "
            "own, which Program.evaluate_clear knows: evaluate the program"
        )


@dataclass(frozen=True)
class Lower(SlotBySlot):
    """The same values some levels lower, where later operations take less time."""

    name: ClassVar[str] = "lower"
    schemes: ClassVar[tuple[SchemeName, ...]] = ("ckks",)
    linear = True
    settled = True
    adds_noise = False
    levels: int

    def validated(self, scheme: SchemeName) -> Operation:
        return Lower(integer(self.levels, "levels", 1, 1 << 10))

    @property
    def depth(self) -> int:
        return self.levels

    def plan(self, place: Place) -> int:
        return place.level - self.levels

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        return at.ev.at_level(xs[0], at.plan)

    def clear(self, *xs: Array) -> Array:
        return xs[0]
