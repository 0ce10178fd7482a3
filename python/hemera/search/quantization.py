"""Vectors as integers: those of the database in int8, those of queries at the scale of a message."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera.errors import MismatchError, ParameterError, RangeError
from hemera.inputs.plain import plain_array
from hemera.search.any_settings import Metric, require_scores
from hemera.search.settings import LARGEST_ENTRY, Settings

_ROWS_AT_ONCE = 1 << 14
_SQUARE_BITS = 20
"""After the binary point, of the squared norms that are encrypted."""


def as_vectors(vectors: ArrayLike, what: str) -> NDArray[Any]:
    """Vectors as an array [rows, dims] of int8 or float64. TypeError for other numbers, MismatchError for
    other shapes, RangeError for numbers that are not finite."""
    given = plain_array(vectors, what)
    if given.dtype.kind == "f" and given.dtype.itemsize > 8:
        with np.errstate(over="ignore"):  # infinite, which is refused
            given = given.astype(np.float64)
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


def norms_of(vectors: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Norms [rows], and vectors divided by them; rows of zeros stay. Squares of numbers around 1e200 and
    1e-200 are no doubles: rows are brought to numbers below 1 by powers of two, which rounds nothing."""
    rows = np.asarray(vectors, np.float64)
    exponents = np.frexp(np.abs(rows).max(axis=1, initial=0))[1]
    near = np.ldexp(rows, -exponents[:, None])
    norms = np.linalg.norm(near, axis=1)
    with np.errstate(over="ignore"):  # infinite: `require_scores` refuses it
        found = np.ldexp(norms, exponents)
    return found, near / np.where(norms == 0, 1, norms)[:, None]


def normalized(vectors: NDArray[Any]) -> NDArray[np.float64]:
    """Rows divided by their norms. ParameterError for a row of zeros."""
    norms, rows = norms_of(vectors)
    if not norms.all():
        raise ParameterError(
            f"row {int(np.argmin(norms))} is zero, and has no cosine with anything; leave it out, or take "
            "metric='dot'"
        )
    return rows


def largest_entry(vectors: NDArray[Any], settings_metric: str) -> float:
    """The largest magnitude that `quantized` meets."""
    largest = 0.0
    for rows in _parts(vectors):
        part = normalized(rows) if settings_metric == "cosine" else rows
        largest = max(largest, float(np.abs(part).max(initial=0)))
    return largest


def settings_of(
    vectors: NDArray[Any],
    metric: Metric,
    exact: bool,
    largest: float | None,
    query_bound: int,
    owner: str = "",
) -> Settings:
    """The settings of an index that begins with these vectors.

    ParameterError for an argument out of its range, and as for `Settings`.
    """
    dims = vectors.shape[1]
    is_kept = vectors.dtype == np.int8 and metric != "cosine"
    if exact or is_kept:
        if largest is not None:
            raise ParameterError("largest= is for vectors that are rounded; int8 is taken as it is")
        return Settings(dims, metric, exact, 1.0, query_bound=query_bound, owner=owner)
    Settings(dims, metric)  # before the vectors are looked at
    found = largest_entry(vectors, metric)
    top = found if largest is None else float(largest)
    if not (found <= top < np.inf):
        raise ParameterError(f"largest is {largest}, and the vectors have an entry of {found:.6g}")
    if top == 0:
        raise ParameterError("all vectors are zero, which gives no scale; give largest=")
    scale = 127 / top
    # A normalized vector times the scale, and half a unit of rounding for each entry.
    bound = scale + np.sqrt(dims) / 2 if metric == "cosine" else np.inf
    row_bound = float(min(bound, LARGEST_ENTRY * np.sqrt(dims)))
    return Settings(dims, metric, False, scale, row_bound, query_bound, owner)


