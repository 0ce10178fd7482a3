"""Real data, scored under encryption by a server without the secret key, in all three schemes."""

from __future__ import annotations

import argparse

from rich.console import Console

from hemera import _machine, _options
from hemera.errors import NoiseError, ParameterError
from hemera_apps._progress import StageProgress
from hemera_apps.demo import model, pipeline, report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    _options.add_machine(parser)
    parser.add_argument("--rows", type=_options.positive, help="held-out rows to score (default: all)")
    _options.add_seed(parser, "the table's split")
    _options.add_json(parser)


def run(options: argparse.Namespace) -> int:
    if options.seed < 0 or options.seed >= 1 << 32:
        raise ParameterError(f"--seed must be from 0 to 2^32 - 1, not {options.seed}")
    # With the JSON on standard output, the rest goes to standard error.
    console = Console(stderr=options.json == "-")
    runs = []
    with StageProgress(len(pipeline.SCHEMES) * len(pipeline.STAGES) + 1) as progress:
        progress("training in the clear")
        table = model.Table.load(options.seed)
        rows = _rows(options.rows, len(table.held_out))
        models = model.train(table)
        for scheme in pipeline.SCHEMES:
            runs.append(
                pipeline.run_scheme(
                    scheme,
                    table,
                    models,
                    rows,
                    device=options.device,
                    threads=options.threads,
                    progress=progress,
                )
            )
    report.show(console, runs)
    if options.json:
        _options.write_json(
            options.json, {"runs": [run.to_json() for run in runs], "machine": _machine.describe()}
        )
    wrong = [run.scheme.upper() for run in runs if run.exact is False]
    if wrong:
        raise NoiseError(f"{' and '.join(wrong)} gave a score that differs from the clear one")
    return 0


def _rows(wanted: int | None, available: int) -> int:
    if wanted is not None and wanted > available:
        raise ParameterError(f"{wanted} rows were requested, but {available} are held out")
    return wanted or available
