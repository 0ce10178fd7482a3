"""Sums that stay where their terms are: layouts with FREE slots, and the price by which they are chosen."""

import math

import numpy as np
import pytest

import hemera as hm
from hemera.arrays.layout import COPY, FREE, Layout
from hemera.arrays.packing import packed
from hemera.arrays.sparse_map import SparseMap
from hemera.compiler.bootstraps import seconds_without
from hemera.compiler.costs import weighed
from hemera.compiler.layouts import Samples
from hemera.errors import LevelError, ParameterError, RangeError
from hemera.package.package import Package

from ..arrays.programs import applied

RNG = np.random.default_rng(57)
Spec = hm.ArraySpec
WEIGHTS = RNG.normal(size=30)
CLASSES = RNG.normal(size=(64, 10))
WIDE = RNG.normal(size=(64, 16)) / 8

ROW, COLUMN = [(0, 0), (0, 1)], [(1, 0), (1, 1), (1, 2)]
SOURCES = [
    (*COLUMN, *ROW),
    (*ROW, *COLUMN),
    (COLUMN[0], COPY, *ROW, *COLUMN[1:]),
    (FREE, *COLUMN, FREE, *ROW),
]
TARGETS = [
    (FREE, FREE, FREE, *ROW),
    (*ROW, FREE),
    (FREE, COPY, *ROW),
    (ROW[0], FREE, FREE, ROW[1], FREE, FREE),
    (*ROW, FREE, FREE, FREE, FREE),
]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("dense", [True, False])
def test_diagonals_and_folds_are_the_map(source, target, dense):
    given, wanted = Layout((4, 8), source), Layout((4,), target)
    matrix = RNG.integers(-3, 4, (4, 32)) if dense else np.kron(np.eye(4, dtype=int), RNG.integers(1, 5, 8))
    rows, columns = np.nonzero(matrix)
    found = packed(SparseMap.of(4, 32, rows, columns, matrix[rows, columns]), given, wanted)
    x = RNG.integers(-9, 10, (4, 8)).astype(float)
    slots = given.pack(x, 128)
    held = np.tile(given.contents >= 0, 128 // given.period)
    slots[~held] = 1e6 * RNG.normal(size=np.count_nonzero(~held))  # anything
    np.testing.assert_allclose(wanted.unpack(applied(found, slots)), matrix @ x.ravel(), rtol=0, atol=1e-6)


PROGRAMS = {
    # Counted by hand: log2(32) rotations for 30 features; ten classes wrap to 16 diagonals.
    "one score": (lambda x: x @ WEIGHTS + 0.5, (128, 30), {"key_products": 5, "plain_products": 1}),
    "ten classes": (lambda x: x @ CLASSES, (128, 64), {"mod_ups": 4, "plain_products": 16}),
    "a sigmoid of a score": (lambda x: 1 / (1 + np.exp(-(x @ WEIGHTS / 30))), (128, 30), {}),
    "a perceptron": (lambda x: (x @ WIDE) ** 2 @ WIDE[:16, :8], (32, 64), {"key_products": 25}),
    "means of products": (lambda x: ((x[1:] - x[:-1]) ** 2).mean(axis=1), (9, 24), {}),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_numpys_at_no_more_operations(name):
    program, shape, most = PROGRAMS[name]
    plan = hm.compile(program, Spec(shape, (-1, 1)))
    for x in (RNG.uniform(-1, 1, shape), np.ones(shape), -np.ones(shape)):
        wanted = program(x)
        np.testing.assert_allclose(
            plan.local()(x), wanted, rtol=0, atol=2.0**-15 * max(1.0, np.abs(wanted).max())
        )
    operations = plan.cost().operations
    assert {key: operations[key] <= count for key, count in most.items()} == dict.fromkeys(most, True)


@pytest.mark.parametrize("name", ["one score", "ten classes", "a sigmoid of a score", "a perceptron"])
def test_free_slots_stay_in_the_range_that_is_known(name):
    program, shape, _ = PROGRAMS[name]
    plan = hm.compile(program, Spec(shape, (-1, 1)))
    steps, layout = plan._lowered, plan._arrays.interface.encoding.inputs[0]
    largest = [0.0] * len(steps.program.forms)

    def changed(number, value, _):
        largest[number] = max(largest[number], float(np.abs(value).max()))
        return value

    for x in (RNG.uniform(-1, 1, shape), np.ones(shape), np.where(RNG.random(shape) < 0.5, -1.0, 1.0)):
        slots = np.stack(layout.encode(x, steps.slots))
        steps.program.evaluate_clear([each[np.newaxis] for each in slots], changed=changed)
    told = {number: magnitude for number, magnitude in steps.magnitudes.items() if largest[number]}
    assert told
    assert all(largest[number] <= magnitude * (1 + 1e-6) for number, magnitude in told.items())


def test_whole_numbers_are_summed_in_place_too():
    weights = RNG.integers(-3, 4, 30)
    params = hm.bfv.Parameters.for_circuit(2, plain_bits=25, degree=4096, security=None)
    plan = hm.compile(lambda x: x @ weights, Spec((32, 30), (0, 7)), scheme="bfv", params=params)
    x = RNG.integers(0, 8, (32, 30))
    np.testing.assert_array_equal(plan.local()(x), x @ weights)
    assert plan.cost().operations["key_products"] == 5


@pytest.mark.parametrize("name", PROGRAMS)
def test_seconds_of_operations_add_up_to_those_of_the_program(name):
    program, shape, _ = PROGRAMS[name]
    plan = hm.compile(program, Spec(shape, (-1, 1)))
    for device in ("cpu-avx512-16", "cpu-avx2-16"):
        wanted = plan.cost(device).seconds
        assert seconds_without(plan._lowered, plan.params, device=device) == pytest.approx(wanted, rel=0.1)


@pytest.mark.parametrize(
    ("prices", "taken"),
    [
        ([(1.0, 5), (1.0, 6)], 0),  # fewer keys
        ([(1.0, 9), (1.0, 8)], 1),
        ([(1.07, 8), (1.0, 16)], 0),  # half of them are worth 2^0.1, 7.2 %
        ([(1.073, 8), (1.0, 16)], 1),
        ([(1.0, 0), (1.0, 1)], 0),  # no key is as one
        ([(math.inf, 0), (9.0, 99)], 1),
    ],
)
def test_prices_are_seconds_and_keys(prices, taken):
    assert min(range(len(prices)), key=lambda at: weighed(*prices[at])) == taken


@pytest.mark.parametrize("error", [ParameterError, LevelError, RangeError])
def test_faults_do_not_lose_a_layout_in_silence(monkeypatch, error):
    """Only what says that a layout is not possible is passed over."""

    def broken(*_, **__):
        raise error("a fault")

    monkeypatch.setattr(Samples, "in_ciphertexts", broken)
    with pytest.raises(error, match="a fault"):
        hm.compile(lambda x: x @ WIDE, Spec((64,), (-1, 1)), samples=1 << 12)


def test_files_have_free_slots():
    def step(z, w):
        return w + np.polyval([0.000015, 0, -0.0015, 0.005], z @ w) @ z

    plan = hm.compile(step, Spec((64, 8), (-1, 1)), Spec((8,), (-4, 4)), precision_bits=12)
    assert plan.depth == 4  # as by hand: a product, the cubic and a product, and sums in place
    assert plan.cost().operations["mod_ups"] <= 13
    model = Package.load(bytes(plan.package))
    z, w = RNG.uniform(-1, 1, (64, 8)), RNG.uniform(-4, 4, 8)
    np.testing.assert_allclose(model.evaluate_clear([z, w]), step(z, w), rtol=0, atol=1e-3)
    np.testing.assert_allclose(plan.local()(z, w), step(z, w), rtol=0, atol=1e-3)
    assert any(FREE in layout.bits for layout in plan._arrays.interface.encoding.outputs[0].tiles)
