"""Several samples in each ciphertext: NumPy's results for each, by the operations of one."""

import dataclasses
import warnings

import numpy as np
import pytest

import hemera as hm
from hemera.arrays import conv
from hemera.errors import MismatchError, ParameterError
from hemera.program.program import Program
from hemera.program.values import Form

from ..arrays.programs import listed
from ..refusals import raises

RNG = np.random.default_rng(21)
Spec = hm.ArraySpec
MATRIX = RNG.uniform(-1, 1, (7, 12)) / 3
KERNEL = RNG.uniform(-1, 1, (3, 2, 3, 3)) / 4


def shallow(depth=8):
    """Insecure ones with 512 slots."""
    return hm.ckks.Parameters.for_circuit(depth, scale_bits=40, range_bits=10, degree=1024, security=None)


PROGRAMS = {
    "moments": ((12,), lambda x: {"mean": x.mean(), "centred": x - x.mean(), "sum": x.sum()}),
    "matrix": ((12,), lambda x: MATRIX @ x),
    "wide matrix": ((3, 12), lambda x: x @ MATRIX.T + np.arange(7.0)),
    "places": ((3, 4), lambda x: [np.roll(x, 1), x.T, x[::-1, 1:]]),
    "functions": ((9,), lambda x: np.exp(x) * np.arange(9.0)),
    "encrypted matrices": ((3, 4), lambda x: x @ x.T),
    "convolution": ((2, 5, 5), lambda x: conv(x, KERNEL, np.arange(3.0), padding=1) ** 2),
    "number": ((), lambda x: 3 * x * x + 1),
    "polynomials": ((8,), lambda x: np.where(np.arange(8) % 2 == 0, x**3, 1 - x)),
}


@pytest.mark.parametrize("samples", [2, 8])
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_sample_has_numpys_results(name, samples):
    shape, program = PROGRAMS[name]
    options = {"params": shallow(), "precision_bits": 14}
    one = hm.compile(program, Spec(shape, (-1, 1)), **options)
    plan = hm.compile(program, Spec(shape, (-1, 1)), samples=samples, **options)
    assert (one.samples, plan.samples) == (1, samples)
    if len(plan.package.inputs) == 1:  # 8 images take more than a ciphertext
        least = max(4, samples)  # a number takes one slot, and a ciphertext has four
        if name == "convolution":  # whose copies take the slots that samples leave
            assert plan.slots <= one.slots * samples
        else:
            assert plan.slots == (one.slots * samples if shape else least)
            assert plan.cost().operations == one.cost().operations
    assert f"{samples} samples in each ciphertext" in plan.report()
    local = plan.local(threads=1)
    for count in (1, samples, samples + 1, 3 * samples - 1):
        x = RNG.uniform(-1, 1, (count, *shape))
        wanted = [listed(program(each)) for each in x]
        for found in (listed(local(x)), listed(plan.evaluate_clear(x))):
            assert len(found) == len(wanted[0])
            for at, own in enumerate(found):
                expected = np.stack([each[at] for each in wanted])
                assert own.shape == expected.shape
                np.testing.assert_allclose(
                    own, expected, rtol=0, atol=2.0**-12 * max(1, np.abs(expected).max())
                )


def test_checks_and_bits_are_of_samples():
    x = RNG.uniform(-1, 1, (5, 12))
    plan = hm.compile(lambda x: {"y": MATRIX @ x}, Spec((12,), (-1, 1)), samples=4, params=shallow(2))
    found = plan.check(x, encrypted=2, threads=1)
    assert (found.samples, found.encrypted) == (5, 2)
    assert plan.expected_bits(x) == pytest.approx(found.bits, abs=2.5)


def test_several_inputs():
    def program(a, b):
        return {"outer": np.outer(a, b), "sum": a.sum() + b.sum()}

    plan = hm.compile(program, Spec((3,), (-1, 1)), Spec((5,), (0, 2)), samples=4, params=shallow(3))
    a, b = RNG.uniform(-1, 1, (6, 3)), RNG.uniform(0, 2, (6, 5))
    found = plan.local(threads=1)(a, b)
    named = plan.package.evaluate_clear({"a": a, "b": b})
    for at in range(6):
        for name, value in program(a[at], b[at]).items():
            np.testing.assert_allclose(found[name][at], value, atol=1e-5)
            np.testing.assert_allclose(named[name][at], value, atol=1e-9)
    for wrong in ((a, b[:5]), (a, b[:0]), (a[0], b[0]), (a[:0], b[:0]), (a, b[:, :4]), (1.0, 2.0)):
        raises(MismatchError, "samples", plan.evaluate_clear, *wrong)
    raises(ParameterError, "b: the model is for values from 0", lambda: plan.evaluate_clear(a, b - 1))


