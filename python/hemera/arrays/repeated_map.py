"""Linear maps that do the same with each of many parts of an array, kept as one of them."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera._process import cached_property
from hemera.arrays.sparse_map import SparseMap
from hemera.errors import ParameterError

__all__ = ["RepeatedMap"]

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]

_MOST_ENTRIES = 1 << 26


class RepeatedMap(SparseMap):
    """The map `one` along the middle of three axes, of extents `before`, that of `one`, and `after`. Its
    entries are listed where something asks for them; those of a layer for a large batch are too many.

    Raises:
        ParameterError: from `rows`, `columns` and `values`, for more than 2^26 entries.
    """

    def __init__(self, before: int, one: SparseMap, after: int) -> None:
        # The base is frozen, and its lists of entries are made below.
        object.__setattr__(self, "outputs", before * one.outputs * after)
        object.__setattr__(self, "inputs", before * one.inputs * after)
        object.__setattr__(self, "before", before)
        object.__setattr__(self, "one", one)
        object.__setattr__(self, "after", after)

    before: int
    one: SparseMap
    after: int

    @cached_property
    def _listed(self) -> SparseMap:
        if self.entries > _MOST_ENTRIES:
            raise ParameterError(
                f"a linear map of {self.entries} entries, of which at most {_MOST_ENTRIES} are listed: "
                "compile the function of one sample, with samples=, or give fewer at a time"
            )
        before = np.arange(self.before)[:, np.newaxis, np.newaxis]
        after = np.arange(self.after)

        def places(own: Indices, extent: int) -> Indices:
            found = (before * extent + own[:, np.newaxis]) * self.after + after
            return found.ravel()

        values = np.broadcast_to(
            self.one.values[:, np.newaxis], (self.before, self.one.entries, self.after)
        ).ravel()
        rows, columns = places(self.one.rows, self.one.outputs), places(self.one.columns, self.one.inputs)
        return SparseMap.of(self.outputs, self.inputs, rows, columns, values)

    @property
    def rows(self) -> Indices:
        return self._listed.rows

    @property
    def columns(self) -> Indices:
        return self._listed.columns

    @property
    def values(self) -> Floats:
        return self._listed.values

    @property
    def weights(self) -> Floats:
        return self.one.values

    @property
    def entries(self) -> int:
        return self.before * self.one.entries * self.after

    @cached_property
    def digest(self) -> bytes:
        return hashlib.sha256(f"{self.before} {self.after}".encode() + self.one.digest).digest()

    @property
    def is_selection(self) -> bool:
        return self.one.is_selection

    @property
    def is_identity(self) -> bool:
        return self.one.is_identity

    def _row_starts(self) -> Indices:
        counts = np.diff(self.one._row_starts())[:, np.newaxis]
        whole = np.broadcast_to(counts, (self.before, self.one.outputs, self.after))
        return np.concatenate(([0], np.cumsum(whole)))

    def joins(self, first: SparseMap) -> bool:
        """Whether both are maps of the same parts, so that their product is one, too."""
        return isinstance(first, RepeatedMap) and (self.before, self.after) == (first.before, first.after)

    def __matmul__(self, first: SparseMap) -> SparseMap:
        if isinstance(first, RepeatedMap) and self.joins(first):
            return RepeatedMap(self.before, self.one @ first.one, self.after)
        return self if first.is_identity else super().__matmul__(first)

    def of_each(self, count: int, source: tuple[int, int], target: tuple[int, int]) -> SparseMap | None:
        """The map of one sample; None where the parts are not parts of samples.

        Args:
            count: of samples.
            source, target: how many elements there are for each index before the axis of samples, and after
                it, of x and of y.
        """
        if source[0] == target[0] and self.before % (source[0] * count) == 0:
            return _plain(self.before // count, self.one, self.after)
        if source[1] == target[1] and self.after % (count * source[1]) == 0:
            return _plain(self.before, self.one, self.after // count)
        return None

    @cached_property
    def _dense(self) -> Floats:
        found = np.zeros((self.one.outputs, self.one.inputs))
        found[self.one.rows, self.one.columns] = self.one.values
        return found

    def _mapped(self, matrix: Floats, x: NDArray[Any]) -> NDArray[Any]:
        """The map of a matrix in place of the own one."""
        own = x.reshape(*x.shape[:-1], self.before, self.one.inputs, self.after)
        found: NDArray[Any] = np.moveaxis(np.tensordot(matrix, own, axes=(1, -2)), 0, -2)
        return found.reshape(*x.shape[:-1], self.outputs)

    def apply(self, x: NDArray[Any]) -> NDArray[Any]:
        return self._mapped(self._dense, x)

    def bounds(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        parts = [x.reshape(self.before, self.one.inputs, self.after) for x in (low, high)]
        if all((part == part[:1, :, :1]).all() for part in parts):
            shape = (self.before, self.one.outputs, self.after)
            ends = self.one.bounds(*(part[0, :, 0] for part in parts))
            least, most = (np.broadcast_to(own[:, np.newaxis], shape).ravel() for own in ends)
            return least, most
        up, down = np.maximum(self._dense, 0), np.minimum(self._dense, 0)
        least = self._mapped(up, low) + self._mapped(down, high)
        return least, self._mapped(up, high) + self._mapped(down, low)


def _plain(before: int, one: SparseMap, after: int) -> SparseMap:
    """The map, listed where it is not repeated."""
    return one if before == after == 1 else RepeatedMap(before, one, after)
