"""A server under load, killed in the middle, with clocks that jump and disks that do not answer."""

import contextlib
import os
import random
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pytest

from hemera import errors
from hemera.client.problems import ServerError

from ..refusals import raises
from .conftest import BOUND, ROWS, Process, client_of, require_scores, wait_until

CLIENTS = 8
REQUESTS = 6


class Disturber(threading.Thread):
    """Hangs up, sends rubbish, huge bodies and secret keys, until it is told to stop."""

    def __init__(self, url, token, local):
        super().__init__(daemon=True)
        self._url, self._token, self._local = url, token, local
        self.stop = threading.Event()
        self.rounds = 0
        self.accepted = []

    def run(self):
        secret = bytes(self._local.secret_key)
        keys = self._local.generate_keys()
        choice = random.Random(3)
        base = f"{self._url}/v1/models/scores"
        with httpx.Client(
            headers={"Authorization": f"Bearer {self._token}"}, timeout=BOUND, trust_env=False
        ) as http:
            while not self.stop.is_set():
                self.rounds += 1

                def broken(count):
                    yield keys[:count]
                    raise httpx.WriteError("this client hangs up")

                bodies = {
                    "rubbish": choice.randbytes(1000),
                    "secret": secret,
                    "huge": (b"\0" * 100_000 for _ in range(30)),
                    "half": broken(choice.randrange(len(keys))),
                }
                for name, body in bodies.items():
                    path = f"{base}/{choice.choice(['keys', 'evaluate'])}"
                    method = "PUT" if path.endswith("keys") else "POST"
                    with contextlib.suppress(httpx.TransportError):
                        if http.request(method, path, content=body).is_success:
                            self.accepted.append(name)


def ask(client, seed):
    """Requests of one client, one after the other: how many were right."""
    generator = np.random.default_rng(seed)
    right = 0
    for at in range(REQUESTS):
        rows = generator.uniform(-1, 1, (1 + at % 3, 8))
        require_scores(client, rows)
        right += 1
    return right


def test_eight_clients_and_a_disturber(home, local):
    """Nothing is lost and nothing mixed: each result is that of its own rows, under its own key."""
    tokens = [home.clients.add(f"client{at}") for at in range(CLIENTS)]
    disturbing = home.clients.add("disturber")
    with Process(home.root, "--max-request", "1MiB", "--max-keys", "1MiB") as process:
        disturber = Disturber(process.url, disturbing, local)
        disturber.start()
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(client_of(process.url, token)) for token in tokens]
            with ThreadPoolExecutor(2 * CLIENTS) as pool:  # each client from two threads
                done = list(pool.map(ask, clients * 2, range(2 * CLIENTS), timeout=BOUND))
        disturber.stop.set()
        disturber.join(BOUND)
        assert done == [REQUESTS] * 2 * CLIENTS
        with pytest.raises(errors.FileError, match="another server"), home.locked():
            pass
        assert disturber.rounds > 0
        assert disturber.accepted == []
        text = httpx.get(process.url + "/metrics", trust_env=False).text
        total = 2 * CLIENTS * REQUESTS
        assert f'hemera_requests_total{{model="scores",status="200"}} {total}.0' in text
        assert 'status="500"' not in text
        assert process.stop() == 0
    assert not [told for told in process.lines if told["level"] not in ("info",)]


def test_a_kill_in_the_middle(home, tmp_path, keys):
    """Keys and models are there after a restart; what was half there is not."""
    token, other = home.clients.add("alice"), home.clients.add("bob")
    rows = np.linspace(-1, 1, 16).reshape(2, 8)
    folder = tmp_path / "alice"
    with Process(home.root) as process:
        with client_of(process.url, token, folder=folder) as client:
            require_scores(client, rows)
        # Killed while an upload arrives and requests run.
        arriving, killed = threading.Event(), threading.Event()

        def pieces():
            yield keys[:100_000]
            arriving.set()
            killed.wait(BOUND)
            yield keys[100_000:]

        def upload():
            with contextlib.suppress(httpx.TransportError):
                httpx.put(
                    f"{process.url}/v1/models/scores/keys",
                    content=pieces(),
                    headers={"Authorization": f"Bearer {other}"},
                    timeout=BOUND,
                    trust_env=False,
                )

        def request():
            with client_of(process.url, token, folder=folder, patience=0) as own:
                for _ in range(10_000):
                    own.predict("scores", rows)

        with ThreadPoolExecutor(3) as pool:
            uploading = pool.submit(upload)
            asking = [pool.submit(request) for _ in range(2)]
            assert arriving.wait(BOUND)
            process.kill()
            killed.set()
            for future in asking:
                raises(ServerError, "not to be reached", future.result, BOUND)
            uploading.result(BOUND)
    with Process(home.root) as process:
        assert list(home.incoming.iterdir()) == []
        sent = []
        with client_of(
            process.url, token, folder=folder, progress=lambda part, *_: sent.append(part)
        ) as client:
            require_scores(client, rows)
        assert "upload" not in sent
        with httpx.Client(
            headers={"Authorization": f"Bearer {other}"}, timeout=BOUND, trust_env=False
        ) as http:
            assert http.get(f"{process.url}/v1/models/scores/keys").status_code == 404
        assert process.stop() == 0


