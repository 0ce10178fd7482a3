"""Compiled functions of arrays give NumPy's results; files, costs and errors of them."""

import json

import numpy as np
import pytest

import hemera as hm
from hemera.arrays import average_pool, conv
from hemera.arrays.array import Array
from hemera.arrays.recorder import Recorder
from hemera.errors import RangeError

from ..refusals import raises
from .compile_cases import assert_gives, compiled, deep, shallow


def test_statistics_of_a_column():
    rng = np.random.default_rng(1)

    def study(ages):
        z = (ages - ages.mean()) / 30
        return {"mean": ages.mean(), "spread": (z**2).mean(), "skew": (z**3).mean()}

    plan = assert_gives(study, rng.uniform(0, 90, (3, 1000)))
    assert plan.outputs == {"mean": (), "spread": (), "skew": ()}
    assert plan.package.program.depth <= shallow().levels - 1


def test_a_network_of_convolutions():
    rng = np.random.default_rng(2)
    kernel, bias = rng.normal(size=(4, 1, 3, 3)) / 3, rng.normal(size=4) / 4
    dense = rng.normal(size=(4 * 4 * 4, 10)) / 8

    def network(image):
        x = conv(image, kernel, bias, stride=2, padding=1) ** 2
        return (x.reshape(-1) @ dense) ** 2

    plan = assert_gives(network, rng.uniform(0, 1, (4, 1, 8, 8)))
    # A stride of 2 leaves gaps between the results, where other channels go: few diagonals.
    assert plan._lowered.steps[1].diagonals[0] <= 9


def test_several_inputs_of_several_shapes():
    rng = np.random.default_rng(3)
    a, b, c = (rng.uniform(-1, 1, (4, *shape)) for shape in ((3, 5), (5, 4), (4,)))
    assert_gives(lambda a, b, c: {"y": a @ b + c, "z": (a @ b) @ c}, a, b, c)


@pytest.mark.parametrize("largest", [1.0, 0.5, 1e-3])
@pytest.mark.parametrize("factor", [0.5, 0.3, -1.0])
@pytest.mark.parametrize("precision", [6, 24])
def test_values_up_to_1_times_numbers(largest, factor, precision):
    def function(x):
        return (factor * x + largest / 10) * factor

    plan = hm.compile(function, hm.ArraySpec((8,), range=(-largest, largest)), precision_bits=precision)
    values = np.linspace(-largest, largest, 8)
    # Relative to values of about 1: the scale does not grow for small ones.
    np.testing.assert_allclose(plan.local(threads=1)(values), function(values), rtol=0, atol=2.0**-precision)


def test_functions_by_ranges_of_samples():
    rng = np.random.default_rng(4)
    x = rng.uniform(0.5, 2, (20, 6))
    assert_gives(lambda x: {"root": np.sqrt(x), "exp": np.exp(-x), "inverse": 1 / x}, x, bits=12)


def test_slots_without_elements_are_bounded():
    """5 elements of 8 slots: the others go through an inverse and a logarithm of an interval without 0."""
    rng = np.random.default_rng(15)
    samples = rng.uniform(2, 4, (20, 5))
    plan = compiled(lambda x: 1 / x + np.log(x), samples, precision_bits=12)
    program = plan.package.program
    slots = plan.package.interface.encode(samples[0])
    values = [np.asarray(slots[0])]
    for node in program.nodes:
        values.append(node.operation.clear(*(values[at] for at in node.operands)))
    for at, bound in plan._lowered.magnitudes.items():
        assert np.abs(values[at]).max() <= bound * 1.01, at


def test_inputs_by_name_and_in_order():
    x, y = np.array([[1.0, 2.0]]), np.array([[3.0, 5.0]])
    plan = hm.compile(
        lambda x, y: x - 2 * y,
        hm.ArraySpec((2,), (0, 9), "first"),
        hm.ArraySpec((2,), (0, 9), "second"),
        params=shallow(),
    )
    run = plan.local(threads=1)
    np.testing.assert_allclose(run(x[0], y[0]), [-5, -8], atol=1e-4)
    interface = plan.package.interface
    by_name = interface.encode({"second": y[0], "first": x[0]})
    np.testing.assert_array_equal(by_name[0], interface.encode([x[0], y[0]])[0])


