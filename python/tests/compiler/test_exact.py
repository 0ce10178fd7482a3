"""Exact programs by BFV and BGV: their results are NumPy's on int64 and Python's integers, bit by bit."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import hemera as hm
from hemera.arrays.array import Array
from hemera.arrays.exact_recorder import ExactRecorder
from hemera.arrays.folding import folded
from hemera.arrays.sparse_map import SparseMap
from hemera.compiler import Compiled
from hemera.compiler.exact_lowering import interpolated
from hemera.errors import MismatchError, NoiseError, ParameterError
from hemera.serving import operations as op
from hemera.serving.program import Program
from hemera.serving.values import Form

from ..arrays.test_numpy_functions import (
    COMPUTED,
    COUNTED,
    COUNTED_METHODS,
    COUNTED_UFUNCS,
    METHODS,
    MOVED,
    UFUNC_PROGRAMS,
)

Values = NDArray[Any]
Spec = hm.ArraySpec
SCHEMES = ("bfv", "bgv")
both_schemes = pytest.mark.parametrize("scheme", SCHEMES)


def listed(result: Any) -> dict[str, Any]:
    if isinstance(result, dict):
        return result
    if isinstance(result, (list, tuple)):
        return {f"output{at}": each for at, each in enumerate(result)}
    return {"output": result}


def samples(specs: tuple[Any, ...], seed: int) -> list[list[Values]]:
    """Values at both ends of the ranges, two random ones, and ends by chance."""
    rng = np.random.default_rng(seed)
    found = []
    for kind in ("low", "high", "random", "mixed", "random"):
        own = []
        for spec in specs:
            step = int(spec.step or 1)
            low, high = -(-int(spec.range[0]) // step), int(spec.range[1]) // step
            ends = {
                "low": np.full(spec.shape, low),
                "high": np.full(spec.shape, high),
                "random": rng.integers(low, high + 1, spec.shape),
                "mixed": np.where(rng.integers(0, 2, spec.shape) == 1, low, high),
            }
            own.append(np.asarray(ends[kind], np.int64) * step)
        found.append(own)
    return found


def assert_equal(found: Any, expected: Any) -> None:
    given, wanted = listed(found), listed(expected)
    assert given.keys() == wanted.keys()
    for name, value in wanted.items():
        assert given[name].dtype == np.int64
        assert given[name].shape == np.shape(value), name
        assert given[name].tolist() == np.asarray(value).astype(object).tolist(), name


def assert_exact(
    function: Callable[..., Any], *specs: Any, scheme: str = "bfv", seed: int = 0, **options: Any
) -> Compiled:
    """Encrypted results of several samples, one call after the other, are the function's; so is the plan in
    the clear."""
    plan: Compiled = hm.compile(function, *specs, scheme=scheme, **{"security": None, **options})
    assert plan.params.scheme == scheme
    for node in plan._program.nodes:
        assert all(end.is_integer() for end in node.range)
    run = plan.local(threads=1)
    for at, own in enumerate(samples(specs, seed)):
        for node, value in zip(
            plan._program.nodes, plan._program.values([x[None] for x in own]), strict=True
        ):
            assert node.range[0] <= value.min() <= value.max() <= node.range[1], node.where
        expected = function(*own)
        assert_equal(run(*own), expected)
        if at == 2:
            assert_equal(plan.evaluate_clear(*own), expected)
    return plan


# --- Programs. ---

MATRIX = np.array([[1, 2], [3, -4], [5, 6]])
TABLE = np.array([5, 1, 7, -3, 0, 12])

PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "matrix": (lambda x: x @ MATRIX, (Spec((4, 3), (-9, 9)),)),
    "matrices": (lambda x, y: x @ y, (Spec((4, 3), (-9, 9)), Spec((3, 5), (-9, 9)))),
    "sums": (
        lambda x: {"all": x.sum(), "rows": x.sum(1), "kept": x.sum(0, keepdims=True), "trace": np.trace(x)},
        (Spec((5, 7), (-4, 30)),),
    ),
    "an input": (lambda x, y: {"x": x, "again": x, "y": y}, (Spec((3,), (0, 9)), Spec((2, 2), (-1, 1)))),
    "constant": (lambda x: {"a": x * 0 + 3, "b": np.concatenate([x, [1, -2]])}, (Spec((3,), (0, 9)),)),
    "histogram": (lambda x: np.histogram(x, [1, 2, 3, 5, 6])[0], (Spec((37,), (1, 5)),)),
    "histogram of parts": (lambda x: np.histogram(x, [2, 4])[0], (Spec((9,), (-3, 9)),)),
    "bincount": (lambda x: np.bincount(x, minlength=9), (Spec((11,), (0, 8)),)),
    "digitize": (lambda x: np.digitize(x, [2, 5, 6]), (Spec((11,), (0, 8)),)),
    "one-hot of a part": (lambda x: (x[:, None] == np.arange(7)).sum(0), (Spec((9,), (0, 40)),)),
    "one-hot of all": (lambda x: (x[:, None] == np.arange(64)) * 2, (Spec((4,), (0, 63)),)),
    "one-hot selection": (
        lambda at, rows: ((at == np.arange(6))[:, None] * rows).sum(0),
        (Spec((), (0, 5)), Spec((6, 3), (-50, 50))),
    ),
    "choose": (
        lambda x: TABLE[x] if isinstance(x, np.ndarray) else np.choose(x, TABLE),
        (Spec((6,), (0, 5)),),
    ),
    "table": (
        lambda x: x.approximated(lambda v: v**3 % 11) if hasattr(x, "approximated") else x**3 % 11,
        (Spec((5,), (-20, 20)),),
    ),
    "where": (lambda x: np.where(x > 5, x, -3 * x), (Spec((10,), (-2, 12)),)),
    "where of two": (
        lambda x, y: np.where((x >= 2) & (y < 3), x * y, 0),
        (Spec((2, 5), (0, 7)), Spec((5,), (-2, 5))),
    ),
    "comparisons": (
        lambda x: [x > 3, x >= 3, x < 3, x <= 3, x == 3, x != 3, x == 2.5, x > 2.5],
        (Spec((7,), (0, 6)),),
    ),
    "different thresholds": (lambda x: x > np.arange(12), (Spec((12,), (2, 9)),)),
    "different ranges": (lambda x: (x * np.arange(1, 6)) >= 7, (Spec((5,), (0, 4)),)),
    "two arrays": (lambda x, y: (x > y).sum() + (x == y).sum(), (Spec((6,), (0, 9)), Spec((6,), (-3, 9)))),
    "masks": (
        lambda x: {"a": ~((x > 3) & (x < 6) | (x == 0)), "b": (x > 2) ^ (x > 5), "any": (x == 8).any()},
        (Spec((6,), (0, 8)),),
    ),
    "isin": (lambda x: np.isin(x, [1, 4, 6]), (Spec((6,), (0, 8)),)),
    "sign": (lambda x: {"sign": np.sign(x), "abs": abs(x)}, (Spec((6,), (-8, 5)),)),
    "extremes": (
        lambda x: {"max": x.max(), "min": x.min(1), "where": np.argmax(x, 1)},
        (Spec((2, 4), (0, 5)),),
    ),
    "maximum": (lambda x, y: np.maximum(x, y) - np.minimum(x, 3), (Spec((5,), (0, 9)), Spec((5,), (-3, 9)))),
    "clip": (lambda x: [np.clip(x, -2, 4), np.clip(x, None, 0)], (Spec((6,), (-7, 7)),)),
    "sort": (
        lambda x: [np.sort(x), np.argsort(x, kind="stable") if isinstance(x, np.ndarray) else np.argsort(x)],
        (Spec((5,), (0, 4)),),
    ),
    "digits": (lambda x: [x // 10, x % 10, np.floor_divide(x, -7), x % -3], (Spec((5,), (-19, 40)),)),
    "steps": (
        lambda x: {"eq": x == 15, "gt": x > 11, "abs": abs(x), "half": x * 2 > 20},
        (Spec((9,), (-100, 100), step=5),),
    ),
    "steps of products": (lambda x: (2 * x > 3) + 3 * (4 * x == 8), (Spec((6,), (-7, 7)),)),
    "halves": (lambda x: 2 * x == 2, (Spec((6,), (0, 1)),)),
    "powers": (lambda x: [x**5, x.prod(), np.polyval([2, -1, 0, 3], x)], (Spec((6,), (-7, 7)),)),
    "moves": (
        lambda x: x.T.reshape(2, 6)[:, ::2].cumsum(1) - np.roll(x, 1).ravel()[3:6],
        (Spec((3, 4), (-8, 8)),),
    ),
    "convolution": (
        lambda x, y: [np.convolve(x, [1, -2, 3]), np.convolve(x, y)],
        (Spec((9,), (0, 8)), Spec((3,), (-5, 5))),
    ),
    "a single number": (lambda x: x * x - 3 * x + (x == 2), (Spec((), (-5, 5)),)),
    "sums of masked tables": (
        lambda x: {"sum": (x * 0 + (x != 0)).sum(), "of 1": (1 - (x == 1)).sum(), "all": (x % 3 + 1).sum()},
        (Spec((5, 3), (0, 8)),),
    ),
    "sums of look-ups": (
        lambda x: {"zero later": abs(x).sum(), "no zero": (x % 3 + (x == 10) * 2 + 1).sum(1)},
        (Spec((3, 5), (-10, 10), step=5),),
    ),
    "sums of a table without 0": (
        lambda x: TABLE[:3][x].sum() if isinstance(x, np.ndarray) else np.choose(x, TABLE[:3]).sum(),
        (Spec((5,), (0, 2)),),
    ),
    "look-ups of products": (
        lambda x, y: (x * y == 6) + (x * y * 2 > 14) + (x * y + y <= 5),
        (Spec((6,), (0, 4)), Spec((6,), (-2, 5))),
    ),
    "squares of sums": (
        lambda x: (x - x.sum()).square().sum() if hasattr(x, "square") else ((x - x.sum()) ** 2).sum(),
        (Spec((5,), (-9, 9)),),
    ),
}


@both_schemes
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_have_numpy_s_integers(name: str, scheme: str) -> None:
    function, specs = PROGRAMS[name]
    assert_exact(function, *specs, scheme=scheme)


def random_program(seed: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Look-ups of inputs, then sums, products, matrices and moves; shapes and ranges by chance."""
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 6, rng.integers(1, 4)).tolist())
    low = int(rng.integers(-9, 3))
    high = low + int(rng.integers(1, 12))
    size = int(np.prod(shape))
    edge, edges = int(rng.integers(low, high + 1)), rng.integers(low, high + 1, shape)
    weights = rng.integers(-9, 10, shape)
    matrix = rng.integers(-5, 6, (shape[-1], int(rng.integers(1, 5))))
    turned = rng.permutation(len(shape))
    picked = rng.integers(0, size, int(rng.integers(1, 2 * size + 1)))
    first: list[Callable[[Any, Any], Any]] = [
        lambda x, y: np.where(x > edge, x, y),
        lambda x, y: (x == edges) * y + x,
        lambda x, y: np.where((x <= edges) | (y != edge), 3 * x - y, y),
        lambda x, y: x * y + (x >= y),
        lambda x, y: np.maximum(x, edges) - abs(y),
    ]
    later: list[Callable[[Any], Any]] = [
        lambda z: z * weights + 2,
        lambda z: z * z - z,
        lambda z: z - z.sum(-1, keepdims=True),
        lambda z: z * (z + weights),
        lambda z: z[::-1] - z,
    ]
    last: list[Callable[[Any], Any]] = [
        lambda z: z.transpose(*turned).reshape(-1)[::2],
        lambda z: z @ matrix,
        lambda z: z.sum(0),
        lambda z: np.cumsum(z.ravel()),
        lambda z: z.ravel()[picked],
        lambda z: np.concatenate([z, z[:1] * 2]),
    ]
    begin = first[int(rng.integers(len(first)))]
    then = [later[int(at)] for at in rng.integers(0, len(later), rng.integers(0, 3))]
    end = [last[int(at)] for at in rng.integers(0, len(last), 2)]

    def program(x: Any, y: Any) -> Any:
        z = begin(x, y)
        for each in then:
            z = each(z)
        return {"all": z, "a": end[0](z), "b": end[1](z), "sum": z.sum()}

    return program, (Spec(shape, (low, high)), Spec(shape, (low, high)))


