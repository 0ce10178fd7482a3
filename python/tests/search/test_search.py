"""Encrypted search beside NumPy on the same integers."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

import hemera as hm
from hemera import _core
from hemera.errors import FormatError, ParameterError
from hemera.search import Client, Index, Settings, wire
from hemera.search.client import ANSWER_FIELDS
from hemera.search.requests import name_of

Metric = Literal["cosine", "dot", "l2"]
DEGREE = 4096


def floats(rows: int, dims: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).normal(size=(rows, dims)).astype(np.float32)


def bytes_of(rows: int, dims: int, seed: int = 0) -> NDArray[np.int8]:
    return np.random.default_rng(seed).integers(-128, 128, (rows, dims)).astype(np.int8)


def integers(vectors: NDArray[Any], metric: Metric, scale: float) -> NDArray[np.float64]:
    """The database's integers, by NumPy: the oracle's first half."""
    wide = vectors.astype(np.float64)
    if metric == "cosine":
        wide = wide / np.sqrt((wide**2).sum(axis=1, keepdims=True))
    return np.rint(wide * scale)


def scores_of(rows: NDArray[np.float64], queries: NDArray[Any], metric: Metric) -> NDArray[np.float64]:
    """[query, row]."""
    wide = np.atleast_2d(queries).astype(np.float64)
    if metric == "cosine":
        wide = wide / np.sqrt((wide**2).sum(axis=1, keepdims=True))
    if metric == "l2":
        return np.stack([((rows - query) ** 2).sum(axis=1) for query in wide])
    return np.asarray(wide @ rows.T)


def ask(index: Index, client: Client, x: Any, k: int | None = None) -> tuple[NDArray[Any], NDArray[np.int64]]:
    return client.decrypt(index.query(client.query(x), client.keys), k)


@pytest.mark.parametrize("metric", ["cosine", "dot", "l2"])
@pytest.mark.parametrize(("rows", "dims"), [(DEGREE + 500, 100), (300, 32)])
def test_scores_and_ranking_are_those_of_numpy(metric: Metric, rows: int, dims: int) -> None:
    vectors, x = floats(rows, dims, 1) * 3, floats(1, dims, 2)[0] * 5
    index = Index(vectors, metric)
    client = Client(index.settings)
    scale = index.settings.scale
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
    # Of few rows the noise of a query is a sum of dims numbers: several queries, whose mean is near.
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


@pytest.mark.parametrize("metric", ["dot", "l2"])
@pytest.mark.parametrize(("rows", "dims"), [(8192 + 7, 33), (100, 1), (20, 300)])
def test_exact_scores_are_numpys_integers(metric: Metric, rows: int, dims: int) -> None:
    vectors = bytes_of(rows, dims, 3)
    vectors[0], vectors[1] = -128, 127
    queries = np.random.default_rng(4).integers(-127, 128, (3, dims))
    queries[0], queries[1] = -127, 127
    index = Index(vectors, metric, exact=True)
    client = Client(index.settings)
    assert index.expected_error == hm.search.Errors(0.0, 0.0)
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


def test_the_largest_exact_scores() -> None:
    vectors = np.full((3, 2048), -128, np.int8)
    vectors[1] = 127
    vectors[2, ::2] = 5
    index = Index(vectors, "dot", exact=True, query_bound=3000)
    client = Client(index.settings)
    x = np.full(2048, -3000)
    assert ask(index, client, x)[0].tolist() == (vectors.astype(np.int64) @ x).tolist()
    with pytest.raises(hm.errors.ParameterError, match="no room for 2048 numbers"):
        Index(vectors, "dot", exact=True, query_bound=30_000)
    # The longest vectors have room for int8.
    assert Settings(8192, "l2", exact=True, query_bound=127).query_bound == 127


@pytest.mark.parametrize("dims", [1, 2, 2100])
def test_vectors_of_the_shortest_and_longest(dims: int) -> None:
    vectors = bytes_of(5, dims, 5)
    index = Index(vectors, "dot")
    client = Client(index.settings)
    x = floats(1, dims, 6)[0]
    expected = vectors.astype(np.float64) @ x
    found, _ = ask(index, client, x)
    assert np.abs(found - expected).max() < 10 * index.expected_error.noise * np.linalg.norm(x)


def test_int8_is_taken_as_it_is_and_normalized_for_cosines() -> None:
    vectors = bytes_of(50, 8, 7)
    assert Index(vectors, "dot").settings.scale == 1
    assert Index(vectors, "dot").expected_error.quantization == 0
    cosines = Index(vectors, "cosine")
    assert cosines.settings.scale > 100
    assert cosines.expected_error.quantization > 0
    client = Client(cosines.settings)
    found, _ = ask(cosines, client, vectors[3])
    assert abs(found[3] - 1) < 0.02
    assert found.argmax() == 3


def test_several_queries_at_once_are_those_of_one() -> None:
    vectors = floats(900, 40, 8)
    index = Index(vectors)
    client = Client(index.settings)
    queries = floats(3, 40, 9)
    together, _ = ask(index, client, queries)
    assert together.shape == (3, 900)
    for i in range(3):
        alone, _ = ask(index, client, queries[i])
        assert np.abs(together[i] - alone).max() < 16 * index.expected_error.noise
    many, ids = ask(index, client, queries[:1], k=2000)
    assert many.shape == ids.shape == (1, 900)


def test_equal_scores_come_in_the_order_of_rows() -> None:
    vectors = np.ones((10, 4), np.int8)
    vectors[4] = 9
    index = Index(vectors, "dot", exact=True, ids=np.arange(10)[::-1] * 7)
    client = Client(index.settings)
    scores, ids = ask(index, client, [1, 1, 1, 1], k=4)
    assert scores.tolist() == [36, 4, 4, 4]
    assert ids.tolist() == [35, 63, 56, 49]


def test_rows_are_added_and_removed() -> None:
    vectors = bytes_of(DEGREE + 10, 6, 10)
    index = Index(vectors[: DEGREE - 5], "dot", ids=np.arange(DEGREE - 5) + 1000)
    client = Client(index.settings)
    known = dict(zip((np.arange(DEGREE - 5) + 1000).tolist(), vectors[: DEGREE - 5], strict=True))

    def check() -> None:
        x = floats(1, 6, len(known))[0]
        scores, ids = ask(index, client, x)
        assert len(index) == len(ids) == len(known)
        assert np.array_equal(ids, index.ids)
        assert set(ids.tolist()) == set(known)
        expected = np.array([known[i].astype(np.float64) @ x for i in ids.tolist()])
        assert np.abs(scores - expected).max() < 10 * index.expected_error.noise * np.linalg.norm(x)

    check()
    version = index.version
    added = index.add(vectors[DEGREE - 5 :])  # over the end of the block
    assert added.tolist() == list(range(DEGREE + 995, DEGREE + 1010))
    assert index.version == version + 1
    known.update(zip(added.tolist(), vectors[DEGREE - 5 :], strict=True))
    check()
    index.remove([1000, DEGREE + 1009, 1500])  # the first, the last, one between
    for gone in (1000, DEGREE + 1009, 1500):
        del known[gone]
    check()
    first = list(known)[:20]
    index.remove(first)  # the second block is left empty
    for gone in first:
        del known[gone]
    assert index.memory_bytes == DEGREE * (6 * 8 + 16)  # bytes of rows in whole multiples of 16
    check()
    index.add(vectors[:1], ids=[5])
    known[5] = vectors[0]
    check()
    assert index.add(vectors[:1])[0] == DEGREE + 1010  # removed ids do not come again by themselves
    index.remove(index.ids)
    assert len(index) == 0
    with pytest.raises(hm.errors.MismatchError, match="no row"):
        index.query(client.query(np.ones(6)), client.keys)
    known.clear()
    index.add(vectors[:3], ids=[7, 8, 9])
    known.update(zip((7, 8, 9), vectors[:3], strict=True))
    check()


def test_removed_rows_leave_nothing_in_answers() -> None:
    """Also not in the coefficients that clients do not look at: bit for bit as if they had not been there."""
    vectors = bytes_of(DEGREE + 8, 3, 23)
    index = Index(vectors, "dot", ids=np.arange(DEGREE + 8) + 5)
    client = Client(index.settings)
    query = client.query(np.ones(3))
    for gone in ([DEGREE + 12], [7, 9], list(range(DEGREE, DEGREE + 5))):
        index.remove(gone)
        left = Index(vectors[index.ids - 5], "dot", ids=index.ids)
        bodies = []
        for each in (index, left):
            _, body = wire.unpack("answer", each.query(query, client.keys), ANSWER_FIELDS)
            bodies.append(bytes(body))
        assert bodies[0] == bodies[1]


def test_answers_name_their_ids_only_where_they_must() -> None:
    vectors = bytes_of(150, 4, 11)
    index = Index(vectors, "dot")
    client = Client(index.settings)
    short = index.query(client.query(np.ones(4)), client.keys)
    index.remove([149])
    assert len(index.query(client.query(np.ones(4)), client.keys)) == len(short)
    index.remove([0])
    named = index.query(client.query(np.ones(4)), client.keys)
    assert abs(len(named) - len(short) - 148 * 8) < 10
    assert client.decrypt(named, 1)[1].shape == (1,)
    # A row whose id is its place, after others.
    swapped = Index(vectors[:2], "dot", ids=[1, 0])
    swapped.add(10 * np.ones((1, 4), np.int8))
    other = Client(swapped.settings)
    answer = swapped.query(other.query(np.ones(4)), other.keys)
    assert other.decrypt(answer)[1].tolist() == [1, 0, 2]


def test_files(tmp_path: Any) -> None:
    vectors = floats(120, 10, 12)
    index = Index(vectors, "l2", ids=np.arange(120) * 3)
    index.remove([30])
    index.save(tmp_path / "index")
    again = Index.load(tmp_path / "index")
    assert again.settings == index.settings
    assert np.array_equal(again.ids, index.ids)
    assert again.version == index.version == 2
    client = Client(bytes(index.settings))
    query = client.query(vectors[4])
    answer = again.query(query, client.keys)
    assert answer == index.query(query, client.keys)  # bit for bit
    assert client.decrypt(answer, 1)[1].tolist() == [12]
    assert again.add(vectors[:1]).tolist() == [358]
    assert (tmp_path / "index").stat().st_size < 120 * 18 + 600
    # A client that comes back with its key.
    client.secret_key.save(tmp_path / "key")
    back = Client(index.settings, tmp_path / "key")
    again_query = back.query(vectors[5])
    assert back.decrypt(index.query(again_query, client.keys), 1)[1].tolist() == [15]


def test_keys_serve_many_queries_of_their_client_alone() -> None:
    vectors = floats(64, 16, 13)
    index = Index(vectors)
    first, second = Client(index.settings), Client(index.settings)
    loaded = {client: index.load_keys(client.keys) for client in (first, second)}
    for row in (3, 40):
        for client in (first, second):
            answer = index.query(client.query(vectors[row]), loaded[client])
            assert client.decrypt(answer, 1)[1].tolist() == [row]
    query = first.query(vectors[3])
    scores, _ = first.decrypt(index.query(query, loaded[second]))
    assert np.abs(scores).max() > 10 * index.expected_error.noise * 1e3  # not even near: no cosines


def test_the_server_sees_other_numbers_for_the_same_query() -> None:
    index = Index(floats(10, 16, 14))
    client = Client(index.settings)
    x = floats(1, 16, 15)[0]
    first, second = client.query(x), client.query(x)
    assert len(first) == len(second) < 16 * 6 + 32 + 250
    body = 16 * 6 + 32
    a, b = (np.frombuffer(q[-32 - body : -32], np.uint8) for q in (first, second))
    assert (a == b).mean() < 0.1


def test_sizes_on_the_wire() -> None:
    index = Index(bytes_of(2 * DEGREE, 128, 16), "dot")
    client = Client(index.settings)
    query = client.query(np.ones((2, 128)))
    assert 2 * 128 * 6 < len(query) < 2 * 128 * 6 + 300
    answer = index.query(query, client.keys)
    assert 2 * 2 * DEGREE * 8 < len(answer) < 2 * 2 * DEGREE * 8 + 400
    assert len(client.keys) < 650_000
    assert index.memory_bytes == 2 * DEGREE * 128 * 9
    assert index.settings.params.security == ">=128"


def test_settings_travel() -> None:
    settings = Index(floats(10, 16, 17), "dot").settings
    assert Settings.load(bytes(settings)) == settings
    for wrong in ({"metric": "l1"}, {"dims": 0}, {"scale": 0.0}, {"row_bound": 1e9}, {"query_bound": 0}):
        fields = {**settings.to_fields(), **wrong}
        with pytest.raises(hm.errors.ParameterError):
            Settings(**fields)
        with pytest.raises(hm.errors.FormatError):
            Settings.from_fields(fields)
    with pytest.raises(hm.errors.FormatError):
        Settings.from_fields({**settings.to_fields(), "dims": 16.0})
    with pytest.raises(hm.errors.FormatError):
        Settings.from_fields({})
    with pytest.raises(hm.errors.ParameterError, match="no integers"):
        Settings(4, "cosine", exact=True)
    with pytest.raises(hm.errors.ParameterError, match="scale must be 1"):
        Settings(4, "dot", exact=True, scale=2.0)


def test_vectors_that_do_not_fit_are_refused() -> None:
    errors = hm.errors
    with pytest.raises(errors.ParameterError, match="1 to 4096 numbers"):
        Index(np.ones((1, 4097), np.int8), "dot")
    with pytest.raises(errors.ParameterError, match="1 to 8192 numbers"):
        Index(np.ones((1, 8193), np.int8), "dot", exact=True)
    with pytest.raises(errors.MismatchError):
        Index(np.ones(4, np.float32))
    with pytest.raises(errors.MismatchError, match="one vector"):
        Index(np.ones((0, 4), np.float32))
    with pytest.raises(TypeError, match="int64"):
        Index(np.ones((2, 4), np.int64))
    with pytest.raises(errors.RangeError, match="finite"):
        Index(np.array([[1.0, np.inf]]))
    with pytest.raises(errors.ParameterError, match="row 1 is zero"):
        Index(np.array([[1.0, 2.0], [0.0, 0.0]]))
    with pytest.raises(errors.ParameterError, match="no scale"):
        Index(np.zeros((2, 4)), "dot")
    with pytest.raises(TypeError, match="exact scores"):
        Index(np.ones((2, 4)), "dot", exact=True)
    with pytest.raises(errors.ParameterError, match="metric must be"):
        Index(np.ones((2, 4)), "l1")  # type: ignore[arg-type]
    with pytest.raises(errors.ParameterError, match="largest is"):
        Index(np.ones((2, 4)), "dot", largest=0.5)
    with pytest.raises(errors.ParameterError, match="largest= is"):
        Index(np.ones((2, 4), np.int8), "dot", largest=200)
    with pytest.raises(errors.ParameterError, match="given twice"):
        Index(np.ones((2, 4)), ids=[1, 1])
    with pytest.raises(errors.MismatchError, match="3 ids"):
        Index(np.ones((2, 4)), ids=[1, 2, 3])
    with pytest.raises(TypeError, match="ids"):
        Index(np.ones((2, 4)), ids=[0.5, 1.0])
    with pytest.raises(errors.ParameterError, match="from 0"):
        Index(np.ones((2, 4)), ids=[-1, 1])
    full = Index(np.ones((1, 4)), ids=[2**62 - 1])
    with pytest.raises(errors.ParameterError, match="no ids above"):
        full.add(np.ones((1, 4)))
    assert full.add(np.ones((1, 4)), ids=[3]).tolist() == [3]
    index = Index(np.ones((2, 4)), "dot", ids=[4, 6], largest=2)
    with pytest.raises(errors.RangeError, match="largest="):
        index.add(np.full((1, 4), 2.01))
    with pytest.raises(errors.MismatchError, match="4 numbers"):
        index.add(np.ones((1, 5)))
    with pytest.raises(errors.ParameterError, match="row 6 already"):
        index.add(np.ones((1, 4)), ids=[6])
    with pytest.raises(errors.ParameterError, match="no row 5"):
        index.remove([4, 5])
    with pytest.raises(errors.ParameterError, match="twice"):
        index.remove([4, 4])
    assert index.ids.tolist() == [4, 6]
    assert index.version == 1
    index.add(np.full((1, 4), -2.0))
    assert index.ids.tolist() == [4, 6, 7]


def test_queries_that_do_not_fit_are_refused() -> None:
    errors = hm.errors
    index = Index(floats(5, 4, 18))
    client = Client(index.settings)
    with pytest.raises(errors.MismatchError, match="4 numbers"):
        client.query(np.ones(5))
    with pytest.raises(errors.MismatchError):
        client.query(np.ones((0, 4)))
    with pytest.raises(errors.ParameterError, match="zeros"):
        client.query(np.zeros(4))
    with pytest.raises(errors.RangeError, match="finite"):
        client.query([1, 2, np.nan, 4])
    with pytest.raises(TypeError):
        client.query(["a", "b", "c", "d"])
    exact = Client(Index(bytes_of(5, 4), "dot", exact=True).settings)
    with pytest.raises(errors.RangeError, match="query_bound=128"):
        exact.query([1, 2, 3, -128])
    with pytest.raises(TypeError, match="integers"):
        exact.query([1.0, 2, 3, 4])
    other = Index(floats(5, 4, 19))
    with pytest.raises(errors.MismatchError, match="other settings"):
        other.query(client.query(np.ones(4)), client.keys)
    with pytest.raises(errors.MismatchError):
        index.query(client.query(np.ones(4)), other.load_keys(client.keys))
    with pytest.raises(errors.MismatchError):
        index.query(client.query(np.ones(4)), exact.keys)
    context = hm.Context(index.settings.params)
    some = context.generate_keys(context.generate_secret_key(), public_key=False, relinearization=False)
    with pytest.raises(errors.MissingKeyError, match="4097"):
        index.query(client.query(np.ones(4)), bytes(some))
    with pytest.raises(TypeError, match="keys"):
        index.query(client.query(np.ones(4)), "keys")  # type: ignore[arg-type]
    # A zero has an inner product.
    dot = Index(bytes_of(5, 4), "dot")
    client = Client(dot.settings)
    assert np.abs(ask(dot, client, np.zeros(4))[0]).max() < 10 * dot.expected_error.noise


def test_damaged_messages_are_refused() -> None:
    errors = hm.errors
    index = Index(floats(5, 4, 20))
    client = Client(index.settings)
    query = client.query(np.ones(4))
    for damaged in (
        query[:-1],
        query[:50],
        b"",
        b"x" * 100,
        query[:-40] + bytes([query[-40] ^ 1]) + query[-39:],
    ):
        with pytest.raises(errors.FormatError):
            index.query(damaged, client.keys)
    answer = index.query(query, client.keys)
    with pytest.raises(errors.FormatError, match="'answer'"):
        index.query(answer, client.keys)
    with pytest.raises(errors.FormatError):
        client.decrypt(answer[:-50] + answer[-49:])
    with pytest.raises(errors.ParameterError, match="k must be"):
        client.decrypt(answer, 0)
    with pytest.raises(errors.MismatchError, match="no query"):
        Client(index.settings).decrypt(answer)
    with pytest.raises(errors.MismatchError, match="other settings"):
        Client(Index(floats(5, 4, 21)).settings).decrypt(answer)
    client.decrypt(answer)
    with pytest.raises(errors.MismatchError, match="no query"):
        client.decrypt(answer)  # each once
    with pytest.raises(errors.FormatError):
        Index.load(query)
    with pytest.raises(errors.FileError):
        Index.load("/no/such/file")


def test_messages_that_lie_are_refused() -> None:
    """Checksums are right, contents are not."""
    errors = hm.errors
    index = Index(floats(5, 4, 22))
    client = Client(index.settings)
    header = {"settings": index.settings.digest, "count": 1}
    right = bytes(32 + 4 * 6)
    index.query(wire.pack("query", header, right), client.keys)
    for changed, body in [
        ({**header, "count": 0}, right),
        ({**header, "count": 2}, right),
        ({**header, "count": True}, right),
        ({**header, "more": 1}, right),
        ({"count": 1}, right),
        (header, right + b"\0"),
        (header, right[:-6] + b"\xff" * 6),  # no residue
    ]:
        with pytest.raises(errors.FormatError):
            index.query(wire.pack("query", changed, body), client.keys)
    newer = wire.pack("query", header, right).replace(b'"version":1', b'"version":2')
    newer = newer[:-32] + hashlib.sha256(newer[:-32]).digest()
    with pytest.raises(errors.FormatError, match="newer Hemera"):
        index.query(newer, client.keys)
    name = client.query(np.ones(4))
    answer = {**header, "query": name_of(name), "index_version": 1, "rows": 5, "has_ids": False}
    half = bytes(4096 * 4)
    for changed, parts in [
        (answer, (half, half + b"\0", b"", b"")),
        (answer, (half[:-4], half + bytes(4), b"", b"")),
        (answer, (half + half, b"", b"", b"")),
        (answer, (half, half, b"")),
        ({**answer, "rows": 0}, (b"", b"", b"", b"")),
        ({**answer, "count": 2}, (half + half, half + half, b"", b"")),
    ]:
        with pytest.raises(errors.FormatError):
            client.decrypt(wire.pack("answer", changed, *parts))
    older = wire.pack("answer", answer, half, half, b"", b"").replace(b'"version":2', b'"version":1')
    with pytest.raises(errors.FormatError, match=r"version 1 of the format, and this reads 2.*older Hemera"):
        client.decrypt(older)
    settings = index.settings.to_fields()
    body = np.arange(2).astype("<i8").tobytes() + bytes(8)
    fields = {"settings": settings, "rows": 2, "index_version": 1, "next_id": 2}
    assert len(Index.load(wire.pack("index", fields, body))) == 2
    for wrong in ({"rows": 3}, {"next_id": 1}, {"next_id": 2**62 + 1}, {"settings": {}}):
        changed = {**fields, **wrong}
        with pytest.raises(errors.FormatError):
            Index.load(wire.pack("index", changed, body))
    with pytest.raises(errors.FormatError):
        Index.load(wire.pack("index", fields, bytes(24)))  # one id twice


@pytest.mark.parametrize("exact", [False, True])
def test_prepared_queries_have_the_bits_of_others(exact: bool) -> None:
    vectors = bytes_of(9000, 20, 24)
    index = Index(vectors, "dot", exact=exact)
    client = Client(index.settings)
    message = client.prepare(3)
    assert 3 * 32 < len(message) < 3 * 32 + 250
    tickets = index.prepare(message, client.keys)
    assert client.prepared == len(tickets) == 3
    # b for the device, the message for the host.
    each = 2 * 8192 * (2 * 8 + 2 * 5) if exact else 3 * 4096 * (8 + 2 * 4)
    assert tickets.memory_bytes == 3 * each == 3 * index.ticket_bytes
    rng = np.random.default_rng(25)
    for left in (2, 1):
        x = rng.integers(-127, 128, 20)
        query = client.query(x, prepared=True)
        answer = index.query(query, tickets)
        assert client.prepared == len(tickets) == left
        assert answer == index.query(query, client.keys)
        scores, _ = client.decrypt(answer)
        expected = vectors.astype(np.int64) @ x
        if exact:
            assert np.array_equal(scores, expected)
        else:
            bound = 10 * index.expected_error.noise * float(np.linalg.norm(x))
            assert np.abs(scores - expected).max() < bound
        with pytest.raises(hm.errors.MismatchError, match="serves once"):
            index.query(query, tickets)
        assert len(tickets) == left


def test_tickets_are_refused_for_what_they_were_not_made_for() -> None:
    errors = hm.errors
    index = Index(floats(30, 8, 26))
    client, other = Client(index.settings), Client(index.settings)
    keys = index.load_keys(client.keys)
    tickets = index.prepare(client.prepare(2), keys)
    x = floats(1, 8, 27)[0]
    with pytest.raises(errors.MismatchError, match="no ticket"):
        index.query(client.query(x), tickets)
    other.prepare(1)
    with pytest.raises(errors.MismatchError, match="no ticket"):
        index.query(other.query(x, prepared=True), tickets)
    with pytest.raises(errors.ParameterError, match="no prepared query"):
        other.query(x, prepared=True)
    with pytest.raises(errors.ParameterError, match="is one, not 2"):
        client.query([x, x], prepared=True)
    for count in (0, 100_001):
        with pytest.raises(errors.ParameterError, match="100000"):
            client.prepare(count)
    assert client.prepared == len(tickets) == 2
    # Another version of the index: keys do, and tickets stay as they are.
    index.add(x[None])
    query = client.query(x, prepared=True)
    with pytest.raises(errors.MismatchError, match="version 1 of the index, which is at 2"):
        index.query(query, tickets)
    assert len(tickets) == 2
    assert client.decrypt(index.query(query, keys), 1)[1].tolist() == [30]
    # Messages.
    message = client.prepare(1)
    with pytest.raises(errors.MismatchError, match="other settings"):
        Index(floats(30, 8, 28)).prepare(message, client.keys)
    header = {"settings": index.settings.digest, "count": 1}
    for changed, body in [
        (header, bytes(31)),
        ({**header, "count": 0}, b""),
        ({**header, "count": 2}, bytes(32)),
    ]:
        with pytest.raises(errors.FormatError):
            index.prepare(wire.pack("preparation", changed, body), keys)
    with pytest.raises(TypeError):
        index.prepare(message, tickets)  # type: ignore[arg-type]
    index.remove(index.ids)
    with pytest.raises(errors.MismatchError, match="no row"):
        index.prepare(message, keys)


def test_prepared_queries_have_seeds_of_their_own() -> None:
    index = Index(floats(4, 8, 29))
    client = Client(index.settings)
    _, body = wire.unpack("preparation", client.prepare(20), {"settings": str, "count": int})
    seeds = {bytes(body[at : at + 32]) for at in range(0, len(body), 32)}
    assert len(seeds) == 20
    x = floats(1, 8, 30)[0]
    queries = [client.query(x, prepared=True) for _ in range(20)]
    assert {bytes(q[-32 - 48 - 32 : -32 - 48]) for q in queries} == seeds
    assert len({q[-80:-32] for q in queries}) == 20


def test_files_and_messages_of_version_1() -> None:
    """Those that were written once load for ever: a query under a key that is kept has its scores still."""
    folder = Path(__file__).parents[3] / "tests" / "vectors" / "search"
    wanted = json.loads((folder / "values.json").read_text())
    index = Index.load(folder / "index.hemera-index")
    assert index.ids.tolist() == wanted["ids"]
    assert index._vectors.tolist() == wanted["rows"]
    assert index.version == 2
    again = (folder / "settings.hemera").read_bytes()
    assert bytes(index.settings) == again
    client = Client(again, folder / "secret-key.hemera")
    query = (folder / "query.hemera").read_bytes()
    client._asked[name_of(query)] = client._asked[name_of(client.query(wanted["query"]))]
    scores, ids = client.decrypt(index.query(query, client.keys))
    assert scores.tolist() == wanted["scores"]
    assert ids.tolist() == wanted["ids"]


def test_prepared_answers_have_ids_and_norms() -> None:
    """Parts of a ticket that no query changes; each ticket has a message of its own."""
    vectors = bytes_of(5000, 12, 31)
    ids = np.random.default_rng(32).permutation(10**6)[:5000]
    index = Index(vectors, "l2", ids=ids, exact=True)
    client = Client(index.settings)
    tickets = index.prepare(client.prepare(2), client.keys)
    assert tickets.memory_bytes == 2 * (8192 * (2 * 8 + 2 * 5) + 5000 * 12)
    queries = [client.query(vectors[row], prepared=True) for row in (7, 4999)]
    answers = [index.query(query, tickets) for query in reversed(queries)]
    for row, query, answer in zip((7, 4999), queries, reversed(answers), strict=True):
        assert answer == index.query(query, client.keys)
        scores, named = client.decrypt(answer, k=1)
        assert (scores.tolist(), named.tolist()) == ([0], [ids[row]])


def pieces_digest(*parts: bytes) -> bytes:
    """SHA-256 of that of each 64 KiB of each part."""
    pieces = [part[at : at + 2**16] for part in parts for at in range(0, len(part), 2**16)]
    return hashlib.sha256(b"".join(hashlib.sha256(piece).digest() for piece in pieces)).digest()


@pytest.mark.parametrize(
    "sizes",
    [
        (0,),
        (1,),
        (2**16 - 1, 1),
        (2**16, 5),
        (2**16 + 1, 0, 9),
        (3 * 2**16 + 7, 2**17 - 1, 3),
        (5 * 2**20, 8),
    ],
)
def test_digests_of_answers_are_those_of_the_digests_of_their_pieces(sizes: tuple[int, ...]) -> None:
    parts = [np.random.default_rng(i).bytes(size) for i, size in enumerate(sizes)]
    data = b"".join(parts)
    assert _core.digest_of_pieces(np.frombuffer(data, np.uint8), list(sizes)) == pieces_digest(*parts)
    answer = wire.pack("answer", {"a": 1}, *parts)
    head = answer[: -32 - len(data)]
    assert answer == head + data + pieces_digest(head, *parts)
    assert json.loads(head[24:]) == {"version": 2, "kind": "answer", "a": 1, "parts": list(sizes)}
    header, body = wire.unpack("answer", answer, {"a": int, "parts": list})
    assert (header, body) == ({"a": 1, "parts": list(sizes)}, data)
    with pytest.raises(FormatError, match="longer"):
        _core.digest_of_pieces(np.frombuffer(data, np.uint8), [len(data), 1])


def test_every_damaged_byte_of_an_answer_is_found() -> None:
    index = Index(floats(9, 4, 33), "l2", ids=range(1, 10))
    client = Client(index.settings)
    tickets = index.prepare(client.prepare(1), client.keys)
    x = floats(1, 4, 34)[0]
    for answer in (
        index.query(client.query(x), client.keys),
        index.query(client.query(x, prepared=True), tickets),
    ):
        parts = len(answer) - 2 * 16384 - 9 * 12 - 32
        ends = (parts, parts + 16384, parts + 32768, parts + 32768 + 72, parts + 32768 + 108)
        places = {*range(parts), *ends, *(end - 1 for end in ends), *range(parts, len(answer), 997)}
        for at in places:
            damaged = bytearray(answer)
            damaged[at] ^= 1 << at % 8
            with pytest.raises(FormatError):
                client.decrypt(bytes(damaged))
        client.decrypt(answer)


def test_parts_that_do_not_fit_an_answer_are_refused() -> None:
    right = wire.pack("answer", {}, b"abc", b"de")
    for parts in (b"[4,2]", b"[3,]]"):
        with pytest.raises(FormatError):
            wire.unpack("answer", right.replace(b"[3,2]", parts), {"parts": list})
    # Other parts of the same bytes have another digest.
    with pytest.raises(FormatError, match="checksum"):
        wire.unpack("answer", right.replace(b"[3,2]", b"[2,3]"), {"parts": list})
    for parts in (b"[5.0]", b"{   }", b"[-5 ]", b"[tru]"):
        with pytest.raises(FormatError):
            wire.unpack("answer", right.replace(b"[3,2]", parts), {"parts": list})
    # Bytes that no part has, and no digest.
    head = right[:-37].replace(b"[3,2]", b"[3,1]")
    with pytest.raises(FormatError, match="5 bytes of numbers, not 4"):
        wire.unpack("answer", head + b"abcde" + pieces_digest(head, b"abc", b"d"), {"parts": list})
    lacking = json.dumps({"version": 2, "kind": "answer"}).encode()
    message = wire.MAGIC + len(lacking).to_bytes(8, "little") + lacking
    with pytest.raises(FormatError, match="no sizes of parts"):
        wire.unpack("answer", message + pieces_digest(message), {})


def test_drafts_are_written_in_their_places_once() -> None:
    draft = wire.Draft("answer", {"a": 1}, 3, 0, 2)
    draft.part(1)[:] = 0
    draft.part(2)[:] = np.frombuffer(b"de", np.uint8)
    draft.settle(1, 2)
    draft.part(0)[:] = np.frombuffer(b"abc", np.uint8)
    draft.rename({"a": 2})
    assert draft.finish() == wire.pack("answer", {"a": 2}, b"abc", b"", b"de")
    # What is settled is not looked at again.
    draft = wire.Draft("answer", {"a": 1}, 3)
    draft.part(0)[:] = 1
    draft.settle(0)
    draft.part(0)[:] = 2
    with pytest.raises(FormatError, match="damaged"):
        wire.unpack("answer", draft.finish(), {"a": int, "parts": list})
    with pytest.raises(ParameterError, match="no such part"):
        wire.Draft("answer", {}, 3).part(1)
    with pytest.raises(ParameterError, match="finished"):
        draft.part(0)
