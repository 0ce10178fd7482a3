"""What moves values between slots, sums them, and takes parts of batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from hemera.errors import MismatchError
from hemera.objects.ciphertext import Ciphertext
from hemera.program.operations.base import Operation, Place, Running, SlotBySlot
from hemera.program.values import MAX_SLOTS, Array, Form, SchemeName, integer


@dataclass(frozen=True)
class Rotate(SlotBySlot):
    """Slots turned left."""

    name: ClassVar[str] = "rotate"
    schemes: ClassVar[tuple[SchemeName, ...]] = ("ckks",)
    steps: int

    def validated(self, scheme: SchemeName) -> Operation:
        del scheme
        return type(self)(integer(self.steps, "the steps of a rotation", 1 - MAX_SLOTS, MAX_SLOTS - 1))

    def rotations(self, place: Place) -> frozenset[int]:
        del place
        return frozenset((self.steps,))

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
    name = "conjugate"
    schemes = ("ckks",)

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        return at.ev.conjugate(xs[0])

    def clear(self, *xs: Array) -> Array:
        return np.conj(xs[0])


class SwapRows(SlotBySlot):
    name = "swap rows"
    schemes = ("bfv", "bgv")

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        return at.ev.swap_rows(xs[0])

    def clear(self, *xs: Array) -> Array:
        return rows_of(xs[0])[..., ::-1, :].reshape(xs[0].shape)


class Sum(SlotBySlot):
    name = "sum"

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        return at.ev.sum(xs[0])

    def clear(self, *xs: Array) -> Array:
        return cast(Array, xs[0].sum(axis=-1, keepdims=True) + np.zeros_like(xs[0]))


@dataclass(frozen=True)
class Take(Operation):
    """An element of the batch that a request has, along its first axis."""

    name: ClassVar[str] = "take"
    index: int

    def validated(self, scheme: SchemeName) -> Operation:
        del scheme
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

    def clear(self, *xs: Array) -> Array:
        raise MismatchError(
            f"take {self.index} of values of shape {xs[0].shape}: they may have axes of a batch before their "
            "own, which Program.evaluate_clear knows: evaluate the program"
        )


@dataclass(frozen=True)
class Lower(SlotBySlot):
    """The same values so many levels lower, where what follows takes less time."""

    name: ClassVar[str] = "lower"
    schemes: ClassVar[tuple[SchemeName, ...]] = ("ckks",)
    levels: int

    def validated(self, scheme: SchemeName) -> Operation:
        del scheme
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
