"""Compiled programs: their results are NumPy's, and what they state of themselves is so."""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import hemera as hm
from hemera.arrays import average_pool, conv
from hemera.compiler import Compiled
from hemera.errors import RangeError

Values = NDArray[Any]


@functools.cache
def shallow() -> hm.Parameters:
    """Insecure ones for programs of up to eight levels."""
    return hm.ckks.Parameters.for_circuit(8, scale_bits=40, slots=1024, range_bits=10, security=None)


def deep() -> hm.Parameters:
    """Insecure ones with bootstraps."""
    return hm.ckks.Parameters.for_bootstrapping("test-40")


def compiled(function: Callable[..., Any], *samples: Values, **options: Any) -> Compiled:
    """The function for inputs as these samples are, of shape (samples, *shape)."""
    given = [each[0] for each in samples]
    calibrate = samples[0] if len(samples) == 1 else list(samples)
    return hm.compile(function, *given, calibrate=calibrate, **{"params": shallow(), **options})


def assert_gives(
    function: Callable[..., Any], *samples: Values, bits: float = 14, **options: Any
) -> Compiled:
    """The encrypted results of the first sample are the function's, relative to the largest."""
    plan = compiled(function, *samples, **options)
    own = [each[0] for each in samples]
    expected = function(*own)
    found = plan.local(threads=1)(*own)
    if not isinstance(expected, dict):
        expected, found = {"": expected}, {"": found}
    assert expected.keys() == found.keys()
    for name, value in expected.items():
        assert np.shape(found[name]) == np.shape(value), name
        room = 2.0**-bits * max(1.0, float(np.abs(value).max()))
        np.testing.assert_allclose(found[name], value, rtol=0, atol=room, err_msg=name)
    return plan


def test_statistics_of_a_column() -> None:
    rng = np.random.default_rng(1)

    def study(ages: Any) -> Any:
        z = (ages - ages.mean()) / 30
        return {"mean": ages.mean(), "spread": (z**2).mean(), "skew": (z**3).mean()}

    plan = assert_gives(study, rng.uniform(0, 90, (3, 1000)))
    assert plan.outputs == {"mean": (), "spread": (), "skew": ()}
    assert plan.package.program.depth <= shallow().levels - 1


def test_a_network_of_convolutions() -> None:
    rng = np.random.default_rng(2)
    kernel, bias = rng.normal(size=(4, 1, 3, 3)) / 3, rng.normal(size=4) / 4
    dense = rng.normal(size=(4 * 4 * 4, 10)) / 8

    def network(image: Any) -> Any:
        x = conv(image, kernel, bias, stride=2, padding=1) ** 2
        return (x.reshape(-1) @ dense) ** 2

    plan = assert_gives(network, rng.uniform(0, 1, (4, 1, 8, 8)))
    # A stride of 2 leaves gaps between the results, where other channels go: few diagonals.
    assert plan._lowered.steps[1].diagonals[0] <= 9


def test_several_inputs_of_several_shapes() -> None:
    rng = np.random.default_rng(3)
    a, b, c = (rng.uniform(-1, 1, (4, *shape)) for shape in ((3, 5), (5, 4), (4,)))
    assert_gives(lambda a, b, c: {"y": a @ b + c, "z": (a @ b) @ c}, a, b, c)


@pytest.mark.parametrize("largest", [1.0, 0.5, 1e-3])
@pytest.mark.parametrize("factor", [0.5, 0.3, -1.0])
@pytest.mark.parametrize("precision", [6, 24])
def test_values_up_to_1_times_numbers(largest: float, factor: float, precision: float) -> None:
    def function(x: Any) -> Any:
        return (factor * x + largest / 10) * factor

    plan = hm.compile(function, hm.ArraySpec((8,), range=(-largest, largest)), precision_bits=precision)
    values = np.linspace(-largest, largest, 8)
    # Relative to values of about 1: the scale does not grow for small ones.
    np.testing.assert_allclose(plan.local(threads=1)(values), function(values), rtol=0, atol=2.0**-precision)


def test_functions_by_ranges_of_samples() -> None:
    rng = np.random.default_rng(4)
    x = rng.uniform(0.5, 2, (20, 6))
    assert_gives(lambda x: {"root": np.sqrt(x), "exp": np.exp(-x), "inverse": 1 / x}, x, bits=12)


def test_slots_without_elements_are_bounded() -> None:
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


def test_inputs_by_name_and_in_order() -> None:
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


