"""The answers of a client beside a flood, compared with its answers alone: python bench/fairness.py

For each limit of a batch's time, a server in a process of its own. One client sends a request at a time;
the other one sends none, or keeps `--connections` requests there. Both are measured by turns, and the ratio
of the medians is what docs/measurements/serving.md has. `inside` is the
time of the quiet client's requests by the server's log: from their headers to the answer."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from hemera.serving.home import Home
from hemera_apps.bench.serve import Crowd, workload


def measure(batch_seconds: float, options: argparse.Namespace) -> dict[str, float]:
    """Medians of a quiet client's seconds, alone and beside the flood, and the flood's answers a second."""
    work = workload(options.model, options.small)
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder))
        home.add_model(work.package)
        words = [
            sys.executable,
            "-W",
            "ignore",
            "-m",
            "hemera",
            "serve",
            folder,
            "--port",
            "0",
            "--device",
            "cpu",
        ]
        settings = {"HEMERA_SERVE_DEVICE": "cpu", "HEMERA_SERVE_BATCH_SECONDS": str(batch_seconds)}
        with subprocess.Popen(
            words, stderr=subprocess.PIPE, text=True, env={**os.environ, **settings}
        ) as server:
            assert server.stderr is not None
            told: dict[str, object] = {}
            port: object = 0
            while told.get("event") != "ready":
                told = json.loads(server.stderr.readline())
                port = told.get("port", port)
            inside: list[float] = []
            lines = server.stderr

            def read() -> None:
                for line in lines:
                    told = json.loads(line)
                    if told["event"] == "request" and str(told.get("client")).startswith("client0."):
                        inside.append(told["seconds"])

            log = threading.Thread(target=read)
            log.start()
            with Crowd(work, f"http://127.0.0.1:{port}", home.root, 2) as crowd:
                quiet, flood = crowd._orders
                alone: list[float] = []
                beside: list[float] = []
                inside_alone: list[float] = []
                inside_beside: list[float] = []
                answers = 0
                for _ in range(options.turns):
                    quiet.send((1, options.seconds))
                    inside.clear()
                    alone += quiet.recv()[0].seconds
                    inside_alone += inside
                    flood.send((options.connections, 2 * options.seconds))
                    time.sleep(options.seconds / 2)
                    quiet.send((1, options.seconds))
                    inside.clear()
                    beside += quiet.recv()[0].seconds
                    inside_beside += inside
                    answers += sum(len(each.seconds) for each in flood.recv())
            server.terminate()
            log.join()
    found = {"alone": float(np.median(alone)), "beside": float(np.median(beside))}
    found["worst"] = max(beside)
    found["inside_alone"], found["inside_beside"] = map(float, map(np.median, (inside_alone, inside_beside)))
    return {**found, "ratio": found["beside"] / found["alone"], "flood_answers": answers}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="network")
    parser.add_argument("--connections", type=int, default=24)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    for batch_seconds in (1e8, 0.05):
        found = measure(batch_seconds, options)
        print(f"batch_seconds {batch_seconds}: {json.dumps({k: round(v, 4) for k, v in found.items()})}")


if __name__ == "__main__":
    main()
