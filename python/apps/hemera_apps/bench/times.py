"""Times that tables estimate, compared with measured ones: circuits, applications and packaged models."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import hemera
from hemera import _machine, _options, serving
from hemera._noise_warning import ranges_are_known
from hemera.circuits import Bootstrap, LinearTransform, inverse, sigmoid
from hemera.circuits.plans import Plan
from hemera.ckks import Parameters
from hemera.objects.calibration import calibrate
from hemera.objects.context import Context
from hemera.objects.cost import Cost
from hemera.parameters import Parameters as AnyParameters
from hemera.times.table import DeviceTimes, device_name
from hemera.trees.ensemble import random_ensemble
from hemera.trees.quantise import Quantiser
from hemera_apps import logistic_regression as logistic
from hemera_apps.bench.timing import median_seconds_in

Measured = tuple[str, int, float, float]
"""The name of a run, its degree, and its estimated and measured seconds."""

_SLOTS = 1024
_DEPTHS = {16384: 7, 32768: 16}
_ROWS = (16, 64, 256, 900)
_SAMPLES = 258
_LEVELS = 3
_FEATURES = 300


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    _options.add_only(parser, GROUPS)
    parser.add_argument("--table", type=Path, metavar="FILE", help="of times, in place of the device's own")
    parser.add_argument(
        "--calibrate",
        type=_options.positive,
        metavar="SECONDS",
        help="measure the table first, in about this many seconds",
    )
    _options.add_seconds(parser, 1.0, "to measure each one for, at least")
    _options.add_small(parser, "small rings, in seconds")
    _options.add_machine(parser)
    _options.add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Measure, and write what is asked for."""
    console = Console(stderr=options.json == "-")
    say = functools.partial(console.print, highlight=False, markup=False)
    bench = _Bench(options, functools.partial(_table, options, say))
    rows: list[dict[str, Any]] = []
    for name in options.only:
        for circuit, degree, estimated, measured in GROUPS[name](bench):
            say(f"{circuit}: {1e3 * measured:.2f} ms, estimated {1e3 * estimated:.2f} ms")
            rows.append(
                {
                    "circuit": circuit,
                    "degree": degree,
                    "estimated": float(f"{estimated:.4g}"),
                    "measured": float(f"{measured:.4g}"),
                    "ratio": round(estimated / measured, 3),
                }
            )
    if options.json is not None:
        made = {**_machine.describe(options.threads), "calibrated": bench.table.made}
        _options.write_json(options.json, {"table": bench.table.device, "made": made, "rows": rows})
    return 0


def _table(options: argparse.Namespace, say: Callable[[str], object]) -> DeviceTimes:
    """The table that is asked for."""
    if options.calibrate is not None:
        return calibrate(options.device, threads=options.threads, seconds=options.calibrate, report=say)
    if options.table is not None:
        return DeviceTimes.load(options.table)
    params = Parameters.for_circuit(1, degree=4096, security=None)
    context = Context(params, options.device, threads=options.threads)
    return DeviceTimes.find(device_name(context.description))


class _Bench:
    """Where is measured, for how long, and by which table times are estimated."""

    def __init__(self, options: argparse.Namespace, table: Callable[[], DeviceTimes]) -> None:
        self.small: bool = options.small
        self.machine: dict[str, Any] = {"device": options.device, "threads": options.threads}
        self.table = table()
        self._seconds = options.seconds

    def context(self, params: AnyParameters) -> Context:
        return Context(params, **self.machine)

    def estimate(self, counted: Cost, *, graph: bool = False) -> float:
        """Seconds of a dry run's operations, called one by one or as a graph."""
        return self.table.seconds(counted._counted()[1], graph=graph)

    def measure(self, context: Context, action: Callable[[], object]) -> float:
        """The median of a few runs."""
        return median_seconds_in(context, action, self._seconds)

    def plan(self, context: Context, name: str, plan: Plan, slots: int) -> Iterator[Measured]:
        """A circuit at its level; on a GPU, also as a captured graph."""
        secret = context.generate_secret_key()
        evaluator = context.bind(context.generate_keys(secret, plan=plan))
        x = evaluator.at_level(evaluator.encrypt(np.full(slots, 0.5)), plan.level)
        degree, counted = context.params.degree, plan._native.cost
        with ranges_are_known():
            measured = self.measure(context, lambda: evaluator._evaluated(plan, [x], None))
            yield name, degree, self.table.seconds(counted), measured
            if context.device != "cpu":
                graph = evaluator.capture(lambda y: evaluator._evaluated(plan, [y], None), x)
                measured = self.measure(context, lambda: graph(x))
                yield f"{name}, graph", degree, self.table.seconds(counted, graph=True), measured


