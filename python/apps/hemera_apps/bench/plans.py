"""Numbers of compiled programs' plans, next to those of runs: time, bits, bytes of keys and weights."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import hemera as hm
from hemera import _options
from hemera.arrays import conv
from hemera.compiler import Compiled
from hemera.times.table import DeviceTimes, device_name
from hemera_apps.bench.report import Report
from hemera_apps.bench.timing import median_seconds_in
from hemera_apps.networks import lola

_RUNS = 5
"""Encrypted runs whose median error counts."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    _options.add_only(parser, PROGRAMS)
    _options.add_seconds(parser, 1.0, "to measure for, at least")
    _options.add_machine(parser)
    _options.add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Compile, measure, and write what is asked for."""
    report = Report(options)
    for name in options.only:
        row = {"program": name, **_row(*PROGRAMS[name](), options)}
        report.rows.append(row)
        report.say(
            f"{name}: {1e3 * row['seconds']:.2f} ms, estimated {1e3 * row['expected_seconds']:.2f} ms; "
            f"{row['bits']} bits, expected {row['expected_bits']}; bytes of keys and weights: "
            f"{row['key_bytes']}, {row['plaintext_bytes']}, planned {row['expected_key_bytes']}, "
            f"{row['expected_plaintext_bytes']}"
        )
    report.write({}, "made")
    return 0


def _row(plan: Compiled, sample: list[Any], options: argparse.Namespace) -> dict[str, Any]:
    package = plan.package
    ctx = hm.Context(plan.params, options.device, threads=options.threads)
    table = DeviceTimes.find(device_name(ctx.description))
    secret = ctx.generate_secret_key()
    keys = package.generate_keys(ctx, secret)
    before = ctx.memory_used
    model = package.prepare(ctx)
    evaluator = model.bind(keys)
    given = package.interface.encode(sample[0] if len(sample) == 1 else sample)

    def encrypted() -> list[hm.Ciphertext]:
        return [
            ctx.encrypt(ctx.encode(values, level=spec.level), secret)
            for values, spec in zip(given, package.inputs, strict=True)
        ]

    expected = _flat(plan.clear(*sample))
    errors, results = [], []
    for _ in range(_RUNS):
        results = model.run(evaluator, encrypted())
        found = package.interface.decode([ctx.decrypt(each, secret) for each in results])
        errors.append(float(np.abs(_flat(found) - expected).max()))
    del results
    encoded = ctx.memory_used - before  # the first run encodes constants
    inputs = encrypted()
    measured: Callable[[], object] = functools.partial(model.run, evaluator, inputs)
    if model.captures:  # as servers run it
        measured = functools.partial(model.capture(evaluator, inputs), *inputs)
    seconds = median_seconds_in(ctx, measured, options.seconds)
    cost = plan.cost()
    error = float(np.median(errors)) / float(np.abs(expected).max())
    bits = plan.expected_bits(*(np.asarray(each)[None] for each in sample))
    return {
        "degree": plan.params.degree,
        "depth": plan.depth,
        "expected_seconds": float(f"{table.seconds(cost._counted()[1], graph=model.captures):.4g}"),
        "seconds": float(f"{seconds:.4g}"),
        "expected_bits": "exact" if np.isinf(bits) else round(bits, 1),
        "bits": "exact" if error == 0 else round(-float(np.log2(error)), 1),
        "expected_key_bytes": cost.key_bytes,
        "key_bytes": keys.memory_bytes,
        "expected_plaintext_bytes": cost.plaintext_bytes,
        "plaintext_bytes": encoded,
    }


def _flat(results: Any) -> np.ndarray[Any, Any]:
    """The values of all results, one after the other."""
    arrays = results.values() if isinstance(results, dict) else [results]
    return np.concatenate([np.asarray(each, np.float64).ravel() for each in arrays])


Program = tuple[Compiled, list[Any]]
"""A plan, and a sample of each of its inputs."""
_random = functools.partial(np.random.default_rng, 5)


def _study() -> Program:
    def study(ages: Any) -> Any:
        mean = ages.mean()
        return {"mean": mean, "variance": ((ages - mean) ** 2).mean()}

    ages = _random().integers(18, 90, 1000)
    return hm.compile(study, hm.ArraySpec((1000,), range=(0, 120)), precision_bits=12), [ages]


def _covariance() -> Program:
    def covariance(columns: Any) -> Any:
        centred = columns - columns.mean(axis=1, keepdims=True)
        return centred @ centred.T / 999

    spec = hm.ArraySpec((3, 1000), range=(-4, 4))
    return hm.compile(covariance, spec, precision_bits=12), [_random().normal(size=(3, 1000)).clip(-4, 4)]


def _matrix() -> Program:
    matrix = _random().normal(size=(128, 128)) / 12
    spec = hm.ArraySpec((128,), range=(-1, 1))
    return hm.compile(lambda x: x @ matrix, spec, precision_bits=16), [_random().uniform(-1, 1, 128)]


def _scores() -> Program:
    weights = _random().normal(size=30) / 5
    spec = hm.ArraySpec((30,), range=(-1, 1))
    return (
        hm.compile(lambda x: 1 / (1 + np.exp(-(x @ weights))), spec, precision_bits=14),
        [_random().uniform(-1, 1, 30)],
    )


def _polynomial() -> Program:
    coefficients = [0.3, -0.2, 0.7, 0.1, -0.5, 0.25]
    spec = hm.ArraySpec((2048,), range=(-1, 1))
    return (
        hm.compile(lambda x: np.polyval(coefficients, x), spec, precision_bits=16),
        [_random().uniform(-1, 1, 2048)],
    )


def _distances() -> Program:
    centres = _random().uniform(-1, 1, (8, 64))
    spec = hm.ArraySpec((64,), range=(-1, 1))
    return (
        hm.compile(lambda x: ((centres - x) ** 2).sum(axis=1), spec, precision_bits=14),
        [_random().uniform(-1, 1, 64)],
    )


def _smoothing() -> Program:
    kernel = np.array([1, 4, 6, 4, 1]).reshape(1, 1, 5) / 16
    spec = hm.ArraySpec((1, 256), range=(-4, 4))
    return hm.compile(lambda x: conv(x, kernel), spec, precision_bits=14), [
        _random().uniform(-4, 4, (1, 256))
    ]


def _rectified() -> Program:
    first, second = _random().normal(size=(64, 48)) / 8, _random().normal(size=(48, 10)) / 7
    spec = hm.ArraySpec((64,), range=(-1, 1))
    return (
        hm.compile(lambda x: np.maximum(x @ first, 0) @ second, spec, precision_bits=9),
        [_random().uniform(-1, 1, 64)],
    )


def _lola() -> Program:
    images = _random().uniform(0, 1, (8, 1, 28, 28))
    return hm.compile(lola(), images[0], calibrate=images, precision_bits=11), [images[0]]


def _stock() -> Program:
    prices = _random().integers(1, 100, 500)
    spec = hm.ArraySpec((500,), range=(0, 20))
    return hm.compile(lambda x: (x * prices).sum(), spec, scheme="bfv"), [_random().integers(0, 21, 500)]


PROGRAMS: dict[str, Callable[[], Program]] = {
    "mean and variance": _study,
    "covariance": _covariance,
    "matrix": _matrix,
    "logistic scores": _scores,
    "polynomial": _polynomial,
    "distances": _distances,
    "smoothing": _smoothing,
    "layers with a ReLU": _rectified,
    "LoLA": _lola,
    "stock, exact": _stock,
}
