"""Messages between an index, its owner and its clients: their sizes, and those that are refused."""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np
import pytest

import hemera as hm
from hemera.search import Client, Index, Settings, wire
from hemera.search.answers import Scores
from hemera.search.messages import name_of

from ..refusals import raises
from .search_cases import DEGREE, ask, bytes_of, doubles, floats


def test_the_server_sees_other_numbers_for_the_same_query():
    index = Index(floats(10, 16, 14))
    client = Client(index.settings)
    x = floats(1, 16, 15)[0]
    first, second = client.query(x), client.query(x)
    assert len(first) == len(second) < 16 * 6 + 32 + 250
    body = 16 * 6 + 32
    a, b = (np.frombuffer(q[-32 - body : -32], np.uint8) for q in (first, second))
    assert (a == b).mean() < 0.1


def test_sizes_on_the_wire():
    index = Index(bytes_of(2 * DEGREE, 128, 16), "dot")
    client = Client(index.settings)
    query = client.query(np.ones((2, 128)))
    assert 2 * 128 * 6 < len(query) < 2 * 128 * 6 + 300
    answer = index.query(query, client.keys)
    assert 2 * 2 * DEGREE * 8 < len(answer) < 2 * 2 * DEGREE * 8 + 400
    assert len(client.keys) < 650_000
    assert index.memory_bytes == 2 * DEGREE * 128 * 9
    assert index.settings.params.security == ">=128"


def test_settings_travel():
    settings = Index(floats(10, 16, 17), "dot").settings
    assert Settings.load(bytes(settings)) == settings
    for wrong in ({"metric": "l1"}, {"dims": 0}, {"scale": 0.0}, {"row_bound": 1e9}, {"query_bound": 0}):
        fields = {**settings.to_fields(), **wrong}
        raises(hm.errors.FormatError, "", Settings.from_fields, fields)
    raises(hm.errors.ParameterError, "", Settings, 4, "l1", Scores())
    for answers in (Scores(scale=0.0), Scores(row_bound=1e9), Scores(query_bound=0)):
        raises(hm.errors.ParameterError, "", Settings, 4, "dot", answers)
    raises(hm.errors.FormatError, "", Settings.from_fields, {**settings.to_fields(), "dims": 16.0})
    raises(hm.errors.FormatError, "", Settings.from_fields, {})
    raises(hm.errors.ParameterError, "no integers", Settings, 4, "cosine", Scores(True))
    raises(hm.errors.ParameterError, "scale must be 1", Settings, 4, "dot", Scores(True, 2.0))


def test_vectors_that_do_not_fit_are_refused():
    errors = hm.errors
    raises(errors.ParameterError, "1 to 4096 numbers", Index, np.ones((1, 4097), np.int8), "dot")
    raises(errors.ParameterError, "1 to 8192 numbers", Index, np.ones((1, 8193), np.int8), "dot", exact=True)
    raises(errors.MismatchError, "", Index, np.ones(4, np.float32))
    raises(errors.MismatchError, "one vector", Index, np.ones((0, 4), np.float32))
    raises(TypeError, "int64", Index, np.ones((2, 4), np.int64))
    raises(errors.RangeError, "finite", Index, np.array([[1.0, np.inf]]))
    raises(errors.ParameterError, "row 1 is zero", Index, np.array([[1.0, 2.0], [0.0, 0.0]]))
    raises(errors.ParameterError, "no scale", Index, np.zeros((2, 4)), "dot")
    raises(TypeError, "exact scores", Index, np.ones((2, 4)), "dot", exact=True)
    raises(errors.ParameterError, "metric must be", Index, np.ones((2, 4)), "l1")
    raises(errors.ParameterError, "largest is", Index, np.ones((2, 4)), "dot", largest=0.5)
    raises(errors.ParameterError, "largest= is", Index, np.ones((2, 4), np.int8), "dot", largest=200)
    index = Index(np.ones((2, 4)), "dot", ids=[4, 6], largest=2)
    raises(errors.RangeError, "largest=", index.add, np.full((1, 4), 2.01))
    raises(errors.MismatchError, "4 numbers", index.add, np.ones((1, 5)))
    assert index.ids.tolist() == [4, 6]
    assert index.version == 1
    index.add(np.full((1, 4), -2.0))
    assert index.ids.tolist() == [4, 6, 7]


