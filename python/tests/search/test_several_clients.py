"""Queries of several clients in one pass, and files of either kind of index."""

import numpy as np
import pytest

from hemera.errors import FormatError, MismatchError
from hemera.search import Client, Index, Settings
from hemera.search.answers import Scores

from ..refusals import raises

ROWS, DIMS = 4096 + 40, 12


def vectors(rows=ROWS, seed=1):
    return np.random.default_rng(seed).integers(-128, 128, (rows, DIMS)).astype(np.int8)


@pytest.mark.parametrize("metric", ["dot", "l2"])
def test_each_client_reads_its_own_scores(metric):
    database = vectors()
    index = Index(database, metric, ids=np.arange(ROWS) + 5, exact=True)
    alice, bob = Client(index.settings), Client(index.settings)
    queries = np.random.default_rng(2).integers(-127, 128, (4, DIMS))
    asked = [
        (alice.query(queries[0]), index.load_keys(alice.keys)),
        (bob.query(queries[1:3]), bob.keys),
        (alice.query(queries[3:]), alice.keys),
    ]
    answers = index.query_many(asked)
    assert answers == [index.query(query, keys) for query, keys in asked]
    wide = database.astype(np.int64)
    expected = queries @ wide.T
    if metric == "l2":
        expected = ((wide[None] - queries[:, None]) ** 2).sum(axis=2)
    raises(MismatchError, "no query of this client", alice.decrypt, answers[1])
    scores, ids = alice.decrypt(answers[0])
    assert scores.tolist() == expected[0].tolist()
    assert ids[0] == 5
    assert bob.decrypt(answers[1])[0].tolist() == expected[1:3].tolist()
    assert alice.decrypt(answers[2])[0].tolist() == expected[3:].tolist()


def test_encrypted_rows():
    database = vectors(300)
    owner = Client.owning(database, "l2", exact=True)
    index = Index(owner.encrypt(database))
    again = Client(owner.settings, bytes(owner.secret_key))
    queries = np.random.default_rng(3).integers(-127, 128, (3, DIMS))
    asked = [(owner.query(queries[0]), owner.keys), (again.query(queries[1:]), again.keys)]
    first, second = index.query_many(asked)
    assert [first, second] == [index.query(query, keys) for query, keys in asked]
    expected = ((database.astype(np.int64)[None] - queries[:, None]) ** 2).sum(axis=2)
    assert owner.decrypt(first)[0].tolist() == expected[0].tolist()
    assert again.decrypt(second)[0].tolist() == expected[1:].tolist()


def test_one_bad_message_answers_none():
    index = Index(vectors(20), "dot")
    client, other = Client(index.settings), Client(Settings(DIMS, "l2", Scores()))
    good = (client.query(np.ones(DIMS)), client.keys)
    assert index.query_many([]) == []
    raises(FormatError, "checksum", index.query_many, [good, (good[0][:-1] + b"?", client.keys)])
    with pytest.raises(MismatchError, match="other settings"):
        index.query_many([good, (other.query(np.ones(DIMS)), other.keys)])
    index.remove(np.arange(20))
    raises(MismatchError, "no row", index.query_many, [good])
