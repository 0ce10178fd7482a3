"""What the stages of the entry agree on: sizes, files, parameters and the layout of rows.

A batch is as many records as a ciphertext has slots, S; dims is a power of two and divides S.

- Slot s of ciphertext r of a batch, r = 0, 1, ..., dims - 1, has entry (s + r) mod dims of record s.
- Slot s of the query has its entry s mod dims.

So rotation r of the query stands next to ciphertext r, and the scores of all records of the batch are the sum
over r of their products (S. Halevi, V. Shoup, "Algorithms in HElib", 2014/106).
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

import hemera as hm

__all__ = ["HIGH", "LOW", "PAYLOAD", "PAYLOAD_SCALE", "Workload", "indicator", "parse"]

PAYLOAD = 7
"""Numbers of a record's payload, from 0 to 511."""
PAYLOAD_SCALE = 512
LOW, HIGH = 0.65, 0.86
"""Cosines up to LOW are no match, from HIGH on they are. The workload's data have none in between: records of
the query's centre have 0.917 with a deviation below 0.01, all others at most 0.5."""
_DEGREE = 63
_SIZES = (("toy", 128, 1000), ("small", 128, 50_000), ("medium", 256, 1_000_000), ("large", 512, 20_000_000))
_RINGS = (1 << 11, 1 << 15, 1 << 15, 1 << 15)
_BABIES = 16


@dataclass(frozen=True)
class Workload:
    """An instance of the workload."""

    size: int
    count_only: bool = False
    root: Path = Path()

    @property
    def dims(self) -> int:
        return _SIZES[self.size][1]

    @property
    def records(self) -> int:
        return _SIZES[self.size][2]

    @property
    def slots(self) -> int:
        return _RINGS[self.size] // 2

    @property
    def batches(self) -> int:
        return -(-self.records // self.slots)

    @property
    def data(self) -> Path:
        return self.root / "datasets" / _SIZES[self.size][0]

    @property
    def io(self) -> Path:
        return self.root / "io" / _SIZES[self.size][0]

    @property
    def keys(self) -> Path:
        """For the server."""
        return self.io / "keys"

    @property
    def secret(self) -> Path:
        """The client's alone."""
        return self.io / "secret"

    @property
    def up(self) -> Path:
        return self.io / "ciphertexts_upload"

    @property
    def down(self) -> Path:
        return self.io / "ciphertexts_download"

    @property
    def device(self) -> str:
        """The server's."""
        return os.environ.get("HEMERA_DEVICE", "auto")

    @property
    def parameters(self) -> hm.ckks.Parameters:
        """Of one level for the scores, six for the indicator, and one for payloads, or two more that make it
        steeper. 128 bits of security; the toy instance has none."""
        ring = _RINGS[self.size]
        return hm.ckks.Parameters.for_circuit(
            depth=9 if self.count_only else 8,
            scale_bits=40,
            range_bits=20 if self.count_only else 4,
            slots=ring // 2,
            degree=ring,
            security=None if self.size == 0 else 128,
        )

    @property
    def babies(self) -> list[int]:
        """Rotations of the query; `giants` of each of these."""
        return list(range(_BABIES))

    @property
    def giants(self) -> list[int]:
        return list(range(0, self.dims, _BABIES))

    def batch_of(self, rows: NDArray[np.float32], batch: int) -> NDArray[np.float32]:
        """The slots [r, s] of a batch of records. Slots without a record have zeros."""
        part = rows[batch * self.slots : (batch + 1) * self.slots]
        whole = np.zeros((self.slots, self.dims), np.float32)
        whole[: len(part)] = part
        s = np.arange(self.slots)
        return np.stack([whole[s, (s + r) % self.dims] for r in range(self.dims)])

    def payload_of(self, payloads: NDArray[np.int16], batch: int) -> NDArray[np.complex128]:
        """The slots [pair, s] of a batch's payloads, and of a one behind each, which tells a match: real and
        imaginary parts."""
        part = payloads[batch * self.slots : (batch + 1) * self.slots]
        whole = np.zeros((PAYLOAD + 1, self.slots))
        whole[:PAYLOAD, : len(part)] = part.T / PAYLOAD_SCALE
        whole[PAYLOAD, : len(part)] = 1
        return whole[0::2] + 1j * whole[1::2]

    def matches_of(self, decrypted: NDArray[np.complex128]) -> NDArray[np.int16]:
        """The reverse of decrypted slots [batch, pair, s]: the payloads of records that match."""
        parts = np.stack([decrypted.real, decrypted.imag], axis=2)  # [batch, pair, part, s]
        records = parts.transpose(0, 3, 1, 2).reshape(-1, PAYLOAD + 1)[: self.records]
        found = records[np.rint(records[:, PAYLOAD]) == 1, :PAYLOAD]
        return np.rint(found * PAYLOAD_SCALE).astype(np.int16)


def indicator() -> NDArray[np.float64]:
    """Coefficients, in the Chebyshev basis, of the polynomial that is nearest to 0 on [-1, LOW] and 1 on
    [HIGH, 1], by Lawson's weights: its error is below 2^-17."""
    x = np.cos(np.linspace(0, np.pi, 4000))
    x = x[(x <= LOW) | (x >= HIGH)]
    wanted = (x >= HIGH).astype(float)
    powers = chebyshev.chebvander(x, _DEGREE)
    weights = np.ones(len(x))
    best, least = np.zeros(_DEGREE + 1), np.inf
    for _ in range(50):
        root = np.sqrt(weights)
        found = np.linalg.lstsq(powers * root[:, None], wanted * root, rcond=None)[0]
        errors = np.abs(powers @ found - wanted)
        if errors.max() < least:
            best, least = found, float(errors.max())
        weights *= errors
        weights /= weights.sum()
    return best


def parse() -> Workload:
    """The instance that the harness asks for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("size", type=int, choices=range(len(_SIZES)))
    parser.add_argument("--count_only", action="store_true")
    options, _ = parser.parse_known_args()  # --seed is of the harness' data
    return Workload(options.size, options.count_only)
