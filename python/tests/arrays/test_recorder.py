"""Ranges and steps of values that are recorded, and folding."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hemera import circuits
from hemera.arrays.array import Array
from hemera.arrays.chains import Chain, after, one_polynomial, product, total
from hemera.arrays.facts import common_step, range_of
from hemera.arrays.folding import folded
from hemera.arrays.operations import LookUp
from hemera.arrays.recorder import Recorder
from hemera.arrays.tensor import TensorProgram
from hemera.errors import MismatchError, ParameterError, RangeError

from .programs import Given, check, recorded

SEEDS = st.integers(0, 2**31)


def random_program(rng, *arrays):
    """Some of the operations of arrays, one after the other, on values that are there."""
    values = list(arrays)
    for _ in range(int(rng.integers(1, 9))):
        x = values[rng.integers(len(values))]
        y = values[rng.integers(len(values))]
        plain = rng.integers(-2, 3, x.shape).astype(float)
        made = [
            lambda x=x, y=y: x + y if x.shape == y.shape else x + y.sum(),
            lambda x=x, y=y: x * y if x.shape == y.shape else x * y.mean(),
            lambda x=x: x * x,
            lambda x=x, plain=plain: x * (x * (plain + 0.25) + 0.5) - x,
            lambda x=x, plain=plain: x * plain - 1,
            lambda x=x: x - x[::-1] if x.ndim else -x,
            lambda x=x: x**3 / 4,
            lambda x=x: np.roll(x, 1),
            lambda x=x: np.cumsum(x),
            lambda x=x: x.reshape(-1)[: max(1, x.size // 2)],
            lambda x=x: np.concatenate([x.reshape(-1), [0.5]]),
            lambda x=x: 2 - x,
        ]
        values.append(made[rng.integers(len(made))]())
    return values[len(arrays) :]


@settings(max_examples=150, deadline=None)
@given(SEEDS, st.booleans())
def test_random_programs(seed, samples):
    """Values, ranges and steps of random programs, raw and folded, with samples and without."""
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 4, rng.integers(1, 3)))
    low, width = rng.uniform(-3, 2), rng.uniform(0, 3)
    inputs = [
        Given(rng.uniform(low, low + width, shape), low, low + width),
        Given(rng.integers(-3, 4, shape) * 0.5, -1.5, 1.5, 0.5),
    ]
    check(lambda *arrays: random_program(np.random.default_rng(seed), *arrays), *inputs, samples=samples)


FUNCTIONS = [
    circuits.exp((-2, 1), bits=12),
    circuits.log((0.5, 4), bits=12),
    circuits.sqrt((0.25, 4), bits=12),
    circuits.tanh((-3, 3), bits=10),
    circuits.sigmoid((-6, 6), bits=8),
    circuits.sigmoid((-2, 2), bits=6, clip=8.0),
    circuits.gelu((-4, 4), bits=8),
    circuits.inverse((0.5, 3), bits=10),
    circuits.inverse((-3, -0.5), bits=10),
    circuits.clip((-1, 1), bits=5, largest=3),
    circuits.sign(gap=0.1, bits=8),
    circuits.Polynomial([0.5, -1, 2, 0.25]),
    circuits.Polynomial([0] * 9 + [1], basis="chebyshev", interval=(-1, 3)),
    circuits.approximate(lambda x: float(np.sin(40 * x)), (-1, 1), 63),
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.name)
def test_ranges_of_functions(function):
    """They hold between the ends of random intervals, and at the whole interval are not much too wide."""
    rng = np.random.default_rng(0)
    (least, most) = function.intervals[0]
    for at in range(30):
        a, b = np.sort(rng.uniform(least, most, 2)) if at else (least, most)
        low, high = range_of(function, [(np.array([a, a]), np.array([a, b]))])
        values = function.evaluate_clear(np.linspace(a, b, 4000))
        assert low.shape == (2,)
        assert low.min() <= values.min()
        assert values.max() <= high.max()
        if at == 0:
            assert high.max() - low.min() <= 1.2 * np.ptp(values) + 4 * function.error


def test_range_of_the_maximum_is_that_of_each_element():
    function = circuits.maximum(bits=8, largest=4)
    low, high = range_of(
        function, [(np.array([0.0, -3]), np.array([1.0, 2])), (np.array([0.5, -4]), np.array([4.0, -1]))]
    )
    np.testing.assert_allclose(low, [0.5, -3], atol=2 * function.error)
    np.testing.assert_allclose(high, [4, 2], atol=2 * function.error)
    low, high = range_of(circuits.compare(gap=0.1, bits=8), [(np.zeros(2), np.ones(2))] * 2)
    assert (low > -0.01).all()
    assert (high < 1.01).all()


def test_range_of_a_square_is_not_negative():
    x = Array(recorder := Recorder(), recorder.input("x", (2,), -3, 2))
    assert (x * x).range == (0, 9)
    assert x.square().range == (0, 9)
    assert (x * -x).range == (-9, 0)
    assert (x - x).range == (-5, 5)
    assert x.range == (-3, 2)
    assert repr(x) == "<encrypted array of shape (2,), from -3 to 2>"


def test_samples_narrow_ranges_by_a_margin():
    recorder = Recorder(margin=0.5)
    samples = np.array([[0.0, 0.0], [1.0, 2.0]])
    x = Array(recorder, recorder.input("x", (2,), -10, 10, samples))
    assert x.range == (-10, 10)
    assert (x * 1).range == (-1, 3)
    assert (x * x).range == (0, 6)
    # The range of samples near each other grows by half of their size.
    far = Array(recorder, recorder.input("z", (1,), -99, 99, np.array([[10.0], [10.25]])))
    assert (far * 1).range == (10 - 2.5625, 10.25 + 2.5625)
    assert (far * -1).range == (-10.25 - 2.5625, -10 + 2.5625)
    # No wider than by intervals.
    narrow = Array(recorder, recorder.input("y", (2,), 0, 2, samples))
    assert (narrow + 0).range == (0, 2)


@pytest.mark.parametrize(("value", "sign"), [(0.0, 1), (0.5, 1), (-0.5, -1), (4.0, 1), (-4.0, -1)])
def test_intervals_of_one_number_are_widened_away_from_zero(value, sign):
    recorder = Recorder()
    low, high = recorder.interval(recorder.input("x", (2,), value, value))
    room = 2.0**-10 * max(1.0, abs(value))
    assert (low, high) == ((value, value + room) if sign > 0 else (value - room, value))
    assert recorder.interval(recorder.input("y", (1,), 0, 2.0**-19)) == (0, 2.0**-19)


def test_samples_of_one_input_alone_are_not_enough():
    x = Array(recorder := Recorder(), recorder.input("x", (1,), -1, 1, np.zeros((2, 1))))
    y = Array(recorder, recorder.input("y", (1,), -1, 1))
    assert (x + y).range == (-2, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"low": 2, "high": 1}, "a range from 2 to 1"),
        ({"low": -np.inf}, "a range from -inf"),
        ({"high": np.nan}, "a range from 0 to nan"),
        ({"shape": (0,)}, "no elements"),
        ({"shape": (2, 0)}, "no elements"),
        ({"step": 0}, "the step must be a positive number"),
        ({"step": -1}, "the step must be a positive number"),
        ({"step": np.nan}, "the step must be a positive number"),
        ({"samples": np.array([[2.0, 0]])}, "samples from 0 to 2, and the range is from 0 to 1"),
        ({"samples": np.array([[np.nan, 0]])}, "samples from nan"),
        ({"samples": np.array([[0.5, 1]]), "step": 1}, "no multiples of the step 1"),
    ],
)
def test_wrong_inputs_are_refused(options, message):
    known = {"name": "x", "shape": (2,), "low": 0.0, "high": 1.0} | options
    with pytest.raises(ParameterError, match=message):
        Recorder().input(**known)


# --- Steps. ---


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([2, 4, -6], 2),
        ([0.5, 0.75], 0.25),
        ([0.1, 0.3, -0.7], 0.1),
        ([1 / 3, 2 / 3, 1], 1 / 3),
        ([0, 0], 0),
        ([], 0),
        ([7], 7),
        ([1, np.pi], None),
        ([1, 2**-21], None),
        ([1, 2**-19], 2**-19),
    ],
)
def test_common_step(values, step):
    found = common_step(np.array(values, np.float64))
    assert found == (step if step is None else pytest.approx(step))


def test_steps_of_results():
    x = Array(recorder := Recorder(), recorder.input("x", (3,), 0, 9, step=1))
    y = Array(recorder, recorder.input("y", (3,), 0, 9, step=0.25))
    z = Array(recorder, recorder.input("z", (3,), 0, 9))
    w = Array(recorder, recorder.input("w", (3,), 0, 3, step=0.5))
    steps = [
        (x * 3, 3),
        (x * 3 + 1, 1),
        (x * 6 + 4, 2),
        (x + y, 0.25),
        (x * y, 0.25),
        (x * x, 1),
        (x**3, 1),
        (x.sum(), 1),
        (y.prod(), 0.25**3),
        (x.mean(), 1 / 3),
        (x @ np.array([2.0, 4, 6]), 2),
        (x[::-1], 1),
        (-y, 0.25),
        (x > 2, 1),
        (w // 0.75, 1),
        (w % 0.75, 0.25),
        (w % 1.5, 0.5),
        (np.floor(w), 1),
        (np.sign(w - 1), 1),
        (abs(w - 1), None),
    ]
    for found, wanted in steps:
        assert found.step == (wanted and pytest.approx(wanted))
    for each in (x + z, x * z, z, x * np.pi + 1, x * 0, np.exp(x), z.sum()):
        assert each.step is None


# --- Folding. ---


def test_equal_maps_to_other_shapes_are_one():
    def program(x):
        return x.mean(), x.var(), np.exp(x.mean(keepdims=True))

    values = Given(np.random.default_rng(2).uniform(-1, 1, 9), -1, 1)
    recorder, _ = recorded(program, [values])
    found = folded(recorder.program)
    assert sum(node.size == 1 and node.operands == (0,) for node in found.nodes) == 1
    assert [found.nodes[at].shape for _, at in found.outputs] == [(), (), (1,)]
    check(program, values, bits=20, tolerance=1e-4)


def test_equal_operations_are_one_and_unused_ones_none():
    def program(x):
        x.sum().square()
        return (x * x).sum() + (x * x).sum() + np.exp(x).sum() + np.exp(x).sum()

    recorder, _ = recorded(program, [Given(np.zeros(4))])
    kinds = [type(node.operation).__name__ for node in folded(recorder.program).nodes]
    assert kinds.count("Multiply") == 1
    assert kinds.count("Apply") == 1


def test_operations_know_the_line_of_the_program():
    recorder, _ = recorded(lambda x: x + 1, [Given(np.zeros(4))])
    assert recorder.program.nodes[0].where == ""
    assert recorder.program.nodes[1].where.startswith(f"{Path(__file__).name}:")


def test_programs_check_their_operands():
    recorder, _ = recorded(lambda x: x + 1, [Given(np.zeros(4))])
    own = recorder.program.nodes[1].operation
    program = TensorProgram()
    at = program.add(recorder.program.nodes[0].operation, (), (3,))
    with pytest.raises(MismatchError, match="do not fit"):
        program.add(own, (at,), (4,))
    program.outputs = [("y", at)]
    with pytest.raises(MismatchError, match=r"x0: arrays of shape \(3,\) are needed, not \(4,\)"):
        program.evaluate_clear([np.zeros((1, 4))])


def test_functions_outside_of_their_intervals_are_refused():
    x = Array(recorder := Recorder(), recorder.input("x", (2,), -2, 2))
    with pytest.raises(RangeError, match="is for values from -1 to 1, and these are from -2 to 2"):
        circuits.tanh((-1, 1))(x)
    with pytest.raises(RangeError, match="maximum"):
        circuits.maximum(largest=1)(x, 0.5)
    assert circuits.tanh((-2, 2))(x).shape == (2,)


def sum_of_exponentials(margin):
    """A sum whose errors exceed the least exponentials: by interval arithmetic it could be below 0."""
    rows = np.random.default_rng(1).uniform(-4, 4, (40, 3))
    recorder = Recorder(precision_bits=4, margin=margin)
    x = Array(recorder, recorder.input("x", (3,), -5.0, 5.0, rows))
    found = np.exp(x).sum()
    low, _ = recorder.facts[found._number].certain
    assert low.min() < 0
    sums = np.exp(rows).sum(axis=1)
    least, most = found.range
    assert least < sums.min()
    assert sums.max() < most
    return found


@pytest.mark.parametrize("margin", [0.1, 0.5, 2.0])
def test_margins_keep_the_sign_of_what_is_known_to_be_positive(margin):
    found = sum_of_exponentials(margin)
    assert found.range[0] > 0
    assert (-found).range[1] < 0
    assert (1 / found).range[0] < 1
    for each, sign in ((1 / found, 1), (1 / -found, -1), (-1 / found, -1)):
        assert each._recorder.facts[each._number].sign == sign
        assert min(sign * end for end in each.range) > 0
    apart = found - sum(found.range) / 2
    assert apart._recorder.facts[apart._number].sign == 0
    assert (2 * found + 1)._recorder.facts[(2 * found + 1)._number].sign == 1
    assert (found * -found)._recorder.facts[(found * -found)._number].sign == -1


# --- Chains of functions as one polynomial. ---


@pytest.mark.parametrize(
    ("function", "interval"),
    [
        *((np.exp, ends) for ends in ((-1.0, 1.0), (3.0, 5.0), (-4.0, -1.0))),
        (np.log, (1.0, 9.0)),
        (np.sin, (-2.0, 6.0)),
        (lambda x: x**3 - x, (0.0, 2.0)),
        (np.ones_like, (0.0, 1.0)),
    ],
)
def test_one_polynomial_is_within_its_tolerance(function, interval):
    """On any interval, and of about the degree that NumPy's interpolation takes."""
    tolerance = 2.0**-18
    found = one_polynomial(function, interval, tolerance, ["a", "b"])
    assert found is not None
    assert (found.interval, found.name, found.basis) == (interval, "a, b as one", "chebyshev")
    x = np.linspace(*interval, 5000)
    error = np.abs(found(x) - function(x)).max()
    assert error <= found.error <= 2 * tolerance
    degree = len(found.coefficients) - 1
    if degree > 2:
        near = np.polynomial.Chebyshev.interpolate(function, degree - 2, interval)
        assert np.abs(near(x) - function(x)).max() > tolerance


