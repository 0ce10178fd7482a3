"""The time of each operation of each scheme, with the deepest 128-bit secure parameters of each degree."""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import hemera
from hemera import _machine, _options
from hemera.errors import ParameterError
from hemera.parameters import Parameters

SCHEMES = ("bfv", "bgv", "ckks")
OPERATIONS = (
    "generate_secret_key",
    "generate_relinearization_key",
    "encode",
    "decode",
    "encrypt",
    "encrypt_symmetric",
    "decrypt",
    "add",
    "add_plain",
    "multiply_plain",
    "multiply",
    "relinearize",
    "multiply_relinearize",
    "rescale",
    "rotate",
    "rotate_many_4",
    "save",
    "load",
)
PLAIN_BITS = 20
SCALE_BITS = 40
_FEWER_BITS = 6
"""The most bits fewer, of plaintext modulus or scale, if a degree allows no product with the usual ones."""


@dataclass(frozen=True)
class Row:
    """One measurement. Times are those of the whole batch, in microseconds."""

    scheme: str
    operation: str
    n: int
    log_modulus: float
    primes: int
    batch: int
    median_us: float
    least_us: float
    repetitions: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    _options.add_machine(parser)
    _options.add_scheme(parser, SCHEMES)
    parser.add_argument(
        "--degrees", type=_options.integers, default=[8192, 16384], help="degrees N (default: 8192,16384)"
    )
    parser.add_argument(
        "--operation",
        choices=OPERATIONS,
        metavar="OPERATION",
        action="append",
        help="only this operation (may be repeated)",
    )
    parser.add_argument("--batch", type=_options.positive, default=1, help="ciphertexts a batch (default: 1)")
    _options.add_seconds(parser, 0.2, "least time to measure an operation")
    _options.add_json(parser)


def run(options: argparse.Namespace) -> int:
    rows: list[Row] = []
    progress = Console(stderr=True)
    refused: list[str] = []
    for scheme in options.scheme or SCHEMES:
        for degree in options.degrees:
            try:
                params = deepest(scheme, degree)
            except ParameterError as error:
                refused.append(str(error))
                progress.print(f"left out: {error}", markup=False, highlight=False, soft_wrap=True)
                continue
            with progress.status(f"{scheme.upper()} at N = {degree}"):
                rows.extend(measure(params, options))
    if not rows:
        raise ParameterError("; ".join(refused) or "no degree was given; see --degrees")
    show(rows, Console(stderr=options.json == "-"))
    if options.json:
        _options.write_json(
            options.json,
            {"machine": _machine.describe(options.threads), "rows": [asdict(row) for row in rows]},
        )
    return 0


def deepest(scheme: str, degree: int) -> Parameters:
    """The parameters of the deepest circuit with 128-bit security at this degree. If there is none, those of
    one product with the largest possible plaintext modulus, or scale.

    Raises:
        ParameterError: if the degree allows no product.
    """
    best: Parameters | None = None
    depth = 0
    while found := _for_depth(scheme, depth + 1, degree, 0):
        best, depth = found, depth + 1
    for fewer in range(1, _FEWER_BITS + 1):
        best = best or _for_depth(scheme, 1, degree, fewer)
    if best is None:
        raise ParameterError(
            f"{scheme.upper()} has no secure parameters with a product at degree {degree}; take --degrees "
            "of 8192 and more"
        )
    return best


def _for_depth(scheme: str, depth: int, degree: int, fewer_bits: int) -> Parameters | None:
    """Parameters of exactly this degree; None if there are none."""
    try:
        if scheme == "ckks":
            found: Parameters = hemera.ckks.Parameters.for_circuit(
                depth, scale_bits=SCALE_BITS - fewer_bits, range_bits=10, degree=degree
            )
        else:
            kind = hemera.bfv.Parameters if scheme == "bfv" else hemera.bgv.Parameters
            found = kind.for_circuit(depth, plain_bits=PLAIN_BITS - fewer_bits, degree=degree)
    except ParameterError:
        return None
    return found if found.degree == degree else None


