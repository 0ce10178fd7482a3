"""A server's process from its start to its end: signals, certificates, descriptors and logs, from outside."""

import contextlib
import errno
import json
import os
import resource
import shutil
import signal
import socket
import ssl
import threading
import time

import httpx
import numpy as np
import pytest

import hemera as hm
from hemera.client.problems import ServerError
from hemera.serving import export
from hemera.serving.connections import Connections
from hemera.serving.server import listen
from hemera.serving.settings import Settings

from .conftest import (
    BOUND,
    ROWS,
    WEIGHTS,
    Process,
    client_of,
    expected,
    make_certificate,
    require_scores,
    serving,
    wait_until,
)


def events(process, name):
    return [line for line in process.lines if line["event"] == name]


def reload(process):
    """Until the process has read its files anew."""
    before = len(events(process, "reloaded"))
    process.signal(signal.SIGHUP)
    wait_until(lambda: len(events(process, "reloaded")) > before)


@contextlib.contextmanager
def asking(ask, threads=3):
    """Within it, threads ask again and again: what they got, and what went wrong."""
    found = []
    done = threading.Event()

    def work():
        while not done.is_set():
            try:
                found.append(ask())
            except Exception as error:
                found.append(repr(error))

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for each in workers:
        each.start()
    try:
        yield found
        came = len(found)
        wait_until(lambda: len(found) > came + threads)  # also after what happened
    finally:
        done.set()
        for each in workers:
            each.join(BOUND)


def test_a_reload_loses_no_request(home, tmp_path):
    """Models are replaced, damaged, added and removed, and tokens too, while clients ask for one of them."""
    token = home.clients.add("alice")
    params = hm.ckks.Parameters.for_circuit(depth=2, scale_bits=40, slots=8, security=None, degree=1024)
    versions = [
        export(
            lambda x, k=k: x @ (k * WEIGHTS), inputs=8, name="scores", params=params, outputs={"output": 3}
        )
        for k in (2.0, 3.0)
    ]
    other = export(lambda x: x + 1, inputs=8, name="other", params=params, outputs={"output": 8})
    factors = []

    with Process(home.root) as process, client_of(process.url, token, folder=tmp_path / "own") as client:
        require_scores(client)

        def ask():
            got = client.predict("scores", ROWS)
            right = [expected(ROWS), 2 * ROWS @ WEIGHTS, 3 * ROWS @ WEIGHTS]
            (which,) = [at for at, each in enumerate(right) if np.abs(got - each).max() < 1e-5]
            return which

        with asking(ask) as found:
            for number, package in enumerate(versions, 1):
                home.add_model(package)
                home.add_model(other)
                reload(process)
                wait_until(lambda number=number: number in found)
                home.model_file("scores").write_bytes(b"damaged")
                home.remove_model("other")
                reload(process)
                factors.append(number)
            home.add_model(versions[1])
            bob = home.clients.add("bob")
        assert set(found) == {0, 1, 2}, set(found)
        assert found == sorted(found, key=int) or len(found) > 20  # threads may overtake each other
        assert len(events(process, "damaged")) == 2
        listed = httpx.get(f"{process.url}/v1/models", headers={"Authorization": f"Bearer {bob}"})
        assert [each["name"] for each in listed.json()["models"]] == ["scores"]
        shown = httpx.get(f"{process.url}/metrics").text
        assert shown.count("hemera_model_info{") == 1
        home.remove_model("scores")
        home.add_model(other)
        reload(process)
        gone = httpx.get(f"{process.url}/v1/models/scores", headers={"Authorization": f"Bearer {token}"})
        assert (gone.status_code, gone.json()["error"]["code"]) == (404, "unknown_model")
        assert process.stop() == 0


