"""Bytes and seconds of one round of a federation: python bench/federation.py [RESULTS [DEVICE [THREADS]]].

2^20 parameters, 2 of 3 members, 100 clients, 16 bits, 1,000 rounds; the best of three. One thread on the CPU,
the default, has processor time; other threads and devices have the clock's. RESULTS: a JSON file that is
written.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

import hemera as hm
from hemera import _core
from hemera.multiparty.layout import Layout
from results_file import write_results

T = TypeVar("T")


def measured(method: str, count: int, device: str, threads: int) -> dict[str, object]:
    clock = time.process_time if (device, threads) == ("cpu", 1) else time.perf_counter

    def timed(work: Callable[[], T]) -> tuple[T, float]:
        best = float("inf")
        for _ in range(3):
            start = clock()
            result = work()
            best = min(best, clock() - start)
        return result, best

    access = _core.FederationAccess(3, 2)
    plan = _core.FederationPlan(
        values=count,
        value_bits=16,
        contributors=100,
        weight=1,
        rounds=1000,
        opening_bits=40,
        pieces=access.pieces,
        degree=4096,
        security=128,
        method=method,
    )
    parameters = hm.load_parameters(_core.save(plan.parameters, 0))
    context = hm.Context(parameters, device, threads=threads)._native
    description = _core.FederationDescription(access, plan, ["a", "b", "c"], os.urandom(32), os.urandom(32))
    pieces = [_core.FederationPiece.fresh(piece) for piece in range(access.pieces)]
    names = [f"client-{i:02}" for i in range(100)]
    listed = _core.FederationList(description, 0, 0, [(name, 1, os.urandom(32)) for name in names])
    answered: dict[int, bytes] = {}
    member = _core.FederationMember(
        context, description, 0, [pieces[1], pieces[2]], answered.get, answered.__setitem__
    )
    values = np.random.default_rng(1).uniform(-1, 1, count).astype(np.float32)
    layout = Layout.of(values, 16, 1.0)
    quantized, rounding = timed(lambda: layout.quantized(values))
    dealt = [piece.dealt(description, names[0]) for piece in pieces]
    upload, encrypting = timed(
        lambda: _core.federation_upload(context, description, listed, names[0], dealt, quantized.values)
    )
    _, adding = timed(lambda: _core.UploadSum(description, listed).add(upload))
    share, answering = timed(lambda: member.share(listed, 1))
    return {
        "method": method,
        "parameters": count,
        "bytes a parameter up": round(len(upload) / count, 3),
        "bytes a parameter, share of a piece": round(len(share) / count, 3),
        "round and clip [s]": round(rounding, 4),
        "upload [s]": round(encrypting, 4),
        "add an upload [s]": round(adding, 4),
        "share of a piece [s]": round(answering, 4),
    }


def main() -> None:
    results, device, threads = [*sys.argv[1:], *["", "cpu", "1"][len(sys.argv) - 1 :]][:3]
    rows = [measured(method, 2**20, device, int(threads)) for method in ("lattice", "masks")]
    print(json.dumps(rows, indent=1))
    if results:
        write_results(results, f"{device} ({threads} threads)", rows)


if __name__ == "__main__":
    main()
