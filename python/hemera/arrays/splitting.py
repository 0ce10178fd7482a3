"""Programs on arrays of any size as programs on arrays that fit into a ciphertext."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hemera.arrays.operations import Affine, Values
from hemera.arrays.sparse_map import SparseMap
from hemera.arrays.tensor import Node, TensorProgram
from hemera.arrays.tiling import Tiling
from hemera.errors import ParameterError

__all__ = ["SplitProgram", "split"]


@dataclass(frozen=True, eq=False)
class SplitProgram:
    """A program, and the same one on tiles of its arrays."""

    whole: TensorProgram
    program: TensorProgram
    """On tiles. Its inputs and outputs are those of `whole`, one array's tiles after the other's."""
    tilings: tuple[Tiling, ...]
    """The tiling of each node of `whole`."""
    tiles: tuple[tuple[int, ...], ...]
    """For each node of `whole` the nodes of `program` that are its tiles."""

    @staticmethod
    def whole_arrays(program: TensorProgram) -> SplitProgram:
        """The split with a tile of each array."""
        tilings = tuple(Tiling(node.shape, node.shape) for node in program.nodes)
        return SplitProgram(program, program, tilings, tuple((at,) for at in range(len(program.nodes))))

    @property
    def alike(self) -> list[tuple[int, ...]]:
        """Tiles of one array, of one shape: they take the same layout."""
        found: dict[tuple[int, tuple[int, ...]], list[int]] = {}
        for array, tiles in enumerate(self.tiles):
            for at in tiles:
                found.setdefault((array, self.program.nodes[at].shape), []).append(at)
        return [tuple(each) for each in found.values()]

    @property
    def arrays(self) -> list[int | None]:
        """For each node of `program`, the node of `whole` that it is a tile of, if that, or its operand,
        has several."""
        found: list[int | None] = [None] * len(self.program.nodes)
        for array, tiles in enumerate(self.tiles):
            near = (array, *self.whole.nodes[array].operands)
            if any(self.tilings[at].count > 1 for at in near):
                for at in tiles:
                    found[at] = array
        return found

    def evaluate_clear(self, inputs: Sequence[Values]) -> list[Values]:
        """The outputs of `whole`, by `program`, of inputs of shape (batch, *shape) in the clear."""
        whole = self.whole
        cut = [
            tile
            for at, x in zip(whole.inputs, inputs, strict=True)
            for tile in self.tilings[at].cut(np.asarray(x))
        ]
        found = iter(self.program.evaluate_clear(cut))
        return [
            tiling.joined(list(itertools.islice(found, tiling.count)))
            for tiling in (self.tilings[at] for _, at in whole.outputs)
        ]


def split(program: TensorProgram, slots: int) -> SplitProgram:
    """The program on tiles of at most `slots` slots. Arrays of one shape are cut alike, so that products and
    functions take tile by tile; a map becomes one for each pair of tiles that it has entries between. Tiles
    that a map takes alike, as a sum does, are added up first.

    Raises:
        ParameterError: for arrays of too many tiles.
    """
    tilings = tuple(Tiling.of(node.shape, slots) for node in program.nodes)
    if all(each.count == 1 for each in tilings):
        return SplitProgram.whole_arrays(program)
    splitter = _Splitter(program, tilings)
    for at in range(len(program.nodes)):
        splitter.add(at)
    found = splitter.found
    found.outputs = [
        (_named(name, number, tilings[at]), own)
        for name, at in program.outputs
        for number, own in enumerate(splitter.tiles[at])
    ]
    return SplitProgram(program, found, tilings, tuple(splitter.tiles))


def _named(name: str, number: int, tiling: Tiling) -> str:
    """The name of a tile."""
    return name if tiling.count == 1 else f"{name}.{number}"


@dataclass
class _Splitter:
    program: TensorProgram
    tilings: Sequence[Tiling]
    found: TensorProgram = field(default_factory=TensorProgram)
    tiles: list[tuple[int, ...]] = field(default_factory=list)
    sums: dict[tuple[int, ...], int] = field(default_factory=dict)
    """The nodes of sums, by the tiles that are added up."""

    def add(self, at: int) -> None:
        """The tiles of the next node."""
        node, tiling = self.program.nodes[at], self.tilings[at]
        if isinstance(node.operation, Affine):
            self.tiles.append(self._affine(node, node.operation, tiling))
            return
        tiles = []
        for number, shape in enumerate(tiling.shapes):
            own = node.operation.of_tile(tiling.elements[number], _named("", number, tiling))
            if own is None:
                raise ParameterError(f"{node.title}{node.line} takes arrays that fit into a ciphertext")
            operands = [self.tiles[each][number] for each in node.operands]
            tiles.append(self.found.add(own, operands, shape, node.where, node.range))
        self.tiles.append(tuple(tiles))

    def _affine(self, node: Node, operation: Affine, tiling: Tiling) -> tuple[int, ...]:
        terms: list[list[tuple[int, SparseMap]]] = [[] for _ in tiling.shapes]
        for source, own in zip(node.operands, operation.maps, strict=True):
            for (to, of), part in _between(own, self.tilings[source], tiling).items():
                terms[to].append((self.tiles[source][of], part))
        return tuple(self._tile(node, operation, tiling, number, own) for number, own in enumerate(terms))

    def _tile(
        self, node: Node, operation: Affine, tiling: Tiling, number: int, terms: list[tuple[int, SparseMap]]
    ) -> int:
        elements = tiling.elements[number]
        if not terms:  # a constant
            first = self.tiles[node.operands[0]][0]
            terms = [(first, SparseMap.of(len(elements), self.found.nodes[first].size, [], [], []))]
        alike: dict[tuple[bytes, tuple[int, ...]], list[tuple[int, SparseMap]]] = {}
        for at, own in terms:
            alike.setdefault((own.digest, self.found.nodes[at].shape), []).append((at, own))
        operands, maps = [], []
        for each in alike.values():
            at, own = each[0]
            if len(each) > 1 and own.is_identity:
                operands += [at for at, _ in each]
                maps += [own] * len(each)
                continue
            operands.append(at if len(each) == 1 else self._sum(tuple(at for at, _ in each)))
            maps.append(own)
        offset = None if operation.offset is None else operation.offset[elements]
        return self.found.add(
            Affine(tuple(maps), offset), operands, tiling.shapes[number], node.where, node.range
        )

    def _sum(self, tiles: tuple[int, ...]) -> int:
        """The node of the sum of tiles of one shape."""
        if tiles not in self.sums:
            nodes = [self.found.nodes[at] for at in tiles]
            identity = SparseMap.selection(np.arange(nodes[0].size), nodes[0].size)
            ends = [sum(each) for each in zip(*(node.range for node in nodes), strict=True)]
            self.sums[tiles] = self.found.add(
                Affine((identity,) * len(tiles)), tiles, nodes[0].shape, nodes[0].where, (ends[0], ends[1])
            )
        return self.sums[tiles]


def _between(own: SparseMap, source: Tiling, target: Tiling) -> dict[tuple[int, int], SparseMap]:
    """The parts of a map from each tile of its source to each tile of its target, where there are entries."""
    if source.count == target.count == 1:
        return {(0, 0): own}
    to, rows = (each[own.rows] for each in target.places)
    of, columns = (each[own.columns] for each in source.places)
    pair = to * source.count + of
    order = np.argsort(pair, kind="stable")
    ends = np.flatnonzero(np.diff(pair[order])) + 1
    found = {}
    for taken in np.split(order, ends):
        if len(taken):
            i, j = int(to[taken[0]]), int(of[taken[0]])
            found[i, j] = SparseMap.of(
                len(target.elements[i]),
                len(source.elements[j]),
                rows[taken],
                columns[taken],
                own.values[taken],
            )
    return found
