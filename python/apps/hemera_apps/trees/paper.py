"""The circuit of Magara et al., arXiv 2110.11446: one ciphertext a sample and node.

Features are 0, 1 or 2, and trees have depth two. The T trees of a score lie side by side, in a power of two
of slots. For root, left and right node, the client sends x0 = [x = 0] and x2 = [x = 2]. The server compares
by z = (1 - x0)(x2 (y - 1) - y) + 1, with y = 1 for x < 1 and 0 for x < 2. A tree is
z1 (z2 (l1 - l2) + l2 - l4) + (z1 - 1) z3 (l4 - l3) + l4, and seven rotations add 128 trees. Operations of a
sample in the paper: 5 multiplications, 7 rotations, 7 subtractions, 5 plain multiplications, 13 additions and
9 relinearizations, five of which find nothing to do. Here these five are left out, and constants are
subtracted by adding their negatives. Slots between the scores hold sums of some of the trees, which the
client sees. (With `packed.py` it does not.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import hemera
from hemera.errors import ParameterError
from hemera.serving import InputSpec, Package, Symbol, dot, export
from hemera.trees.ensemble import Integers
from hemera.trees.quantise import IntegerEnsemble

SAMPLES = 258
SCORES = 11
TREES = 128
DEPTH = 4
"""Products one after the other: by a plaintext, a ciphertext, a plaintext and a ciphertext."""
PLANES = 6
"""The number of ciphertexts of a sample: x0 and x2 of root, left and right node."""
PER_SAMPLE = {
    "multiplications": 5,
    "plain_multiplications": 5,
    "additions": 20,
    "subtractions": 0,
    "rotations": 7,
    "relinearizations": 4,
}
"""The operations of a sample with 65 to 128 trees a score."""


@dataclass(frozen=True)
class PaperLayout:
    """The layout of the paper: score k of tree t is in slot k * stride + t."""

    degree: int
    scores: int
    trees: int

    @classmethod
    def choose(cls, degree: int, model: IntegerEnsemble) -> PaperLayout:
        """The layout of a model.

        Raises:
            ParameterError: if trees have another depth than two, features other than three values, or the
                trees do not fit N/2 slots.
        """
        scores, trees, _ = model.features.shape
        if model.depth != 2 or model.quantiser.planes != 2:
            raise ParameterError(
                "the paper's circuit is for trees of depth 2 on features 0, 1 and 2, not depth "
                f"{model.depth} on {model.quantiser.planes + 1} values; take the packed workload"
            )
        layout = cls(degree, scores, trees)
        if layout.stride * scores > degree // 2:
            raise ParameterError(
                f"{scores} scores of {layout.stride} trees need more than the {degree // 2} slots of a row; "
                "take the packed workload"
            )
        return layout

    @property
    def stride(self) -> int:
        """The number of slots of a score, a power of two."""
        return 1 << (self.trees - 1).bit_length()

    @property
    def rotations(self) -> list[int]:
        """The steps that add up the trees."""
        return [1 << bit for bit in range(self.stride.bit_length() - 1)]

    def spread(self, of_trees: Integers) -> Integers:
        """A number of each tree, shape (..., K, T), as slots of shape (..., N)."""
        slots = np.zeros((*of_trees.shape[:-2], self.scores, self.stride), np.int64)
        slots[..., : self.trees] = of_trees
        padded = np.zeros((*of_trees.shape[:-2], self.degree), np.int64)
        padded[..., : self.scores * self.stride] = slots.reshape(*of_trees.shape[:-2], -1)
        return padded

    def unpack(self, slots: NDArray[np.int64]) -> Integers:
        """The scores, shape (samples, K), from slots of shape (samples, N)."""
        return np.ascontiguousarray(slots[:, : self.scores * self.stride : self.stride])


@dataclass(frozen=True)
class PaperModel:
    """The factors and terms of the circuit, each as slots of shape (N,)."""

    ones: Integers
    y: tuple[Integers, Integers, Integers]
    left: Integers
    """l1 - l2"""
    across: Integers
    """l2 - l4"""
    right: Integers
    """l4 - l3"""
    last: Integers
    """l4, and the base in the first tree's place"""

    @classmethod
    def of(cls, model: IntegerEnsemble, layout: PaperLayout) -> PaperModel:
        """The numbers of a model."""
        l1, l2, l3, l4 = (model.leaves[:, :, leaf] for leaf in range(4))
        based = l4.copy()
        based[:, 0] += model.base
        root, left, right = (
            layout.spread((model.splits[:, :, node] == 1).astype(np.int64)) for node in range(3)
        )
        return cls(
            np.ones(layout.degree, np.int64),
            (root, left, right),
            layout.spread(l1 - l2),
            layout.spread(l2 - l4),
            layout.spread(l4 - l3),
            layout.spread(based),
        )


def planes_of(bins: Integers, model: IntegerEnsemble, layout: PaperLayout) -> Integers:
    """The slots of samples' bins, shape (samples, PLANES, N): x0 and x2 of root, left and right node."""
    compared = [bins[:, model.features[:, :, node]] for node in range(3)]
    spread = [layout.spread((own == value).astype(np.int64)) for own in compared for value in (0, 2)]
    return np.ascontiguousarray(np.stack(spread, axis=1))


def package(model: IntegerEnsemble, layout: PaperLayout, params: hemera.bfv.Parameters) -> Package:
    """The circuit of a model. An evaluation is of one sample."""
    numbers = PaperModel.of(model, layout)

    def compared(x0: Symbol, x2: Symbol, y: Integers) -> Symbol:
        return (x0 - 1) * (x2 * (1 - y) + y) + numbers.ones

    def scores(planes: Symbol) -> Symbol:
        z1, z2, z3 = (compared(planes[2 * node], planes[2 * node + 1], numbers.y[node]) for node in range(3))
        near, far = z2 * numbers.left + numbers.across, (z1 - 1) * numbers.right
        result = dot([near, far], [z1, z3]) + numbers.last
        for steps in layout.rotations:
            result = result + result.rotate(steps)
        return result

    inputs = InputSpec("planes", layout.degree, layout.degree, (PLANES,), low=0, high=1)
    return export(scores, inputs=inputs, name="trees of the paper", params=params)
