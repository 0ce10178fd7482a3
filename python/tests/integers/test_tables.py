"""Tables of whole numbers by exponentials: NumPy has the tables, and laws of errors are formulas."""

import math
import operator
from dataclasses import replace

import numpy as np
import pytest

import hemera as hm
from hemera.integers.layout import BASE
from hemera.integers.lookup import Lookup, bits, lookup
from hemera.integers.margins import LEAST_DEVIATIONS, MOST_DIGIT_ERROR, misread_log2
from hemera.integers.operations import bitwise
from hemera.integers.remainders import Remainders

from ..refusals import raises
from .setting import context, encrypted


@pytest.fixture(scope="module")
def ints():
    return context(8)


MOST_DEVIATIONS = 16
"""The most deviations of a slot's error. Its rounding has the variance |s(zeta)|^2 of the secret's value
there, which is exponential over slots: beyond x deviations is a slot with a probability of 2 x K_1(2 x), K_1
the modified Bessel function, 2^-43 for 16 and 2^-15 for 6."""


def slots_of(ints, x):
    """What decryption rounds."""
    return np.asarray(ints._ckks.decrypt(x.value, ints._secret))


def all_numbers(engine, period, vectors=2):
    """Every number below the period, many times, of shape (vectors, slots)."""
    count = vectors * engine.layout.slots
    return np.random.default_rng(period).permutation(np.arange(count) % period).reshape(vectors, -1)


