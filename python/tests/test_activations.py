"""Functions of values, beside NumPy; and functions composed of others."""

import math

import numpy as np
import pytest

import hemera as hm
from hemera import circuits
from hemera.circuits.elementary import slopes_of
from hemera.errors import RangeError

from .conftest import CIRCUIT_SLOTS as SLOTS
from .refusals import raises, refuse


@pytest.fixture(scope="module")
def deep():
    params = hm.ckks.Parameters.for_circuit(depth=15, scale_bits=40, slots=SLOTS, security=None, degree=1024)
    ctx = hm.Context(params, device="cpu")
    sk = ctx.generate_secret_key()
    return ctx, sk, ctx.bind(ctx.generate_keys(sk))


def _leaky(slope):
    return lambda x: np.where(x > 0, x, slope * x)


def _gelu(x):
    return x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


CASES = {
    "relu": (lambda: circuits.relu(), lambda x: np.maximum(x, 0), 12),
    "relu, wider": (lambda: circuits.relu((-8, 8), bits=8), lambda x: np.maximum(x, 0), 12),
    "relu, more bits": (lambda: circuits.relu(bits=13), lambda x: np.maximum(x, 0), 14),
    "relu, one side": (lambda: circuits.relu((0, 2)), lambda x: x, 0),
    "abs": (lambda: circuits.abs((-3, 2), bits=7), np.abs, 11),
    "leaky": (lambda: circuits.leaky_relu(0.1, (-2, 2), bits=8), _leaky(0.1), 10),
    "leaky, default": (lambda: circuits.leaky_relu(), _leaky(0.01), 12),
    "silu": (lambda: circuits.silu((-8, 8), bits=11), lambda x: x / (1 + np.exp(-x)), 6),
    "softplus": (lambda: circuits.softplus((-8, 4), bits=11), lambda x: np.log1p(np.exp(x)), 6),
    "sigmoid": (lambda: circuits.sigmoid((-6, 6), bits=10), _sigmoid, 6),
    "tanh": (lambda: circuits.tanh((-2, 3), bits=10), np.tanh, 6),
    "gelu": (lambda: circuits.gelu((-4, 4), bits=10), _gelu, 6),
    "exp": (lambda: circuits.exp((-2, 2), bits=10), np.exp, 6),
    "approximation": (lambda: hm.approximate(np.cos, (-1, 2), 9), np.cos, 5),
    "log": (lambda: circuits.log((0.5, 2), bits=10), np.log, 6),
    "inverse": (lambda: circuits.inverse((0.5, 2), bits=10), np.reciprocal, 6),
    "sqrt": (lambda: circuits.sqrt((0.25, 1), bits=10), np.sqrt, 6),
}


@pytest.mark.parametrize(("make", "expected", "depth"), CASES.values(), ids=CASES)
def test_functions_are_those_of_numpy(deep, make, expected, depth):
    ctx, sk, ev = deep
    function = make()
    low, high = function.intervals[0]
    assert function.depth <= depth
    dense = np.linspace(low, high, 20001)
    if low < 0:
        dense = np.concatenate([dense, np.geomspace(1e-7, high, 5000)])
    for x in (dense, np.random.default_rng(7).uniform(low, high, 5000)):
        assert np.abs(function(x) - expected(x)).max() <= function.error + 1e-12
    x = np.linspace(low, high, SLOTS)
    y = function(ev.encrypt(x, largest=max(-low, high)))
    assert ctx.params.levels - 1 - y.level == function.depth
    np.testing.assert_allclose(ctx.decrypt(y, sk), function(x), atol=1e-4)
    if (
        low <= 0 and function.recipe is not None
    ):  # the bound that a result declares is that of the function on the interval
        assert y.largest == pytest.approx(np.abs(expected(dense)).max(), abs=function.error + 1e-6)
    if function.recipe is not None:
        again = circuits.from_recipe(function.name, function.recipe)
        np.testing.assert_array_equal(again(x), function(x))
        assert (again.depth, again.recipe) == (function.depth, function.recipe)
    for value in (low - 0.01, high + 0.01, 1e30, math.nan, math.inf, -math.inf, (low + high) / 2 + 0.1j):
        for given in (value, [x[1], value], np.full((2, 2), value)):
            with pytest.raises(RangeError, match=rf"outside of its interval from {low:g} to {high:g}"):
                function(np.asarray(given))
    refuse((lambda: function(np.full(10, high + 1.0)), RangeError, r"and 7 more are"))


