"""Rows of numbers for searches, and a whole query."""

import numpy as np

DEGREE = 4096


def doubles(rows, dims, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, dims))


def floats(rows, dims, seed=0):
    return doubles(rows, dims, seed).astype(np.float32)


def bytes_of(rows, dims, seed=0):
    return np.random.default_rng(seed).integers(-128, 128, (rows, dims)).astype(np.int8)


def ask(index, client, x, k=None):
    """Scores and ids, by a query's way to the index and back."""
    return client.decrypt(index.query(client.query(x), client.keys), k)


def scores_of(rows, queries, metric):
    """[query, row], by NumPy."""
    queries = np.atleast_2d(queries)
    if metric == "l2":
        return np.stack([((rows - query) ** 2).sum(axis=1) for query in queries])
    if metric == "cosine":
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        queries = queries / np.linalg.norm(queries, axis=1, keepdims=True)
    return np.asarray(queries @ rows.T)
