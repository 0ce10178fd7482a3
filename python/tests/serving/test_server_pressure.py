"""A server with more requests than it computes, slow clients, and clients that hang up."""

from __future__ import annotations

import socket
import struct
import threading

import httpx
import numpy as np

from hemera.package.local_model import LocalModel
from hemera.serving.home import Home

from .conftest import BOUND, Running, client_of, expected, serving, wait_until
from .server_requests import EVALUATE, KEYS, code, request_of


def memory_of(body: bytes) -> int:
    """Bytes of a packed and seeded ciphertext in memory, by its file's layout (docs/file-format.md): two
    components in words of 8 bytes."""
    at = body.index(b"RESI") + 32
    degree, batch, components, moduli = struct.unpack_from("<IQII", body, at + 4)
    return 8 * int(degree) * int(batch) * (int(components) + 1) * int(moduli)


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
        response = http.post(EVALUATE, content=body)
        assert (code(response), response.headers["Retry-After"]) == ((504, "timeout"), "10")
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