def quantized(vectors: NDArray[Any], settings: Settings) -> NDArray[Any]:
    """The integers of vectors [rows, dims] by the settings' scale, the nearest ones: int8; to encrypt, int64
    and times `settings.row_scale`.

    RangeError if one does not fit int8. MismatchError for vectors of another length. TypeError for floats
    where scores are exact.
    """
    if vectors.shape[1] != settings.dims:
        raise MismatchError(f"the index has vectors of {settings.dims} numbers, not of {vectors.shape[1]}")
    if vectors.dtype == np.int8 and settings.metric != "cosine" and settings.scale == 1:
        if settings.owner:
            return vectors.astype(np.int64) * int(settings.row_scale)
        return np.ascontiguousarray(vectors)
    if settings.exact:
        raise TypeError(f"exact scores are of vectors in int8, not in {vectors.dtype}")
    result = np.empty(vectors.shape, np.int64 if settings.owner else np.int8)
    largest = 127.5 * settings.row_scale - 0.5
    for first, rows in zip(range(0, len(vectors), _ROWS_AT_ONCE), _parts(vectors), strict=True):
        part = normalized(rows) if settings.metric == "cosine" else np.asarray(rows, np.float64)
        integers = np.rint(part * (settings.scale * settings.row_scale))
        if np.abs(integers).max(initial=0) > largest:
            raise RangeError(
                f"a vector has an entry of {float(np.abs(part).max()):.4g}, and the index takes up to "
                f"{127.5 / settings.scale:.4g}; make it with largest= of all vectors to come"
            )
        result[first : first + len(rows)] = integers
    return result


def encrypted_squares(vectors: NDArray[Any], settings: Settings) -> tuple[NDArray[np.int64], int]:
    """The squared norms [row, 1] of vectors before they are rounded, as integers and the power of two that
    they are multiplied by: in all 2^`settings.square_shift`."""
    wide = np.asarray(vectors, np.float64) * settings.scale
    fraction = min(settings.square_shift, _SQUARE_BITS)
    values = np.rint(np.ldexp(np.einsum("ij,ij->i", wide, wide), fraction))
    return values.astype(np.int64)[:, None], settings.square_shift - fraction


def squares(rows: NDArray[np.int8]) -> NDArray[np.uint32]:
    """The squared norms of rows of integers."""
    result = np.empty(len(rows), np.uint32)
    for first, part in zip(range(0, len(rows), _ROWS_AT_ONCE), _parts(rows), strict=True):
        wide = part.astype(np.int32)
        result[first : first + len(part)] = np.einsum("ij,ij->i", wide, wide)
    return result


def _parts(vectors: NDArray[Any]) -> list[NDArray[Any]]:
    return [vectors[first : first + _ROWS_AT_ONCE] for first in range(0, len(vectors), _ROWS_AT_ONCE)]


def message(queries: NDArray[Any], settings: Settings) -> tuple[NDArray[np.int64], int, NDArray[Any]]:
    """The integers [query, dims] that are encrypted, the power of two that they are multiplied by, and the
    norms [query] of the queries; where scores are exact the squares of these.

    MismatchError for queries of another length. TypeError for floats, and RangeError for integers above
    query_bound, where scores are exact. RangeError for numbers that are not finite, or whose scores are
    not; ParameterError for a query of zeros where the metric is "cosine".
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
        integers = queries.astype(np.int64)
        return integers, int(settings.query_scale).bit_length() - 1, np.einsum("ij,ij->i", integers, integers)
    if queries.dtype.kind not in "fiu":
        raise TypeError(f"a query has numbers, not {queries.dtype}")
    wide = queries.astype(np.float64)
    if not np.isfinite(wide).all():
        raise RangeError("the query has numbers that are not finite")
    norms, near = norms_of(wide)
    if settings.metric == "cosine" and not norms.all():
        raise ParameterError("a query of zeros has no cosine with anything")
    for norm in norms.tolist():
        require_scores(settings.metric, settings.row_bound / settings.scale, norm)
    return np.rint(near * settings.query_scale).astype(np.int64), 0, norms
