"""`hemera bench multiply`: ciphertext, ring and integer products by every engine, and by SEAL, GMP and FLINT.

The engines of one row alternate, a round each; with ciphertexts above N = 2^15 they follow one another. SEAL
has one thread, and is measured for the first number of threads only. --plot draws the counterpart of Figure
5 of PolyFHEmus (C. Gouert and N. G. Tsoutsos): the latency of one ciphertext multiplication over the
degree, the modulus being the largest with 128 bits of security, so that it doubles with the degree.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from hemera import _core, _machine, _options
from hemera.errors import FileError, ParameterError
from hemera.multiply import IntegerMultiplier, RingMultiplier
from hemera_apps._figures import add_load
from hemera_apps.bench.flint_side import FlintProduct
from hemera_apps.bench.multiply_cases import Case, HemeraProducts, SealProduct, cases
from hemera_apps.bench.multiply_figure import draw
from hemera_apps.bench.report import Column, table_of

Row = dict[str, Any]
Actions = Mapping[str, Callable[[], object]]
_DEGREES = [1 << log for log in range(12, 18)]
_BITS = [10**5, 10**6, 10**7, 10**8]
_ALTERNATING = 1 << 15  # the largest degree with all contexts in memory at once
_PARTS = ("ciphertexts", "rings", "integers")
_ENGINES = ("ntt", "dgt", "kronecker_ss")
_WITHOUT_GMP = (
    "not compared with GMP, which this build lacks. On Debian or Ubuntu: apt-get install libgmp-dev, then "
    "build Hemera again with HEMERA_GMP=ON"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("--part", choices=_PARTS, action="append", help="only this part (repeatable)")
    _options.add_scheme(parser, ["bfv", "bgv", "ckks"])
    _options.add_degree(parser, _DEGREES)
    parser.add_argument(
        "--bits", type=int, action="append", help="only integers of this many bits (repeatable)"
    )
    parser.add_argument(
        "--threads", type=int, action="append", help="threads (repeatable; default 1 and all)"
    )
    _options.add_seconds(parser, 0.5, "time to measure an entry")
    _options.add_json(parser)
    _options.add_plot(parser, "the latency over the degree")
    add_load(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the benchmark; 1 if any two results differ."""
    if arguments.load is not None:
        if arguments.plot_file is None:
            raise ParameterError("--load draws the results of a file: add --plot FILE")
        try:
            draw(json.loads(arguments.load.read_text(encoding="utf-8"))["rows"], arguments.plot_file)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise FileError(f"{arguments.load} has no results of hemera bench multiply: {error}") from error
        return 0
    console = Console(stderr=arguments.json == "-")
    if not _core.built_with_gmp():
        console.print(_WITHOUT_GMP)
    parts = arguments.part or _PARTS
    threads = arguments.threads or sorted({1, _core.available_processors()})
    degrees = arguments.n or _DEGREES
    rows: list[Row] = []
    for count in threads:
        if "ciphertexts" in parts:
            for scheme in arguments.scheme or ["bfv", "bgv", "ckks"]:
                for n in degrees:
                    rows += _ciphertext_rows(scheme, n, count, count == threads[0], arguments.seconds)
        if "rings" in parts:
            for n in degrees:
                rows += _ring_rows(n, count, arguments.seconds)
        if "integers" in parts:
            for bits in arguments.bits or _BITS:
                rows += _integer_rows(bits, count, arguments.seconds)
    console.print(_table(rows))
    if arguments.json is not None:
        _options.write_json(arguments.json, {"machine": _machine.describe(max(threads)), "rows": rows})
    if arguments.plot_file is not None:
        draw(rows, arguments.plot_file)
    wrong = [row for row in rows if not row["checked"]]
    if wrong:
        console.print(f"{len(wrong)} results were wrong")
    return 1 if wrong else 0


