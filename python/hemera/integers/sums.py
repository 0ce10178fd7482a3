"""Sums of values over axes of their arrays: rotations and one carry, whatever their number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from math import hypot, prod, sqrt

import numpy as np

from hemera.integers import arrangement, columns
from hemera.integers.bounded import Bounded
from hemera.integers.engine import Engine
from hemera.integers.layout import BASE, Layout
from hemera.objects.batches import concatenate
from hemera.objects.ciphertext import Ciphertext


@dataclass(frozen=True)
class _Axis:
    """Neighbouring axes of an array as one: all of them are summed over, or none is."""

    extent: int
    is_summed: bool
    stride: int
    """Places from one of its values to the next, a power of two."""
    room: int
    """How often the stride fits in until the next axis begins."""


class _Grid:
    """Places for the values of an array, with powers of two as strides: then what is summed up stands in one
    vector, at distances that do not leave it, or in whole vectors."""

    def __init__(self, layout: Layout, shape: Sequence[int], axes: Sequence[int]) -> None:
        merged = [
            (is_summed, prod(extent for extent, _ in group))
            for is_summed, group in groupby(
                [(extent, k in axes) for k, extent in enumerate(shape) if extent > 1], key=lambda x: x[1]
            )
        ]
        self.axes: list[_Axis] = []
        stride = 1
        for k, (is_summed, extent) in reversed(list(enumerate(merged))):
            room = extent if k == 0 else 1 << (extent - 1).bit_length()
            self.axes.insert(0, _Axis(extent, is_summed, stride, room))
            stride *= room
        self.vectors = layout.vectors(stride)
        self._layout = layout

    def places(self, *, summed: bool) -> arrangement.Places:
        """The place of each value in C order, or of each sum: where all that it is the sum of begins."""
        rows = [np.arange(x.extent) * x.stride for x in self.axes if summed or not x.is_summed]
        return reduce(np.add.outer, rows, np.zeros((), np.intp)).reshape(-1)

    def chosen(self) -> arrangement.Places:
        """The number of the value at each place."""
        found = np.full(self.vectors * self._layout.values, arrangement.NOTHING)
        places = self.places(summed=True)
        found[places] = np.arange(places.size)
        return found

    def vectors_of_sums(self) -> arrangement.Places:
        """The vectors that are added up to each vector with a sum, of shape (sums, terms)."""
        begin = np.arange(self.vectors) * self._layout.values
        kept = [x for x in self.axes if not x.is_summed]
        target = sum((begin // x.stride % x.room * x.stride for x in kept), 0 * begin)
        order = np.argsort(target, kind="stable")
        return order.reshape(len(np.unique(target)), -1)

    def steps(self) -> list[int]:
        """The distances of the sums within vectors, each twice the one before of its axis."""
        return [
            x.stride << k
            for x in self.axes
            if x.is_summed
            for k in range((x.room - 1).bit_length())
            if x.stride << k < self._layout.values
        ]


def totals(
    engine: Engine,
    a: Bounded,
    shape: Sequence[int],
    axes: Sequence[int],
    digits: int,
    *,
    filled: int,
    largest: int = BASE - 1,
) -> Bounded:
    """The sums over some axes modulo 16^digits, in C order of the other axes.

    Args:
        shape: of the array; no extent is 0.
        filled: the lowest digits, beyond which all are 0.
        largest: of a digit.
    """
    grid = _Grid(engine.layout, shape, axes)
    groups, steps = grid.vectors_of_sums(), grid.steps()
    total = _Total(engine, digits, filled, largest)
    a = total.ready(a, 2, groups.shape[1] << len(steps))
    x = arrangement.gathered(engine, a, grid.chosen())
    x = total.of_vectors(x[groups.reshape(-1).tolist()], *groups.shape)
    x = total.of_places(x, steps)
    # The first vector of each row has the places of its sums.
    places = grid.places(summed=False)
    vectors = np.searchsorted(groups[:, 0], places // engine.layout.values)
    found = vectors * engine.layout.values + places % engine.layout.values
    if steps:  # what stands beside the sums is cleared
        whole = np.full(engine.layout.vectors(found.size) * engine.layout.values, arrangement.NOTHING)
        whole[: found.size] = found
        found = whole
    return engine.left(total.carried(arrangement.gathered(engine, x, found)))


class _Total:
    """Digits that are added up, with carries in between where they would become too large for one."""

    def __init__(self, engine: Engine, digits: int, filled: int, largest: int) -> None:
        self._engine, self._digits, self._filled, self._largest = engine, digits, filled, largest
        self._terms = 1

    def bounds(self, terms: int) -> list[int]:
        """Bounds of the digits of sums."""
        return [self._largest * terms] * self._filled + [0] * (self._digits - self._filled)

    def ready(self, x: Bounded, levels: int, terms: int) -> Bounded:
        """Digits with levels besides those of the carries after `terms` terms, the nothing between values
        counted, or after the most of them."""
        terms = min(terms, columns.LARGEST // self._largest)
        carries = columns.levels(self.bounds(terms), self._digits, self._engine.most_read)
        return self._engine.ready(x, levels + carries, 2.0**-16 / sqrt(terms))

    def carried(self, x: Bounded) -> Bounded:
        return columns.carried(self._engine, x, self.bounds(self._terms), self._digits)

    def _next(self, x: Bounded) -> Bounded:
        """The digits of the sum so far, for further sums."""
        x = self.carried(x)
        self._filled, self._largest, self._terms = self._digits, BASE - 1, 1
        return self.ready(x, 1, columns.LARGEST)

    def of_vectors(self, x: Bounded, sums: int, terms: int) -> Bounded:
        """Vectors in rows of terms as one vector for each row."""
        while terms > 1:
            parts = -(-terms // (columns.LARGEST // self._largest))
            rows = np.arange(sums * terms).reshape(sums, terms)
            chosen = [rows[:, i::parts] for i in range(parts)]
            most = chosen[0].shape[1]
            held = [
                x.value[each.reshape(-1).tolist()].reshape(each.shape).sum(axis=1)
                if each.shape[1] > 1
                else x.value[each.reshape(-1).tolist()]
                for each in chosen
            ]
            value = held[0]
            if parts > 1:
                order = np.arange(sums * parts).reshape(parts, sums).T
                value = concatenate(held)[order.reshape(-1).tolist()]
            x = self._added(x, value, most)
            terms = parts
            if terms > 1:
                x = self._next(x)
        return x

    def of_places(self, x: Bounded, steps: Sequence[int]) -> Bounded:
        """Each place with what stands these steps and sums of them after it."""
        for step in steps:
            if 2 * self._terms * self._largest > columns.LARGEST:
                x = self._next(x)
            x = self._added(x, x.value + x.value.rotate(step), 2)
        return x

    def _added(self, x: Bounded, value: Ciphertext, terms: int) -> Bounded:
        """Sums of numbers of slots apart, whose errors do not depend on each other."""
        self._terms *= terms
        error = sqrt(terms) * hypot(x.error, self._engine.rounding)
        return Bounded(value, self._largest * self._terms, error, x.risk)
