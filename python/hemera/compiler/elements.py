"""From a program on arrays to one with an element in each ciphertext, whose slots are samples.

Maps become products of plain matrices with batches of ciphertexts: sums of integer multiples, which need no
key and no rotation. Products and functions take batches as they are.
"""

from __future__ import annotations

import functools
import operator
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.blocks import Blocks, blocks_of
from hemera.arrays.sparse_map import SparseMap
from hemera.arrays.splitting import SplitProgram
from hemera.arrays.tensor import Affine, Apply, Input, Multiply, Operation, TensorProgram
from hemera.arrays.tiling import Tiling
from hemera.circuits import Polynomial
from hemera.compiler.lowering import Lowered, Step
from hemera.errors import ParameterError
from hemera.serving import operations as op
from hemera.serving.tracing import Recorder, Symbol
from hemera.serving.values import Filling, Form

__all__ = ["in_elements"]

_MOST_BITS = 30
"""Of results: two below those of weights."""
_MOST_WEIGHTS = 1 << 24
"""Of a matrix."""
_MOST_KINDS = 16
"""Of blocks of a map; maps with more are one matrix, with the zeros between its blocks."""
_MOST_ZEROS = 2
"""Times as many weights as there are not 0, of one matrix in place of several kinds of blocks: it reads the
elements once."""
_WHOLE = 127
"""The largest integer of matrices that are multiples of integers: of one byte."""
_SAME = 2.0**-45
"""Part by which numbers may differ from multiples of the smallest one."""


def in_elements(program: TensorProgram, slots: int, precision_bits: float) -> tuple[SplitProgram, Lowered]:
    """The program with an element of each array in a ciphertext of its own.

    Args:
        program: of one sample.
        slots: samples of a ciphertext, a power of two.
        precision_bits: of results, for which the weights of matrices have bits.

    Raises:
        ParameterError: for arrays of too many ciphertexts, matrices that are too large, precisions beyond
            those of weights, and functions that no file can keep.
    """
    lowering = _Elements(program, slots, precision_bits)
    lowering.run()
    recorded = lowering.recorder.program
    places = {value: place for place, value in enumerate(recorded.used)}
    magnitudes = {places[value]: own for value, own in lowering.magnitudes.items() if value in places}
    steps = tuple(lowering.steps)
    found = Lowered(recorded.pruned(), slots, steps, magnitudes, (None,) * len(places))
    return SplitProgram.whole_arrays(program), found