def _side_by_side(actions: Actions, seconds: float) -> dict[str, float]:
    """The median seconds of one call of each action, called in turn. An action that takes longer than
    `seconds` is called once."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for name, action in actions.items():
        first = _seconds(action)
        if first > seconds:
            times[name].append(first)
    quick = {name: action for name, action in actions.items() if not times[name]}
    repeats = {
        name: max(1, round(seconds / 50 / max(_seconds(action), 1e-6))) for name, action in quick.items()
    }
    begin = time.perf_counter()
    while quick and (time.perf_counter() - begin < seconds * len(quick) or len(times[next(iter(quick))]) < 3):
        for name, action in quick.items():
            start = time.perf_counter()
            for _ in range(repeats[name]):
                action()
            times[name].append((time.perf_counter() - start) / repeats[name])
    return {name: statistics.median(values) for name, values in times.items()}


def _seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def _rows_of(times: Mapping[str, float], base: str, common: Row) -> list[Row]:
    """A row for each time; `ratio` is the time divided by that of `base`."""
    return [
        common | {"engine": name, "ms": round(value * 1e3, 5), "ratio": round(value / times[base], 4)}
        for name, value in times.items()
    ]


def _ciphertext_rows(scheme: str, n: int, threads: int, with_seal: bool, seconds: float) -> list[Row]:
    case = next(iter(cases([scheme], [n])))
    hemera = HemeraProducts(case, threads)
    digests, right = [], []

    def hemera_side(engine: str) -> Callable[[], object]:
        product = hemera.make(engine)
        digests.append(hashlib.sha256(bytes(product())).digest())
        return product

    def seal_side() -> Callable[[], object]:
        product = SealProduct(case)
        right.append(product.is_right())
        return product

    makers: dict[str, Callable[[], Callable[[], object]]] = {
        f"hemera {engine}": functools.partial(hemera_side, engine) for engine in _ENGINES
    }
    if with_seal:
        makers["seal"] = seal_side
    if n <= _ALTERNATING:
        times = _side_by_side({name: make() for name, make in makers.items()}, seconds)
    else:
        # One after the other: all contexts at once would take tens of gigabytes.
        times = {}
        for name, make in makers.items():
            times |= _side_by_side({name: make()}, seconds)
    common: Row = {
        "part": "ciphertexts",
        "scheme": scheme,
        "n": n,
        "threads": threads,
        "log_modulus": round(case.params.log_modulus, 1),
        "hemera_primes": len(case.params.primes[-1]),
        "seal_primes": len(case.seal_bits) - 1,
        "checked": all(digest == digests[0] for digest in digests) and all(right),
    }
    return _rows_of(times, "hemera ntt", common)


def _ring_rows(n: int, threads: int, seconds: float) -> list[Row]:
    """One product of two polynomials in coefficient form, all limbs."""
    case: Case = next(iter(cases(["bfv"], [n])))
    moduli = list(case.params.primes[-1])
    generator = np.random.default_rng(n)
    a, b = (_aligned((1, 1, len(moduli), n)) for _ in range(2))
    for limb, q in enumerate(moduli):
        a[0, 0, limb], b[0, 0, limb] = generator.integers(0, q, (2, n), dtype=np.uint64)
    actions: dict[str, Callable[[], object]] = {}
    results = []
    for engine in _ENGINES:
        multiplier = RingMultiplier(engine, threads=threads)._native
        actions[f"hemera {engine}"] = functools.partial(multiplier.tensor_product, a, b, moduli)
        results.append(multiplier.tensor_product(a, b, moduli))
    common: Row = {
        "part": "rings",
        "n": n,
        "threads": threads,
        "log_modulus": round(float(sum(np.log2(q) for q in moduli)), 1),
        "hemera_primes": len(moduli),
        "checked": all(np.array_equal(result, results[0]) for result in results),
    }
    return _rows_of(_side_by_side(actions, seconds), "hemera ntt", common)


def _aligned(shape: tuple[int, ...]) -> NDArray[np.uint64]:
    """An array that begins on a cache line, as the arrays of ciphertexts do."""
    size = int(np.prod(shape))
    buffer = np.empty(size + 7, dtype=np.uint64)
    start = -buffer.ctypes.data // 8 % 8
    return buffer[start : start + size].reshape(shape)


def _integer_rows(bits: int, threads: int, seconds: float) -> list[Row]:
    size = -(-bits // 64)
    a, b = np.random.default_rng(bits).integers(0, 2**64, (2, size), dtype=np.uint64, endpoint=False)
    multiplier = IntegerMultiplier(threads=threads)
    results = [multiplier.multiply_words(a, b)]
    actions: dict[str, Callable[[], object]] = {"hemera": lambda: multiplier.multiply_words(a, b)}
    # Without the tables of an earlier product.
    actions["hemera, first product"] = lambda: IntegerMultiplier(threads=threads).multiply_words(a, b)
    if _core.built_with_gmp():
        actions["gmp"] = lambda: _core.multiply_by_gmp(a, b)
        results.append(_core.multiply_by_gmp(a, b))
    flint = FlintProduct.make(a, b)
    if flint is not None:
        actions["flint"] = flint
        results.append(flint.words())
    plan = _core.plan_integer_product(64 * size, 64 * size)
    length = plan.length.bit_length() - 1
    common: Row = {
        "part": "integers",
        "bits": 64 * size,
        "threads": threads,
        "plan": f"{plan.primes} primes, digits of {plan.digit_bits} bits, length 2^{length}",
        "checked": all(np.array_equal(result, results[0]) for result in results),
    }
    return _rows_of(_side_by_side(actions, seconds), "gmp" if "gmp" in actions else "hemera", common)


def _table(rows: list[Row]) -> Table:
    texts: dict[str, Column] = {
        "part": "{part}",
        "scheme": lambda row: row.get("scheme", "").upper(),
        "N or bits": lambda row: f"{row.get('n', row.get('bits')):,}",
        "threads": "{threads}",
        "engine": "{engine}",
    }
    numbers = {"ms": "{ms:,.3f}", "relative": "{ratio:.2f}"}
    return table_of("milliseconds a product (median)", rows, texts, numbers)
