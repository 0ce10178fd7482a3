"""Limits of served indexes, and of each tenant's share of them."""

import random
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

import hemera as hm
from hemera import search
from hemera.client.problems import ServerError
from hemera.errors import MismatchError
from hemera.search import wire
from hemera.search.answers import Scores
from hemera.serving.session_cache import IndexSession, _passes

from ...refusals import raises
from ..conftest import BOUND, serving, wait_until
from ..server_requests import code
from .index_cases import DIMS, KEYS, PREPARE, QUERY, best, client_of, found, held, local, queries


def test_rubbish_is_refused(server, home):
    token = home.clients.add("alice")
    client = local(server, token)
    query, preparation = client.query(queries(1)), client.prepare(2)
    other = search.Client(search.Settings(DIMS, "l2", Scores(True)))
    ctx = hm.Context(client.settings.params, "cpu")
    few = bytes(ctx.generate_keys(ctx.generate_secret_key(), rotations=[1]))
    secret = bytes(client.secret_key)
    chance = random.Random(1)
    mixed = {"": b"", "rubbish": b"rubbish", "bit": query[:60] + bytes([query[60] ^ 4]) + query[61:]}
    with server.http(token) as http:
        for path, good in ((QUERY, query), (PREPARE, preparation)):
            wrong = [
                *mixed.values(),
                good[:-1],
                good + b"1",
                client.keys,
                bytes(client.settings),
                preparation if path == QUERY else query,
                *(chance.randbytes(chance.randrange(1, 300)) for _ in range(6)),
                *(good[: chance.randrange(len(good))] for _ in range(4)),
            ]
            for _ in range(8):
                damaged = bytearray(good)
                damaged[chance.randrange(len(good))] ^= 1 << chance.randrange(8)
                wrong.append(bytes(damaged))
            for body in wrong:
                status, word = code(http.post(path, content=body))
                assert (status, word) in ((422, "format"), (422, "mismatch")), body[:80]
            assert code(http.post(path, content=secret)) == (422, "secret_key")
            for header in (
                {},
                {"settings": 5, "count": 1},
                {"settings": client.settings.digest, "count": -1},
            ):
                kind = "query" if path == QUERY else "preparation"
                assert code(http.post(path, content=wire.pack(kind, header, bytes(64))))[0] == 422
        assert code(http.post(QUERY, content=other.query(queries(1)))) == (422, "mismatch")
        many = wire.pack("preparation", {"settings": client.settings.digest, "count": 33}, bytes(33 * 32))
        assert code(http.post(PREPARE, content=many)) == (422, "too_many")
        assert code(http.post(QUERY, content=client.query(queries(33)))) == (422, "too_many")
        parts = httpx.Request("POST", server.url, files={"other": query})
        kind = {"Content-Type": parts.headers["Content-Type"]}
        assert code(http.post(QUERY, content=parts.read(), headers=kind)) == (422, "format")
        # Keys: damaged, of others, and with another library's names. Those that are there stay.
        for body in (b"", b"rubbish", client.keys[:-1], query, few, bytes(client.settings.params)):
            assert code(http.put(KEYS, content=body))[0] == 422
        assert code(http.put(KEYS, content=secret)) == (422, "secret_key")
        approximate = search.Client(search.Settings(DIMS, "dot", Scores()))
        assert code(http.put(KEYS, content=approximate.keys)) == (422, "mismatch")
        assert http.post(QUERY, content=query).status_code == 200
        assert found(client.decrypt(http.post(QUERY, content=query).content, k=1)) == best(queries(1), 1)
    assert list(home.incoming.iterdir()) == []
    assert not any(secret[64:96] in path.read_bytes() for path in home.root.rglob("*") if path.is_file())
    assert server.metric("hemera_requests_total", model="rows", status="500") == 0


