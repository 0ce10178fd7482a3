"""The choice of layouts: those whose linear maps take the fewest diagonals and rotations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.layout import COPY, Layout, Place, index_bits
from hemera.arrays.packing import offsets
from hemera.arrays.sparse_map import SparseMap
from hemera.arrays.tensor import Affine, Shape, TensorProgram

__all__ = ["LayoutChoice", "choose_layouts"]

Indices = NDArray[np.int64]

_SAMPLE = 30_000
"""Entries of a map by which its diagonals are counted during the search."""
_MOST_TRIALS = 40_000
_DIAGONAL, _ROTATION, _LEVEL = 0.06, 0.7, 2.0
"""Costs in units of a rotation with its own preparation: of a diagonal; of a rotation of baby and giant
steps, on average; of the level that a map takes."""


@dataclass(frozen=True)
class LayoutChoice:
    """The layout of each node of a program, and the cost of its maps in units of a rotation."""

    layouts: tuple[Layout, ...]
    cost: float


@dataclass(frozen=True, eq=False)
class _Edge:
    """A linear map between groups of nodes with one layout."""

    source: int
    target: int
    rows: Indices
    columns: Indices
    part: float  # of the entries
    unit: bool  # all values are equal


def _edge(source: int, target: int, own: SparseMap) -> _Edge:
    chosen = np.arange(own.entries)
    if own.entries > _SAMPLE:
        chosen = np.sort(np.random.default_rng(0).choice(own.entries, _SAMPLE, replace=False))
    unit = own.entries > 0 and bool((own.values == own.values[0]).all())
    return _Edge(source, target, own.rows[chosen], own.columns[chosen], len(chosen), unit)


class _Groups:
    """Nodes that have one layout: the operands and results of products and functions."""

    def __init__(self, program: TensorProgram) -> None:
        self._parents = list(range(len(program.nodes)))
        for at, node in enumerate(program.nodes):
            if not isinstance(node.operation, Affine):
                for operand in node.operands:
                    self._parents[self.of(operand)] = self.of(at)

    def of(self, at: int) -> int:
        """The node by which a node's group is named."""
        while self._parents[at] != at:
            self._parents[at] = self._parents[self._parents[at]]
            at = self._parents[at]
        return at


def choose_layouts(program: TensorProgram, *, most_slots: int = 1 << 15) -> LayoutChoice:
    """Layouts of all nodes by local search: from the order of memory, and from layouts that neighbours
    suggest, single bits of the slot's number are moved as long as the maps cost less. Deterministic.

    Args:
        most_slots: no layout has a longer period, unless an array has more elements.
    """
    rasters = (Layout.raster(node.shape).period for node in program.nodes)
    most_slots = max(most_slots, *rasters)
    groups = _Groups(program)
    names = [groups.of(at) for at in range(len(program.nodes))]
    edges = [
        _edge(groups.of(operand), names[at], own)
        for at, node in enumerate(program.nodes)
        if isinstance(node.operation, Affine)
        for operand, own in zip(node.operands, node.operation.maps, strict=True)
    ]
    search = _Search({name: program.nodes[name].shape for name in names}, edges, most_slots)
    layouts = search.run(list(dict.fromkeys(names)))
    return LayoutChoice(tuple(layouts[name] for name in names), search.total())


