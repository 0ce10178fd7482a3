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

__all__ = ["SparseMap"]

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]

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

    @property
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

    @property
    def is_selection(self) -> bool:
        """Whether each element of y is one of x or 0."""
        return bool((self.values == 1).all() and (self.rows[1:] > self.rows[:-1]).all())

    @property
    def is_identity(self) -> bool:
        """Whether y is x."""
        return self.entries == self.inputs and self.is_selection and self.factors is not None

    @property
    def factors(self) -> Floats | None:
        """The factors of a map to y[k] = factors[k] * x[k]; None for another map."""
        if self.outputs != self.inputs or self.entries > self.inputs or (self.rows != self.columns).any():
            return None
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
        joined = (
            np.concatenate(pair)
            for pair in (
                (self.rows, other.rows),
                (self.columns, other.columns),
                (self.values, other.values),
            )
        )
        return SparseMap.of(self.outputs, self.inputs, *joined)

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
