"""The choice of layouts: those whose linear maps take the fewest diagonals and rotations."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera._process import cached_property
from hemera.arrays.layout import COPY, FREE, Layout, Place, index_bits
from hemera.arrays.operations import Input, Shape
from hemera.arrays.packing import free_folds, offsets
from hemera.arrays.sparse_map import SparseMap
from hemera.arrays.tensor import TensorProgram

__all__ = ["LayoutChoice", "layout_choices"]

Indices = NDArray[np.int64]
Bits = tuple[Place, ...]

_SAMPLE = 30_000
"""Entries of a map by which its diagonals are counted during the search."""
_MOST_TRIALS = 40_000
_FEW_TRIALS = 8_000
"""The most trials of a search that is made again from other orders of elements."""
_OTHERS = 2
"""The most choices beside the first one."""
_CORRELATED = 0.1
"""Bits of two indices go along with each other from here: of neighbours that a kernel of three numbers joins
the lowest bits have the correlation 1/3; noise of the sample is below a hundredth."""
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
    shapes: tuple[Shape, Shape]
    rows: Indices
    columns: Indices
    unit: bool  # all values are equal
    costs: dict[tuple[Bits, Bits], float]  # of all maps between the same elements, in all searches

    def cost(self, source: Layout, target: Layout) -> float:
        """In units of a rotation."""
        key = source.bits, target.bits
        if key not in self.costs:
            self.costs[key] = _cost_of(self, source, target)
        return self.costs[key]

    @cached_property
    def partners(self) -> tuple[dict[Place, Place], ...]:
        """Of bits of the source's indices those of the target's that go along with them, the other way, and
        of the source's those of the target's that are the same in all entries."""
        of, to = map(index_bits, self.shapes)
        one = Layout.raster(self.shapes[0]).places[self.columns]
        other = Layout.raster(self.shapes[1]).places[self.rows]
        ours, theirs = (
            (each >> np.arange(len(bits))[:, None] & 1).astype(np.bool_)
            for each, bits in ((one, of), (other, to))
        )
        equal = (ours[:, None] == theirs).all(-1)
        there, back = _correlations(one, other), _correlations(other, one)
        return _partners(there, of, to), _partners(back, to, of), _partners(equal, of, to)


def _edge(ends: tuple[int, int], shapes: tuple[Shape, Shape], own: SparseMap, known: dict[Any, Any]) -> _Edge:
    chosen: Any = slice(None)
    if own.entries > _SAMPLE:
        chosen = np.sort(np.random.default_rng(0).choice(own.entries, _SAMPLE, replace=False))
    unit = own.entries > 0 and bool((own.values == own.values[0]).all())
    rows, columns = own.rows[chosen], own.columns[chosen]
    kind = shapes, unit, hashlib.sha256(rows.tobytes() + columns.tobytes()).digest()
    return _Edge(*ends, shapes, rows, columns, unit, known.setdefault(kind, {}))


class _Groups:
    """Nodes that have one layout: the operands and results of products and functions, and those that are
    alike."""

    def __init__(self, program: TensorProgram, alike: Iterable[Sequence[int]]) -> None:
        self._parents = list(range(len(program.nodes)))
        for own in alike:
            for at in own[1:]:
                self._parents[self.of(own[0])] = self.of(at)
        for at, node in enumerate(program.nodes):
            if not node.operation.is_linear:
                for operand in node.operands:
                    self._parents[self.of(operand)] = self.of(at)

    def of(self, at: int) -> int:
        """The node by which a node's group is named."""
        while self._parents[at] != at:
            self._parents[at] = self._parents[self._parents[at]]
            at = self._parents[at]
        return at


