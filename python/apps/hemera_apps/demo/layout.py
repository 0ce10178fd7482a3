"""The places of many rows' features in the slots of a batch of ciphertexts, known to client and server.

A ciphertext has one (CKKS) or two (BFV, BGV) rings of N/2 slots that rotations turn. A ring holds R = N/2 / F
rows of data, F the number of features filled up to a power of two: feature f of row r is slot f R + r.
Turns by R, 2R, 4R, ..., each followed by a sum, add up the features of each row, in all of its F slots at
once, without masks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.parameters import Parameters

FEATURES = 32
"""F: the 30 features of the table, filled up with zeros."""


@dataclass(frozen=True)
class Layout:
    """The layout for the ciphertexts of one set of parameters."""

    rings: int
    rows_per_ring: int

    @classmethod
    def of(cls, params: Parameters) -> Layout:
        ring = params.degree // 2
        return cls(rings=params.max_slots // ring, rows_per_ring=ring // FEATURES)

    @property
    def slots(self) -> int:
        """The number of slots of a ciphertext."""
        return self.rings * FEATURES * self.rows_per_ring

    @property
    def rows(self) -> int:
        """The number of rows of data in a ciphertext."""
        return self.rings * self.rows_per_ring

    @property
    def rotations(self) -> list[int]:
        """The steps that add up the features."""
        return [self.rows_per_ring << bit for bit in range(FEATURES.bit_length() - 1)]

    def pack(self, table: NDArray[Any]) -> NDArray[Any]:
        """A table of shape (rows, features) as slots of shape (ciphertexts, slots)."""
        rows, features = table.shape
        ciphertexts = -(-rows // self.rows)
        padded = np.zeros((ciphertexts * self.rows, FEATURES), dtype=table.dtype)
        padded[:rows, :features] = table
        rings = padded.reshape(ciphertexts, self.rings, self.rows_per_ring, FEATURES)
        return np.ascontiguousarray(rings.swapaxes(2, 3)).reshape(ciphertexts, self.slots)

    def spread(self, weights: NDArray[Any]) -> NDArray[Any]:
        """One weight a feature as slots, the same for every row."""
        slots = self.pack(np.broadcast_to(weights, (self.rows, len(weights))))
        return slots.reshape(self.slots)

    def unpack(self, slots: NDArray[Any], rows: int) -> NDArray[Any]:
        """The result of each of `rows` rows from slots of shape (ciphertexts, slots)."""
        rings = slots.reshape(-1, self.rings, FEATURES, self.rows_per_ring)
        results: NDArray[Any] = rings[:, :, 0, :].reshape(-1)[:rows]
        return results