def test_deep_programs_bootstrap() -> None:
    rng = np.random.default_rng(5)
    matrices = rng.normal(size=(9, 16, 16)) / 16

    def long(x: Any) -> Any:
        for matrix in matrices:
            x = matrix @ x
            x = 3 * x + x * x
        return x

    samples = rng.uniform(-4, 4, (20, 16))
    plan = assert_gives(long, samples, bits=10, params=deep())
    names = [node.operation.name for node in plan.package.program.nodes]
    assert names.count("bootstrap") >= 1
    report = plan.report()
    assert f"{names.count('bootstrap')} bootstrap" in report
    assert "placed by dynamic programming: no placement takes less time" in report
    found = plan._lowered.placement
    assert found is not None
    half = replace(found, exact=False, bound=found.time / 2, method="beam")
    guessed = copy.copy(plan)
    guessed._lowered = replace(plan._lowered, placement=half)
    assert "placed by beam: the least time is at most 50 % less" in guessed.report()
    assert "placed" not in compiled(lambda x: x * x, samples, params=shallow()).report()
    assert plan.package.interface.keys.bootstraps
    # Values up to 4 are scaled: no magnitude of 1 is taken for granted.
    magnitudes = [
        node.operation.magnitude
        for node in plan.package.program.nodes
        if isinstance(node.operation, hm.serving.operations.Bootstraps)
    ]
    assert all(each >= 1 for each in magnitudes)


def test_alike_bootstraps_share_matrices_which_prepare_encodes() -> None:
    def chain(x: Any, times: int) -> Any:
        for _ in range(times):
            x = (x * x - 0.5) * 1.25
        return x

    samples = np.random.default_rng(3).uniform(-1, 1, (4, 8))
    # Squares one after the other, whose scales drift apart from those of their levels.
    plans = [
        assert_gives(functools.partial(chain, times=times), samples, bits=10, params=deep(), name="chain")
        for times in (14, 24)
    ]
    counts = [plan.package.program.operations.get("bootstrap", 0) for plan in plans]
    assert counts[1] > counts[0] >= 1
    one = hm.circuits.Bootstrap(deep(), 8, real=True)._native.cost.plaintext_bytes
    for plan in plans:
        ctx = hm.Context(deep(), threads=1)
        before = ctx.memory_used
        model = plan.prepare(ctx)
        # There are no other matrices, and all values are up to 1.
        assert 0.9 * one <= ctx.memory_used - before < 1.5 * one
        del model


@pytest.mark.parametrize(("width", "bootstrapped"), [(8, False), (96, True)])
def test_bootstraps_are_taken_where_they_take_less_time(width: int, bootstrapped: bool) -> None:
    """At N = 2^16 a program of 33 levels has the choice; those of wide maps cost most at high levels."""
    rng = np.random.default_rng(16)
    matrices = rng.normal(size=(16, width, width)) / width**0.5 / 1.2

    def network(x: Any) -> Any:
        for matrix in matrices:
            x = (x @ matrix) ** 2 / 2 + x @ matrix / 4
        return x

    samples = rng.uniform(-1, 1, (20, width))
    options: dict[str, Any] = {"calibrate": samples, "precision_bits": 10, "device": "nvidia-h200"}
    plan = hm.compile(network, samples[0], **options)
    assert plan.params.degree == 1 << 16
    assert bool(plan.package.program.operations.get("bootstrap")) == bootstrapped
    others = [
        hm.ckks.Parameters.for_circuit(33, scale_bits=34, slots=plan.slots, range_bits=6),
        hm.ckks.Parameters.for_bootstrapping("n16-40", levels=14, digits=4),
    ]
    for params in others:
        other = hm.compile(network, samples[0], params=params, **options)
        assert plan.cost("nvidia-h200").seconds <= 1.05 * other.cost("nvidia-h200").seconds


def test_maps_between_bootstraps_have_keys_of_their_levels() -> None:
    """By which keys and weights are shorter than with keys for all levels; files, clients and checks know
    them."""
    rng = np.random.default_rng(15)
    matrices = rng.normal(size=(5, 16, 16)) / 16

    def long(x: Any) -> Any:
        for matrix in matrices:
            x = np.tanh(matrix @ x)
        return x

    plan = compiled(long, rng.uniform(-1, 1, (20, 16)), precision_bits=10, params=deep())
    keys = plan.package.interface.keys
    assert len({key.level for key in keys.own}) > 1
    loaded = hm.serving.Package.load(bytes(plan.package))
    assert loaded.interface.keys == keys

    ctx = hm.Context(plan.params, threads=2)
    secret = ctx.generate_secret_key()
    made = loaded.generate_keys(ctx, secret)
    loaded.check(ctx, made)
    # The same rotations for all levels do not do.
    steps = sorted({key.steps for key in keys.own})
    others = [
        ctx.generate_keys(secret, rotations=[*keys.rotations, *steps], relinearization=True),
        *(ctx.generate_keys(secret, plan=bootstrap) for bootstrap in keys.plans(plan.params)),
    ]
    with pytest.raises(hm.errors.MissingKeyError, match=f"rotation by {steps[0]} at level"):
        loaded.check(ctx, functools.reduce(lambda a, b: a | b, others))
    need = keys.own[0].need(ctx)
    usual = hm._core.key_need(plan.params._native, 1, need.galois_element, keys.own[0].level)
    assert len(need.primes) + len(need.special_primes) < len(usual.primes) + len(usual.special_primes)


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
def test_files_with_wrong_keys_are_refused(key: Any) -> None:
    plan = compiled(lambda x: x @ np.ones((4, 2)), np.ones((2, 4)))
    told = json.loads(json.dumps(plan.package.interface.describe()))
    told["keys"]["own"] = [key]
    with pytest.raises(hm.errors.FormatError):
        hm.serving.Interface.from_dict(told)


