"""Whether the errors of scores change which rows are the nearest: tried on some rows, as queries."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera._noise_warning import warn_of_precision
from hemera.search.scores.scales import Scales
from hemera.search.settings import Errors
from hemera.search.vectors import normalized

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
