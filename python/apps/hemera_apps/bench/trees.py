"""Encrypted gradient-boosted trees, compared with SEAL and the paper's circuit on the same cores."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np

from hemera.trees.ensemble import random_ensemble
from hemera.trees.quantise import Quantiser
from hemera_apps._progress import StageProgress
from hemera_apps.bench.seal_trees import SealWorkers
from hemera_apps.trees import paper
from hemera_apps.trees.sides import Sides, Workload, operations, packaged

_FEATURES = 2048
_LEVELS = 3
# For each degree the parameters of SEAL's modulus, and of the largest one with 128 bits by the tables of
# 2024.
DEGREES = {8192: ("8192-218", "8192-214"), 16384: ("16384-438", "16384-430")}
_SEAL_SAMPLES = 2
"""The number of different samples of each process of SEAL, which evaluates them round and round."""
CASES = 5
"""The number of rows of each degree."""


def measure(
    degree: int, threads: int, options: argparse.Namespace, progress: StageProgress
) -> Iterator[dict[str, Any]]:
    """Rows of one degree of SEAL's, with `options.samples` and `options.rounds`."""
    model = random_ensemble(
        paper.SCORES, paper.TREES, 2, feature_count=_FEATURES, levels=_LEVELS, seed=degree
    )
    quantiser = Quantiser.of_levels(_FEATURES, _LEVELS)
    cases: list[tuple[Workload, str, int]] = [
        *(("paper", name, options.samples) for name in DEGREES[degree]),
        *(("packed", name, paper.SAMPLES) for name in (*DEGREES[degree], "auto")),
    ]
    random = np.random.default_rng(degree)
    rows = random.integers(0, _LEVELS, (max(paper.SAMPLES, options.samples), _FEATURES))
    workers: SealWorkers | None = None
    with ExitStack() as stack:
        for workload, name, samples in cases:
            progress(f"trees: {workload}, {name}")
            trees = packaged(model, quantiser, samples=samples, workload=workload, parameters=name)
            sides = Sides(trees, device=options.device, threads=options.threads)
            sides.accept(sides.keys())
            planes = sides.server.load(sides.request(rows[:samples]))
            wanted = trees.model.scores(quantiser.bins(rows[:samples]))
            right = np.array_equal(sides.scores(bytes(sides.evaluate(planes)), samples), wanted)
            if workers is None:
                layout = paper.PaperLayout.choose(degree, trees.model)
                few = quantiser.bins(rows[:_SEAL_SAMPLES])
                side = SealWorkers(
                    threads,
                    degree,
                    trees.plain_modulus,
                    paper.PaperModel.of(trees.model, layout),
                    layout.rotations,
                    paper.planes_of(few, trees.model, layout).swapaxes(0, 1),
                )
                workers = stack.enter_context(side)
                right = right and np.array_equal(layout.unpack(workers.slots()), wanted[:_SEAL_SAMPLES])
            pairs = []
            for _ in range(options.rounds):
                begin = time.perf_counter()
                sides.evaluate(planes)
                sides.server.synchronize()
                ours = (time.perf_counter() - begin) / samples
                pairs.append((ours, workers.run(options.samples) / options.samples))
            yield {
                "application": "trees",
                "workload": workload,
                "n": trees.package.params.degree,
                "seal_n": degree,
                "parameters": name,
                "log_modulus": round(trees.package.params.log_modulus, 1),
                "security": trees.package.params.security,
                "device": sides.server.description,
                "seal_processes": threads,
                "samples": samples,
                "operations_per_sample": {
                    key: round(count / samples, 4)
                    for key, count in operations(trees.package.program, len(planes)).items()
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
