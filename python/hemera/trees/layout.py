"""The places of trees and samples in the slots, known to client and server.

A ciphertext has two rows of N/2 slots, which rotations turn. Each row has `lanes` lanes, a power of two. Each
lane holds the K scores of S samples: score k of sample s is slot k S + s of its lane. The trees of a score
are dealt out over the 2 * lanes lanes and, if these do not suffice, over groups of ciphertexts. So one
ciphertext compares one node of many trees for many samples, and groups are added without any rotation. Turns
by the lane's width, twice the width, ..., and an exchange of the rows add the lanes up. The sums are in all
lanes at once, so that no slot shows a part of a sum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hemera.errors import ParameterError
from hemera.trees.ensemble import Integers


@dataclass(frozen=True)
class Layout:
    """The layout of `samples` samples, in `chunks` batches of at most `width` each."""

    degree: int
    scores: int
    trees: int
    samples: int
    lanes: int
    width: int
    """S"""

    @classmethod
    def choose(cls, degree: int, scores: int, trees: int, samples: int, depth: int) -> Layout:
        """The layout of least work: a product of ciphertexts counts 1, a rotation 1/2.

        Raises:
            ParameterError: if the scores of one sample need more than N/2 slots, or there is no sample.
        """
        if samples < 1:
            raise ParameterError("give at least one sample")
        row = degree // 2
        if scores > row:
            raise ParameterError(f"{scores} scores need a degree of at least {2 * scores}, not {degree}")
        found: list[tuple[float, Layout]] = []
        products = 1 << (depth - 1)
        lanes = 1
        while row // lanes >= scores:
            chunks = -(-samples // min(samples, row // lanes // scores))
            layout = cls(degree, scores, trees, samples, lanes, -(-samples // chunks))
            turns = lanes.bit_length()
            found.append((layout.chunks * (layout.groups * products + turns / 2), layout))
            lanes *= 2
        return min(found, key=lambda pair: pair[0])[1]

    @property
    def lane_slots(self) -> int:
        """The number of slots of a lane."""
        return self.degree // 2 // self.lanes

    @property
    def groups(self) -> int:
        """The number of ciphertexts over which the trees of a score are dealt out."""
        return -(-self.trees // (2 * self.lanes))

    @property
    def chunks(self) -> int:
        """The number of ciphertexts over which the samples are dealt out."""
        return -(-self.samples // self.width)

    @property
    def rotations(self) -> list[int]:
        """The steps that add up the lanes of a row."""
        return [self.lane_slots << bit for bit in range(self.lanes.bit_length() - 1)]

    def spread(self, of_trees: Integers) -> Integers:
        """A number of each tree, shape (K, T), in the slots of all samples: shape (groups, N). Slots without
        a tree are zero."""
        everywhere = np.repeat(of_trees[:, :, None], self.width, axis=2)
        return self._placed(everywhere[None])[:, 0]

    def pack(self, of_samples: Integers) -> Integers:
        """A number of each sample and tree, shape (samples or fewer, K, T), as slots of shape (groups,
        chunks, N)."""
        padded = np.zeros((self.chunks * self.width, self.scores, self.trees), np.int64)
        padded[: len(of_samples)] = of_samples
        parts = padded.reshape(self.chunks, self.width, self.scores, self.trees)
        return self._placed(parts.transpose(0, 2, 3, 1))

    def _placed(self, values: Integers) -> Integers:
        """Turns shape (chunks, K, T, S) into (groups, chunks, N)."""
        chunks, scores, trees, width = values.shape
        dealt = np.zeros((chunks, scores, self.groups * 2 * self.lanes, width), np.int64)
        dealt[:, :, :trees] = values
        dealt = dealt.reshape(chunks, scores, self.groups, 2 * self.lanes, width).transpose(2, 0, 3, 1, 4)
        slots = np.zeros((self.groups, chunks, 2 * self.lanes, self.lane_slots), np.int64)
        slots[..., : scores * width] = dealt.reshape(self.groups, chunks, 2 * self.lanes, scores * width)
        return slots.reshape(self.groups, chunks, self.degree)

    def constants(self, of_scores: Integers) -> Integers:
        """A number of each score, shape (K,), in the slots of all samples of all lanes: shape (N,)."""
        lane = np.zeros(self.lane_slots, np.int64)
        lane[: self.scores * self.width] = np.repeat(of_scores, self.width)
        return np.tile(lane, 2 * self.lanes)

    def unpack(self, slots: NDArray[np.int64]) -> Integers:
        """The scores, shape (samples, K), from slots of shape (chunks, N)."""
        lane = slots[:, : self.scores * self.width].reshape(self.chunks, self.scores, self.width)
        return np.ascontiguousarray(lane.transpose(0, 2, 1).reshape(-1, self.scores)[: self.samples])
