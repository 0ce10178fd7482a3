"""A server whose machine misbehaves: a clock that jumps, a disk that does not answer. Each is a real process,
into which Python reads a module that stands between it and the system."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import httpx

from hemera.package.local_model import LocalModel
from hemera.serving.home import Home

from .conftest import BOUND, ROWS, Process, client_of, require_scores, wait_until

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


def between(folder: Path, module: str) -> dict[str, str]:
    """The environment of a process that reads the module first."""
    (folder / "between").mkdir()
    (folder / "between" / "sitecustomize.py").write_text(module)
    path = f"{folder / 'between'}:{os.environ.get('PYTHONPATH', '')}"
    return {"PYTHONPATH": path.rstrip(":"), "DRILL": str(folder / "drill")}


def test_a_clock_that_jumps(home: Home, keys: bytes, tmp_path: Path) -> None:
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


def test_a_disk_that_does_not_answer(home: Home, keys: bytes, local: LocalModel, tmp_path: Path) -> None:
    """An upload waits for it. Whoever watches the server, and clients whose keys are there, do not."""
    alice, bob = (home.clients.add(name) for name in ("alice", "bob"))
    arrays, _ = local.encode(ROWS)
    (body,) = local.encrypt(arrays).values()
    drill = tmp_path / "drill"
    statuses: list[int] = []
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


def test_a_log_that_can_not_be_written(home: Home, tmp_path: Path) -> None:
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
