"""Logistic regression trained on encrypted samples, compared with the same training in the clear."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from rich.console import Console

import hemera
from hemera import _machine, _options
from hemera.errors import NoiseError, ParameterError
from hemera_apps import logistic_regression as logistic
from hemera_apps._progress import StageProgress
from hemera_apps.logistic_regression import report
from hemera_apps.logistic_regression import run as whole
from hemera_apps.logistic_regression.choice import EPHEMERAL_SECRETS
from hemera_apps.logistic_regression.clear import options_of, within_bounds

TOLERANCE = 1e-3
"""The command fails if an encrypted weight is further from the clear one."""
HELD_OUT = 0.2
LOAN_ROWS = 56_250  # 45,000 for training
SMALL_ROWS = 1_280
PRESET = "n16-40"
"""The preset whose fields `--field` changes, where none is named."""
SLOTS = 2**15
"""A mini-batch fills this many slots, unless options say otherwise: two ciphertexts of the least ring."""
SMALL_PRESET = "test-40"
SMALL_DEGREE = 4096
CHOSEN = ("degree", "interval", "rates", "weight_bound")
"""The settings for a user's table, where no option gives any of it."""
# Degree and interval by table, unless options give others. Tumours separate so well that logits grow large.
SIGMOIDS = {"loans": (3, 8.0), "breast-cancer": (7, 16.0)}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    table = parser.add_argument_group("table")
    table.add_argument(
        "--data",
        choices=sorted(SIGMOIDS),
        default="loans",
        help="made-up loan applications (default), or scikit-learn's tumours",
    )
    table.add_argument("--rows", type=_options.positive, help=f"loan applications (default: {LOAN_ROWS})")
    table.add_argument("--table", metavar="FILE", help="your own: comma-separated values, or .parquet")
    table.add_argument("--label", metavar="COLUMN", help="column of two classes")
    table.add_argument("--positive", metavar="VALUE", help="the class that is 1 (default: the greater)")
    table.add_argument(
        "--each-class", action="store_true", help="a model for each class of --label, against the rest"
    )
    _options.add_seed(table, "table, split and order")

    algorithm = parser.add_argument_group("algorithm")
    algorithm.add_argument(
        "--method", choices=("nesterov", "gradient"), default="nesterov", help="(default: nesterov)"
    )
    length = algorithm.add_mutually_exclusive_group()
    length.add_argument("--iterations", type=_options.positive, help="mini-batches (default: 30)")
    length.add_argument("--epochs", type=_options.positive, help="passes through all samples")
    algorithm.add_argument(
        "--batch",
        type=_options.positive,
        help="samples of a mini-batch (default: as many as fit a ciphertext, or 2^15 slots)",
    )
    algorithm.add_argument(
        "--rates", type=numbers, help="learning rate, or several for as many models (default: by the data)"
    )
    algorithm.add_argument("--folds", type=_options.positive, help="models for cross-validation")
    algorithm.add_argument("--decay", type=float, default=0.1, help="rate / (1 + decay t) (default: 0.1)")
    algorithm.add_argument("--momentum", type=float, help="fixed momentum (default: Nesterov's sequence)")
    algorithm.add_argument(
        "--degree", type=_options.positive, help="degree of the sigmoid (default: 3; tumours 7)"
    )
    algorithm.add_argument("--interval", type=float, help="interval of the sigmoid (default: 8; tumours 16)")
    algorithm.add_argument(
        "--fit", choices=("least-squares", "chebyshev"), default="least-squares", help="fit of the sigmoid"
    )
    algorithm.add_argument(
        "--weight-bound",
        type=float,
        help="bound that no weight may exceed (default: 4; of a --table what its training needs)",
    )

    encryption = parser.add_argument_group("encryption")
    encryption.add_argument(
        "--preset",
        help="preset of bootstrapping parameters, or paper: the paper's parameters, for comparison, NOT "
        "SECURE (default: n16-40)",
    )
    encryption.add_argument(
        "--ephemeral-secret",
        choices=EPHEMERAL_SECRETS,
        default=EPHEMERAL_SECRETS[0],
        help="blocks: the fastest parameters, also those with secrets in blocks, whose security rests on "
        "estimates with judgement in them (default: fixed weight)",
    )
    _options.add_bootstrap_fields(encryption)
    encryption.add_argument(
        "--bootstrap-every",
        type=_options.positive,
        metavar="K",
        help="iterations between bootstraps (default: by the levels)",
    )
    _options.add_small(encryption, "a small ring and table, in seconds")
    _options.add_machine(encryption)

    output = parser.add_argument_group("output")
    output.add_argument("--plan", action="store_true", help="print levels, keys and cost, and do nothing")
    _options.add_plot(output, "the losses")
    _options.add_json(output)


