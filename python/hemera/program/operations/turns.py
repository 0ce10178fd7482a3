"""Batches whose slots are tokens and samples: several rotations of a batch, and sums of products of many
pairs of its ciphertexts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hemera.errors import MismatchError
from hemera.objects.ciphertext import Ciphertext
from hemera.program.operations.base import Operation, Product, Running
from hemera.program.operations.batches import elements_of, indices, joined, require_elements
from hemera.program.operations.places import Place
from hemera.program.values import MAX_SLOTS, Array, Form, SchemeName, common_shape, integer

_MOST_PAIRS = 256
"""Ciphertexts that are multiplied at a time: each is copied before."""


@dataclass(frozen=True)
class Rotations(Operation):
    """A batch turned left by each of several steps, one batch after the other; rotations share most of their
    work."""

    name: ClassVar[str] = "rotations"
    schemes: ClassVar[tuple[SchemeName, ...]] = ("ckks",)
    linear = True
    settled = True
    timed_by = ("steps",)
    steps: tuple[int, ...]

    def validated(self, scheme: SchemeName) -> Operation:
        return Rotations(
            tuple(
                integer(step, "the steps of a rotation", 1 - MAX_SLOTS, MAX_SLOTS - 1) for step in self.steps
            )
        )

    def form(self, forms: list[Form]) -> Form:
        if len(forms[0].shape) != 1 or not self.steps:
            raise MismatchError(f"{self.name}: a batch on one axis, and steps, are needed")
        return Form(forms[0].slots, (len(self.steps) * forms[0].shape[0],))

    def rotations(self, place: Place) -> frozenset[int]:
        return frozenset(self.steps) - {0}

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        moved = [step for step in self.steps if step]
        turned = iter(at.ev.rotate_many(xs[0], moved) if moved else ())
        return joined([next(turned) if step else xs[0] for step in self.steps])

    def clear(self, *xs: Array) -> Array:
        return np.concatenate([np.roll(xs[0], -step, axis=-1) for step in self.steps], axis=-2)


@dataclass(frozen=True, eq=False)
class SumsOfProducts(Product):
    """Element k is the sum over j of x[left[j, k]] * y[right[j, k]], relinearized and rescaled once."""

    name: ClassVar[str] = "sums of products"
    operands: ClassVar[int] = 2
    schemes: ClassVar[tuple[SchemeName, ...]] = ("ckks",)
    slotwise = False  # batches do not broadcast
    relinearizes = True
    scales = "product"
    timed_by = ("left", "right")
    left: Array
    """Shape (terms, elements of the result)."""
    right: Array
    """As `left`."""

    def validated(self, scheme: SchemeName) -> Operation:
        left, right = (indices(own, "factors of products", 2) for own in (self.left, self.right))
        if left.shape != right.shape:
            raise MismatchError(f"factors of shapes {left.shape} and {right.shape} are no pairs")
        return SumsOfProducts(left, right)

    def form(self, forms: list[Form]) -> Form:
        for form, own in zip(forms, (self.left, self.right), strict=True):
            require_elements(self.name, form, own)
        if forms[0].slots != forms[1].slots:
            raise MismatchError(f"{self.name}: values of {forms[0].slots} and {forms[1].slots} slots")
        return Form(forms[0].slots, (self.left.shape[1],))

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        together = max(1, _MOST_PAIRS // len(self.left))
        ends = [*range(0, self.left.shape[1], together), self.left.shape[1]]

        def factors(x: Ciphertext, own: Array) -> Sequence[Ciphertext]:
            return [elements_of(x, each) for each in own]

        return joined(
            [
                at.ev.dot(factors(xs[0], self.left[:, first:last]), factors(xs[1], self.right[:, first:last]))
                for first, last in itertools.pairwise(ends)
            ]
        )

    def clear(self, *xs: Array) -> Array:
        x, y = xs
        lead = common_shape(self.name, [each.shape[:-2] for each in xs])
        total = np.zeros((*lead, self.left.shape[1], x.shape[-1]), np.result_type(x, y))
        for one, other in zip(self.left, self.right, strict=True):
            total += x[..., one, :] * y[..., other, :]
        return total