def test_a_renewed_certificate_is_taken_without_a_restart(home, tls, tmp_path):
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    for source, to in zip(tls, (certificate, key), strict=True):
        shutil.copy(source, to)
    with Process(home.root, "--tls-certificate", str(certificate), "--tls-key", str(key)) as process:
        port = int(process.url.rpartition(":")[2])

        def shown():
            return ssl.get_server_certificate(("127.0.0.1", port))

        first = shown()
        with client_of(process.url, home.clients.add("alice"), certificates=str(certificate)) as client:
            require_scores(client)
        with client_of(process.url, "x", patience=0) as client, pytest.raises(ServerError, match="reached"):
            client.models()  # nobody vouches for the certificate
        trusted = ssl.create_default_context()
        trusted.check_hostname, trusted.verify_mode = False, ssl.CERT_NONE
        with httpx.Client(base_url=process.url, verify=trusted, timeout=BOUND) as http:

            def ask():
                return http.get("/health").status_code

            with asking(ask) as found:
                certificate.write_text("nonsense")
                reload(process)
                assert shown() == first
                make_certificate(certificate, key)
                reload(process)
                second = shown()
        assert second != first
        assert set(found) == {200}, set(found)
        (line,) = events(process, "reload")
        assert str(certificate) in line["why"]
        assert process.stop() == 0


def test_a_key_with_a_password(home, tls, tmp_path):  # noqa: ARG001
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    make_certificate(certificate, key, "-passout", "pass:sesame")
    words = ["--tls-certificate", str(certificate), "--tls-key", str(key)]
    with Process(home.root, *words, environment={"HEMERA_SERVE_TLS_KEY_PASSWORD": "sesame"}) as process:
        assert httpx.get(process.url + "/live", verify=False).status_code == 200
        assert process.stop() == 0
    for password in ("", "wrong"):  # no question at a terminal
        told = Process.refused(home.root, *words, environment={"HEMERA_SERVE_TLS_KEY_PASSWORD": password})
        assert f"cannot take the certificate {certificate}" in told


def test_a_drain_loses_no_request(home, keys, local):
    """A balancer, which asks /ready, sends to this server as long as it is ready."""
    token = home.clients.add("alice")
    arrays, _ = local.encode(ROWS)
    (body,) = local.encrypt(arrays).values()
    bearer = {"Authorization": f"Bearer {token}"}
    with Process(home.root, environment={"HEMERA_SERVE_DRAIN_SECONDS": "2"}) as process:
        with httpx.Client(base_url=process.url, timeout=BOUND, headers=bearer) as http:
            assert http.put("/v1/models/scores/keys", content=keys).status_code == 201
            statuses = []
            not_ready = threading.Event()

            def balance():
                while not not_ready.is_set():
                    answer = http.post("/v1/models/scores/evaluate", content=body)
                    statuses.append((answer.status_code, answer.headers.get("connection")))

            workers = [threading.Thread(target=balance) for _ in range(4)]
            for each in workers:
                each.start()
            wait_until(lambda: len(statuses) > 8)
            process.signal(signal.SIGTERM)
            wait_until(lambda: httpx.get(process.url + "/ready").status_code == 503)
            assert httpx.get(process.url + "/live").status_code == 200
            assert httpx.get(process.url + "/health").json()["error"]["code"] == "stopping"
            came = len(statuses)
            wait_until(lambda: len(statuses) > came + 4)
            not_ready.set()
            for each in workers:
                each.join(BOUND)
        assert {status for status, _ in statuses} == {200}
        assert statuses[-1] == (200, "close")
        assert statuses[0] == (200, None)
        assert process.wait() == 0
    assert events(process, "stopped")


def test_a_second_signal_ends_the_drain(home):
    with Process(home.root, environment={"HEMERA_SERVE_DRAIN_SECONDS": "1000"}) as process:
        process.signal(signal.SIGTERM)
        wait_until(lambda: bool(events(process, "draining")))
        assert process.stop() == 0


