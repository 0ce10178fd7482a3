"""What the server answers: to clients, and to what is none."""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import json
import logging
import os
import socket
import struct
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import hemera as hm
from hemera import errors
from hemera.serving import InputSpec, Package, export
from hemera.serving.client import LocalModel
from hemera.serving.logs import _Lines
from hemera.serving.problems import ServerError
from hemera.serving.server import listen
from hemera.serving.service import Home
from hemera.serving.store import Upload
from hemera.serving.wire import read_body, write_body

from .conftest import BOUND, Process, Running, client_of, expected, serving, wait_until

GPUS = [name for name in hm.devices() if name != "cpu"]
KEYS = "/v1/models/scores/keys"
EVALUATE = "/v1/models/scores/evaluate"


def code(response: httpx.Response) -> tuple[int, str]:
    told = response.json()["error"]
    assert len(told["message"]) > 10
    return response.status_code, told["code"]


def request_of(local: LocalModel, rows: Any) -> bytes:
    (data,) = local.encrypt(local.interface.encode(rows)).values()
    return data


def memory_of(body: bytes) -> int:
    """Bytes of a packed and seeded ciphertext in memory, by its file's layout (docs/file-format.md): two
    components in words of 8 bytes."""
    at = body.index(b"RESI") + 32
    degree, batch, components, moduli = struct.unpack_from("<IQII", body, at + 4)
    return 8 * int(degree) * int(batch) * (int(components) + 1) * int(moduli)


def test_five_lines(server: Running, home: Home) -> None:
    rows = np.random.default_rng(1).uniform(-1, 1, (70, 8))  # more than one request holds
    with hm.Client(server.url, token=home.clients.add("alice"), security=None) as client:
        scores = client.predict("scores", rows)
    np.testing.assert_allclose(scores, expected(rows), atol=1e-6)


def test_keys_are_sent_once(server: Running, home: Home, tmp_path: Path) -> None:
    token = home.clients.add("alice")
    rows = np.ones((2, 8))
    sent = []
    for _ in range(2):
        with client_of(
            server.url, token, folder=tmp_path / "mine", progress=lambda *told: sent.append(told)
        ) as client:
            for _ in range(2):
                np.testing.assert_allclose(client.predict("scores", rows), expected(rows), atol=1e-6)
            assert client.predict("scores", rows[0]).shape == (3,)
    assert server.metric("hemera_key_uploads_total", status="201") == 1
    uploads = [told for told in sent if told[0] == "upload"]
    assert uploads[0][1] == 0
    assert uploads[-1][1] == uploads[-1][2] > 100_000
    (secret,) = (tmp_path / "mine").glob("secret-*")
    assert secret.stat().st_mode & 0o077 == 0
    # Gone from the server: they are sent again.
    with client_of(server.url, token, folder=tmp_path / "mine") as client:
        client.predict("scores", rows)
        server.service.remove_keys(server.service.clients.of_token(token) or "", "scores")
        np.testing.assert_allclose(client.predict("scores", rows), expected(rows), atol=1e-6)
        client.remove_keys("scores")
        with server.http(token) as http:
            assert code(http.get(KEYS)) == (404, "no_keys")
        client.predict("scores", rows)


@pytest.mark.skipif(not GPUS, reason="there is no GPU")
def test_on_a_gpu(home: Home) -> None:
    """Two clients, each from several threads: what they load, compute and read has different streams."""
    with serving(home, device=GPUS[0]) as server, contextlib.ExitStack() as stack:
        clients = [
            stack.enter_context(client_of(server.url, home.clients.add(name))) for name in ("alice", "bob")
        ]

        def ask(at: int) -> None:
            rows = np.random.default_rng(at).uniform(-1, 1, (1 + at % 4, 8))
            np.testing.assert_allclose(clients[at % 2].predict("scores", rows), expected(rows), atol=1e-6)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(ask, range(100), timeout=BOUND))
        assert httpx.get(server.url + "/health", trust_env=False).json()["device"] == GPUS[0]


