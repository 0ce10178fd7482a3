"""What checks tell of a plan: each number by its formula, of differences that are put in."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

import hemera as hm
from hemera.compiler import result_errors
from hemera.compiler.agreement import exact_agreement
from hemera.compiler.precision import precise
from hemera.errors import MismatchError, PrecisionError, RangeError

SPEC = hm.ArraySpec((4,), range=(-9, 9))
SAMPLES = np.array([[1.0, 2, -3, 4], [0.5, -8, 1, 1], [1, 1, 1, 0.25], [0.5, 0, 0, 0]])
"""The largest ones in the middle, the smallest last."""


def study(x):
    return {"a": x, "b": x.sum() / 1000}


def plan_of(errors, monkeypatch):
    """A plan whose encrypted results are off: by parts of an error, of which the second sample has all."""
    plan = hm.compile(study, SPEC, precision_bits=20, security=None)
    parts = iter([0.5, 1.0, 0.25, 0.0])

    def local(**_):
        def run(x):
            part = next(parts)
            return {name: own - part * errors[name] for name, own in study(x).items()}

        return run

    monkeypatch.setattr(plan, "local", local)
    return plan


@pytest.mark.parametrize("encrypted", [0, 1, 2, 4, 9])
@pytest.mark.parametrize("errors", [{"a": 0.5, "b": 0.001}, {"a": 0.001, "b": 0.001}])
def test_checks_tell_the_largest_of_all_samples(encrypted, errors, monkeypatch):
    """Relative to each result's own largest value, whatever another result has."""
    plan = plan_of(errors, monkeypatch)
    agreed = plan.check(SAMPLES, encrypted=encrypted)
    part = {0: math.nan, 1: 0.5}.get(encrypted, 1.0)
    sizes = {"a": 8.0, "b": 5.5 / 1000}
    assert (agreed.samples, agreed.encrypted) == (4, min(encrypted, 4))
    assert agreed.largest == 8
    assert agreed.error == pytest.approx(part * max(errors.values()), nan_ok=True)
    assert agreed.clear_error < 1e-12
    worst = 0.0 if encrypted == 0 else max(part * errors[name] / size for name, size in sizes.items())
    assert agreed.relative == pytest.approx(worst, abs=1e-12)
    assert agreed.bits == (-math.log2(agreed.relative) if agreed.relative else math.inf)
    assert str(agreed).startswith(f"4 samples, {min(encrypted, 4)} of them encrypted: ")
    assert f"largest result 8; error {agreed.clear_error:.2g} in the clear" in str(agreed)


@pytest.mark.parametrize("encrypted", [0, 1, 2, 3])
@pytest.mark.parametrize("worst", [*itertools.permutations([1, 4, 16])])
@pytest.mark.parametrize("factor", [1, 4])
def test_checks_tell_the_worse_of_the_clear_and_the_encrypted(worst, encrypted, factor):
    """The factor decides: the errors in the clear are the larger ones, or the encrypted ones."""
    function = [[np.array([64 * (i + 1)]), np.array([256])] for i in range(3)]
    clear = [[own[0] + factor * worst[i], own[1] - worst[2 - i]] for i, own in enumerate(function)]
    noisy = [[own[0] - worst[2 - i], own[1] + 2 * worst[i]] for i, own in enumerate(function)]
    taken = (each.__getitem__ for each in (function, clear, noisy))
    found = exact_agreement(*taken, [np.arange(3)], encrypted)
    off = np.abs(np.array([*clear, *noisy[:encrypted]]) - np.array([*function, *function[:encrypted]]))
    assert found.relative == (off[:, :, 0].max(axis=0) / [192, 256]).max()
    assert (found.clear_error, found.largest) == (off[:3].max(), 256)
    np.testing.assert_equal(found.error, off[3:].max() if encrypted else math.nan)


