"""Queries whose work an index did before they came."""

from __future__ import annotations

import numpy as np
import pytest

import hemera as hm
from hemera.search import Client, Index, wire

from .search_cases import bytes_of, floats


@pytest.mark.parametrize("exact", [False, True])
def test_prepared_queries_have_the_bits_of_others(exact: bool) -> None:
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
        with pytest.raises(hm.errors.MismatchError, match="serves once"):
            index.query(query, tickets)
        assert len(tickets) == left


def test_tickets_are_refused_for_what_they_were_not_made_for() -> None:
    errors = hm.errors
    index = Index(floats(30, 8, 26))
    client, other = Client(index.settings), Client(index.settings)
    keys = index.load_keys(client.keys)
    tickets = index.prepare(client.prepare(2), keys)
    x = floats(1, 8, 27)[0]
    with pytest.raises(errors.MismatchError, match="no ticket"):
        index.query(client.query(x), tickets)
    other.prepare(1)
    with pytest.raises(errors.MismatchError, match="no ticket"):
        index.query(other.query(x, prepared=True), tickets)
    with pytest.raises(errors.ParameterError, match="no prepared query"):
        other.query(x, prepared=True)
    with pytest.raises(errors.ParameterError, match="is one, not 2"):
        client.query([x, x], prepared=True)
    for count in (0, 100_001):
        with pytest.raises(errors.ParameterError, match="100000"):
            client.prepare(count)
    assert client.prepared == len(tickets) == 2
    # Another version of the index: keys do, and tickets stay as they are.
    index.add(x[None])
    query = client.query(x, prepared=True)
    with pytest.raises(errors.MismatchError, match="version 1 of the index, which is at 2"):
        index.query(query, tickets)
    assert len(tickets) == 2
    assert client.decrypt(index.query(query, keys), 1)[1].tolist() == [30]
    # Messages.
    message = client.prepare(1)
    with pytest.raises(errors.MismatchError, match="other settings"):
        Index(floats(30, 8, 28)).prepare(message, client.keys)
    header = {"settings": index.settings.digest, "count": 1}
    for changed, body in [
        (header, bytes(31)),
        ({**header, "count": 0}, b""),
        ({**header, "count": 2}, bytes(32)),
    ]:
        with pytest.raises(errors.FormatError):
            index.prepare(wire.pack("preparation", changed, body), keys)
    with pytest.raises(TypeError):
        index.prepare(message, tickets)  # type: ignore[arg-type]
    index.remove(index.ids)
    with pytest.raises(errors.MismatchError, match="no row"):
        index.prepare(message, keys)


def test_prepared_queries_have_seeds_of_their_own() -> None:
    index = Index(floats(4, 8, 29))
    client = Client(index.settings)
    _, body = wire.unpack("preparation", client.prepare(20), {"settings": str, "count": int})
    seeds = {bytes(body[at : at + 32]) for at in range(0, len(body), 32)}
    assert len(seeds) == 20
    x = floats(1, 8, 30)[0]
    queries = [client.query(x, prepared=True) for _ in range(20)]
    assert {bytes(q[-32 - 48 - 32 : -32 - 48]) for q in queries} == seeds
    assert len({q[-80:-32] for q in queries}) == 20


def test_prepared_answers_have_ids_and_norms() -> None:
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