@pytest.mark.parametrize(
    ("function", "low"), [(lambda x: 1 / x, -1), (np.sqrt, -1), (np.sign, -1), (np.log, 0)]
)
def test_what_no_polynomial_is_near_to_is_none(function, low):
    assert one_polynomial(function, (low, 1.0), 2.0**-18, ["f"]) is None


def test_chains_count_levels_and_products():
    """Values next to each other: the most levels, and all products; a product: a level and one more."""
    a, b = Chain(3, names=("exp",), depth=4, products=7.0, operations=1), Chain(3, depth=2, products=2.0)
    both = total([a, b], [0.5, 2.0], 1.0)
    assert both is not None
    assert (both.root, both.depth, both.products, both.operations, both.names) == (3, 4, 9, 1, ("exp",))
    np.testing.assert_allclose(both.formula(np.arange(3.0)), 2.5 * np.arange(3) + 1)
    for own, other, wanted in ((a, b, (5, 10, 2)), (b, a, (5, 10, 2)), (a, a, (5, 8, 2))):
        found = product(own, other)
        assert found is not None
        assert (found.depth, found.products, found.operations) == wanted
    assert product(a, Chain(2)) is None
    assert total([a, Chain(2)], [1.0, 1.0], 0.0) is None
    tanh = circuits.tanh((-1, 1), bits=8)
    later = after(a, tanh, np.tanh)
    assert later is not None
    assert (later.depth, later.operations, later.names) == (4 + tanh.depth, 2, ("exp", "tanh"))
    assert after(a, circuits.sign(gap=0.1), np.sign) is None


