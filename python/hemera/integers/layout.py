"""Where the digits of integers stand in slots, and their way into arrays and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BASE = 16
DIGIT_BITS = 4


@dataclass(frozen=True)
class Layout:
    """Digit i of value j stands in slot i * values + j, the lowest digit first. A vector has `values`
    integers; an array takes as many vectors as it needs."""

    slots: int
    digits: int

    @classmethod
    def of(cls, bits: int, values: int) -> Layout:
        """The places of `values` integers of these bits in a vector."""
        digits = bits // DIGIT_BITS
        return cls(values * digits, digits)

    @property
    def values(self) -> int:
        """The number of integers in a vector."""
        return self.slots // self.digits

    def vectors(self, count: int) -> int:
        """The number of vectors of as many integers."""
        return max(1, -(-count // self.values))

    def by_digit(self, numbers: Sequence[float]) -> NDArray[np.float64]:
        """A slot vector with a number for each digit, from the lowest; 0 where there is none."""
        row = np.zeros(self.digits)
        row[: len(numbers)] = numbers
        return np.repeat(row, self.values)

    def only(self, digit: int, number: float = 1) -> NDArray[np.float64]:
        """A slot vector with a number at one digit, and 0 elsewhere."""
        return self.by_digit([0.0] * digit + [number])

    def from_integers(self, values: NDArray[np.uint64], digits: int) -> NDArray[np.float64]:
        """Digits of integers, of shape (vectors, slots)."""
        flat = values.reshape(-1)
        rows = np.zeros((self.vectors(flat.size), self.digits, self.values))
        spread = np.zeros(rows.shape[0] * self.values, np.uint64)
        spread[: flat.size] = flat
        for i in range(digits):
            digit = (spread >> np.uint64(DIGIT_BITS * i)) & np.uint64(BASE - 1)
            rows[:, i] = digit.reshape(rows.shape[0], self.values)
        return rows.reshape(rows.shape[0], self.slots)

    def from_truths(self, values: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Booleans at all digits of their values, of shape (vectors, slots)."""
        flat = values.reshape(-1)
        spread = np.zeros((self.vectors(flat.size), 1, self.values))
        spread.reshape(-1)[: flat.size] = flat
        return np.repeat(spread, self.digits, axis=1).reshape(-1, self.slots)

    def to_integers(self, slots: NDArray[np.int64], count: int, digits: int) -> NDArray[np.uint64]:
        """Integers of digits: the inverse of `from_integers`, of shape (count,)."""
        rows = slots.reshape(-1, self.digits, self.values)
        total = np.zeros((rows.shape[0], self.values), np.uint64)
        for i in range(digits):
            total |= rows[:, i].astype(np.uint64) << np.uint64(DIGIT_BITS * i)
        return total.reshape(-1)[:count]
