"""Linear maps as products of small matrices with parts of an array."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.sparse_map import SparseMap

__all__ = ["Blocks", "blocks_of"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Blocks:
    """One matrix for several parts of an array: y[rows[:, k]] = matrix @ x[columns[:, k]]."""

    matrix: Floats
    """Shape (m, n)."""
    rows: Indices
    """Shape (m, count)."""
    columns: Indices
    """Shape (n, count); an element may be in several parts."""

    @property
    def products(self) -> int:
        """Weights times elements that there are of all parts."""
        return self.matrix.size * self.count

    @property
    def count(self) -> int:
        """How many parts there are."""
        return int(self.rows.shape[1])


def blocks_of(own: SparseMap, most: int) -> list[Blocks] | None:
    """A map as at most `most` kinds of blocks, whose rows are all rows of the map. Rows that take the same
    elements are a block, and blocks of equal matrices are one kind: a matrix that is applied to each token
    of a sequence is one kind with a block a token, and a convolution without padding is one with a block a
    position. None where there are more kinds, or rows without an element.
    """
    starts = np.searchsorted(own.rows, np.arange(own.outputs + 1))
    if (np.diff(starts) == 0).any():
        return None
    alike: dict[bytes, list[int]] = {}
    for row, (start, end) in enumerate(itertools.pairwise(starts)):
        alike.setdefault(own.columns[start:end].tobytes(), []).append(row)
    kinds: dict[tuple[int, bytes], list[list[int]]] = {}
    for rows in alike.values():
        values = np.concatenate([own.values[starts[row] : starts[row + 1]] for row in rows])
        kinds.setdefault((len(rows), values.tobytes()), []).append(rows)
        if len(kinds) > most:
            return None
    found = []
    for (height, entries), blocks in kinds.items():
        matrix = np.frombuffer(entries, np.float64).reshape(height, -1)
        columns = [own.columns[starts[rows[0]] : starts[rows[0] + 1]] for rows in blocks]
        found.append(Blocks(matrix, np.array(blocks).T, np.array(columns).T))
    return found
