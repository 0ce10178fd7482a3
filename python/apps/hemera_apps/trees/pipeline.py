"""A model's trees scored under encryption and in the clear, side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.parameters import Parameters
from hemera.trees.ensemble import Ensemble, Integers, predicted
from hemera.trees.quantise import Quantiser
from hemera_apps.trees.sides import Sides, Workload, operations, packaged

STAGES = ("setup", "keys", "server_setup", "encrypt", "load", "evaluate", "decrypt")
ROUNDS = 5
"""The number of timed evaluations, whose median is reported. A first one, which makes constants and graphs,
is not timed."""

Progress = Callable[[str], None]
"""A function that is called with the name of each stage as it begins."""


@dataclass(frozen=True)
class Run:
    """The results of a run. `to_json` has the stable keys."""

    workload: Workload
    parameters: str
    params: Parameters
    device: str
    samples: int
    scores: Integers
    """The decrypted scores, shape (samples, K)."""
    exact: bool
    """Whether every encrypted score equals the clear integer score."""
    scale: int
    largest_error: float
    """The largest difference between an integer score, divided by the scale, and the float model's."""
    accuracy_float: float | None
    accuracy_encrypted: float | None
    agreement: float | None
    """The part of the samples that both classify alike."""
    shape: dict[str, int]
    operations: dict[str, int]
    seconds: dict[str, float]
    bytes: dict[str, int]

    def to_json(self) -> dict[str, Any]:
        return {
            "workload": self.workload,
            "parameters": self.parameters,
            "samples": self.samples,
            "exact": self.exact,
            "scale": self.scale,
            "largest_error": self.largest_error,
            "accuracy_float": self.accuracy_float,
            "accuracy_encrypted": self.accuracy_encrypted,
            "agreement": self.agreement,
            "model": self.shape,
            "operations": self.operations,
            "operations_per_sample": {
                name: round(count / self.samples, 4) for name, count in self.operations.items()
            },
            "seconds": self.seconds,
            "milliseconds_per_sample": 1e3 * self.seconds["evaluate"] / self.samples,
            "bytes": self.bytes,
            "degree": self.params.degree,
            "log_modulus": self.params.log_modulus,
            "security": self.params.security,
            "security_bits": self.params.security_bits,
            "fingerprint": self.params.fingerprint,
            "device": self.device,
        }


def run(
    model: Ensemble,
    quantiser: Quantiser,
    rows: NDArray[Any],
    labels: Integers | None,
    *,
    workload: Workload,
    parameters: str,
    device: str,
    threads: int | None,
    progress: Progress,
    rounds: int = ROUNDS,
) -> Run:
    """Score rows under encryption and in the clear, with client and server that share nothing but bytes."""
    seconds: dict[str, float] = {}

    @contextmanager
    def stage(name: str) -> Iterator[None]:
        progress(f"{parameters}, {workload}: {name.replace('_', ' ')}")
        begin = time.perf_counter()
        yield
        seconds[name] = time.perf_counter() - begin

    samples = len(rows)
    bins = quantiser.bins(rows)
    with stage("setup"):
        trees = packaged(model, quantiser, samples=samples, workload=workload, parameters=parameters)
        sides = Sides(trees, device=device, threads=threads)
    with stage("keys"):
        keys = sides.keys()
    with stage("server_setup"):
        sides.accept(keys)
    with stage("encrypt"):
        request = sides.request(rows)
    with stage("load"):
        planes = sides.server.load(request)
        sides.server.synchronize()
    with stage("evaluate"):
        answer = sides.evaluate(planes)
        sides.server.synchronize()
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        answer = sides.evaluate(planes)
        sides.server.synchronize()
        times.append(time.perf_counter() - begin)
    if times:
        seconds["first_evaluate"], seconds["evaluate"] = seconds["evaluate"], float(np.median(times))
    with stage("decrypt"):
        response = bytes(answer)
        scores = sides.scores(response, samples)

    floats = model.scores(rows)
    classified = model.classes > 0 and labels is not None
    chosen = predicted(scores, model.classes) if classified else None
    chosen_float = predicted(floats, model.classes) if classified else None
    return Run(
        workload=workload,
        parameters=parameters,
        params=trees.package.params,
        device=sides.server.description,
        samples=samples,
        scores=scores,
        exact=bool(np.array_equal(scores, trees.model.scores(bins))),
        scale=trees.model.scale,
        largest_error=float(np.abs(scores / trees.model.scale - floats).max()),
        accuracy_float=None if chosen_float is None else float(np.mean(chosen_float == labels)),
        accuracy_encrypted=None if chosen is None else float(np.mean(chosen == labels)),
        agreement=None if chosen is None else float(np.mean(chosen == chosen_float)),
        shape={
            "scores": model.leaves.shape[0],
            "trees": model.trees,
            "depth": model.depth,
            "features": model.feature_count,
            "planes": quantiser.planes,
        },
        operations=operations(trees.package.program, len(planes)),
        seconds=seconds,
        bytes={"keys": len(keys), "request": len(request), "response": len(response)},
    )