def test_descriptions(server: Running, home: Home, package: Package) -> None:
    token = home.clients.add("alice")
    with client_of(server.url, token) as client:
        (told,) = client.models()
        assert (told["name"], told["digest"]) == ("scores", package.digest)
        described = client.describe("scores")
        assert described["limits"]["evaluations"] == 32
        assert described["parameters"] == package.describe()["parameters"]
        with pytest.raises(ServerError, match="no model") as error:
            client.describe("other")
        assert (error.value.status, error.value.code) == (404, "unknown_model")
    api = httpx.get(server.url + "/openapi.json", trust_env=False).json()
    assert api["openapi"].startswith("3.")
    operation = api["paths"]["/v1/models/{model}/evaluate"]["post"]
    assert {"200", "401", "409", "413", "422", "429", "503"} <= set(operation["responses"])
    assert "application/octet-stream" in operation["requestBody"]["content"]
    assert operation["security"]
    health = httpx.get(server.url + "/health", trust_env=False).json()
    assert (health["status"], health["models"]) == ("ok", ["scores"])


def test_each_route_wants_a_token(server: Running, home: Home) -> None:
    home.clients.add("alice")
    routes = [
        ("GET", "/v1/models"),
        ("GET", "/v1/models/scores"),
        ("GET", KEYS),
        ("PUT", KEYS),
        ("DELETE", KEYS),
        ("POST", EVALUATE),
    ]
    for token in (".", "alice", "alice.guess", "x" * 5000):
        with server.http(token) as http:
            for method, path in routes:
                response = http.request(method, path, content=b"1" if method in ("PUT", "POST") else None)
                assert code(response) == (401, "unknown_token")
                assert response.headers["WWW-Authenticate"] == "Bearer"
    with server.http(home.clients.add("bob")) as http:
        assert code(http.get("/v1/nothing")) == (404, "unknown_address")
        assert code(http.patch(KEYS)) == (405, "unknown_method")