def _circuits(bench: _Bench) -> Iterator[Measured]:
    """Transforms of rows of numbers, and functions."""
    random = np.random.default_rng(0)
    for degree, depth in _DEPTHS.items():
        own = 4096 if bench.small else degree
        security = None if bench.small else 128
        params = Parameters.for_circuit(depth, degree=own, slots=_SLOTS, security=security)
        context = bench.context(params)
        for rows in _ROWS[:2] if bench.small else _ROWS:
            matrix = random.uniform(-1, 1, (rows, rows)) / rows
            transform = LinearTransform(matrix, params, slots=_SLOTS)
            yield from bench.plan(context, f"transform of {rows} rows", transform, _SLOTS)
        functions = {"sigmoid": sigmoid((-8, 8), bits=12), "inverse": inverse((0.25, 1), bits=12)}
        for name, function in functions.items():
            yield from bench.plan(context, name, function.plan(params), _SLOTS)


def _bootstraps(bench: _Bench) -> Iterator[Measured]:
    """Bootstraps of all slots, and of few."""
    preset = "test-40" if bench.small else "n16-40"
    params = Parameters.for_bootstrapping(preset)
    for slots in (params.max_slots, _SLOTS):
        plan = Bootstrap(params, slots)
        yield from bench.plan(bench.context(params), f"bootstrap {preset}, {slots} slots", plan, slots)


def _applications(bench: _Bench) -> Iterator[Measured]:
    """An iteration of training with its bootstrap, and a request to trees."""
    preset = "test-40" if bench.small else "n16-40"
    params = Parameters.for_bootstrapping(preset, levels=5)
    settings = logistic.Settings(features=30, batch=64 if bench.small else 1024, iterations=4)
    plan = logistic.TrainingPlan(params, settings)
    learner = logistic.Client(plan, **bench.machine)
    trainer = logistic.Server(plan, learner.context, learner.keys(), capture=False)
    trainer.add_batch(learner.encrypt(np.full((settings.batch, settings.width), 0.1)))
    for _ in trainer.train(learner.start(), measure=True):
        pass
    for name, counted in {"iterations": plan.costs[0], "bootstraps": plan.bootstrap_cost}.items():
        # The first ones encode constants.
        measured = float(np.median(trainer.seconds[name][1:]))
        yield f"training on {preset}, {name}", params.degree, bench.estimate(counted), measured
    del learner, trainer

    quantiser = Quantiser.of_levels(_FEATURES, _LEVELS)
    trees = random_ensemble(11, 128, 2, feature_count=_FEATURES, levels=_LEVELS, seed=1)
    for name in ("auto",) if bench.small else ("auto", "16384-430"):
        own: dict[str, Any] = {"quantiser": quantiser, "samples": _SAMPLES, "params": name}
        package = hemera.compile(trees, name=f"trees, {name}", **own).package
        (slots,) = package.interface.encode(np.zeros((_SAMPLES, _FEATURES)))
        yield _model(bench, package, (len(slots),))


def _packages() -> Iterable[serving.Package]:
    """A model of each kind."""
    random = np.random.default_rng(0)

    def linear(features: int, scores: int, read: str, **fields: Any) -> serving.Package:
        weights = random.uniform(-1, 1, (scores, features))
        model = serving.LinearModel.of(weights, 0.1, read=read, **fields)
        return hemera.compile(model, name=f"linear, {features} x {scores}", clip=3).package

    yield linear(30, 1, "sigmoid")
    yield linear(64, 10, "softmax")
    yield linear(13, 3, "argmax", mean=random.uniform(0, 9, 13), deviation=random.uniform(1, 3, 13))
    first, second = random.uniform(-1, 1, (64, 64)) / 8, random.uniform(-1, 1, (64, 10))
    yield serving.export(
        lambda x: sigmoid((-8, 8), bits=12)(x @ first + 0.5) @ second,
        inputs=64,
        name="matrices and a sigmoid",
    )
    trees = random_ensemble(3, 50, 3, feature_count=30, levels=_LEVELS, seed=2)
    bins = Quantiser.of_levels(30, _LEVELS)
    yield hemera.compile(trees, quantiser=bins, name="boosted trees", samples=64).package


def _models(bench: _Bench) -> Iterator[Measured]:
    """A request to each of five packaged models."""
    for package in _packages():
        name, degree, estimated, measured = _model(bench, package)
        yield f"model: {name}", degree, estimated, measured


def _model(bench: _Bench, package: serving.Package, requests: tuple[int, ...] = ()) -> Measured:
    """Requests to a packaged model, as servers run them."""
    context = bench.context(package.params)
    model = package.prepare(context)
    evaluator = model.bind(package.generate_keys(context, context.generate_secret_key()))
    inputs = model.examples(requests)
    run: Callable[[], object] = functools.partial(model.run, evaluator, inputs)
    if model.captures:
        run = functools.partial(model.capture(evaluator, inputs), *inputs)
    estimate = bench.estimate(package.cost(*requests), graph=model.captures)
    name = f"{package.name}, graph" if model.captures else package.name
    return name, package.params.degree, estimate, bench.measure(context, run)


GROUPS: dict[str, Callable[[_Bench], Iterator[Measured]]] = {
    "circuits": _circuits,
    "bootstraps": _bootstraps,
    "applications": _applications,
    "models": _models,
}
