"""Queries whose work an index did before they came."""

import base64
import functools
import itertools
from ast import literal_eval

import numpy as np
import pytest

import hemera as hm
from hemera.search import Client, Index, wire
from hemera.search.scores import tickets

from ..beside import together
from ..forked import in_child, taken_elsewhere
from ..refusals import raises, refuse_each
from .search_cases import bytes_of, floats


@pytest.mark.parametrize("exact", [False, True])
def test_prepared_queries_have_the_bits_of_others(exact):
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
        raises(hm.errors.MismatchError, "serves once", index.query, query, tickets)
        assert len(tickets) == left


def test_tickets_are_refused_for_what_they_were_not_made_for():
    errors = hm.errors
    index = Index(floats(30, 8, 26))
    client, other = Client(index.settings), Client(index.settings)
    keys = index.load_keys(client.keys)
    tickets = index.prepare(client.prepare(2), keys)
    x = floats(1, 8, 27)[0]
    raises(errors.MismatchError, "no ticket", index.query, client.query(x), tickets)
    other.prepare(1)
    raises(errors.MismatchError, "no ticket", index.query, other.query(x, prepared=True), tickets)
    raises(errors.ParameterError, "no prepared query", other.query, x, prepared=True)
    raises(errors.ParameterError, "is one, not 2", client.query, [x, x], prepared=True)
    refuse_each(client.prepare, (0, 100_001), errors.ParameterError, "100000")
    assert client.prepared == len(tickets) == 2
    # Another version of the index: keys do, and tickets stay as they are.
    index.add(x[None])
    query = client.query(x, prepared=True)
    raises(errors.MismatchError, "version 1 of the index, which is at 2", index.query, query, tickets)
    assert len(tickets) == 2
    assert client.decrypt(index.query(query, keys), 1)[1].tolist() == [30]
    # Messages.
    message = client.prepare(1)
    raises(errors.MismatchError, "other settings", Index(floats(30, 8, 28)).prepare, message, client.keys)
    header = {"settings": index.settings.digest, "count": 1}
    for changed, body in [
        (header, bytes(31)),
        ({**header, "count": 0}, b""),
        ({**header, "count": 2}, bytes(32)),
    ]:
        raises(errors.FormatError, "", index.prepare, wire.pack("preparation", changed, body), keys)
    raises(TypeError, "", index.prepare, message, tickets)
    index.remove(index.ids)
    raises(errors.MismatchError, "no row", index.prepare, message, keys)


def test_prepared_queries_have_seeds_of_their_own():
    index = Index(floats(4, 8, 29))
    client = Client(index.settings)
    _, body = wire.unpack("preparation", client.prepare(20), {"settings": str, "count": int})
    seeds = {bytes(body[at : at + 32]) for at in range(0, len(body), 32)}
    assert len(seeds) == 20
    x = floats(1, 8, 30)[0]
    queries = [client.query(x, prepared=True) for _ in range(20)]
    assert {bytes(q[-32 - 48 - 32 : -32 - 48]) for q in queries} == seeds
    assert len({q[-80:-32] for q in queries}) == 20


def test_prepared_answers_have_ids_and_norms():
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


def seed_of(query):
    return bytes(wire.unpack("query", query, {"settings": str, "count": int})[1][:32])


@pytest.mark.fact_of_the_cpu("children of fork() use contexts")
def test_no_two_processes_have_queries_of_one_seed():
    """Two queries with one seed reveal the difference of their messages: their second halves differ by it."""
    vectors = floats(30, 8, 33)
    index = Index(vectors)
    client = Client(index.settings)
    made = index.prepare(client.prepare(3), client.keys)

    def ask(row):
        refused = ""
        try:
            client.query(vectors[row], prepared=True)
        except hm.errors.ParameterError as error:
            refused = str(error)
        left = client.prepared
        client.prepare(2)  # its own
        sent = [client.query(vectors[row], prepared=True), client.query(vectors[row])]
        return [refused, str(left), *(base64.b64encode(each).decode() for each in sent)]

    sent = [client.query(vectors[0], prepared=True)]
    for row in (3, 7):
        refused, left, *queries = literal_eval(in_child(lambda row=row: ask(row)))
        assert "no prepared query is left" in refused
        assert left == "0"
        sent += map(base64.b64decode, queries)
    assert client.prepared == 2
    sent += [client.query(vectors[5], prepared=True) for _ in range(2)]
    assert len({seed_of(each) for each in sent}) == len(sent) == 7
    # The parent's have their tickets, and right answers.
    norms = np.linalg.norm(vectors, axis=1)
    scores, _ = client.decrypt(index.query(sent[-1], made))
    assert np.abs(scores - vectors @ vectors[5] / norms / norms[5]).max() < 0.03