class _Search:
    def __init__(self, shapes: dict[int, Shape], edges: Sequence[_Edge], most_slots: int) -> None:
        self._shapes = shapes
        self._edges = edges
        self._most_bits = most_slots.bit_length() - 1
        self._layouts: dict[int, Layout] = {}
        self._trials = 0
        self._near: dict[int, list[_Edge]] = {name: [] for name in shapes}
        for edge in edges:
            for name in {edge.source, edge.target}:
                self._near[name].append(edge)

    def run(self, names: Sequence[int]) -> dict[int, Layout]:
        """The layouts of groups, in the order in which their first nodes come."""
        for name in names:
            candidates = [Layout.raster(self._shapes[name]), *self._suggested(name)]
            self._take_best(name, candidates)
            self._improve(name)
        changed = True
        while changed and self._trials < _MOST_TRIALS:
            # All of them, not only up to the first that changes.
            changed = any([self._resettle(name) for name in names])  # noqa: C419
        return self._layouts

    def total(self) -> float:
        """The cost of all maps."""
        return sum(self._cost(edge, self._layouts) for edge in self._edges)

    def _resettle(self, name: int) -> bool:
        before = self._around(name, self._layouts[name])
        self._take_best(name, [self._layouts[name], *self._suggested(name)])
        self._improve(name)
        return self._around(name, self._layouts[name]) < before - 1e-9

    def _take_best(self, name: int, candidates: Sequence[Layout]) -> None:
        self._layouts[name] = min(candidates, key=lambda each: self._around(name, each))

    def _improve(self, name: int) -> None:
        """Moves single bits as long as that costs less."""
        best = self._around(name, self._layouts[name])
        while self._trials < _MOST_TRIALS:
            found, cost = self._layouts[name], best
            for moved in _moves(self._layouts[name]):
                tried = self._around(name, moved)
                if tried < cost - 1e-9:
                    found, cost = moved, tried
            if found is self._layouts[name]:
                return
            self._layouts[name], best = found, cost

    def _suggested(self, name: int) -> Iterator[Layout]:
        """Layouts that neighbours suggest."""
        for edge in self._near[name]:
            other = edge.target if edge.source == name else edge.source
            known = self._layouts.get(other)
            if known is None or other == name:
                continue
            if known.shape == self._shapes[name]:
                yield known
            own, theirs = (edge.columns, edge.rows) if edge.source == name else (edge.rows, edge.columns)
            yield from _carried(known, theirs, own, self._shapes[name], self._most_bits)

    def _around(self, name: int, layout: Layout) -> float:
        """The cost of the maps of a group with a layout, as far as their other groups have one."""
        if len(layout.bits) > self._most_bits:
            return math.inf
        self._trials += 1
        layouts = {**self._layouts, name: layout}
        near = (edge for edge in self._near[name] if edge.source in layouts and edge.target in layouts)
        return sum(self._cost(edge, layouts) for edge in near) + 1e-6 * layout.period

    @staticmethod
    def _cost(edge: _Edge, layouts: dict[int, Layout]) -> float:
        source, target = layouts[edge.source], layouts[edge.target]
        if not len(edge.rows):
            return 0
        number = offsets(edge.rows, edge.columns, source, target)
        present = np.zeros(min(source.period, target.period), np.bool_)
        present[number] = True
        count = int(np.count_nonzero(present)) * len(target.copies) ** 0.5
        folds = max(0, (source.period // target.period).bit_length() - 1)
        if count == 1 and present[0] and edge.unit and not folds:
            return 0
        rotations = 2 * math.sqrt(count) - (2 if present[0] else 1)
        return float(_LEVEL + _DIAGONAL * count + _ROTATION * max(0.0, rotations) + folds)


def _moves(layout: Layout) -> Iterator[Layout]:
    """Layouts that differ in the place of one bit, or have one copy bit more or fewer at the top."""
    bits = layout.bits
    for at in range(len(bits)):
        rest = bits[:at] + bits[at + 1 :]
        if bits[at] == COPY:
            yield Layout(layout.shape, rest)
        for place in range(len(bits)):
            if place != at:
                yield Layout(layout.shape, (*rest[:place], bits[at], *rest[place:]))


def _carried(known: Layout, theirs: Indices, own: Indices, shape: Shape, most_bits: int) -> Iterator[Layout]:
    """Layouts of an array by that of a neighbour: where a bit of the neighbour's indices goes along with one
    bit of the array's, both lie at the same place."""
    raster, plain = Layout.raster(shape), Layout.raster(known.shape)
    numbers = index_bits(shape)
    place_of = np.full(1 << len(plain.bits), -1, np.int64)  # an entry by the neighbour's element
    # Of elements that meet several, one stands for all.
    place_of[plain.places[theirs]] = raster.places[own]
    bits: list[Place] = []
    for bit in known.bits:
        if bit == COPY:
            bits.append(COPY)
            continue
        mask = 1 << index_bits(known.shape).index(bit)
        at = np.flatnonzero(place_of >= 0)
        at = at[(at & mask) == 0]
        both = at[place_of[at | mask] >= 0]
        changes = np.unique(place_of[both] ^ place_of[both | mask])
        if len(changes) == 1 and changes[0] and not changes[0] & (changes[0] - 1):
            found = numbers[int(changes[0]).bit_length() - 1]
            bits.append(COPY if found in bits else found)
        else:
            bits.append(COPY)
    missing = [bit for bit in numbers if bit not in bits]
    while bits and bits[-1] == COPY:
        bits.pop()
    without = [bit for bit in bits if bit != COPY]
    for chosen in (bits, without):
        if len(chosen) + len(missing) <= most_bits:
            yield Layout(shape, (*chosen, *missing))
    filled = list(bits)
    for bit in missing:
        if COPY not in filled:
            filled.append(bit)
        else:
            filled[filled.index(COPY)] = bit
    if len(filled) <= most_bits:
        yield Layout(shape, tuple(filled))