def layout_choices(
    program: TensorProgram, *, most_slots: int = 1 << 15, alike: Iterable[Sequence[int]] = ()
) -> list[LayoutChoice]:
    """Layouts of all nodes by local searches: from an order of elements, and from layouts that neighbours
    suggest, single bits of the slot's number are moved as long as the maps cost less. Deterministic.

    Args:
        most_slots: no layout has a longer period, unless an array has more elements.
        alike: nodes of one shape that take one layout.

    Returns:
        What different searches find: first the one from the order of memory, in which sums move to the
        places of others; then the cheapest two others, in which sums may stay in place (FREE), and where
        these take few trials, inputs come last, since what is encrypted can lie as its users want it, or
        the first order is that of columns.
    """
    largest = max(Layout.raster(node.shape).period for node in program.nodes)
    most_slots = max(most_slots, largest)
    groups = _Groups(program, alike)
    names = [groups.of(at) for at in range(len(program.nodes))]
    known: dict[Any, Any] = {}
    edges = [
        _edge((names[source], names[at]), (program.nodes[source].shape, program.nodes[at].shape), own, known)
        for source, at, own in program.maps
    ]
    shapes = {name: program.nodes[name].shape for name in names}
    order = list(dict.fromkeys(names))
    used = Counter(names)
    inputs_last = sorted(
        order, key=lambda name: used[name] == 1 and isinstance(program.nodes[name].operation, Input)
    )
    found: dict[tuple[Layout, ...], LayoutChoice] = {}
    for own, first in (
        (order, Layout.raster),
        (inputs_last, Layout.raster),
        (inputs_last, Layout.by_columns),
    ):
        for in_place in (False, True):
            search = _Search(shapes, edges, most_slots, in_place, first)
            by_name = search.run(own)
            layouts = tuple(by_name[name] for name in names)
            found.setdefault(layouts, LayoutChoice(layouts, search.total()))
        if search.trials > _FEW_TRIALS:
            break
    plain, *others = found.values()
    return [plain, *sorted(others, key=lambda each: each.cost)[:_OTHERS]]


class _Search:
    def __init__(
        self,
        shapes: dict[int, Shape],
        edges: Sequence[_Edge],
        most_slots: int,
        in_place: bool,
        first: Callable[[Shape], Layout],
    ) -> None:
        self._first = first
        self._in_place = in_place
        self._shapes = shapes
        self._edges = edges
        self._most_bits = most_slots.bit_length() - 1
        self._largest_bits = max(len(index_bits(shape)) for shape in shapes.values())
        self._layouts: dict[int, Layout] = {}
        self.trials = 0
        self._settled: dict[int, tuple[list[Layout], int]] = {}
        """Groups that keep their layouts beside these of others, and the trials that tell."""
        self._near: dict[int, list[_Edge]] = {name: [] for name in shapes}
        for edge in edges:
            for name in {edge.source, edge.target}:
                self._near[name].append(edge)

    def run(self, names: Sequence[int]) -> dict[int, Layout]:
        """The layouts of groups, in the order in which their first nodes come."""
        for name in names:
            candidates = [self._first(self._shapes[name]), *self._suggested(name)]
            self._take_best(name, candidates)
            self._improve(name)
        changed = True
        while changed and self.trials < _MOST_TRIALS:
            # All of them, not only up to the first that changes.
            changed = any([self._resettle(name) for name in names])  # noqa: C419
        return self._layouts

    def total(self) -> float:
        """The cost of all maps."""
        layouts = self._layouts
        return sum(edge.cost(layouts[edge.source], layouts[edge.target]) for edge in self._edges)

    def _resettle(self, name: int) -> bool:
        near = [self._layouts[each] for edge in self._near[name] for each in (edge.source, edge.target)]
        known, trials, old = self._settled.get(name), self.trials, self._layouts[name]
        if known is not None and known[0] == near:  # it would try the same again
            self.trials += known[1]
            return False
        before = self._around(name, old)
        self._take_best(name, [old, *self._suggested(name)])
        self._improve(name)
        found = self._around(name, self._layouts[name]) < before - 1e-9
        if self._layouts[name] is old:
            self._settled[name] = near, self.trials - trials
        return found

    def _take_best(self, name: int, candidates: Sequence[Layout]) -> None:
        self._layouts[name] = min(candidates, key=lambda each: self._around(name, each))

    def _improve(self, name: int) -> None:
        """Moves single bits as long as that costs less."""
        best = self._around(name, self._layouts[name])
        while self.trials < _MOST_TRIALS:
            found, cost = self._layouts[name], best
            for moved in _moves(self._layouts[name], self._largest_bits):
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
            if known is None or other == name or not len(edge.rows):
                continue
            if known.shape == self._shapes[name]:
                yield known
            there, back, equal = edge.partners
            if self._in_place and edge.target == name:
                yield from _in_place(known, equal, self._shapes[name], self._most_bits)
            partner = back if edge.source == name else there
            yield from _carried(known, partner, self._shapes[name], self._most_bits)

    def _around(self, name: int, layout: Layout) -> float:
        """The cost of the maps of a group with a layout, as far as their other groups have one."""
        if len(layout.bits) > self._most_bits:
            return math.inf
        self.trials += 1
        costs = []
        for edge in self._near[name]:
            source = layout if edge.source == name else self._layouts.get(edge.source)
            target = layout if edge.target == name else self._layouts.get(edge.target)
            if source is not None and target is not None:
                costs.append(edge.cost(source, target))
        return sum(costs) + 1e-6 * layout.period