@pytest.mark.fact_of_the_cpu("children of fork() use contexts")
def test_a_child_asks_while_a_thread_of_its_parent_holds_the_client():
    vectors = floats(30, 8, 34)
    index = Index(vectors)
    client = Client(index.settings)
    made = tickets_of(index, client, 2)

    def ask():
        client.prepare(1)
        query = client.query(vectors[4], prepared=True)
        assert made.memory_bytes == 2 * index.ticket_bytes
        return client.decrypt(index.query(query, client.keys), k=1)[1].tolist()

    for lock in (client._lock, index._lock, made._lock):
        end = taken_elsewhere(lock)
        try:
            assert in_child(ask) == "[4]"
        finally:
            end()


def tickets_of(index, client, count):
    return index.prepare(client.prepare(count), client.keys)


def test_a_second_query_under_one_seed_is_refused():
    vectors = floats(30, 8, 35)
    index = Index(vectors)
    client = Client(index.settings)
    made = tickets_of(index, client, 2)
    kept = client._prepared.value[0]
    kept = kept[0], kept[1].copy()
    first = client.query(vectors[1], prepared=True)
    client._prepared.value.appendleft(kept)  # as a process would have it that was forked by other means
    second = client.query(vectors[2], prepared=True)
    assert seed_of(first) == seed_of(second)
    assert client.decrypt(index.query(first, made), k=1)[1].tolist() == [1]
    raises(hm.errors.SecurityError, "each process make its own Client", index.query, second, made)
    # The same message may come again: a client sends it again where no answer came.
    raises(hm.errors.MismatchError, "serves once", index.query, first, made)
    # Tickets that these are joined to know it as well.
    others = tickets_of(index, client, 1)
    others.join(made)
    raises(hm.errors.SecurityError, "", index.query, second, others)
    third = client.query(vectors[3], prepared=True)
    assert client.decrypt(index.query(third, others), k=1)[1].tolist() == [3]


def test_seeds_are_remembered_up_to_a_number(monkeypatch):
    monkeypatch.setattr(tickets, "_SEEDS", 3)
    seeds = tickets.Seeds()
    for number in range(4):
        seeds.note(bytes([number]), b"first")
        seeds.note(bytes([number]), b"first")
    assert len(seeds._queries) == 3
    seeds.note(bytes([0]), b"second")  # forgotten, and takes the place of the oldest
    for number in (2, 3):
        raises(hm.errors.SecurityError, "", seeds.note, bytes([number]), b"second")
    others = tickets.Seeds()
    for number in (10, 11):
        others.note(bytes([number]), b"first")
    seeds.join(others)
    assert list(seeds._queries) == [bytes([0]), bytes([10]), bytes([11])]
    for number in (0, 10, 11):
        raises(hm.errors.SecurityError, "", seeds.note, bytes([number]), b"third")


def test_tickets_join_themselves_and_each_other():
    index = Index(floats(30, 8, 36))
    client = Client(index.settings)
    a, b = (tickets_of(index, client, 3) for _ in range(2))
    done = []

    def join(times):
        for number in range(times):
            (a, b)[number % 2].join((b, a)[number % 2])
            a.join(a)
        done.append(times)

    a.join(a)
    assert (len(a), len(b)) == (3, 3)
    together(*(functools.partial(join, times) for times in (2000, 2001, 2001)), seconds=20)
    assert sorted(done) == [2000, 2001, 2001]
    a.join(b)
    assert (len(a), len(b)) == (6, 0)
    # Each serves its own query, once.
    x = floats(6, 8, 37)
    queries = [client.query(row, prepared=True) for row in x]
    for left, query in zip(itertools.count(5, -1), queries, strict=False):
        client.decrypt(index.query(query, a))
        assert len(a) == left


def test_tickets_of_another_version_give_way():
    vectors = floats(30, 8, 38)
    index = Index(vectors)
    client = Client(index.settings)
    old = tickets_of(index, client, 2)
    index.add(vectors[:1])
    new = tickets_of(index, client, 1)
    old.join(new)
    assert (len(old), old.index_version, len(new)) == (1, 2, 0)
