"""Bytes and seconds of one round of a federation: python bench/federation.py [RESULTS [DEVICE [THREADS]]].

2^20 parameters, 2 of 3 members, 100 clients, 16 bits, 1,000 rounds; the best of three, and where a share's
time goes. One thread on the CPU, the default, has processor time; other threads and devices have the clock's.
RESULTS: a JSON file that is written. `--clients N`: the clock's seconds of adding N clients' uploads on all
processors, as members do, and of opening the sum, in the place of all else; NumPy's sum must be the one that
is opened. `--parameters 100000000 --clients 100` holds 39 GB of uploads, which threads on the CPU make first.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

import hemera as hm
from hemera import _core
from hemera.multiparty.layout import Layout
from hemera.multiparty.rounds import AT_ONCE
from results_file import write_results

T = TypeVar("T")


class Setting:
    """2 of 3 members, a list of 100 clients, or fewer."""

    def __init__(self, method: str, count: int, clients: int = 100, opening_bits: int = 40) -> None:
        access = _core.FederationAccess(3, 2)
        self.plan = _core.FederationPlan(
            values=count,
            value_bits=16,
            contributors=100,
            weight=1,
            rounds=1000,
            opening_bits=opening_bits,
            pieces=access.pieces,
            degree=4096,
            security=128,
            method=method,
        )
        members = ["a", "b", "c"]
        self.description = _core.FederationDescription(
            access, self.plan, members, os.urandom(32), os.urandom(32)
        )
        self.pieces = [_core.FederationPiece.fresh(piece) for piece in range(access.pieces)]
        self.names = [f"client-{i:02}" for i in range(clients)]
        entries = [(name, 1, os.urandom(32)) for name in self.names]
        self.list = _core.FederationList(self.description, 0, 0, entries)

    def context(self, device: str, threads: int) -> Any:
        parameters = hm.load_parameters(_core.save(self.plan.parameters, 0))
        return hm.Context(parameters, device, threads=threads)._native

    def member(self, context: Any, number: int) -> Any:
        answered: dict[int, bytes] = {}
        held = [piece for piece in self.pieces if piece.number != number]
        return _core.FederationMember(
            context, self.description, number, held, answered.get, answered.__setitem__
        )

    def upload(self, context: Any, name: str, values: Any) -> bytes:
        dealt = [piece.dealt(self.description, name) for piece in self.pieces]
        return _core.federation_upload(context, self.description, self.list, name, dealt, values)


def measured(method: str, count: int, device: str, threads: int) -> dict[str, object]:
    clock = time.process_time if (device, threads) == ("cpu", 1) else time.perf_counter

    def timed(work: Callable[[], T]) -> tuple[T, float]:
        best = float("inf")
        for _ in range(3):
            start = clock()
            result = work()
            best = min(best, clock() - start)
        return result, best

    setting = Setting(method, count)
    context = setting.context(device, threads)
    member = setting.member(context, 0)
    values = np.random.default_rng(1).uniform(-1, 1, count).astype(np.float32)
    layout = Layout.of(values, 16, 1.0)
    quantized, rounding = timed(lambda: layout.quantized(values))
    upload, encrypting = timed(lambda: setting.upload(context, setting.names[0], quantized.values))
    _, adding = timed(lambda: _core.UploadSum(setting.description, setting.list).add(upload))
    share, answering = timed(lambda: member.share(setting.list, 1))
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


def split(count: int, device: str, threads: int) -> dict[str, object]:
    """Where the time of a share goes: differences of shares that lack a step, the best of eight in turn."""
    settings = {
        "whole": Setting("lattice", count),
        "one client": Setting("lattice", count, 1),
        # Six layers less of floodings, and the same narrow Gaussians: 18 bits.
        "fewer layers": Setting("lattice", count, opening_bits=4),
        "masks": Setting("masks", count, 1),
        "one polynomial": Setting("lattice", 4096),
    }
    flooding = settings["whole"].plan.margin.flooding_log2
    assert flooding == settings["fewer layers"].plan.margin.flooding_log2 + 18
    members = {name: each.member(each.context(device, threads), 0) for name, each in settings.items()}
    clock = time.process_time if (device, threads) == ("cpu", 1) else time.perf_counter
    best = dict.fromkeys(settings, float("inf"))
    for _ in range(8):
        for name, setting in settings.items():
            start = clock()
            members[name].share(setting.list, 1)
            best[name] = min(best[name], clock() - start)
    widths = 20 * np.sqrt(np.cumsum(64.0 ** np.arange(80)))  # docs/randomness.md, "Wide Gaussians"
    layers = 1 + int(np.sum(widths < 2.0**flooding))
    floodings = (best["whole"] - best["fewer layers"]) / 6 * layers
    steps = {
        "share of a piece [s]": best["whole"],
        "secrets of 100 clients": best["whole"] - best["one client"],
        f"floodings of {layers} layers": floodings,
        "one mask in their place, download, compare, pack, hash": best["masks"],
        "public polynomials: draw, hash, multiply, compare": best["one client"] - floodings - best["masks"],
        "one polynomial, all clients": best["one polynomial"],
    }
    return {"parameters": count, **{name: round(seconds, 4) for name, seconds in steps.items()}}


def round_of(method: str, count: int, clients: int, device: str, threads: int) -> dict[str, object]:
    setting = Setting(method, count, clients)
    drawn = np.random.default_rng(1)
    values = [drawn.integers(-32767, 32768, count, np.int16).astype(np.int64) for _ in range(4)]
    makers = max(1, threads // 4)
    contexts = [setting.context("cpu", -(-threads // makers)) for _ in range(makers)]

    def made_by(maker: int) -> dict[str, bytes]:
        mine = range(maker, clients, makers)
        return {
            setting.names[k]: setting.upload(contexts[maker], setting.names[k], values[k % 4]) for k in mine
        }

    with ThreadPoolExecutor(makers) as pool:
        uploads = {name: data for made in pool.map(made_by, range(makers)) for name, data in made.items()}
    total = _core.UploadSum(setting.description, setting.list)
    start = time.perf_counter()
    for first in range(0, clients, AT_ONCE):
        total.add(*[uploads[name] for name in setting.names[first : first + AT_ONCE]])
    adding = time.perf_counter() - start
    size = len(uploads[setting.names[0]])
    uploads.clear()
    context = setting.context(device, threads)
    start = time.perf_counter()
    shares = [setting.member(context, int(piece == 0)).share(setting.list, piece) for piece in range(3)]
    answering = time.perf_counter() - start
    start = time.perf_counter()
    opened = total.open(shares)
    opening = time.perf_counter() - start
    expected = sum(len(range(k, clients, 4)) * each for k, each in enumerate(values))
    if not np.array_equal(opened, expected):
        raise SystemExit("the sum is not NumPy's")
    return {
        "method": method,
        "parameters": count,
        "clients": clients,
        "bytes a parameter up": round(size / count, 3),
        "add all uploads [s]": round(adding, 4),
        "share of a piece [s]": round(answering / 3, 4),
        "open [s]": round(opening, 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("results", nargs="?", default="")
    parser.add_argument("device", nargs="?", default="cpu")
    parser.add_argument("threads", nargs="?", type=int, default=1)
    parser.add_argument("--parameters", type=int, default=2**20)
    parser.add_argument("--clients", type=int)
    args = parser.parse_args()
    if args.clients is None:
        methods = ("lattice", "masks")
        rows = [measured(method, args.parameters, args.device, args.threads) for method in methods]
        rows.append(split(args.parameters, args.device, args.threads))
    else:
        rows = [round_of("lattice", args.parameters, args.clients, args.device, args.threads)]
    print(json.dumps(rows, indent=1))
    if args.results:
        write_results(args.results, f"{args.device} ({args.threads} threads)", rows)


if __name__ == "__main__":
    main()
