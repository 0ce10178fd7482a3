"""Compiled neural networks: the time of an encrypted image, next to the network in the clear."""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import hemera as hm
from hemera import _options
from hemera.compiler import Compiled
from hemera_apps.bench.report import Report
from hemera_apps.bench.timing import median_seconds_in
from hemera_apps.networks import ACTIVATIONS, Network, lola, resnet

_SAMPLES = 24
_BITS = 11
_SMALL_BITS = 9
"""The bits that the levels of the small ring's bootstraps have room for."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("--network", choices=["resnet-20", "lola"], default="resnet-20")
    parser.add_argument(
        "--activation", choices=list(ACTIVATIONS), default="relu", help="of ResNet-20 (default: relu)"
    )
    parser.add_argument("--images", type=_options.positive, default=1, help="at once (default: 1)")
    parser.add_argument(
        "--samples", type=_options.positive, default=1, help="images in a ciphertext (default: 1)"
    )
    parser.add_argument(
        "--times", metavar="NAME", help="of the table of times by which bootstraps are placed"
    )
    _options.add_seconds(parser, 2.0, "to measure for, at least")
    _options.add_small(parser, "a small network on a small ring")
    _options.add_machine(parser)
    _options.add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Compile, measure, compare, and write what is asked for."""
    report = Report(options)
    function, shape = _network(options)
    rng = np.random.default_rng(3)
    images = rng.uniform(-1, 1, (_SAMPLES, *shape))
    began = time.perf_counter()
    bits = _SMALL_BITS if options.small else _BITS
    plan = hm.compile(function, images[0], calibrate=images, precision_bits=bits, **_settings(options))
    found: dict[str, Any] = {
        "network": options.network if not options.small else "small",
        "activation": options.activation if options.network == "resnet-20" else "square",
        "images": options.images,
        "samples": options.samples,
        "compile_seconds": round(time.perf_counter() - began, 2),
        "compile_peak_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        **_described(plan),
    }
    report.say(f"compiled in {found['compile_seconds']} s: {plan!r}, {found['bootstraps']} bootstraps")
    found |= _measured(plan, function, images[: options.images], options, report.say)
    report.rows.append(found)
    report.write({}, "made")
    return 0


def _network(options: argparse.Namespace) -> tuple[Network, tuple[int, ...]]:
    if options.network == "lola":
        return lola(), (1, 28, 28)
    if options.small:
        return resnet(1, options.activation, width=2), (3, 8, 8)
    return resnet(3, options.activation), (3, 32, 32)


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    settings: dict[str, Any] = {"samples": options.samples}
    if options.times is not None:
        settings["device"] = options.times
    if options.small:
        settings["params"] = hm.ckks.Parameters.for_bootstrapping("test-40", levels=14, degree=2048)
    return settings


def _described(plan: Compiled) -> dict[str, Any]:
    params, cost = plan.params, plan.cost()
    return {
        "degree": params.degree,
        "log_modulus": round(params.log_modulus, 1),
        "security": params.security,
        "slots": plan.slots,
        "bootstraps": plan.package.program.operations.get("bootstrap", 0),
        "keys": len(cost.needed_keys),
        "key_bytes": cost.key_bytes,
        "plaintext_bytes": cost.plaintext_bytes,
        "file_bytes": len(bytes(plan.package)),
    }


def _measured(
    plan: Compiled,
    function: Network,
    images: np.ndarray[Any, Any],
    options: argparse.Namespace,
    say: Callable[[str], object],
) -> dict[str, Any]:
    """Seconds of a run, called and as a graph, and how far results are from the network in the clear."""
    package = plan.package
    ctx = hm.Context(plan.params, options.device, threads=options.threads)
    secret = ctx.generate_secret_key()
    began = time.perf_counter()
    model = package.prepare(ctx)
    evaluator = model.bind(package.generate_keys(ctx, secret))
    given = images if max(len(images), plan.samples) > 1 else images[0]
    encoded = package.interface.encode(given)
    inputs = [
        ctx.encrypt(ctx.encode(values, level=spec.level), secret)
        for values, spec in zip(encoded, package.inputs, strict=True)
    ]
    results = model.run(evaluator, inputs)
    values = [ctx.decrypt(each, secret) for each in results]
    found = package.interface.decode(values, package.interface.count(given))
    first = time.perf_counter() - began
    expected = np.stack([function(image) for image in images])
    error = float(np.abs(np.reshape(found, expected.shape) - expected).max())

    measured = {
        "device": ctx.description,
        "first_seconds": round(first, 2),
        "seconds": median_seconds_in(ctx, lambda: model.run(evaluator, inputs), options.seconds),
    }
    if model.captures:
        graph = evaluator.capture(lambda *xs: model.run(evaluator, xs), *inputs)
        measured["graph_seconds"] = median_seconds_in(ctx, lambda: graph(*inputs), options.seconds)
    best = measured.get("graph_seconds", measured["seconds"])
    say(f"{best:.4f} s for {len(images)} images, on {ctx.description}; error {error:.2e}")
    return {
        **measured,
        "memory_bytes": ctx.memory_used,
        "error": error,
        "bits": round(-float(np.log2(error / max(1.0, np.abs(expected).max()))), 2),
        "same_label": bool((expected.argmax(-1) == np.reshape(found, expected.shape).argmax(-1)).all()),
    }