@pytest.mark.parametrize(
    "key",
    [
        ["turning", 1, 4, 2],
        ["rotation", 1, 99, 2],
        ["rotation", 1 << 30, 4, 2],
        ["rotation", 1, 4, 0],
        ["rotation", 1, 4, 1 << 20],
        ["rotation", 1, 4],
        "rotation",
        7,
    ],
)
def test_files_with_wrong_keys_are_refused(key):
    plan = compiled(lambda x: x @ np.ones((4, 2)), np.ones((2, 4)))
    told = json.loads(json.dumps(plan.package.interface.describe()))
    told["keys"]["own"] = [key]
    raises(hm.errors.FormatError, "", hm.serving.Interface.from_dict, told)


def test_files_and_servers_take_it(tmp_path):
    rng = np.random.default_rng(7)
    kernel = rng.normal(size=(2, 1, 3))
    samples = rng.uniform(-1, 1, (5, 1, 30))
    plan = compiled(lambda x: conv(x, kernel, padding=1) ** 2, samples, name="waves")
    plan.save(tmp_path / "waves.hemera-model")
    loaded = hm.serving.Package.load(tmp_path / "waves.hemera-model")
    assert loaded.name == "waves"
    expected = conv(samples[0], kernel, padding=1) ** 2
    np.testing.assert_allclose(loaded.evaluate_clear(samples[0]), expected, atol=1e-12)
    np.testing.assert_allclose(plan.evaluate_clear(samples[0]), expected, atol=1e-12)
    # Every request of several.
    np.testing.assert_allclose(
        loaded.evaluate_clear(samples)[3], conv(samples[3], kernel, padding=1) ** 2, atol=1e-12
    )
    with pytest.warns(hm.errors.RangeWarning, match="outside of the range from"):
        loaded.evaluate_clear(5 * samples[0])


def test_files_of_convolutions_are_small():
    """The map of a convolution has few different entries: not a dense matrix of 4,096 slots (134 MB)."""
    kernel = np.random.default_rng(8).normal(size=(16, 16, 3, 3))
    plan = hm.compile(
        lambda x: conv(x, kernel, padding=1),
        hm.ArraySpec((16, 16, 16), (-1, 1)),
        params=hm.ckks.Parameters.for_circuit(2, slots=4096, range_bits=12, security=None),
    )
    assert len(bytes(plan.package)) < 1_000_000


def test_layouts_take_no_larger_ring():
    """Copies in slots could save rotations, but not at the price of a ring that the depth does not need."""
    weights = np.random.default_rng(16).normal(size=(4, 3))
    plan = hm.compile(lambda x: x @ weights + 1, hm.ArraySpec((100, 4), (-1, 1)))
    assert plan.params.degree == hm.ckks.Parameters.for_circuit(1, scale_bits=40, slots=512).degree


def test_the_cost_is_that_of_the_package():
    samples = np.random.default_rng(9).uniform(-1, 1, (3, 12))
    plan = compiled(lambda x: (x @ np.arange(36.0).reshape(12, 3) / 36) ** 2, samples)
    cost = plan.cost("cpu-avx512-16")
    assert cost.seconds is not None
    assert cost.seconds > 0
    assert cost.operations == plan.package.cost().operations
    report = plan.report()
    for word in ("input x", "linear map", "square", "(12,)", "(3,)", "test_compile.py:"):
        assert word in report


def test_check_compares_and_counts():
    rng = np.random.default_rng(10)
    samples = rng.uniform(-1, 1, (10, 4))
    plan = compiled(lambda x: np.tanh(2 * x), samples, precision_bits=12)
    found = plan.check(samples, encrypted=2, threads=1)
    assert (found.samples, found.encrypted) == (10, 2)
    assert found.bits > 10
    assert not found.outside
    far = samples.copy()
    far[3, 2] = 5.0
    outside = plan.check(far, encrypted=0)
    assert sum(outside.outside.values()) >= 1
    assert "outside" in str(outside)
    raises(hm.errors.MismatchError, "", lambda: plan.check(samples[:, :3]))


