"""Exact computing without end: bootstraps of BFV and BGV, and encrypted integers; every value is checked."""

from __future__ import annotations

import argparse
import operator
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import hemera as hm
from hemera import _options
from hemera.circuits import IntegerBootstrap
from hemera.errors import NoiseError, OutOfMemoryError, ParameterError
from hemera_apps.bench.report import Report, Row
from hemera_apps.bench.timing import timed

Numbers = NDArray[np.integer[Any]]
_PARAMETERS = {"bfv": hm.bfv.Parameters, "bgv": hm.bgv.Parameters}
_REFRESHED = (("bfv", 65537), ("bgv", 65537), ("bfv", 2**32))
"""Schemes and plaintext moduli."""


class _Case(NamedTuple):
    """An operation on encrypted integers, and NumPy's."""

    name: str
    encrypted: Callable[..., Any]
    clear: Callable[..., Any]
    operands: int = 2


_TABLE = np.random.default_rng(256).integers(0, 256, 256).astype(np.uint8)
_OPERATIONS = (
    _Case("a + b", operator.add, operator.add),
    _Case("a - b", operator.sub, operator.sub),
    _Case("a < b", operator.lt, operator.lt),
    _Case("a & b", operator.and_, operator.and_),
    _Case("a * b", operator.mul, operator.mul),
    _Case("where(a < b, a, b)", lambda a, b: np.where(a < b, a, b), np.minimum),
)
_LOOK_UP = _Case("table of 256", lambda a: hm.integers.Table(_TABLE)[a], lambda a: _TABLE[a], 1)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    _options.add_only(parser, GROUPS)
    parser.add_argument(
        "--bits",
        nargs="+",
        type=int,
        choices=(8, 16, 32, 64),
        default=[64, 8],
        help="widths of integers (default: 64 8)",
    )
    parser.add_argument(
        "--ciphertexts",
        nargs="+",
        type=_options.positive,
        default=[2, 1],
        help="numbers of ciphertexts of timed integers (default: 2 1); more than 8 are computed in parts",
    )
    parser.add_argument(
        "--many",
        type=_options.positive,
        default=1 << 20,
        help="values of each operation that are checked in the group `many` (default: 2^20)",
    )
    parser.add_argument(
        "--presets", nargs="+", metavar="PRESET", help="of BFV and BGV (default: bfv16-32 bfv16-40)"
    )
    parser.add_argument(
        "--schemes",
        nargs="+",
        choices=list(_PARAMETERS),
        default=list(_PARAMETERS),
        help="which (default: both)",
    )
    parser.add_argument(
        "--moduli",
        nargs="+",
        type=int,
        choices=(65537, 2**32),
        default=[65537, 2**32],
        help="plaintext moduli (default: 65537, and 2^32 for BFV)",
    )
    parser.add_argument(
        "--in-a-row",
        type=_options.positive,
        default=50,
        help="bootstraps one after the other that are checked at the end (default: 50)",
    )
    _options.add_runs(parser, 9)
    _options.add_small(parser, "rings of N = 2^11")
    _options.add_machine(parser)
    _options.add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Measure, and write what is asked for."""
    report = Report(options)
    for name in options.only:
        for row in GROUPS[name](options):
            peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            report.add(row, process_peak_bytes=peak)
    report.write({"device": options.device})
    return 0


def _require_equal(what: str, found: Numbers, expected: Numbers) -> None:
    """NoiseError unless all values are right, so that no wrong work is timed."""
    wrong = int(np.count_nonzero(np.asarray(found) != np.asarray(expected)))
    if wrong:
        raise NoiseError(f"{what}: {wrong} of {np.size(expected)} values are wrong")


def _refresh_rows(options: argparse.Namespace) -> Iterator[Row]:
    """Bootstraps of BFV and BGV, and products without end."""
    presets = ("bfv11-test", "bfv11-test-40") if options.small else ("bfv16-32", "bfv16-40")
    for preset in options.presets or presets:
        for scheme, modulus in _REFRESHED:
            if scheme not in options.schemes or modulus not in options.moduli:
                continue
            params = _PARAMETERS[scheme].for_bootstrapping(preset, plain_modulus=modulus)
            context = hm.Context(params, options.device, threads=options.threads)
            secret_key = context.generate_secret_key()
            for encoding in ("coefficients", "slots"):
                if encoding == "slots" and params.max_slots == 0:
                    continue
                facts = {"preset": preset, "scheme": params.scheme, "plain_modulus": modulus}
                yield from _refreshes(options, context, secret_key, encoding, facts)


def _refreshes(
    options: argparse.Namespace, context: hm.Context, secret_key: hm.SecretKey, encoding: Any, facts: Row
) -> Iterator[Row]:
    params = context.params
    modulus = facts["plain_modulus"]
    try:
        plan = IntegerBootstrap(params, encoding=encoding)
    except ParameterError:  # the modulus holds no product
        plan = IntegerBootstrap(params, passes=1, encoding=encoding)
    keys = context.generate_keys(secret_key, plan=plan)
    evaluator = context.bind(keys, bootstrap=plan)
    count = params.max_slots if encoding == "slots" else params.degree
    values: Numbers = np.random.default_rng(modulus).integers(0, modulus, count)
    x = evaluator.encrypt(values, encoding=encoding)
    what = f"{facts['preset']} {facts['scheme']} modulo {modulus}, {encoding}"
    facts = {**facts, "encoding": encoding, "values": count, "passes": plan.passes}

    def require(y: Any, expected: Numbers) -> None:
        _require_equal(what, np.asarray(context.decrypt(y, secret_key)) % modulus, expected)

    require(plan(x), values)
    left = context.noise_budget(plan(x), secret_key)
    measured = timed(context, lambda: plan(x), options.runs)
    yield {
        "measurement": "bootstrap",
        **facts,
        "key_bytes": plan.key_bytes,
        "needed_budget": round(plan.needed_budget, 1),
        "guaranteed_budget": round(plan.budget_left, 1),
        "budget": left,
        **measured,
    }
    graph = evaluator.capture(lambda y: plan(y), x)
    require(graph(x), values)
    measured = timed(context, lambda: graph(x), options.runs)
    yield {"measurement": "bootstrap as a graph", **facts, **measured}
    if plan.products and (encoding == "slots" or params.max_slots == 0):
        y, expected = x, values
        for _ in range(2):
            y = plan(y * y)
            expected = _square(expected, modulus, encoding)
        require(y, expected)
        graph = evaluator.capture(lambda z: plan(z * z), y)
        measured = timed(context, lambda: graph(y), options.runs)
        yield {"measurement": "product without end, as a graph", **facts, **measured}
    for _ in range(options.in_a_row):
        x = plan(x)
    require(x, values)
    yield {"measurement": "in a row, all right", **facts, "bootstraps": options.in_a_row}


def _square(values: Numbers, modulus: int, encoding: str) -> Numbers:
    """The squares of slots, or of a polynomial modulo X^N + 1, by Python's integers."""
    if encoding == "slots":
        return np.array([int(value) ** 2 % modulus for value in values])
    count, width = len(values), 12  # bytes of a coefficient: 2^16 products of 64 bits
    padded = np.zeros((count, width), np.uint8)
    padded[:, :8] = values.astype("<u8")[:, None].view(np.uint8)
    product = int.from_bytes(padded.tobytes(), "little") ** 2
    digits = np.frombuffer(product.to_bytes(2 * count * width, "little"), np.uint8).reshape(-1, width)
    low = digits[:, :8].copy().view("<u8")[:, 0].astype(object) + (
        digits[:, 8:].copy().view("<u4")[:, 0].astype(object) << 64
    )
    return np.array([int(value) % modulus for value in low[:count] - low[count:]])