def test_the_end_waits_for_requests_alone(home, tls):
    """Connections without a request hold nothing up: idle ones, those that wait for their first request,
    and those of TLS that are made in this moment, which were kept alive for longer than the exit may take."""
    words = ["--tls-certificate", tls[0], "--tls-key", tls[1]]
    long = {"HEMERA_SERVE_SHUTDOWN_SECONDS": "1000", "HEMERA_SERVE_HEADER_SECONDS": "1000"}
    with Process(home.root, *words, environment=long) as process:
        place = ("127.0.0.1", int(process.url.rpartition(":")[2]))
        trusted = ssl.create_default_context()
        trusted.check_hostname, trusted.verify_mode = False, ssl.CERT_NONE

        def connect(shake):
            plain = socket.create_connection(place, timeout=BOUND)
            return trusted.wrap_socket(plain, do_handshake_on_connect=shake)

        silent, kept, late = connect(True), connect(True), connect(False)
        half = socket.create_connection(place, timeout=BOUND)
        for _ in range(2):
            kept.sendall(b"GET /live HTTP/1.1\r\nHost: here\r\n\r\n")
            told = b""
            while b'"ok"}' not in told:
                told += kept.recv(1 << 16)
            assert told.startswith(b"HTTP/1.1 200 OK")
        process.signal(signal.SIGTERM)
        wait_until(lambda: bool(events(process, "Shutting down")))
        with contextlib.suppress(OSError):  # the server may have ended it
            late.do_handshake()
            late.sendall(b"GET /live HTTP/1.1\r\nHost: here\r\n\r\n")
            told = late.recv(1 << 16)
            assert not told or b"connection: close" in told
        # Before any of them is closed here, or answers that TLS ends, which asyncio would wait for.
        assert process.wait(20) == 0
        for each in (silent, kept, late, half):
            each.close()
    assert not [line for line in process.lines if "exceeded" in line["event"]]


def test_who_reads_slowly_gets_all_of_an_answer_at_the_end(home, tls):
    words = ["--tls-certificate", tls[0], "--tls-key", tls[1]]
    with Process(home.root, *words) as process:
        whole = httpx.get(process.url + "/openapi.json", verify=False, timeout=BOUND).content
        plain = socket.socket()
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        plain.settimeout(BOUND)
        plain.connect(("127.0.0.1", int(process.url.rpartition(":")[2])))
        trusted = ssl.create_default_context()
        trusted.check_hostname, trusted.verify_mode = False, ssl.CERT_NONE
        with trusted.wrap_socket(plain) as slow:
            slow.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: here\r\n\r\n")
            told = slow.recv(1)
            process.signal(signal.SIGTERM)
            wait_until(lambda: bool(events(process, "Shutting down")))
            time.sleep(4)  # longer than whoever has read all may take to say so
            while piece := slow.recv(1024):
                told += piece
        assert told.partition(b"\r\n\r\n")[2] == whole
        assert process.wait() == 0


@pytest.mark.parametrize("tls_words", [False, True])
def test_few_descriptors(home, tls, tls_words):
    """More connections than files: idle ones make room, and the log stays short."""
    words = ["--tls-certificate", tls[0], "--tls-key", tls[1]] if tls_words else []

    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    with Process(home.root, *words, preexec=few) as process:
        place = ("127.0.0.1", int(process.url.rpartition(":")[2]))
        idle = [socket.create_connection(place, timeout=BOUND) for _ in range(120)]
        for _ in range(5):
            assert httpx.get(process.url + "/live", verify=False, timeout=BOUND).status_code == 200
        for each in idle:
            each.close()
        assert process.stop() == 0, process.lines
    assert events(process, "descriptors")[0]["connections"] == 32
    assert not [line for line in process.lines if "traceback" in line]
    assert len(process.lines) < 30


@pytest.mark.parametrize(
    ("soft", "hard", "raised", "room"),
    [
        (1024, resource.RLIM_INFINITY, None, 512),
        (256, resource.RLIM_INFINITY, 640, 512),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, None, 512),
        (256, 1 << 20, 640, 512),
        (640, 640, None, 512),
        (639, 639, None, 511),
        (100, 200, 200, 100),
    ],
)
def test_room_for_connections(soft, hard, raised, room, monkeypatch):
    given = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: given.append(limits))
    connections = Connections(Settings())
    assert given == ([] if raised is None else [(raised, hard)])
    assert connections._most == room


def test_a_spare_descriptor_that_another_thread_took(monkeypatch):
    """The listener closes none that is not its own, and tells that it can refuse nobody."""

    def none_left(*_):
        raise OSError(errno.EMFILE, "no room")

    with listen("127.0.0.1", 0) as listener:
        listener.setblocking(False)
        assert listener._refuse()
        with monkeypatch.context() as patch:
            patch.setattr(os, "open", none_left)
            assert [listener._refuse() for _ in range(2)] == [True, False]
        taken = os.dup(0)
        listener.close()
        os.close(taken)  # an error, if the listener closed it


def fewest_descriptors(process):
    """How many a process has when it does nothing: others are open for a moment, after its start too."""
    found = []
    for _ in range(50):
        found.append(len(os.listdir(f"/proc/{process}/fd")))  # noqa: PTH208
        time.sleep(0.01)
    return min(found)


