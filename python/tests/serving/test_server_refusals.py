"""What the server refuses: requests without a token, rubbish, keys of others, and what is too large."""

import asyncio
import errno
import logging
import os

import numpy as np
import pytest
from starlette.requests import ClientDisconnect, Request

import hemera as hm
from hemera import errors, search
from hemera.client.problems import Refused, error_of, refusal_of
from hemera.client.wire import write_body
from hemera.package.local_model import LocalModel
from hemera.serving.metrics import Metrics
from hemera.serving.refusals import answer_to, refuse
from hemera.serving.routes import ROUTERS
from hemera.serving.uploads import Upload

from .conftest import expected, serving
from .server_requests import EVALUATE, KEYS, code, request_of


def test_each_route_wants_a_token(home, tmp_path):
    search.Index(np.eye(10, 8), "dot").save(tmp_path / "rows.index")
    home.add_index(tmp_path / "rows.index")
    home.clients.add("alice")
    routes = [
        (method, route.path)
        for router in ROUTERS
        for route in router.routes
        for method in route.methods
        if route.path.startswith("/v1")
    ]
    assert len(routes) > 20
    own = {"{model}": "scores", "{index}": "rows", "{federation}": "fl"}

    def ask(http, method, path, names):
        for name, value in {**names, "{upload}": "0" * 32, "{place:path}": "ready/x"}.items():
            path = path.replace(name, value)
        return http.request(method, path, content=b"1" if method in ("PUT", "POST") else None)

    with serving(home, federations=("fl",)) as server:
        for token in (".", "alice", "alice.guess", "x" * 5000):
            with server.http(token) as http:
                for method, path in routes:
                    response = ask(http, method, path, own)
                    assert code(response) == (401, "unknown_token"), path
                    assert response.headers["WWW-Authenticate"] == "Bearer"
        with server.http(home.clients.add("bob")) as http:
            assert code(http.get("/v1/nothing")) == (404, "unknown_address")
            assert code(http.patch(KEYS)) == (405, "unknown_method")
            for method, path in routes:
                for kind in ("model", "index"):
                    if f"{{{kind}}}" in path:
                        there = ask(http, method, path, {**own, f"{{{kind}}}": "others"})
                        assert code(there) == (404, f"unknown_{kind}"), path
            for path in (KEYS, "/v1/indexes/rows/keys"):
                assert code(http.get(path)) == code(http.delete(path)) == (404, "no_keys")
            for path in (EVALUATE, "/v1/indexes/rows/query", "/v1/indexes/rows/prepare"):
                assert code(http.post(path, content=b"1")) == (409, "no_keys")
                assert code(http.get(path)) == (405, "unknown_method")


def test_a_secret_key_is_refused_and_never_on_the_disk(server, home, local, keys, monkeypatch):
    written = []
    write = Upload.write
    monkeypatch.setattr(Upload, "write", lambda self, data: (written.append(data), write(self, data))[1])
    secret = bytes(local.secret_key)
    token = home.clients.add("alice")
    with server.http(token) as http:
        kind, pieces = write_body({"keys": keys, "galois": secret})
        bodies = [(None, secret), (None, secret[:12]), (kind, b"".join(pieces))]
        for kind_of, body in bodies:
            response = http.put(KEYS, content=body, headers={"Content-Type": kind_of} if kind_of else {})
            assert code(response) == (422, "secret_key")
        assert code(http.get(KEYS)) == (404, "no_keys")
        assert http.put(KEYS, content=keys).status_code == 201
        assert code(http.post(EVALUATE, content=secret)) == (422, "secret_key")
    assert all(secret[64:96] not in data and not secret.startswith(data[:64]) for data in written)
    assert list(home.incoming.iterdir()) == []
    assert not any(secret[64:96] in path.read_bytes() for path in home.root.rglob("*") if path.is_file())


def test_rubbish_is_refused(server, home, local, keys):
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


def test_foreign_keys_are_refused(server, home, package, keys):
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


def test_no_client_uses_the_keys_of_another(server, home, local, keys):
    with server.http(home.clients.add("alice")) as alice, server.http(home.clients.add("bob")) as bob:
        assert alice.put(KEYS, content=keys).status_code == 201
        body = request_of(local, np.ones(8))
        assert code(bob.get(KEYS)) == (404, "no_keys")
        assert code(bob.post(EVALUATE, content=body)) == (409, "no_keys")
        assert code(bob.delete(KEYS)) == (404, "no_keys")
        # With keys of his own, his requests run with those: what is encrypted for Alice is noise then.
        own = LocalModel(local.interface, security=None).generate_keys()
        assert bob.put(KEYS, content=own).status_code == 201
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


def test_huge_bodies_are_refused(home, local, keys):
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


