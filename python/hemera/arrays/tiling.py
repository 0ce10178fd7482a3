"""Arrays of more elements than a ciphertext has slots, cut into tiles."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera._process import cached_property
from hemera.errors import MismatchError, ParameterError

__all__ = ["MOST_CIPHERTEXTS", "Tiling", "axes_before", "filled"]

Indices = NDArray[np.int64]
Shape = tuple[int, ...]

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

    def __post_init__(self) -> None:
        pairs = zip(self.tile, self.shape, strict=False)
        if len(self.tile) != len(self.shape) or not all(1 <= own <= extent for own, extent in pairs):
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
            rest = math.prod(map(filled, shape[axis + 1 :]))
            most = max(1, slots // rest)
            tile[axis] = -(-extent // -(-extent // most))
            if tile[axis] > 1:
                break
        return Tiling(tuple(shape), tuple(tile))

    @cached_property
    def count(self) -> int:
        """How many tiles there are."""
        return math.prod(self._counts)

    @cached_property
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
