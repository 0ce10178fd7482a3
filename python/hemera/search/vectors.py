"""Vectors and queries as users give them, and as integers: those of the database in int8, those of queries at
the scale of a message."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera._noise_warning import warn_of_precision
from hemera.errors import MismatchError, ParameterError, RangeError
from hemera.inputs.plain import plain_array
from hemera.search.scores.scales import Scales
from hemera.search.settings import Errors, Settings, require_scores

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


def require_dims(vectors: NDArray[Any], dims: int) -> None:
    """MismatchError unless vectors [rows, dims] have these dims."""
    if vectors.shape[1] != dims:
        raise MismatchError(f"the index has vectors of {dims} numbers, not of {vectors.shape[1]}")


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


def unit_queries(
    queries: NDArray[Any], settings: Settings, row_norm: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Norms [query] of queries [query, dims], and the queries divided by them. TypeError for other than real
    numbers, RangeError for numbers that are not finite, or whose scores with rows of this norm are not;
    ParameterError for a query of zeros where the metric is "cosine"."""
    if queries.dtype.kind not in "fiu":
        raise TypeError(f"a query has numbers, not {queries.dtype}")
    wide = queries.astype(np.float64)
    if not np.isfinite(wide).all():
        raise RangeError("the query has numbers that are not finite")
    norms, near = norms_of(wide)
    if settings.metric == "cosine" and not norms.all():
        raise ParameterError("a query of zeros has no cosine with anything")
    for norm in norms.tolist():
        require_scores(settings.metric, row_norm, norm)
    return norms, near


# --- Integers. ---


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


# --- Whether errors of scores change which rows are the nearest: tried on some rows, as queries. ---

_ROWS, _QUERIES = 1024, 32
_FARTHER = 1.5
"""Squared distances, over that of the nearest row, from which on another row is a wrong neighbour."""
_SMALLER = 0.95
"""Inner products, over the largest one, below which another row is a wrong neighbour."""
_SHARE = 0.1
"""The share of queries with a wrong neighbour above which there is a warning."""


def warn_of_wrong_neighbours(
    vectors: NDArray[Any], integers: NDArray[Any], scales: Scales, error: Errors
) -> None:
    """Give a PrecisionWarning where rounding, or noise, changes which rows are the nearest.

    Args:
        vectors: [rows, dims], as an index is given them.
        integers: the same as an index has them.
        error: of the index's scores.
    """
    if len(vectors) == 0 or error == Errors(0.0, 0.0):
        return
    count, wrong, wrong_weights = _tried(vectors, integers, scales, error.noise)
    if max(wrong, wrong_weights) <= _SHARE * count:  # a few scores may be nearly equal
        return
    if scales.owner:
        reason = "the noise of encryption is larger than differences of scores"
        way = "exact=True with integers"
    else:
        reason = f"vectors are rounded to int8 by one scale, in steps of {1 / scales.scale:.3g}"
        way = "encrypted rows, which are rounded less"
    if scales.metric == "dot":
        way = f"divide columns by their sizes and multiply queries by these (no score changes), or take {way}"
    else:
        way = f"bring columns and rows to like sizes, or take {way}"
    if wrong > _SHARE * count:
        tried = f"of {count} rows, tried as queries, {wrong}"
    else:
        tried = f"of {count} queries that weigh columns by their sizes, {wrong_weights}"
    warn_of_precision(f"{tried} find one that is not the nearest, as {reason}: {way}")


def _tried(
    vectors: NDArray[Any], integers: NDArray[Any], scales: Scales, noise: float
) -> tuple[int, int, int]:
    """Up to 32 of up to 1,024 rows as queries: their number, how many find a row that is far from being the
    nearest, and of inner products the same of weights: rows, each column divided by its mean square."""
    chosen = np.unique(np.linspace(0, len(vectors) - 1, min(len(vectors), _ROWS)).astype(np.intp))
    rows = np.asarray(vectors[chosen], np.float64)
    if scales.metric == "cosine":
        rows = normalized(rows)
    unit = float(np.abs(rows).max(initial=0)) or 1.0
    rows = rows / unit
    known = integers[chosen] / (scales.scale * scales.row_scale * unit)
    random = np.random.default_rng(0)
    numbers = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), _QUERIES)).astype(np.intp))

    def is_wrong(number: int, query: NDArray[np.float64]) -> bool:
        """Whether the query finds a wrong neighbour; for distances, another row than itself."""
        error = random.normal(size=len(rows)) * noise * np.linalg.norm(query) / unit
        if scales.metric == "dot":
            products = rows @ query
            return bool(products[np.argmax(known @ query + error)] < _SMALLER * products.max())
        distances = ((rows - query) ** 2).sum(axis=1)
        found = ((known - query) ** 2).sum(axis=1) if scales.metric == "l2" else -(known @ query)
        found = found + error
        distances[number] = found[number] = np.inf
        return len(rows) > 1 and bool(distances[np.argmin(found)] > _FARTHER * distances.min())

    wrong = sum(is_wrong(number, rows[number]) for number in numbers.tolist())
    if scales.metric != "dot":
        return len(numbers), wrong, 0
    # Queries that weigh columns by their sizes, as coefficients of a model do.
    sizes = np.sqrt(np.mean(rows**2, axis=0))
    smallest = sizes.min(where=sizes > 0, initial=1)
    sizes[sizes == 0] = 1
    weights = rows / sizes * (smallest / sizes)
    return len(numbers), wrong, sum(is_wrong(number, weights[number]) for number in numbers.tolist())
