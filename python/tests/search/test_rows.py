"""Rows of an index, plain or encrypted, that come and go, and its files."""

import json
from pathlib import Path

import numpy as np

import hemera as hm
from hemera.search import Client, Index, wire
from hemera.search.messages import name_of

from ..refusals import raises
from .search_cases import DEGREE, ask, bytes_of, doubles, floats, scores_of


class Changed:
    """An index of rows that come and go, and what it should have: every change is followed by a query."""

    vectors = bytes_of(DEGREE + 600, 6, 10)

    def __init__(self, encrypted, rows, first):
        taken = self.vectors[rows]
        self.known = dict(zip(range(first, first + len(taken)), taken, strict=True))
        ids = np.arange(first, first + len(taken))
        if encrypted:
            self.client = Client.owning(self.vectors, "dot")
            self.index = Index(self.client.encrypt(taken, ids=ids))
        else:
            self.index = Index(taken, "dot", ids=ids)
            self.client = Client(self.index.settings)

    def add(self, rows, first, *, named=False):
        taken, version = self.vectors[rows], self.index.version
        ids = np.arange(first, first + len(taken))
        more = {"ids": ids} if named else {}
        added = (
            self.index.add(self.client.encrypt(taken, **more))
            if self.index.settings.owner
            else self.index.add(taken, **more)
        )
        assert (added.tolist(), self.index.version) == (ids.tolist(), version + 1)
        self.known.update(zip(ids.tolist(), taken, strict=True))

    def remove(self, ids):
        self.index.remove(ids)
        for i in np.asarray(ids).tolist():
            del self.known[i]

    def check(self, memory):
        index, x = self.index, floats(1, 6, len(self.known))[0]
        scores, ids = ask(index, self.client, x)
        assert len(index) == len(ids) == len(self.known)
        assert np.array_equal(ids, index.ids)
        assert set(ids.tolist()) == set(self.known)
        expected = np.array([self.known[i].astype(np.float64) @ x for i in ids.tolist()])
        found = [scores, self.client.decrypt(index.query(x))[0]] if index.settings.owner else [scores]
        for each in found:
            assert np.abs(each - expected).max() < 10 * index.expected_error.noise * np.linalg.norm(x)
        assert index.memory_bytes == memory


def test_rows_are_added_and_removed():
    block = DEGREE * (6 * 8 + 16)  # bytes of rows in whole multiples of 16
    changed = Changed(False, slice(0, DEGREE - 5), 1000)
    changed.check(block)
    changed.add(slice(DEGREE - 5, DEGREE + 10), DEGREE + 995)  # over the end of the block
    changed.check(2 * block)
    changed.remove([1000, DEGREE + 1009, 1500])  # the first, the last, one between
    changed.check(2 * block)
    changed.remove(list(changed.known)[:20])  # the second block is left empty
    changed.check(block)
    changed.add(slice(0, 1), 5, named=True)
    changed.add(slice(0, 1), DEGREE + 1010)  # removed ids do not come again by themselves
    changed.check(block)
    changed.remove(changed.index.ids)
    changed.add(slice(0, 3), 7, named=True)
    changed.check(block)


def test_encrypted_rows_are_added_and_removed():
    block = DEGREE * 6 * 16
    changed = Changed(True, slice(0, 1000), 5000)
    changed.add(slice(1000, 1010), 6000)  # behind the others
    changed.check(block)
    changed.add(slice(1010, DEGREE + 600), 0, named=True)  # one block of N
    changed.check(2 * block)
    changed.remove([5000, 5001, 6009, 5500, 17, 3000])
    changed.add(slice(0, 2), 6010)  # removed ids do not come again
    changed.check(2 * block)
    changed.remove([i for i in changed.index.ids.tolist() if 5000 <= i < 6010])
    changed.check(block)  # the second block took the place of the first
    more = DEGREE + 600 - 1010 + 2  # places of this block that were used
    changed.add(slice(more, DEGREE), 6012)
    changed.check(block)
    changed.add(slice(0, DEGREE), 10_000, named=True)
    changed.check(2 * block)
    changed.remove(changed.index.ids)
    assert len(changed.index) == changed.index.memory_bytes == 0
    changed.add(slice(0, 3), 7, named=True)
    changed.check(block)


