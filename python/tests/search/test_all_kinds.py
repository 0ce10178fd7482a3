"""What all kinds of indexes and their clients have: files, ids, keys, and messages that are refused."""

import numpy as np
import pytest

from hemera import errors
from hemera.search import Client, Index, Settings, Threshold, Top, wire
from hemera.search.index import settings_of

from ..refusals import raises

pytestmark = pytest.mark.usefixtures("small_rings")

KINDS = {
    "index": None,
    "encrypted index": None,
    "threshold index": Threshold(margin=2.0**-3),
    "encrypted threshold index": Threshold(margin=2.0**-3),
    "top index": Top(margin=2.0**-2, rows=16),
}
ROWS = np.vstack([np.eye(4), -np.eye(4)])
X = np.array([0.1, 0.0, 3.0, 0.2])
NEAREST = 2
"""The row next to X, whichever way it is found."""
MOST = 2**62 - 1


class Tried:
    """An index of a kind, and its client."""

    def __init__(self, kind, rows=ROWS, ids=None):
        self.kind, answers = kind, KINDS[kind]
        if kind.startswith("encrypted"):
            self.client = Client.owning(rows, answers=answers)
            self.index = Index(self.client.encrypt(rows, ids=ids))
        else:
            self.index = Index(rows, answers=answers, ids=ids)
            self.client = Client(self.index.settings)

    def add(self, rows, ids=None):
        if self.kind.startswith("encrypted"):
            return self.index.add(self.client.encrypt(rows, ids=ids)).tolist()
        return self.index.add(rows, ids=ids).tolist()

    def query(self, client=None, at=X):
        options = {"threshold": {"threshold": 0.5}, "top": {"k": 1}}
        return (client or self.client).query(at, **options.get(self.client.settings.answers.kind, {}))

    def found(self, answer, client=None):
        told = (client or self.client).decrypt(answer)
        if isinstance(told, tuple):
            return [int(told[1][np.argmax(told[0])])]
        return told.ids.tolist()


@pytest.fixture(params=list(KINDS))
def tried(request):
    return Tried(request.param)


def test_a_file_is_the_index(tried, tmp_path):
    index, client, path = tried.index, tried.client, tmp_path / "index"
    index.remove([7])
    assert tried.add(ROWS[7:]) == [8]
    index.save(path)
    client.secret_key.save(tmp_path / "key")
    again = Index.load(path, threads=1)
    assert (again.kind, repr(again)) == (tried.kind, repr(index))
    assert (again.settings, again.version) == (index.settings, index.version) == (settings_of(path), 3)
    assert again.ids.tolist() == index.ids.tolist() == [*range(7), 8]
    assert again.expected_error == index.expected_error
    query = tried.query()
    answer = again.query(query, client.keys)
    assert answer == index.query(query, client.keys)
    assert tried.found(answer) == [NEAREST]
    back = Client(bytes(index.settings), tmp_path / "key")  # on another day
    assert tried.found(again.query(tried.query(back), client.keys), back) == [NEAREST]
    tried.index = again
    assert tried.add(ROWS[:1]) == [9]
    data = path.read_bytes()
    for wrong in (
        data[:-1],
        data[:30],
        data[:-40] + bytes([data[-40] ^ 1]) + data[-39:],
        b"",
        b"rubbish",
        query,
    ):
        raises(errors.FormatError, "", Index.load, wrong)
    raises(errors.FormatError, "settings' of a search", Index.load, bytes(index.settings))
    raises(errors.FileError, "", Index.load, tmp_path / "none")


def test_files_without_settings_are_refused(tried):
    for header in ({}, {"settings": None}, {"settings": []}, {"settings": {}}):
        for read in (Index.load, settings_of):
            raises(errors.FormatError, "", read, wire.pack(tried.kind, dict(header)))


