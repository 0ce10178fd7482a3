"""Search in encrypted databases beside NumPy on the same vectors."""

import math

import numpy as np
import pytest

import hemera as hm
from hemera.search import Client, Index, Settings
from hemera.search.answers import Scores

from ..refusals import raises
from .search_cases import DEGREE, ask, doubles, scores_of


@pytest.mark.parametrize("metric", ["cosine", "dot", "l2"])
@pytest.mark.parametrize(("rows", "dims"), [(DEGREE + 500, 50), (300, 128)])
def test_scores_and_ranking_are_those_of_numpy(metric, rows, dims):
    vectors, many = doubles(rows, dims, 1) * 3, doubles(5, dims, 2)
    vectors *= np.linalg.norm(vectors[0]) / np.linalg.norm(vectors, axis=1, keepdims=True)  # of one norm
    many *= 7 / np.linalg.norm(many, axis=1, keepdims=True)
    norm = 1.0 if metric == "cosine" else 7.0
    owner = Client.owning(vectors, metric)
    index = Index(owner.encrypt(vectors))
    expected = scores_of(vectors, many, metric)
    found, ids = ask(index, owner, many)
    assert found.dtype == np.float64
    assert np.array_equal(ids, np.tile(np.arange(rows), (5, 1)))
    told = index.expected_error
    assert told.quantization < told.noise / 2
    measured = math.sqrt(float(np.mean((found - expected) ** 2)))
    if metric == "cosine":
        assert abs(math.log2(measured / math.hypot(told.noise, told.quantization))) < 0.3
    assert measured < 1.3 * told.noise * norm
    # The noise of the rows weighs as much as that of the query: with rows of the largest norm.
    assert np.abs(found - expected).max() < 8 * told.noise * norm
    best, named = ask(index, owner, many[0], k=10)
    order = np.argsort(expected[0] if metric == "l2" else -expected[0], kind="stable")[:10]
    assert set(named.tolist()[:5]) <= set(order.tolist())
    assert np.allclose(best, expected[0][named], atol=8 * told.noise * norm, rtol=0)
    # In the clear: the same scores without a key.
    clear, ids = owner.decrypt(index.query(many))
    assert ids.shape == clear.shape == (5, rows)
    assert np.abs(clear - expected).max() < 8 * told.noise * norm
    one, named = owner.decrypt(index.query(many[3]), k=4)
    order = np.argsort(expected[3] if metric == "l2" else -expected[3], kind="stable")[:4]
    assert one.shape == (4,)
    assert np.allclose(one, expected[3][named], atol=8 * told.noise * norm, rtol=0)
    assert len(set(named.tolist()) & set(order.tolist())) >= 3
    axis = np.eye(dims)[3]  # one number has all of the norm
    expected = scores_of(vectors, axis, metric)
    assert np.abs(owner.decrypt(index.query(axis))[0] - expected).max() < 8 * told.noise


def test_floats_are_finer_than_int8():
    vectors, x = doubles(500, 64, 3), doubles(1, 64, 4)[0]
    owner, clear = Client.owning(vectors), Index(vectors)
    client = Client(clear.settings)
    expected = scores_of(vectors, x, "cosine")[0]
    encrypted, _ = ask(Index(owner.encrypt(vectors)), owner, x)
    quantized, _ = client.decrypt(clear.query(client.query(x), client.keys))
    deviations = [float(np.std(found - expected)) for found in (encrypted, quantized)]
    assert deviations[0] < deviations[1] / 4


def test_the_largest_exact_scores():
    vectors = np.full((3, 200), -128, np.int8)
    vectors[1] = 127
    vectors[2, ::2] = 5
    owner = Client.owning(vectors, "l2", exact=True, query_bound=3000)
    index = Index(owner.encrypt(vectors))
    x = np.full(200, -3000)
    expected = scores_of(vectors.astype(np.int64), x, "l2")[0]
    assert ask(index, owner, x)[0].tolist() == expected.tolist()
    assert owner.decrypt(index.query(x))[0].tolist() == expected.tolist()
    raises(hm.errors.RangeError, "query_bound=3001", index.query, x - 1)
    with pytest.raises(hm.errors.ParameterError, match="no room for 200 numbers"):
        Client.owning(vectors, "dot", exact=True, query_bound=1 << 24)
    vectors = np.ascontiguousarray(vectors[:, :20])
    wide = Client.owning(vectors, "dot", exact=True, query_bound=100_000)
    index = Index(wide.encrypt(vectors))
    x = np.full(20, 32_768)
    assert ask(index, wide, x)[0].tolist() == (vectors.astype(np.int64) @ x).tolist()
    raises(hm.errors.RangeError, "32768, and those in the clear", index.query, x)
    assert Settings(8192, "l2", Scores(True), "0" * 32).program.query_scale > 1
