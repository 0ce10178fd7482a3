"""The search for parameters at its edges, maps in layouts, and seconds of operations: by hand and NumPy."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest

import hemera as hm
from hemera.arrays.array import Array
from hemera.arrays.layout import COPY, FREE, Layout, index_bits
from hemera.arrays.operations import Affine
from hemera.arrays.recorder import Recorder
from hemera.arrays.sparse_map import SparseMap
from hemera.arrays.tensor import TensorProgram
from hemera.arrays.tiling import SplitProgram
from hemera.compiler import scaling, unscaled
from hemera.compiler.costs import CostModel
from hemera.compiler.lowering import InSlots
from hemera.compiler.parameter_search import Search
from hemera.compiler.report import deepest_text
from hemera.compiler.specs import are_far, centre_of
from hemera.program import operations as op
from hemera.program.program import ExpectedNoise, Program
from hemera.program.values import Form
from hemera.times.table import DeviceTimes

RNG = np.random.default_rng(8)
TANH, WIDE = (
    hm.circuits.tanh((-2, 2), bits=8),
    hm.circuits.Polynomial([3, 0, 2], interval=(-2, 2), error=0.25),
)


def recorded(function: Any, *shapes: tuple[int, ...], largest: float = 1.0) -> TensorProgram:
    """A function on arrays of numbers up to `largest`, as it is recorded."""
    recorder = Recorder()
    arrays = [Array(recorder, recorder.input("", shape, -largest, largest)) for shape in shapes]
    recorder.program.outputs = [("y", function(*arrays)._number)]
    return recorder.program


def search(program: TensorProgram, bits: float = 16, **options: Any) -> Search:
    return Search(program, 1, bits, None, "cpu-avx512-16", **options)


def test_presets_and_scales_by_the_bits() -> None:
    for bits, preset, scale in (
        *((1, "n16-40", 30), (6, "n16-40", 30), (6.5, "n16-40", 31), (18, "n16-40", 42)),
        *((18.1, "n16-40-precise", 43), (20, "n16-40-precise", 44), (20.1, "n16-45", 45)),
        *((31, "n16-45", 55), (99, "n16-45", 55)),
    ):
        own = search(recorded(lambda x: x, (4,)), bits)
        assert (own._preset[0], own.scale_bits) == (preset, scale)


@pytest.mark.parametrize("depth", [1, 9])
@pytest.mark.parametrize("bits", [6, 16, 28])
@pytest.mark.parametrize("largest", [1.0, 100.0])
def test_room_beyond_samples_takes_no_time(depth: int, bits: float, largest: float) -> None:
    """No larger ring and no further prime; up to 2^8 times what samples show, and never less than that."""
    program = recorded(lambda x: x, (4,), largest=largest)
    least = search(program, bits).for_circuit(program, depth, 4, search(program, bits).scale_bits)
    assert least is not None
    rooms = []
    for reach in (largest / 2, largest * 4, largest * 255, largest * 2**12):
        own = search(program, bits, reach=reach)
        found = own.for_circuit(program, depth, 4, own.scale_bits)
        assert found is not None
        assert (found.degree, len(found.primes[-1])) == (least.degree, len(least.primes[-1]))
        rooms.append(found.range_bits - least.range_bits)
    assert rooms[0] == 0
    assert all(0 <= each <= 9 for each in rooms)
    assert rooms[2] == rooms[3]
    if bits == 16:  # scales of 40 bits, whose primes can have more
        assert rooms[1] == 2


def test_errors_of_depth_name_the_function_of_most_levels() -> None:
    for first, second in ((TANH, WIDE), (WIDE, TANH)):
        program = recorded(lambda x, a=first, b=second: x.apply(a) + x.apply(b), (3,))
        told = deepest_text(program)
        assert f"of most levels, {TANH.depth}, is tanh at test_parameter_search.py:" in told
        assert "for values from -2 to 2: fewer precision_bits" in told
    assert TANH.depth > WIDE.depth
    assert deepest_text(recorded(lambda x: x * x, (3,))) == ""


def test_values_that_nothing_takes_are_left_out_with_their_sizes() -> None:
    """The square goes, and the other values keep their sizes."""
    program = recorded(lambda x: x * x, (4,))
    maps = SparseMap.of(4, 4, [], [], []), SparseMap.dense(5 * np.eye(4))
    program.outputs = [("y", program.add(Affine(maps), [1, 0], (4,), range=(-5, 5)))]
    steps = InSlots(SplitProgram.whole_arrays(program), (Layout.raster((4,)),) * len(program.nodes), 4).run()
    assert steps.program.operations == {"multiply by number": 1}
    assert steps.magnitudes == {0: 1.0, 1: 5.0}
    assert len(steps.arrays) == 2
    np.testing.assert_allclose(steps.program.evaluate_clear([np.arange(4.0)])[0], 5 * np.arange(4.0))


LAYOUTS = [
    Layout((4,), bits)
    for more in ((), (FREE,), (COPY,))
    for bits in itertools.permutations([*index_bits((4,)), *more])
]


@pytest.mark.parametrize("ends", [(-1.0, 3.0), (-3.0, 1.0), (1.0, 2.0)])
def test_magnitudes_hold_for_slots_without_elements(ends: tuple[float, float]) -> None:
    """All layouts of four elements in eight slots, inputs at the ends: sums in FREE slots are larger."""
    matrix = np.random.default_rng(int(8 + ends[0])).normal(size=(4, 4)) - 0.5
    recorder = Recorder()
    x = Array(recorder, recorder.input("", (4,), *ends))
    recorder.program.outputs = [("y", (x @ matrix)._number)]
    corners = np.array(list(itertools.product(ends, repeat=4)))
    larger = 0
    for source, target in itertools.product(LAYOUTS, LAYOUTS):
        steps = InSlots(SplitProgram.whole_arrays(recorder.program), (source, target), 8).run()
        (slots,) = steps.program.evaluate_clear([np.stack([source.pack(each, 8) for each in corners])])
        np.testing.assert_allclose([target.unpack(each) for each in slots], corners @ matrix, atol=1e-9)
        assert np.abs(slots).max() <= steps.magnitudes[steps.program.outputs[0]] * (1 + 1e-12)
        larger += bool(np.abs(slots).max() > np.abs(corners @ matrix).max() + 1e-9)
    assert larger or ends[0] > 0


# --- What takes less time. ---


@pytest.mark.parametrize(
    ("ends", "size"),
    [((0.3, 0.9), 1), ((-1, 0.5), 1), ((-1.01, 0), 2), ((0, 0), 1), ((0, 2.0**-20), 2.0**-20), ((3, 5), 8)],
)
def test_scales_are_powers_of_two_that_hold_the_values(ends: tuple[float, float], size: float) -> None:
    assert scaling._size(*ends) == size


@pytest.mark.parametrize(
    ("ends", "centre"),
    [((256.9, 258.9), 257.9), ((255, 257), 0), ((-259, -257), -258), ((5, 5), 0)],
)
def test_inputs_are_centred_from_256_half_widths_on(ends: Any, centre: float) -> None:
    assert centre_of(ends) == pytest.approx(centre)
    assert [are_far([hm.ArraySpec(3, range=ends, step=step)]) for step in (None, 0.5)] == [centre != 0, False]


def test_noise_is_relative_to_the_largest_result_or_what_it_may_be() -> None:
    params = hm.ckks.Parameters.for_circuit(2, scale_bits=30, slots=64, security=None)
    program = Program("ckks", [Form(64, (3,))])
    program.give(program.add(op.MultiplyNumber(4.5), 0))
    x = RNG.uniform(-1, 1, (64, 3))
    x[0, 0] = 1.0
    bits = [unscaled.bits_of_noise(program, params, [x], largest) for largest in (np.inf, 4.5, 9.0, 1.125)]
    assert bits[0] == bits[1] == bits[2]
    assert bits[3] == pytest.approx(bits[0] - 2)
    noise = ExpectedNoise(program, params)
    exact = program.evaluate_clear([x.T])
    drawn = [
        np.abs(program.evaluate_clear([x.T], changed=noise.added)[0] - exact[0]).max() for _ in range(50)
    ]
    assert bits[0] == pytest.approx(-np.log2(np.sqrt(np.mean(np.square(drawn))) / 4.5), abs=0.3)


PARAMS = hm.ckks.Parameters.for_circuit(6, scale_bits=40, slots=256, security=None)
DEVICE = "cpu-avx512-16"


def rows(count: int, width: int, taken: Any = None) -> op.MatrixRows:
    own = np.arange(width) if taken is None else np.array(taken)
    return op.MatrixRows(np.ones((count, width)) / 3, own[:, np.newaxis], 8)


def diagonals(*numbers: int, **options: Any) -> op.Map:
    return dataclasses.replace(op.Map.of(list(numbers), np.ones((len(numbers), 256)) / 3), **options)


def polynomial(*coefficients: float, basis: Any = "power") -> op.OfPolynomial:
    return op.OfPolynomial.of(hm.circuits.Polynomial(coefficients, basis=basis))


ALIKE: list[list[tuple[Any, Any]]] = [
    [(op.Multiply(), [(64,)] * 2), (op.Multiply(), [()] * 2), (op.Multiply(), [(8,)] * 2)],
    [(op.Negate(), [(64,)]), (op.Negate(), [()])],
    [(rows(8, 4), [(4,)]), (rows(2, 4), [(4,)]), (rows(8, 2), [(2,)])],
    [(diagonals(0, 1, 2), [()]), (diagonals(0, 7), [()]), (diagonals(*range(16)), [()])],
    [(op.Rotations((1, 2, 3)), [(4,)]), (op.Rotations((1,)), [(4,)]), (op.Rotations((0, 1, 2)), [(4,)])],
    [(diagonals(0, 1, 2), [()]), (diagonals(1, 2, 3), [()])],
    [(diagonals(*range(16), **own), [()]) for own in ({}, {"baby_steps": 1}, {"own_keys": True})],
    [(op.Power(exponent), [()]) for exponent in (5, 6, 7, 8)],
    [(op.Matmul(matrix, 4), [()]) for matrix in (np.ones((16, 16)), np.ones((4, 4)), np.eye(16))],
    [(polynomial(*own), [()]) for own in ([1] * 8, [0, 1] * 4, [0] * 7 + [1], [1] * 7)],
    [(polynomial(*[0.1] * 8, basis=basis), [()]) for basis in ("power", "chebyshev")],
    [(op.SumsOfProducts(own, own), [(4,)] * 2) for own in (np.array([[0, 1]]), np.array([[0, 0]]))],
    [(rows(8, 4, taken), [(4,)]) for taken in (None, (1, 0, 3, 2))],
]
"""Operations of one kind that differ in one field, and shapes of their operands."""


@pytest.mark.parametrize("questions", ALIKE, ids=lambda each: each[0][0].name)
def test_answers_do_not_depend_on_what_was_asked_before(questions: Any) -> None:
    def seconds(own: CostModel, operation: Any, shapes: Any) -> tuple[float, ...]:
        forms = [Form(256, shape) for shape in shapes]
        line = own.of(operation, forms)
        return own.least(operation, forms), line(2), line(6)

    def first_of_all() -> CostModel:
        DeviceTimes.find(DEVICE).prices.clear()
        return CostModel(PARAMS, 6, 1, DEVICE)

    alone = [seconds(first_of_all(), *each) for each in questions]
    assert len(set(alone)) == len(alone)
    assert all(least > 0 and low < 1.01 * high for least, low, high in alone)
    for order in itertools.permutations(range(len(questions)), 2):
        own = first_of_all()
        for at in order:
            assert seconds(own, *questions[at]) == pytest.approx(alone[at]), order


@pytest.mark.parametrize("requests", [1, 5])
def test_seconds_are_those_of_hm_cost_less_the_way_down(requests: int) -> None:
    """At the level where fresh ciphertexts are there is no way down."""
    own, forms = CostModel(PARAMS, 6, 0, DEVICE, requests), [Form(256, (3,))] * 2
    shape = ((requests,) if requests > 1 else ()) + (3, 256)

    def counted(run: Any) -> float:
        return hm.cost(run, shape, shape, params=PARAMS, device=DEVICE).seconds or 0.0

    assert own.of(op.Multiply(), forms)(6) == pytest.approx(counted(lambda x, y: x * y))
    whole = counted(lambda x, y: x.evaluator.at_level(x, 1) * y.evaluator.at_level(y, 1))
    down = counted(lambda x, y: (x.evaluator.at_level(x, 1), y.evaluator.at_level(y, 1)))
    assert own.least(op.Multiply(), forms) == pytest.approx(whole - down)


def test_no_operation_is_above_the_level_of_fresh_ciphertexts() -> None:
    line = CostModel(PARAMS, 7, 0, DEVICE).of(op.Negate(), [Form(256)])
    assert line(7) == np.inf
    line = CostModel(PARAMS, 3, 3, DEVICE).of(op.Multiply(), [Form(256)] * 2)
    assert line(3) == np.inf  # it leaves level 2
    assert CostModel(PARAMS, 4, 3, DEVICE).of(op.Multiply(), [Form(256)] * 2)(4) < np.inf
