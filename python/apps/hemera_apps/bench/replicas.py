"""The price of Ray: processors' time of a request with one replica, compared with a server without Ray."""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from hemera import _machine, _options
from hemera.errors import ParameterError
from hemera_apps._progress import StageProgress
from hemera_apps._serve_client import Measured
from hemera_apps.bench.serve import DEFAULT_MODELS, MODELS, Crowd, Workload, add_model, server, workload


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The suite's options."""
    parser.add_argument(
        "--model", choices=MODELS, action="append", help="of `hemera bench serve`; default: linear, network"
    )
    parser.add_argument(
        "--clients", type=_options.integers, default=[1, 4], help="at once, with a key each (default 1,4)"
    )
    parser.add_argument("--rounds", type=_options.positive, default=5, help="of both servers (default 5)")
    _options.add_seconds(parser, 5.0, "of each server in a round")
    _options.add_small(parser, "small rings")
    _options.add_json(parser, instead=True)
    _options.add_machine(parser)


def run(options: argparse.Namespace) -> int:
    """Run the suite; 1 if any answer was wrong or missing."""
    if not options.clients or min(options.clients) < 1:
        raise ParameterError("--clients takes positive numbers")
    chosen = options.model or DEFAULT_MODELS
    rows: list[dict[str, Any]] = []
    with StageProgress(len(chosen) * (1 + len(options.clients) * options.rounds)) as progress:
        for name in chosen:
            rows += list(_measure(workload(name, options.small), options, progress))
    if options.json:
        machine = _machine.describe(options.threads)
        _options.write_json(options.json, {**machine, "gpus": _machine.gpus(), "rows": rows})
    else:
        Console().print(_table(rows))
    return 0 if all(row["checked"] for row in rows) else 1


@dataclass
class _Side:
    """A server that runs, and its clients."""

    crowd: Crowd
    process: int

    def seconds(self) -> tuple[float, float]:
        """Processors' time so far of the server's own process, and of the processes that it has started."""
        own, others = _seconds(self.process)
        return own, others


def _measure(
    work: Workload, options: argparse.Namespace, progress: StageProgress
) -> Iterator[dict[str, Any]]:
    progress(f"{work.package.name}: two servers, keys of {max(options.clients)} clients")
    with ExitStack() as stack:
        sides = {}
        for name in ("without", "with"):
            home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            work.package.save(home / "model")
            add_model(home / "home", home / "model")
            ray = {"ray": None, "replicas": None} if name == "without" else {"ray": "local", "replicas": 1}
            own = argparse.Namespace(**{**vars(options), **ray, "max_graphs": 8})
            url, process = stack.enter_context(server(home / "home", own))
            crowd = stack.enter_context(Crowd(work, url, home / "home", max(options.clients)))
            sides[name] = _Side(crowd, process)
        for clients in options.clients:
            rounds = []
            for side in sides.values():
                side.crowd.run(clients, 1, 0.5)  # loads the keys of each
            for at in range(options.rounds):
                progress(f"{work.package.name}: {clients} clients, round {at + 1}")
                rounds.append(_round(sides, clients, options.seconds, at))
            yield {
                "model": work.package.name,
                "n": work.package.params.degree,
                "device": sides["with"].crowd.device,
                "clients": clients,
                "request_bytes": len(sides["with"].crowd.jobs[0].body),
                "rounds": rounds,
                **_summary(rounds),
                "checked": all(each["checked"] for found in rounds for each in found.values()),
            }


def _round(sides: dict[str, _Side], clients: int, seconds: float, at: int) -> dict[str, dict[str, Any]]:
    """One round of both servers, which take turns at being first. The other one is idle: its time then
    is taken off its own time."""
    loaded: dict[str, tuple[list[list[Measured]], float, float, float]] = {}
    idle: dict[str, float] = {}
    names = list(sides) if at % 2 == 0 else list(reversed(sides))
    for name, other in zip(names, reversed(names), strict=True):
        before = {each: sides[each].seconds() for each in sides}
        found = sides[name].crowd.run(clients, 1, seconds)
        own, others = (y - x for x, y in zip(before[name], sides[name].seconds(), strict=True))
        elapsed = max(e.ended for c in found for e in c) - min(e.began for c in found for e in c)
        loaded[name] = found, own, others, elapsed
        idle[other] = (sum(sides[other].seconds()) - sum(before[other])) / elapsed
    return {
        name: _numbers(*loaded[name], idle[name], sides[name].crowd.check(loaded[name][0])) for name in sides
    }


def _numbers(
    found: list[list[Measured]], own: float, others: float, elapsed: float, idle: float, checked: bool
) -> dict[str, Any]:
    seconds = [each for client in found for one in client for each in one.seconds]
    batches = [each for client in found for one in client for each in one.batches]
    return {
        "requests": len(seconds),
        "processor_ms": round((own + others - idle * elapsed) / len(seconds) * 1e3, 3),
        "server_ms": round(own / len(seconds) * 1e3, 3),
        "idle_percent": round(idle * 100, 2),
        "requests_per_second": round(len(seconds) / elapsed, 2),
        "median_ms": round(float(np.median(seconds)) * 1e3, 3),
        "mean_batch": round(float(np.mean(batches or [0])), 2),
        "checked": checked,
    }


def _summary(rounds: list[dict[str, dict[str, Any]]]) -> dict[str, Any]:
    """Medians over the rounds, of each server and of their ratios."""
    found: dict[str, Any] = {}
    for key in ("processor_ms", "requests_per_second", "median_ms"):
        for side in ("without", "with"):
            found[f"{key}_{side}"] = round(statistics.median(each[side][key] for each in rounds), 3)
        ratios = [each["with"][key] / each["without"][key] for each in rounds]
        found[f"{key}_ratio"] = round(statistics.median(ratios), 3)
    return found


def _seconds(process: int) -> tuple[float, float]:
    """Processors' time of a process, and of all that it has started, in seconds."""
    parents: dict[int, int] = {}
    times: dict[int, float] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        number = int(path.parent.name)
        parents[number] = int(fields[1])
        times[number] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    others = 0.0
    for number, seconds in times.items():
        above = parents[number]
        while above not in (0, process):
            above = parents.get(above, 0)
        others += seconds if above == process else 0.0
    return times.get(process, 0.0), others


def _table(rows: list[dict[str, Any]]) -> Table:
    table = Table(title="A server without Ray, and with one replica of Ray")
    for heading in (
        "model",
        "clients",
        "processors' ms",
        "with Ray",
        "ratio",
        "median ms",
        "with Ray",
        "ratio",
    ):
        table.add_column(heading, justify="left" if heading == "model" else "right")
    for row in rows:
        cells = [
            f"{row[f'{key}_{part}']:.2f}"
            for key in ("processor_ms", "median_ms")
            for part in ("without", "with", "ratio")
        ]
        table.add_row(row["model"], str(row["clients"]), *cells)
    return table
