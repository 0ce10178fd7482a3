"""From a program on arrays to one with an element in each ciphertext, whose slots are samples.

Maps become products of plain matrices with batches of ciphertexts: sums of integer multiples, which need no
key and no rotation. Products and functions take batches as they are.
"""

from __future__ import annotations

import functools
import operator
from collections import Counter

import numpy as np

from hemera.arrays.blocks import Blocks, blocks_of
from hemera.arrays.operations import Affine, Apply, Multiply
from hemera.arrays.splitting import SplitProgram
from hemera.arrays.tensor import TensorProgram, Walk
from hemera.arrays.tiling import MOST_CIPHERTEXTS
from hemera.compiler.batch_maps import BatchMaps
from hemera.compiler.impossible import NotPossibleError
from hemera.compiler.lowering import Lowered, Step
from hemera.compiler.progress import told
from hemera.program import operations as op
from hemera.program.tracing import Symbol
from hemera.program.values import Filling

__all__ = ["in_elements", "sums_of_products"]


def in_elements(program: TensorProgram, slots: int, precision_bits: float) -> tuple[SplitProgram, Lowered]:
    """The program with an element of each array in a ciphertext of its own.

    Args:
        program: of one sample.
        slots: samples of a ciphertext, a power of two.
        precision_bits: of results, for which the weights of matrices have bits.

    Raises:
        NotPossibleError: for arrays of too many ciphertexts, matrices that are too large, precisions beyond
            those of weights, and functions that no file can keep.
    """
    lowering = _Elements(program, slots, precision_bits)
    lowering.run()
    return lowering.maps.lowered(program, lowering.steps, lowering.magnitudes)


class _Elements(Walk[Symbol]):
    refusal = NotPossibleError

    def __init__(self, program: TensorProgram, slots: int, precision_bits: float) -> None:
        for node in program.nodes:
            if node.size > MOST_CIPHERTEXTS:
                raise NotPossibleError(
                    f"an array of shape {node.shape} would take {node.size} ciphertexts; at most "
                    f"{MOST_CIPHERTEXTS}"
                )
        self.maps = BatchMaps([program.nodes[at].size for at in program.inputs], slots, precision_bits)
        super().__init__(program, self.maps.recorder.inputs)
        self._slots = slots
        self._sums = sums_of_products(program)
        self._matrices: dict[int, tuple[tuple[int, int], ...]] = {}
        self.steps: list[Step] = []
        self.magnitudes: dict[int, float] = {}

    def run(self) -> None:
        for at, node in enumerate(self._program.nodes):
            told("lower", at, len(self._program.nodes))
            value = self.made(at)
            self.steps.append(Step(at, matrices=self._matrices.get(at, ())))
            self.magnitudes[value._number] = max(map(abs, node.range))
        for _, at in self._program.outputs:
            self.maps.recorder.give(self._values[at])

    def multiply(self, at: int) -> Symbol:
        # Those that sums take are left out, when the program is pruned.
        a, b = self.taken(at)
        return a.square() if a is b else a * b

    def apply(self, at: int, operation: Apply, /) -> Symbol:
        return self.maps.function(operation, self.taken(at))

    def _sum_of_products(self, at: int, operation: Affine) -> Symbol:
        """A sum of products of two values, which is relinearized and rescaled once."""
        parts, product = self._sums[at], self._program.nodes[self._program.nodes[at].operands[0]]
        pairs = [self._values[each] for each in product.operands]
        found = [self.maps.taken(x, taken) for x in pairs for taken in parts.columns]
        total = found[0].note(op.Dot(), *found[1:], filling=Filling(self._slots))
        total = self.maps.scaled(self.maps.taken(total, np.argsort(parts.rows[0])), parts.matrix[0])
        return total if operation.offset is None else self.maps.plus(total, operation.offset)

    def affine(self, at: int, operation: Affine) -> Symbol:
        """The sum of maps."""
        if at in self._sums:
            return self._sum_of_products(at, operation)
        xs, terms, shapes = self.taken(at), list[Symbol](), list[tuple[int, int]]()
        for x, own in zip(xs, operation.maps, strict=True):
            if own.entries:
                term, matrices = self.maps.mapped(x, own)
                terms.append(term)
                shapes += matrices
        if not terms:  # a constant
            terms = [self.maps.taken(xs[0], np.zeros(operation.maps[0].outputs, np.int64)) * 0]
        total = functools.reduce(operator.add, terms)
        if operation.offset is not None:
            total = self.maps.plus(total, operation.offset)
        self._matrices[at] = tuple(shapes)
        return total


def sums_of_products(program: TensorProgram) -> dict[int, Blocks]:
    """The maps that are sums of elements of a product, with one factor, where nothing else takes the product:
    a row of their blocks has ones."""
    users = Counter(at for node in program.nodes for at in set(node.operands))
    users.update(at for _, at in program.outputs)
    found = {}
    for at, node in enumerate(program.nodes):
        if not isinstance(node.operation, Affine) or len(node.operands) != 1:
            continue
        (source,), (own,) = node.operands, node.operation.maps
        if isinstance(program.nodes[source].operation, Multiply) and users[source] == 1:
            for each in blocks_of(own, 1) or []:
                rows, terms = each.matrix.shape
                if rows == 1 < terms and (each.matrix == each.matrix[0, 0]).all():
                    found[at] = each
    return found