def _cost_of(edge: _Edge, source: Layout, target: Layout) -> float:
    if not len(edge.rows):
        return 0
    number = offsets(edge.rows, edge.columns, source, target)
    present = np.zeros(min(source.period, target.period), np.bool_)
    present[number] = True
    count = int(np.count_nonzero(present)) * len(target.copies) ** 0.5
    folds = max(0, (source.period // target.period).bit_length() - 1) + len(free_folds(source, target))
    if count == 1 and present[0] and edge.unit and not folds:
        return 0
    rotations = 2 * math.sqrt(count) - (2 if present[0] else 1)
    return float(_LEVEL + _DIAGONAL * count + _ROTATION * max(0.0, rotations) + folds)


def _moves(layout: Layout, most_bits: int) -> Iterator[Layout]:
    """Layouts with one bit at another place, without a copy bit, and, up to `most_bits`, with one where a bit
    was that moves to the top. A map from such copies takes fewer diagonals: each slot has the copy beside it
    that its diagonal needs, and the parts of sums that lie apart are folded."""
    bits = layout.bits
    for at in range(len(bits)):
        rest = bits[:at] + bits[at + 1 :]
        if bits[at] in (COPY, FREE):
            yield Layout(layout.shape, rest)
        elif len(bits) < most_bits:
            yield Layout(layout.shape, (*bits[:at], COPY, *bits[at + 1 :], bits[at]))
        for place in range(len(bits)):
            if place != at:
                yield Layout(layout.shape, (*rest[:place], bits[at], *rest[place:]))


def _correlations(a: Indices, b: Indices) -> NDArray[np.float64]:
    """The magnitude of the correlation of each bit of one number and each of another, in pairs of them."""
    counts = [max(1, int(each.max(initial=0)).bit_length()) for each in (a, b)]
    first, second = (
        (each[:, None] >> np.arange(count) & 1).astype(np.float64)
        for each, count in zip((a, b), counts, strict=True)
    )
    first, second = first - first.mean(0), second - second.mean(0)
    size = np.sqrt(np.outer((first**2).sum(0), (second**2).sum(0)))
    products: NDArray[np.float64] = np.abs(first.T @ second)
    return np.divide(products, size, out=np.zeros_like(products), where=size > 0)


def _partners(along: NDArray[Any], others: Bits, numbers: Bits) -> dict[Place, Place]:
    """For bits of one array's indices the bits of another's that go along with them, the closest first."""
    along = along[: len(others), : len(numbers)]
    partner: dict[Place, Place] = {}
    while along.size and along.max() > _CORRELATED:
        other, mine = np.unravel_index(int(along.argmax()), along.shape)
        partner[others[other]] = numbers[mine]
        along[other], along[:, mine] = 0, 0
    return partner


def _carried(known: Layout, partner: dict[Place, Place], shape: Shape, most_bits: int) -> Iterator[Layout]:
    """Layouts of an array by that of a neighbour: where a bit of the neighbour's indices goes along with one
    bit of the array's, both lie at the same place."""
    numbers = index_bits(shape)
    bits = [partner.get(bit, COPY) for bit in known.bits]
    missing = [bit for bit in numbers if bit not in bits]
    while bits and bits[-1] == COPY:
        bits.pop()
    without = [bit for bit in bits if bit != COPY]
    rest = iter(missing)
    filled = [next(rest, COPY) if bit == COPY else bit for bit in bits]
    for chosen in ((*bits, *missing), (*without, *missing), (*filled, *rest)):
        if len(chosen) <= most_bits:
            yield Layout(shape, chosen)


def _in_place(known: Layout, partner: dict[Place, Place], shape: Shape, most_bits: int) -> Iterator[Layout]:
    """Layouts of sums that stay where their terms are: bits of the terms' places on which the result does not
    depend are FREE, and bits of the result that the terms have not lie among them or above."""
    numbers = index_bits(shape)
    bits = [bit if bit[0] < 0 else partner.get(bit, FREE) for bit in known.bits]
    missing = [bit for bit in numbers if bit not in bits]
    free = [at for at, bit in enumerate(bits) if bit == FREE]
    if not free:
        return
    count = len(missing)
    for places in dict.fromkeys((tuple(free[:count]), tuple(free[max(0, len(free) - count) :]), ())):
        filled = list(bits)
        for at, bit in zip(places, missing, strict=False):
            filled[at] = bit
        rest = missing[len(places) :]
        if len(filled) + len(rest) <= most_bits:
            yield Layout(shape, (*filled, *rest))
