"""Real linear maps between flat arrays, by their non-zero entries."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera._process import cached_property
from hemera.errors import MismatchError, ParameterError

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]
Values = NDArray[Any]
Shape = tuple[int, ...]

_IN_CACHE = 1 << 17
"""Products that are made at a time: those of many samples at once would go through memory."""


@dataclass(frozen=True, eq=False)
class SparseMap:
    """A linear map: y[rows[k]] is the sum of values[k] * x[columns[k]]. Immutable.

    Entries are in the order of their rows, then of their columns; no place has two entries, and none is 0.
    `SparseMap.of` brings entries into this form.
    """

    outputs: int
    """Elements of y."""
    inputs: int
    """Elements of x."""
    rows: Indices
    columns: Indices
    values: Floats

    @classmethod
    def of(
        cls, outputs: int, inputs: int, rows: ArrayLike, columns: ArrayLike, values: ArrayLike
    ) -> SparseMap:
        """The map of entries in any order; those of one place are added.

        Raises:
            ParameterError: for places outside of (outputs, inputs), arrays of different lengths, and values
                that are not finite.
        """
        i, j = np.asarray(rows, np.int64).ravel(), np.asarray(columns, np.int64).ravel()
        v = np.asarray(values, np.float64).ravel()
        if not len(i) == len(j) == len(v):
            raise ParameterError(f"entries of {len(i)} rows, {len(j)} columns and {len(v)} values")
        if len(i) and (min(i.min(), j.min()) < 0 or i.max() >= outputs or j.max() >= inputs):
            raise ParameterError(f"entries outside of a map from {inputs} to {outputs} elements")
        if not np.isfinite(v).all():
            raise ParameterError("the entries of a linear map must be finite")
        key = i * inputs + j
        if not (key[1:] > key[:-1]).all():
            order = np.argsort(key, kind="stable")
            key = key[order]
            first = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))
            v = np.add.reduceat(v[order], first)
            i, j = i[order[first]], j[order[first]]
        if v.all():
            return cls(outputs, inputs, i, j, v.copy())
        kept = v != 0
        return cls(outputs, inputs, i[kept], j[kept], v[kept])

    @classmethod
    def selection(cls, taken: ArrayLike, inputs: int) -> SparseMap:
        """The map to y[k] = x[taken[k]], and 0 where taken[k] is -1."""
        indices = np.asarray(taken, np.int64).ravel()
        rows = np.flatnonzero(indices >= 0)
        return cls.of(len(indices), inputs, rows, indices[rows], np.ones(len(rows)))

    @classmethod
    def scaling(cls, factors: ArrayLike) -> SparseMap:
        """The map to y[k] = factors[k] * x[k]."""
        values = np.asarray(factors, np.float64).ravel()
        places = np.arange(len(values))
        return cls.of(len(values), len(values), places, places, values)

    @classmethod
    def dense(cls, matrix: ArrayLike) -> SparseMap:
        """The map of a matrix of shape (outputs, inputs)."""
        entries = np.asarray(matrix, np.float64)
        rows, columns = np.nonzero(entries)
        outputs, inputs = entries.shape
        return cls.of(outputs, inputs, rows, columns, entries[rows, columns])

    @cached_property
    def entries(self) -> int:
        """How many are not 0."""
        return len(self.values)

    @property
    def weights(self) -> Floats:
        """The values, of which equal ones may be left out."""
        return self.values

    @property
    def size(self) -> int:
        """How many places there are."""
        return self.outputs * self.inputs

    @cached_property
    def digest(self) -> bytes:
        """The same for equal maps."""
        found = hashlib.sha256(f"{self.outputs} {self.inputs}".encode())
        columns = self.columns.astype(np.min_scalar_type(self.inputs))
        for part in (self._row_starts(), columns, self.values):
            found.update(part.tobytes())
        return found.digest()

    @property
    def is_of_each(self) -> bool:
        """Whether each element of y is one of x, with a factor."""
        return self.entries == self.outputs and bool((np.diff(self.rows) == 1).all())

    @cached_property
    def is_selection(self) -> bool:
        """Whether each element of y is one of x or 0."""
        return bool((self.values == 1).all() and (self.rows[1:] > self.rows[:-1]).all())

    @cached_property
    def is_identity(self) -> bool:
        """Whether y is x."""
        is_square = self.entries == self.inputs == self.outputs
        return is_square and self.is_selection and bool((self.rows == self.columns).all())

    @property
    def factors(self) -> Floats | None:
        """The factors of a map to y[k] = factors[k] * x[k]; None for another map."""
        if self.outputs != self.inputs or self.entries > self.inputs or (self.rows != self.columns).any():
            return None
        if self.entries == self.inputs:
            return self.values
        found = np.zeros(self.inputs)
        found[self.rows] = self.values
        return found

    def _row_starts(self) -> Indices:
        """Where each row begins among the entries; one more for the end."""
        return np.searchsorted(self.rows, np.arange(self.outputs + 1))

    def entries_after(self, first: SparseMap) -> int:
        """The most entries that `self @ first` can have."""
        counts = np.diff(first._row_starts())
        return int(counts[self.columns].sum())

    def __matmul__(self, first: SparseMap) -> SparseMap:
        """The map that does `first` and then this one. MismatchError where they do not fit."""
        if self.inputs != first.outputs:
            raise MismatchError(
                f"a map of {self.inputs} elements does not follow one that gives {first.outputs}"
            )
        if (factors := first.factors) is not None:
            values = self.values * factors[self.columns]
            return SparseMap.of(self.outputs, self.inputs, self.rows, self.columns, values)
        if (factors := self.factors) is not None:
            values = factors[first.rows] * first.values
            return SparseMap.of(first.outputs, first.inputs, first.rows, first.columns, values)
        starts = first._row_starts()
        counts = np.diff(starts)[self.columns]
        own = np.repeat(np.arange(self.entries), counts)
        within = np.arange(len(own)) - np.repeat(np.cumsum(counts) - counts, counts)
        other = starts[self.columns[own]] + within
        return SparseMap.of(
            self.outputs,
            first.inputs,
            self.rows[own],
            first.columns[other],
            self.values[own] * first.values[other],
        )

    def __add__(self, other: SparseMap) -> SparseMap:
        """The map to the sum of both results. MismatchError for other shapes."""
        if (self.outputs, self.inputs) != (other.outputs, other.inputs):
            raise MismatchError("maps of different shapes have no sum")
        rows, columns = np.append(self.rows, other.rows), np.append(self.columns, other.columns)
        return SparseMap.of(self.outputs, self.inputs, rows, columns, np.append(self.values, other.values))

    @cached_property
    def _pieces(self) -> list[tuple[slice, Indices]]:
        """Entries of whole rows, as many as stay in the cache, and where their rows begin among them."""
        starts = np.flatnonzero(np.diff(self.rows, prepend=-1))
        cuts = np.searchsorted(starts, np.arange(0, self.entries, _IN_CACHE)).tolist()
        ends = [*starts.tolist(), self.entries]
        return [
            (slice(ends[begin], ends[end]), starts[begin:end] - ends[begin])
            for begin, end in itertools.pairwise(sorted({*cuts, len(starts)}))
        ]

    def apply(self, x: NDArray[Any]) -> NDArray[Any]:
        """y of values of shape (..., inputs): an array of shape (..., outputs)."""
        given = x.reshape(-1, self.inputs)
        found = np.zeros((len(given), self.outputs), np.result_type(x, np.float64))
        for own, first in self._pieces:
            columns, values, rows = self.columns[own], self.values[own], self.rows[own][first]
            together = max(1, _IN_CACHE // len(values))
            for at in range(0, len(given), together):
                products = given[at : at + together].take(columns, axis=1) * values
                found[at : at + together, rows] = np.add.reduceat(products, first, axis=-1)
        return found.reshape(*x.shape[:-1], self.outputs)

    def bounds(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """The least and the largest each y can be, where low <= x <= high (interval arithmetic)."""
        grows, least, most = self.values > 0, low[self.columns], high[self.columns]
        lowest = np.bincount(self.rows, self.values * np.where(grows, least, most), self.outputs)
        highest = np.bincount(self.rows, self.values * np.where(grows, most, least), self.outputs)
        return lowest.astype(np.float64), highest.astype(np.float64)


_MOST_ENTRIES = 1 << 26


class RepeatedMap(SparseMap):
    """The map `one` along the middle of three axes, of extents `before`, that of `one`, and `after`. Its
    entries are listed where something asks for them; those of a layer for a large batch are too many.

    Raises:
        ParameterError: from `rows`, `columns` and `values`, for more than 2^26 entries.
    """

    def __init__(self, before: int, one: SparseMap, after: int) -> None:
        # The base is frozen, and its lists of entries are made below.
        outputs, inputs = before * one.outputs * after, before * one.inputs * after
        vars(self).update(outputs=outputs, inputs=inputs, before=before, one=one, after=after)

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
        before, entry, after = np.ogrid[: self.before, : self.one.entries, : self.after]
        rows, columns = (
            (before * extent + own[entry]) * self.after + after
            for own, extent in ((self.one.rows, self.one.outputs), (self.one.columns, self.one.inputs))
        )
        values = np.broadcast_to(self.one.values[entry], rows.shape)
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


def scaling_of(own: SparseMap) -> float | None:
    """The factor of a map that scales all elements by it, which may be 0; None of others."""
    factors = own.factors
    return None if factors is None or (factors != factors[0]).any() else float(factors[0])
