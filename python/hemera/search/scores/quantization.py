"""Vectors as integers: those of the database in int8, those of queries at the scale of a message."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.errors import MismatchError, RangeError
from hemera.search.scores.scales import Scales
from hemera.search.vectors import normalized, require_dims, unit_queries

_ROWS_AT_ONCE = 1 << 14
_SQUARE_BITS = 20
"""After the binary point, of the squared norms that are encrypted."""


def largest_entry(vectors: NDArray[Any], metric: str) -> float:
    """The largest magnitude that `quantized` meets."""
    parts = (normalized(rows) if metric == "cosine" else rows for rows in _parts(vectors))
    return max((float(np.abs(part).max(initial=0)) for part in parts), default=0.0)


def quantized(vectors: NDArray[Any], scales: Scales) -> NDArray[Any]:
    """The integers of vectors [rows, dims] by the index's scale, the nearest ones: int8; to encrypt, int64
    and times `row_scale`.

    RangeError if one does not fit int8. MismatchError for vectors of another length. TypeError for floats
    where scores are exact.
    """
    require_dims(vectors, scales.dims)
    if vectors.dtype == np.int8 and scales.metric != "cosine" and scales.scale == 1:
        if scales.owner:
            return vectors.astype(np.int64) * int(scales.row_scale)
        return np.ascontiguousarray(vectors)
    if scales.exact:
        raise TypeError(f"exact scores are of vectors in int8, not in {vectors.dtype}")
    row_scale = scales.row_scale
    kind, largest = (np.int64 if scales.owner else np.int8), 127.5 * row_scale - 0.5
    found = [np.empty((0, scales.dims), kind)]
    for rows in _parts(vectors):
        part = normalized(rows) if scales.metric == "cosine" else np.asarray(rows, np.float64)
        integers = np.rint(part * (scales.scale * row_scale))
        if np.abs(integers).max(initial=0) > largest:
            raise RangeError(
                f"a vector has an entry of {float(np.abs(part).max()):.4g}, and the index takes up to "
                f"{127.5 / scales.scale:.4g}; make it with largest= of all vectors to come"
            )
        found.append(integers.astype(kind))
    return np.concatenate(found)


def encrypted_squares(vectors: NDArray[Any], scales: Scales) -> tuple[NDArray[np.int64], int]:
    """The squared norms [row, 1] of vectors before they are rounded, as integers and the power of two that
    they are multiplied by: in all 2^`square_shift`."""
    wide = np.asarray(vectors, np.float64) * scales.scale
    fraction = min(scales.square_shift, _SQUARE_BITS)
    values = np.rint(np.ldexp(np.einsum("ij,ij->i", wide, wide), fraction))
    return values.astype(np.int64)[:, None], scales.square_shift - fraction


def squares(rows: NDArray[np.int8]) -> NDArray[np.uint32]:
    """The squared norms of rows of integers."""
    wide = (part.astype(np.int32) for part in _parts(rows))
    of_parts = [np.einsum("ij,ij->i", part, part).astype(np.uint32) for part in wide]
    return np.concatenate([np.empty(0, np.uint32), *of_parts])


def _parts(vectors: NDArray[Any]) -> list[NDArray[Any]]:
    return [vectors[first : first + _ROWS_AT_ONCE] for first in range(0, len(vectors), _ROWS_AT_ONCE)]


def message(queries: NDArray[Any], scales: Scales) -> tuple[NDArray[np.int64], int, NDArray[Any]]:
    """The integers [query, dims] that are encrypted, the power of two that they are multiplied by, and the
    norms [query] of the queries; where scores are exact the squares of these.

    MismatchError for queries of another length. TypeError for floats, and RangeError for integers above
    query_bound, where scores are exact. Else as `unit_queries`.
    """
    if queries.ndim != 2 or queries.shape[1] != scales.dims or len(queries) == 0:
        raise MismatchError(
            f"a query has {scales.dims} numbers, several are [queries, {scales.dims}]; the shape is "
            f"{queries.shape}"
        )
    if not scales.exact:
        norms, near = unit_queries(queries, scales.settings, scales.row_bound / scales.scale)
        return np.rint(near * scales.query_scale).astype(np.int64), 0, norms
    if queries.dtype.kind not in "iu":
        raise TypeError(f"with exact scores queries are integers, not {queries.dtype}")
    largest = max(-int(queries.min()), int(queries.max()))
    if largest > scales.query_bound:
        raise RangeError(
            f"the query has an integer of magnitude {largest}, and the index takes up to "
            f"{scales.query_bound}; make it with query_bound={largest}"
        )
    integers = queries.astype(np.int64)
    return integers, int(scales.query_scale).bit_length() - 1, np.einsum("ij,ij->i", integers, integers)
