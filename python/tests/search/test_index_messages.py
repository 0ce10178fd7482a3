"""Messages between an index and its clients: their sizes, and those that are refused."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

import hemera as hm
from hemera.search import Client, Index, Settings, wire
from hemera.search.answers import Scores
from hemera.search.messages import name_of

from .search_cases import DEGREE, ask, bytes_of, floats


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
    with pytest.raises(hm.errors.NoiseError, match="keys of another client"):
        first.decrypt(index.query(query, loaded[second]))


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
        with pytest.raises(hm.errors.FormatError):
            Settings.from_fields(fields)
    with pytest.raises(hm.errors.ParameterError):
        Settings(4, "l1", Scores())  # type: ignore[arg-type]
    for answers in (Scores(scale=0.0), Scores(row_bound=1e9), Scores(query_bound=0)):
        with pytest.raises(hm.errors.ParameterError):
            Settings(4, "dot", answers)
    with pytest.raises(hm.errors.FormatError):
        Settings.from_fields({**settings.to_fields(), "dims": 16.0})
    with pytest.raises(hm.errors.FormatError):
        Settings.from_fields({})
    with pytest.raises(hm.errors.ParameterError, match="no integers"):
        Settings(4, "cosine", Scores(True))
    with pytest.raises(hm.errors.ParameterError, match="scale must be 1"):
        Settings(4, "dot", Scores(True, 2.0))


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
    index = Index(np.ones((2, 4)), "dot", ids=[4, 6], largest=2)
    with pytest.raises(errors.RangeError, match="largest="):
        index.add(np.full((1, 4), 2.01))
    with pytest.raises(errors.MismatchError, match="4 numbers"):
        index.add(np.ones((1, 5)))
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


def test_scores_have_no_comparisons() -> None:
    client = Client(Index(floats(5, 4, 20)).settings)
    for options in ({"threshold": 0.5}, {"k": 3}, {"want": "count"}):
        with pytest.raises(hm.errors.ParameterError, match="for comparisons"):
            client.query(np.ones(4), **options)
    with pytest.raises(hm.errors.ParameterError, match="without payloads"):
        Index(np.ones((2, 4)), payloads=np.ones((2, 1)))
    with pytest.raises(hm.errors.ParameterError, match="k must be"):
        client.decrypt(b"", 0)
    with pytest.raises(hm.errors.ParameterError, match="of comparisons"):
        Index(np.ones((2, 4))).cost()


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
    older = wire.pack("answer", answer, half, half, b"", b"").replace(b'"version":3', b'"version":2')
    with pytest.raises(errors.FormatError, match=r"version 2 of the format, and this reads 3.*older Hemera"):
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


@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64"])
def test_the_lowest_number_of_each_type_is_beyond_the_bound(name: str) -> None:
    # Its magnitude is one more than the type holds: np.abs gives it back negative.
    lowest = np.iinfo(name).min
    exact = Client(Index(bytes_of(5, 4), "dot", exact=True).settings)
    exact.query(np.array([1, 2, 3, -127], name))
    with pytest.raises(hm.errors.RangeError, match=f"query_bound={-int(lowest)}"):
        exact.query(np.array([1, 2, 3, lowest], name))
