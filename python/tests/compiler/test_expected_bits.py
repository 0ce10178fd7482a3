"""The bits that plans expect, next to the errors of encrypted runs: the judge is NumPy in float64."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hemera as hm
from hemera import circuits
from hemera.arrays import conv
from hemera.arrays.chains import FusingRecorder
from hemera.circuits import Bootstrap
from hemera.compiler.agreement import expected_bits
from hemera.compiler.packaged import Local
from hemera.compiler.passes import traced
from hemera.compiler.result_errors import Recording, roughly_noisy
from hemera.program import operations as op
from hemera.program.expected_noise import ExpectedNoise
from hemera.program.program import Program
from hemera.program.tracing import dot
from hemera.program.values import Form

RNG = np.random.default_rng(11)
MATRIX = RNG.normal(size=(48, 32)) / 7
WIDE = 40 * RNG.normal(size=(16, 16))
KERNEL = np.array([1.0, 4, 6, 4, 1]).reshape(1, 1, 5) / 16


def measured(plan: hm.Compiled, *samples: Any, encryptions: int = 7) -> float:
    """Bits of the root mean square of seven encryptions' errors: that of a single number is a quarter of what
    is expected in one of 3,000 tests, where the median of five was in one of 20. The largest error of many
    numbers varies little: two encryptions do."""
    errors = [2.0 ** -plan.check(*samples).bits for _ in range(encryptions)]
    return -math.log2(math.sqrt(statistics.fmean(error**2 for error in errors)))


def agree(plan: hm.Compiled, *samples: Any, encryptions: int = 7) -> None:
    found = measured(plan, *samples, encryptions=encryptions)
    assert plan.expected_bits(*samples) == pytest.approx(found, abs=2)


def spread(x: Any) -> Any:
    return {"mean": x.mean(), "variance": ((x - x.mean()) ** 2).mean()}


PROGRAMS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...], tuple[float, float]]] = {
    "matrix": (lambda x: x @ MATRIX, (48,), (-1, 1)),
    "large matrix": (lambda x: x @ WIDE, (16,), (-1, 1)),
    "large values": (spread, (500,), (0, 120)),
    "small values": (lambda x: x * 0.25 + x, (100,), (-1e-3, 1e-3)),
    "sum of squares": (lambda x: (x**2).sum(), (64,), (-1, 1)),
    "powers": (lambda x: x**7 - 0.5 * x**2, (200,), (-1, 1)),
    "polynomial": (lambda x: np.polyval([0.3, -0.2, 0.7, 0.1], x), (300,), (-1, 1)),
    "smoothing": (lambda x: conv(x, KERNEL), (1, 64), (-4, 4)),
    "only masks": (lambda x: x * np.linspace(-30, 30, 64), (64,), (-1, 1)),
    "reversed": (lambda x: x[::-1] + x, (30,), (-1, 1)),
}


@pytest.mark.parametrize("precision", [10, 26])
@pytest.mark.parametrize("name", PROGRAMS)
def test_noise_is_as_expected(name: str, precision: float) -> None:
    function, shape, (low, high) = PROGRAMS[name]
    plan = hm.compile(function, hm.ArraySpec(shape, range=(low, high)), precision_bits=precision)
    agree(plan, RNG.uniform(low, high, (1, *shape)))
    # Noise without slots is far only where that in slots leaves the bits.
    recording = Recording(traced(function, plan.inputs, FusingRecorder()), plan.inputs, [None])
    runs = roughly_noisy(plan._program, plan.params, plan.slots), plan._noisy()
    for rough, drawn in zip(*(recording.with_noise(each, 60) for each in runs), strict=True):
        assert drawn.bits > precision or not rough.has_little_noise(precision)


@pytest.mark.parametrize("precision", [6, 12])
def test_approximations_count(precision: float) -> None:
    plan = hm.compile(
        lambda x: np.tanh(x @ MATRIX), hm.ArraySpec((48,), range=(-1, 1)), precision_bits=precision
    )
    sample = RNG.uniform(-1, 1, (1, 48))
    agree(plan, sample)
    assert plan.expected_bits(sample) < precision + 8  # far less than the noise alone leaves


def test_several_inputs_and_levels() -> None:
    specs = [hm.ArraySpec((40,), range=(-2, 2)), hm.ArraySpec((40,), range=(0, 5))]
    plan = hm.compile(lambda x, y: x * y + (x - y) ** 4 / 100 + x, *specs, precision_bits=14)
    agree(plan, RNG.uniform(-2, 2, (2, 40)), RNG.uniform(0, 5, (2, 40)))


ARRAY = RNG.uniform(-1, 1, 256)
OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda x: x,
    "rotate": lambda x: x.rotate(3) + x.rotate(7) + x.rotate(11),
    "square": lambda x: x * x,
    "power": lambda x: x**4,
    "mask": lambda x: x * ARRAY,
    "large values times a mask": lambda x: (x + 900) * ARRAY,
    "array": lambda x: x + ARRAY,
    "number": lambda x: x * 0.3,
    "two levels of a product": lambda x: (x * 100.3) * x,
    "two levels": lambda x: x * x + x,
    "sum": lambda x: x.sum(),
    "complex mask": lambda x: (x + 900) * (ARRAY + 1j * ARRAY[::-1]),
    "dot": lambda x: dot([x + 300, x], [ARRAY, -ARRAY]),
    "conjugate": lambda x: x.conjugate() + x,
}


STEEP: dict[str, tuple[circuits.Function, float]] = {
    "log": (circuits.log((0.01, 100), bits=12), 0.01),
    "inverse": (circuits.inverse((0.01, 100), bits=14), 0.01),
    "power": (circuits.approximate(lambda x: x**-1.5, (0.05, 10), 63), 0.05),
    "peak": (circuits.approximate(lambda x: 1 / (0.01 + x * x), (-3, 3), 255), 0.0),
}
"""Functions, and where their noise is up to 150 times that of the interval."""


@pytest.mark.parametrize("name", [*OPERATIONS, *STEEP])
def test_the_noise_of_each_operation(name: str) -> None:
    function, place = STEEP.get(name, (None, 0.0))
    package = hm.serving.export(OPERATIONS.get(name, lambda x: x.apply(function)), inputs=256, name=name)
    x = np.full(256, place) if function else RNG.choice([-1.0, 1.0], 256)  # where noise grows most
    exact, runs = package.evaluate_clear([x]), 4 if function else 60
    local = Local(package)
    measured = np.mean(np.abs([local(x) - exact for _ in range(runs)]) ** 2)
    noises = [ExpectedNoise(package.program, package.params, seed) for seed in range(runs)]
    drawn = np.mean(np.abs([package.evaluate_clear([x], noise=noise) - exact for noise in noises]) ** 2)
    # A sum is one number, whose 60 errors have a deviation that varies by a tenth; slots share rounding.
    room = 2 if name == "sum" or function else 1.15
    assert 1 / room < np.sqrt(drawn / measured) < room


@pytest.mark.parametrize("part", [1.0, 0.1, 0.01])
@pytest.mark.parametrize("magnitude", [1.0, 8.0])
@pytest.mark.parametrize("real", [True, False])
def test_the_noise_of_bootstraps_is_that_of_the_values(part: float, magnitude: float, real: bool) -> None:
    params = hm.ckks.Parameters.for_bootstrapping("test-40")
    program = Program("ckks", [Form(64)])
    program.give(program.add(op.Bootstraps(real=real, iterations=1, magnitude=magnitude), 0))
    x = part * RNG.uniform(-magnitude, magnitude, 64)
    noise = ExpectedNoise(program, params)
    drawn = np.std([program.evaluate_clear([x], changed=noise.added)[0] - x for _ in range(20)])

    ctx = hm.Context(params, "cpu")
    secret = ctx.generate_secret_key()
    plan = Bootstrap(params, 64, real=real)
    evaluator = ctx.bind(ctx.generate_keys(secret, plan=plan))
    # The deviation of one bootstrap's 64 errors varies by a tenth.
    errors = []
    for _ in range(6):
        given = ctx.encrypt(ctx.encode(x, level=plan.input_level), secret)
        found = evaluator.bootstrap(given, plan, magnitude=magnitude)
        errors.append(np.real(ctx.decrypt(found, secret)) - x)
    # The model takes values of the whole magnitude; of small real ones the errors are a third (2.7 to 3.1 in
    # eight runs).
    assert 0.4 < drawn / np.std(errors) < (3.6 if part < 0.1 else 2.5)


@pytest.mark.parametrize("factor", [2.0, 8.0])
def test_magnitudes_change_the_noise_of_bootstraps_by_its_formula(factor: float) -> None:
    """Drawn by one seed: of values and magnitudes so many times as large it is as many times as large; of the
    same values m sqrt(0.06 + 0.94 min(1, 3 s / m^2)) for the mean square s."""
    params = hm.ckks.Parameters.for_bootstrapping("test-40")

    def drawn(magnitude: float, x: Any) -> Any:
        program = Program("ckks", [Form(64)])
        program.give(program.add(op.Bootstraps(real=True, iterations=1, magnitude=magnitude), 0))
        return ExpectedNoise(program, params, seed=3).added(1, x, [x]) - x

    x = np.random.default_rng(4).uniform(-0.7, 0.7, 64)
    parts = [math.sqrt(0.06 + 0.94 * min(1, 3 * float(np.mean(x**2)) / m**2)) for m in (1, factor)]
    np.testing.assert_allclose(drawn(factor, factor * x), factor * drawn(1, x), rtol=1e-6)
    np.testing.assert_allclose(drawn(factor, x), factor * parts[1] / parts[0] * drawn(1, x), rtol=1e-6)


def test_bootstraps_count() -> None:
    params = hm.ckks.Parameters.for_bootstrapping("test-40")

    def chain(x: Any) -> Any:
        for _ in range(7):
            x = x * 0.75 - 0.25 * x**3  # stays in its range
        return x

    sample = RNG.uniform(-1, 1, (1, 64))
    plan = hm.compile(
        chain, hm.ArraySpec((64,), range=(-1, 1)), calibrate=sample, params=params, precision_bits=10
    )
    assert plan.package.program.operations["bootstrap"] >= 1
    agree(plan, sample, encryptions=2)  # of 64 numbers
    exact = plan.package.evaluate_clear(sample[0])
    assert np.abs(exact - chain(sample[0])).max() < 1e-12  # so the bits are those of noise


def test_estimators() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    rows = RNG.normal(size=(80, 6))
    model = linear.LogisticRegression().fit(rows, rows[:, 0] > 0)
    plan = hm.compile(model, calibrate=rows, rows=4)
    samples = plan._table.prepared(rows[:8])
    assert plan.expected_bits(samples) == pytest.approx(plan.check(rows[:8], encrypted=2).bits, abs=2)


def test_exact_programs_have_all_bits() -> None:
    plan = hm.compile(lambda x: x * 3 + 1, hm.ArraySpec((8,), range=(0, 9)), scheme="bfv")
    assert plan.expected_bits() == math.inf
    assert "exact results" in plan.report()
    with pytest.raises(hm.errors.ParameterError, match="exact"):
        ExpectedNoise(plan.package.program, plan.params)


def test_reports_have_them_for_the_whole_range() -> None:
    plan = hm.compile(lambda x: x @ MATRIX, hm.ArraySpec((48,), range=(-1, 1)))
    bits = plan.expected_bits()
    assert f"about {bits:.0f} bits" in plan.report()
    assert bits == plan.expected_bits()  # the same draws
    assert bits == pytest.approx(measured(plan, RNG.uniform(-1, 1, (1, 48))), abs=2)


@pytest.mark.parametrize("step", [1.0, 0.25, 3.0])
def test_draws_are_multiples_of_the_step(step: float) -> None:
    spec = hm.ArraySpec((20,), range=(-4.1, 7.3), step=step)
    plan = hm.compile(lambda x: x * 2 + 1, spec)
    (drawn,) = (each[:1] for each in plan._draws.inputs)
    np.testing.assert_array_equal(drawn, step * np.round(drawn / step))
    assert drawn.min() >= -4.1
    assert drawn.max() <= 7.3
    assert len(np.unique(drawn)) > 2
    assert plan.expected_bits() == pytest.approx(measured(plan, drawn), abs=2)


def test_more_scale_gives_as_many_more_bits() -> None:
    def bits(scale: int) -> float:
        params = hm.ckks.Parameters.for_circuit(2, scale_bits=scale, slots=64)
        spec = hm.ArraySpec((48,), range=(-1, 1))
        return hm.compile(lambda x: x @ MATRIX, spec, params=params).expected_bits()

    assert bits(45) - bits(35) == pytest.approx(10, abs=0.5)


def test_samples_of_other_shapes_are_refused() -> None:
    plan = hm.compile(lambda x: x + 1, hm.ArraySpec((8,), range=(0, 1)))
    with pytest.raises(hm.errors.MismatchError, match="shapes"):
        plan.expected_bits(np.zeros((1, 9)))


def test_numbers_are_rounded_as_they_are_encoded() -> None:
    """The mean of many: 1/n has few bits, and its error is that of all slots alike."""
    params = hm.ckks.Parameters.for_circuit(
        1, scale_bits=40, range_bits=20, slots=64, degree=2048, security=None
    )
    factors = [1.1e-5, 2.3e-5, 3.7e-5, 0.9e-5, 1.7e-5, 2.9e-5]
    plan = hm.compile(
        lambda x: [x.sum() * each for each in factors], hm.ArraySpec((1000,), (99, 101)), params=params
    )
    x = RNG.uniform(99, 101, (1, 1000))
    found = measured(plan, x)
    assert found < 28
    assert plan.expected_bits(x) == pytest.approx(found, abs=2)


def test_each_result_is_drawn_often() -> None:
    """A single number next to a large array: its error is close to zero by chance in some draws."""
    calls = []

    def noisy(x: Any) -> Any:
        calls.append(1)
        return {"all": x, "one": x.mean() + len(calls) % 2}

    x = np.ones((1, 1000))
    found = expected_bits(lambda x: {"all": x, "one": x.mean()}, noisy, [x])
    assert len(calls) == 16
    assert found == pytest.approx(0.5)