def test_values_outside_of_ranges_are_counted_together():
    """The values of all inputs, and of all operations of a line."""
    rng = np.random.default_rng(12)
    x, y = rng.uniform(-1, 1, (2, 6, 4))
    plan = hm.compile(
        lambda x, y: np.tanh(2 * x) + np.tanh(3 * y), x[0], y[0], calibrate=(x, y), precision_bits=8
    )
    x[2, 1], y[3, :3] = 8, -8
    found = plan.check(x, y, encrypted=0).outside
    assert found["an input"] == 1 + 3
    assert list(found.values()) == [1 + 3, 1 + 3]  # inputs, and arguments of the line


def test_branches_name_the_way_out():
    def branch(x):
        return x if x[0] > 0 else -x

    raises(TypeError, r"gap|depend", lambda: hm.compile(branch, hm.ArraySpec((3,), (0, 1))))


def test_missing_and_infinite_ranges():
    raises(hm.errors.ParameterError, "range", lambda: hm.compile(lambda x: x * 2, np.zeros(3)))
    raises(hm.errors.ParameterError, "", lambda: hm.compile(lambda x: x * 2, hm.ArraySpec((3,), (0, np.inf))))

    def explodes(x):
        for _ in range(12):
            x = x * x
        return x

    with pytest.raises(hm.errors.ParameterError, match=r"test_compile\.py"):
        hm.compile(explodes, hm.ArraySpec((3,), (0, 10)))


def test_other_results_and_inputs():
    spec = hm.ArraySpec((3,), (0, 1))
    raises(TypeError, "returns", hm.compile, lambda _: np.ones(3), spec)
    with pytest.raises(TypeError, match="function"):
        hm.compile(3, spec)
    raises(hm.errors.ParameterError, "inputs", hm.compile, lambda: 1)
    raises(hm.errors.MismatchError, "samples", hm.compile, lambda x: x, spec, calibrate=np.zeros((5, 4)))


def test_too_few_levels():
    params = hm.ckks.Parameters.for_circuit(1, slots=64, security=None)
    with pytest.raises(hm.errors.LevelError):
        hm.compile(lambda x: (x * x) ** 2, hm.ArraySpec((64,), (0, 1)), params=params)


@pytest.mark.parametrize(
    ("shape", "weights", "options"),
    [
        ((2, 9), (4, 2, 3), {}),
        ((2, 9), (4, 2, 3), {"stride": 2, "padding": 1}),
        ((4, 7, 8), (6, 2, 3, 2), {"stride": (2, 1), "padding": (1, 0), "groups": 2}),
        ((3, 10, 9), (2, 3, 3, 3), {"dilation": (2, 3), "padding": 2}),
        ((2, 5, 8), (3, 2, 2, 3), {"stride": (1, 3), "padding": (0, 2), "dilation": (3, 1)}),
        ((2, 3, 4, 5), (2, 1, 2, 1, 3), {"padding": (1, 0, 2), "stride": (2, 1, 1), "groups": 2}),
    ],
)
def test_convolutions_are_sums(shape, weights, options):
    """The definition: y[o, p] sums over c, k w[o, c, k] x[group + c, p stride + k dilation - pad]. Of plain
    arrays and of encrypted ones, with and without a bias."""
    rng = np.random.default_rng(11)
    x, w, bias = rng.normal(size=shape), rng.normal(size=weights), rng.normal(size=weights[0])
    axes = len(shape) - 1

    def each(name, default):
        value = options.get(name, default)
        return (value,) * axes if isinstance(value, int) else value

    stride, padding, dilation = each("stride", 1), each("padding", 0), each("dilation", 1)
    groups = options.get("groups", 1)
    padded = np.pad(x, [(0, 0), *((pad, pad) for pad in padding)])
    found = conv(x, w, bias, **options)
    expected = np.empty_like(found)
    for place in np.ndindex(*found.shape):
        o, own = place[0], place[1:]
        first = o // (weights[0] // groups) * weights[1]
        total = bias[o]
        for c, *k in np.ndindex(*weights[1:]):
            at = tuple(p * s + d * t for p, s, d, t in zip(own, stride, dilation, k, strict=True))
            total += w[(o, c, *k)] * padded[(first + c, *at)]
        expected[place] = total
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(of_encrypted(lambda y: conv(y, w, bias, **options), x), expected, atol=1e-12)
    bare = expected - bias.reshape(-1, *[1] * axes)
    np.testing.assert_allclose(of_encrypted(lambda y: conv(y, w, **options), x), bare, atol=1e-12)