def test_queries_that_do_not_fit_are_refused():
    errors = hm.errors
    index = Index(floats(5, 4, 18))
    client = Client(index.settings)
    raises(errors.MismatchError, "4 numbers", client.query, np.ones(5))
    raises(errors.MismatchError, "", client.query, np.ones((0, 4)))
    raises(errors.ParameterError, "zeros", client.query, np.zeros(4))
    raises(errors.RangeError, "finite", client.query, [1, 2, np.nan, 4])
    raises(TypeError, "", client.query, ["a", "b", "c", "d"])
    exact = Client(Index(bytes_of(5, 4), "dot", exact=True).settings)
    raises(errors.RangeError, "query_bound=128", exact.query, [1, 2, 3, -128])
    raises(TypeError, "integers", exact.query, [1.0, 2, 3, 4])
    other = Index(floats(5, 4, 19))
    raises(errors.MismatchError, "other settings", other.query, client.query(np.ones(4)), client.keys)
    raises(errors.MismatchError, "", index.query, client.query(np.ones(4)), other.load_keys(client.keys))
    raises(errors.MismatchError, "", index.query, client.query(np.ones(4)), exact.keys)
    context = hm.Context(index.settings.params)
    some = context.generate_keys(context.generate_secret_key(), public_key=False, relinearization=False)
    raises(errors.MissingKeyError, "4097", index.query, client.query(np.ones(4)), bytes(some))
    raises(TypeError, "keys", index.query, client.query(np.ones(4)), "keys")
    # A zero has an inner product.
    dot = Index(bytes_of(5, 4), "dot")
    client = Client(dot.settings)
    assert np.abs(ask(dot, client, np.zeros(4))[0]).max() < 10 * dot.expected_error.noise


def test_scores_have_no_comparisons():
    client = Client(Index(floats(5, 4, 20)).settings)
    for options in ({"threshold": 0.5}, {"k": 3}, {"want": "count"}):
        raises(hm.errors.ParameterError, "for comparisons", client.query, np.ones(4), **options)
    raises(hm.errors.ParameterError, "without payloads", Index, np.ones((2, 4)), payloads=np.ones((2, 1)))
    raises(hm.errors.ParameterError, "k must be", client.decrypt, b"", 0)
    raises(hm.errors.ParameterError, "of comparisons", Index(np.ones((2, 4))).cost)


def test_messages_that_lie_are_refused():
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
        raises(errors.FormatError, "", index.query, wire.pack("query", changed, body), client.keys)
    newer = wire.pack("query", header, right).replace(b'"version":1', b'"version":2')
    newer = newer[:-32] + hashlib.sha256(newer[:-32]).digest()
    raises(errors.FormatError, "newer Hemera", index.query, newer, client.keys)
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
        raises(errors.FormatError, "", client.decrypt, wire.pack("answer", changed, *parts))
    older = wire.pack("answer", answer, half, half, b"", b"").replace(b'"version":3', b'"version":2')
    with pytest.raises(errors.FormatError, match=r"version 2 of the format, and this reads 3.*older Hemera"):
        client.decrypt(older)
    settings = index.settings.to_fields()
    body = np.arange(2).astype("<i8").tobytes() + bytes(8)
    fields = {"settings": settings, "rows": 2, "index_version": 1, "next_id": 2}
    assert len(Index.load(wire.pack("index", fields, body))) == 2
    for wrong in ({"rows": 3}, {"next_id": 1}, {"next_id": 2**62 + 1}, {"settings": {}}):
        changed = {**fields, **wrong}
        raises(errors.FormatError, "", Index.load, wire.pack("index", changed, body))
    with pytest.raises(errors.FormatError):
        Index.load(wire.pack("index", fields, bytes(24)))  # one id twice


@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64"])
def test_the_lowest_number_of_each_type_is_beyond_the_bound(name):
    # Its magnitude is one more than the type holds: np.abs gives it back negative.
    lowest = np.iinfo(name).min
    exact = Client(Index(bytes_of(5, 4), "dot", exact=True).settings)
    exact.query(np.array([1, 2, 3, -127], name))
    with pytest.raises(hm.errors.RangeError, match=f"query_bound={-int(lowest)}"):
        exact.query(np.array([1, 2, 3, lowest], name))