# --- Exact programs. ---


def test_steps_and_ranges_of_exact_programs():
    """Whole numbers: the greatest divisor that is known, and the ends of each element."""
    x = Array(recorder := Recorder(precision_bits=np.inf), recorder.input("x", (3,), 0, 6, step=2), "i")
    y = Array(recorder, recorder.input("y", (3,), -3, 3, step=3), "i")
    square, factors = (lambda v: v**2), np.array([1, 2, 3])
    found = [
        (x * 3, 6, [0] * 3, [18] * 3),
        (x * 3 + 4, 2, [4] * 3, [22] * 3),
        (x * 6 - y * 2, 6, [-6] * 3, [42] * 3),
        (x * y, 6, [-18] * 3, [18] * 3),
        (y.prod(), 27, [-27], [27]),
        (x * factors, 2, [0] * 3, [6, 12, 18]),
        ((x * factors).approximated(square), 4, [0] * 3, [36, 144, 324]),
        (y.approximated(square), 9, [0] * 3, [9] * 3),
        ((y * factors + 1).approximated(square), 1, [0] * 3, [16, 49, 100]),
    ]
    for array, step, low, high in found:
        assert array.step == step
        np.testing.assert_array_equal(recorder.facts[array._number].bounds, (low, high))


@pytest.mark.parametrize("points", [2, 3, 4, 5, 8, 9, 32, 33, 64])
@pytest.mark.parametrize("kinds", [1, 2])
def test_look_ups_take_the_levels_of_a_polynomial(points, kinds):
    """The degree is below the number of its points; one more where tables differ."""
    own = LookUp(np.zeros((points, kinds), np.int64), np.zeros(4, np.int64))
    assert own.depth == int(np.ceil(np.log2(points))) + (kinds > 1)