def test_recipes_of_functions_of_several_values():
    made = [
        *(make(gap=0.2, bits=6, largest=2) for make in (circuits.sign, circuits.compare)),
        circuits.maximum(bits=4, largest=2),
    ]
    for function in made:
        again = circuits.from_recipe(function.name, function.recipe)
        points = [np.linspace(0.5, 2, 9)] * len(function.intervals)
        np.testing.assert_array_equal(again(*points), function(*points))
        assert (again.depth, again.recipe) == (function.depth, function.recipe)
    assert circuits.Polynomial([1, 2]).recipe is None
    for name, recipe in (("cosine", {}), ("sigmoid", {"low": 1.0}), ("sign", {"gap": 0.1, "wide": 2.0})):
        raises(hm.errors.ParameterError, "", circuits.from_recipe, name, recipe)


def test_a_rectifier_takes_two_levels_less_than_a_maximum(deep):
    ctx, _, _ = deep
    for bits in (11, 13):
        relu = circuits.relu(bits=bits)
        assert relu.error <= 2**-bits
        assert relu.depth + 2 == circuits.maximum(bits=bits).depth
        assert relu.depth == {11: 12, 13: 14}[bits]
    plan = circuits.relu().plan(ctx.params)
    assert plan.depth == 12
    assert "its own error: 2^-11" in plan.report()
    cost = hm.cost(circuits.relu(), SLOTS, params=ctx.params)
    assert cost.depth == 12
    assert cost.operations["key_products"] >= plan.relinearizations


def test_quotients(deep):
    ctx, sk, ev = deep
    ratio = circuits.divide((-2, 2), (0.5, 4), bits=10)
    x, y = np.random.default_rng(8).uniform((-2, 0.5), (2, 4), (SLOTS, 2)).T
    assert np.abs(ratio(x, y) - x / y).max() <= ratio.error <= 2**-10
    z = ratio(ev.encrypt(x, largest=2), ev.encrypt(y, largest=4))
    np.testing.assert_allclose(ctx.decrypt(z, sk), x / y, atol=2**-10 + 1e-4)
    assert z.largest == pytest.approx(4)
    again = circuits.from_recipe("divide", ratio.recipe)
    np.testing.assert_array_equal(again(x, y), ratio(x, y))
    refuse((lambda: ratio(1, 0.25), hm.errors.RangeError, r"from 0\.5 to 4"))
    for numerator, denominator in (
        ((-1, 1), (-1, 1)),
        ((-1, 1), (0, 1)),
        ((1, 1), (1, 2)),
        ((-1, 1), (2, 1)),
    ):
        raises(hm.errors.ParameterError, "", circuits.divide, numerator, denominator)


@pytest.mark.parametrize("bits", [-2000, 40, 2000, math.nan, math.inf, -math.inf])
def test_bits_that_can_not_be(bits):
    for make in (circuits.relu, circuits.abs, circuits.leaky_relu):
        raises(hm.errors.ParameterError, "", make, bits=bits)
    refuse((lambda: circuits.silu((-2, 2), bits=bits if bits != 40 else 70), hm.errors.ParameterError, None))


@pytest.mark.parametrize("interval", [(1, 1), (1, -1), (-1, math.inf), (math.nan, 1)])
def test_intervals_that_can_not_be(interval):
    for make in (circuits.relu, circuits.abs, circuits.silu, circuits.softplus):
        raises(hm.errors.ParameterError, "", make, interval)
    refuse((lambda: circuits.leaky_relu(0.1, interval), hm.errors.ParameterError, None))


def test_values_outside_are_refused(deep):
    _, _, ev = deep
    relu = circuits.relu()
    refuse(
        (lambda: relu(1.01), hm.errors.RangeError, "outside of its interval"),
        (lambda: relu(ev.encrypt(np.ones(SLOTS), largest=2)), hm.errors.RangeError, "declared"),
        (lambda: circuits.leaky_relu(math.nan), hm.errors.ParameterError, "finite"),
    )


