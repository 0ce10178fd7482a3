"""Rows of an index that come and go, and its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hemera as hm
from hemera.search import Client, Index, wire
from hemera.search.messages import name_of

from .search_cases import DEGREE, ask, bytes_of, floats


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
            _, body = wire.unpack("answer", each.query(query, client.keys))
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


def test_files_have_bytes_and_ids(tmp_path: Any) -> None:
    vectors = floats(120, 10, 12)
    index = Index(vectors, "l2", ids=np.arange(120) * 3)
    index.remove([30])
    index.save(tmp_path / "index")
    again = Index.load(tmp_path / "index")
    client = Client(index.settings)
    query = client.query(vectors[4])
    answer = again.query(query, client.keys)
    assert answer == index.query(query, client.keys)  # bit for bit
    assert client.decrypt(answer, 1)[1].tolist() == [12]
    assert again.add(vectors[:1]).tolist() == [358]
    assert (tmp_path / "index").stat().st_size < 120 * 18 + 600


def test_files_and_messages_of_version_1() -> None:
    """Files that were written once load for ever: a query under a key that is kept has its scores still."""
    folder = Path(__file__).parents[3] / "tests" / "vectors" / "search"
    wanted = json.loads((folder / "values.json").read_text())
    index = Index.load(folder / "index.hemera-index")
    assert index.ids.tolist() == wanted["ids"]
    assert index._rows._vectors.tolist() == wanted["rows"]
    assert index.version == 2
    again = (folder / "settings.hemera").read_bytes()
    assert bytes(index.settings) == again
    client = Client(again, folder / "secret-key.hemera")
    query = (folder / "query.hemera").read_bytes()
    client._waiting[name_of(query)] = client._waiting[name_of(client.query(wanted["query"]))]
    scores, ids = client.decrypt(index.query(query, client.keys))
    assert scores.tolist() == wanted["scores"]
    assert ids.tolist() == wanted["ids"]
