"""Uploads of keys that go on after an interruption, wherever it comes."""

import contextlib
import hashlib
import itertools
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import numpy as np
import pytest

from hemera.client.problems import ServerError
from hemera.serving.routes import served as routes

from .conftest import BOUND, ROWS, Process, client_of, expected, require_scores, serving, wait_until
from .server_requests import KEYS, code
from .test_other_answers import between

NAME = "0123456789abcdef" * 2


def digest_of(keys):
    return hashlib.sha256(b"4:keys" + keys).hexdigest()


def put(http, data, at, digest=None, name=NAME):
    headers = {"Upload-Offset": str(at), **({} if digest is None else {"Hemera-Keys": digest})}
    return http.put(f"{KEYS}/{name}", content=data, headers=headers)


def held(http, name=NAME):
    return int(http.get(f"{KEYS}/{name}").json()["bytes"])


@contextmanager
def cutting(url, cuts):
    """The address of a proxy that cuts connections off which send keys: each after as many bytes of its
    request as the next number says."""
    to = url.removeprefix("http://").split(":")
    listener = socket.create_server(("127.0.0.1", 0))

    def pump(source, target, most):
        with contextlib.suppress(OSError):
            while most > 0 and (data := source.recv(int(min(most, 65536)))):
                target.sendall(data)
                most -= len(data)
        for each in (source, target):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def serve(near):
        with near, socket.create_connection((to[0], int(to[1]))) as far:
            back = threading.Thread(target=pump, args=(far, near, float("inf")), daemon=True)
            back.start()
            while data := near.recv(65536):
                if data.startswith(b"PUT") and cuts:
                    most = cuts.pop(0)
                    far.sendall(data[:most])
                    pump(near, far, most - len(data))
                    break
                far.sendall(data)
            else:
                far.shutdown(socket.SHUT_WR)
            back.join(BOUND)

    def accept():
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(near,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.close()


HEADER = 700
"""More bytes than the header of a request has."""
CUTS = {
    "nothing": [1],
    "in the header": [100],
    "in the magic": [HEADER + 5, HEADER + 9],
    "thrice": [60_000, HEADER, 60_000],
}


@pytest.mark.parametrize("cuts", CUTS.values(), ids=CUTS)
def test_no_byte_that_has_come_is_sent_again(server, home, keys, cuts):
    left = list(cuts)
    with cutting(server.url, left) as url, client_of(url, home.clients.add("alice")) as client:
        client.upload_keys("scores")
        assert left == []
        assert server.metric("hemera_received_bytes_total") == len(keys)
        require_scores(client)
    assert [each.bytes for each in server.service.store.sets()] == [len(keys)]
    assert list(home.incoming.iterdir()) == []


def test_an_answer_that_is_lost_is_asked_for(server, home, keys):
    """All has come, and only the client does not know it."""
    lost = itertools.chain([True], itertools.repeat(False))

    def lose(answer):
        return (502, b"", {}) if answer.request.method == "PUT" and next(lost) else None

    with between(server.url) as proxy, client_of(proxy.url, home.clients.add("alice")) as client:
        proxy.change = lose
        client.upload_keys("scores")
        assert [method for method, _ in proxy.seen] == ["GET", "GET", "PUT", "GET"]
        assert client.upload_bytes("scores") == 0
    assert server.metric("hemera_received_bytes_total") == len(keys)


@pytest.mark.parametrize("cut", [HEADER, 60_000])
def test_a_later_client_of_the_folder_goes_on(server, home, tmp_path, keys, cut):
    token, told = home.clients.add("alice"), list[str]()

    def client(url):
        return client_of(
            url, token, folder=tmp_path / "alice", patience=0.0, progress=lambda what, *_: told.append(what)
        )

    with cutting(server.url, [cut]) as url, client(url) as first, pytest.raises(ServerError, match="reached"):
        first.upload_keys("scores")
    (file,) = (tmp_path / "alice").glob("upload-*")
    assert file.stat().st_mode & 0o777 == 0o600
    told.clear()
    with client(server.url) as second:
        place = second._model("scores").keys._place
        assert place is not None
        file.rename(place)  # those of another address are another file
        second.upload_keys("scores")
    assert "keys" not in told
    assert server.metric("hemera_received_bytes_total") == len(keys)
    assert list((tmp_path / "alice").glob("upload-*")) == []


@pytest.mark.parametrize("at", [11, 12, 50_000, None])
def test_a_server_that_was_killed_goes_on(home, keys, at):
    """From the first 12 bytes on, which show what they are."""
    token = home.clients.add("alice")
    bearer = {"Authorization": f"Bearer {token}"}
    kept = 0 if at == 11 else len(keys[:at])
    with Process(home.root) as process:
        with httpx.Client(base_url=process.url, headers=bearer, timeout=BOUND, trust_env=False) as http:
            answer = put(http, keys[:at], 0)
            assert (answer.status_code, answer.json()) == (200, {"bytes": kept})
        process.kill()
    with Process(home.root) as process:
        with httpx.Client(base_url=process.url, headers=bearer, timeout=BOUND, trust_env=False) as http:
            assert http.get(KEYS).status_code == 404  # never half a file
            begin = held(http)
            assert begin == kept
            answer = put(http, keys[begin:], begin, digest_of(keys))
            assert (answer.status_code, answer.json()) == (201, http.get(KEYS).json())
            assert answer.json()["digest"] == digest_of(keys)
            assert held(http) == 0
        assert process.stop() == 0
    (file,) = home.keys.glob("*/scores/*/keys")
    assert file.read_bytes() == keys


@pytest.mark.parametrize("at", [0, 50_000, -1])
def test_other_bytes_under_a_digest_are_refused(server, home, keys, at):
    with server.http(home.clients.add("alice")) as http:
        assert put(http, keys[:50_000], 0).status_code == 200
        other = bytearray(keys)
        other[at] ^= 1
        rest = keys[50_000:] if at == 0 else bytes(other[50_000:])
        answer = put(http, rest, 50_000, digest_of(bytes(other) if at == 0 else keys))
        assert code(answer) == (422, "digest")
        assert (http.get(KEYS).status_code, held(http)) == (404, 0)
        assert list(home.incoming.iterdir()) == []
        # With the digest that they have, damaged keys are refused as they are all at once.
        assert code(put(http, bytes(other), 0, digest_of(bytes(other)))) == code(
            http.put(KEYS, content=bytes(other))
        )
        assert put(http, keys, 0, digest_of(keys)).status_code == 201


def test_a_part_begins_where_the_one_before_ended(server, home, keys):
    with server.http(home.clients.add("alice")) as http, server.http(home.clients.add("bob")) as other:
        assert put(http, keys[:1000], 0).status_code == 200
        for at in (0, 999, 1001, 10**18 - 1):
            assert code(put(http, keys[at:], at)) == (409, "offset")
        assert held(http) == 1000
        assert (held(other), held(http, NAME[::-1])) == (0, 0)  # each client's own, by its name
        for wrong in ("-1", "", "1.0", "x", "9" * 19, "\u0661"):
            told = {"Upload-Offset": wrong.encode()}
            assert code(http.put(f"{KEYS}/{NAME}", content=b"x", headers=told)) == (422, "format")
        assert code(http.put(f"{KEYS}/{NAME}", content=b"x")) == (422, "format")
        several = {"files": {"keys": b"x"}, "headers": {"Upload-Offset": "1000"}}
        assert code(http.put(f"{KEYS}/{NAME}", **several)) == (422, "format")
        for name in (NAME[1:], NAME + "0", NAME.upper(), "..%2Fkeys", "."):
            for answer in (put(http, b"x", 0, name=name), http.get(f"{KEYS}/{name}")):
                assert code(answer)[0] in (404, 405, 409, 422), name
        assert put(http, keys[1000:], 1000, digest_of(keys)).status_code == 201


def test_a_secret_key_is_refused_in_parts_too(server, home, local):
    secret = bytes(local.secret_key)
    with server.http(home.clients.add("alice")) as http:
        assert put(http, secret[:11], 0).json() == {"bytes": 0}
        assert code(put(http, secret[:12], 0)) == (422, "secret_key")
        assert list(home.incoming.iterdir()) == []


def test_a_newer_request_takes_an_upload_over(server, home, keys):
    """The connection of the one before may be dead, and nobody says so."""
    token = home.clients.add("alice")
    with server.connect() as dead, server.http(token) as http:
        head = (
            f"PUT {KEYS}/{NAME} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Type: application/octet-stream\r\nUpload-Offset: 0\r\n"
            f"Content-Length: {len(keys)}\r\n\r\n"
        )
        dead.sendall(head.encode() + keys[:50_000])
        wait_until(lambda: server.metric("hemera_received_bytes_total") == 50_000)
        assert code(put(http, keys, 0)) == (409, "offset")  # and from here on all that came is written
        assert held(http) == 50_000
        assert put(http, keys[50_000:], 50_000, digest_of(keys)).status_code == 201
        assert b" 499 " in dead.recv(1000)
    assert [each.bytes for each in server.service.store.sets()] == [len(keys)]


@pytest.mark.parametrize("shared", [True, False])
def test_two_clients_at_once(server, home, tmp_path, shared):
    """They have one token and folder, or each its own."""
    tokens = [home.clients.add("alice")] * 2 if shared else [home.clients.add(name) for name in "ab"]
    start = threading.Barrier(2)

    def run(number):
        folder = tmp_path / ("both" if shared else str(number))
        cuts = [60_000 + number, HEADER]
        with cutting(server.url, cuts) as url, client_of(url, tokens[number], folder=folder) as client:
            start.wait(BOUND)
            return client.predict("scores", ROWS)

    with ThreadPoolExecutor(2) as pool:
        for found in pool.map(run, range(2)):
            assert np.abs(found - expected(ROWS)).max() < 1e-4
    assert len(server.service.store.sets()) == (1 if shared else 2)


def test_what_waits_counts(home, keys):
    """The last byte that there is room for is taken, and the next one refused."""
    size = len(keys)
    with (
        serving(home, store_bytes=size + 1000, client_store_bytes=size + 1000) as server,
        server.http(home.clients.add("alice")) as alice,
        server.http(home.clients.add("bob")) as bob,
    ):
        assert put(alice, keys[:1001], 0).status_code == 200
        assert put(bob, keys[:-1], 0).status_code == 200
        assert code(put(bob, keys[-1:], size - 1, digest_of(keys))) == (507, "store_full")
        assert held(bob) == 0  # nothing is kept of what does not fit
        server.service.store.expire(-1.0)
        assert put(alice, keys[:1000], 0).status_code == 200
        assert put(bob, keys, 0, digest_of(keys)).status_code == 201
        # One's own that wait make room, the oldest first; others' do not.
        for http in (alice, bob):
            http.delete(KEYS)
        assert put(alice, keys[:600], 0).status_code == 200
        for name in (NAME, NAME[::-1]):
            assert put(bob, keys[:400], 0, name=name).status_code == 200
        assert bob.put(KEYS, content=keys).status_code == 201
        assert (held(alice), held(bob), held(bob, NAME[::-1])) == (600, 0, 400)


def test_what_waits_comes_to_its_end(home, keys):
    """Its time, the removal of keys or of the client, or newer ones end it."""
    with (
        serving(home, upload_seconds=100.0) as server,
        server.http(home.clients.add("alice")) as alice,
        server.http(home.clients.add("bob")) as bob,
    ):
        store = server.service.store
        assert put(alice, keys[:1000], 0).status_code == 200
        (upload,) = store._arriving
        assert upload.waits_since is not None
        for older, left in ((99.0, 1000), (101.0, 0)):
            upload.waits_since = time.monotonic() - older
            server.service.sweep()
            assert held(alice) == left
        for http in (alice, bob):
            assert put(http, keys[:1000], 0).status_code == 200
        assert code(alice.delete(KEYS)) == (404, "no_keys")
        assert (held(alice), held(bob)) == (0, 1000)
        home.remove_client("bob")
        server.service.sweep()
        assert not store._arriving
        names = [f"{number:032x}" for number in range(6)]
        for name in names:
            assert put(alice, keys[:1000], 0, name=name).status_code == 200
        assert [held(alice, name) for name in names] == [0, 0, 1000, 1000, 1000, 1000]
        assert len(list(home.incoming.iterdir())) == 4


def test_a_server_that_knows_no_parts_gets_all_at_once(home, keys, monkeypatch):
    """As servers of 0.2 are."""
    known = [route for route in routes.router.routes if "{upload}" not in route.path]
    assert len(known) == len(routes.router.routes) - 4
    monkeypatch.setattr(routes.router, "routes", known)
    with serving(home) as old, client_of(old.url, home.clients.add("alice")) as client:
        require_scores(client)
        assert [each.bytes for each in old.service.store.sets()] == [len(keys)]