@pytest.mark.parametrize("seed", range(30))
def test_random_programs(seed: int) -> None:
    program, specs = random_program(seed)
    assert_exact(program, *specs, scheme=SCHEMES[seed % 2], seed=seed)


TABLES = (MOVED, METHODS, COMPUTED, COUNTED, COUNTED_METHODS, UFUNC_PROGRAMS, COUNTED_UFUNCS)
NUMPY = [(key, program) for table in TABLES for key, programs in table.items() for program in programs]


def encrypted_of(program: Callable[[Any], Any], x: Any) -> dict[str, Any]:
    """The results that are encrypted arrays: shapes and edges are plain."""
    return {name: value for name, value in listed(program(x)).items() if isinstance(value, Array)}


def refusal(program: Callable[[Any], Any], scheme: str) -> Compiled | str | None:
    """The plan of a program, the message with which it is refused, or None for plain results alone."""
    names: list[str] = []

    def kept(x: Any) -> Any:
        found = encrypted_of(program, x)
        names.extend(found)
        return found if found else {"none": x}

    try:
        plan = hm.compile(kept, Spec((3, 4), (0, 9)), scheme=scheme, security=None)
    except ParameterError as error:
        return str(error)
    return plan if names else None


@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
@pytest.mark.parametrize("part", range(4))
def test_numpy_s_functions_are_exact_or_refused(part: int) -> None:
    """All that approximate programs are tested with."""
    x = np.random.default_rng(part).integers(0, 10, (3, 4))
    exact = refused = 0
    for key, program in NUMPY[part::4]:
        plan = refusal(program, SCHEMES[exact % 2])
        if isinstance(plan, str):
            assert re.search("is not whole|is an approximation|at most 64|look up whole numbers", plan), key
            refused += 1
        elif plan is not None:
            expected = listed(program(x))
            found = plan.local(threads=1)(x)
            names = list(plan.outputs)
            assert_equal(
                found if len(names) > 1 else {names[0]: found}, {name: expected[name] for name in names}
            )
            exact += 1
    assert exact > 60
    assert 5 < refused < 30


