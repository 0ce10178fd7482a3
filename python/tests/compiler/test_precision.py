"""Each result has the bits that were asked for, by its own size: the judge is NumPy in float64, on fresh
draws that are encrypted. What can not have them is a PrecisionError."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import hemera as hm
from hemera import errors
from hemera.compiler.precision import Budget, _Tried, precise
from hemera.compiler.result_errors import ResultError
from hemera.package.encodings import Arrays
from hemera.package.interface import Interface

ROOM = 0.75
"""Bits that a few draws may show fewer than were asked for."""
DRAWS = 4

Program = Callable[[Any], Any]
Case = tuple[Program, tuple[int, ...], tuple[float, float]]


def named(result: Any) -> dict[str, Any]:
    return result if isinstance(result, dict) else {"output": result}


def bits_of_results(program: Program, run: Program, samples: Any) -> dict[str, float]:
    """The bits of each result, by its largest error relative to its own largest value."""
    wanted = [named(program(each)) for each in samples]
    found = [named(run(each)) for each in samples]
    bits = {}
    for name in wanted[0]:
        error = max(np.abs(a[name] - b[name]).max() for a, b in zip(found, wanted, strict=True))
        size = max(np.abs(each[name]).max() for each in wanted)
        bits[name] = -math.log2(max(error / size, 2.0**-60))
    return bits


def assert_has(
    program: Program, shape: tuple[int, ...], ends: tuple[float, float], bits: float, **options: Any
) -> hm.Compiled:
    options = {"security": None} | options
    plan: hm.Compiled = hm.compile(program, hm.ArraySpec(shape, range=ends), precision_bits=bits, **options)
    samples = np.random.default_rng(7).uniform(*ends, (1 if options["security"] else DRAWS, *shape))
    for name, found in bits_of_results(program, plan.local(threads=1), samples).items():
        assert found >= bits - ROOM, (name, found)
    return plan


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


PROGRAMS: dict[str, Case] = {
    "sigmoid": (sigmoid, (8,), (-8, 8)),
    "sigmoid on one side": (sigmoid, (8,), (4, 12)),
    "silu": (lambda x: x / (1 + np.exp(-x)), (8,), (-8, 8)),
    "softplus": (lambda x: np.log1p(np.exp(x)), (8,), (-4, 4)),
    "softmax": (lambda x: np.exp(x) / np.exp(x).sum(), (8,), (-4, 4)),
    "entropy": (lambda x: -(x * np.log(x)).sum(), (8,), (0.01, 1)),
    "normal density": (lambda x: np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi), (8,), (-3, 3)),
    "small values of exp": (np.exp, (8,), (-12, -6)),
    "log near 0": (np.log, (8,), (0.01, 10)),
    "inverse of far ends": (lambda x: 1 / x, (8,), (1, 1e6)),
    "rational": (lambda x: (x + 1) / (x**2 + x + 1), (8,), (0, 3)),
    "two layers": (lambda x: np.tanh(np.tanh(3 * x) @ np.eye(8)[::-1] * 3), (8,), (-1, 1)),
    "rectifier of small values": (lambda x: np.maximum(x, 0), (8,), (-1e-3, 1e-3)),
    "tanh of small values": (np.tanh, (8,), (-1e-4, 1e-4)),
    "variance of small values": (lambda x: x.var(), (32,), (-1e-4, 1e-4)),
    "variance far from 0": (lambda x: ((x - x.mean()) ** 2).mean(), (32,), (5.2999e6, 5.3001e6)),
    "squares about the mean": (lambda x: (x - x.mean()) ** 2, (50,), (1e5, 1e5 + 1)),
    "large and small": (lambda x: {"mean": x.mean(), "var": x.var(), "lin": 1.5 * x}, (32,), (-1e-4, 1e-4)),
}


@pytest.mark.parametrize("bits", [8, 14])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_have_the_bits(name: str, bits: float) -> None:
    program, shape, ends = PROGRAMS[name]
    plan = assert_has(program, shape, ends, bits)
    assert plan.expected_bits() >= bits - ROOM


@pytest.mark.parametrize(
    ("name", "bits", "least"), [("large and small", 16, 42), ("inverse of far ends", 13, 44)]
)
def test_results_of_secure_parameters_have_the_bits(name: str, bits: float, least: int) -> None:
    """Their noise is larger: 40 would do for the largest result alone, and for noise by its derivatives."""
    plan = assert_has(*PROGRAMS[name], bits, security=128, scales=False)
    assert "security >=128" in repr(plan.params)
    assert plan.params._native.scale > 2.0**least


def softmax(x: Any) -> Any:
    return np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)


RARE: dict[str, tuple[Case, float]] = {
    "softmax": ((softmax, (3, 7), (0.004, 4)), 14),
    "differences of roots": ((lambda x: np.diff(x / (1 + np.cbrt(x))), (64,), (1, 1000)), 21),
    "peak of sums": ((lambda x: 1 / (10 + np.cumsum(x) ** 2), (10,), (-1000, 1000)), 8),
}


@pytest.mark.parametrize("name", RARE)
def test_inputs_that_draws_are_not_like_have_the_bits(name: str) -> None:
    """Most elements are at an end of the range, or at 0."""
    (program, shape, (low, high)), bits = RARE[name]
    plan = hm.compile(program, hm.ArraySpec(shape, range=(low, high)), precision_bits=bits)
    rng, each = np.random.default_rng(8), (300, *[1] * len(shape))
    others = rng.uniform(size=(300, *shape)) < rng.choice([0.0, 0.05, 0.3], each)
    places = rng.choice([low, high, max(low, 0)], each)
    samples = np.where(others, rng.uniform(low, high, others.shape), places)
    found = bits_of_results(program, plan.evaluate_clear, samples)["output"]
    assert found >= bits - ROOM
    assert found >= plan.expected_bits() - 2


def test_samples_say_how_large_results_are() -> None:
    """Samples that fill a tenth of the range have a hundredth of the variance of draws from it."""
    samples = np.random.default_rng(3).normal(0, 1e-4, (200, 32))
    spec = hm.ArraySpec((32,), range=(-1e-3, 1e-3))
    by_samples, by_range = (
        hm.compile(np.var, spec, precision_bits=18, calibrate=given, security=None, scales=False)
        for given in (samples, None)
    )
    assert by_samples.params._native.scale > 8 * by_range.params._native.scale
    assert bits_of_results(np.var, by_samples.local(threads=1), samples[:3])["output"] >= 18 - ROOM


def test_what_has_no_bits_names_the_result_and_the_line() -> None:
    def program(x: Any) -> Any:
        small = np.exp(x - 30) - np.exp(-30)
        return {"large": x + 1, "small": small}

    with pytest.raises(errors.PrecisionError) as told:
        hm.compile(program, hm.ArraySpec((8,), range=(-1e-3, 1e-3)), precision_bits=12)
    message = str(told.value)
    line = program.__code__.co_firstlineno + 1
    for words in ("result 'small'", f"test_precision.py:{line}", "12 bits", "precision_bits="):
        assert words in message
    assert isinstance(told.value, errors.ParameterError)
    assert isinstance(told.value, ValueError)


def test_the_bits_that_an_error_tells_can_be_had() -> None:
    spec = hm.ArraySpec((8,), range=(-1, 1))
    with pytest.raises(errors.PrecisionError) as told:
        hm.compile(np.square, spec, precision_bits=60)
    has = float(str(told.value).split("would have ")[1].split(" of")[0])
    assert 40 < has < 60
    assert_has(np.square, (8,), (-1, 1), math.floor(has), security=128)
    with pytest.raises(errors.PrecisionError):
        hm.compile(np.square, spec, precision_bits=math.ceil(has) + 1)
    with pytest.raises(errors.PrecisionError, match="none of the 16 bits"):  # no modulus holds 1e40
        hm.compile(lambda x: x @ np.full((2, 2), 1e40), hm.ArraySpec((2,), range=(0, 1e-40)))


@pytest.mark.parametrize("bits", [0, -1, math.nan, math.inf])
def test_precision_bits_are_above_0(bits: float) -> None:
    with pytest.raises(errors.ParameterError, match="precision_bits is a finite number above 0"):
        hm.compile(lambda x: x, hm.ArraySpec((8,), range=(-1, 1)), precision_bits=bits)


def test_the_least_precision_bits() -> None:
    hm.compile(lambda x: x, hm.ArraySpec((8,), range=(-1, 1)), precision_bits=0.1, security=None)


def test_only_exact_programs_are_called_exact() -> None:
    spec = hm.ArraySpec((8,), range=(0, 3))
    approximate = hm.compile(lambda x: x + 1, spec, security=None)
    exact = hm.compile(lambda x: x + 1, spec, scheme="bfv", security=None)
    assert "exact" not in approximate.report()
    assert "exact results" in exact.report()
    samples = np.arange(8.0)[None] / 4
    assert "exact" not in str(approximate.check(samples, encrypted=0))
    assert "exactly equal" in str(exact.check(np.ones((1, 8), int), encrypted=0))


def test_results_that_cancel_are_0() -> None:
    """x - x has no size, but what float64 rounds: it asks for no bits."""
    plan = hm.compile(
        lambda x: {"none": x.sum() - x.sum() + 0 * x, "x": x},
        hm.ArraySpec((8,), range=(-1, 1)),
        precision_bits=20,
        security=None,
    )
    found = plan.local(threads=1)(np.linspace(-1, 1, 8))
    np.testing.assert_allclose(found["none"], 0, atol=2.0**-20)


def test_given_parameters_without_the_room() -> None:
    params = hm.ckks.Parameters.for_circuit(1, scale_bits=30, security=None, degree=1024)
    spec = hm.ArraySpec((8,), range=(-1, 1))
    with pytest.raises(errors.PrecisionError, match=r"of the 26 bits"):
        hm.compile(lambda x: x * x, spec, params=params, precision_bits=26)
    hm.compile(lambda x: x * x, spec, params=params, precision_bits=18)


ONE_POLYNOMIAL: dict[str, tuple[Program, tuple[float, float], int]] = {
    "sigmoid": (sigmoid, (-8, 8), 6),
    "sigmoid of large values": (sigmoid, (-24, 24), 7),
    "sigmoid of larger ones": (sigmoid, (-100, 100), 9),
    "silu": (lambda x: x / (1 + np.exp(-x)), (-20, 20), 7),
    "softplus": (lambda x: np.log1p(np.exp(x)), (-20, 20), 6),
    "log of a sigmoid": (lambda x: np.log(sigmoid(x)), (-6, 6), 5),
    "tanh by exponentials": (lambda x: (np.exp(x) - np.exp(-x)) / (np.exp(x) + np.exp(-x)), (-4, 4), 6),
    "exponential of a square": (lambda x: np.exp(-x * (x + 1) / 2), (-6, 5), 6),
    "mish": (lambda x: x * np.tanh(np.log1p(np.exp(x))), (-6, 6), 6),
    "logit": (lambda x: np.log(x / (1 - x)), (0.01, 0.99), 6),
    "entropy of a bit": (lambda x: -(x * np.log(x) + (1 - x) * np.log(1 - x)), (0.01, 0.99), 5),
}


@pytest.mark.parametrize("name", ONE_POLYNOMIAL)
def test_functions_of_one_value_are_one_polynomial(name: str) -> None:
    program, ends, depth = ONE_POLYNOMIAL[name]
    plan = assert_has(program, (8,), ends, 12)
    operations = plan.package.program.operations
    assert operations["polynomial"] == 1
    assert not {"function", "power", "multiply"} & operations.keys()
    assert plan.depth <= depth
    assert " as one " in plan.report()


def test_one_polynomial_of_a_sum() -> None:
    """From the first value that all of it depends on, element by element."""
    weights = np.linspace(-1, 1, 24).reshape(8, 3)
    plan = assert_has(lambda x: {"p": sigmoid(x @ weights), "s": (x @ weights).sum()}, (8,), (-1, 1), 14)
    assert plan.package.program.operations["polynomial"] == 1
    assert "function" not in plan.package.program.operations


@pytest.mark.parametrize(
    ("program", "kinds"),
    [
        (lambda x: np.tanh(x), {"tanh"}),
        (lambda x: 0.5 + 0.5 * np.tanh(x / 2), {"tanh"}),
        (lambda x: np.exp(x) * np.linspace(1, 2, 8), {"exp"}),
        (lambda x: np.exp(x) / np.exp(x).sum(), {"exp", "inverse"}),
        (lambda x: np.exp(x[:4]) * np.tanh(x[4:]), {"exp", "tanh"}),
        (lambda x: np.abs(np.maximum(x, -0.5)), {"relu", "abs"}),
    ],
)
def test_other_functions_stay(program: Program, kinds: set[str]) -> None:
    plan = hm.compile(program, hm.ArraySpec((8,), range=(-1, 1)), precision_bits=8, security=None)
    nodes = plan._program.nodes
    found = {node.operation.function.name for node in nodes if hasattr(node.operation, "function")}
    assert found == kinds


def test_chains_of_samples_are_for_their_ranges() -> None:
    samples = np.random.default_rng(1).uniform(-50, 50, (50, 4))
    plan = hm.compile(sigmoid, samples[0], calibrate=samples, precision_bits=12, security=None)
    assert plan.package.program.operations == {"polynomial": 1}
    assert bits_of_results(sigmoid, plan.local(threads=1), samples[:4])["output"] >= 12 - ROOM


def test_a_function_that_no_polynomial_is_near_to_is_named() -> None:
    """As a part of a chain it is none: the last range that is taken, and the first that is refused."""

    def alone(x: Any) -> Any:
        return np.exp(x)

    def refused(x: Any) -> Any:
        return np.exp(x) - np.exp(x).mean()

    hm.compile(alone, hm.ArraySpec((8,), range=(-24, 24)), precision_bits=12, security=None)
    for program in (alone, refused):
        with pytest.raises(errors.PrecisionError) as told:
            hm.compile(program, hm.ArraySpec((8,), range=(-40, 40)), precision_bits=12)
        line = program.__code__.co_firstlineno + 1
        assert f"exp of values from -40 to 40 (test_precision.py:{line})" in str(told.value)
        assert "range=" in str(told.value)


SCALED: dict[str, Case] = {
    "minute returns": (lambda x: x.var(), (32,), (-1e-4, 1e-4)),
    "powers": (lambda x: x**7, (8,), (-0.02, 0.02)),
    "means of cubes": (lambda x: (x**3).mean(), (32,), (-1e-3, 1e-3)),
    "covariances": (lambda x: np.cov(x, rowvar=False), (16, 4), (-1e-3, 1e-3)),
    "far": (lambda x: (x - x.mean()) ** 2, (50,), (1e5, 1e5 + 1)),
    "far and small": (lambda x: {"mean": x.mean(), "var": x.var()}, (32,), (1e6, 1e6 + 1)),
    "far, as it is": (lambda x: {"x": x, "double": 2 * x + 1, "sq": x * x}, (8,), (5e4, 5e4 + 10)),
    "below 0": (lambda x: np.diff(x) ** 2, (8,), (-2e5 - 1, -2e5)),
    "a function of small values": (lambda x: sigmoid(1e4 * x) * x, (8,), (-1e-4, 1e-4)),
    "a function far from 0": (lambda x: np.tanh(x - 1e4), (8,), (1e4 - 3, 1e4 + 3)),
    "unlike parts": (lambda x: {"a": x * x + x, "b": np.exp(x) * x.sum()}, (8,), (-1e-4, 1e-4)),
}


@pytest.mark.parametrize("name", SCALED)
def test_clients_scale_what_is_small_or_far(name: str) -> None:
    program, shape, ends = SCALED[name]
    plan = assert_has(program, shape, ends, 22)
    loaded = hm.serving.Package.load(bytes(plan.package))
    x = np.random.default_rng(2).uniform(*ends, shape)
    found, wanted = named(loaded.evaluate_clear(x)), named(program(x))
    for key, value in wanted.items():
        np.testing.assert_allclose(found[key], value, rtol=0, atol=2.0**-20 * np.abs(value).max())
    if name not in ("a function of small values", "unlike parts"):  # they have the bits without
        data = plan.package.describe()["encoding"]
        assert {"input_scales", "output_scales"} <= data.keys()


def test_clients_check_the_ranges_of_the_users_numbers() -> None:
    program, shape, ends = SCALED["far"]
    plan = hm.compile(program, hm.ArraySpec(shape, range=ends), security=None)
    inside = np.full(shape, ends[0])
    inside[0] = ends[1]
    plan.evaluate_clear(inside)
    with pytest.raises(errors.Error, match="100001"):
        plan.evaluate_clear(inside + 1e-3)
    assert plan.package.interface.inputs[0].low == ends[0]


def test_scales_in_all_layouts_and_of_several_samples() -> None:
    ends = (1e6, 1e6 + 1)
    x = np.random.default_rng(4).uniform(*ends, (40, 6))

    def program(x: Any) -> Any:
        return (x - x.mean()) ** 2

    for layout, samples in (("slots", 32), ("ciphertexts", 512), ("auto", 512)):
        options: Any = {"samples": samples, "layout": layout, "security": None}
        plan = hm.compile(program, hm.ArraySpec((6,), range=ends), precision_bits=16, **options)
        wanted = np.stack([program(each) for each in x])
        error = np.abs(plan.local(threads=1)(x) - wanted).max() / wanted.max()
        assert -math.log2(error) >= 16 - ROOM, layout
        assert plan.check(x[:4]).bits >= 16 - ROOM
        assert plan.expected_bits() >= 16 - ROOM


def test_ordinary_programs_are_files_as_before() -> None:
    plan = hm.compile(lambda x: x.mean(), hm.ArraySpec((8,), range=(0, 120)), security=None)
    assert not {"input_scales", "output_scales"} & plan.package.interface.describe()["encoding"].keys()


def test_scales_can_be_refused() -> None:
    program, shape, ends = SCALED["minute returns"]
    spec = hm.ArraySpec(shape, range=ends)
    plan = hm.compile(program, spec, scales=False, precision_bits=12, security=None)
    assert "input_scales" not in plan.package.interface.describe()["encoding"]
    with pytest.raises(errors.PrecisionError):
        hm.compile(program, spec, scales=False, precision_bits=26, security=None)
    hm.compile(program, spec, precision_bits=26, security=None)


@pytest.mark.parametrize(
    "scales",
    [[[1.0]], [[1.0, 0.0], [1.0, 0.0]], [[0.0, 1.0]], [[-1.0, 0.0]], [["a", 0.0]], [[math.nan, 0.0]]],
)
@pytest.mark.parametrize("which", ["input_scales", "output_scales"])
def test_files_with_other_scales_are_refused(which: str, scales: list[Any]) -> None:
    plan = hm.compile(lambda x: x, hm.ArraySpec((4,), range=(-1, 1)), security=None)
    described = plan.package.describe()
    data = described["encoding"]
    assert Arrays.from_data({**data, which: [[2.0, 1.0]]}) != Arrays.from_data(data)
    with pytest.raises(errors.FormatError):
        Interface.from_dict({**described, "encoding": {**data, which: scales}})


def test_rows_beyond_samples_are_told_in_the_users_numbers() -> None:
    """Scaled programs with samples: a value outside of a function's interval is named as without scales."""
    samples = 5e4 + np.random.default_rng(5).normal(0, 1, (200, 6)).clip(-2, 2)
    spec = hm.ArraySpec((6,), range=(5e4 - 10, 5e4 + 10))

    def program(x: Any) -> Any:
        return {"t": np.tanh((x - 5e4).sum()), "var": x.var()}

    plan = hm.compile(program, spec, calibrate=samples, precision_bits=12, security=None)
    assert plan.package.describe()["encoding"]["input_scales"] == [[16.0, 5e4]]
    for name, found in bits_of_results(program, plan.local(threads=1), samples[:3]).items():
        assert found >= 12 - ROOM, name
    with pytest.warns(errors.RangeWarning):
        plan.local(threads=1)(np.full(6, 5e4 + 9.5))


