"""Vectors as integers: those of the database in int8, those of queries at the scale of a message."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera.errors import MismatchError, ParameterError, RangeError
from hemera.search.settings import Settings

_ROWS_AT_ONCE = 1 << 14


def as_vectors(vectors: ArrayLike, what: str) -> NDArray[Any]:
    """Vectors as an array [rows, dims] of int8 or float64. TypeError for other numbers, MismatchError for
    other shapes, RangeError for numbers that are not finite."""
    given = np.asarray(vectors)
    if given.ndim != 2 or given.shape[1] == 0:
        raise MismatchError(f"{what} are an array [rows, dims], not one of shape {given.shape}")
    if given.dtype == np.int8:
        return given
    if given.dtype.kind != "f":
        raise TypeError(
            f"{what} are float32, float64 or int8, not {given.dtype}; give vectors.astype(np.float32)"
        )
    if not np.isfinite(given).all():
        raise RangeError(f"{what} have numbers that are not finite")
    return given


def normalized(vectors: NDArray[Any]) -> NDArray[np.float64]:
    """Rows divided by their norms. ParameterError for a row of zeros."""
    rows = np.asarray(vectors, np.float64)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    if not norms.all():
        raise ParameterError(
            f"row {int(np.argmin(norms))} is zero, and has no cosine with anything; leave it out, or take "
            "metric='dot'"
        )
    return np.asarray(rows / norms)


def largest_entry(vectors: NDArray[Any], settings_metric: str) -> float:
    """The largest magnitude that `quantized` meets."""
    largest = 0.0
    for rows in _parts(vectors):
        part = normalized(rows) if settings_metric == "cosine" else rows
        largest = max(largest, float(np.abs(part).max(initial=0)))
    return largest


def quantized(vectors: NDArray[Any], settings: Settings) -> NDArray[np.int8]:
    """The integers of vectors [rows, dims] by the settings' scale: the nearest ones.

    RangeError if one does not fit int8. MismatchError for vectors of another length. TypeError for floats
    where scores are exact.
    """
    if vectors.shape[1] != settings.dims:
        raise MismatchError(f"the index has vectors of {settings.dims} numbers, not of {vectors.shape[1]}")
    if vectors.dtype == np.int8 and settings.metric != "cosine" and settings.scale == 1:
        return np.ascontiguousarray(vectors)
    if settings.exact:
        raise TypeError(f"exact scores are of vectors in int8, not in {vectors.dtype}")
    result = np.empty(vectors.shape, np.int8)
    for first, rows in zip(range(0, len(vectors), _ROWS_AT_ONCE), _parts(vectors), strict=True):
        part = normalized(rows) if settings.metric == "cosine" else np.asarray(rows, np.float64)
        integers = np.rint(part * settings.scale)
        if np.abs(integers).max(initial=0) > 127:
            raise RangeError(
                f"a vector has an entry of {float(np.abs(part).max()):.4g}, and the index takes up to "
                f"{127.5 / settings.scale:.4g}; make it with largest= of all vectors to come"
            )
        result[first : first + len(rows)] = integers
    return result


def squares(rows: NDArray[np.int8]) -> NDArray[np.uint32]:
    """The squared norms of rows of integers."""
    result = np.empty(len(rows), np.uint32)
    for first, part in zip(range(0, len(rows), _ROWS_AT_ONCE), _parts(rows), strict=True):
        wide = part.astype(np.int32)
        result[first : first + len(part)] = np.einsum("ij,ij->i", wide, wide)
    return result


def _parts(vectors: NDArray[Any]) -> list[NDArray[Any]]:
    return [vectors[first : first + _ROWS_AT_ONCE] for first in range(0, len(vectors), _ROWS_AT_ONCE)]


def message(queries: NDArray[Any], settings: Settings) -> tuple[NDArray[np.int64], int]:
    """The integers [query, dims] that are encrypted, and the power of two that they are multiplied by.

    MismatchError for queries of another length. TypeError for floats, and RangeError for integers above
    query_bound, where scores are exact. RangeError for numbers that are not finite, ParameterError for a
    query of zeros where the metric is "cosine".
    """
    if queries.ndim != 2 or queries.shape[1] != settings.dims or len(queries) == 0:
        raise MismatchError(
            f"a query has {settings.dims} numbers, several are [queries, {settings.dims}]; the shape is "
            f"{queries.shape}"
        )
    if settings.exact:
        if queries.dtype.kind not in "iu":
            raise TypeError(f"with exact scores queries are integers, not {queries.dtype}")
        largest = max(-int(queries.min()), int(queries.max()))
        if largest > settings.query_bound:
            raise RangeError(
                f"the query has an integer of magnitude {largest}, and the index takes up to "
                f"{settings.query_bound}; make it with query_bound={largest}"
            )
        return queries.astype(np.int64), int(settings.query_scale).bit_length() - 1
    if queries.dtype.kind not in "fiu":
        raise TypeError(f"a query has numbers, not {queries.dtype}")
    wide = queries.astype(np.float64)
    if not np.isfinite(wide).all():
        raise RangeError("the query has numbers that are not finite")
    norms = np.linalg.norm(wide, axis=1, keepdims=True)
    if settings.metric == "cosine" and not norms.all():
        raise ParameterError("a query of zeros has no cosine with anything")
    return np.rint(wide / np.where(norms == 0, 1, norms) * settings.query_scale).astype(np.int64), 0
