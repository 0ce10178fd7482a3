"""Scores of rows in doubles."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .search_cases import Metric


def scores_of(rows: NDArray[Any], queries: NDArray[Any], metric: Metric) -> NDArray[Any]:
    """[query, row], by NumPy."""
    queries = np.atleast_2d(queries)
    if metric == "l2":
        return np.stack([((rows - query) ** 2).sum(axis=1) for query in queries])
    if metric == "cosine":
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        queries = queries / np.linalg.norm(queries, axis=1, keepdims=True)
    return np.asarray(queries @ rows.T)
