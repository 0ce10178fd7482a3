"""The answers of a client beside a flood, compared with its answers alone: python bench/fairness.py

For each of several settings, a server in a process of its own. One client sends a request at a time; the
other one sends none, or keeps `--connections` requests there. Both are measured by turns, and the ratio of
the medians is what docs/measurements/serving.md has. `inside` is the time of the quiet client's requests by
the server's log: from their headers to the answer."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hemera.serving.home import Home
from hemera_apps.bench.serve import Crowd, workload
from results_file import write_results
from server_process import serving

WITHOUT = {"batch_seconds": 1e8, "client_requests": 1000}
"""Neither turns of short batches nor few requests of each client in progress."""
CASES = (WITHOUT, {**WITHOUT, "batch_seconds": 0.05}, {"batch_seconds": 0.05, "client_requests": 2})


def measure(case: Mapping[str, object], options: argparse.Namespace) -> dict[str, float]:
    """Medians of a quiet client's seconds, alone and beside the flood, and the flood's answers."""
    work = workload(options.model, options.small)
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder))
        home.add_model(work.package)
        inside: list[float] = []

        def note(told: dict[str, Any]) -> None:
            if told["event"] == "request" and str(told.get("client")).startswith("client0."):
                inside.append(told["seconds"])

        with (
            serving(home, {**case, "device": options.device}, note) as url,
            Crowd(work, url, home.root, 2) as crowd,
        ):
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
    found = {"alone": float(np.median(alone)), "beside": float(np.median(beside))}
    found["worst"] = max(beside)
    found["inside_alone"], found["inside_beside"] = map(float, map(np.median, (inside_alone, inside_beside)))
    return {**found, "ratio": found["beside"] / found["alone"], "flood_answers": answers}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="network")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--connections", type=int, default=24)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--json", metavar="FILE", help="results that are written")
    options = parser.parse_args()
    rows = []
    for case in CASES:
        found = {name: round(value, 4) for name, value in measure(case, options).items()}
        rows.append({"model": options.model, "small": options.small, **case, **found})
        print(json.dumps(rows[-1]))
    if options.json:
        write_results(options.json, f"{options.device}, {options.connections} connections of the flood", rows)


if __name__ == "__main__":
    main()