def test_many_elements_in_many_slots() -> None:
    """More than N / 2 of the smallest ring, so that the ring has to grow."""
    weights = np.arange(3000) % 7 - 3
    plan = assert_exact(
        lambda x: {"dot": x @ weights, "big": (x > 2).sum(), "x": x[::-1]}, Spec((3000,), (0, 3))
    )
    assert plan.params.max_slots == plan.slots >= 8192


def test_counts_beyond_a_row_of_slots() -> None:
    """9000 elements and 5 bins take 131072 slots: bins come one after the other, unless they are written
    together."""
    x = np.random.default_rng(3).integers(0, 4, 9000)

    def counts(x: Any) -> Any:
        return {"bins": np.bincount(x, minlength=5), "edges": np.histogram(x, [0, 1, 2, 4, 5])[0]}

    plan = hm.compile(counts, Spec((9000,), (0, 3)), scheme="bfv", security=None)
    assert_equal(plan.local(threads=1)(x), counts(x))

    def together(x: Any) -> Any:
        return (x[:, None] == np.arange(5)).sum(0)

    plan = hm.compile(together, Spec((9000,), (0, 3)), scheme="bfv")
    assert "(9000, 5) in 3" in plan.report()
    np.testing.assert_array_equal(plan.evaluate_clear(x), together(x))


