"""Encrypted search beside NumPy on the same integers."""

import math

import numpy as np
import pytest

import hemera as hm
from hemera.search import Client, Index, Settings
from hemera.search.answers import Scores

from ..refusals import raises
from .search_cases import DEGREE, ask, bytes_of, doubles, floats
from .search_cases import scores_of as scores_of_vectors


def integers(vectors, metric, scale):
    """The database's integers, by NumPy: the oracle's first half."""
    wide = vectors.astype(np.float64)
    if metric == "cosine":
        wide = wide / np.sqrt((wide**2).sum(axis=1, keepdims=True))
    return np.rint(wide * scale)


def scores_of(rows, queries, metric):
    """[query, row]. Rows of cosines have the norm 1 up to their rounding."""
    wide = np.atleast_2d(queries).astype(np.float64)
    if metric == "cosine":
        return scores_of_vectors(rows, wide / np.linalg.norm(wide, axis=1, keepdims=True), "dot")
    return scores_of_vectors(rows, wide, metric)


@pytest.mark.parametrize("metric", ["cosine", "dot", "l2"])
@pytest.mark.parametrize(("rows", "dims"), [(DEGREE + 500, 100), (300, 32)])
def test_scores_and_ranking_are_those_of_numpy(metric, rows, dims):
    vectors, x = floats(rows, dims, 1) * 3, floats(1, dims, 2)[0] * 5
    index = Index(vectors, metric)
    client = Client(index.settings)
    scale = index.settings.program.scale
    database = integers(vectors, metric, scale)
    assert np.abs(database).max() == 127
    expected = scores_of(database / scale, x, metric)[0]
    norm = 1.0 if metric == "cosine" else float(np.linalg.norm(x))
    error = index.expected_error.noise * norm
    found, ids = ask(index, client, x)
    assert found.dtype == np.float64
    assert ids.tolist() == list(range(rows))
    difference = found - expected
    assert np.abs(difference).max() < 8 * error
    # With few rows the noise of a query is a sum of dims numbers: several queries, whose mean is near.
    many = floats(8, dims, 31)
    many *= norm / np.linalg.norm(many, axis=1, keepdims=True)
    differences = ask(index, client, many)[0] - scores_of(database / scale, many, metric)
    measured = math.sqrt(float(np.mean(differences**2)))
    assert abs(math.log2(measured / error)) < 0.3
    # The best by NumPy, where scores differ by more than noise.
    best, named = ask(index, client, x, k=25)
    order = np.argsort(expected if metric == "l2" else -expected, kind="stable")[:25]
    assert named.tolist() == order.tolist()
    assert np.allclose(best, expected[order], atol=16 * error, rtol=0)
    # Noise is far below rounding, which the index tells as well.
    exact = scores_of(integers(vectors, metric, 1e9) / 1e9, x, metric)[0]
    told = index.expected_error.quantization * norm
    if metric != "l2":
        assert abs(math.log2(math.sqrt(float(np.mean((found - exact) ** 2))) / told)) < 0.2
    assert error < told / 100


def test_the_noise_of_a_last_block_with_one_row():
    """Half of a row's noise comes from the other rows of its block; nearly all rows are in the full one."""
    vectors = np.where(bytes_of(DEGREE + 1, 32, 40) < 0, -127, 127).astype(np.int8)
    index = Index(vectors, "dot")
    client = Client(index.settings)
    queries = doubles(32, 32, 41)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    errors = ask(index, client, queries)[0] - queries @ vectors.T.astype(np.float64)
    assert abs(math.log2(np.sqrt(np.mean(errors**2)) / index.expected_error.noise)) < 0.12