@pytest.mark.parametrize("place", range(4))
def test_no_number_is_a_difference(place):
    """In each sample, in the clear or encrypted; and none is no run that was left out."""
    clear, noisy = [[np.zeros(2)], [np.zeros(2)]], [[np.zeros(2)], [np.zeros(2)]]
    (clear, noisy)[place % 2][place // 2][0][1] = np.nan
    taken = (each.__getitem__ for each in ([[np.ones(2)]] * 2, clear, noisy))
    found = exact_agreement(*taken, [np.arange(2)], 2)
    assert (found.bits, found.error) == (-math.inf, [1.0, math.inf][place % 2])
    alike = exact_agreement(*[[[np.array([1.0, np.nan])]].__getitem__] * 3, [np.arange(1)], 1)
    assert (alike.bits, alike.largest) == (math.inf, 1)


def test_checks_in_the_clear_are_next_to_the_users_function():
    plan = hm.compile(study, SPEC, security=None)
    plan._function = lambda x: {"a": x, "b": x.sum() / 1000 * 1.01}
    wanted = -math.log2(0.01 / 1.01)
    assert plan.check(SAMPLES, encrypted=0).bits == pytest.approx(wanted, abs=0.01)
    assert plan.check(SAMPLES, encrypted=0).clear_error == pytest.approx(0.01 * 5.5 / 1000, rel=1e-6)
    assert plan.expected_bits() == pytest.approx(wanted, abs=0.01)
    for other in (lambda x: {"a": x}, lambda x: {"a": x, "b": x}, lambda _: {}):
        plan._function = other
        for told in (lambda: plan.check(SAMPLES, encrypted=0), plan.expected_bits):
            with pytest.raises(MismatchError, match="other shapes"):
                told()


def test_rows_outside_are_those_of_any_function_and_any_input():
    low, high = (hm.circuits.sigmoid(ends, bits=6) for ends in ((-2, 3), (-3, 2)))

    def program(x):
        return x[0].apply(low) + x[0].apply(high), x[1].apply(low), x[2] * 2

    samples = np.array([[1.9, 1.9, 1, 1], [-1.9, -1.9, -1, -1]])
    plan = hm.compile(program, SPEC, calibrate=samples, margin=9.0, precision_bits=6, security=None)
    rows = np.zeros((8, 4))
    rows[[1, 2], 0] = -2.5, 2.5  # each out of one of two intervals
    rows[[3, 4], 1] = -2.5, 2.5  # only the first one is out
    rows[[6, 7], 3] = 9.01, 9.0
    agreed = plan.check(rows, encrypted=0)
    assert agreed.rows_outside == (1, 2, 3, 6)
    assert sum(agreed.outside.values()) == 4
    assert agreed.outside["an input"] == 1
    assert "they are of rows 1, 2, 3, 6 of 8" in str(agreed)
    with pytest.raises(MismatchError, match=r"samples of shapes \[\(8, 3\)\]; the inputs have \[\(4,\)\]"):
        plan.check(rows[:, :3])
    both = hm.compile(lambda x, y: x + y, SPEC, SPEC, security=None)
    with pytest.raises(MismatchError, match="after an axis of samples"):
        both.check(rows, rows[:7])


@pytest.mark.parametrize("encrypted", [0, 1, 2, 5])
def test_checks_of_tables_tell_the_largest_of_all_tables(encrypted, monkeypatch):
    frames = [pd.DataFrame({"a": np.array([1.0, 2, 3, 4]) * factor}) for factor in (1, 2, 0.5)]
    spec = hm.TableSpec.of(frames[0], ranges={"a": (0, 9)})
    plan = hm.compile(lambda t: {"mean": t.a.mean(), "std": t.a.std()}, spec, security=None)
    runs = iter([0.25, 1.0, 0.125])

    def local(*_, **__):
        def run(*arrays):
            found, error = plan.evaluate_clear(*arrays), next(runs)
            return {name: own + error * (name == "mean") for name, own in found.items()}

        return run

    monkeypatch.setattr("hemera.compiler.tables.compiled.Local", local)
    agreed = plan.check(*frames, encrypted=encrypted)
    error = {0: math.nan, 1: 0.25}.get(encrypted, 1.0)
    assert (agreed.samples, agreed.encrypted) == (3, min(encrypted, 3))
    assert agreed.largest == pytest.approx(5)
    assert agreed.clear_error < 1e-6
    assert agreed.error == pytest.approx(error, nan_ok=True, abs=1e-6)
    if encrypted:
        assert agreed.bits == pytest.approx(-math.log2(error / 5), abs=1e-3)


@pytest.mark.parametrize(
    ("size", "approximations", "noise", "bits"),
    [
        (1, 2.0**-10, 0, 10),
        (8, 2.0**-10, 0, 13),
        (1, 0, 2.0**-7, 7),
        (4, 2.0**-10, 2.0**-10, 11),  # both add up
        (1, 0, 0, math.inf),
        (0, 1, 1, math.inf),
        (1, math.inf, 0, -math.inf),
        (1, 0, math.nan, -math.inf),
    ],
)
def test_bits_of_results(size, approximations, noise, bits):
    assert result_errors.ResultError("a", size, approximations, noise).bits == bits


@pytest.mark.parametrize(("last", "size"), [(3.0, 1.0), (-100.0, 25.0)])
def test_sizes_are_those_of_a_few_draws_and_a_quarter_of_the_largest(last, size):
    draws = np.ones((16, 2)) * [[0.5, -1]]
    draws[15, 0] = last
    assert result_errors._size(draws) == size


def test_the_noise_that_costs_most_is_named():
    """The noise of the input is named in x^8: it grows by 8x^7, that of x^2 by 4x^6, and so on."""

    def study(x):
        fourth = (x * x) ** 2
        return fourth * fourth

    params = hm.ckks.Parameters.for_circuit(6, scale_bits=30, range_bits=24, slots=4, security=None)
    with pytest.raises(PrecisionError, match=r"result 'output', .* most is lost by noise of the inputs"):
        hm.compile(study, hm.ArraySpec((4,), range=(4, 5)), params=params, precision_bits=36, scales=False)


def test_the_first_programs_range_is_told():
    """A function is made more precise where ranges with its errors are not for it: 0, 6 and 12 bits."""
    tried = []

    def record(budget):
        tried.append(budget.function_bits)
        raise RangeError(f"with {budget.function_bits} bits")

    with pytest.raises(RangeError, match="with 10 bits"):
        precise(record, record, 10, far=True, scales=True)
    assert tried == [10, 16, 22]
