"""Linear maps of batches of ciphertexts: plain matrices times parts of a batch, and turns by tokens."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.batches import Blocks, blocks_of
from hemera.arrays.sparse_map import SparseMap
from hemera.arrays.tokens import Products, Turns
from hemera.compiler.attempts import NotPossibleError
from hemera.program import operations as op
from hemera.program.tracing import Symbol, number_of

Indices = NDArray[np.int64]
Shapes = list[tuple[int, int]]
"""The shapes of the matrices of a map."""

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


class Matrices:
    """Records maps of batches whose slots are tokens and samples: slot token * samples + sample.

    Args:
        samples: of a ciphertext.
        precision_bits: of results, for which the weights of matrices have bits.
    """

    def __init__(self, samples: int, precision_bits: float) -> None:
        self._samples = samples
        self._precision_bits = precision_bits
        self._orders: dict[int, tuple[Symbol, Indices]] = {}
        """The value whose elements another value holds, and which, by the other one's number."""

    # --- Each element by itself. ---

    def plus(self, x: Symbol, numbers: NDArray[Any]) -> Symbol:
        """The sum with numbers of shape (elements, tokens), or (elements, 1)."""
        if (numbers == numbers[0, 0]).all():
            return x + float(numbers[0, 0])
        return x + self._for_slots(numbers)

    def times(self, x: Symbol, numbers: NDArray[Any]) -> Symbol:
        """The products with numbers of shape (elements, tokens), or (elements, 1)."""
        if (numbers != numbers[0, 0]).any():
            return x * self._for_slots(numbers)
        factor = float(numbers[0, 0])
        if factor == 1:
            return x
        return x * (int(factor) if factor.is_integer() and abs(factor) <= _MOST_WEIGHTS else factor)

    def _for_slots(self, numbers: NDArray[Any]) -> NDArray[Any]:
        alike = (numbers == numbers[:, :1]).all()
        return numbers[:, :1] if alike else np.repeat(numbers, self._samples, axis=-1)

    def taken(self, x: Symbol, taken: Indices) -> Symbol:
        """Elements of a value."""
        if number_of(x) in self._orders:
            x, before = self._orders[number_of(x)]
            taken = before[taken]
        if np.array_equal(taken, np.arange(x.shape[0])):
            return x
        found = x.note(op.Reordered(taken))
        self._orders[number_of(found)] = x, taken
        return found

    # --- Maps that do the same in each slot. ---

    def mapped(self, x: Symbol, own: SparseMap) -> tuple[Symbol, Shapes]:
        """A map of a value, and the shapes of its matrices."""
        if own.is_of_each:
            return self.times(self.taken(x, own.columns), own.values[:, np.newaxis]), []
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
        bits = next(bits for bits in (8, 16, 32) if self._precision_bits <= bits - 2 or bits == 32)
        found = _joined([x.note(op.MatrixRows(each.matrix, each.columns, bits)) for each in kinds])
        rows = np.concatenate([each.rows.ravel() for each in kinds])
        found = self.taken(found, np.argsort(rows))
        if factor is not None:
            found = self.times(found, np.full((1, 1), factor))
        return found, [each.matrix.shape for each in kinds]

    def joined_map(self, xs: Sequence[Symbol], maps: Sequence[SparseMap]) -> tuple[Symbol, Shapes]:
        """The sum of maps of values, as one map of them all."""
        if len(xs) == 1:
            return self.mapped(xs[0], maps[0])
        starts = np.cumsum([0, *(own.inputs for own in maps)])
        columns = np.concatenate([own.columns + start for own, start in zip(maps, starts, strict=False)])
        rows, values = (
            np.concatenate(each) for each in ([own.rows for own in maps], [own.values for own in maps])
        )
        whole = SparseMap.of(maps[0].outputs, int(starts[-1]), rows, columns, values)
        return self.mapped(_joined(xs), whole)

    # --- Maps, and sums of products, by which tokens meet. ---

    def turned_map(self, x: Symbol, turns: Turns, count: int) -> tuple[Symbol, Shapes]:
        """A map to `count` ciphertexts, and the shapes of its matrices."""
        found, shapes = self._turned_map(x, turns, count)
        step = self._samples
        while turns.sums and step < x.slots:  # over tokens, in the slots of each
            found = found + found.rotate(step)
            step *= 2
        return found, shapes

    def _turned_map(self, x: Symbol, turns: Turns, count: int) -> tuple[Symbol, Shapes]:
        if turns.turns_sources or not turns.by.any():
            pairs, places = np.unique(np.stack([turns.by, turns.sources]), axis=1, return_inverse=True)
            source = self._turned(x, pairs[0], pairs[1])
            own = SparseMap.of(count, pairs.shape[1], turns.targets, places.ravel(), turns.weights)
            return self.mapped(source, own)
        parts, targets, shapes = list[Symbol](), list[Indices](), Shapes()
        for by in np.unique(turns.by):
            own = turns.by == by
            rows, places = np.unique(turns.targets[own], return_inverse=True)
            weights = turns.weights[own]
            part = SparseMap.of(len(rows), x.shape[0], places.ravel(), turns.sources[own], weights)
            found, matrices = self.mapped(x, part)
            parts.append(found.rotate(int(by) * self._samples))
            targets.append(rows)
            shapes += matrices
        if all(np.array_equal(rows, np.arange(count)) for rows in targets):
            return functools.reduce(operator.add, parts), shapes
        rows = np.concatenate(targets)
        last = SparseMap.of(count, len(rows), rows, np.arange(len(rows)), np.ones(len(rows)))
        return self.mapped(_joined(parts), last)[0], shapes

    def turned_products(self, factors: Sequence[Symbol], products: Products, count: int) -> Symbol:
        """Sums of products of two values, in `count` ciphertexts."""
        x, y = (self._turned(own, *moved) for own, moved in zip(factors, products.turned, strict=True))
        return self.turned_map(x.note(op.SumsOfProducts(*products.terms), y), products.sums, count)[0]

    def _turned(self, x: Symbol, by: Indices, taken: Indices) -> Symbol:
        """Ciphertexts turned to the left by tokens, in the order of the turns."""
        groups = {int(each): taken[by == each] for each in np.unique(by)}
        alike = list(groups.values())
        if all(np.array_equal(own, alike[0]) for own in alike):
            own = self.taken(x, alike[0])
            steps = tuple(each * self._samples for each in groups)
            return own if steps == (0,) else own.note(op.Rotations(steps))
        return _joined([self.taken(x, own).rotate(each * self._samples) for each, own in groups.items()])


def _joined(values: Sequence[Symbol]) -> Symbol:
    """The ciphertexts of several values."""
    return values[0] if len(values) == 1 else values[0].note(op.Joined(), *values[1:])


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
