"""Warnings of rounding, and of noise, that change which rows are the nearest, compared with the answers."""

import warnings

import numpy as np
import pytest

import hemera as hm
from hemera.search import Client, Index

from .search_cases import ask

METRICS = ("cosine", "dot", "l2")
DIMS = 6
ROWS = 60


def shares(rows, metric):
    """The share of rows or weights that find another row than the nearest, and whether the index warned."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        index = Index(rows, metric)
    warned = any(issubclass(each.category, hm.errors.PrecisionWarning) for each in caught)
    client = Client(index.settings)
    if metric == "dot":
        found = []
        for queries in (rows[::3], (rows / np.square(rows).mean(axis=0))[::3]):
            expected = rows @ queries.T
            best = expected[np.argmax(ask(index, client, queries)[0], axis=1), np.arange(len(queries))]
            found.append(float(np.mean(best < 0.95 * expected.max(axis=0))))
        return max(found), warned
    scores, _ = ask(index, client, rows[::3])
    wrong = 0
    for number, own in zip(range(0, len(rows), 3), scores, strict=True):
        sizes = rows / np.linalg.norm(rows, axis=1, keepdims=True) if metric == "cosine" else rows
        distances = ((sizes - sizes[number]) ** 2).sum(axis=1)
        distances[number] = np.inf
        found = -own if metric == "cosine" else own
        found[number] = np.inf
        wrong += distances[np.argmin(found)] > 2 * distances.min()
    return wrong / len(scores), warned


@pytest.mark.parametrize("metric", METRICS)
def test_rounding_that_changes_neighbours_is_told(metric):
    random = np.random.default_rng(7)
    told = silent = 0
    for ratio in (1, 3, 30, 1e3, 1e5):
        for kind in range(3):
            rows = random.normal(size=(ROWS, 2 if kind == 2 else 8))
            if kind == 1:
                rows[0] *= ratio  # one long row
            else:
                rows[:, 0] = np.round(rows[:, 0]) * ratio  # of few values
            share, warned = shares(rows, metric)
            assert warned or share < 0.25, (ratio, kind, share)
            assert not warned or share > 0, (ratio, kind, share)
            told, silent = told + warned, silent + (not warned)
    assert told >= 3
    assert silent >= 3


@pytest.mark.parametrize("encrypted", [False, True])
def test_columns_that_weights_can_not_reach_are_told(encrypted):
    """Inner products with weights, as those of a model, which are smaller where columns are larger: the
    index warns where answers are wrong, and the way out that it names mends them."""
    random = np.random.default_rng(11)
    told = silent = 0
    for ratio in (1, 10, 1e3, 1e6):
        sizes = np.array([ratio, 1, 1, 1, 1, 1])
        rows = random.normal(size=(ROWS, DIMS)) * sizes
        weights = random.normal(size=(100, DIMS)) / sizes
        expected = rows @ weights.T
        for scales in (np.ones(DIMS), sizes):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                owner = Client.owning(rows / scales, "dot")
                index = Index(owner.encrypt(rows / scales)) if encrypted else Index(rows / scales, "dot")
            client = owner if encrypted else Client(index.settings)
            scores, ids = ask(index, client, weights * scales, k=1)
            found = np.take_along_axis(expected, ids.T, 0)[0]
            share = np.mean(found < 0.9 * expected.max(axis=0))
            warned = any("weigh columns by their sizes" in str(each.message) for each in caught)
            assert warned or share < 0.15, (ratio, share)
            assert not warned or share > 0.15, (ratio, share)
            assert not warned or scales[0] == 1, "the way out mends nothing"
            assert scales[0] == 1 or np.abs(scores[:, 0] - found).max() < 0.1
            told, silent = told + warned, silent + (not warned)
    assert told >= 1
    assert silent >= 5


def test_embeddings_are_searched_without_a_warning():
    random = np.random.default_rng(8)
    centres = random.normal(size=(20, 64))
    rows = (centres[random.integers(20, size=500)] + random.normal(size=(500, 64)) / 3).astype(np.float32)
    outliers = rows * np.where(np.arange(64) % 30, 1, 20)  # as embeddings of language models have
    sparse = np.maximum(rows, 0) * (random.random(rows.shape) < 0.02)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for metric in METRICS:
            Index(rows, metric)
            Client.owning(rows, metric).encrypt(rows)
        for unlike in (outliers, np.maximum(rows, 0), sparse):
            Index(unlike, "dot")
        Index(rows[:1])
        Index(np.vstack([rows, rows]))


def test_unlike_columns_of_an_encrypted_index_are_told():
    random = np.random.default_rng(25)
    rows = np.c_[random.uniform(0, 1, 200), np.round(random.uniform(0, 1e4, 200), -3)]
    with pytest.warns(hm.errors.PrecisionWarning, match="noise of encryption"):
        Client.owning(rows, "l2").encrypt(rows)
    with pytest.warns(hm.errors.PrecisionWarning, match=r"int8 by one scale, in steps of 78\.7"):
        Index(rows, "l2")
