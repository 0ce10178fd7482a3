"""Prepared queries of a served index."""

from __future__ import annotations

import pytest

from hemera import search
from hemera.errors import ParameterError
from hemera.serving.home import Home

from ...refusals import raises
from ..conftest import Running, serving
from ..server_requests import code
from .index_cases import KEYS, PREPARE, QUERY, best, client_of, found, local, queries


def test_prepared_queries(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    by_keys: list[int] = []
    many = search.Index.query_many
    monkeypatch.setattr(
        search.Index, "query_many", lambda self, asked: (by_keys.append(len(asked)), many(self, asked))[1]
    )
    ticket = search.Index.load(home.index_file("rows")).ticket_bytes  # type: ignore[attr-defined]
    token = home.clients.add("alice")
    x = queries(6)
    with serving(home, batch=2, prepared_bytes=5 * ticket) as server:
        with client_of(server, token) as client:
            index = client.index("rows")
            assert index.prepare(3) == 3  # in two requests
            assert server.metric("hemera_prepared_queries") == 3
            assert found(index.query(x[0], k=2))[1] == best(x[:1], 2)[1][0]
            assert (server.metric("hemera_prepared_queries"), by_keys) == (2, [])
            assert index.prepare(4) == 3  # no room for more than five
            assert server.metric("hemera_prepared_queries") == 5
            for row in x[1:]:
                assert found(index.query(row[None], k=2)) == best(row[None], 2)
            assert (server.metric("hemera_prepared_queries"), by_keys) == (0, [])
            assert index._client.prepared == 1  # its seed the server has no ticket for
            assert found(index.query(x[0], k=2))[1] == best(x[:1], 2)[1][0]
            assert by_keys == [1]
            raises(ParameterError, "1 to 100000", index.prepare, 0)
        # Twice the same message: the second time its keys answer, with the same bits.
        own = local(server, token)
        with server.http(token) as http:
            assert http.post(PREPARE, content=own.prepare(1)).json() == {"prepared": 1}
            sent = own.query(x[0], prepared=True)
            assert http.post(QUERY, content=sent).content == http.post(QUERY, content=sent).content
            assert by_keys == [1, 1]
            # Several queries by the seed of one: keys answer all of them.
            assert http.post(PREPARE, content=own.prepare(2)).status_code == 201
            # Keys of another secret key: tickets of those before are gone.
            assert server.metric("hemera_prepared_queries") == 2
            assert http.put(KEYS, content=own.keys).status_code == 201
            assert server.metric("hemera_prepared_queries") == 0
    # After a restart the client's prepared queries are answered all the same.
    with serving(home) as server, client_of(server, token) as client:
        index = client.index("rows")
        assert index.prepare(1) == 1
        server.service.caches[0].drop(server.service.clients.of_token(token) or "", "rows")
        assert found(index.query(x[0], k=2))[1] == best(x[:1], 2)[1][0]


def test_tickets_are_each_tenants_own(server: Running, home: Home) -> None:
    """A seed that another tenant prepared is not answered by that tenant's ticket."""
    tokens = [home.clients.add(name) for name in ("alice", "bob")]
    alice, bob = (local(server, token) for token in tokens)
    with server.http(tokens[0]) as first, server.http(tokens[1]) as second:
        assert first.post(PREPARE, content=alice.prepare(1)).status_code == 201
        sent = alice.query(queries(1)[0], prepared=True)
        assert second.post(QUERY, content=sent).status_code == 200  # by bob's keys: of use to nobody
        assert server.metric("hemera_prepared_queries") == 1
        answer = first.post(QUERY, content=sent)
        assert server.metric("hemera_prepared_queries") == 0
        assert found(alice.decrypt(answer.content, k=2))[1] == best(queries(1), 2)[1][0]
    assert bob.prepared == 0


def test_a_second_query_under_one_seed_is_refused(server: Running, home: Home) -> None:
    """Whether its ticket answered the first one, or its client's keys."""
    token = home.clients.add("alice")
    own = local(server, token)
    x = queries(3)
    with server.http(token) as http:
        for prepared in (1, 0):
            message = own.prepare(1)
            if prepared:
                assert http.post(PREPARE, content=message).json() == {"prepared": 1}
            seed, zeros = own._prepared.value[0]
            own._prepared.value.append((seed, zeros.copy()))
            first, second = (own.query(row, prepared=True) for row in x[:2])
            answers = [http.post(QUERY, content=first) for _ in range(2)]  # the second one of a lost answer
            assert answers[0].content == answers[1].content
            assert found(own.decrypt(answers[0].content, k=2))[1] == best(x[:1], 2)[1][0]
            refused = http.post(QUERY, content=second)
            assert code(refused) == (422, "security")
            # Others are answered as before.
            answer = http.post(QUERY, content=own.query(x[2]))
            assert found(own.decrypt(answer.content, k=2))[1] == best(x[2:], 2)[1][0]
