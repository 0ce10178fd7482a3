"""Two real values as the real and the imaginary part of one, as which they are moved and bootstrapped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hemera.errors import MismatchError
from hemera.objects.batches import stack
from hemera.objects.ciphertext import Ciphertext, gather, places_in
from hemera.program.operations.base import Operation, Running
from hemera.program.values import Array, Form, SchemeName


@dataclass(frozen=True)
class Parts(Operation):
    """Twice the real and twice the imaginary part, along a new last axis of the batch. Single ones would take
    a product and a level."""

    name: ClassVar[str] = "parts"
    schemes: ClassVar[tuple[SchemeName, ...]] = ("ckks",)
    settled = True
    conjugates = True

    def form(self, forms: list[Form]) -> Form:
        return Form(forms[0].slots, (*forms[0].shape, 2))

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        x = xs[0]
        conjugate = at.ev.conjugate(x)
        imaginary = at.ev.multiply(at.ev.subtract(conjugate, x), 1j)
        found = stack([at.ev.add(x, conjugate), imaginary])
        places = places_in(found)
        return gather(found, np.moveaxis(places, 0, -1))

    def clear(self, *xs: Array) -> Array:
        return np.stack([2 * np.real(xs[0]), 2 * np.imag(xs[0])], axis=-2)


@dataclass(frozen=True)
class Join(Operation):
    """a + bi of the two values along the last axis of a batch."""

    name: ClassVar[str] = "join"
    linear = True
    schemes: ClassVar[tuple[SchemeName, ...]] = ("ckks",)

    def form(self, forms: list[Form]) -> Form:
        if forms[0].shape[-1:] != (2,):
            raise MismatchError(f"join: a batch of shape {forms[0].shape} is not of two values")
        return Form(forms[0].slots, forms[0].shape[:-1])

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        real, imaginary = xs[0][..., 0], xs[0][..., 1]
        return at.ev.add(real, at.ev.multiply(imaginary, 1j))

    def clear(self, *xs: Array) -> Array:
        found: Array = xs[0][..., 0, :] + 1j * xs[0][..., 1, :]
        return found
