"""Indexes on a server: clients search them by encrypted queries, each with its own keys."""

from __future__ import annotations

import contextlib
import json
import random
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from numpy.typing import NDArray

import hemera as hm
from hemera import search
from hemera.errors import MismatchError, ParameterError, SecurityError
from hemera.search import wire
from hemera.serving.index_sessions import IndexSession, _passes
from hemera.serving.problems import ServerError
from hemera.serving.service import Home
from hemera.serving.settings import Settings

from .conftest import BOUND, Process, Running, serving, wait_until

ROWS, DIMS = 300, 16
VECTORS = np.random.default_rng(7).integers(-128, 128, (ROWS, DIMS)).astype(np.int8)
KEYS, QUERY, PREPARE = (f"/v1/indexes/rows/{each}" for each in ("keys", "query", "prepare"))


def queries(count: int, seed: int = 1) -> NDArray[np.int64]:
    return np.random.default_rng(seed).integers(-127, 128, (count, DIMS))


def best(x: NDArray[Any], k: int) -> tuple[list[list[int]], list[list[int]]]:
    """Scores and rows of the largest inner products, by NumPy."""
    scores = x @ VECTORS.astype(np.int64).T
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(scores, order, axis=1).tolist(), order.tolist()


def found(answer: tuple[NDArray[Any], NDArray[Any]]) -> tuple[list[Any], list[Any]]:
    return answer[0].tolist(), answer[1].tolist()