def test_a_full_store_and_a_full_disk(home, local, keys, monkeypatch):
    with (
        serving(home, store_bytes=2 * len(keys) - 1) as server,
        server.http(home.clients.add("alice")) as alice,
        server.http(home.clients.add("bob")) as bob,
    ):
        assert alice.put(KEYS, content=keys).status_code == 201
        assert code(bob.put(KEYS, content=keys)) == (507, "store_full")
        assert code(bob.put(KEYS, content=iter([keys]))) == (507, "store_full")
        with server.connect() as raw:  # before the body comes
            token = bob.headers["Authorization"]
            head = f"PUT {KEYS} HTTP/1.1\r\nHost: x\r\nAuthorization: {token}\r\nContent-Length: {len(keys)}"
            raw.sendall(f"{head}\r\n\r\n".encode())
            assert b" 507 " in raw.recv(1000)
        assert alice.delete(KEYS).status_code == 204

        def full(*_):
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            response = bob.put(KEYS, content=keys)
            assert code(response) == (507, "disk_full")
            assert "Retry-After" in response.headers
        assert list(home.incoming.iterdir()) == []
        assert bob.put(KEYS, content=keys).status_code == 201
        assert bob.post(EVALUATE, content=request_of(local, np.ones(8))).status_code == 200


@pytest.mark.parametrize(
    ("error", "status", "word"),
    [
        (errors.FormatError("own text"), 422, "format"),
        (errors.MissingKeyError("own text"), 422, "missing_key"),
        (errors.MismatchError("own text"), 422, "mismatch"),
        (errors.LevelError("own text"), 422, "level"),
        (errors.ScaleError("own text"), 422, "scale"),
        (errors.RangeError("own text"), 422, "range"),
        (errors.SecurityError("own text"), 422, "security"),
        (errors.NoiseError("own text"), 422, "noise"),
        (errors.ParameterError("own text"), 422, "parameter"),
        (errors.OutOfMemoryError("own text"), 503, "out_of_memory"),
        (errors.DeviceError("own text"), 500, "internal"),
        (errors.FileError("own text"), 500, "internal"),
        (ZeroDivisionError("own text"), 500, "internal"),
        (ClientDisconnect(), 499, "hung_up"),
        (Refused(418, "teapot", "own text", 7), 418, "teapot"),
    ],
)
def test_what_a_client_is_told_of_an_error(caplog, error, status, word):
    """What is the client's own comes back as it was raised; failures of the server are for its log alone."""
    metrics = Metrics()
    with caplog.at_level(logging.INFO, logger="hemera.serving"):
        found = answer_to(error, metrics)
    assert (found.status, found.code) == (status, word)
    assert ("hemera_hung_up_total 1.0" in metrics.text().decode()) == (status == 499)
    assert ("own text" in found.message) == (status in (418, 422))
    assert found.headers.get("Retry-After") == {418: "7", 503: "5"}.get(status)
    logged = [(each.levelname, each.getMessage(), each.exc_info) for each in caplog.records]
    wanted = (type(error), error, error.__traceback__)
    assert logged == ([("ERROR", "failure", wanted)] if status == 500 else [])
    raised = error_of(found.status, found.code, found.message)
    if status == 422:
        assert (type(raised), str(raised)) == (type(error), "own text")
        assert refusal_of(raised).body == found.body
    else:
        assert (raised.status, raised.code) == (status, word)
        assert str(raised) == f"{found.message} (HTTP {status}, {word})"


@pytest.mark.parametrize(
    ("method", "status", "received", "expects", "pieces", "read"),
    [
        # Pieces of 1 MiB / 4: no more than 1 MiB of what nobody wants is read.
        ("PUT", 413, False, False, 9, 4),
        ("POST", 413, False, False, 3, 3),
        ("POST", 413, False, False, 0, 1),  # the client left
        ("POST", 413, True, False, 9, 0),  # the body came
        ("POST", 413, False, True, 9, 0),  # has sent nothing yet
        ("POST", 408, False, False, 9, 0),  # too slow already
        ("POST", 499, False, False, 9, 0),
        ("GET", 404, False, False, 9, 0),
        ("DELETE", 404, False, False, 9, 0),
    ],
)
def test_a_connection_whose_body_was_not_read_is_closed(method, status, received, expects, pieces, read):
    asked = []
    scope = {"type": "http", "method": method, "headers": [(b"expect", b"100")] * expects}
    scope["hemera.received"] = received

    async def receive():
        asked.append(1)
        if len(asked) > pieces:
            return {"type": "http.disconnect"}
        scope["hemera.received"] = len(asked) == pieces
        return {"type": "http.request", "body": bytes(1 << 18), "more_body": len(asked) < pieces}

    request = Request(scope, receive)
    response = asyncio.run(refuse(request, Refused(status, "word", "why", 3)))
    told = response.status_code, response.headers["Retry-After"], request.state.code
    assert told == (status, "3", "word")
    assert response.body == b'{"error":{"code":"word","message":"why"}}'
    assert len(asked) == read
    closes = method in ("PUT", "POST") and not received
    assert response.headers.get("connection") == ("close" if closes else None)