def two_layers(x: Any) -> Any:
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(16, 16)) / 4, rng.normal(size=(16, 8)) / 4
    return np.maximum(x @ first, 0) @ second


def test_what_lacks_bits_by_approximations_is_laid_out_once() -> None:
    stages: list[str] = []
    note = lambda stage, done, _: done or stages.append(stage)  # noqa: E731
    plan = assert_has(two_layers, (16,), (-1, 1), 9, progress=note)
    # As asked, with more bits, and with up to three parts of these.
    assert 3 <= stages.index("lower") == stages.count("trace") <= 5
    assert stages.count("package") == 1
    assert plan.depth <= 15


def test_too_few_levels_are_told_as_such_where_bits_are_missing_too() -> None:
    params = hm.ckks.Parameters.for_circuit(3, scale_bits=40, security=None, degree=2048)
    with pytest.raises(errors.LevelError, match="take parameters of that depth"):
        hm.compile(two_layers, hm.ArraySpec((16,), range=(-1, 1)), precision_bits=9, params=params)


@pytest.mark.parametrize("of_sum", [1.0, 0.25])
@pytest.mark.parametrize(
    "parts", [[1.0], [0.5, 0.5], [0.001, 0.01, 4.0], [0.001, 0.3, 0.6, 8.0], [1e-6, 1e-5]]
)
def test_functions_share_what_is_allowed(parts: list[float], of_sum: float) -> None:
    # A result of size 2^9 with 10 bits may be wrong by 1/2, of which functions have 0.7.
    found = [(None, {"y": each}) for each in parts]
    together = of_sum * sum(parts)
    most = _Tried._most(ResultError("y", 2.0**9, together, 0.0), found, 10)
    left = of_sum * sum(min(each, most) for each in parts)
    if together <= 0.35:
        assert most == math.inf
    else:
        assert left == pytest.approx(0.35)