def measure(params: Parameters, options: argparse.Namespace) -> Iterator[Row]:
    """The rows of all chosen operations for these parameters."""
    context = hemera.Context(params, options.device, threads=options.threads)
    found = operations(context, options)
    wait = context.synchronize
    for name in options.operation or OPERATIONS:
        times = sample(found[name], options.seconds, wait)
        yield Row(
            scheme=params.scheme,
            operation=name,
            n=params.degree,
            log_modulus=round(params.log_modulus, 1),
            primes=len(params.primes[-1]),
            batch=options.batch,
            median_us=1e6 * statistics.median(times),
            least_us=1e6 * min(times),
            repetitions=len(times),
        )


def operations(context: hemera.Context, options: argparse.Namespace) -> dict[str, Callable[[], Any]]:
    """Functions that call each of OPERATIONS, by name."""
    params = context.params
    secret_key = context.generate_secret_key()
    keys = context.generate_keys(secret_key, rotations=[1, 2, 4, 8])
    evaluator = context.bind(keys)
    lazy = context.bind(keys, relinearization="lazy")

    random = np.random.default_rng(1)
    shape = (options.batch, params.max_slots)
    values: np.ndarray[Any, Any] = (
        random.uniform(-1, 1, shape) if params.scheme == "ckks" else random.integers(-1000, 1000, shape)
    )
    plain = context.encode(values)
    x, y = evaluator.encrypt(values), evaluator.encrypt(values)
    product = lazy.multiply(x, y)
    data = bytes(x)
    return {
        "generate_secret_key": context.generate_secret_key,
        "generate_relinearization_key": lambda: context.generate_keys(secret_key, public_key=False),
        "encode": lambda: context.encode(values),
        "decode": lambda: context.decode(plain),
        "encrypt": lambda: evaluator.encrypt(plain),
        "encrypt_symmetric": lambda: context.encrypt(plain, secret_key),
        "decrypt": lambda: context.decrypt(x, secret_key),
        "add": lambda: evaluator.add(x, y),
        "add_plain": lambda: evaluator.add(x, plain),
        "multiply_plain": lambda: evaluator.multiply(x, plain),
        "multiply": lambda: lazy.multiply(x, y),
        "relinearize": lambda: evaluator.relinearize(product),
        "multiply_relinearize": lambda: evaluator.multiply(x, y),
        "rescale": lambda: evaluator.rescale(x),
        "rotate": lambda: evaluator.rotate(x, 1),
        "rotate_many_4": lambda: evaluator.rotate_many(x, [1, 2, 4, 8]),
        "save": lambda: bytes(x),
        "load": lambda: evaluator.load(data),
    }


def sample(operation: Callable[[], Any], seconds: float, wait: Callable[[], None]) -> list[float]:
    """The times of single calls, each until the device is done: at least three, and until `seconds` have
    passed."""
    operation()
    wait()
    times: list[float] = []
    while len(times) < 3 or sum(times) < seconds:
        begin = time.perf_counter()
        operation()
        wait()
        times.append(time.perf_counter() - begin)
    return times


def show(rows: list[Row], console: Console) -> None:
    """A table for people: one line an operation, one column a scheme and degree."""
    columns = sorted({(row.scheme, row.n, row.primes) for row in rows})
    title = f"microseconds a batch of {rows[0].batch} (median)"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("operation", no_wrap=True)
    for scheme, n, primes in columns:
        table.add_column(f"{scheme.upper()}\nN={n}\n{primes} primes", justify="right")
    found = {(row.operation, row.scheme, row.n): row for row in rows}
    for operation in dict.fromkeys(row.operation for row in rows):
        cells = [found.get((operation, scheme, n)) for scheme, n, _ in columns]
        table.add_row(operation, *("" if cell is None else f"{cell.median_us:,.0f}" for cell in cells))
    console.print(table)
    sys.stdout.flush()
