"""Search in encrypted databases beside NumPy on the same vectors."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

import hemera as hm
from hemera.search import Client, EncryptedIndex, Index, Settings, wire

Metric = Literal["cosine", "dot", "l2"]
DEGREE = 4096


def floats(rows: int, dims: int, seed: int = 0) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(size=(rows, dims))


def bytes_of(rows: int, dims: int, seed: int = 0) -> NDArray[np.int8]:
    return np.random.default_rng(seed).integers(-128, 128, (rows, dims)).astype(np.int8)


def scores_of(rows: NDArray[Any], queries: NDArray[Any], metric: Metric) -> NDArray[Any]:
    """[query, row], by NumPy."""
    queries = np.atleast_2d(queries)
    if metric == "l2":
        return np.stack([((rows - query) ** 2).sum(axis=1) for query in queries])
    if metric == "cosine":
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        queries = queries / np.linalg.norm(queries, axis=1, keepdims=True)
    return np.asarray(queries @ rows.T)


def ask(
    index: EncryptedIndex, owner: Client, x: Any, k: int | None = None
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    return owner.decrypt(index.query(owner.query(x), owner.keys), k)


@pytest.mark.parametrize("metric", ["cosine", "dot", "l2"])
@pytest.mark.parametrize(("rows", "dims"), [(DEGREE + 500, 50), (300, 128)])
def test_scores_and_ranking_are_those_of_numpy(metric: Metric, rows: int, dims: int) -> None:
    vectors, many = floats(rows, dims, 1) * 3, floats(5, dims, 2)
    vectors *= np.linalg.norm(vectors[0]) / np.linalg.norm(vectors, axis=1, keepdims=True)  # of one norm
    many *= 7 / np.linalg.norm(many, axis=1, keepdims=True)
    norm = 1.0 if metric == "cosine" else 7.0
    owner = Client.owning(vectors, metric)
    index = EncryptedIndex(owner.encrypt(vectors))
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


def test_floats_are_finer_than_int8() -> None:
    vectors, x = floats(500, 64, 3), floats(1, 64, 4)[0]
    owner, clear = Client.owning(vectors), Index(vectors)
    client = Client(clear.settings)
    expected = scores_of(vectors, x, "cosine")[0]
    encrypted, _ = ask(EncryptedIndex(owner.encrypt(vectors)), owner, x)
    quantized, _ = client.decrypt(clear.query(client.query(x), client.keys))
    deviations = [float(np.std(found - expected)) for found in (encrypted, quantized)]
    assert deviations[0] < deviations[1] / 4


@pytest.mark.parametrize("metric", ["dot", "l2"])
@pytest.mark.parametrize(("rows", "dims"), [(8192 + 7, 9), (100, 1), (20, 200)])
def test_exact_scores_are_numpys_integers(metric: Metric, rows: int, dims: int) -> None:
    vectors = bytes_of(rows, dims, 5)
    vectors[0], vectors[1] = -128, 127
    queries = np.random.default_rng(6).integers(-127, 128, (3, dims))
    queries[0], queries[1] = -127, 127
    owner = Client.owning(vectors, metric, exact=True)
    index = EncryptedIndex(owner.encrypt(vectors))
    assert index.expected_error == hm.search.Errors(0.0, 0.0)
    expected = scores_of(vectors.astype(np.int64), queries, metric)
    for answer in (index.query(owner.query(queries), owner.keys), index.query(queries)):
        found, _ = owner.decrypt(answer)
        assert found.dtype == np.int64
        assert np.array_equal(found, expected)


def test_the_largest_exact_scores() -> None:
    vectors = np.full((3, 600), -128, np.int8)
    vectors[1] = 127
    vectors[2, ::2] = 5
    owner = Client.owning(vectors, "l2", exact=True, query_bound=3000)
    index = EncryptedIndex(owner.encrypt(vectors))
    x = np.full(600, -3000)
    expected = scores_of(vectors.astype(np.int64), x, "l2")[0]
    assert ask(index, owner, x)[0].tolist() == expected.tolist()
    assert owner.decrypt(index.query(x))[0].tolist() == expected.tolist()
    with pytest.raises(hm.errors.RangeError, match="query_bound=3001"):
        index.query(x - 1)
    with pytest.raises(hm.errors.ParameterError, match="no room for 600 numbers"):
        Client.owning(vectors, "dot", exact=True, query_bound=1 << 24)
    vectors = np.ascontiguousarray(vectors[:, :20])
    wide = Client.owning(vectors, "dot", exact=True, query_bound=100_000)
    index = EncryptedIndex(wide.encrypt(vectors))
    x = np.full(20, 32_768)
    assert ask(index, wide, x)[0].tolist() == (vectors.astype(np.int64) @ x).tolist()
    with pytest.raises(hm.errors.RangeError, match="32768, and those in the clear"):
        index.query(x)
    assert Settings(8192, "l2", exact=True, query_bound=127, owner="0" * 32).query_scale > 1


def test_rows_are_added_and_removed() -> None:
    vectors = bytes_of(DEGREE + 600, 6, 7)
    owner = Client.owning(vectors, "dot")
    index = EncryptedIndex(owner.encrypt(vectors[:1000], ids=np.arange(1000) + 5000))
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
    index = EncryptedIndex(owner.encrypt(vectors[:1]))
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
    index = EncryptedIndex(rows[0])
    before = index.expected_error.noise
    for row in rows[1:]:
        index.add(row)
    assert 1.5 < index.expected_error.noise / before < 3


def test_distances_of_moved_and_added_rows() -> None:
    """The squared norms go where their rows go."""
    vectors = floats(2 * DEGREE + 10, 3, 9)
    vectors[::2] *= 4
    owner = Client.owning(vectors, "l2")
    index = EncryptedIndex(owner.encrypt(vectors[: 2 * DEGREE]))
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
    index = EncryptedIndex(owner.encrypt(vectors[:50]))
    databases = list(index._databases)
    for rows in (vectors[50:60], vectors):  # behind the others, and two blocks more
        index._databases = [databases[0], _Full(databases[1])]  # type: ignore[list-item]
        with pytest.raises(hm.errors.OutOfMemoryError):
            index.add(owner.encrypt(rows))
        index._databases = databases
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
    index = EncryptedIndex(owner.encrypt(vectors, ids=np.arange(DEGREE + 120) * 3))
    index.add(owner.encrypt(vectors[:4]))
    index.remove([30, 3 * DEGREE])
    index.save(tmp_path / "index")
    owner.secret_key.save(tmp_path / "key")
    again = EncryptedIndex.load(tmp_path / "index")
    assert again.settings == index.settings
    assert np.array_equal(again.ids, index.ids)
    assert again.version == index.version == 3
    assert again.expected_error == index.expected_error
    back = Client(bytes(index.settings), tmp_path / "key")  # another day
    x = vectors[17]
    query = back.query(x)
    answer = again.query(query, owner.keys)
    assert answer == index.query(query, owner.keys)  # bit for bit
    assert back.decrypt(answer, 1)[1].tolist() == [51]
    added = again.add(back.encrypt(vectors[:1] * 0.5))
    assert added.tolist() == [3 * (DEGREE + 119) + 5]
    assert ask(again, back, vectors[0] * 0.5, 1)[1].tolist() == added.tolist()
    size = (tmp_path / "index").stat().st_size
    assert 2 * DEGREE * 5 * 12 < size < 2 * DEGREE * (5 * 12 + 8) + 1000


def test_owners_are_apart() -> None:
    vectors = floats(64, 8, 12)
    first, second = Client.owning(vectors), Client.owning(vectors)
    assert first.settings.owner != second.settings.owner
    assert first.settings.digest != second.settings.digest
    one, two = EncryptedIndex(first.encrypt(vectors)), EncryptedIndex(second.encrypt(vectors[::-1].copy()))
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
    # Keys of another secret give nothing.
    x = vectors[3]
    scores, _ = first.decrypt(one.query(first.query(x), second.keys))
    assert np.std(scores) > 0.3  # uniform up to the modulus
    # Nor does another secret key with these settings.
    thief = Client(first.settings, bytes_of_key(second))
    scores, _ = thief.decrypt(one.query(x))
    assert np.std(scores) > 0.3
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
    assert math.log2(settings.row_scale).is_integer()
    assert settings.row_scale > 1
    clear = Settings(16, "dot")
    assert b"owner" not in bytes(clear)
    assert clear.row_scale == 1
    for wrong in ("x", "0" * 31, "0" * 33, "g" * 32):
        with pytest.raises(hm.errors.ParameterError, match="32 hexadecimal"):
            Settings(16, "dot", owner=wrong)
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
    with pytest.raises(errors.MismatchError, match="3 ids"):
        owner.encrypt(np.ones((2, 4)), ids=[1, 2, 3])
    with pytest.raises(errors.ParameterError, match="twice"):
        owner.encrypt(np.ones((2, 4)), ids=[1, 1])
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
    rows = owner.encrypt(np.full((2, 4), -2.0), ids=[4, 6])
    index = EncryptedIndex(rows)
    with pytest.raises(errors.ParameterError, match="row 4 already"):
        index.add(rows)
    with pytest.raises(errors.ParameterError, match="no row 5"):
        index.remove([4, 5])
    with pytest.raises(errors.ParameterError, match="twice"):
        index.remove([4, 4])
    assert index.ids.tolist() == [4, 6]
    assert index.version == 1
    scores, _ = ask(index, owner, np.ones(4))
    assert np.allclose(scores, -8, atol=0.05)


def test_queries_that_do_not_fit_are_refused() -> None:
    errors = hm.errors
    vectors = floats(5, 4, 14)
    owner = Client.owning(vectors)
    index = EncryptedIndex(owner.encrypt(vectors))
    with pytest.raises(TypeError, match="keys"):
        index.query(owner.query(np.ones(4)))
    with pytest.raises(TypeError, match="keys"):
        index.query(owner.query(np.ones(4)), "keys")  # type: ignore[arg-type]
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
    index = EncryptedIndex(dot.encrypt(vectors))
    assert np.abs(dot.decrypt(index.query(np.zeros(4)))[0]).max() < 8 * index.expected_error.noise


def test_messages_that_lie_are_refused() -> None:
    errors = hm.errors
    vectors = floats(5, 2, 15)
    owner = Client.owning(vectors, "l2", largest=9)
    rows = owner.encrypt(vectors, ids=[3, 1, 4, 15, 9])
    index = EncryptedIndex(rows)
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
            EncryptedIndex(wire.pack("rows", changed, wrong))
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
        EncryptedIndex(rows[:-1])
    with pytest.raises(TypeError, match="encrypt"):
        EncryptedIndex(vectors)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="EncryptedIndex"):
        Index(rows)
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


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    vectors = floats(5, 2, 19)
    owner = Client.owning(vectors)
    EncryptedIndex(owner.encrypt(vectors)).save(tmp_path / "index")
    data = (tmp_path / "index").read_bytes()
    fields = {"settings": dict, "blocks": int, "index_version": int, "next_id": int}
    header, body = wire.unpack("encrypted index", data, fields)
    right = bytes(body)
    assert len(EncryptedIndex.load(wire.pack("encrypted index", header, right))) == 5
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
            EncryptedIndex.load(wire.pack("encrypted index", changed, wrong))
    with pytest.raises(hm.errors.FormatError):
        EncryptedIndex.load(data[:-1])
    with pytest.raises(hm.errors.FormatError):
        EncryptedIndex.load(owner.encrypt(vectors))


def test_files_and_messages_of_version_1() -> None:
    """Those that were written once load for ever."""
    folder = Path(__file__).parents[3] / "tests" / "vectors" / "search"
    rows = EncryptedIndex((folder / "encrypted-rows.hemera").read_bytes())
    index = EncryptedIndex.load(folder / "index.hemera-encrypted-index")
    assert rows.ids.tolist() == [9, 2, 30, 4]
    assert index.ids.tolist() == [9, 30, 4]
    assert index.version == 2
    owner = Client(index.settings, folder / "owner-key.hemera")
    for each, expected in ((rows, [5, -100, 7, 33]), (index, [5, 7, 33])):
        assert ask(each, owner, [2.0])[0].round().tolist() == [2 * score for score in expected]
