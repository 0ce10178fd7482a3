"""The circuit of Magara et al., arXiv 2110.11446, operation by operation: one ciphertext a sample and node.

Features are 0, 1 or 2, and trees have depth two. The T trees of a score lie side by side, in a power of two
of slots. For root, left and right node, the client sends x0 = [x = 0] and x2 = [x = 2]. The server compares
by z = (1 - x0)(x2 (y - 1) - y) + 1, with y = 1 for x < 1 and 0 for x < 2. A tree is
z1 (z2 (l1 - l2) + l2 - l4) + (z1 - 1) z3 (l4 - l3) + l4, and seven rotations add 128 trees. Operations of a
sample: 5 multiplications, 7 rotations, 7 subtractions, 5 plain multiplications, 13 additions and 9
relinearizations, five of which find nothing to do. Slots between the scores hold sums of some of the trees,
which the client sees. (With `packed.py` it does not.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hemera.errors import ParameterError
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.evaluator import Evaluator
from hemera.trees.counting import Counted
from hemera.trees.ensemble import Integers
from hemera.trees.quantise import IntegerEnsemble

SAMPLES = 258
SCORES = 11
TREES = 128
PLANES = 6
"""The number of ciphertexts of a sample: x0 and x2 of root, left and right node."""
PER_SAMPLE = {
    "multiplications": 5,
    "plain_multiplications": 5,
    "additions": 13,
    "subtractions": 7,
    "rotations": 7,
    "relinearizations": 9,
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
        if model.depth != 2 or model.planes != 2:
            raise ParameterError(
                "the paper's circuit is for trees of depth 2 on features 0, 1 and 2, not depth "
                f"{model.depth} on {model.planes + 1} values; take the packed workload"
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


class PaperCircuit:
    """The circuit of a model, for batches of any shape. The evaluator relinearizes lazily."""

    def __init__(self, evaluator: Evaluator, model: IntegerEnsemble, layout: PaperLayout) -> None:
        self._ops = Counted(evaluator)
        self._layout = layout
        numbers = PaperModel.of(model, layout)
        encode = evaluator.encode
        self._encrypted_ones = evaluator.encrypt(numbers.ones)
        self._ones = encode(numbers.ones)
        self._y = [encode(y) for y in numbers.y]
        self._y_minus_one = [encode(y - 1) for y in numbers.y]
        self._left, self._across = encode(numbers.left), encode(numbers.across)
        self._right, self._last = encode(numbers.right), encode(numbers.last)

    @property
    def counts(self) -> dict[str, int]:
        """The number of ciphertexts that each operation has made so far."""
        return dict(self._ops.counts)

    def __call__(self, *planes: Ciphertext) -> Ciphertext:
        """The scores of planes x0, x2 of root, left and right node."""
        ops = self._ops
        z1, z2, z3 = (self._compare(node, planes[2 * node], planes[2 * node + 1]) for node in range(3))
        near = ops.relinearize(ops.multiply_plain(z2, self._left))
        near = ops.add(near, self._across, out=near)
        result = ops.multiply(near, z1)
        far = ops.subtract(z1, self._encrypted_ones)
        far = ops.relinearize(ops.multiply_plain(far, self._right, out=far))
        result = ops.add(result, ops.multiply(far, z3))
        result = ops.relinearize(result)
        result = ops.add(result, self._last, out=result)
        for steps in self._layout.rotations:
            result = ops.add(result, ops.rotate(result, steps), out=result)
        return result

    def _compare(self, node: int, x0: Ciphertext, x2: Ciphertext) -> Ciphertext:
        ops = self._ops
        apart = ops.subtract(self._encrypted_ones, x0)
        chosen = ops.relinearize(ops.multiply_plain(x2, self._y_minus_one[node]))
        chosen = ops.subtract(chosen, self._y[node], out=chosen)
        z = ops.relinearize(ops.multiply(apart, chosen))
        return ops.add(z, self._ones, out=z)
