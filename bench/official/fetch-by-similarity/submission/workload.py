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

import math
import os
from typing import TYPE_CHECKING, Any

import instance
import numpy as np
from instance import PAYLOAD, Instance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    import hemera as hm

__all__ = ["PAYLOAD", "Workload", "exact", "indicator", "parse", "shift", "threads"]

LOW, HIGH = 0.6, 0.85
"""Cosines up to LOW are no match, from HIGH on they are. The workload's data have none in between: records of
the query's centre have 0.917 with a deviation below 0.01, all others at most 0.5."""
_BOUND = 0.8
"""The cosine from which clients take records for matches."""
_MARGIN = 0.04
"""A margin of scores, on both sides of the gap."""
_SCORE_BITS = 29
_RATIO_BITS = 1.27
_RATIO = 2**_RATIO_BITS
"""The period of a bootstrap's sine, in scores."""
_WHOLE = 3
"""The factor of the indicator's values on the way: so its largest is below 1."""
_PAYLOAD_SCALE = 1024
"""The scale of payloads: half of it their largest, as indicators are doubled."""
_BEYOND = 1.03
"""Times the largest wave there may be by errors of a bootstrap."""
_DEGREE = 25
_ROUNDS = 40
"""Rounds of Lawson's algorithm."""


class Workload(Instance):
    """An instance, with its parameters and its layout."""

    @property
    def parameters(self) -> hm.ckks.Parameters:
        """Parameters of one prime for scores, and of a bootstrap to four levels: three for the indicator, one
        for payloads; or to nine, five of them for the indicator's last polynomial and one for the range of a
        count. 128 bits of security; the toy instance has none."""
        import hemera as hm

        return hm.ckks.Parameters.for_bootstrapping(
            "n16-40",
            degree=self.degree,
            levels=9 if self.count_only else 4,
            scale_bits=_SCORE_BITS,
            order="from-coefficients",
            last_bits=_SCORE_BITS + _RATIO_BITS,
            ratio_bits=_RATIO_BITS,
            slots_to_coefficients=[],
            coefficients_to_slots=[28, 28, 28],
            eval_mod_error=-13,
            constant_bits=17,
            sine_degree=7,
            doublings=4,
            special_primes=8,
            security=None if self.size == 0 else 128,
        )

    def bootstrap(self) -> hm.circuits.Bootstrap:
        """The bootstrap of scores."""
        import hemera as hm

        return hm.circuits.Bootstrap(self.parameters)

    @property
    def score_scale(self) -> float:
        """The scale of scores, before their bootstrap."""
        return 2.0**_SCORE_BITS

    @property
    def query_scale(self) -> float:
        """The scale of the query's entries: a power of two. An error of a product is that of a record's entry
        times this scale, and that of the query's times the records', of which N add up."""
        return 2.0 ** round((_SCORE_BITS + math.log2(self.degree) / 2) / 2)

    @property
    def record_scale(self) -> float:
        """The scale of the entries of records: both scales make that of scores."""
        return self.score_scale / self.query_scale

    def columns_of(self, rows: NDArray[np.float32], group: range, share: range) -> NDArray[np.float64]:
        """The coefficients [entry, block, i] of a file. Places without a record have zeros."""
        found = np.zeros((len(share), len(group), self.degree))
        for place, block in enumerate(group):
            part = rows[block * self.degree : (block + 1) * self.degree, share.start : share.stop]
            found[:, place, : len(part)] = part.T
        return found

    def payload_of(self, payloads: NDArray[np.int16], group: range) -> NDArray[np.complex128]:
        """The slots [pair, half, block, s] of payloads, and of a one behind each, which marks a match: real
        and imaginary parts."""
        whole = np.zeros((len(group) * self.degree, PAYLOAD + 1))
        part = payloads[group.start * self.degree : group.stop * self.degree]
        whole[: len(part), :PAYLOAD] = part / _PAYLOAD_SCALE
        whole[: len(part), PAYLOAD] = 0.5
        placed = whole.reshape(len(group), 2, self.degree // 2, PAYLOAD + 1)[:, :, self._order]
        numbers = placed.transpose(3, 1, 0, 2)  # [number, half, block, s]
        return numbers[0::2] + 1j * numbers[1::2]

    def matches_of(self, decrypted: NDArray[np.complex128]) -> NDArray[np.int16]:
        """The payloads of records that match, of decrypted slots [pair, half, block, s] of payloads times
        twice the indicator. Records are in no order.

        The indicator of a match is some number above that of the bound, and by it payloads are divided.
        """
        parts = np.stack([decrypted.real, decrypted.imag], axis=1)  # [pair, part, ...]
        records = parts.reshape(PAYLOAD + 1, -1)
        found = records[:, records[PAYLOAD] > indicator(_wave(np.float64(_BOUND)))]
        return np.rint(found[:PAYLOAD] / found[PAYLOAD] * (_PAYLOAD_SCALE / 2)).astype(np.int16).T

    @property
    def _order(self) -> NDArray[np.intp]:
        """The coefficient of each slot of a half."""
        order = np.zeros(1, np.intp)
        while len(order) < self.degree // 2:
            order = np.concatenate([2 * order, 2 * order + 1])
        return order


shift = _RATIO / 4 - 1
"""A number that is added to scores: so a bootstrap's sine is largest where they are 1."""


def _wave(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """What a bootstrap makes of shifted scores: a sine, times the slope that it has for larger periods."""
    angle = 2 * math.pi / _RATIO
    found: NDArray[np.float64] = (1 + angle * angle / 8) / angle * np.sin(angle * (scores + shift))
    return found


def indicator(waves: Any) -> Any:
    """The indicator of waves, clear or encrypted: below 2^-10 where scores are no match, and from 0.27 to 0.9
    where they are, in three levels.

    The Chebyshev polynomial of degree 8 is at most 1 on all that scores up to LOW, or near -1, can become,
    and grows from there on as no other one of its degree.
    """
    low, high = _wave(np.array([-0.5 * _RATIO + 1, LOW + _MARGIN]))
    share = ((high - low) / 4) ** 2
    x = waves - (low + high) / 2
    x = x * x - 2 * share
    x = (x * x - 2 * share**2) * _WHOLE
    return x * x - 2 * (_WHOLE * share**2) ** 2


def exact() -> NDArray[np.float64]:
    """Coefficients, in the Chebyshev basis, of a polynomial that is 0 and 1, with an error below 2^-20, in
    place of the indicator's values, of x = 2 indicator - 1, by Lawson's weights."""
    from numpy.polynomial import chebyshev  # to count alone

    lowest, low, high, highest = _wave(np.array([1 - _RATIO / 2, LOW + _MARGIN, HIGH - _MARGIN, 1]))
    waves = np.concatenate(
        [np.linspace(_BEYOND * lowest, low, 500), np.linspace(high, _BEYOND * highest, 500)]
    )
    wanted = np.repeat([0.0, 1.0], 500)
    powers = chebyshev.chebvander(2 * indicator(waves) - 1, _DEGREE)
    weights = np.ones(len(waves))
    best, least = np.zeros(_DEGREE + 1), np.inf
    for _ in range(_ROUNDS):
        root = np.sqrt(weights)
        found = np.linalg.lstsq(powers * root[:, None], wanted * root, rcond=None)[0]
        errors = np.abs(powers @ found - wanted)
        if errors.max() < least:
            best, least = found, float(errors.max())
        weights *= errors
        weights /= weights.sum()
    return best


def threads() -> int:
    """The threads that a client's stage may use."""
    return int(os.environ.get("OMP_NUM_THREADS") or len(os.sched_getaffinity(0)))


def parse() -> Workload:
    """The instance that the harness asks for."""
    return instance.parse(Workload)