def test_removed_rows_leave_nothing_in_answers():
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


def test_answers_name_their_ids_only_where_they_must():
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


def test_files_and_messages_of_version_1():
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


def test_a_block_is_added_to_sixteen_times():
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


def test_distances_of_moved_and_added_rows():
    """The squared norms go where their rows go."""
    vectors = doubles(2 * DEGREE + 10, 3, 9)
    vectors[::2] *= 4
    owner = Client.owning(vectors, "l2")
    index = Index(owner.encrypt(vectors[: 2 * DEGREE]))
    index.add(owner.encrypt(vectors[2 * DEGREE :]))
    index.remove(np.arange(DEGREE))
    index.add(owner.encrypt(vectors[:5]))
    x = doubles(1, 3, 10)[0]
    kept = np.concatenate([vectors[DEGREE:], vectors[:5]])
    expected = scores_of(kept, x, "l2")[0]
    scores, ids = ask(index, owner, x)
    by_id = dict(zip(ids.tolist(), scores.tolist(), strict=True))
    found = np.array([by_id[i] for i in range(DEGREE, 2 * DEGREE + 15)])
    assert np.abs(found - expected).max() < 8 * index.expected_error.noise * max(1, np.linalg.norm(x))


class _Full:
    """A database that has no room for rows."""

    def __init__(self, database):
        self._database = database

    def place(self, *_):
        raise hm.errors.OutOfMemoryError("no room")

    def __getattr__(self, name):
        return getattr(self._database, name)


def test_rows_that_have_no_room_leave_the_index_as_it_was():
    vectors = doubles(DEGREE + 100, 3, 20)
    owner = Client.owning(vectors, "l2")
    index = Index(owner.encrypt(vectors[:50]))
    databases = list(index._rows._databases)
    for rows in (vectors[50:60], vectors):  # behind the others, and two blocks more
        index._rows._databases = [databases[0], _Full(databases[1])]
        raises(hm.errors.OutOfMemoryError, "", index.add, owner.encrypt(rows))
        index._rows._databases = databases
        assert len(index) == 50
        assert index.version == 1
        assert index.memory_bytes == DEGREE * 4 * 16
    index.add(owner.encrypt(vectors[50:60]))
    scores, ids = ask(index, owner, vectors[3])
    assert ids.tolist() == list(range(60))
    expected = scores_of(vectors[:60], vectors[3], "l2")[0]
    assert np.abs(scores - expected).max() < 16 * index.expected_error.noise


def test_files(tmp_path):
    vectors = doubles(DEGREE + 120, 4, 11)
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


def test_damaged_files_are_refused(tmp_path):
    vectors = doubles(5, 2, 19)
    owner = Client.owning(vectors)
    Index(owner.encrypt(vectors)).save(tmp_path / "index")
    data = (tmp_path / "index").read_bytes()
    fields = {"settings": dict, "blocks": int, "index_version": int, "next_id": int}
    header, body = wire.unpack("encrypted index", data, fields)
    right = bytes(body)
    assert len(Index.load(wire.pack("encrypted index", header, right))) == 5
    ids, places, rest = right[: 8 * DEGREE], right[8 * DEGREE : 8 * DEGREE + 16], right[8 * DEGREE + 16 :]

    def i8(*values):
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
        raises(hm.errors.FormatError, "", Index.load, wire.pack("encrypted index", changed, wrong))
    raises(hm.errors.FormatError, "", Index.load, data[:-1])
    raises(hm.errors.FormatError, "", Index.load, owner.encrypt(vectors))


def test_encrypted_files_and_messages_of_version_1():
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
