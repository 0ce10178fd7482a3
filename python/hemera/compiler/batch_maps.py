"""Linear maps of batches whose elements are ciphertexts: products of plain matrices with parts of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.blocks import Blocks, blocks_of
from hemera.arrays.operations import Apply
from hemera.arrays.sparse_map import SparseMap
from hemera.arrays.splitting import SplitProgram
from hemera.arrays.tensor import TensorProgram
from hemera.circuits import Polynomial
from hemera.compiler.impossible import NotPossibleError
from hemera.compiler.lowering import Lowered, Step
from hemera.program import operations as op
from hemera.program.tracing import Recorder, Symbol, number_of
from hemera.program.values import Filling, Form

__all__ = ["BatchMaps"]

_MOST_BITS = 30
"""The most bits of results: two below those of weights."""
_MOST_WEIGHTS = 1 << 24
"""The most weights of a matrix."""
_MOST_KINDS = 16
"""The most kinds of blocks of a map; maps with more are one matrix, with the zeros between its blocks."""
_MOST_ZEROS = 2
"""Times as many weights as there are not 0, of one matrix in place of several kinds of blocks: it reads the
elements once."""
_WHOLE = 127
"""The largest integer of matrices that are multiples of integers: of one byte."""
_SAME = 2.0**-45
"""Part by which numbers may differ from multiples of the smallest one."""


class BatchMaps:
    """Records maps, and what else lowerings of batches share.

    Args:
        inputs: ciphertexts of each input.
        slots: of a ciphertext.
        precision_bits: of results, for which the weights of matrices have bits.
    """

    def __init__(self, inputs: Sequence[int], slots: int, precision_bits: float) -> None:
        self.recorder = Recorder("ckks", [Form(slots, (count,)) for count in inputs])
        self._slots = slots
        self._precision_bits = precision_bits
        self._orders: dict[int, tuple[Symbol, NDArray[np.int64]]] = {}
        """By the number of a value that holds elements of another one: that value, and which elements."""

    def lowered(
        self,
        program: TensorProgram,
        steps: Sequence[Step],
        magnitudes: dict[int, float],
        arrays: dict[int, int] | None = None,
    ) -> tuple[SplitProgram, Lowered]:
        """What was recorded, without values that no output takes.

        Args:
            program: on arrays.
            steps: of its nodes.
            magnitudes, arrays: by values, as of `Lowered`.
        """
        recorded = self.recorder.program
        places = {value: place for place, value in enumerate(recorded.used)}
        kept = {places[value]: own for value, own in magnitudes.items() if value in places}
        alike = tuple((arrays or {}).get(value) for value in recorded.used)
        found = Lowered(recorded.pruned(), self._slots, tuple(steps), kept, alike)
        return SplitProgram.whole_arrays(program), found

    @staticmethod
    def function(operation: Apply, xs: Sequence[Symbol]) -> Symbol:
        """A function. NotPossibleError for one that no file can keep."""
        function = operation.function
        if not isinstance(function, Polynomial) and function.recipe is None:
            raise NotPossibleError(f"{function.name} can not be kept in a program; take one of hm.circuits")
        return xs[0].apply(function, *xs[1:])

    @staticmethod
    def plus(x: Symbol, offset: NDArray[Any]) -> Symbol:
        """The sum of elements with a number for each."""
        if (offset == offset[0]).all():
            return x + float(offset[0])
        return x + offset[:, np.newaxis]

    def mapped(self, x: Symbol, own: SparseMap) -> tuple[Symbol, list[tuple[int, int]]]:
        """A map of a value, and the shapes of its matrices."""
        if own.entries == own.outputs and (np.diff(own.rows) == 1).all():  # an element for each
            return self.scaled(self.taken(x, own.columns), own.values), []
        factor = _common_factor(own.values)
        whole = (
            own
            if factor is None
            else SparseMap.of(own.outputs, own.inputs, own.rows, own.columns, np.rint(own.values / factor))
        )
        if factor is None and self._precision_bits > _MOST_BITS:
            raise NotPossibleError(
                f"an element in each ciphertext: results have at most {_MOST_BITS} bits, not precision_bits="
                f"{self._precision_bits:g}, since weights are rounded; take fewer, or weights that are "
                "multiples of a number by small integers"
            )
        kinds = blocks_of(whole, _MOST_KINDS)
        if kinds is None or (len(kinds) > 1 and _MOST_ZEROS * sum(x.products for x in kinds) > whole.size):
            kinds = [_one_block(whole)]
        parts = [self._product(x, each) for each in kinds]
        if len(parts) > 1:
            parts = [parts[0].note(op.Joined(), *parts[1:], filling=Filling(self._slots))]
        rows = np.concatenate([each.rows.ravel() for each in kinds])
        found = self.taken(parts[0], np.argsort(rows))
        if factor is not None:
            found = self.scaled(found, np.array([factor]))
        return found, [each.matrix.shape for each in kinds]

    def _product(self, x: Symbol, each: Blocks) -> Symbol:
        bits = next(bits for bits in (8, 16, 32) if self._precision_bits <= bits - 2 or bits == 32)
        operation = op.MatrixRows(each.matrix, each.columns, bits)
        return x.note(operation, filling=Filling(self._slots))

    def taken(self, x: Symbol, taken: NDArray[np.int64]) -> Symbol:
        """Elements of a value."""
        if number_of(x) in self._orders:
            x, before = self._orders[number_of(x)]
            taken = before[taken]
        if np.array_equal(taken, np.arange(x.shape[0])):
            return x
        found = x.note(op.Reordered(taken), filling=Filling(self._slots))
        self._orders[number_of(found)] = x, taken
        return found

    @staticmethod
    def scaled(x: Symbol, factors: NDArray[Any]) -> Symbol:
        """The products of elements with a number for each."""
        if (factors != factors[0]).any():
            return x * factors[:, np.newaxis]
        factor = float(factors[0])
        if factor == 1:
            return x
        return x * (int(factor) if factor.is_integer() and abs(factor) <= _MOST_WEIGHTS else factor)


def _common_factor(values: NDArray[np.float64]) -> float | None:
    """A number of which all of these are multiples by small integers; None where there is none."""
    factor = float(np.abs(values).min())
    quotients = values / factor
    whole = np.rint(quotients)
    if np.abs(quotients).max() > _WHOLE or (np.abs(quotients - whole) > _SAME * np.abs(whole)).any():
        return None
    return factor


def _one_block(own: SparseMap) -> Blocks:
    """The whole map as one matrix. NotPossibleError where it is too large."""
    if own.size > _MOST_WEIGHTS:
        raise NotPossibleError(
            f"an element in each ciphertext: a linear map from {own.inputs} to {own.outputs} elements is too "
            f"large for one matrix, of at most {_MOST_WEIGHTS} weights, and is not made of a few smaller ones"
        )
    matrix = np.zeros((own.outputs, own.inputs))
    matrix[own.rows, own.columns] = own.values
    return Blocks(matrix, np.arange(own.outputs)[:, np.newaxis], np.arange(own.inputs)[:, np.newaxis])