def test_magnitudes_of_bootstraps() -> None:
    """Values of 100 through a bootstrap: without their magnitude its sine would lose them (1e-2)."""
    rng = np.random.default_rng(6)
    samples = rng.uniform(-100, 100, (20, 16))

    def long(x: Any) -> Any:
        for _ in range(8):
            x = 0.7 * np.roll(x, 3) + x * x / 500
        return x

    plan = assert_gives(long, samples, bits=12, params=deep())
    found = [node.operation for node in plan.package.program.nodes if node.operation.name == "bootstrap"]
    assert found
    assert max(each.magnitude for each in found) > 1  # type: ignore[attr-defined]


def test_files_and_servers_take_it(tmp_path: Path) -> None:
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


def test_files_of_convolutions_are_small() -> None:
    """The map of a convolution has few different entries: not a dense matrix of 4,096 slots (134 MB)."""
    kernel = np.random.default_rng(8).normal(size=(16, 16, 3, 3))
    plan = hm.compile(
        lambda x: conv(x, kernel, padding=1),
        hm.ArraySpec((16, 16, 16), (-1, 1)),
        params=hm.ckks.Parameters.for_circuit(2, slots=4096, range_bits=12, security=None),
    )
    assert len(bytes(plan.package)) < 1_000_000


def test_layouts_take_no_larger_ring() -> None:
    """Copies in slots could save rotations, but not at the price of a ring that the depth does not need."""
    weights = np.random.default_rng(16).normal(size=(4, 3))
    plan = hm.compile(lambda x: x @ weights + 1, hm.ArraySpec((100, 4), (-1, 1)))
    assert plan.params.degree == hm.ckks.Parameters.for_circuit(1, scale_bits=40, slots=512).degree


def test_the_cost_is_that_of_the_package() -> None:
    samples = np.random.default_rng(9).uniform(-1, 1, (3, 12))
    plan = compiled(lambda x: (x @ np.arange(36.0).reshape(12, 3) / 36) ** 2, samples)
    cost = plan.cost("cpu-avx512-16")
    assert cost.seconds is not None
    assert cost.seconds > 0
    assert cost.operations == plan.package.cost().operations
    report = plan.report()
    for word in ("input x", "linear map", "square", "(12,)", "(3,)", "test_compile.py:"):
        assert word in report


def test_check_compares_and_counts() -> None:
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
    with pytest.raises(hm.errors.MismatchError):
        plan.check(samples[:, :3])


# --- What is refused. ---


def test_branches_name_the_way_out() -> None:
    def branch(x: Any) -> Any:
        return x if x[0] > 0 else -x

    with pytest.raises(TypeError, match=r"gap|depend"):
        hm.compile(branch, hm.ArraySpec((3,), (0, 1)))


def test_missing_and_infinite_ranges() -> None:
    with pytest.raises(hm.errors.ParameterError, match="range"):
        hm.compile(lambda x: x * 2, np.zeros(3))
    with pytest.raises(hm.errors.ParameterError):
        hm.compile(lambda x: x * 2, hm.ArraySpec((3,), (0, np.inf)))

    def explodes(x: Any) -> Any:
        for _ in range(12):
            x = x * x
        return x

    with pytest.raises(hm.errors.ParameterError, match=r"test_compile\.py"):
        hm.compile(explodes, hm.ArraySpec((3,), (0, 10)))


def test_other_results_and_inputs() -> None:
    spec = hm.ArraySpec((3,), (0, 1))
    with pytest.raises(TypeError, match="returns"):
        hm.compile(lambda _: np.ones(3), spec)
    with pytest.raises(TypeError, match="function"):
        hm.compile(3, spec)  # type: ignore[arg-type]
    with pytest.raises(hm.errors.ParameterError, match="inputs"):
        hm.compile(lambda: 1)
    with pytest.raises(hm.errors.MismatchError, match="samples"):
        hm.compile(lambda x: x, spec, calibrate=np.zeros((5, 4)))