def test_several_requests_at_once() -> None:
    plan = hm.compile(lambda x: (x > 2).sum(-1), Spec((4,), (0, 5)), scheme="bgv", security=None)
    x = np.random.default_rng(1).integers(0, 6, (3, 2, 4))
    found = plan.local(threads=1)(x)
    np.testing.assert_array_equal(found, (x > 2).sum(-1))


def test_maps_of_rows() -> None:
    rng = np.random.default_rng(3)
    numbers, diagonals = [0, 3, 5, 12, 13, 15], rng.integers(-9, 10, (6, 16))
    found = op.RowMap.of(numbers, diagonals)
    assert 1 < found.baby_steps < 16
    x = rng.integers(-9, 10, (2, 64))
    rows = x.reshape(2, 2, 32)
    wanted = sum(np.tile(own, 2) * np.roll(rows, -at, -1) for at, own in zip(numbers, diagonals, strict=True))
    np.testing.assert_array_equal(found.clear(x), np.asarray(wanted).reshape(2, 64))
    with pytest.raises(ParameterError, match="CKKS has no operation"):
        Program("ckks", [Form(64)]).add(found, 0)
    with pytest.raises(ParameterError):
        op.RowMap(found.numbers, found.values, found.places + 99, 4).validated("bfv")
    with pytest.raises(ParameterError):
        op.RowMap(found.numbers, found.values, found.places, 0).validated("bfv")
    with pytest.raises(MismatchError):
        found.form([Form(16)])


