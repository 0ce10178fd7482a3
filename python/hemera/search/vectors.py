"""Vectors, queries and payloads as users give them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera.errors import MismatchError, ParameterError, RangeError
from hemera.inputs.plain import plain_array
from hemera.search.settings import Settings, require_scores


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
