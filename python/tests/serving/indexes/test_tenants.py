"""Tenants of a served index, each with its own keys."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from hemera import search
from hemera.errors import MismatchError
from hemera.search import wire
from hemera.serving.home import Home

from ...refusals import raises
from ..conftest import BOUND, Running, serving, wait_until
from ..server_requests import code
from .index_cases import QUERY, best, found, held, local, queries


def test_tenants_share_a_pass_and_nothing_else(
    server: Running, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Queries of three tenants wait, and are answered together: each with the keys that its tenant sent."""
    ran: list[list[str]] = []
    many = search.Index.query_many

    def watched(self: search.Index, asked: Any) -> list[bytes]:
        ran.append([bytes(keys.to_bytes()) for _, keys in asked])  # type: ignore[misc]
        return many(self, asked)

    monkeypatch.setattr(search.Index, "query_many", watched)
    tokens = {name: home.clients.add(name) for name in ("alice", "bob", "carol")}
    clients = {name: local(server, token) for name, token in tokens.items()}
    x = {name: queries(2, seed) for seed, name in enumerate(tokens)}
    sent = {name: client.query(x[name]) for name, client in clients.items()}
    answers: dict[str, httpx.Response] = {}

    def ask(name: str) -> None:
        with server.http(tokens[name]) as http:
            answers[name] = http.post(QUERY, content=sent[name])

    with ThreadPoolExecutor(3) as pool:
        with held(server):
            asking = [pool.submit(ask, name) for name in tokens]
            wait_until(lambda: server.service.scheduler.waiting == 3)
        for each in asking:
            each.result(BOUND)
    assert [len(keys) for keys in ran] == [3]
    assert sorted(ran[0]) == sorted(client.keys for client in clients.values())  # type: ignore[type-var]
    digests = set()
    for name, client in clients.items():
        assert answers[name].headers["Hemera-Batch"] == "3"
        digests.add(answers[name].headers["Hemera-Keys"])
        for other in set(clients) - {name}:
            raises(MismatchError, "no query of this client", clients[other].decrypt, answers[name].content)
        assert found(client.decrypt(answers[name].content, k=5)) == best(x[name], 5)
    assert len(digests) == 3
    assert server.metric("hemera_batch_requests_count", model="rows") == 1


def test_a_bad_query_spoils_no_other(server: Running, home: Home) -> None:
    """Numbers that are no residues are noticed in the pass, which others share."""
    tokens = [home.clients.add(name) for name in ("alice", "bob")]
    alice, bob = (local(server, token) for token in tokens)
    good, bad = alice.query(queries(1)), bob.query(queries(1))
    header, body = wire.unpack("query", bad, {"settings": str, "count": int})
    spoilt = wire.pack("query", header, bytes(body[:32]), b"\xff" * (len(body) - 32))
    with ThreadPoolExecutor(2) as pool, server.http(tokens[0]) as first, server.http(tokens[1]) as second:
        with held(server):
            answers = [
                pool.submit(http.post, QUERY, content=data)
                for http, data in ((first, good), (second, spoilt))
            ]
            wait_until(lambda: server.service.scheduler.waiting == 2)
        right, wrong = (each.result(BOUND) for each in answers)
        assert code(wrong) == (422, "format")
        assert right.headers["Hemera-Batch"] == "1"
        assert found(alice.decrypt(right.content, k=3)) == best(queries(1), 3)
        assert second.post(QUERY, content=bob.query(queries(1))).status_code == 200


def test_tenants_take_turns(home: Home) -> None:
    """With a long queue and a short one, a pass has queries of both, and those that are left come next."""
    with serving(home, batch=4) as server:
        tokens = [home.clients.add(name) for name in ("alice", "bob")]
        clients = [local(server, token) for token in tokens]
        with ThreadPoolExecutor(9) as pool, server.http(tokens[0]) as many, server.http(tokens[1]) as few:
            with held(server):
                long, short = (
                    [
                        pool.submit(http.post, QUERY, content=client.query(queries(1, seed)))
                        for seed in range(count)
                    ]
                    for http, client, count in ((many, clients[0], 6), (few, clients[1], 3))
                )
                wait_until(lambda: server.service.scheduler.waiting == 9)
            answers = [[each.result(BOUND) for each in asked] for asked in (long, short)]
        sizes = [sorted(answer.headers["Hemera-Batch"] for answer in asked) for asked in answers]
        assert sizes == [["1", "4", "4", "4", "4", "4"], ["4", "4", "4"]]
        for client, asked in zip(clients, answers, strict=True):
            for seed, answer in enumerate(asked):
                assert found(client.decrypt(answer.content, k=2)) == best(queries(1, seed), 2)