def test_ranges_end_at_multiples_of_the_step() -> None:
    plan = assert_exact(lambda x: x * x, Spec((2,), (-13, 10), step=4))
    assert plan.inputs[0].range == (-12, 8)


# --- Sizes of results. ---


@both_schemes
def test_results_next_to_half_of_the_modulus(scheme: str) -> None:
    """The least modulus that the range allows: its ends are (t - 1) / 2."""
    kind = {"bfv": hm.bfv.Parameters, "bgv": hm.bgv.Parameters}[scheme]
    params = kind.for_circuit(2, plain_bits=20, slots=64, security=None)
    half = (params.plain_modulus - 1) // 2

    def program(x: Any) -> Any:
        return {"line": x * (half // 3) + x * 0, "product": x * x - 9}

    assert_exact(lambda x: x * 1, Spec((3,), (-half, half)), scheme=scheme, params=params)
    assert_exact(program, Spec((5,), (-3, 3)), scheme=scheme, params=params)
    with pytest.raises(ParameterError, match=f"modulus from {2 * half + 3} on .20 bits., and the given one"):
        hm.compile(lambda x: x * 1, Spec((3,), (-half - 1, half)), scheme=scheme, params=params)


@both_schemes
def test_large_results(scheme: str) -> None:
    plan = assert_exact(
        lambda x, y: x * y, Spec((3,), (-(2**29), 2**29)), Spec((3,), (0, 2**28)), scheme=scheme
    )
    assert plan.params.plain_modulus > 2**58
    with pytest.raises(ParameterError, match=r"test_exact.py:\d+.*60 bits; there are at most 59"):
        hm.compile(lambda x: x * x, Spec((3,), (0, 2**29 + 1)), scheme=scheme)


@both_schemes
def test_values_in_between_may_wrap(scheme: str) -> None:
    """Only results, and numbers of different values, must fit under the modulus."""
    plan = assert_exact(
        lambda x: {"above": x * 10**9 > 3 * 10**9, "table": (x * 10**9) // 10**8 % 8 * 3},
        Spec((5,), (-9, 9)),
        scheme=scheme,
    )
    t = plan.params.plain_modulus
    assert t < 2**20
    # Multiples of the modulus are all 0 modulo it: another one is taken.
    own = assert_exact(lambda x: x * t > 0, Spec((5,), (-2, 2)), scheme=scheme)
    assert own.params.plain_modulus != t
    with pytest.raises(ParameterError, match="are multiples of the plaintext modulus"):
        hm.compile(lambda x: x * t > 0, Spec((5,), (-2, 2)), scheme=scheme, params=plan.params)


def test_maps_are_composed_without_rounding() -> None:
    """Maps whose product would be rounded are not composed."""
    recorder = ExactRecorder()
    x = recorder.input("x", (2,), -4, 4, None, 1)
    big = recorder.affine([(x, SparseMap.scaling(np.full(2, 2.0**40 + 1)))], (2,))
    again = recorder.affine([(big, SparseMap.scaling(np.full(2, 2.0**40 + 1)))], (2,))
    recorder.program.outputs = [("y", again)]
    assert len(folded(recorder.program, exact=True).nodes) == 3
    assert len(folded(recorder.program).nodes) == 2


def test_coefficients_are_not_rounded() -> None:
    a, b = (1 << 29) + 1, (1 << 26) + 3
    assert_exact(lambda x: (x * a * b).sum(), Spec((2,), (0, 1)))
    assert_exact(lambda x: ((x + a) * b + 1) * 3, Spec((2,), (-1, 1)))


def test_constants_beyond_float64_are_refused() -> None:
    for value in (2**53 + 1, -(2**53) - 1, 2**60):
        with pytest.raises(ParameterError, match=r"beyond 2\^53"):
            hm.compile(lambda x, value=value: x + value, Spec((2,), (0, 1)), scheme="bfv")
    assert_exact(lambda x: x + (2**53 - 1), Spec((2,), (0, 1)))


# --- Polynomials modulo a prime. ---


@pytest.mark.parametrize("step", [1, 3, -2 % 97])
def test_interpolation(step: int) -> None:
    values = np.random.default_rng(1).integers(-40, 40, (17, 3))
    found = interpolated(values, step, 97)
    assert np.abs(found).max() <= 48
    for at in range(17):
        powers = [pow(step * at, power, 97) for power in range(17)]
        assert [(powers @ found[:, kind] - values[at, kind]) % 97 for kind in range(3)] == [0, 0, 0]


def products(plan: Compiled) -> int:
    counts = plan.package.program.operations
    return counts.get("multiply", 0) + counts.get("power", 0)


def test_look_ups_take_the_least_depth_and_few_products() -> None:
    rng = np.random.default_rng(5)
    for points in (3, 4, 5, 8, 9, 16, 33, 64):
        table = rng.integers(-99, 100, points)
        plan = assert_exact(
            lambda x, table=table: table[x] if isinstance(x, np.ndarray) else np.choose(x, table),
            Spec((3,), (0, points - 1)),
        )
        assert plan.depth <= (points - 1).bit_length(), points
        assert products(plan) <= 3 * points**0.5, points


def test_tables_of_like_ranges_are_one() -> None:
    """Elements from 0 to 4 and from -1 to 3: six points in all take the products of five."""
    plan = assert_exact(lambda x: x[:, None] == np.arange(2), Spec((3,), (0, 4)))
    assert "dot arrays" not in plan.package.program.operations
    apart = assert_exact(lambda x: x[:, None] == np.arange(5), Spec((3,), (0, 4)))
    assert "dot arrays" in apart.package.program.operations


def test_equal_powers_are_computed_once() -> None:
    one = hm.compile(lambda x: x == 3, Spec((5,), (0, 15)), scheme="bfv", security=None)
    two = hm.compile(lambda x: [x == 3, x == 5, x > 9], Spec((5,), (0, 15)), scheme="bfv", security=None)
    assert products(two) < 3 * products(one)


def test_sums_of_look_ups_need_no_mask() -> None:
    """Slots without elements look up a 0."""
    plan = assert_exact(lambda x: (x >= 2).sum(), Spec((5,), (0, 6)))
    assert "map rows" not in plan.package.program.operations


# --- Parameters. ---


def test_parameters_are_the_smallest_that_are_certain() -> None:
    plan = hm.compile(lambda x: x.sum(), Spec((100,), (0, 9)), scheme="bfv")
    assert plan.params.security_bits >= 128
    assert plan.params.degree == 4096
    wide = hm.compile(lambda x: x.sum(), Spec((100,), (0, 9)), scheme="bfv", security=192)
    assert wide.params.security_bits >= 192


@both_schemes
def test_given_parameters_without_room_are_refused(scheme: str) -> None:
    kind = {"bfv": hm.bfv.Parameters, "bgv": hm.bgv.Parameters}[scheme]
    small = kind.for_circuit(1, plain_bits=20, slots=64, security=None)
    with pytest.raises(NoiseError, match="no noise budget that is certain"):
        hm.compile(lambda x: x**200, Spec((4,), (-1, 1)), scheme=scheme, params=small)
    other = {"bfv": "bgv", "bgv": "bfv"}[scheme]
    with pytest.raises(MismatchError, match=f"takes parameters of {other.upper()}"):
        hm.compile(lambda x: x, Spec((4,), (0, 1)), scheme=other, params=small)
    coefficients = kind.for_circuit(1, plain_modulus=1 << 20, security=None)
    for size in (4, 5000):
        with pytest.raises(ParameterError, match="has no slots"):
            hm.compile(lambda x: x, Spec((size,), (0, 1)), scheme=scheme, params=coefficients)


# --- What is refused. ---


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x.mean(), "0.125 is not whole.* return the sum and divide after decryption"),
        (lambda x: x / 2, "0.5 is not whole"),
        (lambda x: x + 0.5, "0.5 is not whole"),
        (lambda x: x * np.array([1, 2.5, 1, 1, 1, 1, 1, 1]), "2.5 is not whole"),
        (lambda x: x @ np.full((8, 2), 0.1), "0.1 is not whole"),
        (lambda x: np.concatenate([x, [0.25]]), "0.25 is not whole"),
        (lambda x: x.var(), "0.125 is not whole"),
        (lambda x: np.exp(x), "exp is an approximation.*after decryption"),
        (lambda x: np.sqrt(x), "sqrt is an approximation"),
        (lambda x: 1 / x, "1 / x is an approximation"),
        (lambda x: x**-1, "1 / x is an approximation"),
        (lambda x: 2**x, r"2 \*\* x is an approximation"),
        (lambda x: hm.circuits.sigmoid((-8, 8), bits=8)(x), "sigmoid is an approximation"),
        (lambda x: np.sin(x), "values, from 1 to 50000 in steps of 1.* at most 64"),
        (lambda x: np.where(x.sum() > 9, x, 0), "up to 399993 values, from -1 to 399991.* at most 64"),
        (lambda x: x.prod(), "too large; give the inputs a narrower range .range=., or"),
    ],
)
def test_what_is_not_exact_is_refused_with_its_line(function: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message) as error:
        hm.compile(function, Spec((8,), (1, 50_000)), scheme="bfv")
    assert error.match(r"test_exact.py:\d+")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"precision_bits": 16}, "results are exact"),
        ({"share": True}, "no errors"),
        ({"shares": 10}, "no errors"),
        ({"device": "cpu-avx512-16"}, "by noise budgets"),
        ({"calibrate": np.zeros((3, 4))}, "no bounds"),
        ({"margin": 0.1}, "no bounds"),
    ],
)
def test_options_of_approximate_programs_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=f"{next(iter(options))}= does not go with .*{message}"):
        hm.compile(lambda x: x, Spec((4,), (0, 1)), scheme="bfv", **options)