@pytest.mark.parametrize("metric", ["dot", "l2"])
@pytest.mark.parametrize(
    ("encrypted", "rows", "dims"), [(False, 8192 + 7, 33), (False, 100, 1), (True, 40, 6)]
)
def test_exact_scores_are_numpys_integers(metric, encrypted, rows, dims):
    vectors = bytes_of(rows, dims, 3)
    vectors[0], vectors[1], vectors[2:-1:5] = -128, 127, 0
    vectors[rows // 2 : rows // 2 * 2] = vectors[: rows // 2]  # rows of one score keep their order
    queries = np.random.default_rng(4).integers(-127, 128, (3, dims))
    queries[0], queries[1] = -127, 127
    client = Client.owning(vectors, metric, exact=True)
    index = Index(client.encrypt(vectors)) if encrypted else Index(vectors, metric, exact=True)
    if not encrypted:
        client = Client(index.settings)
    assert index.expected_error == hm.search.settings.Errors(0.0, 0.0)
    found, ids = ask(index, client, queries)
    assert found.dtype == np.int64
    assert np.array_equal(ids, np.tile(np.arange(rows), (3, 1)))
    wide = vectors.astype(np.int64)
    distances = ((wide[None] - queries[:, None]) ** 2).sum(axis=2)
    expected = queries @ wide.T if metric == "dot" else distances
    assert np.array_equal(found, expected)
    best, named = ask(index, client, queries, k=5)
    for i in range(3):
        order = np.argsort(expected[i] if metric == "l2" else -expected[i], kind="stable")[:5]
        assert named[i].tolist() == order.tolist()
        assert best[i].tolist() == expected[i][order].tolist()


def test_the_largest_exact_scores():
    vectors = np.full((3, 64), -128, np.int8)
    vectors[1] = 127
    vectors[2, ::2] = 5
    index = Index(vectors, "dot", exact=True, query_bound=96_000)
    client = Client(index.settings)
    x = np.full(64, -96_000)
    assert ask(index, client, x)[0].tolist() == (vectors.astype(np.int64) @ x).tolist()
    with pytest.raises(hm.errors.ParameterError, match="no room for 64 numbers"):
        Index(vectors, "dot", exact=True, query_bound=960_000)
    # The longest vectors have room for int8.
    assert Settings(8192, "l2", Scores(True)).program.query_bound == 127


@pytest.mark.parametrize("bound", [127, 128])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int64, np.uint64])
def test_the_largest_query_of_each_type(dtype, bound):
    index = Index(bytes_of(3, 4, 8), "dot", exact=True, query_bound=bound)
    client, limits = Client(index.settings), np.iinfo(dtype)
    for entry in {-bound - 1, -bound, bound, bound + 1, limits.min, limits.max}:
        if not limits.min <= entry <= limits.max:
            continue
        x = np.array([entry, 1, 0, 1], dtype)
        if abs(entry) <= bound:
            expected = index._rows._vectors.astype(np.int64) @ x.astype(np.int64)
            assert ask(index, client, x)[0].tolist() == expected.tolist()
        else:
            raises(hm.errors.RangeError, f"magnitude {abs(int(entry))}, .* up to {bound}", client.query, x)


@pytest.mark.parametrize("dims", [1, 2, 2100])
def test_vectors_of_the_shortest_and_longest(dims):
    vectors = bytes_of(5, dims, 5)
    index = Index(vectors, "dot")
    client = Client(index.settings)
    x = floats(1, dims, 6)[0]
    expected = vectors.astype(np.float64) @ x
    found, _ = ask(index, client, x)
    assert np.abs(found - expected).max() < 10 * index.expected_error.noise * np.linalg.norm(x)


def test_int8_is_taken_as_it_is_and_normalized_for_cosines():
    vectors = bytes_of(50, 8, 7)
    assert Index(vectors, "dot").settings.program.scale == 1
    assert Index(vectors, "dot").expected_error.quantization == 0
    cosines = Index(vectors, "cosine")
    assert cosines.settings.program.scale > 100
    assert cosines.expected_error.quantization > 0
    client = Client(cosines.settings)
    found, _ = ask(cosines, client, vectors[3])
    assert abs(found[3] - 1) < 0.02
    assert found.argmax() == 3