def test_samples_of_several_ciphertexts():
    plan = hm.compile(lambda x: x * x - x.mean(), Spec((600,), (-1, 1)), samples=2, params=shallow(3))
    assert len(plan.package.inputs) == 3  # of 256 slots for each sample
    x = RNG.uniform(-1, 1, (3, 600))
    np.testing.assert_allclose(plan.local(threads=1)(x), x * x - x.mean(1, keepdims=True), atol=1e-5)


@pytest.mark.parametrize("scheme", ["bfv", "bgv"])
def test_exact_programs(scheme):
    def survey(x):
        return {
            "counts": np.histogram(x, [1, 2, 3, 4, 5, 6])[0],
            "above": (x > 3).sum(),
            "matrix": np.arange(24).reshape(4, 6) @ x,
            "both": np.where(x == 2, x + 7, np.arange(6) * x),
        }

    plan = hm.compile(survey, Spec((6,), (1, 5)), scheme=scheme, samples=8, security=None)
    x = RNG.integers(1, 6, (11, 6))
    found, clear = plan.local(threads=1)(x), plan.evaluate_clear(x)
    for at in range(11):
        for name, value in survey(x[at]).items():
            np.testing.assert_array_equal(found[name][at], value)
            np.testing.assert_array_equal(clear[name][at], value)
    assert str(plan.check(x, threads=1)).startswith("11 samples, 1 of them encrypted: exactly equal")
    raises(ParameterError, "values from 1", lambda: plan.evaluate_clear(x + 1))


def test_steps_are_checked():
    plan = hm.compile(
        lambda x: x > 2, Spec((4,), (0, 5), step=1), samples=2, params=shallow(12), precision_bits=8
    )
    x = RNG.integers(0, 6, (3, 4)).astype(float)
    np.testing.assert_allclose(plan.evaluate_clear(x), x > 2, atol=2e-2)
    raises(ParameterError, "multiples of 1", lambda: plan.evaluate_clear(x / 2 + 0.25))


@pytest.mark.parametrize("scheme", ["ckks", "bfv"])
def test_files_have_the_numbers_of_one_sample(scheme):
    kernel = np.arange(1, 19).reshape(2, 1, 3, 3)
    options = {"params": shallow(2)} if scheme == "ckks" else {"security": None, "scheme": scheme}
    sizes = []
    for samples in (1, 8):
        spec = Spec((1, 8, 8), (0, 1))
        plan = hm.compile(lambda x: conv(x, kernel, padding=1), spec, samples=samples, **options)
        maps = [node.operation for node in plan.package.program.nodes if hasattr(node.operation, "places")]
        sizes.append(sum(each.places.nbytes for each in maps))
        wrong = [dataclasses.replace(each, samples=bad) for each in maps for bad in (0, 3, 1 << 17, 1 << 40)]
        for each in wrong:
            program = Program(plan.package.program.scheme, [Form(plan.package.inputs[0].slots)])
            raises((MismatchError, ParameterError), "", program.add, each, 0)
    assert sizes[0] == sizes[1] > 0


def test_what_is_refused():
    for wrong in (0, -1, 3, 1024):
        with pytest.raises(ParameterError, match=rf"samples={wrong}: a ciphertext of 512 slots"):
            hm.compile(lambda x: x, Spec((4,), (0, 1)), samples=wrong, params=shallow())
    with pytest.raises(ParameterError, match="samples=3"):
        hm.compile(lambda x: x, Spec((4,), (0, 1)), samples=3, scheme="bfv")
    frame = {"age": np.array([30.0, 60.0])}
    with pytest.raises(ParameterError, match="a table is one sample"):
        hm.compile(lambda t: t.age.mean(), hm.TableSpec.of(frame, ranges={"age": (0, 120)}), samples=2)