def test_too_few_levels() -> None:
    params = hm.ckks.Parameters.for_circuit(1, slots=64, security=None)
    with pytest.raises(hm.errors.LevelError):
        hm.compile(lambda x: (x * x) ** 2, hm.ArraySpec((64,), (0, 1)), params=params)


# --- Convolutions against sums. ---


@pytest.mark.parametrize(
    ("shape", "weights", "options"),
    [
        ((2, 9), (4, 2, 3), {}),
        ((2, 9), (4, 2, 3), {"stride": 2, "padding": 1}),
        ((4, 7, 8), (6, 2, 3, 2), {"stride": (2, 1), "padding": (1, 0), "groups": 2}),
        ((3, 10, 9), (2, 3, 3, 3), {"dilation": (2, 3), "padding": 2}),
    ],
)
def test_convolutions_are_sums(shape: Any, weights: Any, options: Any) -> None:
    """By the definition: y[o, p] sums over c, k w[o, c, k] x[group + c, p stride + k dilation - pad]."""
    rng = np.random.default_rng(11)
    x, w, bias = rng.normal(size=shape), rng.normal(size=weights), rng.normal(size=weights[0])
    axes = len(shape) - 1

    def each(name: str, default: int) -> tuple[int, ...]:
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


def test_pooling_is_a_mean() -> None:
    x = np.random.default_rng(12).normal(size=(3, 8, 6))
    expected = x.reshape(3, 4, 2, 3, 2).mean((2, 4))
    np.testing.assert_allclose(average_pool(x, 2), expected, atol=1e-12)
    assert average_pool(x, (3, 2), stride=1).shape == (3, 6, 5)
    for wrong in ({"size": (1, 2, 3)}, {"size": 9}):
        with pytest.raises(hm.errors.MismatchError):
            average_pool(x, **wrong)
    with pytest.raises(hm.errors.ParameterError):
        conv(x, np.ones((1, 3, 2, 2)), stride=0)


@pytest.mark.parametrize("name", ["relu", "abs"])
def test_maps_take_in_the_range_of_functions_around_0(name: str) -> None:
    """On wide intervals these take a level more, which maps before and after them save."""
    function = {"relu": lambda x: np.maximum(x, 0), "abs": np.abs}[name]
    own = getattr(hm.circuits, name)
    rng = np.random.default_rng(17)
    weights = rng.normal(size=(2, 8, 8))
    samples = rng.uniform(-5, 5, (30, 8))
    largest = float(np.abs(samples @ weights[0]).max())
    bits = 11 - np.log2(largest)
    wide, unit = (own((-end, end), bits=bits + extra).depth for end, extra in ((largest, 0), (1, 11 - bits)))
    assert wide > unit
    plan = compiled(lambda x: function(x @ weights[0]) @ weights[1], samples, precision_bits=11, params=None)
    assert plan.depth == unit + 2
    expected = function(samples @ weights[0]) @ weights[1]
    assert np.abs(plan.evaluate_clear(samples) - expected).max() < 2**-8 * np.abs(expected).max()


def test_programs_with_bootstraps_have_no_slots_for_copies() -> None:
    """Copies in slots save rotations here, and bootstraps of more slots would take longer than that."""
    rng = np.random.default_rng(18)
    first, second = rng.normal(size=(8, 4, 3, 3)) / 36, rng.normal(size=(8, 8, 3, 3)) / 72

    def network(x: Any) -> Any:
        return conv(conv(x, first, stride=2, padding=1) ** 2, second, padding=1)

    spec = hm.ArraySpec((4, 8, 8), (-1, 1))
    without = hm.compile(network, spec, params=shallow())
    assert hm.compile(network, spec, params=deep()).slots == 4 * 8 * 8 < without.slots


def test_results_must_fit_given_parameters() -> None:
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


@pytest.mark.parametrize(("bits", "preset"), [(16, "n16-40"), (19, "n16-40-precise"), (22, "n16-45")])
def test_presets_of_deep_programs_have_the_precision(bits: int, preset: str) -> None:
    matrix = np.random.default_rng(4).normal(size=(8, 8)) / 16

    def network(x: Any) -> Any:
        for _ in range(14):
            x = np.tanh(x @ matrix)
        return x

    plan = hm.compile(network, hm.ArraySpec((8,), range=(-1, 1)), precision_bits=bits)
    assert plan.package.program.operations["bootstrap"] > 0
    boot = hm.circuits.Bootstrap(plan.params, plan.slots, real=True)
    of = hm.ckks.Parameters.for_bootstrapping
    assert plan.params == of(preset, levels=boot.levels_left, digits=4)
    assert boot.expected_precision()[1] >= bits + 2


def test_clients_give_multiples_of_the_step(tmp_path: Path) -> None:
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
