"""Arrays of more elements than a ciphertext has slots, cut into tiles."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera._process import cached_property
from hemera.arrays.layout import COPY, FREE, Layout, axes_before
from hemera.errors import FormatError, ParameterError

__all__ = ["MOST_CIPHERTEXTS", "TiledLayout", "Tiling"]

Indices = NDArray[np.int64]
Shape = tuple[int, ...]

MOST_CIPHERTEXTS = 1 << 12


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

    def __post_init__(self) -> None:
        if len(self.tile) != len(self.shape) or not all(
            1 <= own <= extent for own, extent in zip(self.tile, self.shape, strict=True)
        ):
            raise ParameterError(f"an array of shape {self.shape} has no tiles of shape {self.tile}")
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
            rest = math.prod(_filled(own) for own in shape[axis + 1 :])
            most = max(1, slots // rest)
            tile[axis] = -(-extent // -(-extent // most))
            if tile[axis] > 1:
                break
        return Tiling(tuple(shape), tuple(tile))

    @property
    def count(self) -> int:
        """How many tiles there are."""
        return math.prod(self._counts)

    @property
    def _counts(self) -> Shape:
        """Tiles along each axis."""
        return tuple(-(-extent // own) for extent, own in zip(self.shape, self.tile, strict=True))

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


def _filled(extent: int) -> int:
    """The power of two to which an axis is filled up."""
    return 1 << (extent - 1).bit_length()


@dataclass(frozen=True)
class TiledLayout:
    """Where the elements of an array lie in the slots of its ciphertexts, one for each tile."""

    tiling: Tiling
    layouts: tuple[Layout, ...]

    def __post_init__(self) -> None:
        if tuple(layout.shape for layout in self.layouts) != self.tiling.shapes:
            raise ParameterError(f"{len(self.layouts)} layouts do not fit the tiles of {self.tiling}")

    @staticmethod
    def whole(layout: Layout) -> TiledLayout:
        """The layout of an array in one ciphertext."""
        return TiledLayout(Tiling(layout.shape, layout.shape), (layout,))

    @property
    def shape(self) -> Shape:
        """The shape of the array."""
        return self.tiling.shape

    @property
    def count(self) -> int:
        """How many ciphertexts there are."""
        return len(self.layouts)

    @property
    def axis(self) -> int:
        """The axis of the samples, where there are several."""
        return 0

    def with_samples(self, count: int) -> TiledLayout:
        """The layout of arrays of shape (count, *shape), with the samples next to each other in the slots.
        `count` is a power of two."""
        if count == 1:
            return self
        own = tuple((0, bit) for bit in range((count - 1).bit_length()))
        layouts = (
            Layout(
                (count, *layout.shape),
                (
                    *own,
                    *(bit if bit in (COPY, FREE) else (bit[0] + 1, bit[1]) for bit in layout.bits),
                ),
            )
            for layout in self.layouts
        )
        tiling = Tiling((count, *self.shape), (count, *self.tiling.tile))
        return TiledLayout(tiling, tuple(layouts))

    def pack(self, values: NDArray[Any], slots: int) -> list[NDArray[Any]]:
        """Slots of values of shape (..., *shape): for each ciphertext an array of shape (..., slots).

        Raises:
            MismatchError, ParameterError: as `Layout.pack`.
        """
        tiles = self.tiling.cut(values)
        return [layout.pack(tile, slots) for layout, tile in zip(self.layouts, tiles, strict=True)]

    def unpack(self, slots: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """The array, of shape (..., *shape), of slots of shape (..., slots) of each ciphertext."""
        tiles = [layout.unpack(own) for layout, own in zip(self.layouts, slots, strict=True)]
        return self.tiling.joined(tiles)

    def to_data(self) -> dict[str, Any]:
        """What JSON takes: of one ciphertext, the layout's own."""
        if self.count == 1:
            return self.layouts[0].to_data()
        layouts = [layout.to_data() for layout in self.layouts]
        return {"shape": list(self.shape), "tile": list(self.tiling.tile), "layouts": layouts}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> TiledLayout:
        """The layout of `to_data`. FormatError for anything else."""
        try:
            if "layouts" not in data:
                return cls.whole(Layout.from_data(data))
            shape, tile = (tuple(int(extent) for extent in data[name]) for name in ("shape", "tile"))
            return cls(Tiling(shape, tile), tuple(Layout.from_data(each) for each in data["layouts"]))
        except (KeyError, TypeError, ValueError, ParameterError) as error:
            raise FormatError(f"not a layout: {error}") from None
