"""The needs and the cost of a circuit before it runs: keys, levels, operations, bytes, errors and time."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import hemera
from hemera import _options, circuits
from hemera.circuits import Bootstrap, Function, LinearTransform, Plan
from hemera.parameters import Parameters

# Functions of one value by name: the maker of each for an interval, and the function for an approximation of
# a given degree.
FUNCTIONS: dict[str, tuple[Callable[..., Function], Callable[[float], float]]] = {
    "sigmoid": (circuits.sigmoid, lambda x: 1 / (1 + math.exp(-x))),
    "tanh": (circuits.tanh, math.tanh),
    "silu": (circuits.silu, lambda x: x / (1 + math.exp(-x))),
    "softplus": (circuits.softplus, lambda x: float(np.logaddexp(0, x))),
    "relu": (circuits.relu, lambda x: max(x, 0.0)),
    "abs": (circuits.abs, abs),
    "gelu": (circuits.gelu, lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2),
    "exp": (circuits.exp, math.exp),
    "log": (circuits.log, math.log),
    "inverse": (circuits.inverse, lambda x: 1 / x),
    "sqrt": (circuits.sqrt, math.sqrt),
}
# Functions with a gap, of values up to a largest one.
STEPS: dict[str, Callable[..., Function]] = {"sign": circuits.sign, "compare": circuits.compare}
NAMES = (*FUNCTIONS, *STEPS, "maximum")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(title="circuits", metavar="CIRCUIT", required=True)

    bootstrap = kinds.add_parser("bootstrap", help="bootstrap of a preset of parameters")
    bootstrap.add_argument("preset", metavar="PRESET", help="like n16-40; docs/bootstrapping.md lists them")
    _options.add_bootstrap(bootstrap)
    bootstrap.add_argument(
        "--key-memory",
        type=_options.size,
        metavar="SIZE",
        help="bytes that keys may take, like 4GiB (default: any)",
    )
    bootstrap.set_defaults(make=make_bootstrap)

    function = kinds.add_parser("function", help="function of one encrypted value")
    function.add_argument("function", metavar="NAME", choices=NAMES, help=", ".join(NAMES))
    function.add_argument(
        "--interval", type=interval, default=(-1.0, 1.0), help="interval of the values (default: -1,1)"
    )
    function.add_argument("--gap", type=float, default=0.01, help="gap of sign and compare (default: 0.01)")
    error = function.add_mutually_exclusive_group()
    error.add_argument("--bits", type=float, default=20, help="-log2 of the error (default: 20)")
    error.add_argument(
        "--degree", type=_options.positive, help="degree of one polynomial, in place of --bits"
    )
    add_parameters(function)
    function.set_defaults(make=make_function)

    matrix = kinds.add_parser("matrix", help="dense plain matrix times encrypted vectors")
    matrix.add_argument("rows", type=_options.positive)
    matrix.add_argument("columns", type=_options.positive)
    matrix.add_argument("--fewest-keys", action="store_true", help="two rotation keys alone: more time")
    add_parameters(matrix)
    matrix.set_defaults(make=make_matrix)

    for circuit in (bootstrap, function, matrix):
        circuit.add_argument(
            "--time", action="store_true", help="also estimate the time of one evaluation on the device"
        )
        circuit.add_argument(
            "--memory-limit", type=_options.size, metavar="SIZE", help="memory that must suffice, like 8GiB"
        )
        circuit.add_argument("--batch", type=_options.positive, default=1, help="ciphertexts at once")
        _options.add_json(circuit, instead=True)
        _options.add_machine(circuit)


def add_parameters(parser: argparse.ArgumentParser) -> None:
    """Options of the parameters that a circuit is planned for."""
    parser.add_argument(
        "--depth", type=_options.positive, help="levels of the parameters (default: the circuit's)"
    )
    parser.add_argument(
        "--scale-bits", type=_options.positive, default=40, help="log2 of the scale (default: 40)"
    )
    parser.add_argument(
        "--slots", type=_options.positive, help="slots of the ciphertexts (default: as few as fit)"
    )


def interval(text: str) -> tuple[float, float]:
    """Two numbers: "-8,8"."""
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not an interval like -8,8") from None
    return low, high


def make_bootstrap(options: argparse.Namespace) -> tuple[Parameters, Plan]:
    fields = dict(options.fields)
    params = hemera.ckks.Parameters.for_bootstrapping(options.preset, **fields)
    return params, Bootstrap(
        params,
        options.slots,
        real=options.real,
        iterations=options.iterations,
        merge_parts=options.merge_parts,
        key_memory_limit=options.key_memory,
        upload_limit=options.upload,
        # Fields of the sine that do not follow from the levels.
        **{name: fields[name] for name in ("sine_range", "sine_degree") if name in fields},
    )


def make_function(options: argparse.Namespace) -> tuple[Parameters, Plan]:
    function = choose_function(options)
    params = hemera.ckks.Parameters.for_circuit(
        options.depth or function.depth, scale_bits=options.scale_bits, slots=options.slots or 1
    )
    return params, function.plan(params, slots=options.slots)


def choose_function(options: argparse.Namespace) -> Function:
    """The function that the options name. ParameterError if an option is not one of the function's."""
    name, bits = options.function, options.bits
    largest = max(abs(end) for end in options.interval)
    if options.degree is not None:
        if name not in FUNCTIONS:
            raise hemera.errors.ParameterError(f"--degree is no option of {name}; use --bits")
        return circuits.approximate(FUNCTIONS[name][1], options.interval, options.degree)
    if name in STEPS:
        return STEPS[name](gap=options.gap, bits=bits, largest=largest)
    if name == "maximum":
        return circuits.maximum(bits=bits, largest=largest)
    return FUNCTIONS[name][0](options.interval, bits=bits)


def make_matrix(options: argparse.Namespace) -> tuple[Parameters, Plan]:
    slots = options.slots or 1 << (max(options.rows, options.columns) - 1).bit_length()
    params = hemera.ckks.Parameters.for_circuit(
        options.depth or 1, scale_bits=options.scale_bits, slots=slots
    )
    matrix = np.ones((options.rows, options.columns))
    return params, LinearTransform(matrix, params, slots=slots, fewest_keys=options.fewest_keys)


def run(options: argparse.Namespace) -> int:
    params, plan = options.make(options)
    told = {
        **plan.as_dict(),
        "degree": params.degree,
        "security": params.security,
        "batch": options.batch,
        "memory_bytes": plan.memory_bytes(options.batch),
    }
    if options.time or options.memory_limit is not None:
        context = hemera.Context(
            params, options.device, threads=options.threads, memory_limit=options.memory_limit
        )
        plan.require_memory(context, options.batch)
        if options.time:
            told["device"] = context.device
            told["seconds"] = plan.estimate_time(context)
    if options.json:
        _options.write_json(options.json, told)
        return 0
    show(params, plan, told)
    return 0


def show(params: Parameters, plan: Plan, told: dict[str, Any]) -> None:
    console = Console()
    console.print(plan.report(), markup=False, highlight=False, soft_wrap=True)
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold")
    table.add_column()
    table.add_row("parameters", f"N = {params.degree}, {params.levels} levels, security {params.security}")
    batch = "" if told["batch"] == 1 else f" for a batch of {told['batch']}"
    table.add_row("memory in all", _options.size_text(told["memory_bytes"]) + batch)
    if "seconds" in told:
        table.add_row("time", f"about {told['seconds'] * 1e3:.3g} ms on {told['device']}")
    console.print()
    console.print(table)