@pytest.mark.parametrize("kind", KINDS)
def test_ids_are_from_0_and_go_on_after_the_largest(kind):
    tried = Tried(kind, ids=[5, 40, 0, 3, 8, 1, 9, 7])
    index, client = tried.index, tried.client
    assert index.ids.tolist() == [5, 40, 0, 3, 8, 1, 9, 7]
    assert tried.found(index.query(tried.query(), client.keys)) == [0]
    for ids, named in (([100], [100]), ([6], [6]), (None, [101]), ([MOST - 1], [MOST - 1]), (None, [MOST])):
        assert tried.add(ROWS[:1], ids) == named
    before, version = index.ids.tolist(), index.version
    raises(errors.ParameterError, "no ids above the largest", tried.add, ROWS[:1])
    for wrong in (-1, MOST + 1, 2**63 - 1, np.uint64(2**63)):
        for refuse in (lambda ids: tried.add(ROWS[:1], ids), index.remove):
            raises(errors.ParameterError, r"from 0 to 2\^62 - 1", refuse, np.array([wrong]))
    for ids, error, told in (
        ([MOST], errors.ParameterError, f"a row {MOST} already"),
        ([20, 20], errors.ParameterError, "twice"),
        ([20, 21, 22], errors.MismatchError, "3 ids"),
        ([0.5], TypeError, "ids"),
    ):
        raises(error, told, tried.add, ROWS[: 2 if len(ids) > 1 else 1], ids)
    for ids, told in (([5, 50], "no row 50"), ([5, 5], "twice")):
        raises(errors.ParameterError, told, index.remove, ids)
    assert (index.ids.tolist(), index.version) == (before, version)
    index.remove(np.setdiff1d(before, [0, MOST]))
    assert index.ids.tolist() == [0, MOST]
    assert tried.found(index.query(tried.query(), client.keys)) == [0]
    index.remove([MOST, 0])
    assert len(index) == 0
    raises(errors.MismatchError, "no row", index.query, tried.query(), client.keys)
    assert tried.add(ROWS, range(20, 28)) == list(range(20, 28))
    assert tried.found(index.query(tried.query(), client.keys)) == [20 + NEAREST]


def test_damaged_messages(tried):
    index, client = tried.index, tried.client
    query, loaded = tried.query(), index.load_keys(client.keys)
    answer = index.query(query, loaded)
    for message, read in (
        (query, lambda data: index.query(data, loaded)),
        (answer, client.decrypt),
        (bytes(index.settings), Settings.load),
    ):
        for place in (0, 20, 60, len(message) // 2, len(message) - 1):
            broken = bytearray(message)
            broken[place] ^= 1
            raises(errors.FormatError, "", read, bytes(broken))
        for wrong in (message[:-1], message[:50], message[:-50] + message[-49:], b"", b"x" * 100):
            raises(errors.FormatError, "", read, wrong)
    for message, read in ((answer, lambda data: index.query(data, loaded)), (query, client.decrypt)):
        raises(errors.FormatError, "of a search, where a", read, message)
    raises(errors.FormatError, "", index.query, query, client.keys[:-5])
    raises(TypeError, "keys", index.query, query, "keys")
    assert tried.found(answer) == [NEAREST]


def test_an_answer_is_decrypted_once_and_by_its_client(tried):
    index, client = tried.index, tried.client
    given_up, query = tried.query(), tried.query()
    answers = index.query_many([(each, client.keys) for each in (given_up, query)])
    waits = pytest.raises(errors.MismatchError, match="no query of this client that waits")
    other = Client(index.settings, bytes(client._context.generate_secret_key()))
    other.forget(query)  # another's query
    client.forget(given_up)
    client.forget(given_up)
    for own, answer in ((client, answers[0]), (other, answers[1])):
        with waits:
            own.decrypt(answer)
    other._waiting = dict(client._waiting)
    raises(errors.NoiseError, "", other.decrypt, answers[1])
    assert tried.found(answers[1]) == [NEAREST]
    with waits:
        client.decrypt(answers[1])
    assert client._waiting == {}


@pytest.mark.parametrize("kind", KINDS)
def test_messages_of_other_settings_and_kinds(kind):
    tried, x = Tried(kind), np.ones(4)
    other_kind = "threshold index" if kind == "top index" else "top index"
    refused = pytest.raises(
        (errors.MismatchError, errors.FormatError), match=r"other settings|of a search, where"
    )
    for other in (Tried(kind, -3 * ROWS + 0.1 * x), Tried(kind, np.eye(5)), Tried(other_kind)):
        query = other.query(at=np.ones(other.index.settings.dims))
        if other.index.settings == tried.index.settings:
            continue  # cosines of vectors of one length
        with refused:
            tried.index.query(query, tried.client.keys)
        with refused:
            tried.client.decrypt(other.index.query(query, other.client.keys))


def test_keys_are_all_or_refused(tried):
    index, client, secret = tried.index, tried.client, tried.client.secret_key
    program, context = index.settings.program, secret.context
    program.require_keys(index.load_keys(client.keys))
    assert len(client.keys) < program.key_bytes * 1.1
    few = bytes(context.generate_keys(secret, public_key=False))
    raises(errors.MissingKeyError, "lack the automorphism", program.require_keys, index.load_keys(few))
    raises(errors.MissingKeyError, "", index.query, tried.query(), few)
    if tried.kind == "encrypted index":
        others = Tried("index").client.keys  # which need none for products
    else:
        steps = [1 << i for i in range(10)]
        others = bytes(context.generate_keys(secret, relinearization=False, rotations=steps))
    if tried.kind != "index":
        raises(errors.MissingKeyError, "for products", program.require_keys, index.load_keys(others))
