"""`hemera bench replicas`: sums of times by hand, processes of a known load, and its published numbers."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hemera.cli import main
from hemera_apps._serve_client import Measured
from hemera_apps.bench import replicas

BURN = "import time\nwhile time.process_time() < {}: pass\n"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads times of processes from /proc")
def test_processors_time_of_a_tree_of_processes():
    """A process computes for 0.2 s; its child computes for 0.4 s, and has ended or not."""
    child = BURN.format(0.4) + "print(flush=True)\nimport sys\nsys.stdin.read()"
    program = (
        BURN.format(0.2)
        + f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {child!r}], check=True)"
    )
    words = [sys.executable, "-c", program]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        own, others = replicas._seconds(process.pid)
        assert process.stdin is not None
        process.stdin.close()
    assert 0.19 <= own < 0.4
    assert 0.39 <= others < 0.8
    assert sum(replicas._seconds(os.getpid())) >= own + others  # of ended ones, too


def test_numbers_of_one_server():
    """Four requests in 2 s, 0.5 s of which are of the idle server."""
    found = [[Measured(0, 2, [0.1, 0.2, 0.3], [1, 1, 2])], [Measured(0, 2, [0.4], [2])]]
    told = replicas._numbers(found, 1.0, 3.5, 2.0, 0.25, True)
    assert told == {
        "requests": 4,
        "processor_ms": 1000.0,
        "server_ms": 250.0,
        "idle_percent": 25.0,
        "requests_per_second": 2.0,
        "median_ms": 250.0,
        "mean_batch": 1.5,
        "checked": True,
    }


def test_ratios_are_of_each_round():
    def side(value):
        return {"processor_ms": value, "requests_per_second": 10 / value, "median_ms": 2 * value}

    rounds = [{"without": side(a), "with": side(b)} for a, b in ((1.0, 2.0), (10.0, 11.0), (4.0, 6.0))]
    told = replicas._summary(rounds)
    assert (told["processor_ms_without"], told["processor_ms_with"]) == (4.0, 6.0)
    assert told["processor_ms_ratio"] == 1.5
    assert told["requests_per_second_ratio"] == pytest.approx(2 / 3, abs=1e-3)


def test_wrong_words(capsys):
    assert main(["bench", "replicas", "--clients", "0"]) == 1
    assert "--clients takes" in capsys.readouterr().err


def test_a_small_run(tmp_path):
    pytest.importorskip("ray", reason="Ray is not installed (extra 'ray'; docs/scaling.md)")
    path = tmp_path / "results.json"
    words = ["bench", "replicas", "--small", "--model", "linear", "--clients", "2", "--rounds", "2"]
    assert main([*words, "--seconds", "0.2", "--device", "cpu", "--json", str(path)]) == 0
    (row,) = json.loads(path.read_text(encoding="utf-8"))["rows"]
    assert (row["clients"], len(row["rounds"]), row["checked"]) == (2, 2, True)
    for found in row["rounds"]:
        assert found["without"]["requests"] >= 2
        assert found["with"]["requests"] >= 2


def test_the_published_numbers():
    """Ray takes a tenth at most of any request's time, and every answer was right."""
    path = Path(__file__).parents[3] / "bench" / "results" / "replicas-cpu-2-threads.json"
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    assert {row["model"] for row in rows} == {"linear", "network"}
    for row in rows:
        assert row["checked"]
        assert row["processor_ms_ratio"] <= 1.10
        assert row["processor_ms_ratio"] == replicas._summary(row["rounds"])["processor_ms_ratio"]
