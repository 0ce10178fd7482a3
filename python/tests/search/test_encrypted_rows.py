"""Rows of an encrypted index that come and go, and its files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hemera as hm
from hemera.search import Client, Index, wire

from .search_cases import DEGREE, ask, bytes_of, scores_of
from .search_cases import doubles as floats


def test_rows_are_added_and_removed() -> None:
    vectors = bytes_of(DEGREE + 600, 6, 7)
    owner = Client.owning(vectors, "dot")
    index = Index(owner.encrypt(vectors[:1000], ids=np.arange(1000) + 5000))
    known = {i + 5000: vectors[i] for i in range(1000)}

    def check(blocks: int) -> None:
        x = floats(1, 6, len(known))[0]
        scores, ids = ask(index, owner, x)
        assert len(index) == len(ids) == len(known)
        assert np.array_equal(ids, index.ids)
        assert set(ids.tolist()) == set(known)
        expected = np.array([known[i].astype(np.float64) @ x for i in ids.tolist()])
        for found in (scores, owner.decrypt(index.query(x))[0]):
            assert np.abs(found - expected).max() < 8 * index.expected_error.noise * np.linalg.norm(x)
        assert index.memory_bytes == blocks * DEGREE * 6 * 16

    check(1)
    added = index.add(owner.encrypt(vectors[1000:1010]))  # behind the others
    assert added.tolist() == list(range(6000, 6010))
    assert index.version == 2
    known.update(zip(added.tolist(), vectors[1000:1010], strict=True))
    check(1)
    added = index.add(owner.encrypt(vectors[1010:], ids=np.arange(len(vectors) - 1010)))  # one block of N
    known.update(zip(added.tolist(), vectors[1010:], strict=True))
    check(2)
    gone = [5000, 5001, 6009, 5500, 17, 3000]
    index.remove(gone)
    for i in gone:
        del known[i]
    check(2)
    assert index.add(owner.encrypt(vectors[:2])).tolist() == [6010, 6011]  # removed ids do not come again
    known.update({6010: vectors[0], 6011: vectors[1]})
    check(2)
    first = [i for i in index.ids.tolist() if 5000 <= i < 6010]
    index.remove(first)  # the first block: the second takes its place
    for i in first:
        del known[i]
    check(1)
    more = DEGREE + 600 - 1010 + 2  # places of this block that were used
    assert index.add(owner.encrypt(vectors[more:DEGREE])).tolist()[0] == 6012
    known.update({6012 + i: vectors[more + i] for i in range(DEGREE - more)})
    check(1)
    index.add(owner.encrypt(vectors[:DEGREE], ids=np.arange(DEGREE) + 10_000))
    known.update({i + 10_000: vectors[i] for i in range(DEGREE)})
    check(2)
    index.remove(index.ids)
    assert len(index) == index.memory_bytes == 0
    with pytest.raises(hm.errors.MismatchError, match="no row"):
        index.query(owner.query(np.ones(6)), owner.keys)
    known.clear()
    index.add(owner.encrypt(vectors[:3], ids=[7, 8, 9]))
    known.update(zip((7, 8, 9), vectors[:3], strict=True))
    check(1)


def test_a_block_is_added_to_sixteen_times() -> None:
    vectors = bytes_of(40, 3, 8)
    owner = Client.owning(vectors, "dot", exact=True)
    index = Index(owner.encrypt(vectors[:1]))
    for i in range(1, 20):
        assert index.memory_bytes == 8192 * 3 * 32 * (1 if i <= 16 else 2)
        index.add(owner.encrypt(vectors[i : i + 1]))
    x = [100, -3, 17]
    scores, ids = ask(index, owner, x)
    assert ids.tolist() == list(range(20))
    assert scores.tolist() == (vectors[:20].astype(np.int64) @ x).tolist()
    # The errors tell of it.
    plain = Client.owning(vectors, "dot")
    rows = [plain.encrypt(vectors[i : i + 1]) for i in range(9)]
    index = Index(rows[0])
    before = index.expected_error.noise
    for row in rows[1:]:
        index.add(row)
    assert 1.5 < index.expected_error.noise / before < 3


def test_distances_of_moved_and_added_rows() -> None:
    """The squared norms go where their rows go."""
    vectors = floats(2 * DEGREE + 10, 3, 9)
    vectors[::2] *= 4
    owner = Client.owning(vectors, "l2")
    index = Index(owner.encrypt(vectors[: 2 * DEGREE]))
    index.add(owner.encrypt(vectors[2 * DEGREE :]))
    index.remove(np.arange(DEGREE))
    index.add(owner.encrypt(vectors[:5]))
    x = floats(1, 3, 10)[0]
    kept = np.concatenate([vectors[DEGREE:], vectors[:5]])
    expected = scores_of(kept, x, "l2")[0]
    scores, ids = ask(index, owner, x)
    by_id = dict(zip(ids.tolist(), scores.tolist(), strict=True))
    found = np.array([by_id[i] for i in range(DEGREE, 2 * DEGREE + 15)])
    assert np.abs(found - expected).max() < 8 * index.expected_error.noise * max(1, np.linalg.norm(x))


class _Full:
    """A database that has no room for rows."""

    def __init__(self, database: Any) -> None:
        self._database = database

    def place(self, *_: object) -> None:
        raise hm.errors.OutOfMemoryError("no room")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)


def test_rows_that_have_no_room_leave_the_index_as_it_was() -> None:
    vectors = floats(DEGREE + 100, 3, 20)
    owner = Client.owning(vectors, "l2")
    index = Index(owner.encrypt(vectors[:50]))
    databases = list(index._rows._databases)
    for rows in (vectors[50:60], vectors):  # behind the others, and two blocks more
        index._rows._databases = [databases[0], _Full(databases[1])]  # type: ignore[list-item]
        with pytest.raises(hm.errors.OutOfMemoryError):
            index.add(owner.encrypt(rows))
        index._rows._databases = databases
        assert len(index) == 50
        assert index.version == 1
        assert index.memory_bytes == DEGREE * 4 * 16
    index.add(owner.encrypt(vectors[50:60]))
    scores, ids = ask(index, owner, vectors[3])
    assert ids.tolist() == list(range(60))
    expected = scores_of(vectors[:60], vectors[3], "l2")[0]
    assert np.abs(scores - expected).max() < 16 * index.expected_error.noise


def test_files(tmp_path: Path) -> None:
    vectors = floats(DEGREE + 120, 4, 11)
    owner = Client.owning(vectors, "l2")
    index = Index(owner.encrypt(vectors, ids=np.arange(DEGREE + 120) * 3))
    index.add(owner.encrypt(vectors[:4]))
    index.remove([30, 3 * DEGREE])
    index.save(tmp_path / "index")
    again = Index.load(tmp_path / "index")
    assert np.array_equal(again.ids, index.ids)
    assert again.expected_error == index.expected_error
    query = owner.query(vectors[17])
    answer = again.query(query, owner.keys)
    assert answer == index.query(query, owner.keys)  # bit for bit
    assert owner.decrypt(answer, 1)[1].tolist() == [51]
    added = again.add(owner.encrypt(vectors[:1] * 0.5))
    assert added.tolist() == [3 * (DEGREE + 119) + 5]
    assert ask(again, owner, vectors[0] * 0.5, 1)[1].tolist() == added.tolist()
    size = (tmp_path / "index").stat().st_size
    assert 2 * DEGREE * 5 * 12 < size < 2 * DEGREE * (5 * 12 + 8) + 1000


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    vectors = floats(5, 2, 19)
    owner = Client.owning(vectors)
    Index(owner.encrypt(vectors)).save(tmp_path / "index")
    data = (tmp_path / "index").read_bytes()
    fields = {"settings": dict, "blocks": int, "index_version": int, "next_id": int}
    header, body = wire.unpack("encrypted index", data, fields)
    right = bytes(body)
    assert len(Index.load(wire.pack("encrypted index", header, right))) == 5
    ids, places, rest = right[: 8 * DEGREE], right[8 * DEGREE : 8 * DEGREE + 16], right[8 * DEGREE + 16 :]

    def i8(*values: int) -> bytes:
        return np.array(values, "<i8").tobytes()

    for changed, wrong in [
        ({**header, "blocks": 2}, right),
        ({**header, "blocks": -1}, right),
        ({**header, "next_id": 4}, right),
        ({**header, "next_id": 2**62 + 1}, right),
        ({**header, "settings": Index(vectors).settings.to_fields()}, right),
        (header, right[:-1]),
        (header, right[:-6] + b"\xff" * 6),
        (header, i8(1, 1) + ids[16:] + places + rest),  # twice
        (header, ids[:-8] + i8(0) + places + rest),  # where no row was
        (header, i8(*[-1] * DEGREE) + places + rest),  # none
        (header, ids + i8(DEGREE + 1, 1) + rest),
        (header, ids + i8(4, 1) + rest),
        (header, ids + i8(5, 0) + rest),
        (header, ids + i8(5, 17) + rest),
    ]:
        with pytest.raises(hm.errors.FormatError):
            Index.load(wire.pack("encrypted index", changed, wrong))
    with pytest.raises(hm.errors.FormatError):
        Index.load(data[:-1])
    with pytest.raises(hm.errors.FormatError):
        Index.load(owner.encrypt(vectors))


def test_files_and_messages_of_version_1() -> None:
    """Files that were written once load for ever."""
    folder = Path(__file__).parents[3] / "tests" / "vectors" / "search"
    rows = Index((folder / "encrypted-rows.hemera").read_bytes())
    index = Index.load(folder / "index.hemera-encrypted-index")
    assert rows.ids.tolist() == [9, 2, 30, 4]
    assert index.ids.tolist() == [9, 30, 4]
    assert index.version == 2
    owner = Client(index.settings, folder / "owner-key.hemera")
    for each, expected in ((rows, [5, -100, 7, 33]), (index, [5, 7, 33])):
        assert ask(each, owner, [2.0])[0].round().tolist() == [2 * score for score in expected]
