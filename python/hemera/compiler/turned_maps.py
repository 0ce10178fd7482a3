"""Maps and sums of products that do the same with each token, of batches with tokens in slots."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.sparse_map import SparseMap
from hemera.arrays.token_turns import Products, Turns
from hemera.compiler.batch_maps import BatchMaps
from hemera.program import operations as op
from hemera.program.tracing import Symbol
from hemera.program.values import Filling

__all__ = ["Shapes", "TurnedMaps"]

Indices = NDArray[np.int64]
Shapes = list[tuple[int, int]]
"""The shapes of the matrices of a map."""


class TurnedMaps(BatchMaps):
    """Records maps of batches whose slots are tokens and samples: slot token * samples + sample.

    Args:
        inputs, precision_bits: as of `BatchMaps`.
        length: the number of tokens.
        samples: of a ciphertext.
    """

    def __init__(self, inputs: Sequence[int], length: int, samples: int, precision_bits: float) -> None:
        super().__init__(inputs, length * samples, precision_bits)
        self._length, self._samples = length, samples

    def by_token(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Numbers for each token, of shape (elements, tokens), for each slot."""
        return np.repeat(numbers, self._samples, axis=-1)

    def turned_map(self, x: Symbol, turns: Turns, count: int) -> tuple[Symbol, Shapes]:
        """A map to `count` ciphertexts, and the shapes of its matrices."""
        found, shapes = self._turned_map(x, turns, count)
        return (self._sum_of_tokens(found) if turns.sums else found), shapes

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
        return self.mapped(self._joined(parts), last)[0], shapes

    def turned_products(self, factors: Sequence[Symbol], products: Products, count: int) -> Symbol:
        """Sums of products of two values, in `count` ciphertexts."""
        turned = [self._turned(own, *moved) for own, moved in zip(factors, products.turned, strict=True)]
        return self.turned_map(self.sums_of_products(turned, products.terms), products.sums, count)[0]

    def sums_of_products(self, factors: Sequence[Symbol], terms: Sequence[Indices]) -> Symbol:
        """Sums of products of elements, of shape (terms, sums), of two values."""
        x, y = factors
        return x.note(op.SumsOfProducts(*terms), y, filling=Filling(self._slots))

    def _turned(self, x: Symbol, by: Indices, taken: Indices) -> Symbol:
        """Ciphertexts turned to the left by tokens, in the order of the turns."""
        groups = {int(each): taken[by == each] for each in np.unique(by)}
        alike = list(groups.values())
        if all(np.array_equal(own, alike[0]) for own in alike):
            own = self.taken(x, alike[0])
            if list(groups) == [0]:
                return own
            steps = tuple(each * self._samples for each in groups)
            return own.note(op.Rotations(steps), filling=Filling(self._slots))
        return self._joined([self.taken(x, own).rotate(each * self._samples) for each, own in groups.items()])

    def _joined(self, parts: list[Symbol]) -> Symbol:
        if len(parts) == 1:
            return parts[0]
        return parts[0].note(op.Joined(), *parts[1:], filling=Filling(self._slots))

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
        return self.mapped(self._joined(list(xs)), whole)

    def _sum_of_tokens(self, x: Symbol) -> Symbol:
        """The sum over tokens, in the slots of each."""
        step = self._samples
        while step < self._slots:
            x = x + x.rotate(step)
            step *= 2
        return x