def code(response: httpx.Response) -> tuple[int, str]:
    told = response.json()["error"]
    assert len(told["message"]) > 10
    return response.status_code, told["code"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the file `rows.index` of exact inner products."""
    folder = tmp_path_factory.mktemp("files")
    search.Index(VECTORS, "dot", exact=True).save(folder / "rows.index")
    return folder


@pytest.fixture
def home(tmp_path: Path, files: Path) -> Home:
    """A server's folder with the index."""
    made = Home(tmp_path / "home")
    assert made.add_index(files / "rows.index") == "rows"
    return made


@pytest.fixture
def server(home: Home) -> Iterator[Running]:
    with serving(home) as running:
        yield running


def client_of(server: Running, token: str, **options: Any) -> hm.Client:
    return hm.Client(server.url, token=token, seconds=BOUND, **options)


@contextlib.contextmanager
def held(server: Running) -> Iterator[None]:
    """Within it the device is busy: requests wait."""
    go = threading.Event()
    running = server.service.scheduler.call(lambda: go.wait(BOUND))
    try:
        yield
    finally:
        go.set()
        running.result(BOUND)


def local(server: Running, token: str) -> search.Client:
    """The search's own client, for requests by hand: its keys are uploaded."""
    with server.http(token) as http:
        told = http.get("/v1/indexes/rows").json()
        made = search.Client(search.Settings.from_fields(told["settings"]))
        assert http.put(KEYS, content=made.keys).status_code == 201
    return made


def test_five_lines(server: Running, home: Home) -> None:
    x = queries(1)[0]
    with hm.Client(server.url, token=home.clients.add("alice")) as client:
        scores, ids = client.index("rows").query(x, k=10)
    assert ([scores.tolist()], [ids.tolist()]) == best(x[None], 10)


def test_the_page(server: Running, home: Home) -> None:
    """The client that docs/search.md shows."""
    page = (Path(__file__).parents[3] / "docs" / "search.md").read_text(encoding="utf-8")
    (program,) = re.findall(
        r"^```python\n(.*?)^```", page.partition("## Served")[2].partition("\n## ")[0], re.M | re.S
    )
    for before, after in (("https://search.example.org", server.url), ('"documents"', '"rows"')):
        assert before in program
        program = program.replace(before, after)
    program = program.replace('"my-keys"', "str(folder)")
    space: dict[str, Any] = {
        "token": home.clients.add("alice"),
        "x": queries(2),
        "folder": home.root / "keys-of-alice",
    }
    exec(compile(program, "docs/search.md", "exec"), space)
    assert found((space["scores"], space["ids"])) == best(queries(2), 10)


def test_all_rows_and_many_queries(home: Home) -> None:
    """More queries than a request may have, and scores of all rows in the index's order."""
    with serving(home, batch=4) as server, client_of(server, home.clients.add("alice")) as client:
        index = client.index("rows")
        assert client.index("rows") is index
        x = queries(10)
        assert found(index.query(x, k=3)) == best(x, 3)
        scores, ids = index.query(x[:9], k=None)
        assert scores.tolist() == (x[:9] @ VECTORS.astype(np.int64).T).tolist()
        assert ids.tolist() == [list(range(ROWS))] * 9
        assert index.query(x[:1]).__getitem__(0).shape == (1, 10)
        assert server.metric("hemera_requests_total", model="rows", status="200") == 3 + 3 + 1
        assert server.metric("hemera_key_uploads_total", status="201") == 1
        with pytest.raises(MismatchError, match="has 16 numbers"):
            index.query(np.empty((0, DIMS), np.int64))
        with pytest.raises(MismatchError, match="has 16 numbers"):
            index.query(np.ones((1, 2, DIMS), np.int64))


@pytest.mark.parametrize("metric", ["cosine", "l2"])
def test_floats(home: Home, tmp_path: Path, metric: str) -> None:
    """Of a second index on the server, whose rows have names of their own."""
    vectors = np.random.default_rng(3).normal(size=(500, 40)).astype(np.float32)
    index = search.Index(vectors, metric, ids=np.arange(500) * 3)  # type: ignore[arg-type]
    index.save(tmp_path / "second.hemera-index")
    home.add_index(tmp_path / "second.hemera-index")
    x = np.random.default_rng(4).normal(size=40)
    wide = vectors.astype(np.float64)
    expected = (
        wide @ x / np.linalg.norm(wide, axis=1) / np.linalg.norm(x)
        if metric == "cosine"
        else ((wide - x) ** 2).sum(axis=1)
    )
    order = np.argsort(expected if metric == "l2" else -expected)
    with serving(home) as server, client_of(server, home.clients.add("alice")) as client:
        assert [each["name"] for each in client.indexes()] == ["rows", "second"]
        remote = client.index("second")
        scores, ids = remote.query(x, k=500)
        told = remote.describe()["expected_error"]
        assert told == {
            "noise": index.expected_error.noise,
            "quantization": index.expected_error.quantization,
        }
        error = 8 * (told["quantization"] + told["noise"]) * (1 if metric == "cosine" else np.linalg.norm(x))
        # Of distances, that of the squared norms as well.
        error += 0.2 if metric == "l2" else 0
        assert np.abs(scores - expected[ids // 3]).max() < error
        assert ids[0] == 3 * order[0]
        assert found(client.index("rows").query(queries(1), k=2)) == best(queries(1), 2)


def test_an_encrypted_index(home: Home, tmp_path: Path) -> None:
    owner = search.Client.owning(VECTORS, "dot", exact=True)
    search.EncryptedIndex(owner.encrypt(VECTORS)).save(tmp_path / "vault.hemera-index")
    home.add_index(tmp_path / "vault.hemera-index")
    owner.secret_key.save(tmp_path / "owner.key")
    x = queries(3)
    token = home.clients.add("alice")
    with serving(home) as server, client_of(server, token, folder=tmp_path / "mine") as client:
        vault = client.index("vault", secret_key=tmp_path / "owner.key")
        assert "encrypted" in repr(vault)
        assert found(vault.query(x, k=4)) == best(x, 4)
        with pytest.raises(ParameterError, match="no prepared queries"):
            vault.prepare(1)
        with pytest.raises(ParameterError, match="only the key of its owner"):
            client.index("vault")
        # Somebody else's key, and keys that are not for products.
        other = client.index(
            "vault", secret_key=bytes(search.Client(search.Settings(DIMS, "dot", True)).secret_key)
        )
        scores, _ = other.query(x, k=None)
        assert np.abs(scores - x @ VECTORS.astype(np.int64).T).max() > 1000
        with server.http(token) as http:
            plain = search.Client(search.Settings(DIMS, "dot", True))
            assert code(http.put("/v1/indexes/vault/keys", content=plain.keys)) == (422, "missing_key")
            # A message of the other kind.
            kept = search.Client(owner.settings, bytes(owner.secret_key))
            assert http.put("/v1/indexes/vault/keys", content=kept.keys).status_code == 201
            seeds = wire.pack("preparation", {"settings": owner.settings.digest, "count": 1}, bytes(32))
            assert code(http.post("/v1/indexes/vault/prepare", content=seeds)) == (422, "mismatch")
        # The folder has no key of an owner, and the clear index's key is made there.
        assert not list((tmp_path / "mine").glob("secret-*"))
        client.index("rows")
        assert len(list((tmp_path / "mine").glob("secret-*"))) == 1
    with serving(home) as server, client_of(server, token) as client:
        vault = client.index("vault", secret_key=bytes(owner.secret_key))
        assert found(vault.query(x[0], k=1))[1] == best(x[:1], 1)[1][0]


def test_descriptions(server: Running, home: Home) -> None:
    with client_of(server, home.clients.add("alice")) as client:
        (told,) = client.indexes()
        assert told == {
            "name": "rows",
            "kind": "index",
            "rows": ROWS,
            "dims": DIMS,
            "metric": "dot",
            "exact": True,
        }
        described = client.index("rows").describe()
        assert described["limits"]["queries"] == 32
        assert (described["degree"], described["security"]) == (8192, ">=192")
        assert client.index("rows").settings == search.load(home.index_file("rows")).settings
        assert client.models() == []
        with pytest.raises(ServerError, match="no index") as error:
            client.index("other")
        assert (error.value.status, error.value.code) == (404, "unknown_index")
        with pytest.raises(ServerError, match="no model"):
            client.predict("rows", np.ones((1, DIMS)))
    with (
        client_of(server, home.clients.add("bob"), security=256) as client,
        pytest.raises(SecurityError, match="256"),
    ):
        client.index("rows")
    health = httpx.get(server.url + "/health", trust_env=False).json()
    assert (health["status"], health["models"], health["indexes"]) == ("ok", [], ["rows"])
    api = httpx.get(server.url + "/openapi.json", trust_env=False).json()["paths"]
    assert {"401", "409", "413", "422", "429", "503"} <= set(
        api["/v1/indexes/{index}/query"]["post"]["responses"]
    )


def test_each_route_wants_a_token(server: Running, home: Home) -> None:
    routes = [("GET", "/v1/indexes"), ("GET", "/v1/indexes/rows"), ("POST", QUERY), ("POST", PREPARE)]
    routes += [(method, KEYS) for method in ("GET", "PUT", "DELETE")]
    home.clients.add("alice")
    with server.http("alice.guess") as http:
        for method, path in routes:
            body = b"1" if method in ("PUT", "POST") else None
            assert code(http.request(method, path, content=body)) == (401, "unknown_token")
    with server.http(home.clients.add("bob")) as http:
        for method, path in routes[1:]:
            body = b"1" if method in ("PUT", "POST") else None
            there = http.request(method, path.replace("rows", "others"), content=body)
            assert code(there) == (404, "unknown_index")
        assert code(http.get(QUERY)) == (405, "unknown_method")
        assert code(http.get(KEYS)) == (404, "no_keys")
        assert code(http.delete(KEYS)) == (404, "no_keys")
        assert code(http.post(QUERY, content=b"1")) == (409, "no_keys")
        assert code(http.post(PREPARE, content=b"1")) == (409, "no_keys")


def test_tenants_share_a_pass_and_nothing_else(
    server: Running, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Queries of three tenants wait, and are answered together: each with the keys that its tenant sent."""
    ran: list[list[str]] = []
    many = search.BaseIndex.query_many

    def watched(self: search.BaseIndex, asked: Any) -> list[bytes]:
        ran.append([bytes(keys.to_bytes()) for _, keys in asked])  # type: ignore[misc]
        return many(self, asked)

    monkeypatch.setattr(search.BaseIndex, "query_many", watched)
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
            with pytest.raises(MismatchError, match="no query of this client"):
                clients[other].decrypt(answers[name].content)
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
        assert second.post(QUERY, content=bad).status_code == 200


def test_tenants_take_turns(home: Home) -> None:
    """Of a long queue and a short one, a pass has queries of both, and those that are left come next."""
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


def test_many_clients_at_once(server: Running, home: Home) -> None:
    with contextlib.ExitStack() as stack:
        indexes = [
            stack.enter_context(client_of(server, home.clients.add(f"client{i}"))).index("rows")
            for i in range(3)
        ]

        def ask(at: int) -> None:
            x = queries(1 + at % 3, at)
            assert found(indexes[at % 3].query(x, k=3)) == best(x, 3)

        with ThreadPoolExecutor(9) as pool:
            list(pool.map(ask, range(60), timeout=BOUND))
    assert server.metric("hemera_requests_total", model="rows", status="200") == 60
    assert server.metric("hemera_key_uploads_total", status="201") == 3


def test_rubbish_is_refused(server: Running, home: Home) -> None:
    token = home.clients.add("alice")
    client = local(server, token)
    query, preparation = client.query(queries(1)), client.prepare(2)
    other = search.Client(search.Settings(DIMS, "l2", True))
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
                *(chance.randbytes(chance.randrange(1, 300)) for _ in range(20)),
                *(good[: chance.randrange(len(good))] for _ in range(10)),
            ]
            for _ in range(20):
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
        approximate = search.Client(search.Settings(DIMS, "dot"))
        assert code(http.put(KEYS, content=approximate.keys)) == (422, "mismatch")
        assert http.post(QUERY, content=query).status_code == 200
        assert found(client.decrypt(http.post(QUERY, content=query).content, k=1)) == best(queries(1), 1)
    assert list(home.incoming.iterdir()) == []
    assert not any(secret[64:96] in path.read_bytes() for path in home.root.rglob("*") if path.is_file())
    assert server.metric("hemera_requests_total", model="rows", status="500") == 0


def test_limits(home: Home) -> None:
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


def test_memory_of_answers_counts(home: Home) -> None:
    """A request counts with its answer, which is far larger than its body."""
    with serving(home) as server:
        served = server.service.index("rows")
        client = search.Client(served._index.settings)
        for count in (1, 3):
            told = served.memory_of({"query": client.query(queries(count))})
            answer = served._index.query(client.query(queries(count)), client.keys)
            assert len(answer) < told < 3 * len(answer)


def test_a_restart_keeps_keys(home: Home, tmp_path: Path) -> None:
    token = home.clients.add("alice")
    x = queries(2)
    for uploads in (1, 0):
        with serving(home) as server, client_of(server, token, folder=tmp_path / "mine") as client:
            assert found(client.index("rows").query(x, k=2)) == best(x, 2)
            assert server.metric("hemera_key_uploads_total", status="201") == uploads
    (secret,) = (tmp_path / "mine").glob("secret-*")
    assert secret.stat().st_mode & 0o077 == 0
    with serving(home) as server, client_of(server, token, folder=tmp_path / "mine") as client:
        index = client.index("rows")
        index.query(x)
        server.service.remove_keys(server.service.clients.of_token(token) or "", "rows")
        assert found(index.query(x, k=2)) == best(x, 2)  # sent again
        index.remove_keys()
        with server.http(token) as http:
            assert code(http.get(KEYS)) == (404, "no_keys")
        index.upload_keys()
        with server.http(token) as http:
            assert http.get(KEYS).json()["bytes"] == len(index._client.keys)
        # Another client of this token, without the folder.
        with client_of(server, token) as other:
            assert found(other.index("rows").query(x, k=1)) == best(x, 1)
        assert found(index.query(x, k=2)) == best(x, 2)
        home.remove_client("alice")
        with pytest.raises(ServerError, match="token"):
            index.query(x)
        assert index._client._asked == {}
        server.service.sweep()
        assert len(server.service.caches[0]) == 0


def test_prepared_queries(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    by_keys: list[int] = []
    many = search.BaseIndex.query_many
    monkeypatch.setattr(
        search.BaseIndex, "query_many", lambda self, asked: (by_keys.append(len(asked)), many(self, asked))[1]
    )
    ticket = search.load(home.index_file("rows")).ticket_bytes  # type: ignore[attr-defined]
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
            with pytest.raises(ParameterError, match="1 to 100000"):
                index.prepare(0)
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


def test_two_devices(home: Home) -> None:
    """Each has the index; a client's queries go where its keys are."""
    with serving(home, device="cpu,cpu") as server, contextlib.ExitStack() as stack:
        indexes = [
            stack.enter_context(client_of(server, home.clients.add(f"client{i}"))).index("rows")
            for i in range(4)
        ]
        for seed, index in enumerate(indexes):
            assert found(index.query(queries(2, seed), k=2)) == best(queries(2, seed), 2)
        assert [len(cache) for cache in server.service.caches] == [2, 2]
        with ThreadPoolExecutor(8) as pool:
            asked = [(index, queries(1, seed)) for seed, index in enumerate(indexes * 6)]
            for answer, (_, x) in zip(
                pool.map(lambda each: each[0].query(each[1], k=2), asked), asked, strict=True
            ):
                assert found(answer) == best(x, 2)


def test_damaged_files_and_clashing_names(home: Home, tmp_path: Path, files: Path, package: Any) -> None:
    package.save(tmp_path / "scores.hemera-model")
    home.add_model(tmp_path / "scores.hemera-model")
    with pytest.raises(hm.errors.FormatError, match="does not begin"):
        home.add_index(tmp_path / "scores.hemera-model")
    search.Index(VECTORS, "dot").save(tmp_path / "scores.index")
    with pytest.raises(ParameterError, match="a model 'scores' already"):
        home.add_index(tmp_path / "scores.index")
    search.Index(VECTORS, "dot").save(tmp_path / "a b.index")
    with pytest.raises(ParameterError, match="needs a name"):
        home.add_index(tmp_path / "a b.index")
    home.index_file("scores").write_bytes((files / "rows.index").read_bytes())
    with pytest.raises(ParameterError, match="an index 'scores' already"):
        home.add_model(tmp_path / "scores.hemera-model")
    home.index_file("broken").write_bytes((files / "rows.index").read_bytes()[:-1])
    empty = search.Index(VECTORS, "dot")
    empty.remove(np.arange(ROWS))
    empty.save(tmp_path / "empty.index")
    home.add_index(tmp_path / "empty.index")
    home.index_file("a b").write_bytes(b"")
    with serving(home) as server:
        assert set(server.service.damaged) == {"a b", "broken", "empty", "scores"}
        told = httpx.get(server.url + "/health", trust_env=False).json()
        assert (told["models"], told["indexes"]) == (["scores"], ["rows"])
        with client_of(server, home.clients.add("alice"), security=None) as client:
            assert found(client.index("rows").query(queries(1), k=1)) == best(queries(1), 1)
            assert client.predict("scores", np.ones((1, 8))).shape == (1, 3)
    home.remove_index("broken")
    with pytest.raises(MismatchError, match="no index 'broken'"):
        home.remove_index("broken")


def test_changes_while_the_server_runs(
    home: Home, tmp_path: Path, files: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Rows that are added and removed come by a new file, and take the keys and clients that there are."""
    x = queries(2)
    with serving(home, sweep_seconds=1000) as server, client_of(server, home.clients.add("alice")) as client:
        service = server.service
        index = client.index("rows")
        assert found(index.query(x, k=1)) == best(x, 1)
        assert index.prepare(2) == 2
        service.sweep_indexes()  # nothing has changed
        assert server.metric("hemera_prepared_queries") == 2
        own = search.load(home.index_file("rows"))
        assert isinstance(own, search.Index)
        own.add(np.full((1, DIMS), 127, np.int8), ids=[9999])
        own.remove([0, 1])
        own.save(tmp_path / "rows.index")
        home.add_index(tmp_path / "rows.index")
        old = service.index("rows")
        assert found(index.query(x, k=1)) == best(x, 1)  # by the old file
        session = service.caches[0].peek(*service.caches[0].places[0], service.store.sets()[0].generation)
        service.sweep_indexes()
        assert server.metric("hemera_prepared_queries") == 0
        # Whoever puts a session of the old one again, as an upload at this time does, serves nobody with it.
        assert session is not None
        service.caches[0].put(
            service.store.sets()[0].client, "rows", service.store.sets()[0].generation, session
        )
        wide = np.append(VECTORS, np.full((1, DIMS), 127, np.int8), axis=0).astype(np.int64)
        scores, ids = index.query(x, k=None)
        assert sorted(ids[0].tolist()) == [*range(2, ROWS), 9999]
        assert scores.tolist() == (x @ wide[np.minimum(ids[0], ROWS)].T).tolist()
        assert server.metric("hemera_key_uploads_total", status="201") == 1
        assert index.describe()["rows"] == ROWS - 1
        assert service.index("rows") is not old
        # A damaged file leaves the index; it is told once.
        home.index_file("rows").write_bytes(b"rubbish")
        caplog.clear()
        for _ in range(2):
            service.sweep_indexes()
        assert [each.getMessage() for each in caplog.records if each.levelname == "ERROR"] == ["damaged"]
        assert "rows" in service.damaged
        assert index.query(x, k=1)[0].shape == (2, 1)
        # Other settings: clients of the old ones are told.
        search.Index(VECTORS, "l2", exact=True).save(tmp_path / "rows.index")
        home.add_index(tmp_path / "rows.index")
        home.index_file("second").write_bytes((files / "rows.index").read_bytes())
        service.sweep_indexes()
        assert service.damaged == {}
        with pytest.raises(MismatchError, match="other settings"):
            index.query(x)
        assert found(client.index("second").query(x, k=2)) == best(x, 2)
        home.remove_index("second")
        service.sweep_indexes()
        with pytest.raises(ServerError, match="no index 'second'"):
            client.index("second").query(x)
        assert [each["name"] for each in client.indexes()] == ["rows"]
        assert len(service.caches[0]) == 0
    with serving(home, sweep_seconds=0.05) as server:
        home.remove_index("rows")
        wait_until(lambda: server.service.indexes == {})


def test_commands(tmp_path: Path, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from hemera.cli import main

    home = tmp_path / "home"

    def said(*words: str) -> tuple[int, str]:
        status = main(["serve", str(home), *words])
        return status, capsys.readouterr().out

    assert said("--add-index", str(files / "rows.index")) == (0, "rows\n")
    token = said("--add-client", "alice")[1].strip()
    status, listed = said("--list")
    assert status == 0
    assert listed.startswith("index   rows  ")
    assert "client  alice" in listed
    with Process(home, "--max-prepared", "1MiB") as process:
        (ready,) = [line for line in process.lines if line["event"] == "ready"]
        assert (ready["models"], ready["indexes"]) == ([], ["rows"])
        with hm.Client(process.url, token=token, folder=tmp_path / "mine") as client:
            assert found(client.index("rows").query(queries(2), k=2)) == best(queries(2), 2)
        (tmp_path / "token").write_text(token)
        np.savetxt(tmp_path / "queries.csv", queries(2), fmt="%d", delimiter=",")
        words = ["--token-file", str(tmp_path / "token"), "--json", str(tmp_path / "found.json")]
        assert main(["client", "indexes", process.url, *words]) == 0
        assert json.loads((tmp_path / "found.json").read_text())["indexes"][0]["name"] == "rows"
        table = str(tmp_path / "queries.csv")
        mine = ["--folder", str(tmp_path / "mine")]
        assert main(["client", "search", process.url, "rows", table, "-k", "3", *mine, *words]) == 0
        told = json.loads((tmp_path / "found.json").read_text())
        assert (told["scores"], told["ids"]) == best(queries(2), 3)
        process.kill()
    with Process(home) as process:
        with hm.Client(process.url, token=token, folder=tmp_path / "mine") as client:
            assert found(client.index("rows").query(queries(2), k=2)) == best(queries(2), 2)
        assert process.stop() == 0
    asked = [line for line in process.lines if line.get("path") == "/v1/indexes/{index}/query"]
    assert [(line["index"], line["client"].partition(".")[0], line["status"]) for line in asked] == [
        ("rows", "alice", 200)
    ]
    assert not any(
        line.get("path", "").endswith("keys") and line["method"] == "PUT" for line in process.lines
    )
    assert token not in json.dumps(process.lines)
    assert said("--remove-index", "rows")[0] == 0
    assert main(["serve", str(home)]) != 0
    assert "no model or index to serve" in capsys.readouterr().err


def test_replicas_of_ray_have_no_indexes(home: Home) -> None:
    """Said before Ray is asked for anything."""
    from hemera.ray.service import on_cluster

    with pytest.raises(ParameterError, match="has the index 'rows': serve indexes without --ray"):
        on_cluster(home, Settings(device="cpu"), address="local", replicas=1)


def test_secrets_do_not_pickle(server: Running, home: Home) -> None:
    import pickle

    with client_of(server, home.clients.add("alice")) as client, pytest.raises(TypeError, match="secret key"):
        pickle.dumps(client.index("rows"))


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
def test_passes(counts: list[int], most: int, expected: list[list[int]]) -> None:
    assert _passes(counts, most) == expected


def test_large_queries_take_several_passes(
    server: Running, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory for expanded queries bounds a pass, and a request."""
    token = home.clients.add("alice")
    client = local(server, token)
    served = server.service.index("rows")
    expanded = served._index.settings.expanded_bytes
    assert expanded == DIMS * 262_144
    monkeypatch.setattr("hemera.serving.indexes._EXPANDED_BYTES", 3 * expanded - 1)
    assert served.queries == 2
    session = served.session(
        0, server.service.keys(server.service.clients.of_token(token) or "", "rows").files
    )
    ran: list[int] = []
    many = search.BaseIndex.query_many
    monkeypatch.setattr(
        search.BaseIndex, "query_many", lambda self, asked: (ran.append(len(asked)), many(self, asked))[1]
    )
    sent = [client.query(queries(count, count)) for count in (1, 2, 1)]
    inputs = [session.load({"query": each}) for each in sent]
    assert all(inputs[0].fit(each) for each in inputs)
    answers = session.run([each.values for each in inputs])
    assert ran == [1, 1, 1]
    for count, answer in zip((1, 2, 1), answers, strict=True):
        assert found(client.decrypt(answer, k=1)) == best(queries(count, count), 1)  # type: ignore[arg-type]
    with server.http(token) as http:
        assert code(http.post(QUERY, content=client.query(queries(3)))) == (422, "too_many")
    assert isinstance(session, IndexSession)