def test_owners_are_apart():
    vectors = doubles(64, 8, 12)
    first, second = Client.owning(vectors), Client.owning(vectors)
    assert first.settings.owner != second.settings.owner
    assert first.settings.digest != second.settings.digest
    one, two = Index(first.encrypt(vectors)), Index(second.encrypt(vectors[::-1].copy()))
    for index, owner, row in ((one, first, 5), (two, second, 58), (one, first, 9)):
        query = owner.query(vectors[row if owner is first else 63 - row])
        assert owner.decrypt(index.query(query, index.load_keys(owner.keys)), 1)[1].tolist() == [row]
    mismatch = hm.errors.MismatchError
    raises(mismatch, "other settings", one.add, second.encrypt(vectors))
    raises(mismatch, "other settings", one.query, second.query(vectors[0]), second.keys)
    raises(mismatch, "other settings", second.decrypt, one.query(vectors[0]))
    with pytest.raises(mismatch):  # keys in another index's memory
        one.query(first.query(vectors[0]), two.load_keys(first.keys))
    # Keys of another secret give nothing, nor does another secret key with these settings.
    x = vectors[3]
    with pytest.raises(hm.errors.NoiseError, match="keys of another client"):
        first.decrypt(one.query(first.query(x), second.keys))
    thief = Client(first.settings, second.secret_key.to_bytes())
    raises(hm.errors.NoiseError, "not the secret key", thief.decrypt, one.query(x))
    raises(hm.errors.ParameterError, "only the key of its owner", Client, first.settings)


def test_the_server_sees_other_numbers_for_the_same_rows():
    vectors = np.zeros((2, 4), np.int8)
    owner = Client.owning(vectors, "l2")
    sent = [owner.encrypt(vectors) for _ in range(2)]
    assert len(sent[0]) == len(sent[1]) < 4096 * 5 * 6 + 2 * 32 + 500
    a, b = (np.frombuffer(message[-90_000:-32], np.uint8) for message in sent)
    assert (a == b).mean() < 0.01
    assert len(np.unique(a)) == 256
    seeds = {message[at : at + 32] for message in sent for at in (len(message) - 32 - 4096 * 6 - 32,)}
    assert len(seeds) == 2
    assert owner.settings.params.security == ">=128"


def test_settings_of_owners_travel():
    settings = Client.owning(doubles(10, 16, 13), "dot").settings
    assert Settings.load(bytes(settings)) == settings
    assert math.log2(settings.program.row_scale).is_integer()
    assert settings.program.row_scale > 1
    clear = Settings(16, "dot", Scores())
    assert b"owner" not in bytes(clear)
    assert clear.program.row_scale == 1
    for wrong in ("x", "0" * 31, "0" * 33, "g" * 32):
        raises(hm.errors.ParameterError, "32 hexadecimal", Settings, 16, "dot", Scores(), wrong)
    raises(hm.errors.FormatError, "", Settings.from_fields, {**settings.to_fields(), "owner": 5})


def test_rows_of_owners_that_do_not_fit_are_refused():
    errors = hm.errors
    owner = Client.owning(np.ones((2, 4)), "dot", largest=2)
    raises(errors.RangeError, "largest=", owner.encrypt, np.full((1, 4), 2.01))
    raises(errors.MismatchError, "4 numbers", owner.encrypt, np.ones((1, 5)))
    raises(errors.MismatchError, "no vector", owner.encrypt, np.ones((0, 4)))
    raises(errors.MismatchError, "one vector at least", Client.owning, np.ones((0, 4)))
    raises(errors.ParameterError, "no integers", Client.owning, bytes_of(2, 4), "cosine", exact=True)
    exact = Client.owning(bytes_of(2, 4), "dot", exact=True)
    raises(TypeError, "int8", exact.encrypt, np.ones((2, 4)))
    clear = Client(Index(np.ones((2, 4))).settings)
    raises(errors.ParameterError, "in the clear", clear.encrypt, np.ones((2, 4)))
    raises(errors.ParameterError, "no prepared queries", owner.prepare, 1)
    index = Index(owner.encrypt(np.full((2, 4), -2.0)))
    scores, _ = ask(index, owner, np.ones(4))
    assert np.allclose(scores, -8, atol=0.05)