def standardized(x: Any, more: float) -> Any:
    return (x - x.mean()) / np.sqrt(x.var() + more)


def cosine(x: Any, more: float) -> Any:
    return (x * np.arange(1.0, 9)).sum() / np.sqrt((x * x).sum() + more)


@pytest.mark.parametrize(("program", "ends", "more"), [(standardized, (0, 10), 1), (cosine, (-1, 1), 0.1)])
def test_divisors_that_reach_0_need_a_number(program: Any, ends: tuple[float, float], more: float) -> None:
    told = r"1 / x .*\(test_precision.py:\d+\): .* keep the divisor from 0 by a number"
    with pytest.raises(errors.RangeError, match=told):
        hm.compile(lambda x: program(x, 0), hm.ArraySpec((8,), range=ends), precision_bits=8, security=None)
    assert_has(lambda x: program(x, more), (8,), ends, 8)


def test_roots_from_0_have_some_bits_and_more_by_a_number() -> None:
    assert_has(np.sqrt, (8,), (0, 4), 20)
    told = r"sqrt of values from 0 to 4 \(.*:\d+\): .* add a number before"
    with pytest.raises(errors.PrecisionError, match=told):
        hm.compile(lambda x: np.sqrt(x), hm.ArraySpec((8,), range=(0, 4)), precision_bits=24)
    assert_has(lambda x: np.sqrt(x + 0.05), (8,), (0, 4), 24)


