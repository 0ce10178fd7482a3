"""Applications beside SEAL doing the same operations on the same cores: encrypted gradient-boosted trees."""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from hemera import _machine, _options
from hemera.applications.trees import paper
from hemera.applications.trees.client import Client
from hemera.applications.trees.ensemble import random_ensemble
from hemera.applications.trees.offer import Workload
from hemera.applications.trees.quantise import Quantiser
from hemera.applications.trees.server import Server
from hemera.bench.seal_trees import SealWorkers
from hemera.errors import SecurityWarning

__all__ = ["add_arguments", "run"]

_FEATURES = 2048
_LEVELS = 3
# Of each degree: SEAL's modulus, and the largest of 128 bits of security by the tables of 2024.
_PARAMETERS = {8192: ("8192-218", "8192-214"), 16384: ("16384-438", "16384-430")}
_SEAL_SAMPLES = 2
"""Different samples that each process of SEAL holds; it evaluates them over again."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The suite's options."""
    parser.add_argument(
        "--n", type=int, choices=_PARAMETERS, action="append", help="only this degree (repeatable)"
    )
    parser.add_argument(
        "--samples",
        type=_options.positive,
        default=8,
        help=f"samples a round of the paper's circuit (default 8; the paper has {paper.SAMPLES})",
    )
    parser.add_argument("--rounds", type=_options.positive, default=5, help="rounds to time (default 5)")
    parser.add_argument("--json", metavar="FILE", help='write JSON to FILE ("-": standard output) instead')
    _options.add_machine(parser)


def run(options: argparse.Namespace) -> int:
    """Run the suite; 1 if any score was wrong."""
    machine = _machine.describe(options.threads)
    threads = options.threads or machine["processors"]
    rows = [row for degree in options.n or _PARAMETERS for row in _rows(degree, int(threads or 1), options)]
    if options.json:
        _options.write_json(options.json, {**machine, "rows": rows})
    else:
        Console().print(_table(rows))
    return 0 if all(row["checked"] for row in rows) else 1


def _rows(degree: int, threads: int, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    model = random_ensemble(
        paper.SCORES, paper.TREES, 2, feature_count=_FEATURES, levels=_LEVELS, seed=degree
    )
    quantiser = Quantiser.of_levels(_FEATURES, _LEVELS)
    cases: list[tuple[Workload, str, int]] = [
        *(("paper", name, options.samples) for name in _PARAMETERS[degree]),
        *(("packed", name, paper.SAMPLES) for name in (*_PARAMETERS[degree], "auto")),
    ]
    random = np.random.default_rng(degree)
    rows = random.integers(0, _LEVELS, (max(paper.SAMPLES, options.samples), _FEATURES))
    workers: SealWorkers | None = None
    with ExitStack() as stack:
        for workload, name, samples in cases:
            server = Server(
                model,
                quantiser,
                samples=samples,
                workload=workload,
                parameters=name,
                device=options.device,
                threads=options.threads,
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SecurityWarning)  # the table of results says it
                client = Client(server.offer, device=options.device, threads=options.threads)
            server.accept(client.keys())
            planes = server.load(client.request(rows[:samples]))
            answer = server.evaluate(planes)
            wanted = server.model.scores(quantiser.bins(rows[:samples]))
            right = np.array_equal(client.scores(bytes(answer.shrink()), samples), wanted)
            if workers is None:
                layout = paper.PaperLayout.choose(degree, server.model)
                few = rows[:_SEAL_SAMPLES]
                side = SealWorkers(
                    threads,
                    degree,
                    server.params.plain_modulus,
                    paper.PaperModel.of(server.model, layout),
                    layout.rotations,
                    np.stack(
                        [
                            layout.spread((few[:, model.features[:, :, node]] == value).astype(np.int64))
                            for node in range(3)
                            for value in (0, 2)
                        ]
                    ),
                )
                workers = stack.enter_context(side)
                right = right and np.array_equal(layout.unpack(workers.slots()), wanted[:_SEAL_SAMPLES])
            pairs = []
            for _ in range(options.rounds):
                begin = time.perf_counter()
                server.evaluate(planes)
                server.context.synchronize()
                ours = (time.perf_counter() - begin) / samples
                pairs.append((ours, workers.run(options.samples) / options.samples))
            yield {
                "application": "trees",
                "workload": workload,
                "n": server.params.degree,
                "seal_n": degree,
                "parameters": name,
                "log_modulus": round(server.params.log_modulus, 1),
                "security": server.params.security,
                "device": server.context.description,
                "seal_processes": threads,
                "samples": samples,
                "operations_per_sample": {
                    key: round(count / samples, 4) for key, count in server.operations.items()
                },
                "hemera_ms": round(1e3 * statistics.median(ours for ours, _ in pairs), 4),
                "seal_ms": round(1e3 * statistics.median(theirs for _, theirs in pairs), 4),
                "ratio": round(statistics.median(theirs / ours for ours, theirs in pairs), 3),
                "seconds_of_258": round(paper.SAMPLES * statistics.median(ours for ours, _ in pairs), 4),
                "seal_seconds_of_258": round(
                    paper.SAMPLES * statistics.median(theirs for _, theirs in pairs), 4
                ),
                "checked": right,
            }


def _table(rows: list[dict[str, Any]]) -> Table:
    table = Table(title="Trees: a sample (milliseconds, median), beside SEAL with the paper's circuit")
    for heading in ("circuit", "parameters", "N"):
        table.add_column(heading)
    for heading in ("Hemera", "SEAL", "SEAL / Hemera", "258 samples, s"):
        table.add_column(heading, justify="right")
    table.add_column("right")
    for row in rows:
        table.add_row(
            row["workload"],
            row["parameters"],
            str(row["n"]),
            f"{row['hemera_ms']:.3f}",
            f"{row['seal_ms']:.3f}",
            f"{row['ratio']:.1f}",
            f"{row['seconds_of_258']:.3f}",
            "yes" if row["checked"] else "NO",
        )
    return table
