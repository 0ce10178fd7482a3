"""Encrypted training of logistic regression: an iteration and a bootstrap, for one model and for several."""

from __future__ import annotations

import argparse
import functools
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hemera.errors import SecurityWarning
from hemera_apps import logistic_regression as logistic
from hemera_apps._progress import StageProgress
from hemera_apps.logistic_regression import run as whole

_RATE = 0.5
_SEED = 11
_TOLERANCE = 1e-3
_ROWS = 12_000
_SLOTS = 2**15
"""The slots of a mini-batch, in one ciphertext or two."""
_SMALL = {"degree": 4096, "rows": 1_280}


@dataclass(frozen=True)
class _Case:
    """A preset, fields in place of its own, the number of iterations between bootstraps (None: as many as the
    levels allow), and the number of models."""

    preset: str
    fields: dict[str, Any]
    every: int | None
    models: int


_LARGE = (
    _Case("n16-40-few", {"degree": 2**15}, 1, 1),
    _Case("n16-40-few", {"degree": 2**15, "levels": 8}, 2, 1),
    _Case("n16-40", {"levels": 5}, 1, 1),
    _Case("n16-40", {}, None, 1),
    _Case("n16-40", {"levels": 5}, 1, 8),
)
_OF_TESTS = (_Case("test-40", {}, None, 1), _Case("test-40", {}, None, 8))
CASES = len(_LARGE)


def measure(options: argparse.Namespace, progress: StageProgress) -> Iterator[dict[str, Any]]:
    """Rows of trainings of `options.iterations` on made-up loans; `options.small`: on a small ring."""
    for case in _OF_TESTS if options.small else _LARGE:
        fields, table = dict(case.fields), logistic.loan_applications(_ROWS, _SEED)
        if options.small:
            fields["degree"] = _SMALL["degree"]
            table = logistic.loan_applications(_SMALL["rows"], _SEED)
        name = case.preset + "".join(f", {key}={value}" for key, value in case.fields.items())
        what = f"training: {case.models} models, {name}" if case.models > 1 else f"training: {name}"
        progress(what)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SecurityWarning)  # the row has it
            params = logistic.make_parameters(case.preset, **fields)
        training, held_out = table.split(0.2, _SEED)
        tables = [training] if case.models == 1 else training.folds(case.models, _SEED)
        width = 1 << len(table.columns).bit_length()
        settings = logistic.Settings(
            len(table.columns),
            batch=min((params.max_slots if options.small else _SLOTS) // width, min(map(len, tables))),
            iterations=options.iterations,
            rates=(_RATE,),
            models=case.models,
        )
        plan = logistic.TrainingPlan(params, settings, bootstrap_every=case.every)
        found = whole.run(
            plan,
            tables,
            [held_out] * case.models,
            seed=_SEED,
            device=options.device,
            threads=options.threads,
            progress=functools.partial(_tell, progress, what),
        )
        seconds = found.seconds
        whole_iteration = seconds.get("iteration_on_average", seconds["iteration"])
        yield {
            "application": "training",
            "workload": f"{case.models} models" if case.models > 1 else "1 model",
            "n": params.degree,
            "parameters": name,
            "log_modulus": round(params.log_modulus, 1),
            "security": params.security,
            "device": found.description,
            "models": case.models,
            "samples": settings.batch,
            "iterations": settings.iterations,
            "bootstrap_every": plan.bootstrap_every,
            "hemera_ms": round(1e3 * whole_iteration / case.models, 4),
            "iteration_ms": round(1e3 * seconds["iteration"] / case.models, 4),
            "bootstrap_ms": round(1e3 * seconds.get("bootstrap", 0.0) / case.models, 4),
            "key_bytes": found.memory["keys"],
            "memory_bytes": found.memory["device"],
            "difference": found.difference,
            "checked": found.difference <= _TOLERANCE,
        }


def _tell(progress: StageProgress, what: str, stage: str, done: int) -> None:
    progress.describe(f"{what}: {stage}" + (f", {done} iterations" if done else ""))