def numbers(text: str) -> tuple[float, ...]:
    """Numbers with commas: "0.5,1,2"."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers like 0.5,1,2") from None


def run(options: argparse.Namespace) -> int:
    # With the JSON on standard output, the rest goes to standard error.
    console = Console(stderr=options.json == "-")
    if not 0 <= options.seed < 1 << 32:
        raise ParameterError(f"--seed must be from 0 to 2^32 - 1, not {options.seed}")
    params = make_parameters(options)  # before tables are made: these may be mistaken
    split = [table.split(HELD_OUT, options.seed) for table in make_tables(options)]
    tables, held_out = [training for training, _ in split], [held for _, held in split]
    if options.folds is not None:
        tables = tables[0].folds(options.folds, options.seed)
    settings = make_settings(options, SLOTS if params is None else params.max_slots, tables)
    if options.table is not None and all(getattr(options, name) is None for name in CHOSEN):
        source = tables[0] if len(tables) == 1 else tables
        preparation = logistic.Preparation.of(tables[0].features)
        batches = logistic.make_batches(settings, preparation, source, options.seed)
        chosen = within_bounds(settings, batches)
        if chosen is not settings:
            console.print(f"For this table: {options_of(chosen)}", markup=False, highlight=False)
        settings = chosen
    if params is None:
        plan = logistic.fastest_plan(
            settings, bootstrap_every=options.bootstrap_every, ephemeral_secret=options.ephemeral_secret
        )
    else:
        plan = logistic.TrainingPlan(params, settings, bootstrap_every=options.bootstrap_every)
    if options.plan:
        console.print(plan.report(), markup=False, highlight=False, soft_wrap=True)
        if options.json:
            _options.write_json(options.json, {"plan": plan.as_dict(), "machine": _machine.describe()})
        return 0
    with StageProgress(plan.settings.iterations) as progress:
        result = whole.run(
            plan,
            tables,
            held_out,
            seed=options.seed,
            device=options.device,
            threads=options.threads,
            progress=progress,
        )
    report.show(console, result)
    if options.plot_file:
        report.draw(result, options.plot_file)
    if options.json:
        _options.write_json(options.json, {**result.to_json(), "machine": _machine.describe()})
    if not result.difference <= TOLERANCE:
        raise NoiseError(
            f"encrypted weights are {result.difference:.1e} from those of the same training in the "
            "clear; the sigmoid's interval or the weight bound were left: see --interval, "
            "--weight-bound and --rates"
        )
    return 0


def make_parameters(options: argparse.Namespace) -> hemera.ckks.Parameters | None:
    """The parameters that options name; None: `fastest_plan` chooses."""
    fields = dict(options.fields)
    if options.ephemeral_secret != EPHEMERAL_SECRETS[0] and (options.small or options.preset or fields):
        raise ParameterError(
            f"--ephemeral-secret {options.ephemeral_secret} chooses the parameters, and so do --small, "
            "--preset and --field: give one of them; --preset n16-40-few has blocks"
        )
    if options.small:
        return logistic.make_parameters(options.preset or SMALL_PRESET, **{"degree": SMALL_DEGREE, **fields})
    if options.preset is None and not fields:
        return None
    return logistic.make_parameters(options.preset or PRESET, **fields)


def make_tables(options: argparse.Namespace) -> list[logistic.Table]:
    """One table; or one for each class, the same samples."""
    if options.each_class:
        if options.table is None or options.label is None:
            raise ParameterError("--each-class needs --table FILE and --label COLUMN")
        if options.folds is not None or options.positive is not None:
            raise ParameterError(
                "--each-class makes a model for each class: give no --folds and no --positive"
            )
        return logistic.read_classes(options.table, options.label)
    return [make_table(options)]


def make_table(options: argparse.Namespace) -> logistic.Table:
    if options.rows is not None and (options.table is not None or options.data != "loans"):
        raise ParameterError("--rows is of the made-up loans; other tables are taken whole")
    if options.table is not None:
        if options.label is None:
            raise ParameterError("--table needs --label COLUMN, the column of the two classes")
        return logistic.read_table(options.table, options.label, positive=options.positive)
    if options.label is not None or options.positive is not None:
        raise ParameterError("--label and --positive are of a --table")
    if options.data == "breast-cancer":
        return logistic.breast_cancer()
    rows = options.rows or (SMALL_ROWS if options.small else LOAN_ROWS)
    return logistic.loan_applications(rows, options.seed)


def make_settings(
    options: argparse.Namespace, slots: int, tables: Sequence[logistic.Table]
) -> logistic.Settings:
    features = len(tables[0].columns)
    least = min(map(len, tables))
    width = 1 << features.bit_length()
    batch = options.batch or max(1, min(slots // width, least))
    preparation = logistic.Preparation.of(tables[0].features)
    degree, interval = SIGMOIDS["loans" if options.table is not None else options.data]
    fields: dict[str, Any] = {}
    if options.momentum is not None:
        fields["momentum"] = options.momentum
    return logistic.Settings(
        features,
        batch=batch,
        iterations=options.iterations or (options.epochs * -(-least // batch) if options.epochs else 30),
        method=options.method,
        rates=options.rates or (logistic.suggest_rate(preparation, tables[0]),),
        decay=options.decay,
        models=len(tables),
        degree=options.degree or degree,
        interval=interval if options.interval is None else options.interval,
        fit=options.fit,
        weight_bound=4.0 if options.weight_bound is None else options.weight_bound,
        **fields,
    )