@pytest.mark.parametrize("function", [np.log, np.sqrt])
def test_negative_numbers_under_roots_are_told_a_number_that_is_enough(function: Any) -> None:
    with pytest.raises(errors.RangeError, match=r"values from -0\.5 on") as told:
        hm.compile(lambda x: function(x), hm.ArraySpec((2,), range=(-0.5, 1)))
    more = float(str(told.value).partition("compile: ")[2].partition(" + ")[2].partition(")")[0])
    assert_has(lambda x: function(np.maximum(x, 0) + more), (8,), (-0.5, 1), 8)


@pytest.mark.parametrize(("slope", "taken"), [(4, 0.25), (2, 0.5), (1, 1.0), (4 / 7, 1.75)])
def test_functions_get_the_fewest_bits_that_are_enough(slope: float, taken: float) -> None:
    """Errors of many functions add up to less than their sum, by which bits are asked for."""
    recorded: list[float] = []

    def record(budget: Budget) -> Any:
        recorded.append(budget.more_bits.get(0, 0.0))
        error = ResultError("output", 1.0, 2.0 ** -(10 + slope * recorded[-1]), 0.0)
        return SimpleNamespace(errors=[error], contributions=lambda: [((0,), {"output": 2.0**-10})])

    def make(_: Any, budget: Budget) -> Any:
        return SimpleNamespace(_errors_of=lambda own, _: own.errors, budget=budget)

    plan: Any = precise(record, make, 11.0, far=False, scales=True)
    assert plan.budget.more_bits[0] == taken
    assert len(recorded) <= 5


@pytest.mark.parametrize(("bits", "levels", "products"), [(9, 15, 29), (12, 17, 39), (14, 20, 42)])
def test_rectifiers_have_the_bits_that_results_need(bits: int, levels: int, products: int) -> None:
    plan = hm.compile(two_layers, hm.ArraySpec((16,), range=(-1, 1)), precision_bits=bits)
    assert (plan.depth, plan.cost().operations["key_products"]) == (levels, products)