@pytest.mark.parametrize(("period", "products"), [(2, 0), (16, 7), (32, 14), (256, 30)])
def test_every_entry_of_every_table(ints, period, products):
    engine = ints._engine
    numbers = all_numbers(engine, period)
    table = np.random.default_rng(1).integers(0, 2, (8 if period == 256 else 6, period))
    circuit = Lookup(table)
    assert circuit.depth == max(1, math.ceil(math.log2(period // 2 + 1)))
    plan = circuit.polynomial.plan(engine.evaluator.context.params)
    assert plan.relinearizations <= products
    raw = engine.tables(encrypted(engine, numbers.astype(float), period - 1), circuit, clean=False)
    clean = engine.tables(encrypted(engine, numbers.astype(float), period - 1), circuit, clean=True)
    for row, one, two in zip(table, raw, clean, strict=True):
        expected = row[numbers]
        # What a cleaning leaves of so many deviations is more than as many of its own.
        farthest = MOST_DEVIATIONS * one.error
        for found, levels, most in (
            (one, circuit.depth, farthest),
            (two, circuit.depth + 2, MOST_DEVIATIONS * two.error + 3 * farthest**2),
        ):
            error = slots_of(ints, found) - expected
            assert np.abs(error.imag).max() < 2**-24
            assert error.real.std() < found.error
            assert np.abs(error).max() < most
            assert engine.level(found) == engine._whole.result_level - levels
        assert two.error < max(one.error / 8, 2**-25)


@pytest.mark.parametrize("period", [16, 32, 256])
def test_the_error_of_a_table_is_the_law(period):
    # The root mean square of a random table's slope is pi t / sqrt(12) of an error of s / t: 0.91 t sigma.
    table = np.random.default_rng(period).integers(0, 2, (200, period))
    circuit = Lookup(table)
    rng = np.random.default_rng(2)
    s = rng.integers(0, period, 4000)
    sigma = 2.0**-12 / period
    z = np.exp(2j * np.pi * (s / period + rng.normal(0, sigma, s.size)))
    coefficients = circuit.polynomial.coefficients
    found = 2 * (coefficients @ z ** np.arange(period // 2 + 1)[:, None]).real
    law = math.pi * period / math.sqrt(12) * sigma
    assert (found - table[:, s]).std() == pytest.approx(law, rel=0.1)
    for error, slope in zip((found - table[:, s]).std(axis=1), circuit.slopes, strict=True):
        assert error < 1.1 * slope * period * sigma + 2**-20


@pytest.mark.parametrize("factor", [1, 2**4, 2**8])
def test_noise_in_digits_becomes_what_the_bound_says(ints, factor):
    engine = ints._engine
    numbers = all_numbers(engine, 32)
    sigma = 2.0**-18 * factor  # of a digit; 2^-18 is about that of a sum
    noise = np.random.default_rng(factor).normal(0, sigma, numbers.shape)
    x = replace(encrypted(engine, numbers + noise, 31), error=sigma)
    circuit = lookup(32, *bits(4), lambda s: s >= 16, lambda s: s == 15)
    raw = engine.tables(x, circuit, clean=False)
    exact = [numbers >> b & 1 for b in range(4)] + [numbers >= 16, numbers == 15]
    for found, expected in zip(raw, exact, strict=True):
        error = (slots_of(ints, found) - expected).real.std()
        assert error < found.error
    total = sum((slots_of(ints, found) - e).real.var() for found, e in zip(raw, exact, strict=True))
    assert total > (0.3 * sigma) ** 2  # it is there
    for found, expected in zip(engine.tables(x, circuit, clean=True), exact, strict=True):
        error = (slots_of(ints, found) - expected).real
        assert error.std() < found.error < max(400 * sigma**2, 2**-24)


def test_bits_are_right_or_refused(ints):
    engine = ints._engine
    numbers = all_numbers(engine, 16, 1)
    circuit = lookup(16, *bits(4))
    largest = 0.14 / LEAST_DEVIATIONS / max(circuit.slopes)
    near = replace(encrypted(engine, numbers.astype(float), 15), error=0.8 * largest)
    assert engine.tables(near, circuit, clean=True)[0].risk.log2 < -128
    beyond = replace(near, error=1.1 * largest)
    raises(hm.errors.NoiseError, "73 are needed", engine.tables, beyond, circuit, clean=True)
    raises(hm.errors.NoiseError, "a digit", engine.tables, replace(near, error=0.036), circuit, clean=False)


@pytest.mark.parametrize("sigma", [0.2, 0.25])
def test_misread_digits_are_as_many_as_the_law_says(ints, sigma):
    # Noise that no operation lets through, unless the bound lies. The law: erfc(1 / (2 sqrt 2 sigma)).
    engine = ints._engine
    numbers = all_numbers(engine, 16, 4)
    noise = np.random.default_rng(5).normal(0, sigma, numbers.shape)
    x = replace(encrypted(engine, numbers + noise, 15), error=2.0**-20)
    raw = engine.tables(x, lookup(16, *bits(4)), clean=False)
    found = sum((slots_of(ints, bit).real > 0.5).astype(int) << b for b, bit in enumerate(raw))
    expected = numbers.size * math.erfc(1 / (2 * math.sqrt(2) * sigma))
    assert np.count_nonzero(found != numbers) == pytest.approx(expected, rel=0.25)
    # Bits need not change halfway between two numbers, but near it.
    near = np.abs(noise) < 0.35
    np.testing.assert_array_equal(found[near], numbers[near])


def test_errors_of_slots_have_the_law_of_laplace():
    # Roundings times a ternary secret, at the odd roots of unity, by NumPy.
    degree, trials = 2048, 400
    rng = np.random.default_rng(6)
    twist = np.exp(1j * np.pi * np.arange(degree) / degree)
    secrets = np.fft.fft(rng.integers(-1, 2, (trials, degree)) * twist)[:, : degree // 2]
    roundings = np.fft.fft(rng.uniform(-0.5, 0.5, (trials, degree)) * twist)[:, : degree // 2]
    sizes = np.abs((secrets * roundings).real) / math.sqrt(degree / 12 * degree * 2 / 3 / 2)
    for deviations in (1, 2, 3.5, 5):
        seen = np.count_nonzero(sizes > deviations) / sizes.size
        assert math.log2(seen) == pytest.approx(misread_log2(deviations, 1), abs=0.2)
    assert math.log2(math.erfc(5 / math.sqrt(2))) < misread_log2(5, 1) - 10  # a normal error's
    assert misread_log2(LEAST_DEVIATIONS, 4 * 65536) < -128
    assert misread_log2(LEAST_DEVIATIONS - 0.5, 4 * 65536 * 4) > -128
    assert misread_log2(30, 1024) == misread_log2(30, 1) + 10
    assert misread_log2(1000, 1) == misread_log2(80, 1)  # beyond it cleanings have a longer tail


def test_cleaned_bits_keep_the_law(ints):
    engine = ints._engine
    bit = engine.refreshed(encrypted(engine, all_numbers(engine, 16, 1).astype(float), 15))
    for error in (2.0**-20, 0.0017):
        (cleaned,) = engine.cleaned([replace(bit, error=error, largest=1)])
        for deviations in (1, 20, 73, 80):
            e = deviations * error
            # What is beyond so many deviations before is beyond no more of them afterwards.
            assert 3 * e**2 + 2 * e**3 <= deviations * cleaned.error


def test_values_of_one_refresh_share_its_risk(ints):
    engine = ints._engine
    x = encrypted(engine, all_numbers(engine, 16, 1).astype(float), 15)
    assert x.risk.log2 == -math.inf
    one = engine.refreshed(x)
    assert one.risk.log2 == pytest.approx(engine._whole.failure_log2, abs=0.01)
    assert (one + one + one).risk.log2 == one.risk.log2
    assert (one + engine.refreshed(x)).risk.log2 == pytest.approx(one.risk.log2 + 1, abs=0.01)


def test_errors_of_products(ints):
    engine, rng = ints._engine, np.random.default_rng(3)
    numbers, bits_of = all_numbers(engine, 16), all_numbers(engine, 2)
    for of_a, of_b in ((2.0**-12, 0.0), (0.0, 2.0**-12), (2.0**-12, 2.0**-15)):
        a = encrypted(engine, numbers + rng.normal(0, of_a, numbers.shape), 15)
        b = encrypted(engine, bits_of + rng.normal(0, of_b, numbers.shape), 1)
        product = engine.product(replace(a, error=of_a), replace(b, error=of_b))
        error = (slots_of(ints, product) - numbers * bits_of).real.std()
        law = math.hypot(of_a * math.sqrt(1 / 2), of_b * math.sqrt(77.5))
        assert error == pytest.approx(law, rel=0.1)
        assert error < product.error < 3 * error


@pytest.mark.parametrize("of", [operator.and_, operator.or_, operator.xor])
def test_two_digits_of_one_refresh_at_the_last_error_and_level(of):
    """All pairs of digits, with the largest error that remainders take, and above it; at the last level."""
    ints = context(16)
    engine = ints._engine
    a, b = (np.tile(each, (2, engine.layout.slots // 256)) for each in np.divmod(np.arange(256), BASE))
    most = Remainders(*bits(4)).most_error(engine)
    assert -16.4 < math.log2(most) < -16.3  # sums leave 2^-16.5
    rng = np.random.default_rng(1)

    def read(error, level):
        before = engine.work.tables
        exact = (encrypted(engine, each + rng.normal(0, error, each.shape), BASE - 1) for each in (a, b))
        x, y = (replace(each, value=each.value.at_level(level), error=error) for each in exact)
        found = bitwise(engine, x, y, of)
        slots = slots_of(ints, found)
        np.testing.assert_array_equal(np.rint(slots), of(a, b))
        assert (slots - of(a, b)).std() < found.error < MOST_DIGIT_ERROR
        assert engine.level(found) >= engine.lowest + 2
        return engine.work.tables - before

    assert read(most * 0.999, engine.lowest + 1) == 8  # bits of both
    assert read(most * 1.001, engine.lowest + 1) == 4
    assert read(most * 0.999, engine.lowest) == 4