def _edges(dtype: np.dtype[Any]) -> Numbers:
    """Values at which carries and signs turn."""
    limits = np.iinfo(dtype)
    near = [limits.min, limits.min + 1, 0, 1, 2, 15, 16, 17, limits.max // 2, limits.max - 1, limits.max]
    repeated = sum(0x5 << 4 * k for k in range(dtype.itemsize * 2)) & int(limits.max)
    return np.array([*near, repeated], dtype)


def _operands(dtype: np.dtype[Any], count: int, seed: int) -> tuple[Numbers, Numbers]:
    """All pairs of edges, then random values."""
    rng = np.random.default_rng(seed)
    limits = np.iinfo(dtype)
    a, b = (rng.integers(limits.min, limits.max, count, dtype, endpoint=True) for _ in range(2))
    edges = _edges(dtype)
    pairs = min(len(edges) ** 2, count)
    a[:pairs], b[:pairs] = np.repeat(edges, len(edges))[:pairs], np.tile(edges, len(edges))[:pairs]
    return a, b


def _cases(bits: int) -> tuple[_Case, ...]:
    return (*_OPERATIONS, _LOOK_UP) if bits == 8 else _OPERATIONS


def _integers_of(options: argparse.Namespace, bits: int, values: int | None = None) -> hm.integers.Context:
    """A context; with a number of values in a ciphertext, of refreshes by roots of unity."""
    preset = "test-exact" if options.small else "n16-exact"
    return hm.integers.Context(
        bits, values=values, preset=preset if values is None else f"{preset}-few", device=options.device
    )


def _integer_rows(options: argparse.Namespace) -> Iterator[Row]:
    """Times of operations on some ciphertexts of encrypted integers; eager, and as a graph."""
    for bits in options.bits:  # whose context ends before the next one begins
        yield from _rows_of_width(bits, _integers_of(options, bits), options.ciphertexts, options.runs)


def _few_rows(options: argparse.Namespace) -> Iterator[Row]:
    """The same of one ciphertext of few values."""
    for bits in options.bits:
        for slots in (16,) if options.small else (16, 64, 256):
            ints = _integers_of(options, bits, max(1, slots // (bits // 4)))
            yield from _rows_of_width(bits, ints, [1], options.runs)


def _rows_of_width(bits: int, ints: hm.integers.Context, numbers: Sequence[int], runs: int) -> Iterator[Row]:
    dtype = np.dtype(f"uint{bits}")
    for case in _cases(bits):
        for ciphertexts in numbers:
            # A refresh of a table has a place for each value of 8 bits, of which a ciphertext holds four.
            count = ciphertexts * ints.values * (2 if case is _LOOK_UP else 1)
            clear = _operands(dtype, count, bits)[: case.operands]
            given = [ints.encrypt(x) for x in clear]
            found = case.encrypted(*given)
            # Once: NumPy 2 may write the result over an operand that nothing but the tuple holds.
            expected = case.clear(*clear)
            _require_equal(f"{dtype} {case.name}", ints.decrypt(found), expected)
            facts = {"measurement": case.name, "dtype": str(dtype), "values": count}
            measured = timed(
                ints.evaluator.context,
                lambda case=case, given=given: case.encrypted(*given),  # type: ignore[misc]
                runs,
            )
            yield {
                **facts,
                **measured,
                **_rates(count, measured),
                "failure_log2": round(found.failure_log2, 1),
            }
            try:
                graph = ints.capture(case.encrypted, *given)
            except OutOfMemoryError:  # a graph's memory is its own, and none of it goes back meanwhile
                yield {**facts, "mode": "graph", "refused": "out of memory"}
                continue
            again: Any = graph(*given)
            _require_equal(f"{dtype} {case.name} as a graph", ints.decrypt(again), expected)
            measured = timed(
                ints.evaluator.context,
                lambda graph=graph, given=given: graph(*given),  # type: ignore[misc]
                runs,
            )
            yield {**facts, "mode": "graph", **measured, **_rates(count, measured)}
            del graph, again  # the next one finds their memory


def _rates(count: int, measured: Row) -> Row:
    return {"per_second": float(f"{1000 * count / measured['milliseconds']:.4g}")}


def _many_rows(options: argparse.Namespace) -> Iterator[Row]:
    """Values of each operation in pieces, of which none may be wrong."""
    for bits in options.bits:
        ints = _integers_of(options, bits)
        for dtype in (np.dtype(f"uint{bits}"), np.dtype(f"int{bits}")):
            for case in _cases(bits) if dtype.kind == "u" else _OPERATIONS:
                done, piece = 0, 8 * ints.values
                begin = time.perf_counter()
                while done < options.many:
                    clear = _operands(dtype, min(piece, options.many - done), done)[: case.operands]
                    found = ints.decrypt(case.encrypted(*(ints.encrypt(x) for x in clear)))
                    with np.errstate(over="ignore"):
                        _require_equal(f"{dtype} {case.name}", found, case.clear(*clear))
                    done += len(clear[0])
                seconds = round(time.perf_counter() - begin, 1)
                facts = {"measurement": "none wrong", "operation": case.name, "dtype": str(dtype)}
                yield {**facts, "values": done, "seconds": seconds}


def _chain_rows(options: argparse.Namespace) -> Iterator[Row]:
    """A thousand operations, one after the other, on int32, each compared with NumPy's."""
    ints = _integers_of(options, 32)
    clear, other = _operands(np.dtype(np.int32), ints.values, 32)
    x, y = ints.encrypt(clear), ints.encrypt(other)
    rng = np.random.default_rng(1000)
    steps = min(1000, options.many)
    for step in range(steps):
        case = _OPERATIONS[rng.integers(len(_OPERATIONS))]
        if case.name == "a < b":
            x = hm.integers.where(x < y, y - x, x)
            clear = np.where(clear < other, other - clear, clear)
        else:
            x, clear = case.encrypted(x, y), case.clear(clear, other)
        if step % 3 == 2:
            x, y, clear, other = y, x, other, clear
        _require_equal(f"step {step} of a chain, {case.name}", ints.decrypt(x), clear)
        _require_equal(f"step {step} of a chain, {case.name}", ints.decrypt(y), other)
    yield {"measurement": "operations in a row, all right", "dtype": "int32", "operations": steps}


GROUPS: dict[str, Callable[[argparse.Namespace], Iterator[Row]]] = {
    "bootstraps": _refresh_rows,
    "integers": _integer_rows,
    "few": _few_rows,
    "many": _many_rows,
    "chain": _chain_rows,
}
