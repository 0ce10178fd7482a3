"""A client's keys of a bootstrap, made while they are written: python bench/client_keys.py [RESULTS.json].

They go through a file, as on their way to a server, and are read from it as they come. Each row is of a
process of its own, whose peak has the plan, by which the client knows its keys, the context, and the keys in
the making.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import hemera as hm
from hemera.client.key_file import KeyFile
from hemera.package.interface import Interface
from hemera.package.local_model import LocalModel
from hemera.program.keys import KeyList
from hemera.serving import InputSpec, OutputSpec
from results_file import write_results

LIMITS, REPEATS = (270_000_000, 350_000_000, 750_000_000), 7


def measured(limit: int) -> dict[str, Any]:
    """The row of one limit."""
    params = hm.ckks.Parameters.for_bootstrapping("n16-40")
    slots = params.max_slots
    bootstrap = {"slots": slots, "real": False, "iterations": 1, "merge_parts": False, "upload_limit": limit}
    needed = KeyList(bootstraps=(bootstrap,))
    ends = (InputSpec("x", slots, slots),), (OutputSpec("y", slots),)
    model = LocalModel(Interface("bootstrap", "", params, *ends, needed, 1))
    start = time.perf_counter()
    count = len(needed.all_needs(model.context))
    planned = time.perf_counter() - start
    seconds, size, processor = [], 0, time.process_time()
    for _ in range(REPEATS):
        start = time.perf_counter()
        file = KeyFile(model.write_keys, None)
        size = sum(map(len, file.pieces(0)))
        file.close(remove=True)
        seconds.append(round(time.perf_counter() - start, 3))
    processor = (time.process_time() - processor) / REPEATS
    peak = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    assert peak is not None
    return {
        "parameters": "n16-40",
        "cores": len(os.sched_getaffinity(0)),
        "upload_limit": limit,
        "keys": count,
        "bytes": size,
        "plan_seconds": round(planned, 3),
        "first_seconds": seconds[0],
        "seconds": min(seconds),
        "median_seconds": statistics.median(seconds),
        "processor_seconds": round(processor, 3),
        "peak_bytes": int(peak[1]) * 1024,
    }


def main() -> None:
    if sys.argv[1:2] == ["--row"]:
        print(json.dumps(measured(int(sys.argv[2]))))
        return
    rows = []
    for limit in LIMITS:
        command = [sys.executable, __file__, "--row", str(limit)]
        rows.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    print(json.dumps(rows, indent=1))
    if len(sys.argv) > 1:
        write_results(
            sys.argv[1], f"cpu ({len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.0f})", rows
        )


if __name__ == "__main__":
    main()