def test_formulas_are_functions(deep):
    ctx, sk, ev = deep
    relu = circuits.relu((-2, 2), bits=9)
    formulas = {
        "sum": (lambda x, y: x + y, 0),
        "whole": (lambda x, y: 3 * x - 2 * y + 1, 0),
        "shifted": (lambda x, _: 0.5 - x, 0),
        "weighted": (lambda x, y: 0.3 * x + 0.7 * y, 1),
        "halves": (lambda x, y: 0.5 * x - 1.5 * y, 1),
        "product": (lambda x, y: x * y, 1),
        "affine": (lambda x, y: (x + 1) * (2 * y - 0.5) + x / 4, 1),
        "negative": (lambda x, y: 0.25 - x * y, 1),
        "a value less a product": (lambda x, y: x - x * y, 1),
        "difference of squares": (lambda x, y: (x + y) * (x - y), 1),
        "two products": (lambda x, y: x * x + y * y - x, 1),
        "unlike products": (lambda x, y: x * x - y * y, 2),
        "scaled product": (lambda x, y: 0.3 * (x * y), 2),
        "power": (lambda x, y: x**5 + y, 3),
        "whole multiple of a power": (lambda x, y: (1 - 3 * x**4) * y, 3),
        "deep and shallow": (lambda x, y: 0.7 * (x**4 * y), 3),
        "rectified": (lambda x, y: relu(x - y) * y + 0.5, relu.depth + 1),
        "numpy's numbers": (lambda x, y: np.float64(2) * x * y + np.int64(1), 1),
        "nothing": (lambda x, _: x - x, 0),
    }
    x, y = np.random.default_rng(9).uniform(-1, 1, (2, SLOTS))
    a, b = ev.encrypt(x, largest=1), ev.encrypt(y, largest=1)
    exact = {
        name: formula if name != "rectified" else lambda x, y: np.maximum(x - y, 0) * y + 0.5
        for name, (formula, _) in formulas.items()
    }
    for name, (formula, depth) in formulas.items():
        function = circuits.function(formula, [(-1, 1), (-1, 1)])
        expected = exact[name](x, y)
        assert function.depth == depth, name
        assert np.abs(function(x, y) - expected).max() <= function.error + 1e-13, name
        assert (function.error > 0) == (name == "rectified"), name
        z = function(a, b)
        assert a.level - z.level == depth, name
        np.testing.assert_allclose(ctx.decrypt(z, sk), expected, atol=function.error + 1e-5, err_msg=name)
        assert z.largest >= np.abs(expected).max(), name
        assert z.largest <= 10, name


FACTORS = [lambda x: x, lambda x: -x, lambda x: x + 1, lambda x: x - 1, lambda x: 1 - x, lambda x: 2 * x + 1]


@pytest.mark.parametrize("left", FACTORS)
@pytest.mark.parametrize("right", FACTORS)
@pytest.mark.parametrize("same", [True, False], ids=["x x", "x y"])
def test_ranges_of_products_are_those_of_their_factors(left, right, same):
    """Interval arithmetic; a factor times itself is a square, which is not negative."""
    kept, ends = [], np.array([-1.0, 1.0])
    product = lambda x, y: left(x) * right(x if same else y)  # noqa: E731
    circuits.function(lambda x, y: kept.append(product(x, y)) or kept[0], [(-1, 1), (-0.5, 1)])
    corners = np.outer(left(ends), right(ends if same else np.array([-0.5, 1.0])))
    is_square = same and left is right
    low = 0 if is_square else corners.min()
    np.testing.assert_allclose(kept[0].interval, (low, corners.max()), atol=1e-12)


STEEP = {
    # The function, the exact one, and its intervals.
    "sigmoid": (circuits.sigmoid((-4, 4), bits=8), lambda x: 1 / (1 + np.exp(-x)), [(-4, 4)]),
    "tanh": (circuits.tanh((-3, 3), bits=8), np.tanh, [(-3, 3)]),
    "gelu": (
        circuits.gelu((-4, 4), bits=8),
        lambda x: x * (1 + np.vectorize(math.erf)(x / 2**0.5)) / 2,
        [(-4, 4)],
    ),
    "silu": (circuits.silu((-8, 8), bits=8), lambda x: x / (1 + np.exp(-x)), [(-8, 8)]),
    "softplus": (circuits.softplus((-8, 8), bits=8), lambda x: np.log1p(np.exp(x)), [(-8, 8)]),
    "relu": (circuits.relu(bits=6), lambda x: np.maximum(x, 0), [(-1, 1)]),
    "clip": (circuits.clip((-0.5, 1), bits=6, largest=2), lambda x: np.clip(x, -0.5, 1), [(-2, 2)]),
    "exp": (circuits.exp((-1, 2), bits=8), np.exp, [(-1, 2)]),
    "log": (circuits.log((0.25, 3), bits=8), np.log, [(0.25, 3)]),
    "inverse": (circuits.inverse((0.5, 3), bits=8), lambda x: 1 / x, [(0.5, 3)]),
    "inverse below 0": (circuits.inverse((-3, -0.5), bits=8), lambda x: 1 / x, [(-3, -0.5)]),
    "sqrt": (circuits.sqrt((0.25, 3), bits=8), np.sqrt, [(0.25, 3)]),
    "leaky": (circuits.leaky_relu(0.1, bits=8), _leaky(0.1), [(-1, 1)]),
    "falling": (circuits.leaky_relu(-3, bits=8), _leaky(-3), [(-1, 1)]),
    "divide": (circuits.divide((-2, 1), (0.5, 3), bits=8), np.divide, [(-2, 1), (0.5, 3)]),
    "maximum": (circuits.maximum(bits=6, largest=2), np.maximum, [(-2, 2), (-2, 2)]),
    "powers": (circuits.Polynomial([1, -2, 0, 0.5]), lambda x: 1 - 2 * x + x**3 / 2, [(-1, 1)]),
    "chebyshev": (
        circuits.Polynomial([0, 1, 2], basis="chebyshev", interval=(0, 4)),
        lambda x: x / 2 - 1 + 2 * (2 * (x / 2 - 1) ** 2 - 1),
        [(0, 4)],
    ),
}


