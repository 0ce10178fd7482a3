"""The choice of layouts: those whose linear maps take the fewest diagonals and rotations."""

from __future__ import annotations

import functools
import hashlib
import math
import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera._process import cached_property
from hemera.arrays.layout import COPY, FREE, Layout, Place, index_bits
from hemera.arrays.packing import free_folds, offsets
from hemera.arrays.sparse_map import Indices, Shape, SparseMap
from hemera.arrays.tensor import TensorProgram

Bits = tuple[Place, ...]
Partners = tuple[tuple[Place, Place], ...]
"""Bits of one array's indices, each with the one of another's that goes along with it."""

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
_LESS = 1e-9
"""A layout must cost this much less than another one that is kept."""
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

    def cost(self, source: Bits, target: Bits) -> float:
        """The cost in units of a rotation."""
        key = source, target
        if key not in self.costs:
            self.costs[key] = _cost_of(self, _layout(self.shapes[0], source), _layout(self.shapes[1], target))
        return self.costs[key]

    @cached_property
    def partners(self) -> tuple[Partners, ...]:
        """Bits of the target's indices that go along with bits of the source's, the other way, and bits of
        the target's that are the same as the source's in all entries."""
        of, to = map(index_bits, self.shapes)
        one = _layout(self.shapes[0], of).places[self.columns]
        other = _layout(self.shapes[1], to).places[self.rows]
        ours, theirs = [
            (each >> np.arange(len(bits))[:, None] & 1).astype(np.bool_)
            for each, bits in ((one, of), (other, to))
        ]
        equal = (ours[:, None] == theirs).all(-1)
        there, back = _correlations(one, other), _correlations(other, one)
        return _partners(there, of, to), _partners(back, to, of), _partners(equal, of, to)


@functools.lru_cache(maxsize=64)
def _layout(shape: Shape, bits: Bits) -> Layout:
    return Layout(shape, bits)


def _edge(ends: tuple[int, int], shapes: tuple[Shape, Shape], own: SparseMap, known: dict[Any, Any]) -> _Edge:
    chosen: Any = slice(None)
    if own.entries > _SAMPLE:
        chosen = np.sort(np.random.default_rng(0).choice(own.entries, _SAMPLE, replace=False))
    unit = own.entries > 0 and bool((own.values == own.values[0]).all())
    rows, columns = own.rows[chosen], own.columns[chosen]
    kind = shapes, unit, hashlib.sha256(rows.tobytes() + columns.tobytes()).digest()
    return _Edge(*ends, shapes, rows, columns, unit, known.setdefault(kind, {}))


