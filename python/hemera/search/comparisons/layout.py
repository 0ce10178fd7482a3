"""Where rows, queries and thresholds lie in slots.

A block is `rows` rows, a power of two and a multiple of `width`, and lies in the slots `copies` times: slot s
belongs to row s mod rows, in copy s div rows. `parts` copies, one after the other, share a row's entries:

- Slot s of the query has entry e(s) = (s mod rows + steps (s div rows mod parts)) mod width.
- Slot s of column j, j = 0, 1, ..., steps - 1, has entry e(s + j) of its row.

So rotation j of the query stands next to column j, and the scores are the sum over j of their products, added
up over `parts` copies. With one copy these are the diagonals of S. Halevi, V. Shoup, "Algorithms in HElib"
(2014/106). Rows of few blocks take fewer rotations and fewer columns.

Rotation j is that by a baby and a giant. In a block that is turned, column j is turned back by its giant: the
query is rotated by babies alone, and the sum of products of each giant by it, block by block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


def power_of_two(number: int) -> int:
    """The least power of two that is not below a number of at least 1."""
    return 1 << (number - 1).bit_length()


@dataclass(frozen=True)
class Layout:
    """A block of rows in slots."""

    slots: int
    rows: int
    """The rows of a block: a power of two from `width` to `slots`."""
    dims: int

    @property
    def width(self) -> int:
        """Entries of a row with the zeros that fill it up."""
        return power_of_two(self.dims)

    @property
    def copies(self) -> int:
        """Copies of a block in the slots: as many thresholds are compared at once."""
        return self.slots // self.rows

    @property
    def parts(self) -> int:
        """Copies that share the entries of a row."""
        return min(self.copies, self.width)

    @property
    def steps(self) -> int:
        """Rotations of a query, and columns of a block."""
        return self.width // self.parts

    @property
    def babies(self) -> list[int]:
        """Rotations of the query; `giants` of each of these."""
        return list(range(min(self.steps, power_of_two(int(np.ceil(np.sqrt(self.steps)))))))

    @property
    def giants(self) -> list[int]:
        """Multiples of the number of babies."""
        return list(range(0, self.steps, len(self.babies)))

    def entries(self, step: int = 0) -> NDArray[np.intp]:
        """[slots]: the entry of its row that each slot of column `step` has."""
        s = (np.arange(self.slots) + step) % self.slots
        return np.asarray((s % self.rows + self.steps * (s // self.rows % self.parts)) % self.width)

    def of_query(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """[slots] of a query [dims]."""
        whole = np.zeros(self.width)
        whole[: self.dims] = x
        return np.asarray(whole[self.entries()])

    def of_rows(self, vectors: NDArray[Any], is_turned: bool = False) -> NDArray[np.float64]:
        """[steps, slots] of at most `rows` vectors [count, dims], of a block that is turned or not. Slots
        without a row have zeros."""
        whole = np.zeros((self.rows, self.width))
        whole[: len(vectors), : self.dims] = vectors
        row = np.arange(self.slots) % self.rows
        columns = [whole[row, self.entries(step)] for step in range(self.steps)]
        if is_turned:
            columns = [np.roll(each, j - j % len(self.babies)) for j, each in enumerate(columns)]
        return np.stack(columns)

    def of_thresholds(self, thresholds: NDArray[np.float64]) -> NDArray[np.float64]:
        """[ciphertexts, slots] of thresholds: one for each copy, or the same one in all."""
        if len(thresholds) == 1:
            return np.full((1, self.slots), thresholds[0])
        count = -(-len(thresholds) // self.copies)
        padded = np.full(count * self.copies, thresholds[-1])
        padded[: len(thresholds)] = thresholds
        return np.repeat(padded, self.rows).reshape(count, self.slots)

    def of_numbers(self, numbers: NDArray[Any]) -> NDArray[np.float64]:
        """[ciphertexts, slots] of numbers [count, width] of at most `rows` rows: number n of a row lies in
        copy n mod copies of ciphertext n div copies."""
        count = -(-numbers.shape[1] // self.copies)
        whole = np.zeros((count * self.copies, self.rows))
        whole[: numbers.shape[1], : len(numbers)] = numbers.T
        return whole.reshape(count, self.slots)

    def numbers_of(self, slots: NDArray[Any], width: int) -> NDArray[Any]:
        """The reverse of `of_numbers`: [rows, width] of [ciphertexts, slots]."""
        return np.asarray(slots.reshape(-1, self.rows)[:width].T)

    def in_copies(self, numbers: NDArray[Any]) -> NDArray[np.float64]:
        """[slots] of one number for each row [count], the same in all copies."""
        whole = np.zeros(self.rows)
        whole[: len(numbers)] = numbers
        return np.tile(whole, self.copies)

    def firsts(self) -> NDArray[np.float64]:
        """[slots]: 1 in the first slot of each copy."""
        return np.asarray(np.arange(self.slots) % self.rows == 0, np.float64)
