"""Owners of encrypted indexes, and messages that are refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import hemera as hm
from hemera.search import Client, Index, Settings, wire
from hemera.search.answers import Scores

from .search_cases import DEGREE, ask, bytes_of
from .search_cases import doubles as floats


def test_owners_are_apart() -> None:
    vectors = floats(64, 8, 12)
    first, second = Client.owning(vectors), Client.owning(vectors)
    assert first.settings.owner != second.settings.owner
    assert first.settings.digest != second.settings.digest
    one, two = Index(first.encrypt(vectors)), Index(second.encrypt(vectors[::-1].copy()))
    for index, owner, row in ((one, first, 5), (two, second, 58), (one, first, 9)):
        query = owner.query(vectors[row if owner is first else 63 - row])
        assert owner.decrypt(index.query(query, index.load_keys(owner.keys)), 1)[1].tolist() == [row]
    mismatch = hm.errors.MismatchError
    with pytest.raises(mismatch, match="other settings"):
        one.add(second.encrypt(vectors))
    with pytest.raises(mismatch, match="other settings"):
        one.query(second.query(vectors[0]), second.keys)
    with pytest.raises(mismatch, match="other settings"):
        second.decrypt(one.query(vectors[0]))
    with pytest.raises(mismatch):  # keys in another index's memory
        one.query(first.query(vectors[0]), two.load_keys(first.keys))
    # Keys of another secret give nothing, nor does another secret key with these settings.
    x = vectors[3]
    with pytest.raises(hm.errors.NoiseError, match="keys of another client"):
        first.decrypt(one.query(first.query(x), second.keys))
    thief = Client(first.settings, bytes_of_key(second))
    with pytest.raises(hm.errors.NoiseError, match="not the secret key"):
        thief.decrypt(one.query(x))
    with pytest.raises(hm.errors.ParameterError, match="only the key of its owner"):
        Client(first.settings)


def bytes_of_key(client: Client) -> bytes:
    return client.secret_key.to_bytes()


def test_the_server_sees_other_numbers_for_the_same_rows() -> None:
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


def test_settings_of_owners_travel() -> None:
    settings = Client.owning(floats(10, 16, 13), "dot").settings
    assert Settings.load(bytes(settings)) == settings
    assert math.log2(settings.program.row_scale).is_integer()
    assert settings.program.row_scale > 1
    clear = Settings(16, "dot", Scores())
    assert b"owner" not in bytes(clear)
    assert clear.program.row_scale == 1
    for wrong in ("x", "0" * 31, "0" * 33, "g" * 32):
        with pytest.raises(hm.errors.ParameterError, match="32 hexadecimal"):
            Settings(16, "dot", Scores(), wrong)
    with pytest.raises(hm.errors.FormatError):
        Settings.from_fields({**settings.to_fields(), "owner": 5})


def test_vectors_that_do_not_fit_are_refused() -> None:
    errors = hm.errors
    owner = Client.owning(np.ones((2, 4)), "dot", largest=2)
    with pytest.raises(errors.RangeError, match="largest="):
        owner.encrypt(np.full((1, 4), 2.01))
    with pytest.raises(errors.MismatchError, match="4 numbers"):
        owner.encrypt(np.ones((1, 5)))
    with pytest.raises(errors.MismatchError, match="no vector"):
        owner.encrypt(np.ones((0, 4)))
    with pytest.raises(errors.MismatchError, match="one vector at least"):
        Client.owning(np.ones((0, 4)))
    with pytest.raises(errors.ParameterError, match="no integers"):
        Client.owning(bytes_of(2, 4), "cosine", exact=True)
    exact = Client.owning(bytes_of(2, 4), "dot", exact=True)
    with pytest.raises(TypeError, match="int8"):
        exact.encrypt(np.ones((2, 4)))
    clear = Client(Index(np.ones((2, 4))).settings)
    with pytest.raises(errors.ParameterError, match="in the clear"):
        clear.encrypt(np.ones((2, 4)))
    with pytest.raises(errors.ParameterError, match="no prepared queries"):
        owner.prepare(1)
    index = Index(owner.encrypt(np.full((2, 4), -2.0)))
    scores, _ = ask(index, owner, np.ones(4))
    assert np.allclose(scores, -8, atol=0.05)


def test_queries_that_do_not_fit_are_refused() -> None:
    errors = hm.errors
    vectors = floats(5, 4, 14)
    owner = Client.owning(vectors)
    index = Index(owner.encrypt(vectors))
    with pytest.raises(TypeError, match="keys"):
        index.query(owner.query(np.ones(4)))
    with pytest.raises(errors.MismatchError, match="4 numbers"):
        index.query(np.ones(5))
    with pytest.raises(errors.ParameterError, match="zeros"):
        index.query(np.zeros(4))
    with pytest.raises(errors.RangeError, match="finite"):
        index.query([1, 2, np.inf, 4])
    other = Client(Index(vectors).settings)  # its keys lack the one of products
    with pytest.raises(errors.MissingKeyError, match="products"):
        index.query(owner.query(np.ones(4)), other.keys)
    dot = Client.owning(vectors, "dot")
    index = Index(dot.encrypt(vectors))
    assert np.abs(dot.decrypt(index.query(np.zeros(4)))[0]).max() < 8 * index.expected_error.noise


def test_messages_that_lie_are_refused() -> None:
    errors = hm.errors
    vectors = floats(5, 2, 15)
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
        with pytest.raises(errors.FormatError):
            Index(wire.pack("rows", changed, wrong))
    # A damaged block leaves the index as it was, rows that came before it too.
    more = owner.encrypt(floats(4090, 2, 16), ids=np.arange(4090) + 100)
    index.add(more)
    two = owner.encrypt(floats(DEGREE + 1, 2, 17))
    header, body = wire.unpack("rows", two, fields)
    query = owner.query(np.ones(2))
    before = index.query(query, owner.keys)
    damaged = bytes(body[:-6]) + b"\xff" * 6
    with pytest.raises(errors.FormatError, match="residue"):
        index.add(wire.pack("rows", header, damaged))
    one = owner.encrypt(floats(1, 2, 18))
    header, body = wire.unpack("rows", one, fields)
    with pytest.raises(errors.FormatError, match="residue"):  # squares, after the entries
        index.add(wire.pack("rows", header, bytes(body[:-6]) + b"\xff" * 6))
    assert index.query(query, owner.keys) == before
    assert index.memory_bytes == DEGREE * 3 * 16
    with pytest.raises(errors.FormatError):
        Index(rows[:-1])
    with pytest.raises(TypeError, match="encrypt"):
        index.add(vectors)
    given: Any
    for given in ({"metric": "dot"}, {"exact": True}, {"ids": np.arange(5)}, {"payloads": np.ones((5, 1))}):
        with pytest.raises(errors.ParameterError, match="encrypted rows have the"):
            Index(rows, **given)
    with pytest.raises(errors.FormatError):
        owner.decrypt(before[:-1])
    answer = {"settings": owner.settings.digest, "query": "", "index_version": 1, "rows": 5, "count": 1}
    answer |= {"has_ids": False, "is_single": True}
    half, norm = bytes(4096 * 4), bytes(8)
    for changed, parts in [
        (answer, (b"", b"", b"", norm, b"", b"")),
        (answer, (half, half, b"", norm, b"", half)),
        ({**answer, "rows": 0}, 6 * (b"",)),
        ({**answer, "count": 0}, (b"", b"", b"", b"", half, half)),
    ]:
        with pytest.raises(errors.FormatError):
            owner.decrypt(wire.pack("encrypted answer", changed, *parts))
    two = (half + half, half + half, b"", norm + norm, half, half)
    with pytest.raises(errors.FormatError, match="queries"):
        owner.decrypt(wire.pack("encrypted answer", {**answer, "count": 2}, *two))
