"""Rows of numbers for searches, and a whole query."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hemera.search import Client, Index

Metric = Literal["cosine", "dot", "l2"]
DEGREE = 4096


def doubles(rows: int, dims: int, seed: int = 0) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(size=(rows, dims))


def floats(rows: int, dims: int, seed: int = 0) -> NDArray[np.float32]:
    return doubles(rows, dims, seed).astype(np.float32)


def bytes_of(rows: int, dims: int, seed: int = 0) -> NDArray[np.int8]:
    return np.random.default_rng(seed).integers(-128, 128, (rows, dims)).astype(np.int8)


def ask(index: Index, client: Client, x: Any, k: int | None = None) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Scores and ids, by a query's way to the index and back."""
    return client.decrypt(index.query(client.query(x), client.keys), k)


def scores_of(rows: NDArray[Any], queries: NDArray[Any], metric: Metric) -> NDArray[Any]:
    """[query, row], by NumPy."""
    queries = np.atleast_2d(queries)
    if metric == "l2":
        return np.stack([((rows - query) ** 2).sum(axis=1) for query in queries])
    if metric == "cosine":
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        queries = queries / np.linalg.norm(queries, axis=1, keepdims=True)
    return np.asarray(queries @ rows.T)