def test_limits(home):
    with serving(home, waiting_requests=2, request_bytes=4096, waiting_bytes=8 << 20) as server:
        token = home.clients.add("alice")
        client = local(server, token)
        body = client.query(queries(1))
        with ThreadPoolExecutor(2) as pool, server.http(token) as http:
            assert code(http.post(QUERY, content=bytes(5000))) == (413, "too_large")
            with held(server):
                waiting = [pool.submit(http.post, QUERY, content=body) for _ in range(2)]
                wait_until(lambda: server.service.scheduler.waiting == 2)
                refused = http.post(QUERY, content=body)
                assert code(refused) == (429, "queue_full")
                assert refused.headers["Retry-After"]
            assert [each.result(BOUND).status_code for each in waiting] == [200, 200]
    # An answer of 180 KB is most of what a client may have, a quarter of 1 MiB.
    with serving(home, request_bytes=4096, waiting_bytes=1 << 20) as server:
        token = home.clients.add("grace")
        client = local(server, token)
        body = client.query(queries(1))
        with ThreadPoolExecutor(1) as pool, server.http(token) as http:
            with held(server):
                waiting = [pool.submit(http.post, QUERY, content=body)]
                wait_until(lambda: server.service.scheduler.waiting == 1)
                assert code(http.post(QUERY, content=body)) == (429, "busy")
            assert waiting[0].result(BOUND).status_code == 200
    clock = [0.0]
    with serving(home, requests_per_second=1.0, burst_seconds=1.0, clock=lambda: clock[0]) as server:
        with server.http(home.clients.add("bob")) as http:
            assert http.get("/v1/indexes").status_code == 200
            assert code(http.post(QUERY, content=body)) == (429, "rate")
        with server.http(home.clients.add("carol")) as http:
            told = http.get("/v1/indexes/rows").json()
            assert told["rates"] == {"requests_per_second": 1.0, "bytes_per_second": None}
    with serving(home, store_bytes=100_000) as server, server.http(home.clients.add("dave")) as http:
        assert code(http.put(KEYS, content=client.keys)) == (507, "store_full")
    with serving(home, key_bytes=100_000) as server, server.http(home.clients.add("erin")) as http:
        assert code(http.put(KEYS, content=client.keys)) == (413, "too_large")
    with (
        serving(home, key_bytes=100_000) as server,
        client_of(server, home.clients.add("frank")) as remote,
        pytest.raises(ServerError, match="and the server takes 100000"),
    ):
        remote.index("rows").query(queries(1))


@pytest.mark.parametrize(
    ("counts", "most", "expected"),
    [
        ([], 4, []),
        ([1], 4, [[0]]),
        ([1, 1, 2, 1], 4, [[0, 1, 2], [3]]),
        ([4, 4], 4, [[0], [1]]),
        ([3, 2, 1], 4, [[0], [1, 2]]),
    ],
)
def test_passes(counts, most, expected):
    assert _passes(counts, most) == expected


def test_large_queries_take_several_passes(server, home, monkeypatch):
    """Memory for expanded queries bounds a pass, and a request."""
    token = home.clients.add("alice")
    client = local(server, token)
    served = server.service.indexes["rows"]
    expanded = served._index.settings.program.expanded_bytes
    assert expanded == DIMS * 262_144
    monkeypatch.setattr("hemera.search.scores.program._EXPANDED_BYTES", 3 * expanded - 1)
    assert served.queries == 2
    keys = server.service.keys(server.service.clients.of_token(token) or "", "rows")
    session = served.session(0, keys.library, keys.files)
    ran = []
    many = search.Index.query_many
    monkeypatch.setattr(
        search.Index, "query_many", lambda self, asked: (ran.append(len(asked)), many(self, asked))[1]
    )
    sent = [client.query(queries(count, count)) for count in (1, 2, 1)]
    inputs = [session.load({"query": each}) for each in sent]
    assert all(inputs[0].fit(each) for each in inputs)
    answers = session.run([each.values for each in inputs])
    assert ran == [1, 1, 1]
    for count, answer in zip((1, 2, 1), answers, strict=True):
        assert found(client.decrypt(answer, k=1)) == best(queries(count, count), 1)
    with server.http(token) as http:
        assert code(http.post(QUERY, content=client.query(queries(3)))) == (422, "too_many")
    assert isinstance(session, IndexSession)


def test_tenants_share_a_pass_and_nothing_else(server, home, monkeypatch):
    """Queries of three tenants wait, and are answered together: each with the keys that its tenant sent."""
    ran = []
    many = search.Index.query_many

    def watched(self, asked):
        ran.append([bytes(keys.to_bytes()) for _, keys in asked])
        return many(self, asked)

    monkeypatch.setattr(search.Index, "query_many", watched)
    tokens = {name: home.clients.add(name) for name in ("alice", "bob", "carol")}
    clients = {name: local(server, token) for name, token in tokens.items()}
    x = {name: queries(2, seed) for seed, name in enumerate(tokens)}
    sent = {name: client.query(x[name]) for name, client in clients.items()}
    answers = {}

    def ask(name):
        with server.http(tokens[name]) as http:
            answers[name] = http.post(QUERY, content=sent[name])

    with ThreadPoolExecutor(3) as pool:
        with held(server):
            asking = [pool.submit(ask, name) for name in tokens]
            wait_until(lambda: server.service.scheduler.waiting == 3)
        for each in asking:
            each.result(BOUND)
    assert [len(keys) for keys in ran] == [3]
    assert sorted(ran[0]) == sorted(client.keys for client in clients.values())
    digests = set()
    for name, client in clients.items():
        assert answers[name].headers["Hemera-Batch"] == "3"
        digests.add(answers[name].headers["Hemera-Keys"])
        for other in set(clients) - {name}:
            raises(MismatchError, "no query of this client", clients[other].decrypt, answers[name].content)
        assert found(client.decrypt(answers[name].content, k=5)) == best(x[name], 5)
    assert len(digests) == 3
    assert server.metric("hemera_batch_requests_count", model="rows") == 1


def test_a_bad_query_spoils_no_other(server, home):
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


def test_tenants_take_turns(home):
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
