"""The precision of CKKS bootstraps by their number and by the kind of input, and their time."""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from hemera import _core, _machine, _options
from hemera.circuits import Bootstrap
from hemera.ckks import Parameters
from hemera.errors import FileError, FormatError, ParameterError
from hemera.inputs.encoding import COMPLEX_PAIR, difference
from hemera.objects.context import Context
from hemera.objects.evaluator import Evaluator
from hemera.objects.keys import SecretKey
from hemera_apps._figures import add_load, new_figure, save_figure

Row = dict[str, Any]
KINDS = ("uniform", "equal", "one slot", "alternating")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("--preset", default="n16-40", help="preset of for_bootstrapping (default n16-40)")
    _options.add_bootstrap(parser)
    parser.add_argument(
        "--count", type=_options.positive, default=50, help="bootstraps one after the other (default 50)"
    )
    parser.add_argument(
        "--time", type=_options.positive, metavar="RUNS", help="also time RUNS of one ciphertext"
    )
    _options.add_machine(parser)
    _options.add_json(parser)
    _options.add_plot(parser, "the precision of each kind of input")
    add_load(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measure or load results, then write the chosen files."""
    if arguments.load is not None:
        if arguments.plot_file is None:
            raise ParameterError("--load draws the results of a file: add --plot FILE")
        draw(load(arguments.load), arguments.plot_file)
        return 0
    console = Console(stderr=arguments.json == "-")
    params = Parameters.for_bootstrapping(arguments.preset, **dict(arguments.fields))
    plan = Bootstrap(
        params,
        arguments.slots,
        real=arguments.real,
        iterations=arguments.iterations,
        merge_parts=arguments.merge_parts,
        upload_limit=arguments.upload,
    )
    context = Context(params, device=arguments.device, threads=arguments.threads)
    secret_key = context.generate_secret_key()
    keys = context.generate_keys(secret_key, plan=plan)
    result: dict[str, Any] = {
        "machine": _machine.describe(arguments.threads or _core.available_processors()),
        "device": str(context.device),
        "preset": ":".join((arguments.preset, *(f"{name}={value}" for name, value in arguments.fields))),
        "slots": plan.slots,
        "real": plan.real,
        "iterations": plan.iterations,
        "merge_parts": plan.merge_parts,
        "levels_left": plan.levels_left,
        "log_qp": round(max(log_modulus(need) for need in plan.needed_keys), 1),
        "security": keys.security,
        "key_bytes": plan.key_bytes,
        "upload_bytes": plan.upload_bytes,
        "memory_bytes": plan.memory_bytes(),
    }
    evaluator = context.bind(keys, bootstrap=plan)
    if arguments.time is not None:
        taken = times(evaluator, plan, arguments.time)
        result["seconds"] = {"median": float(np.median(taken)), "best": min(taken), "runs": len(taken)}
        console.print(f"{result['seconds']['median']:.3f} s, the median of {len(taken)}", highlight=False)
    rows = []
    for row in measure(evaluator, plan, secret_key, arguments.count):
        console.print(
            f"{row['kind']:12} after {row['count']:3}: {row['mean_bits']:.1f} / {row['worst_bits']:.1f} bits",
            highlight=False,
        )
        rows.append(row)
    result["rows"] = rows
    if arguments.json is not None:
        _options.write_json(arguments.json, result)
    if arguments.plot_file is not None:
        draw(result, arguments.plot_file)
    return 0


def inputs(slots: int, *, real: bool = False) -> dict[str, NDArray[np.complex128]]:
    """Values of each kind, of shape (slots,), with real and imaginary parts from -1 to 1; or real ones."""
    generator = np.random.default_rng(20261121)
    uniform = generator.uniform(-1, 1, slots) + 1j * (not real) * generator.uniform(-1, 1, slots)
    one = np.zeros(slots, dtype=np.complex128)
    one[slots // 3] = 1
    alternating = np.where(np.arange(slots) % 2 == 0, 1, -1).astype(np.complex128)
    return dict(zip(KINDS, (uniform, np.ones(slots, dtype=np.complex128), one, alternating), strict=True))


def log_modulus(need: _core.KeyNeed) -> float:
    """log2 of the modulus that decides the security of a key: its primes and special primes."""
    return math.fsum(math.log2(prime) for prime in (*need.primes, *need.special_primes))


def times(evaluator: Evaluator, plan: Bootstrap, runs: int) -> list[float]:
    """The seconds of each bootstrap of one ciphertext, after a first one that does not count."""
    values = next(iter(inputs(plan.slots, real=plan.real).values()))
    x = evaluator.at_level(evaluator.encrypt(values), plan.input_level)
    taken = []
    for _ in range(runs + 1):
        begin = time.perf_counter()
        plan(x)
        evaluator.context.synchronize()
        taken.append(time.perf_counter() - begin)
    return taken[1:]


def measure(evaluator: Evaluator, plan: Bootstrap, secret_key: SecretKey, count: int) -> Iterator[Row]:
    """The mean and the worst -log2 |error| of each kind after 1 to `count` bootstraps. Errors are differences
    from the decrypted first input, in pairs of doubles: iterations reach beyond one."""
    context = evaluator.context
    values = np.stack(list(inputs(plan.slots, real=plan.real).values()))
    x = evaluator.at_level(evaluator.encrypt(values), plan.input_level)
    expected = context.decrypt(x, secret_key, dtype=COMPLEX_PAIR)
    for number in range(1, count + 1):
        x = plan(x)
        found = context.decrypt(x, secret_key, dtype=COMPLEX_PAIR)
        errors = np.maximum(np.abs(difference(found, expected)), 2.0**-100)
        for kind, error in zip(KINDS, errors, strict=True):
            mean, worst = float(-np.log2(error).mean()), float(-np.log2(error.max()))
            yield {"kind": kind, "count": number, "mean_bits": round(mean, 2), "worst_bits": round(worst, 2)}


def load(path: Path) -> dict[str, Any]:
    """Results from a file.

    Raises:
        FileError: if it can not be read.
        FormatError: if it holds no results of this suite.
    """
    try:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        for row in data["rows"]:
            _ = row["kind"], row["count"], row["mean_bits"], row["worst_bits"]
        _ = data["preset"], data["slots"]
    except OSError as error:
        raise FileError(f"can not read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(f"{path} holds no results of hemera bench bootstraps: {error!r}") from error
    return data


def draw(result: dict[str, Any], path: str) -> None:
    """Bits over the number of bootstraps: means as lines, worst slots as dashed ones.

    Raises:
        ParameterError: if matplotlib is not installed, or does not know the format.
        FileError: if the file can not be written.
    """
    figure = new_figure(7, 4.2)
    axes = figure.add_subplot(title=f"{result['preset']}, {result['slots']} slots")
    axes.set(xlabel="bootstraps one after the other", ylabel="-log2 of the error", xscale="log")
    for number, kind in enumerate(dict.fromkeys(row["kind"] for row in result["rows"])):
        rows = [row for row in result["rows"] if row["kind"] == kind]
        counts = [row["count"] for row in rows]
        color = f"C{number}"
        axes.plot(counts, [row["mean_bits"] for row in rows], color=color, label=f"{kind}, mean")
        worst = [row["worst_bits"] for row in rows]
        axes.plot(counts, worst, "--", color=color, label=f"{kind}, worst slot")
    ticks = [tick for tick in (1, 2, 5, 10, 20, 50, 100) if tick <= max(r["count"] for r in result["rows"])]
    axes.set_xticks(ticks, labels=[str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(fontsize="x-small", ncols=2)
    save_figure(figure, path)
