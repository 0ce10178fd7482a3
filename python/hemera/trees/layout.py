"""The layout that a circuit of trees takes, and the numbers of trees in its slots."""

from __future__ import annotations

import numpy as np

from hemera.errors import ParameterError
from hemera.package.encodings.trees import TreeLayout
from hemera.trees.ensemble import Integers


class Layout(TreeLayout):
    """The places that a client fills, with what the server needs of them."""

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
    def rotations(self) -> list[int]:
        """The steps that add up the lanes of a row."""
        return [self.lane_slots << bit for bit in range(self.lanes.bit_length() - 1)]

    def spread(self, of_trees: Integers) -> Integers:
        """A number of each tree, shape (K, T), in the slots of all samples: shape (groups, N). Slots without
        a tree are zero."""
        everywhere = np.repeat(of_trees[:, :, None], self.width, axis=2)
        return self._placed(everywhere[None])[:, 0]

    def constants(self, of_scores: Integers) -> Integers:
        """A number of each score, shape (K,), in the slots of all samples of all lanes: shape (N,)."""
        lane = np.zeros(self.lane_slots, np.int64)
        lane[: self.scores * self.width] = np.repeat(of_scores, self.width)
        return np.tile(lane, 2 * self.lanes)
