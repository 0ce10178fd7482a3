"""What one client may take of a server, and a server with more requests than it computes."""

import logging
import os
import struct
import threading
import time
import warnings

import numpy as np
import pytest

from hemera import errors
from hemera.client.problems import Refused
from hemera.serving import Package, export
from hemera.serving.evaluation import Evaluation
from hemera.serving.home import Home
from hemera.serving.logs import _FIELDS
from hemera.serving.sessions import ModelSession
from hemera.serving.uploads import library_of

from ..refusals import raises
from .conftest import BOUND, client_of, require_scores, serving, wait_until
from .server_requests import EVALUATE, KEYS, code, request_of


@pytest.fixture
def loaded(monkeypatch):
    """Bytes of each file that a session has loaded."""
    sizes = []
    load = ModelSession.load

    def noted(self, files):
        sizes.extend(map(len, files.values()))
        return load(self, files)

    monkeypatch.setattr(ModelSession, "load", noted)
    return sizes


def test_extents_are_read_before_anything_is_loaded(home, local, keys, loaded):
    spec = local.interface.inputs[0]

    def encrypt(*shape):
        return local.context.encrypt(np.ones((*shape, spec.slots)), local.secret_key)

    with serving(home, batch=4) as server, server.http(home.clients.add("alice")) as http:
        assert http.put(KEYS, content=keys).status_code == 201
        for shape, code in (((5,), "too_many"), ((4, 1), "mismatch"), ((1, 5), "mismatch")):
            response = http.post(EVALUATE, content=bytes(encrypt(*shape)))
            assert (response.status_code, response.json()["error"]["code"]) == (422, code)
        assert loaded == []
        good = bytes(encrypt(4))
        assert http.post(EVALUATE, content=good).status_code == 200
        assert loaded == [len(good)]


def test_nothing_compressed_is_taken(home, local, keys, loaded):
    """Zeros are 64 times as large in memory as in a file."""
    x = local.context.encrypt(np.ones((4, 8)), local.secret_key)
    zeros = (x - x).to_bytes(compression=3)
    assert len(zeros) < len(bytes(x)) / 10
    with serving(home) as server, server.http(home.clients.add("alice")) as http:
        assert http.put(KEYS, content=keys).status_code == 201
        response = http.post(EVALUATE, content=zeros)
        assert (response.status_code, response.json()["error"]["code"]) == (422, "format")
        assert "compressed" in response.json()["error"]["message"]
        assert loaded == []
        # Keys as well: the same section, by its flag.
        at = keys.rindex(b"RESI")
        response = http.put(KEYS, content=keys[: at + 4] + b"\x01" + keys[at + 5 :])
        assert response.status_code == 422
        assert "compressed" in response.json()["error"]["message"]
        assert http.post(EVALUATE, content=bytes(x)).status_code == 200


def test_no_more_sections_are_looked_at_than_keys_have(tmp_path):
    """Each is 32 bytes: a file of 1 GiB would have 33 million."""

    def file_of(sections):
        path = tmp_path / "keys"
        head = b"\x89HEM\r\n\x1a\n" + (1).to_bytes(2, "little") + (7).to_bytes(2, "little") + bytes(36)
        last = b"RESI" + b"\x01" + bytes(27)  # compressed
        path.write_bytes(head + sections.to_bytes(4, "little") + bytes(12 + 32 * (sections - 1)) + last)
        return path

    most = 100_008
    raises(Refused, "compressed", library_of, {"keys": file_of(most)})
    with pytest.raises(Refused, match=f"announces {most + 1} sections, and keys have at most {most}"):
        library_of({"keys": file_of(most + 1)})


