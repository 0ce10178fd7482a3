"""`hemera bench against-seal`: each operation compared with SEAL's; the two alternate in one process."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import hemera as hm
from hemera import _machine, _options
from hemera_apps.bench.cases import Case, cases
from hemera_apps.bench.hemera_side import HemeraSide
from hemera_apps.bench.report import Column, Row, table_of
from hemera_apps.bench.seal_side import SealSide
from hemera_apps.bench.timing import alternate, median_seconds

_SCHEMES = ["bfv", "bgv", "ckks"]
_DEGREES = [8192, 16384, 32768]
# CKKS results are right if every slot is within this distance of the clear value.
_TOLERANCE = 2.0**-15


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    _options.add_threads(parser, default=1)
    _options.add_json(parser)
    _options.add_scheme(parser, _SCHEMES)
    _options.add_degree(parser, _DEGREES)
    parser.add_argument("--operation", action="append", help="only this operation (repeatable)")
    _options.add_seconds(parser, 1.0, "time to measure a row")
    parser.add_argument(
        "--secure", action="store_true", help="also Hemera at its secure parameters of each degree"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the comparison; 1 if any result was wrong."""
    chosen = cases(arguments.scheme or _SCHEMES, arguments.n or _DEGREES)
    rows: list[Row] = []
    console = Console(stderr=arguments.json == "-")
    with Progress(console=console) as progress:
        task = progress.add_task("against SEAL", total=len(chosen))
        for case in chosen:
            progress.update(task, description=f"{case.scheme.upper()} N={case.n}")
            rows += _rows(case, arguments)
            progress.advance(task)
    console.print(_table(rows))
    if arguments.json is not None:
        where = {"threads": arguments.threads, **_machine.describe(arguments.threads)}
        _options.write_json(arguments.json, [row | where for row in rows])
    wrong = [row for row in rows if not row["checked"]]
    if wrong:
        console.print(f"{len(wrong)} results were wrong")
    return 1 if wrong else 0


def _operands(case: Case) -> tuple[NDArray[Any], NDArray[Any]]:
    generator = np.random.default_rng(case.n)
    if case.scheme == "ckks":
        shape = (2, case.n // 2)
        values = generator.uniform(-1, 1, shape) + 1j * generator.uniform(-1, 1, shape)
        return values[0], values[1]
    half = case.plain_modulus // 2
    integers = generator.integers(-half, half, (2, case.n), endpoint=True)
    return integers[0], integers[1]


def _expected(case: Case, a: NDArray[Any], b: NDArray[Any]) -> dict[str, NDArray[Any]]:
    if case.scheme == "ckks":
        rotated, product = np.roll(a, -1), a * b
    else:
        t = case.plain_modulus
        rotated = np.roll(a.reshape(2, -1), -1, axis=1).ravel()
        # Products of 20-bit values fit int64.
        product = (a * b) % t
    return {
        "encode": a,
        "encrypt": a,
        "decrypt": a,
        "add": a + b,
        "multiply_plain": product,
        "multiply_relinearize": product,
        "rotate": rotated,
        "rescale": product,
    }


def _error(case: Case, found: NDArray[Any], expected: NDArray[Any]) -> float:
    """The largest error of a slot; for integers 0 (right) or 1 (wrong)."""
    if case.scheme == "ckks":
        return float(np.abs(found - expected).max())
    return 0.0 if not np.any((found - expected) % case.plain_modulus) else 1.0


def _room(side: HemeraSide | SealSide, case: Case, result: Any, error: float) -> dict[str, float]:
    """The room that a result has left: noise budget, or levels and precision."""
    if case.scheme == "ckks":
        return {
            "levels": side.levels(result),
            "precision_bits": round(-float(np.log2(max(error, 1e-300))), 2),
        }
    return {"noise_budget": round(side.noise_budget(result), 2)}


def _rows(case: Case, arguments: argparse.Namespace) -> Iterator[Row]:
    a, b = _operands(case)
    seal = SealSide(case, a, b)
    expected = _expected(case, a, b)
    variants: list[tuple[str, hm.Parameters]] = [("like SEAL", case.params)]
    if arguments.secure:
        variants.append(("secure", case.secure))
    for variant, params in variants:
        hemera = HemeraSide(params, arguments.threads, a, b)
        for operation, ours in hemera.operations.items():
            if arguments.operation and operation not in arguments.operation:
                continue
            theirs = seal.operations[operation]
            hemera_seconds, seal_seconds, ratio = alternate(ours, theirs, arguments.seconds)
            if operation == "encode":
                conversion = median_seconds(seal.conversion, arguments.seconds / 4)
                ratio *= (seal_seconds - conversion) / seal_seconds
                seal_seconds -= conversion
            our_result, their_result = ours(), theirs()
            our_error = _error(case, hemera.values(our_result), expected[operation])
            their_error = _error(case, seal.values(their_result), expected[operation])
            row: Row = {
                "operation": operation,
                "scheme": case.scheme,
                "n": case.n,
                "variant": variant,
                "hemera_us": round(hemera_seconds * 1e6, 2),
                "seal_us": round(seal_seconds * 1e6, 2),
                "ratio": round(ratio, 3),
                "checked": our_error <= _TOLERANCE and their_error <= _TOLERANCE,
                "security": params.security,
                "hemera_log_qp": round(params.log_modulus, 1),
                "seal_log_qp": sum(case.seal_bits),
                "hemera_primes": len(params.primes[-1]) + len(params.special_primes),
                "seal_primes": len(case.seal_bits),
            }
            if isinstance(our_result, hm.Ciphertext):
                row["hemera_room"] = _room(hemera, case, our_result, our_error)
                row["seal_room"] = _room(seal, case, their_result, their_error)
            yield row


def _table(rows: list[Row]) -> Table:
    texts: dict[str, Column] = {
        "scheme": lambda row: row["scheme"].upper(),
        "N": "{n}",
        "parameters": "{variant}",
        "operation": "{operation}",
    }
    numbers: dict[str, Column] = {
        "Hemera": "{hemera_us:,.1f}",
        "SEAL": "{seal_us:,.1f}",
        "SEAL / Hemera": "{ratio:.2f}",
        "room: Hemera": lambda row: _room_text(row.get("hemera_room")),
        "room: SEAL": lambda row: _room_text(row.get("seal_room")),
    }
    return table_of("Hemera and SEAL (microseconds, median)", rows, texts, numbers)


def _room_text(room: dict[str, float] | None) -> str:
    if room is None:
        return ""
    if "noise_budget" in room:
        return f"{room['noise_budget']:.0f} bits"
    return f"{room['levels']:.0f} levels, {room['precision_bits']:.1f} bits"