def _groups(program: TensorProgram, alike: Iterable[Sequence[int]]) -> list[int]:
    """For each node the one by which its group is named, of those that have one layout: the operands and
    results of products and functions, and those that are alike."""
    parents = list(range(len(program.nodes)))

    def of(at: int) -> int:
        while parents[at] != at:
            parents[at] = parents[parents[at]]
            at = parents[at]
        return at

    joined = [(own[0], at) for own in alike for at in own[1:]]
    for at, node in enumerate(program.nodes):
        joined += [(operand, at) for operand in node.operands if not node.operation.is_linear]
    for one, other in joined:
        parents[of(one)] = of(other)
    return list(map(of, parents))


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
        places of others; then the cheapest two others that cost no more and take other diagonals, in which
        sums may stay in place (FREE), and where these take few trials, inputs come last, since what is
        encrypted can lie as its users want it, or the first order is that of columns.
    """
    names = _groups(program, alike)
    known: dict[Any, Any] = {}
    edges = [
        _edge((names[source], names[at]), (program.nodes[source].shape, program.nodes[at].shape), own, known)
        for source, at, own in program.maps
    ]
    shapes = {name: program.nodes[name].shape for name in names}
    used = Counter(names)
    inputs = [name for name in program.inputs if used[name] == 1]
    inputs_last = tuple(sorted(shapes, key=inputs.__contains__))
    have_columns = any(list(each) != sorted(each) for each in map(index_bits, shapes.values()))
    search = _Search(shapes, edges, most_slots.bit_length() - 1)
    has_sums = bool([own for _, _, own in program.maps if not own.is_of_each or own.outputs < own.inputs])
    found: dict[tuple[Bits, ...], LayoutChoice] = {}
    for own, by_columns in dict.fromkeys(
        ((tuple(shapes), False), (inputs_last, False), (inputs_last, have_columns))
    ):
        for in_place in (False, True)[: 1 + has_sums]:
            bits = search.run(own, in_place=in_place, by_columns=by_columns)
            if (known_as := tuple(bits.values())) not in found:
                cost = sum([edge.cost(bits[edge.source], bits[edge.target]) for edge in edges])
                layouts = [_layout(shapes[name], bits[name]) for name in names]
                found[known_as] = LayoutChoice(tuple(layouts), cost)
        if search.trials > _FEW_TRIALS or not edges:
            break
    plain, *others = found.values()
    less = [each for each in others if each.cost <= plain.cost and _work(edges, each) != _work(edges, plain)]
    return [plain, *sorted(less, key=operator.attrgetter("cost"))[:_OTHERS]]


def _work(edges: Sequence[_Edge], choice: LayoutChoice) -> list[Any]:
    """The slots without elements, and the diagonals of each map: what decides the time of a choice."""
    own = choice.layouts
    taken = [offsets(each.rows, each.columns, own[each.source], own[each.target]) for each in edges]
    return [*[(each.copy_mask, each.free_mask) for each in own], *[set(each.tolist()) for each in taken]]


_Settled = dict[tuple[int, Bits, tuple[Bits | None, ...], bool], tuple[Bits, bool, int]]


class _Search:
    """Searches of one program. No layout has more than `most_bits`, unless an array has more elements."""

    def __init__(self, shapes: dict[int, Shape], edges: Sequence[_Edge], most_bits: int) -> None:
        self._shapes = shapes
        self._largest_bits = max([len(index_bits(shape)) for shape in shapes.values()])
        self._most_bits = max(most_bits, self._largest_bits)
        self._near: dict[int, list[_Edge]] = {name: [] for name in shapes}
        self._others: dict[int, list[int]] = {name: [] for name in shapes}
        for edge in edges:
            for name, other in {(edge.source, edge.target), (edge.target, edge.source)}:
                self._near[name].append(edge)
                self._others[name].append(other)
        self._targets = {edge.target for edge in edges}
        self._settled: _Settled = {}
        """The layouts that groups take, by their first ones, those of other groups, and whether sums may stay
        in place; whether they cost less than the first ones, and the trials that tell: in all searches."""
        self._bits: dict[int, Bits] = {}
        self._in_place = False
        self.trials = 0

    def run(self, names: Sequence[int], *, in_place: bool, by_columns: bool) -> dict[int, Bits]:
        """The layouts of groups, whose first nodes come in this order.

        Args:
            in_place: whether sums may stay in place.
            by_columns: whether the first order is that of columns.
        """
        self._bits, self._in_place, self.trials = {}, in_place, 0
        for name in names:
            first = index_bits(self._shapes[name])
            self._settle(name, tuple(sorted(first)) if by_columns else first)
        changed = True
        while changed and self.trials < _MOST_TRIALS:
            # All of them, not only up to the first that changes.
            changed = any([self._settle(name, self._bits[name]) for name in names])  # noqa: C419
        return {name: self._bits[name] for name in self._shapes}

    def _settle(self, name: int, first: Bits) -> bool:
        """Take the best of a layout and those that neighbours suggest, and move single bits of it as long as
        that costs less.

        Returns:
            Whether it costs less than the first one.
        """
        others = tuple(map(self._bits.get, self._others[name]))
        key = name, first, others, self._in_place and name in self._targets
        known = self._settled.get(key)
        if known is not None and self.trials + known[2] < _MOST_TRIALS:
            self._bits[name], is_less, trials = known
            self.trials += trials
            return is_less
        trials = self.trials
        _, before = self._cheapest(name, [first], first)
        best, cost = self._cheapest(name, self._suggested(name), first, before)
        last: Bits | None = None
        while best != last and self.trials < _MOST_TRIALS:
            last = best
            best, cost = self._cheapest(name, _moves(best, self._largest_bits), best, cost, _LESS)
        self._bits[name] = best
        self._settled[key] = best, cost < before - _LESS, self.trials - trials
        return cost < before - _LESS

    def _cheapest(
        self, name: int, candidates: Sequence[Bits], best: Bits, least: float = math.inf, less: float = 0.0
    ) -> tuple[Bits, float]:
        """The layout of a group whose maps cost least, as far as their other groups have layouts, and that
        cost. Candidates take the place of `best`, which costs `least`, where they cost less by `less`."""
        bits = self._bits
        for bits[name] in candidates:
            if len(bits[name]) > self._most_bits:
                continue
            self.trials += 1
            cost = 0.0
            for edge in self._near[name]:
                source, target = bits.get(edge.source), bits.get(edge.target)
                if source is not None and target is not None:
                    known = edge.costs.get((source, target))
                    cost += edge.cost(source, target) if known is None else known
            cost += 1e-6 * (1 << len(bits[name]))
            if cost < least - less:
                best, least = bits[name], cost
        return best, least

    def _suggested(self, name: int) -> list[Bits]:
        """Layouts that neighbours suggest."""
        shape, found = self._shapes[name], list[Bits]()
        for edge in self._near[name]:
            other = edge.target if edge.source == name else edge.source
            known = self._bits.get(other)
            if known is None or other == name or not len(edge.rows):
                continue
            if self._shapes[other] == shape:
                found.append(known)
            there, back, equal = edge.partners
            if self._in_place and edge.target == name:
                found += _in_place(known, equal, shape, self._most_bits)
            found += _carried(known, back if edge.source == name else there, shape, self._most_bits)
        return found


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


@functools.lru_cache(maxsize=256)
def _moves(bits: Bits, most_bits: int) -> tuple[Bits, ...]:
    """Layouts with one bit at another place, without a copy bit, and, up to `most_bits`, with one where a bit
    was that moves to the top. A map from such copies takes fewer diagonals: each slot has the copy beside it
    that its diagonal needs, and the parts of sums that lie apart are folded."""
    found: list[Bits] = []
    for at in range(len(bits)):
        rest = bits[:at] + bits[at + 1 :]
        if bits[at] in (COPY, FREE):
            found.append(rest)
        elif len(bits) < most_bits:
            found.append((*bits[:at], COPY, *bits[at + 1 :], bits[at]))
        found += [(*rest[:place], bits[at], *rest[place:]) for place in range(len(bits)) if place != at]
    return tuple(found)


def _correlations(a: Indices, b: Indices) -> NDArray[np.float64]:
    """The magnitude of the correlation of each bit of one number and each of another, in pairs of them."""
    counts = [max(1, int(each.max(initial=0)).bit_length()) for each in (a, b)]
    first, second = [
        (each[:, None] >> np.arange(count) & 1).astype(np.float64)
        for each, count in zip((a, b), counts, strict=True)
    ]
    first, second = first - first.mean(0), second - second.mean(0)
    size = np.sqrt(np.outer((first**2).sum(0), (second**2).sum(0)))
    products: NDArray[np.float64] = np.abs(first.T @ second)
    return np.divide(products, size, out=np.zeros_like(products), where=size > 0)


def _partners(along: NDArray[Any], others: Bits, numbers: Bits) -> Partners:
    """For bits of one array's indices the bits of another's that go along with them, the closest first."""
    along = along[: len(others), : len(numbers)]
    partner: dict[Place, Place] = {}
    while along.size and along.max() > _CORRELATED:
        other, mine = np.unravel_index(int(along.argmax()), along.shape)
        partner[others[other]] = numbers[mine]
        along[other], along[:, mine] = 0, 0
    return tuple(partner.items())


@functools.lru_cache(maxsize=256)
def _carried(known: Bits, partners: Partners, shape: Shape, most_bits: int) -> tuple[Bits, ...]:
    """Layouts of an array by that of a neighbour: where a bit of the neighbour's indices goes along with one
    bit of the array's, both lie at the same place."""
    partner = dict(partners)
    bits = [partner.get(bit, COPY) for bit in known]
    missing = [bit for bit in index_bits(shape) if bit not in bits]
    while bits and bits[-1] == COPY:
        bits.pop()
    without = [bit for bit in bits if bit != COPY]
    rest = iter(missing)
    filled = [next(rest, COPY) if bit == COPY else bit for bit in bits]
    found = (*bits, *missing), (*without, *missing), (*filled, *rest)
    return tuple(each for each in found if len(each) <= most_bits)


@functools.lru_cache(maxsize=256)
def _in_place(known: Bits, partners: Partners, shape: Shape, most_bits: int) -> tuple[Bits, ...]:
    """Layouts of sums that stay where their terms are: bits of the terms' places on which the result does not
    depend are FREE, and bits of the result that the terms have not lie among them or above."""
    partner = dict(partners)
    bits = [bit if bit[0] < 0 else partner.get(bit, FREE) for bit in known]
    missing = [bit for bit in index_bits(shape) if bit not in bits]
    free = [at for at, bit in enumerate(bits) if bit == FREE]
    count, found = len(missing), list[Bits]()
    for places in dict.fromkeys((tuple(free[:count]), tuple(free[max(0, len(free) - count) :]), ())):
        filled = list(bits)
        for at, bit in zip(places, missing, strict=False):
            filled[at] = bit
        found.append((*filled, *missing[len(places) :]))
    return tuple(each for each in found if free and len(each) <= most_bits)