def test_keys_far_beyond_the_models_are_not_taken(home, package, local):
    needed = local.generate_keys()
    at_most = package.describe()["key_bytes_at_most"]
    limit = 2 * at_most + (1 << 20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = local.interface.generate_keys(local.context, local.secret_key)
        some = bytes(own | local.context.generate_keys(local.secret_key, rotations=[5, 6]))
        many = bytes(own | local.context.generate_keys(local.secret_key, rotations=range(5, 300)))
    assert len(needed) < len(some) < limit < len(many)
    with serving(home) as server, server.http(home.clients.add("alice")) as http:
        assert http.get("/v1/models/scores").json()["limits"]["key_bytes"] == limit
        told = [many, iter([many])]
        kind = "multipart/form-data; boundary=b"
        part = b'--b\r\nContent-Disposition: form-data; name="keys"\r\n\r\n' + many + b"\r\n--b--\r\n"
        for body, headers in [*((each, {}) for each in told), (part, {"Content-Type": kind})]:
            response = http.put(KEYS, content=body, headers=headers)
            assert (response.status_code, response.json()["error"]["code"]) == (413, "too_large")
        with server.connect() as raw:  # before the body comes
            token = http.headers["Authorization"]
            head = f"PUT {KEYS} HTTP/1.1\r\nHost: x\r\nAuthorization: {token}\r\nContent-Length: {limit + 1}"
            raw.sendall(f"{head}\r\n\r\n".encode())
            assert b" 413 " in raw.recv(1000)
        assert list(home.incoming.iterdir()) == []
        assert http.put(KEYS, content=some).status_code == 201


def test_a_removed_clients_keys_leave_the_device(home, local, keys):
    tokens = {name: home.clients.add(name) for name in ("alice", "bob")}
    with serving(home, sweep_seconds=0.05) as server:
        for token in tokens.values():
            with server.http(token) as http:
                assert http.put(KEYS, content=keys).status_code == 201
        both = server.metric("hemera_loaded_key_bytes")
        assert both > 0
        Home(home.root).remove_client("alice")  # as another process does
        wait_until(lambda: server.metric("hemera_loaded_key_sets") == 1)
        assert server.metric("hemera_loaded_key_bytes") == both / 2
        assert server.metric("hemera_stored_key_sets") == 1
        (body,) = local.encrypt(local.interface.encode(np.ones(8))).values()
        with server.http(tokens["bob"]) as http:
            assert http.post(EVALUATE, content=body).status_code == 200


def test_who_hung_up_leaves_nothing_in_the_queue(home, local, keys):
    """Ciphertexts that were loaded for a request are given up with it, also while it is in its queue."""
    (body,) = local.encrypt(local.interface.encode(np.ones(8))).values()
    token = home.clients.add("alice")
    with serving(home) as server, server.http(token) as http:
        assert http.put(KEYS, content=keys).status_code == 201
        client = server.service.clients.of_token(token) or ""
        go = threading.Event()
        server.service.scheduler.call(go.wait)
        waiting = Evaluation(client, "scores", {"input": body})
        server.service.scheduler.submit(waiting)
        assert waiting.loading is not None
        waiting.answer.cancel()
        assert waiting.loading is None
        assert waiting.files == {}
        go.set()
        assert http.post(EVALUATE, content=body).status_code == 200


def test_a_damaged_model_keeps_no_other_from_its_clients(home, caplog):
    folder = home.root / "models"
    data = (folder / "scores.hemera-model").read_bytes()
    (folder / "half.hemera-model").write_bytes(data[: len(data) // 2])
    (folder / "renamed.hemera-model").write_bytes(data)
    (folder / "folder.hemera-model").mkdir()
    rows = np.ones((2, 8))
    with caplog.at_level(logging.INFO, logger="hemera.serving"), serving(home) as server:
        told = server.http("x").get("/health").json()
        assert told["models"] == ["scores"]
        assert told["damaged"] == ["folder", "half", "renamed"]
        with client_of(server.url, home.clients.add("alice")) as client:
            require_scores(client, rows)
            assert [each["name"] for each in client.models()] == ["scores"]
    reported = [
        getattr(record, _FIELDS)
        for record in caplog.records
        if record.levelno == logging.ERROR and record.getMessage() == "damaged"
    ]
    assert [each["model"] for each in reported] == ["folder", "half", "renamed"]
    assert all(f"{each['model']}.hemera-model" in each["why"] for each in reported)


def test_a_model_that_can_not_be_prepared_keeps_no_other_from_its_clients(tmp_path, home, monkeypatch):
    export(lambda x: x + 1, inputs=4, name="other", security=None).save(tmp_path / "other")
    home.add_model(tmp_path / "other")
    prepare = Package.prepare

    def failing(self, ctx):
        if self.name == "other":
            raise errors.DeviceError("no room for it")
        return prepare(self, ctx)

    monkeypatch.setattr(Package, "prepare", failing)
    with serving(home) as server:
        told = server.http("x").get("/health").json()
        assert (told["models"], told["damaged"]) == (["scores"], ["other"])


def test_keys_that_nobody_uses_leave(home, keys, local):
    """Before and after their time is over; a request sets it anew."""
    limits = {"unused_key_seconds": 1000, "sweep_seconds": 1000}
    body = request_of(local, np.ones(8))

    def age(server, seconds):
        (found,) = server.service.store.sets()
        then = time.time() - seconds
        os.utime(found.files["keys"].parent / "set.json", (then, then))

    with serving(home, **limits) as server, server.http(home.clients.add("alice")) as http:
        assert http.put(KEYS, content=keys).status_code == 201
        age(server, 2000)
        assert http.post(EVALUATE, content=body).status_code == 200
        server.service.sweep()
        age(server, 900)
        server.service.sweep()
        assert (len(server.service.store), len(server.service.caches[0])) == (1, 1)
        age(server, 1001)
        server.service.sweep()
        assert (len(server.service.store), len(server.service.caches[0])) == (0, 0)
        assert list(home.keys.glob("*/*/*")) == []
        assert code(http.post(EVALUATE, content=body)) == (409, "no_keys")


def memory_of(body):
    """Bytes of a packed and seeded ciphertext in memory, by its file's layout (docs/file-format.md): two
    components in words of 8 bytes."""
    at = body.index(b"RESI") + 32
    degree, batch, components, moduli = struct.unpack_from("<IQII", body, at + 4)
    return 8 * int(degree) * int(batch) * (int(components) + 1) * int(moduli)


def test_back_pressure(home, local, keys):
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
        answers = []
        token = http.headers["Authorization"].removeprefix("Bearer ")

        def ask():
            with server.http(token) as own:
                answers.append(own.post(EVALUATE, content=body))

        threads = [threading.Thread(target=ask)]
        threads[0].start()
        wait_until(lambda: server.service.scheduler.waiting == 1)
        response = http.post(EVALUATE, content=body)
        assert code(response) == (429, "queue_full")
        assert response.headers["Retry-After"] == "1"
        # Bodies take room as they arrive: what is announced and not sent takes none.
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
            require_scores(client)
        assert [answer.status_code for answer in answers] == [200]
        assert server.metric("hemera_requests_total", model="scores", status="429") == 1


def test_timeouts(home, local, keys):
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


def test_clients_that_hang_up(server, home, local, keys):
    body = request_of(local, np.ones(8))
    token = home.clients.add("alice")
    head = f"Host: x\r\nAuthorization: Bearer {token}\r\n"
    with server.http(token) as http:
        assert http.put(KEYS, content=keys).status_code == 201

        def send(method, path, length, data):
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
