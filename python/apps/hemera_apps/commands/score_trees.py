"""Gradient-boosted trees on encrypted samples: of xgboost, LightGBM or scikit-learn, exact, with BFV."""

from __future__ import annotations

import argparse
import dataclasses

import numpy as np
from rich.console import Console

from hemera import _machine, _options
from hemera.errors import MismatchError, NoiseError, ParameterError
from hemera.trees.ensemble import MAX_DEPTH, Ensemble, random_ensemble, require_depth
from hemera.trees.parameters import PARAMETERS
from hemera.trees.quantise import Quantiser
from hemera.trees.read import read_model
from hemera_apps._progress import StageProgress
from hemera_apps.trees import paper, pipeline, report, tables, training
from hemera_apps.trees.sides import Workload

_WORKLOADS: tuple[Workload, ...] = ("packed", "paper")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data",
        default="genome",
        metavar="TABLE",
        help=f"{', '.join(tables.NAMES)}, or a file: comma-separated values, or .parquet (default: genome)",
    )
    parser.add_argument(
        "--label", metavar="COLUMN", help="column of the class in a file (default: the last one)"
    )
    parser.add_argument(
        "--model", metavar="FILE", help="JSON of a trained model, of xgboost or LightGBM (default: train one)"
    )
    parser.add_argument(
        "--trainer",
        choices=("auto", *training.TRAINERS, "random"),
        default="auto",
        help='trainer (default: the first installed one); "random": random comparisons, for timing',
    )
    parser.add_argument(
        "--trees", type=_options.positive, default=paper.TREES, help="trees of a score (default: 128)"
    )
    parser.add_argument(
        "--depth",
        type=_options.positive,
        default=2,
        help=f"depth of the trees, up to {MAX_DEPTH} (default: 2)",
    )
    parser.add_argument(
        "--bins", type=_options.positive, default=4, help="bins of a real feature (default: 4)"
    )
    parser.add_argument("--samples", type=_options.positive, help="held-out rows to score (default: all)")
    parser.add_argument(
        "--workload",
        choices=_WORKLOADS,
        action="append",
        help='"packed" (default), or "paper": the circuit of the paper (repeatable)',
    )
    parser.add_argument(
        "--parameters",
        choices=PARAMETERS,
        action="append",
        help="auto: the smallest for the model (default); or degree and bits (repeatable)",
    )
    parser.add_argument(
        "--rounds", type=_options.positive, default=pipeline.ROUNDS, help="evaluations to time"
    )
    _options.add_seed(parser, "the table and the training")
    _options.add_json(parser)
    _options.add_plot(parser, "times and operations")
    _options.add_machine(parser)


def run(options: argparse.Namespace) -> int:
    if not 0 <= options.seed < 1 << 32:
        raise ParameterError(f"--seed must be from 0 to 2^32 - 1, not {options.seed}")
    # With the JSON on standard output, the rest goes to standard error.
    console = Console(stderr=options.json == "-")
    workloads: list[Workload] = options.workload or ["packed"]
    chosen: list[str] = options.parameters or ["auto"]
    runs = []
    with StageProgress(1 + len(workloads) * len(chosen) * len(pipeline.STAGES)) as progress:
        progress("training in the clear")
        table = tables.load(options.data, options.seed, options.label)
        model, quantiser = _model(options, table)
        if options.samples is not None and options.samples > len(table.held_out):
            raise ParameterError(
                f"{options.samples} samples were requested, but {len(table.held_out)} are held out"
            )
        count = options.samples or len(table.held_out)
        for parameters in chosen:
            for workload in workloads:
                runs.append(
                    pipeline.run(
                        model,
                        quantiser,
                        table.held_out[:count],
                        table.labels[:count],
                        workload=workload,
                        parameters=parameters,
                        device=options.device,
                        threads=options.threads,
                        progress=progress,
                        rounds=options.rounds,
                    )
                )
    report.show(console, runs)
    if options.plot_file:
        report.plot(options.plot_file, runs)
    if options.json:
        _options.write_json(
            options.json,
            {
                "data": table.name,
                "runs": [run.to_json() for run in runs],
                "machine": _machine.describe(options.threads),
            },
        )
    if not all(run.exact for run in runs):
        raise NoiseError("an encrypted score differs from the clear integer score")
    return 0


def _model(options: argparse.Namespace, table: tables.Table) -> tuple[Ensemble, Quantiser]:
    """The model of the table's values, and their bins for a client."""
    features = table.train.shape[1]
    has_missing = bool(np.isnan(table.train).any() or np.isnan(table.held_out).any())
    if table.model is not None:
        if options.model or options.trainer != "auto":
            raise ParameterError(
                f"{options.data} comes with its model; leave out --model and --trainer, or take another table"
            )
        return table.model, Quantiser.of_levels(features, table.levels or 1)
    if options.model:
        model = read_model(options.model)
        if model.feature_count != features:
            raise MismatchError(
                f"the model has {model.feature_count} features, and {options.data} has {features}; give the "
                "table that it was trained on with --data"
            )
        if table.levels:
            return model, Quantiser.of_levels(features, table.levels)
        own = Quantiser.of_model(model)
        return model, own if has_missing else dataclasses.replace(own, missing=None)
    if table.levels:
        quantiser = Quantiser.of_levels(features, table.levels)
    else:
        quantiser = Quantiser.of_quantiles(table.train, options.bins)
    if options.trainer == "random":
        scores = table.classes if table.classes > 2 else 1
        model = random_ensemble(
            scores,
            options.trees,
            options.depth,
            feature_count=features,
            levels=1 + min(len(own) for own in quantiser.edges),
            seed=options.seed,
        )
    else:
        require_depth(options.depth)
        model = training.train(
            options.trainer,
            quantiser.binned(table.train),
            table.train_labels,
            trees=options.trees,
            depth=options.depth,
            seed=options.seed,
        )
    model = quantiser.of_values(model)
    return model, quantiser.with_missing_of(model) if has_missing else quantiser