def of_encrypted(function, x):
    """The recorded function, in the clear."""
    recorder = Recorder()
    found = function(Array(recorder, recorder.input("x", x.shape, -9, 9)))
    recorder.program.outputs = [("y", found._number)]
    return recorder.program.evaluate_clear([x[None]])[0][0]


def test_pooling_is_a_mean():
    x = np.random.default_rng(12).normal(size=(3, 8, 6))
    expected = x.reshape(3, 4, 2, 3, 2).mean((2, 4))
    for of in (lambda pool, x: pool(x), of_encrypted):
        np.testing.assert_allclose(of(lambda y: average_pool(y, 2), x), expected, atol=1e-12)
        # Windows that overlap, and padded zeros, which count.
        found = of(lambda y: average_pool(y, (3, 2), stride=(1, 2), padding=(1, 0)), x)
        padded = np.pad(x, ((0, 0), (1, 1), (0, 0)))
        windows = sum(padded[:, k : k + 8, j::2] for k in range(3) for j in range(2))
        np.testing.assert_allclose(found, windows / 6, atol=1e-12)
    for wrong in ({"size": (1, 2, 3)}, {"size": 9}):
        raises(hm.errors.MismatchError, "", average_pool, x, **wrong)
    raises(hm.errors.ParameterError, "", conv, x, np.ones((1, 3, 2, 2)), stride=0)


@pytest.mark.parametrize("name", ["relu", "abs"])
def test_maps_take_in_the_range_of_functions_around_0(name):
    """On wide intervals these take a level more, which maps save: the depth stands in tests/corpus."""
    function = {"relu": lambda x: np.maximum(x, 0), "abs": np.abs}[name]
    rng = np.random.default_rng(17)
    weights = rng.normal(size=(2, 8, 8))
    samples = rng.uniform(-5, 5, (30, 8))
    plan = compiled(
        lambda x: function(x @ weights[0]) @ weights[1], samples, precision_bits=11, params=None, margin=0.1
    )
    expected = function(samples @ weights[0]) @ weights[1]
    assert np.abs(plan.evaluate_clear(samples) - expected).max() < 2**-8 * np.abs(expected).max()


def test_results_must_fit_given_parameters():
    """Over too small a modulus a result is wrong by multiples of it."""
    spec = hm.ArraySpec((64,), range=(0, 100))
    with pytest.raises(RangeError, match=r"'output' can be as large as 6400.* range_bits=14"):
        hm.compile(lambda x: x.sum(), spec, params=shallow())
    for params in (
        deep(),
        hm.ckks.Parameters.for_circuit(8, scale_bits=40, slots=1024, range_bits=14, security=None),
    ):
        plan = hm.compile(lambda x: x.sum(), spec, params=params)
        assert plan.local()(np.full(64, 100.0)) == pytest.approx(6400, rel=1e-3)


def test_clients_give_multiples_of_the_step(tmp_path):
    """Comparisons of others would be wrong without a word."""
    params = hm.ckks.Parameters.for_circuit(12, scale_bits=40, slots=64, range_bits=10, security=None)
    plan = hm.compile(
        lambda x, y: ((x > 1.5).sum(), y * 2),
        hm.ArraySpec((4,), range=(0, 3), name="x", step=0.5),
        hm.ArraySpec((4,), range=(0, 3), name="y"),
        params=params,
    )
    found = plan.local()(np.array([0, 1.5, 2, 3]), np.array([0.1, 0.2, 0.3, 0.4]))
    assert found["output0"] == pytest.approx(2, abs=1e-3)
    plan.save(tmp_path / "steps.hemera-model")
    package = hm.serving.Package.load(tmp_path / "steps.hemera-model")
    for interface in (plan.package.interface, package.interface):
        interface.encode({"x": [0, 0.5, 1, 3], "y": [0.3] * 4})
        with pytest.raises(hm.errors.ParameterError, match=r"x: .* multiples of 0\.5, and 0\.7 is none"):
            interface.encode({"x": [0, 0.7, 1, 3], "y": [0.3] * 4})
    data = package.interface.encoding.to_data()
    for steps in ([0.5], [0.5, None, None], [0, None], [-1, None], ["a", None]):
        with pytest.raises((hm.errors.FormatError, TypeError, hm.errors.ParameterError)):
            type(package.interface.encoding).from_data({**data, "steps": steps})
