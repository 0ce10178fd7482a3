"""What the stages of the entry agree on: sizes, files, parameters and the layout of rows.

A block is as many records as a ciphertext has coefficients, N. Column j of a block has entry j of record i in
coefficient i, times a scale. So a block's scores are one sum of its columns' products with encryptions of the
query's entries, which are constants. A bootstrap from coefficients brings scores to slots, in two parts: slot
s of the first has coefficient j, slot s of the second coefficient j + N/2, where j has the bits of s in
reverse.

Blocks go through all steps in groups, as the elements of a batch. A file has the columns of one share of the
entries, of a group.
"""

from __future__ import annotations

import argparse
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    import hemera as hm

__all__ = ["LARGEST", "PAYLOAD", "PAYLOAD_SCALE", "Workload", "indicator", "parse", "threads"]

PAYLOAD = 7
"""Numbers of a record's payload, from 0 to 511."""
PAYLOAD_SCALE = 512
LOW, HIGH = 0.6, 0.85
"""Cosines up to LOW are no match, from HIGH on they are. The workload's data have none in between: records of
the query's centre have 0.917 with a deviation below 0.01, all others at most 0.5."""
LARGEST = 1.05
"""Scores are cosines over it: so errors leave them within [-1, 1], beyond which polynomials grow."""
_DEGREE = 63
_ROUNDS = 40
"""Of Lawson's algorithm."""
_SIZES = (("toy", 128, 1000), ("small", 128, 50_000), ("medium", 256, 1_000_000), ("large", 512, 20_000_000))
_RINGS = (1 << 11, 1 << 15, 1 << 15, 1 << 15)
_TOGETHER = 8
"""Blocks of a group."""
_SHARE = 8
"""Entries of a file's columns."""
_KEY_BYTES = 500_000_000
"""Of the bootstrap in memory: its matrices are then applied step by step, by few keys."""


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
    def degree(self) -> int:
        return _RINGS[self.size]

    @property
    def groups(self) -> list[range]:
        """The blocks of each group."""
        blocks = -(-self.records // self.degree)
        return [range(first, min(first + _TOGETHER, blocks)) for first in range(0, blocks, _TOGETHER)]

    @property
    def shares(self) -> list[range]:
        """The entries whose columns are in a file together."""
        return [range(first, first + _SHARE) for first in range(0, self.dims, _SHARE)]

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
        """Of one prime for scores, and of a bootstrap to six levels for the indicator, and one for payloads,
        or two that make it steeper, and one more for the range of a count. 128 bits of security; the toy
        instance has none."""
        import hemera as hm  # the last stage does without it

        return hm.ckks.Parameters.for_bootstrapping(
            "n16-40",
            degree=self.degree,
            levels=9 if self.count_only else 7,
            scale_bits=30,
            order="from-coefficients",
            last_bits=34,
            ratio_bits=4,
            slots_to_coefficients=[],
            coefficients_to_slots=[30, 30, 30],
            eval_mod_error=-14,
            constant_bits=18,
            special_primes=5,
            security=None if self.size == 0 else 128,
        )

    def bootstrap(self) -> hm.circuits.Bootstrap:
        """Of scores."""
        import hemera as hm

        return hm.circuits.Bootstrap(self.parameters, key_memory_limit=_KEY_BYTES)

    @property
    def query_scale(self) -> float:
        """Of the entries of the query: a power of two. An error of a product is that of a record's entry
        times this scale, and that of the query's times the records', of which N add up."""
        return 2.0 ** round((self._score_bits + math.log2(self.degree) / 2) / 2)

    @property
    def record_scale(self) -> float:
        """Of the entries of records: both scales make that of scores."""
        return 2.0**self._score_bits / self.query_scale

    @property
    def _score_bits(self) -> int:
        return 30

    def columns_of(self, rows: NDArray[np.float32], group: range, share: range) -> NDArray[np.float64]:
        """The coefficients [entry, block, i] of a file. Places without a record have zeros."""
        found = np.zeros((len(share), len(group), self.degree))
        for place, block in enumerate(group):
            part = rows[block * self.degree : (block + 1) * self.degree, share.start : share.stop]
            np.divide(part.T, LARGEST, out=found[:, place, : len(part)])
        return found

    def payload_of(self, payloads: NDArray[np.int16], group: range) -> NDArray[np.complex128]:
        """The slots [pair, half, block, s] of payloads, and of a one behind each, which tells a match: real
        and imaginary parts."""
        whole = np.zeros((len(group) * self.degree, PAYLOAD + 1))
        part = payloads[group.start * self.degree : group.stop * self.degree]
        whole[: len(part), :PAYLOAD] = part / PAYLOAD_SCALE
        whole[: len(part), PAYLOAD] = 1
        placed = whole.reshape(len(group), 2, self.degree // 2, PAYLOAD + 1)[:, :, self._order]
        numbers = placed.transpose(3, 1, 0, 2)  # [number, half, block, s]
        return numbers[0::2] + 1j * numbers[1::2]

    def matches_of(self, decrypted: NDArray[np.complex128]) -> NDArray[np.int16]:
        """The payloads of records that match, of decrypted slots [pair, half, block, s] of payloads times the
        indicator. Records are in no order."""
        parts = np.stack([decrypted.real, decrypted.imag], axis=1)  # [pair, part, ...]
        records = parts.reshape(PAYLOAD + 1, -1)
        found = records[:PAYLOAD, np.rint(records[PAYLOAD]) == 1].T
        return np.rint(found * PAYLOAD_SCALE).astype(np.int16)

    @property
    def _order(self) -> NDArray[np.intp]:
        """The coefficient of each slot of a half."""
        order = np.zeros(1, np.intp)
        while len(order) < self.degree // 2:
            order = np.concatenate([2 * order, 2 * order + 1])
        return order


def indicator() -> NDArray[np.float64]:
    """Coefficients, in the Chebyshev basis, of the polynomial of scores that is nearest to 0 for cosines up
    to LOW, and to 1 from HIGH on, by Lawson's weights: its error is below 2^-18."""
    from numpy.polynomial import chebyshev  # of the server alone

    low, high = np.arccos(LOW / LARGEST), np.arccos(HIGH / LARGEST)
    x = np.cos(np.concatenate([np.linspace(np.pi, low, 800), np.linspace(high, 0, 300)]))
    wanted = (x >= HIGH / LARGEST - 2**-40).astype(float)
    powers = chebyshev.chebvander(x, _DEGREE)
    weights = np.ones(len(x))
    best, least = np.zeros(_DEGREE + 1), np.inf
    for _ in range(_ROUNDS):
        weighted = powers.T * weights
        found = np.linalg.solve(weighted @ powers, weighted @ wanted)
        errors = np.abs(powers @ found - wanted)
        if errors.max() < least:
            best, least = found, float(errors.max())
        weights *= errors
        weights /= weights.sum()
    return best


def threads() -> int:
    """That a client's stage may use."""
    return int(os.environ.get("OMP_NUM_THREADS") or len(os.sched_getaffinity(0)))


def parse() -> Workload:
    """The instance that the harness asks for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("size", type=int, choices=range(len(_SIZES)))
    parser.add_argument("--count_only", action="store_true")
    options, _ = parser.parse_known_args()  # --seed is of the harness' data
    return Workload(options.size, options.count_only)
