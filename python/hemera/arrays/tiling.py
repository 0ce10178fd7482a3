"""Arrays of more elements than a ciphertext has slots, cut into tiles, and programs on tiles."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera._process import cached_property
from hemera.arrays.operations import Affine
from hemera.arrays.sparse_map import Indices, Shape, SparseMap
from hemera.arrays.tensor import Node, TensorProgram
from hemera.errors import MismatchError, ParameterError

MOST_CIPHERTEXTS = 1 << 12


def axes_before(values: NDArray[Any], shape: Sequence[int]) -> int:
    """The number of axes of an array before those of `shape`. MismatchError for an array of another shape."""
    axes = values.ndim - len(shape)
    if axes < 0 or values.shape[axes:] != tuple(shape):
        wanted = "".join(f", {extent}" for extent in shape)
        raise MismatchError(f"an array of shape (...{wanted}) is needed, not one of {values.shape}")
    return axes


def filled(extent: int) -> int:
    """The power of two to which an axis is filled up."""
    return 1 << (extent - 1).bit_length()


@dataclass(frozen=True)
class Tiling:
    """An array cut into tiles, in the order of memory. The last ones of an axis may be smaller.

    Args:
        shape: of the array.
        tile: the shape of a tile.

    Raises:
        ParameterError: for tiles that are empty or larger than the array, and for too many.
    """

    shape: Shape
    tile: Shape
    count: int = field(init=False, repr=False, compare=False)
    """How many tiles there are."""
    _counts: Shape = field(init=False, repr=False, compare=False)
    """Tiles along each axis."""

    def __post_init__(self) -> None:
        fits = len(self.tile) == len(self.shape) and min(self.tile, default=1) > 0
        if not fits or any(map(operator.gt, self.tile, self.shape)):
            raise ParameterError(f"an array of shape {self.shape} has no tiles of shape {self.tile}")
        counts = tuple([-(-extent // own) for extent, own in zip(self.shape, self.tile, strict=True)])
        vars(self).update(count=math.prod(counts), _counts=counts)
        if self.count > MOST_CIPHERTEXTS:
            raise ParameterError(
                f"an array of shape {self.shape} would take {self.count} ciphertexts; at most "
                f"{MOST_CIPHERTEXTS}"
            )

    @staticmethod
    def of(shape: Sequence[int], slots: int) -> Tiling:
        """The fewest tiles of at most `slots` slots each, with their axes filled up to powers of two:
        of whole last axes, and of about equal parts of the first ones."""
        tile = list(shape)
        for axis, extent in enumerate(shape):
            rest = math.prod(map(filled, shape[axis + 1 :]))
            most = max(1, slots // rest)
            tile[axis] = -(-extent // -(-extent // most))
            if tile[axis] > 1:
                break
        return Tiling(tuple(shape), tuple(tile))

    @cached_property
    def slices(self) -> tuple[tuple[Any, ...], ...]:
        """For each tile the part that it is of an array of shape (..., *shape)."""
        return tuple(
            (
                Ellipsis,
                *(
                    slice(at * own, min(extent, (at + 1) * own))
                    for at, own, extent in zip(place, self.tile, self.shape, strict=True)
                ),
            )
            for place in itertools.product(*map(range, self._counts))
        )

    @cached_property
    def shapes(self) -> tuple[Shape, ...]:
        """The shapes of the tiles."""
        if self.count == 1:
            return (self.shape,)
        return tuple(tuple(each.stop - each.start for each in own[1:]) for own in self.slices)

    @cached_property
    def elements(self) -> tuple[Indices, ...]:
        """For each tile the numbers of its elements in the array."""
        numbers = np.arange(math.prod(self.shape)).reshape(self.shape)
        return tuple(numbers[own].ravel() for own in self.slices)

    @cached_property
    def places(self) -> tuple[Indices, Indices]:
        """For each element of the array the number of its tile, and its number there."""
        tiles, within = (np.zeros(math.prod(self.shape), np.int64) for _ in range(2))
        for at, own in enumerate(self.elements):
            tiles[own] = at
            within[own] = np.arange(len(own))
        return tiles, within

    def cut(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """The tiles of values of shape (..., *shape). MismatchError for another shape."""
        axes_before(values, self.shape)
        if self.count == 1:
            return [values]
        return [values[own] for own in self.slices]

    def joined(self, tiles: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """The array of tiles of shapes (..., *shape of the tile)."""
        if self.count == 1:
            return tiles[0]
        lead = tiles[0].shape[: tiles[0].ndim - len(self.shape)]
        found = np.zeros((*lead, *self.shape), tiles[0].dtype)
        for own, tile in zip(self.slices, tiles, strict=True):
            found[own] = tile
        return found


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
    def whole_arrays(program: TensorProgram, tilings: tuple[Tiling, ...] = ()) -> SplitProgram:
        """The split with a tile of each array."""
        tilings = tilings or tuple([Tiling(node.shape, node.shape) for node in program.nodes])
        return SplitProgram(program, program, tilings, tuple(zip(range(len(tilings)), strict=True)))

    @property
    def alike(self) -> list[tuple[int, ...]]:
        """Tiles of one array, of one shape: they take the same layout."""
        if self.program is self.whole:
            return []
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
        if self.program is self.whole:
            return found
        for array, tiles in enumerate(self.tiles):
            near = (array, *self.whole.nodes[array].operands)
            if any(self.tilings[at].count > 1 for at in near):
                for at in tiles:
                    found[at] = array
        return found


def split(program: TensorProgram, slots: int) -> SplitProgram:
    """The program on tiles of at most `slots` slots. Arrays of one shape are cut alike, so that products and
    functions take tile by tile; a map becomes one for each pair of tiles that it has entries between. Tiles
    that a map takes alike, as a sum does, are added up first.

    Raises:
        ParameterError: for arrays of too many tiles.
    """
    known: dict[Shape, Tiling] = {}
    for node in program.nodes:
        if node.shape not in known:
            known[node.shape] = Tiling.of(node.shape, slots)
    tilings = tuple([known[node.shape] for node in program.nodes])
    if max([each.count for each in known.values()]) == 1:
        return SplitProgram.whole_arrays(program, tilings)
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
