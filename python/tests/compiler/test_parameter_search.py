"""The search for parameters at its edges, bounds of approximations, maps in layouts: by hand and NumPy."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import hemera as hm
from hemera.arrays.array import Array
from hemera.arrays.layout import COPY, FREE, Layout, index_bits
from hemera.arrays.operations import Affine
from hemera.arrays.recorder import Recorder
from hemera.arrays.sparse_map import SparseMap
from hemera.arrays.tiling import SplitProgram
from hemera.compiler import parameter_search, scaling, unscaled
from hemera.compiler.attempts import NotPossibleError
from hemera.compiler.estimators.features import Features
from hemera.compiler.lowering import InSlots
from hemera.compiler.parameter_search import Search
from hemera.compiler.report import deepest_text
from hemera.compiler.specs import are_far, centre_of
from hemera.program import operations as op
from hemera.program.expected_noise import ExpectedNoise
from hemera.program.program import Program
from hemera.program.values import Form

RNG = np.random.default_rng(8)
TANH, WIDE = (
    hm.circuits.tanh((-2, 2), bits=8),
    hm.circuits.Polynomial([3, 0, 2], interval=(-2, 2), error=0.25),
)


def recorded(function, *shapes, largest=1.0):
    """A function on arrays of numbers up to `largest`, as it is recorded."""
    recorder = Recorder()
    arrays = [Array(recorder, recorder.input("", shape, -largest, largest)) for shape in shapes]
    recorder.program.outputs = [("y", function(*arrays)._number)]
    return recorder.program


def search(program, bits=16, **options):
    return Search(program, 1, bits, None, "cpu-avx512-16", **options)


@pytest.mark.parametrize(
    ("bits", "preset", "scale"),
    [
        (1, "n16-40", 30),
        (6, "n16-40", 30),
        (6.5, "n16-40", 31),
        (18, "n16-40", 42),
        (18.1, "n16-40-precise", 43),
        (20, "n16-40-precise", 44),
        (20.1, "n16-45", 45),
        (31, "n16-45", 55),
        (99, "n16-45", 55),
    ],
)
def test_presets_and_scales_by_the_bits(bits, preset, scale):
    own = search(recorded(lambda x: x, (4,)), bits)
    assert (own._preset[0], own.scale_bits) == (preset, scale)


@pytest.mark.parametrize("depth", [1, 4, 9])
@pytest.mark.parametrize("bits", [6, 16, 20, 24, 28])
@pytest.mark.parametrize("largest", [1.0, 100.0])
def test_room_beyond_samples_takes_no_time(depth, bits, largest):
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


def test_bounds_of_approximations_by_hand():
    small, large = TANH.error, WIDE.error
    assert small < large / 8
    matrix = RNG.normal(size=(3, 2))
    slope = 4 * 2.0  # of 3 + 2x^2 at 2

    def bound(function):
        (found,) = recorded(function, (3,), largest=2.0).error_bounds()
        return found

    # Magnitudes are those of the ranges: 1 (and a little) of tanh, 11 of the polynomial.
    ends = {each: float(np.abs(each.evaluate_clear(np.linspace(-2, 2, 4097))).max()) for each in (TANH, WIDE)}
    product = ends[TANH] * large + ends[WIDE] * small + small * large
    np.testing.assert_allclose(bound(lambda x: x @ matrix), 0)
    np.testing.assert_allclose(bound(lambda x: x.apply(TANH)), small)
    np.testing.assert_allclose(bound(lambda x: x.apply(WIDE) * -3 + 1), 3 * large)
    np.testing.assert_allclose(bound(lambda x: x.apply(WIDE) @ matrix), large * np.abs(matrix).sum(0))
    np.testing.assert_allclose(bound(lambda x: x.apply(WIDE) - x.apply(TANH)), large + small)
    for own in (lambda x: x.apply(TANH) * x.apply(WIDE), lambda x: x.apply(WIDE) * x.apply(TANH)):
        np.testing.assert_allclose(bound(own), product, rtol=0.02)
        assert (bound(own) >= product * (1 - 1e-6)).all()
    chained = bound(lambda x: (x.apply(TANH) * 2).apply(WIDE))
    np.testing.assert_allclose(chained, large + slope * ends[TANH] * 2 * small, rtol=0.02)


def test_errors_of_depth_name_the_function_of_most_levels():
    for first, second in ((TANH, WIDE), (WIDE, TANH)):
        program = recorded(lambda x, a=first, b=second: x.apply(a) + x.apply(b), (3,))
        told = deepest_text(program)
        assert f"of most levels, {TANH.depth}, is tanh at test_parameter_search.py:" in told
        assert "for values from -2 to 2: fewer precision_bits" in told
    assert TANH.depth > WIDE.depth
    assert deepest_text(recorded(lambda x: x * x, (3,))) == ""


def test_features_are_normalised_column_by_column():
    sizes = np.array([1000.0, 3.0, 2.0**-20, 0.0])
    recorder = Recorder(precision_bits=16)
    x = Array(recorder, recorder.input("x", (5, 4), -1.0, 1.0, RNG.uniform(-1, 1, (9, 5, 4))))
    own = Features(x * sizes, np.array([1.0, 2, 3, 4]), np.array([5.0, 6, 7, 8]))
    found = own.normalised()
    units = np.array([1024.0, 4.0, 2.0**-20, 1.0])
    np.testing.assert_array_equal(found.scale, own.scale * units)
    np.testing.assert_array_equal(found.offset, own.offset)
    low, high = recorder.facts[found.scaled._number].bounds
    np.testing.assert_allclose(np.maximum(-low, high).reshape(5, 4).max(axis=0), sizes / units)


@pytest.mark.parametrize("first", [Layout.raster((4, 2)), Layout.by_columns((4, 2))])
@pytest.mark.parametrize("second", [Layout.raster((4, 2)), Layout.by_columns((4, 2))])
def test_equal_maps_of_values_in_other_layouts_are_other_operations(first, second):
    matrix = RNG.normal(size=(8, 8))

    def function(x, y):
        return (x.reshape(8) @ matrix).reshape(4, 2) * (y.reshape(8) @ matrix).reshape(4, 2)

    program = recorded(function, (4, 2), (4, 2))
    target = Layout.raster((4, 2))
    own = [Layout.raster(node.shape) for node in program.nodes]
    for at, layout in zip(program.inputs, (first, second), strict=True):
        own[at] = layout
    steps = InSlots(SplitProgram.whole_arrays(program), tuple(own), 8).run()
    x, y = RNG.normal(size=(2, 4, 2))
    (found,) = steps.program.evaluate_clear([first.pack(x, 8), second.pack(y, 8)])
    np.testing.assert_allclose(target.unpack(found), function(x, y), atol=1e-9)


def test_values_that_nothing_takes_are_left_out_with_their_sizes():
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
def test_magnitudes_hold_for_slots_without_elements(ends):
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


def chosen(seconds):
    """A program with bootstraps of some seconds; None: without."""
    placement = None if seconds is None else SimpleNamespace(time=seconds)
    return SimpleNamespace(steps=SimpleNamespace(placement=placement))


@pytest.mark.parametrize(("seconds", "taken"), [(0.9, True), (1.0, False), (1.1, False), (None, False)])
def test_bootstraps_are_taken_where_they_take_less_time(seconds, taken):
    plain, refreshed = chosen(None), chosen(seconds)
    assert (Search._faster(plain, 1.0, lambda: refreshed) is refreshed) == taken

    def impossible():
        raise NotPossibleError("no")

    assert Search._faster(plain, 1.0, impossible) is plain


@pytest.mark.parametrize("order", [*itertools.permutations([3.0, 1.0, 2.0])])
def test_the_levels_of_least_time_are_taken(order, monkeypatch):
    """Levels of the preset that hold the program; the last refusal is raised where none does."""
    times = dict(zip((8, 9, 10), order, strict=True))

    def levelled(_, steps, levels, narrow):
        del steps
        assert narrow
        if times[levels] == 3.0:
            raise NotPossibleError(f"no {levels}")
        return SimpleNamespace(placement=SimpleNamespace(time=times[levels], exact=True))

    monkeypatch.setattr(parameter_search, "_of_preset", lambda _, levels, __: levels)
    monkeypatch.setattr(parameter_search, "in_stages", lambda steps, _: steps)
    monkeypatch.setattr(Search, "_levelled", levelled)
    own = search(recorded(lambda x: x, (4,)), 25)
    found = own.bootstrapped(None)
    assert times[found.params] == found.steps.placement.time == 1.0
    times.update(dict.fromkeys(times, 3.0))
    with pytest.raises(NotPossibleError, match="no 10"):
        own.bootstrapped(None)


@pytest.mark.parametrize(
    ("bounds", "searched", "found"),
    [
        ((5, 5, 5), [8, 9], 9),  # the two that the narrow search ranks first
        ((9.9, 9.9, 5), [8], 8),  # 9 can save less than 3 %
        ((10, 5, 5), [9], 9),  # 8 is proved to have no better placement
        ((5, 9.6, 5), [8, 9], 9),
    ],
)
def test_levels_are_ranked_before_a_long_search(bounds, searched, found, monkeypatch):
    """Times of the narrow search are 10, 11 and 12; the whole one finds 9.9 and, with 9 levels, 9.65."""
    calls = []

    def levelled(_, steps, levels, narrow=False):
        del steps
        at = levels - 8
        if narrow:
            own = SimpleNamespace(time=10.0 + at, bound=bounds[at], exact=bounds[at] == 10 + at)
        else:
            calls.append(levels)
            own = SimpleNamespace(time=9.65 if levels == 9 else 9.9)
        return SimpleNamespace(placement=own)

    monkeypatch.setattr(parameter_search, "_of_preset", lambda _, levels, __: levels)
    monkeypatch.setattr(parameter_search, "in_stages", lambda steps, _: steps)
    monkeypatch.setattr(Search, "_levelled", levelled)
    own = search(recorded(lambda x: x, (4,)), 25)
    assert (own.bootstrapped(None).params, calls) == (found, searched)


@pytest.mark.parametrize(
    ("ends", "size"),
    [((0.3, 0.9), 1), ((-1, 0.5), 1), ((-1.01, 0), 2), ((0, 0), 1), ((0, 2.0**-20), 2.0**-20), ((3, 5), 8)],
)
def test_scales_are_powers_of_two_that_hold_the_values(ends, size):
    assert scaling._size(*ends) == size


@pytest.mark.parametrize(
    ("ends", "centre"), [((256.9, 258.9), 257.9), ((255, 257), 0), ((-259, -257), -258), ((5, 5), 0)]
)
def test_inputs_are_centred_from_256_half_widths_on(ends, centre):
    assert centre_of(ends) == pytest.approx(centre)
    assert [are_far([hm.ArraySpec(3, range=ends, step=step)]) for step in (None, 0.5)] == [centre != 0, False]


def test_noise_is_relative_to_the_largest_result_or_what_it_may_be():
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
