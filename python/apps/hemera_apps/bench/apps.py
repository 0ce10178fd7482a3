"""Applications: encrypted trees compared with SEAL's same operations on the same cores, and encrypted
training, for which SEAL has no bootstraps."""

from __future__ import annotations

import argparse
from typing import Any

from rich.console import Console
from rich.table import Table

from hemera import _machine, _options
from hemera.errors import ParameterError
from hemera_apps._figures import new_figure, save_figure
from hemera_apps._progress import StageProgress
from hemera_apps.bench import training, trees
from hemera_apps.bench.report import table_of
from hemera_apps.trees import paper

APPLICATIONS = ("trees", "training")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The suite's options."""
    parser.add_argument(
        "--app", choices=APPLICATIONS, action="append", help="only this application (repeatable)"
    )
    _options.add_degree(parser, trees.DEGREES)
    parser.add_argument(
        "--samples",
        type=_options.positive,
        default=8,
        help=f"trees: samples a round of the paper's circuit (default 8; the paper has {paper.SAMPLES})",
    )
    parser.add_argument(
        "--rounds", type=_options.positive, default=5, help="trees: rounds to time (default 5)"
    )
    parser.add_argument(
        "--iterations",
        type=_options.positive,
        default=7,
        help="training: of each case; medians are of all but the first of a kind (default 7)",
    )
    _options.add_small(parser, "training: a small ring")
    _options.add_json(parser, instead=True)
    _options.add_plot(parser, "the times")
    _options.add_machine(parser)


def run(options: argparse.Namespace) -> int:
    """Run the suite; 1 if any score or weight was wrong."""
    chosen = options.app or list(APPLICATIONS)
    if options.n and "trees" not in chosen:
        raise ParameterError("--n is an option of trees: --app trees")
    machine = _machine.describe(options.threads)
    threads = int(options.threads or machine["processors"] or 1)
    degrees = list(options.n or trees.DEGREES) if "trees" in chosen else []
    stages = trees.CASES * len(degrees) + training.CASES * ("training" in chosen)
    rows: list[dict[str, Any]] = []
    with StageProgress(stages) as progress:
        for degree in degrees:
            rows += trees.measure(degree, threads, options, progress)
        if "training" in chosen:
            rows += training.measure(options, progress)
    if options.json:
        _options.write_json(options.json, {**machine, "gpus": _machine.gpus(), "rows": rows})
    else:
        for table in _tables(rows):
            Console().print(table)
    if options.plot_file:
        _plot(options.plot_file, rows)
    return 0 if all(row["checked"] for row in rows) else 1


def _of(application: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row["application"] == application]


def _tables(rows: list[dict[str, Any]]) -> list[Table]:
    return [
        make(own)
        for make, own in ((_tree_table, _of("trees", rows)), (_training_table, _of("training", rows)))
        if own
    ]


def _training_table(rows: list[dict[str, Any]]) -> Table:
    numbers = {
        "N": "{n}",
        "models": "{models}",
        "iteration": "{iteration_ms:.2f}",
        "bootstrap": "{bootstrap_ms:.2f}",
        "every": "{bootstrap_every}",
        "average": "{hemera_ms:.2f}",
    }
    title = "Training: milliseconds of each model (medians)"
    return table_of(title, rows, {"parameters": "{parameters}"}, numbers)


def _tree_table(rows: list[dict[str, Any]]) -> Table:
    numbers = {
        "Hemera": "{hemera_ms:.3f}",
        "SEAL": "{seal_ms:.3f}",
        "SEAL / Hemera": "{ratio:.1f}",
        "258 samples, s": "{seconds_of_258:.3f}",
    }
    title = "Trees: a sample (milliseconds, median), and SEAL with the paper's circuit"
    return table_of(title, rows, {"circuit": "{workload}", "parameters": "{parameters}", "N": "{n}"}, numbers)


def _plot(path: str, rows: list[dict[str, Any]]) -> None:
    """A row of bars for each application: milliseconds of a sample, or of a model's iteration."""
    parts = [(name, own) for name in APPLICATIONS if (own := _of(name, rows))]
    figure = new_figure(9, 1 + 0.5 * len(rows))
    axes = figure.subplots(len(parts), squeeze=False, height_ratios=[len(own) for _, own in parts])[:, 0]
    for axis, (name, own) in zip(axes, parts, strict=True):
        labels = [f"{row['workload']}, {row['parameters']}" for row in own]
        places = range(len(own))
        if name == "trees":
            axis.barh([at - 0.2 for at in places], [row["hemera_ms"] for row in own], 0.4, label="Hemera")
            axis.barh([at + 0.2 for at in places], [row["seal_ms"] for row in own], 0.4, label="SEAL")
            axis.set_title("trees: milliseconds a sample")
        else:
            iterations = [row["iteration_ms"] for row in own]
            bootstraps = [row["hemera_ms"] - row["iteration_ms"] for row in own]
            axis.barh(places, iterations, 0.6, label="iteration")
            axis.barh(places, bootstraps, 0.6, left=iterations, label="its part of bootstraps")
            axis.set_title("training: milliseconds an iteration of each model")
        axis.set_yticks(places, labels)
        axis.invert_yaxis()
        axis.legend()
    save_figure(figure, path)
