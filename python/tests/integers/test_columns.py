"""Numbers taken apart within a refresh, and columns of any size: Python's integers say what comes out."""

from dataclasses import replace

import numpy as np
import pytest

import hemera as hm
from hemera.integers import columns, operations
from hemera.integers.bounded import Bounded
from hemera.integers.lookup import bits, lookup
from hemera.integers.split import Split

from .setting import context


def slots_of(ints, x):
    """What decryption rounds."""
    return np.asarray(ints._ckks.decrypt(x.value, ints._secret))


def encrypted(engine, numbers, sigma=0):
    """Numbers with a normal error of this deviation."""
    noise = np.random.default_rng(1).normal(0, sigma, numbers.shape) if sigma else 0
    x = Bounded(engine.evaluator.encrypt(numbers + noise), float(np.abs(numbers).max()), engine.fresh)
    return replace(x, error=max(sigma, x.error))


@pytest.mark.parametrize(("period", "sigma"), [(32, 0), (64, 2.0**-10), (128, 0), (256, 0), (256, 2.0**-10)])
def test_a_number_is_taken_apart(period, sigma):
    ints = context(8)
    engine = ints._engine
    # Also numbers above the period, which are taken modulo it.
    numbers = np.random.default_rng(period).permutation(2 * engine.layout.slots).reshape(2, -1) % (2 * period)
    s = numbers % period
    rows = [*bits(4), lambda r: r == 15, float]
    plan = Split(period, lookup(16, *rows), factor=0.5j)
    z = engine.exponential(encrypted(engine, numbers, sigma), period)
    low, above = plan(engine, z)
    expected = [s % 16 >> b & 1 for b in range(4)] + [s % 16 == 15, s % 16]
    for found, numbers_of in zip(low, expected, strict=True):
        error = slots_of(ints, found) - numbers_of
        assert np.abs(error.imag).max() < 2**-24
        assert error.real.std() < 1.02 * found.error < 14 * sigma + 2**-15
    turned = slots_of(ints, Bounded(above.value, 1, 0))
    error = turned - 0.5j * np.exp(2j * np.pi * (s // 16) / (period / 16))
    assert above.period == period // 16
    # The error of the whole exponential, and relative to it.
    assert np.abs(error).std() < 0.5 * above.radial
    angle = np.angle(turned / 0.5j / np.exp(2j * np.pi * (s // 16) / above.period)) / (2 * np.pi)
    assert (angle * above.period).std() < above.error < 2 * sigma + 2**-17
    if sigma:
        assert (angle * above.period).std() > sigma / 32  # it is there
    assert above.risk.events > z.risk.events
    if period < 256:
        return
    second = engine.read(above, lookup(16, *bits(4)), clean=False)  # with that factor, no table
    assert np.abs(slots_of(ints, second[0]).real).max() < 2


def test_what_is_above_can_be_masked():
    ints = context(8)
    engine = ints._engine
    numbers = np.arange(2 * engine.layout.slots).reshape(2, -1) % 64
    kept = np.arange(engine.layout.slots) % 3 == 0
    plan = Split(64, lookup(16, float))
    z = engine.exponential(encrypted(engine, numbers), 64)
    (low,), above = plan(engine, z, kept=kept.astype(float))
    turned = slots_of(ints, Bounded(above.value, 1, 0))
    np.testing.assert_allclose(turned, np.where(kept, 1j ** (numbers // 16), 0), atol=2**-14)
    np.testing.assert_allclose(slots_of(ints, low).real, numbers % 16, atol=2**-10)


COLUMNS = {
    (64, 16): [16, 47, 527, 61440],
    (64, 8): [4607],
    (64, 4): [46, 528],
    (64, 2): [4608],
    (32, 8): [4351],
    (16, 4): [31, 48, 4608],
    (8, 2): [31, 61440],
}


@pytest.mark.parametrize(
    ("width", "digits", "largest"), [(*key, each) for key, sizes in COLUMNS.items() for each in sizes]
)
def test_columns_of_any_size_are_digits_again(width, digits, largest):
    ints = context(width)
    engine, layout = ints._engine, ints._layout
    rng = np.random.default_rng(largest)
    values = rng.integers(0, largest, (2, digits, layout.values), endpoint=True)
    values[0, :, :8] = largest
    values[0, 0, 8:16], values[0, 1:, 8:16] = 16, 15  # a carry through all digits
    values[0, 0, 16:24], values[0, 1:, 16:24] = (
        min(largest, 47),
        [[min(largest, 13 + i)] for i in range(1, digits)],
    )
    values[1, :, :4] = rng.choice([0, 15, 16, min(largest, 31), largest], (digits, 4))
    slots = np.zeros((2, layout.digits, layout.values))
    slots[:, :digits] = values
    bounds = [largest] * digits
    s = encrypted(engine, slots.reshape(2, -1))
    level = engine.lowest + columns.levels(bounds, digits, engine.most_read)
    s = replace(s, value=s.value.at_level(level))  # and no more are needed
    found = columns.carried(engine, s, bounds, digits)
    total = sum(values[:, i].astype(object) * 16**i for i in range(digits))
    exact = [[[int(v) >> (4 * i) & 15 for v in row] for i in range(digits)] for row in total]
    expected = np.zeros((2, layout.digits, layout.values))
    expected[:, :digits] = exact
    error = slots_of(ints, found).real - expected.reshape(2, -1)
    assert np.abs(error).max() < 2**-5
    assert error.std() < found.error < 2**-7
    assert engine.level(found) > engine.lowest
    assert found.largest == 15
    assert found.risk.log2 < -128
    if level > engine.lowest:
        with pytest.raises(hm.errors.LevelError, match=f"columns up to {largest} take"):
            columns.carried(engine, replace(s, value=s.value.at_level(level - 1)), bounds, digits)


@pytest.mark.parametrize(("width", "name"), [(64, "uint64"), (64, "uint8"), (32, "int16"), (8, "int8")])
def test_products_take_the_levels_that_they_ask_for(width, name):
    ints = context(width)
    engine, dtype = ints._engine, np.dtype(name)
    limits = np.iinfo(dtype)
    rng = np.random.default_rng(2)
    a, b = (rng.integers(limits.min, limits.max, 100, dtype, endpoint=True) for _ in range(2))
    digits = dtype.itemsize * 2
    level = engine.lowest + operations.product_levels(digits)
    assert operations.product_levels(digits) == operations.product_levels(width // 4)  # one set of keys
    x, y = ints.encrypt(a), ints.encrypt(b)
    low = ints.encrypt(a)
    low._held = replace(low._held, value=low._held.value.at_level(level))
    vectors = low._held.value.shape[0]
    refreshes = vectors if digits == 2 else 2 * vectors
    with np.errstate(over="ignore"):
        for left, right in ((low, y), (y, low), (low, low), (x, y)):
            before = ints.work.refreshes
            expected = {id(low): a, id(x): a, id(y): b}
            product = ints.decrypt(left * right)
            np.testing.assert_array_equal(product, expected[id(left)] * expected[id(right)])
            assert ints.work.refreshes == before + refreshes
        low._held = replace(low._held, value=low._held.value.at_level(level - 1))
        before = ints.work.refreshes
        np.testing.assert_array_equal(ints.decrypt(low * y), a * b)
        assert ints.work.refreshes == before + refreshes + vectors


@pytest.mark.parametrize("sigma", [2.0**-20, 2.0**-14])
def test_errors_of_operands_come_through_a_product_as_the_bound_says(sigma):
    ints = context(64)
    engine, layout = ints._engine, ints._layout
    rng = np.random.default_rng(3)
    values = rng.integers(0, 16, (2, 2, 16, layout.values)).astype(float)
    a, b = (encrypted(engine, each.reshape(2, -1), sigma) for each in values)
    found = operations.multiply(engine, a, b, 16)
    slots = slots_of(ints, found).real
    words = [
        [sum(int(d) << (4 * i) for i, d in enumerate(v)) for row in each for v in row.T] for each in values
    ]
    product = [x * y % 2**64 for x, y in zip(*words, strict=True)]
    expected = np.array([[p >> (4 * i) & 15 for p in product] for i in range(16)], float)
    rounded = np.rint(slots).reshape(2, 16, -1).transpose(1, 0, 2).reshape(16, -1)
    np.testing.assert_array_equal(rounded, expected)
    assert (slots - np.rint(slots)).std() < found.error < 2**-7