@pytest.mark.parametrize(
    "spec",
    [
        Spec((4,), (0, 1.5)),
        Spec((4,), (0, 1), step=0.5),
        Spec((4,), (0, 1), step=0),
        Spec((4,), (0, 1), step=-1),
        Spec((4,), (1, 2), step=3),
        Spec((4,), (0, 2**53)),
        Spec((4,), (0, float("inf"))),
        Spec((4,), (float("nan"), 1)),
        Spec((4,), (2, 1)),
        Spec((4,)),
        np.zeros(4),
    ],
)
def test_inputs_that_are_not_whole_are_refused(spec: Any) -> None:
    with pytest.raises(ParameterError, match="input"):
        hm.compile(lambda x: x, spec, scheme="bfv")


def test_other_schemes_and_whole_division_without_one() -> None:
    with pytest.raises(ParameterError, match="scheme must be 'ckks', 'bfv' or 'bgv', not 'tfhe'"):
        hm.compile(lambda x: x, Spec((4,), (0, 1)), scheme="tfhe")
    with pytest.raises(TypeError, match="in exact programs"):
        hm.compile(lambda x: x // 2, Spec((4,), (0, 8), step=1))
    for wrong in (lambda x: x // 2.5, lambda x: x % x, lambda x: 7 % x):
        with pytest.raises(TypeError):
            hm.compile(wrong, Spec((4,), (1, 8)), scheme="bfv")
    with pytest.raises(ZeroDivisionError):
        hm.compile(lambda x: x // 0, Spec((4,), (1, 8)), scheme="bfv")
    with pytest.raises(TypeError, match="can not depend on them"):
        hm.compile(lambda x: x if x.sum() > 3 else -x, Spec((4,), (0, 1)), scheme="bfv")