@pytest.mark.parametrize("name", STEEP)
def test_slopes_are_the_steepest(name):
    """Slopes by differences of exact values: at most the bound, which is no tenth larger."""
    function, exact, intervals = STEEP[name]
    grid = np.meshgrid(
        *(np.linspace(low, high, 2001 if len(intervals) == 1 else 201) for low, high in intervals)
    )
    slopes = slopes_of(function, intervals)
    assert len(slopes) == len(intervals)
    for at, ((low, high), slope) in enumerate(zip(intervals, slopes, strict=True)):
        step = (high - low) * 1e-6
        inner = [np.minimum(x, high - step) if i == at else x for i, x in enumerate(grid)]
        moved = [x + step if i == at else x for i, x in enumerate(inner)]
        found = np.abs((exact(*moved) - exact(*inner)) / step).max()
        assert found * (1 - 1e-4) <= slope <= 1.1 * found


ONE = [(-1, 1)]
REFUSED = [
    (lambda x: circuits.relu()(2 * x), hm.errors.ParameterError, "from -2 to 2"),
    (lambda x: x if x else -x, TypeError, "compare"),
    (lambda x: x / (x + 2), TypeError, "divide"),
    (lambda x: 2 / x, TypeError, r"np.divide takes no .*: a formula has \+ -"),
    (lambda x: x // 2, TypeError, r"np.floor_divide takes no .*: a formula has \+ -"),
    (lambda x: x in [1, x * 2], TypeError, "np.equal takes no"),
    (np.exp, TypeError, "np.exp takes no .*hm.circuits"),
    (lambda _: 1.0, TypeError, "returns one value"),
    (3, TypeError, "formula"),
    (lambda x: circuits.maximum()(x), TypeError, "2 values"),
    (lambda x: circuits.maximum()(x, 1.0), TypeError, "values of the function"),
    (lambda x: circuits.Polynomial([[1, 2], [3, 4]])(x), TypeError, "one real result"),
    (lambda x: circuits.Polynomial([1, 2j])(x), TypeError, "one real result"),
    (lambda x: circuits.softmax(2, (-1, 1))(x), TypeError, "takes vectors"),
    (lambda x: x**0.5, TypeError, "raised to"),
    (lambda x: x + "1", TypeError, "unsupported operand"),
    (lambda x: x * np.ones(3), TypeError, "operand"),
    (lambda x: x * math.inf, hm.errors.ParameterError, "not finite"),
    (lambda x: x / 0, ZeroDivisionError, "by zero"),
]


@pytest.mark.parametrize(("formula", "error", "words"), REFUSED)
def test_formulas_that_can_not_be(formula, error, words):
    refuse((lambda: circuits.function(formula, ONE), error, words))


def test_values_of_another_function_and_circuits_of_ciphertexts():
    transform = circuits.Mask(np.ones(4, bool), hm.ckks.Parameters.for_circuit(1, slots=4))
    refuse((lambda: circuits.function(lambda x: transform(x), ONE), TypeError, "functions of slots"))
    for formula, intervals in ((lambda: 1, []), (lambda x: x, [(1, 1)])):
        raises(hm.errors.ParameterError, "", circuits.function, formula, intervals)
    kept = []
    circuits.function(lambda x: kept.append(x) or x, ONE)
    refuse((lambda: circuits.function(lambda x: x + kept[0], ONE), hm.errors.ParameterError, "two functions"))
    refuse((lambda: circuits.function(lambda _: kept[0], ONE), hm.errors.ParameterError, "another function"))