def test_encrypted_queries_that_do_not_fit_are_refused():
    errors = hm.errors
    vectors = doubles(5, 4, 14)
    owner = Client.owning(vectors)
    index = Index(owner.encrypt(vectors))
    raises(TypeError, "keys", index.query, owner.query(np.ones(4)))
    raises(errors.MismatchError, "4 numbers", index.query, np.ones(5))
    raises(errors.ParameterError, "zeros", index.query, np.zeros(4))
    raises(errors.RangeError, "finite", index.query, [1, 2, np.inf, 4])
    other = Client(Index(vectors).settings)  # its keys lack the one of products
    raises(errors.MissingKeyError, "products", index.query, owner.query(np.ones(4)), other.keys)
    dot = Client.owning(vectors, "dot")
    index = Index(dot.encrypt(vectors))
    assert np.abs(dot.decrypt(index.query(np.zeros(4)))[0]).max() < 8 * index.expected_error.noise


def test_rows_that_lie_are_refused():
    errors = hm.errors
    vectors = doubles(5, 2, 15)
    owner = Client.owning(vectors, "l2", largest=9)
    rows = owner.encrypt(vectors, ids=[3, 1, 4, 15, 9])
    index = Index(rows)
    fields = {"settings": dict, "count": int, "has_ids": bool}
    header, body = wire.unpack("rows", rows, fields)
    right = bytes(body)
    for changed, wrong in [
        ({**header, "count": 0}, right),
        ({**header, "count": 4097}, right),
        ({**header, "has_ids": False}, right),
        ({**header, "settings": {}}, right),
        ({**header, "settings": Index(vectors).settings.to_fields()}, right),
        (header, right[:-1]),
        (header, right[:-6] + b"\xff" * 6),  # no residue
    ]:
        raises(errors.FormatError, "", Index, wire.pack("rows", changed, wrong))
    # A damaged block leaves the index as it was, rows that came before it too.
    more = owner.encrypt(doubles(4090, 2, 16), ids=np.arange(4090) + 100)
    index.add(more)
    two = owner.encrypt(doubles(DEGREE + 1, 2, 17))
    header, body = wire.unpack("rows", two, fields)
    query = owner.query(np.ones(2))
    before = index.query(query, owner.keys)
    damaged = bytes(body[:-6]) + b"\xff" * 6
    raises(errors.FormatError, "residue", index.add, wire.pack("rows", header, damaged))
    one = owner.encrypt(doubles(1, 2, 18))
    header, body = wire.unpack("rows", one, fields)
    with pytest.raises(errors.FormatError, match="residue"):  # squares, after the entries
        index.add(wire.pack("rows", header, bytes(body[:-6]) + b"\xff" * 6))
    assert index.query(query, owner.keys) == before
    assert index.memory_bytes == DEGREE * 3 * 16
    raises(errors.FormatError, "", Index, rows[:-1])
    raises(TypeError, "encrypt", index.add, vectors)
    given: Any
    for given in ({"metric": "dot"}, {"exact": True}, {"ids": np.arange(5)}, {"payloads": np.ones((5, 1))}):
        raises(errors.ParameterError, "encrypted rows have the", Index, rows, **given)
    raises(errors.FormatError, "", owner.decrypt, before[:-1])
    answer = {"settings": owner.settings.digest, "query": "", "index_version": 1, "rows": 5, "count": 1}
    answer |= {"has_ids": False, "is_single": True}
    half, norm = bytes(4096 * 4), bytes(8)
    for changed, parts in [
        (answer, (b"", b"", b"", norm, b"", b"")),
        (answer, (half, half, b"", norm, b"", half)),
        ({**answer, "rows": 0}, 6 * (b"",)),
        ({**answer, "count": 0}, (b"", b"", b"", b"", half, half)),
    ]:
        raises(errors.FormatError, "", owner.decrypt, wire.pack("encrypted answer", changed, *parts))
    two = (half + half, half + half, b"", norm + norm, half, half)
    with pytest.raises(errors.FormatError, match="queries"):
        owner.decrypt(wire.pack("encrypted answer", {**answer, "count": 2}, *two))