def test_a_secret_key_is_refused_and_never_on_the_disk(
    server: Running, home: Home, local: LocalModel, keys: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[bytes] = []
    write = Upload.write
    monkeypatch.setattr(Upload, "write", lambda self, data: (written.append(data), write(self, data))[1])
    secret = bytes(local.secret_key)
    token = home.clients.add("alice")
    with server.http(token) as http:
        kind, pieces = write_body({"keys": keys, "galois": secret})
        bodies = [
            (None, secret),
            (None, secret[:12]),
            (kind, b"".join(pieces)),
        ]
        for kind_of, body in bodies:
            response = http.put(KEYS, content=body, headers={"Content-Type": kind_of} if kind_of else {})
            assert code(response) == (422, "secret_key")
        assert code(http.get(KEYS)) == (404, "no_keys")
        assert http.put(KEYS, content=keys).status_code == 201
        assert code(http.post(EVALUATE, content=secret)) == (422, "secret_key")
    assert all(secret[64:96] not in data and not secret.startswith(data[:64]) for data in written)
    assert list(home.incoming.iterdir()) == []
    assert not any(secret[64:96] in path.read_bytes() for path in home.root.rglob("*") if path.is_file())


def test_rubbish_is_refused(server: Running, home: Home, local: LocalModel, keys: bytes) -> None:
    damaged = bytearray(keys)
    damaged[len(keys) // 2] ^= 1
    uploads = [
        b"",
        b"rubbish",
        keys[:-1],
        bytes(damaged),
        request_of(local, np.ones(8)),
        bytes(local.interface.params),
        bytes(local.context.generate_keys(local.secret_key)),  # without the rotations that it needs
    ]
    with server.http(home.clients.add("alice")) as http:
        for body in uploads:
            assert code(http.put(KEYS, content=body))[0] == 422
        named = write_body({"set.json": b"1", "keys": keys})
        assert code(http.put(KEYS, content=b"".join(named[1]), headers={"Content-Type": named[0]}))[0] == 422
        assert code(http.post(EVALUATE, content=b"x")) == (409, "no_keys")
        assert http.put(KEYS, content=keys).status_code == 201
        good = request_of(local, np.ones(8))
        for body in (b"", b"rubbish", good[:-1], keys, bytes(local.interface.params)):
            assert code(http.post(EVALUATE, content=body))[0] == 422
        assert code(http.post(EVALUATE, content=b"x", headers={"Content-Type": "multipart/form-data"})) == (
            422,
            "format",
        )
        # And goes on.
        assert http.post(EVALUATE, content=good).status_code == 200
    assert list(home.incoming.iterdir()) == []


def test_foreign_keys_are_refused(server: Running, home: Home, package: Package, keys: bytes) -> None:
    params = hm.ckks.Parameters.for_circuit(depth=3, scale_bits=40, slots=8, security=None, degree=1024)
    ctx = hm.Context(params, "cpu")
    other = ctx.generate_keys(ctx.generate_secret_key(), rotations=[1, 2, 4])
    with server.http(home.clients.add("alice")) as http:
        status, word = code(http.put(KEYS, content=bytes(other)))
        assert (status, word) == (422, "mismatch")
        # A refused upload leaves what was there.
        assert http.put(KEYS, content=keys).status_code == 201
        assert code(http.put(KEYS, content=bytes(other)))[0] == 422
        local = LocalModel(package.interface, security=None)
        assert http.post(EVALUATE, content=request_of(local, np.ones(8))).status_code == 200


def test_no_client_uses_the_keys_of_another(
    server: Running, home: Home, local: LocalModel, keys: bytes
) -> None:
    with server.http(home.clients.add("alice")) as alice, server.http(home.clients.add("bob")) as bob:
        assert alice.put(KEYS, content=keys).status_code == 201
        body = request_of(local, np.ones(8))
        assert code(bob.get(KEYS)) == (404, "no_keys")
        assert code(bob.post(EVALUATE, content=body)) == (409, "no_keys")
        assert code(bob.delete(KEYS)) == (404, "no_keys")
        # With keys of his own, his requests run with those: what is encrypted for Alice is noise then.
        assert (
            bob.put(KEYS, content=LocalModel(local.interface, security=None).generate_keys()).status_code
            == 201
        )
        found = []
        for http in (alice, bob):
            response = http.post(EVALUATE, content=body)
            assert response.status_code == 200
            try:
                values = local.context.decrypt(local.context.load(response.content), local.secret_key)
            except errors.NoiseError:
                values = np.full(8, np.inf)
            found.append(np.abs(values[:3] - expected(np.ones(8))).max())
        assert found[0] < 1e-6
        assert found[1] > 1
        # A removed client's keys are gone, also for one who gets the name later.
        home.remove_client("alice")
        assert code(alice.post(EVALUATE, content=body)) == (401, "unknown_token")
        with server.http(home.clients.add("alice")) as later:
            assert code(later.post(EVALUATE, content=body)) == (409, "no_keys")


def test_huge_bodies_are_refused(home: Home, local: LocalModel, keys: bytes) -> None:
    body = request_of(local, np.ones(8))
    with (
        serving(home, request_bytes=len(body), key_bytes=len(keys)) as server,
        server.http(home.clients.add("alice")) as http,
    ):
        assert http.put(KEYS, content=keys).status_code == 201
        assert http.post(EVALUATE, content=body).status_code == 200
        for path, good in ((KEYS, keys), (EVALUATE, body)):
            method = "PUT" if path == KEYS else "POST"
            assert code(http.request(method, path, content=good + b"x")) == (413, "too_large")
            # The same in pieces of untold size.
            pieces = iter([good, b"x"])
            assert code(http.request(method, path, content=pieces)) == (413, "too_large")
        # Told but not sent: nothing is kept for it.
        with server.connect() as raw:
            raw.sendall(
                f"PUT {KEYS} HTTP/1.1\r\nHost: x\r\nAuthorization: {http.headers['Authorization']}\r\n"
                f"Content-Length: {1 << 60}\r\n\r\n".encode()
            )
            assert b" 413 " in raw.recv(1000)
        assert http.post(EVALUATE, content=body).status_code == 200
    assert list(home.incoming.iterdir()) == []


def test_a_full_store_and_a_full_disk(
    home: Home, local: LocalModel, keys: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        serving(home, store_bytes=2 * len(keys) - 1) as server,
        server.http(home.clients.add("alice")) as alice,
        server.http(home.clients.add("bob")) as bob,
    ):
        assert alice.put(KEYS, content=keys).status_code == 201
        assert code(bob.put(KEYS, content=keys)) == (507, "store_full")
        assert code(bob.put(KEYS, content=iter([keys]))) == (507, "store_full")
        assert alice.delete(KEYS).status_code == 204

        def full(*_: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            response = bob.put(KEYS, content=keys)
            assert code(response) == (507, "disk_full")
            assert "Retry-After" in response.headers
        assert list(home.incoming.iterdir()) == []
        assert bob.put(KEYS, content=keys).status_code == 201
        assert bob.post(EVALUATE, content=request_of(local, np.ones(8))).status_code == 200


def test_back_pressure(home: Home, local: LocalModel, keys: bytes) -> None:
    body = request_of(local, np.ones(8))
    whole = len(body) + memory_of(body)
    limits = {"waiting_requests": 1, "request_bytes": 2 * len(body), "waiting_bytes": 2 * whole + len(body)}
    limits["client_waiting_bytes"] = 10 * whole
    with serving(home, **limits) as server, server.http(home.clients.add("alice")) as http:
        assert http.put(KEYS, content=keys).status_code == 201
        go = threading.Event()
        begun = threading.Event()
        server.service.scheduler.call(lambda: (begun.set(), go.wait(BOUND)))
        assert begun.wait(BOUND)
        answers: list[httpx.Response] = []
        token = http.headers["Authorization"].removeprefix("Bearer ")

        def ask() -> None:
            with server.http(token) as own:
                answers.append(own.post(EVALUATE, content=body))

        threads = [threading.Thread(target=ask)]
        threads[0].start()
        wait_until(lambda: server.service.scheduler.waiting == 1)
        response = http.post(EVALUATE, content=body)
        assert code(response) == (429, "queue_full")
        assert response.headers["Retry-After"] == "1"
        # Bodies that arrive take room as well, as they arrive: what is told and not sent takes none.
        partial = []
        for sent in (len(body) - 1, len(body) - 1, 0, 0):
            raw = server.connect()
            raw.sendall(
                f"POST {EVALUATE} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
                f"Content-Length: {len(body)}\r\n\r\n".encode()
                + body[:sent]
            )
            partial.append(raw)
        wait_until(lambda: server.metric("hemera_waiting_bytes") == whole + 2 * (len(body) - 1))
        response = http.post(EVALUATE, content=body)
        assert code(response) == (503, "busy")
        for raw in partial:
            raw.close()
        wait_until(lambda: server.metric("hemera_waiting_bytes") == whole)
        # A client tries again by itself until there is room.
        with client_of(server.url, home.clients.add("bob")) as client:
            threads.append(threading.Thread(target=lambda: client.upload_keys("scores")))
            threads[-1].start()
            go.set()
            for thread in threads:
                thread.join(BOUND)
            np.testing.assert_allclose(client.predict("scores", np.ones(8)), expected(np.ones(8)), atol=1e-6)
        assert [answer.status_code for answer in answers] == [200]
        assert server.metric("hemera_requests_total", model="scores", status="429") == 1


def test_timeouts(home: Home, local: LocalModel, keys: bytes) -> None:
    body = request_of(local, np.ones(8))
    token = home.clients.add("alice")
    with serving(home, request_seconds=0.2) as server, server.http(token) as http:
        assert http.put(KEYS, content=keys).status_code == 201
        go = threading.Event()
        server.service.scheduler.call(lambda: go.wait(BOUND))
        assert code(http.post(EVALUATE, content=body)) == (504, "timeout")
        go.set()
        wait_until(lambda: server.service.scheduler.waiting == 0)
    with serving(home, body_seconds=0.2) as server:
        for method, path in (("POST", EVALUATE), ("PUT", KEYS)):
            with server.connect() as raw:
                head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
                raw.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body[:10])
                assert b" 408 " in raw.recv(1000)
    assert list(home.incoming.iterdir()) == []


def test_clients_that_hang_up(server: Running, home: Home, local: LocalModel, keys: bytes) -> None:
    body = request_of(local, np.ones(8))
    token = home.clients.add("alice")
    head = f"Host: x\r\nAuthorization: Bearer {token}\r\n"
    with server.http(token) as http:
        assert http.put(KEYS, content=keys).status_code == 201

        def send(method: str, path: str, length: int, data: bytes) -> socket.socket:
            raw = server.connect()
            raw.sendall(f"{method} {path} HTTP/1.1\r\n{head}Content-Length: {length}\r\n\r\n".encode() + data)
            return raw

        # In the middle of a body, and of an upload.
        send("POST", EVALUATE, len(body), body[:1000]).close()
        send("PUT", KEYS, len(keys), keys[: len(keys) // 2]).close()
        wait_until(lambda: server.metric("hemera_hung_up_total") == 2)
        wait_until(lambda: list(home.incoming.iterdir()) == [])
        # While the request waits: it is not computed.
        go = threading.Event()
        server.service.scheduler.call(lambda: go.wait(BOUND))
        waiting = send("POST", EVALUATE, len(body), body)
        wait_until(lambda: server.service.scheduler.waiting == 1)
        waiting.close()
        wait_until(lambda: server.metric("hemera_hung_up_total") == 3)
        assert server.metric("hemera_waiting_bytes") == 0
        go.set()
        response = http.post(EVALUATE, content=body)
        assert response.status_code == 200
        assert response.headers["Hemera-Batch"] == "1"
        assert server.metric("hemera_batch_requests_count", model="scores") == 1
        # What is no HTTP.
        with server.connect() as raw:
            raw.sendall(b"\x00\x01rubbish\r\n\r\n")
            assert b" 400 " in raw.recv(1000)
        assert http.get("/health").status_code == 200


def test_logs_tell_what_happened_and_nothing_secret(
    server: Running, home: Home, local: LocalModel, keys: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    token = home.clients.add("alice")
    body = request_of(local, np.ones(8))
    with caplog.at_level(logging.INFO, logger="hemera.serving"), server.http(token) as http:
        http.put(KEYS, content=keys)
        http.post(EVALUATE, content=body)
        http.post(EVALUATE, content=b"some payload")
        http.get(f"/v1/nothing?token={token}")
        wait_until(lambda: sum(r.getMessage() == "request" for r in caplog.records) == 4)
    lines = [_Lines().format(record) for record in caplog.records]
    told = [json.loads(line) for line in lines]
    answered = [each for each in told if each["event"] == "request"]
    assert [each["status"] for each in answered] == [201, 200, 422, 404]
    assert (answered[1]["received"], answered[1]["batch"], answered[1]["model"]) == (len(body), 1, "scores")
    assert answered[2]["code"] == "format"
    assert all(each["client"].startswith("alice.") for each in answered[:3])
    for line in lines:
        assert token.partition(".")[2] not in line
        assert "payload" not in line


def test_multipart_answers_of_several_inputs_and_outputs(tmp_path: Path) -> None:
    params = hm.bfv.Parameters.from_bits(
        degree=1024, plain_modulus=12289, prime_bits=[45, 45], special_bits=[49], security=None
    )

    def both(x: Any, y: Any) -> Any:
        return {"sum": x + y, "product": x * y}

    package = export(both, inputs=[4, 4], name="both", params=params)
    package.save(tmp_path / "both.hemera-model")
    home = Home(tmp_path / "home")
    home.add_model(tmp_path / "both.hemera-model")
    rows = np.arange(12).reshape(3, 4)
    with serving(home) as server, client_of(server.url, home.clients.add("alice")) as client:
        for x, y in ((rows, rows + 1), (rows[0], rows[1])):
            found = client.predict("both", [x, y])
            np.testing.assert_array_equal(found["sum"][..., :4], x + y)
            np.testing.assert_array_equal(found["product"][..., :4], x * y)
        local = client.local("both")
        kind, pieces = write_body(local.encrypt(local.interface.encode([rows[0], rows[1]])))
        with server.http(home.clients.add("bob")) as http:
            assert http.put("/v1/models/both/keys", content=local.generate_keys()).status_code == 201
            response = http.post(
                "/v1/models/both/evaluate", content=b"".join(pieces), headers={"Content-Type": kind}
            )
        files = read_body(response.headers["Content-Type"], response.content, "sum")
        assert sorted(files) == ["product", "sum"]


def test_inputs_that_are_batches(tmp_path: Path) -> None:
    """Several ciphertexts for each evaluation, of one evaluation and of several."""
    params = hm.ckks.Parameters.for_circuit(depth=1, scale_bits=40, slots=4, security=None, degree=1024)

    def mixed(x: Any) -> Any:
        return x[0] + x[1] * x[2]

    spec = InputSpec("x", 4, 4, shape=(3,))
    package = export(mixed, inputs=spec, name="mixed", params=params)
    package.save(tmp_path / "mixed.hemera-model")
    home = Home(tmp_path / "home")
    home.add_model(tmp_path / "mixed.hemera-model")
    rows = np.random.default_rng(4).uniform(-1, 1, (40, 3, 4))
    with serving(home) as server, client_of(server.url, home.clients.add("alice")) as client:
        for values in (rows, rows[0], rows[:1]):
            found = client.predict("mixed", values)
            wanted = values[..., 0, :] + values[..., 1, :] * values[..., 2, :]
            assert found.shape == wanted.shape
            np.testing.assert_allclose(found, wanted, atol=1e-6)
        local = client.local("mixed")
        with server.http(home.clients.add("bob")) as http:
            assert http.put("/v1/models/mixed/keys", content=local.generate_keys()).status_code == 201
            wrong = bytes(local.context.encrypt(rows[0, :2], local.secret_key))
            response = http.post("/v1/models/mixed/evaluate", content=wrong)
            assert code(response) == (422, "mismatch")


def test_clients_say_what_is_wrong(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEMERA_TOKEN", raising=False)
    with pytest.raises(errors.ParameterError, match="needs its token"):
        hm.Client("http://127.0.0.1:1")
    with pytest.raises(errors.ParameterError, match="begins with http"):
        hm.Client("127.0.0.1:1", token="x")
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    listener.close()
    with pytest.raises(ServerError, match="not to be reached"):
        hm.Client(f"http://127.0.0.1:{port}", token="x", patience=0).models()
    with pytest.raises(errors.DeviceError, match="cannot listen"):
        listen("203.0.113.1", 80)
    with serving(home) as server:
        with (
            pytest.raises(ServerError, match="token") as refused,
            client_of(server.url, "alice.wrong") as client,
        ):
            client.predict("scores", np.ones(8))
        assert refused.value.status == 401
        with (
            client_of(server.url, home.clients.add("alice"), folder=tmp_path / "f") as client,
            pytest.raises(errors.MismatchError),
        ):
            client.predict("scores", np.ones(9))


@pytest.mark.skipif(
    importlib.util.find_spec("uvloop") is not None, reason="uvloop accepts by itself, and without the delays"
)
def test_answers_do_not_wait_for_acknowledgements(
    server: Running, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nagle's algorithm and delayed acknowledgements would add 40 ms to each answer."""
    accepted: list[socket.socket] = []
    accept = socket.socket.accept

    def noted(self: socket.socket) -> tuple[socket.socket, Any]:
        found, address = accept(self)
        accepted.append(found)
        return found, address

    monkeypatch.setattr(socket.socket, "accept", noted)
    with server.http(home.clients.add("alice")) as http:
        assert http.get("/v1/models").status_code == 200
        assert accepted
        assert all(each.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) for each in accepted)


def test_tls(home: Home, tls: tuple[str, str]) -> None:
    token = home.clients.add("alice")
    certificate, key = tls
    options = ("--tls-certificate", certificate, "--tls-key", key)
    with Process(home.root, *options) as process:
        assert process.url.startswith("https://")
        with client_of(process.url, token, certificates=certificate) as client:
            np.testing.assert_allclose(client.predict("scores", np.ones(8)), expected(np.ones(8)), atol=1e-6)
        with client_of(process.url, token, patience=0) as client, pytest.raises(ServerError, match="reached"):
            client.models()  # nobody vouches for the certificate
        assert process.stop() == 0