KEYS = "/v1/models/scores/keys"
PART = f"{KEYS}/{'5' * 32}"
YEAR = 365 * 86400.0

CLOCK = """
import os, time
true = time.time
def jumped():
    with open(os.environ["DRILL"]) as file:
        return true() + float(file.read() or 0)
time.time = jumped
"""
DISK = """
import os, time
true = os.fsync
def stuck(handle):
    while os.path.exists(os.environ["DRILL"]):
        time.sleep(0.01)
    true(handle)
os.fsync = stuck
"""


def between(folder, module):
    """The environment of a process that reads the module first."""
    (folder / "between").mkdir()
    (folder / "between" / "sitecustomize.py").write_text(module)
    path = f"{folder / 'between'}:{os.environ.get('PYTHONPATH', '')}"
    return {"PYTHONPATH": path.rstrip(":"), "DRILL": str(folder / "drill")}


def test_a_clock_that_jumps(home, keys, tmp_path):
    """Uploads stay for as long as they may wait, answers are right, and no time in the log is negative."""
    alice = home.clients.add("alice")
    drill = tmp_path / "drill"
    drill.write_text("0")
    environment = {**between(tmp_path, CLOCK), "HEMERA_SERVE_SWEEP_SECONDS": "0.1"}
    with Process(home.root, environment=environment) as process, client_of(process.url, alice) as client:
        http = httpx.Client(base_url=process.url, headers={"Authorization": f"Bearer {alice}"}, timeout=BOUND)
        with http:
            began = http.put(PART, content=keys[:1000], headers={"Upload-Offset": "0"})
            assert began.json() == {"bytes": 1000}
            for jump in (2 * YEAR, -2 * YEAR):
                bob = home.clients.add("bob")
                with client_of(process.url, bob) as other:
                    require_scores(client)
                    require_scores(other)
                    drill.write_text(str(jump))
                    require_scores(client)
                home.remove_client("bob")  # the server looks for what to forget
                wait_until(lambda: "hemera_stored_key_sets 1.0" in http.get("/metrics").text)
                assert http.get(PART).json() == {"bytes": 1000}
        assert process.stop() == 0
    seconds = [line["seconds"] for line in process.lines if line["event"] == "request"]
    assert len(seconds) > 10
    assert all(0 <= each < BOUND for each in seconds)
    years = {line["time"][:4] for line in process.lines}
    assert len(years) >= 3  # so the clock did jump


def test_a_disk_that_does_not_answer(home, keys, local, tmp_path):
    """An upload waits for it. Whoever watches the server, and clients whose keys are there, do not."""
    alice, bob = (home.clients.add(name) for name in ("alice", "bob"))
    arrays, _ = local.encode(ROWS)
    (body,) = local.encrypt(arrays).values()
    drill = tmp_path / "drill"
    statuses = []
    with Process(home.root, environment=between(tmp_path, DISK)) as process:
        with httpx.Client(base_url=process.url, timeout=BOUND) as http:
            mine, others = ({"Authorization": f"Bearer {token}"} for token in (alice, bob))
            assert http.put(KEYS, content=keys, headers=mine).status_code == 201
            drill.touch()
            uploads = [
                threading.Thread(
                    target=lambda: statuses.append(
                        httpx.put(process.url + KEYS, content=keys, headers=others, timeout=BOUND).status_code
                    )
                )
                for _ in range(2)
            ]
            for each in uploads:
                each.start()
            wait_until(lambda: len(list(home.incoming.glob("*/keys"))) == 2)
            for _ in range(5):
                assert http.get("/live").status_code == http.get("/ready").status_code == 200
                assert "hemera_stored_key_sets 1.0" in http.get("/metrics").text
                answer = http.post("/v1/models/scores/evaluate", content=body, headers=mine)
                assert answer.status_code == 200
            assert http.get(KEYS, headers=others).status_code == 404
            assert not statuses
            drill.unlink()
            for each in uploads:
                each.join(BOUND)
            assert statuses == [201, 201]
            assert http.get(KEYS, headers=others).status_code == 200
        assert process.stop() == 0


def test_a_log_that_can_not_be_written(home, tmp_path):
    """A server goes on, and is stopped as ever, where its log's disk is full."""
    token = home.clients.add("alice")
    log = tmp_path / "serve.log"
    with Process(home.root, environment={"HEMERA_SERVE_LOG_FILE": str(log)}, log=log) as process:
        log.unlink()
        log.symlink_to("/dev/full")
        with client_of(process.url, token) as client:
            require_scores(client)
        assert process.stop() == 0
    told = Process.refused(home.root, environment={"HEMERA_SERVE_LOG_FILE": str(tmp_path / "no" / "log")})
    assert "cannot write the log" in told