def test_exact_rings_have_room_for_all_samples():
    def program(x):
        return {"sum": x.sum(), "next": np.roll(x, 1) * 2 - x}

    def right(plan, x):
        found = plan.evaluate_clear(x)
        wanted = [program(each) for each in x]
        return all((found[name] == np.stack([each[name] for each in wanted])).all() for name in found)

    x = RNG.integers(0, 4, (9, 1500))
    found = hm.compile(program, Spec((1500,), (0, 3)), scheme="bfv", samples=8)
    assert found.params.max_slots >= 2 * 8 * 2048
    assert right(found, x)
    params = hm.bgv.Parameters.for_circuit(2, plain_bits=25, degree=4096, security=None)
    given = hm.compile(program, Spec((1500,), (0, 3)), scheme="bgv", samples=4, params=params)
    assert len(given.package.inputs) == 3  # of 512 slots of a row for each sample
    assert right(given, x)


@pytest.mark.parametrize("samples", [64, 256, 512])
def test_samples_of_few_slots(samples):
    """Down to one slot for each sample."""
    plan = hm.compile(
        lambda x: {"y": 3 * x * x - x, "s": x.sum()},
        Spec((2,), (-1, 1)),
        samples=samples,
        params=shallow(2),
        layout="slots",
    )
    assert plan.slots == 512 or samples == 64
    x = RNG.uniform(-1, 1, (samples + 3, 2))
    found = plan.local(threads=1)(x)
    np.testing.assert_allclose(found["y"], 3 * x * x - x, atol=1e-5)
    np.testing.assert_allclose(found["s"], x.sum(1), atol=1e-5)


def test_exact_copies_leave_room_for_samples():
    matrix = RNG.integers(-2, 3, (4, 64))
    params = hm.bfv.Parameters.for_circuit(2, plain_bits=25, degree=4096, security=None)

    def program(x):
        return {"a": x @ matrix, "b": np.outer(x, x), "c": (x @ matrix) @ matrix.T}

    plan = hm.compile(program, Spec((4,), (0, 3)), scheme="bfv", samples=32, params=params)
    x = RNG.integers(0, 4, (40, 4))
    found = plan.evaluate_clear(x)
    for name, value in program(x[39]).items():
        np.testing.assert_array_equal(found[name][39], value)


def test_exact_samples_take_the_operations_of_one():
    matrix = RNG.integers(-2, 3, (16, 16))
    params = hm.bfv.Parameters.for_circuit(2, plain_bits=25, degree=4096, security=None)
    one, many = (
        hm.compile(lambda x: matrix @ x, Spec((16,), (0, 3)), scheme="bfv", samples=samples, params=params)
        for samples in (1, 8)  # 16 leave no slots for copies
    )
    assert many.cost().operations == one.cost().operations
    assert len(many.cost().needed_keys) == len(one.cost().needed_keys)


def test_samples_take_no_larger_ring_than_they_need():
    """Copies in slots save rotations, but not at the price of a larger ring."""
    weights = RNG.normal(size=(4, 3))
    plan = hm.compile(lambda x: x @ weights + 1, Spec((100, 4), (-1, 1)), samples=8)
    assert plan.params.degree == hm.ckks.Parameters.for_circuit(1, scale_bits=40, slots=8 * 512).degree


@pytest.mark.parametrize("compare", [np.greater, np.greater_equal, np.less, np.less_equal, np.not_equal])
@pytest.mark.parametrize("swapped", [False, True])
def test_what_samples_show_decides_no_comparison(compare, swapped):
    """An input with a computed value that is 0 in all samples, and anything in its range in other rows: these
    are right, or told."""

    def program(x, y):
        return compare(2 * y, x) if swapped else compare(x, 2 * y)

    specs = Spec((5,), (1, 2), step=0.5), Spec((5,), (0, 2), step=0.5)
    samples = RNG.choice([1, 1.5, 2], (6, 5)), np.zeros((6, 5))
    plan = hm.compile(program, *specs, calibrate=samples, precision_bits=8, security=None)
    x, y = np.array([1, 1.5, 2, 1, 2]), np.array([0.5, 1, 1, 2, 0])
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        found = plan.local(threads=1)(x, y)
    right = np.abs(found - program(x, y)).max() < 2.0**-6
    assert right or any("leaves the range" in str(each.message) for each in given)