class _Elements:
    def __init__(self, program: TensorProgram, slots: int, precision_bits: float) -> None:
        for node in program.nodes:
            Tiling(node.shape, (1,) * len(node.shape))  # raises for too many
        self._program = program
        self._precision_bits = precision_bits
        inputs = [Form(slots, (program.nodes[at].size,)) for at in program.inputs]
        self.recorder = Recorder("ckks", inputs)
        self._slots = slots
        self._values: list[Symbol] = []
        self._orders: dict[int, tuple[Symbol, NDArray[np.int64]]] = {}
        """By the number of a value that holds elements of another one: that value, and which elements."""
        self._sums = _sums_of_products(program)
        self.steps: list[Step] = []
        self.magnitudes: dict[int, float] = {}

    def run(self) -> None:
        inputs = iter(self.recorder.inputs)
        for at, node in enumerate(self._program.nodes):
            operation = node.operation
            xs = [self._values[each] for each in node.operands]
            matrices: tuple[tuple[int, int], ...] = ()
            if isinstance(operation, Input):
                value = next(inputs)
            elif at in self._sums:
                value = self._sum_of_products(at, operation)
            elif isinstance(operation, Affine):
                value, matrices = self._affine(operation, xs)
            elif isinstance(operation, Multiply):
                # Those that sums take are left out, when the program is pruned.
                value = xs[0].square() if xs[0] is xs[1] else xs[0] * xs[1]
            else:
                assert isinstance(operation, Apply)
                value = self._function(operation, xs)
            self._values.append(value)
            self.steps.append(Step(at, matrices=matrices))
            self.magnitudes[value._number] = max(map(abs, node.range))
        for _, at in self._program.outputs:
            self.recorder.give(self._values[at])

    def _sum_of_products(self, at: int, operation: Operation) -> Symbol:
        """A sum of products of two values, which is relinearized and rescaled once."""
        assert isinstance(operation, Affine)
        parts, product = self._sums[at], self._program.nodes[self._program.nodes[at].operands[0]]
        pairs = [self._values[each] for each in product.operands]
        found = [self._taken(x, taken) for x in pairs for taken in parts.columns]
        total = found[0]._note(op.Dot(), *found[1:], filling=Filling(self._slots))
        total = self._scaled(self._taken(total, np.argsort(parts.rows[0])), parts.matrix[0])
        return total if operation.offset is None else self._plus(total, operation.offset)

    def _function(self, operation: Apply, xs: list[Symbol]) -> Symbol:
        function = operation.function
        if not isinstance(function, Polynomial) and function.recipe is None:
            raise ParameterError(f"{function.name} can not be kept in a program; take one of hm.circuits")
        return xs[0].apply(function, *xs[1:])

    def _affine(self, operation: Affine, xs: list[Symbol]) -> tuple[Symbol, tuple[tuple[int, int], ...]]:
        """The sum of maps, and the shapes of their matrices."""
        terms, shapes = list[Symbol](), list[tuple[int, int]]()
        for x, own in zip(xs, operation.maps, strict=True):
            if own.entries:
                term, matrices = self._mapped(x, own)
                terms.append(term)
                shapes += matrices
        if not terms:  # a constant
            terms = [self._taken(xs[0], np.zeros(operation.maps[0].outputs, np.int64)) * 0]
        total = functools.reduce(operator.add, terms)
        if operation.offset is not None:
            total = self._plus(total, operation.offset)
        return total, tuple(shapes)

    @staticmethod
    def _plus(x: Symbol, offset: NDArray[Any]) -> Symbol:
        if (offset == offset[0]).all():
            return x + float(offset[0])
        return x + offset[:, np.newaxis]

    def _mapped(self, x: Symbol, own: SparseMap) -> tuple[Symbol, list[tuple[int, int]]]:
        """A map of a value, and the shapes of its matrices."""
        if own.entries == own.outputs and (np.diff(own.rows) == 1).all():  # an element for each
            return self._scaled(self._taken(x, own.columns), own.values), []
        factor = _common_factor(own.values)
        whole = (
            own
            if factor is None
            else SparseMap.of(own.outputs, own.inputs, own.rows, own.columns, np.rint(own.values / factor))
        )
        if factor is None and self._precision_bits > _MOST_BITS:
            raise ParameterError(
                f"an element in each ciphertext: results have at most {_MOST_BITS} bits, not precision_bits="
                f"{self._precision_bits:g}, since weights are rounded; take fewer, or weights that are "
                "multiples of a number by small integers"
            )
        kinds = blocks_of(whole, _MOST_KINDS)
        if kinds is None or (len(kinds) > 1 and _MOST_ZEROS * sum(x.products for x in kinds) > whole.size):
            kinds = [_one_block(whole)]
        parts = [self._product(x, each) for each in kinds]
        if len(parts) > 1:
            parts = [parts[0]._note(op.Joined(), *parts[1:], filling=Filling(self._slots))]
        rows = np.concatenate([each.rows.ravel() for each in kinds])
        found = self._taken(parts[0], np.argsort(rows))
        if factor is not None:
            found = self._scaled(found, np.array([factor]))
        return found, [each.matrix.shape for each in kinds]

    def _product(self, x: Symbol, each: Blocks) -> Symbol:
        bits = next(bits for bits in (8, 16, 32) if self._precision_bits <= bits - 2 or bits == 32)
        operation = op.MatrixRows(each.matrix, each.columns, bits)
        return x._note(operation, filling=Filling(self._slots))

    def _taken(self, x: Symbol, taken: NDArray[np.int64]) -> Symbol:
        """Elements of a value."""
        if x._number in self._orders:
            x, before = self._orders[x._number]
            taken = before[taken]
        if np.array_equal(taken, np.arange(x.shape[0])):
            return x
        found = x._note(op.Reordered(taken), filling=Filling(self._slots))
        self._orders[found._number] = x, taken
        return found

    @staticmethod
    def _scaled(x: Symbol, factors: NDArray[Any]) -> Symbol:
        """The products of elements with a number for each."""
        if (factors != factors[0]).any():
            return x * factors[:, np.newaxis]
        factor = float(factors[0])
        if factor == 1:
            return x
        return x * (int(factor) if factor.is_integer() and abs(factor) <= _MOST_WEIGHTS else factor)


def _sums_of_products(program: TensorProgram) -> dict[int, Blocks]:
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


def _common_factor(values: NDArray[np.float64]) -> float | None:
    """A number of which all of these are multiples by small integers; None where there is none."""
    factor = float(np.abs(values).min())
    quotients = values / factor
    whole = np.rint(quotients)
    if np.abs(quotients).max() > _WHOLE or (np.abs(quotients - whole) > _SAME * np.abs(whole)).any():
        return None
    return factor


def _one_block(own: SparseMap) -> Blocks:
    """The whole map as one matrix. ParameterError where it is too large."""
    if own.size > _MOST_WEIGHTS:
        raise ParameterError(
            f"an element in each ciphertext: a linear map from {own.inputs} to {own.outputs} elements is too "
            f"large for one matrix, of at most {_MOST_WEIGHTS} weights, and is not made of a few smaller ones"
        )
    matrix = np.zeros((own.outputs, own.inputs))
    matrix[own.rows, own.columns] = own.values
    return Blocks(matrix, np.arange(own.outputs)[:, np.newaxis], np.arange(own.inputs)[:, np.newaxis])