def test_no_descriptor_at_all(home):
    """Where other files have taken all of them, connections are refused at once, and later taken again."""
    with Process(home.root) as process:
        place = ("127.0.0.1", int(process.url.rpartition(":")[2]))
        used = fewest_descriptors(process.pid)
        usual = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (used, usual[1]))
        for _ in range(300):
            with socket.create_connection(place, timeout=BOUND) as refused:
                refused.sendall(b"GET /live HTTP/1.1\r\nHost: here\r\n\r\n")
                with contextlib.suppress(ConnectionResetError):
                    assert refused.recv(100) == b""
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, usual)
        assert httpx.get(process.url + "/live").status_code == 200
        assert process.stop() == 0
    assert len(events(process, "descriptors")) == 1
    assert len(process.lines) < 30


def test_logs_are_rotated(home, tmp_path):
    """A file that is moved away is made anew, and each line is in one of the files, whole."""
    log = tmp_path / "serve.log"
    with Process(home.root, environment={"HEMERA_SERVE_LOG_FILE": str(log)}, log=log) as process:
        assert log.stat().st_mode & 0o777 == 0o600
        with asking(lambda: httpx.get(process.url + "/live").status_code) as found:
            for number in range(3):
                wait_until(lambda number=number: len(found) > 8 * (number + 1))
                log.rename(tmp_path / f"serve.log.{number}")
                process.signal(signal.SIGHUP)
                wait_until(log.exists)
        assert process.stop() == 0
    lines = [json.loads(line) for file in sorted(tmp_path.glob("serve.log*")) for line in file.open()]
    told = [line for line in lines if line["event"] == "request" and line["path"] == "/live"]
    assert len(told) == len(found)
    assert len({line["request"] for line in told}) == len(told)
    assert set(found) == {200}


def test_sizes_are_those_that_keys_take(home, keys):
    token = home.clients.add("alice")
    few = {"HEMERA_SERVE_LOADED_KEY_BYTES": "10MiB", "HEMERA_SERVE_WAITING_BYTES": "512MiB"}
    for environment, level in ((few, "info"), ({"HEMERA_SERVE_LOADED_KEY_BYTES": "100TiB"}, "warning")):
        with Process(home.root, environment=environment) as process:
            wait_until(lambda process=process: len(events(process, "sizing")) == 2)
            server, model = events(process, "sizing")
            assert server["level"] == level
            with httpx.Client(base_url=process.url, headers={"Authorization": f"Bearer {token}"}) as http:
                assert http.put("/v1/models/scores/keys", content=keys).status_code == 201
                shown = http.get("/metrics").text
            assert f"\nhemera_loaded_key_bytes {float(model['key_bytes'])}\n" in shown
            if level == "info":
                assert server["needed_bytes"] == (1 << 30) + (512 << 20) + (10 << 20)
                assert model["loaded_clients"] == (10 << 20) // model["key_bytes"]
                assert model["key_bytes"] <= 3.2 * len(keys)
            assert process.stop() == 0


def test_heads_and_addresses_that_end_with_a_slash(home):
    token = home.clients.add("alice")
    with serving(home) as server, server.http(token) as http:
        for path in ("/live", "/ready", "/health", "/metrics", "/openapi.json", "/v1/models", "/v1/none"):
            got, head = http.get(path), http.head(path)
            assert (head.status_code, head.content) == (got.status_code, b"")
            assert head.headers["content-type"] == got.headers["content-type"]
            if path != "/metrics":
                assert head.headers["content-length"] == got.headers["content-length"]
        assert http.head("/v1/models/scores/evaluate").status_code == 405
        for path, place in (
            ("/v1/models/", "../models"),
            ("/v1/models/scores/", "../scores"),
            ("/health/?a=b", "../health?a=b"),
        ):
            moved = http.get(path)
            assert (moved.status_code, moved.headers["location"]) == (307, place)
            assert http.get(path, follow_redirects=True).url.path == httpx.URL(path).path.rstrip("/")
        assert http.post("/v1/models/scores/evaluate/", content=b"x").status_code == 404
        assert http.get("/v1/models//").status_code == http.get("//").status_code == 404
        assert http.get("/openapi.json").json()["servers"][0]["url"] == "."
