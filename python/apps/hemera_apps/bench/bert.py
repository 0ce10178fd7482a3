"""A block of BERT on encrypted inputs, many at once or one alone, compared with the clear block."""

from __future__ import annotations

import argparse
import functools
import sys
import time
from collections.abc import Callable
from typing import Any

import hemera as hm
from hemera import _options
from hemera.errors import NoiseError, ParameterError
from hemera_apps.bench.bert_network import NetworkRun
from hemera_apps.bench.report import Report
from hemera_apps.transformer.clear import Shape, Trace, clear_block, random_inputs
from hemera_apps.transformer.network.config import NetworkConfig
from hemera_apps.transformer.planned import approximate_block, least_bits, require_in_ranges
from hemera_apps.transformer.prepared import PreparedBlock, Settings
from hemera_apps.transformer.stages import Stages, agreement

_PLANNED_INPUTS = 8
"""Inputs that go through the block with polynomials in the clear, for the planned bits."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument(
        "--full",
        action="store_true",
        help="BERT-base for 256 inputs of 128 tokens, or for one, 128 bits of security; without it a small "
        "block on a small ring: NOT SECURE",
    )
    for name in ("tokens", "features", "heads", "inner"):
        parser.add_argument(f"--{name}", type=_options.positive, help="in place of the block's own")
    parser.add_argument(
        "--inputs",
        type=_options.positive,
        help="(default: as many as there is room for); they fill the slots. One has its features side by "
        "side in slots, in few ciphertexts",
    )
    parser.add_argument(
        "--blocks",
        type=_options.positive,
        help="of a whole network on one input, with padding, pooler and classifier; BERT-base has 12. Its "
        "sharpness is 0.5 (default: one block alone)",
    )
    parser.add_argument("--preset", help="of bootstrapping parameters (default: n16-40; test-40 if small)")
    _options.add_bootstrap_fields(parser)
    parser.add_argument("--sharpness", type=float, help="the deviation of scores (default: 1; 0.5 if small)")
    parser.add_argument(
        "--wide",
        action="store_true",
        help="of a network: weights whose values have ranges as wide as those of trained ones, which take "
        "higher degrees and more bootstraps; with --plan the ranges of the reference implementation",
    )
    parser.add_argument(
        "--calibration",
        type=_options.positive,
        help="other inputs, for ranges (default: 64; 8 of a network of full size)",
    )
    parser.add_argument("--margin", type=float, default=0.2, help="of the ranges (default: 0.2)")
    parser.add_argument("--size", type=_options.positive, default=64, help="rows at once (default: 64)")
    parser.add_argument(
        "--together",
        type=_options.positive,
        default=4,
        help="ciphertexts in a call of a bootstrap (default: 4)",
    )
    parser.add_argument(
        "--raw-weights",
        action="store_true",
        help="of one input: encode the weights in each call, in place of keeping them encoded",
    )
    _options.add_runs(parser, 1)
    parser.add_argument("--check-stages", action="store_true", help="decrypt some values of each stage")
    parser.add_argument("--plan", metavar="DEVICE", help='count only, with seconds by a table, "nvidia-h200"')
    _options.add_machine(parser)
    _options.add_json(parser)


def _settings(options: argparse.Namespace) -> Settings:
    shape = Shape() if options.full else Shape(8, 16, 2, 32)
    sizes = {
        name: getattr(options, name) or getattr(shape, name)
        for name in ("tokens", "features", "heads", "inner")
    }
    preset = options.preset or ("n16-40" if options.full else "test-40")
    fields = dict(options.fields)
    if preset == "test-40":
        fields.setdefault("security", None)
    return Settings(
        Shape(**sizes),
        options.inputs,
        preset,
        fields,
        options.sharpness or (1 if options.full else 0.5),
        options.calibration or 64,
        options.margin,
        options.size,
        options.together,
        single=options.inputs == 1,
        kept=not options.raw_weights,
    )


def _run_network(
    options: argparse.Namespace, settings: Settings, say: Callable[[str], None]
) -> dict[str, Any]:
    """A whole network on one input."""
    if options.inputs not in (None, 1):
        raise ParameterError(
            f"a network takes one input, and {options.inputs} are asked for: leave out --inputs"
        )
    config = NetworkConfig(
        settings.shape, options.blocks, vocabulary=1000, preset=settings.preset, fields=settings.fields or {}
    )
    measured = NetworkRun(
        config,
        options.calibration or (8 if options.full else 64),
        settings.margin,
        options.sharpness or 0.5,
        wide=options.wide,
        kept=settings.kept,
    )
    found = {"measurement": "transformer network", **vars(settings.shape), "blocks": options.blocks}
    if options.wide:
        found["wide"] = True
    if options.plan is not None:
        return found | measured.planned(options.plan, say)
    return found | measured.measured(options.device, options.threads, options.runs, say)


def run(options: argparse.Namespace) -> int:
    """Prepare, run, compare, and write what is asked for."""
    report = Report(options)
    say = report.say
    began = time.perf_counter()
    settings = _settings(options)
    if options.blocks is not None:
        report.rows.append(_run_network(options, settings, say))
        report.write({"device": options.device})
        return 0
    if options.wide:
        raise ParameterError("--wide is of a network: give --blocks")
    prepared = PreparedBlock(settings)
    found: dict[str, Any] = {
        "measurement": "transformer block",
        **vars(settings.shape),
        "inputs": prepared.layout.inputs,
        "preset": settings.preset,
        "degree": prepared.params.degree,
        "security": prepared.params.security,
        "levels": prepared.bootstrap.levels_left,
        "prepare_seconds": round(time.perf_counter() - began, 2),
    }
    say(", ".join(f"{name} {value}" for name, value in found.items()))
    cost, stages = prepared.cost(options.plan)
    found |= {
        "key_bytes": cost.key_bytes,
        "plaintext_bytes": cost.plaintext_bytes,
        "operations": cost.operations,
    }
    if options.plan is not None:
        say(cost.report())
        for stage in stages:
            say(", ".join(f"{name} {value}" for name, value in stage.items()))
        found |= {
            "device": options.plan,
            "seconds": cost.seconds,
            "workspace_bytes": cost.workspace_bytes,
            "stages": stages,
        }
    else:
        found |= _measured(options, prepared, cost, say)
    report.rows.append(found)
    report.write({"device": options.device})
    return 0


def _measured(
    options: argparse.Namespace, prepared: PreparedBlock, cost: Any, say: Callable[[str], None]
) -> dict[str, Any]:
    """Runs on the device, each compared with the clear block. The first one encodes plaintexts, too."""
    settings, shape = prepared.settings, prepared.settings.shape
    began = time.perf_counter()
    x = random_inputs(shape, prepared.layout.inputs, settings.seed + 2)
    trace: Trace = clear_block(prepared.weights, shape, x)
    require_in_ranges(trace, prepared.ranges)
    some = approximate_block(prepared.weights, shape, prepared.functions, x[:_PLANNED_INPUTS])
    planned = agreement(some, trace["output"][:_PLANNED_INPUTS])
    least = least_bits(planned)
    say(
        f"clear block: {time.perf_counter() - began:.1f} s, {planned} bits with polynomials; {least:.1f} are "
        "expected at the least"
    )
    began = time.perf_counter()
    context = hm.Context(prepared.params, options.device, threads=options.threads)
    secret_key = context.generate_secret_key()
    keys = context.generate_keys(secret_key, relinearization=False, plan=cost)
    evaluator = context.bind(keys)
    context.synchronize()
    found: dict[str, Any] = {"planned_bits": planned, "least_bits": round(least, 2)}
    found |= {
        "backend": context.description,
        "keys_seconds": round(time.perf_counter() - began, 2),
        "runs": [],
    }
    key = secret_key if options.check_stages else None
    progress = functools.partial(print, file=sys.stderr, flush=True)  # of long runs
    stages = Stages(evaluator, progress, prepared.layout, trace, key)
    block = prepared.block(stages)
    began = time.perf_counter()
    encrypted = prepared.encrypt(x, evaluator, block.levels.fresh)
    context.synchronize()
    found["encrypt_seconds"] = round(time.perf_counter() - began, 2)
    say(f"keys: {found['keys_seconds']} s, encryption: {found['encrypt_seconds']} s, on {context.device}")
    for _ in range(options.runs):
        stages.begin()
        output = block(encrypted)
        seconds = sum(row["seconds"] for row in stages.rows)
        bits = agreement(prepared.decrypt(output, secret_key), trace["output"])
        del output
        each = seconds / prepared.layout.inputs
        found["runs"].append(
            {
                "seconds": round(seconds, 4),
                "seconds_an_input": round(each, 5),
                "bits": bits,
                "bootstraps": sum(row["bootstraps"] for row in stages.rows),
                "peak_bytes": max(row["peak_bytes"] for row in stages.rows),
                "stages": stages.rows,
            }
        )
        say(f"block: {seconds:.2f} s, {each:.4f} s an input, {bits} bits")
        if bits < least:
            raise NoiseError(f"the block agrees with the clear one in {bits} bits, not in {least:.1f}")
    return found
