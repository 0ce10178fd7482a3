"""Linear maps of slots, by their diagonals (CKKS)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hemera.arrays.packing import by_diagonals
from hemera.circuits import LinearTransform
from hemera.errors import MismatchError, ParameterError
from hemera.serving.operations.base import OfMatrix, Operation, Place
from hemera.serving.values import MAX_SLOTS, Array, Form, SchemeName, constant, integer


@dataclass(frozen=True, eq=False)
class Map(OfMatrix):
    """y[s] is the sum over k of diagonals[k][s] * x[s + numbers[k]]; diagonals repeat with their length."""

    name: ClassVar[str] = "map"
    numbers: tuple[int, ...]
    values: Array
    """The different entries of the diagonals: those of a convolution are few."""
    places: Array
    """Shape (numbers, period): which of the values each entry is."""
    baby_steps: int = 0
    own_keys: bool = False
    """Keys over the primes of its level alone, with the baby steps that cost least with them."""

    @classmethod
    def of(cls, numbers: Sequence[int], diagonals: Array) -> Map:
        """The map of diagonals of shape (numbers, period)."""
        values, places = np.unique(diagonals, return_inverse=True)
        small = places.reshape(diagonals.shape).astype(np.int32)
        return cls(tuple(int(each) for each in numbers), values, small)

    @property
    def diagonals(self) -> Array:
        """Shape (numbers, period)."""
        return self.values[self.places]

    def validated(self, scheme: SchemeName) -> Operation:
        values = constant(self.values, scheme, "a map's values")
        places = np.asarray(self.places)
        numbers = tuple(integer(each, "a diagonal's number", 0, MAX_SLOTS - 1) for each in self.numbers)
        fits = values.ndim == 1 and places.ndim == 2 and places.dtype.kind == "i" and places.size > 0
        if not fits or len(places) != len(numbers) or len(set(numbers)) != len(numbers):
            raise ParameterError(
                f"a map of {len(numbers)} diagonals with values of shape {values.shape} at places of shape "
                f"{places.shape}"
            )
        if places.min() < 0 or places.max() >= len(values) or places.shape[1] > MAX_SLOTS:
            raise ParameterError("a map has places of values that are not there")
        steps = integer(self.baby_steps, "baby_steps", 0, MAX_SLOTS)
        return Map(numbers, values, places, steps, bool(self.own_keys))

    def form(self, forms: list[Form]) -> Form:
        period, slots = self.places.shape[1], forms[0].slots
        if slots % period or max(self.numbers) >= slots:
            raise MismatchError(f"diagonals of period {period} and values of {slots} slots do not fit")
        return forms[0]

    def plan(self, place: Place) -> LinearTransform:
        slots = place.form.slots
        repeats = slots // self.places.shape[1]
        own = {
            number: np.tile(self.values[places], repeats)
            for number, places in zip(self.numbers, self.places, strict=True)
        }
        return LinearTransform.from_diagonals(
            own,
            place.params,
            slots=slots,
            level=place.level,
            baby_steps=self.baby_steps,
            own_keys=self.own_keys,
        )

    def without_values(self) -> Map:
        """A map with the same rotations and products, of ones."""
        places = np.zeros((len(self.numbers), 1), np.int64)
        return Map(self.numbers, np.ones(1), places, self.baby_steps, self.own_keys)

    def clear(self, *xs: Array) -> Array:
        return by_diagonals(self.numbers, self.diagonals, xs[0])
