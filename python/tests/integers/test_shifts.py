"""Shifts by encrypted amounts, sums that wrap around, and ways to and from CKKS's numbers."""

import operator

import numpy as np
import pytest

import hemera as hm

from ..refusals import raises
from .setting import check, context, operands

BOTH = [operator.lshift, operator.rshift]


@pytest.mark.parametrize("f", BOTH, ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    ("name", "bits"), [("uint8", 8), ("int8", 16), ("int32", 64), ("uint64", 64), ("int64", 64)]
)
def test_encrypted_amounts(name, bits, f):
    ints, limits = context(bits), np.iinfo(name)
    amounts = np.array([*range(limits.bits + 5), 100, 128, 129, 192, 255], np.uint8)
    a = np.random.default_rng(bits).integers(limits.min, limits.max, (2, amounts.size), name, endpoint=True)
    a[0, 1::9] = limits.max
    a[1, :-3] |= limits.min or 1 << (limits.bits - 1)  # the highest bit, at every amount
    check(f(ints.encrypt(a), ints.encrypt(amounts)), f(a, amounts), ints)


def test_amounts_of_results():
    # Operands without levels, with carries and bits that were not cleaned; plain left sides; shapes.
    ints = context(16)
    a, b = np.arange(200, dtype=np.int16) * 211, np.arange(200, dtype=np.uint8) % 19
    x, y, one = ints.encrypt(a) + 1, ints.encrypt(b) - 1, np.uint8(1)
    check(x << y, (a + np.int16(1)) << (b - one), ints)
    x, y = ints.encrypt(a + np.int16(1)), ints.encrypt(b - one)
    less = x < y
    for _ in range(9):
        if x.levels > 1:
            x, y = np.where(less, x, x), np.where(less, y, y)
    assert x.levels <= 1
    check(x << y, (a + np.int16(1)) << (b - one), ints)
    check(x >> y, (a + np.int16(1)) >> (b - one), ints)
    check(100 >> ints.encrypt(b), 100 >> b, ints)
    check(a << ints.encrypt(b), a << b, ints)
    check(ints.encrypt(a[:3, None]) >> ints.encrypt(b[:20]), a[:3, None] >> b[:20], ints)
    raises(TypeError, "amounts are uint8, not int16", lambda: x << x)
    raises(TypeError, "amounts are uint8, not bool", lambda: x << (x < x))
    narrow = context(8)
    z, by = (narrow.encrypt(np.arange(3, dtype=name)) for name in ("int8", "uint8"))
    raises(TypeError, "of 8 bits, not int16", lambda: z << by)


@pytest.mark.parametrize(("name", "bits"), [("uint8", 16), ("int8", 8), ("uint64", 64), ("int64", 64)])
def test_what_wraps_around(name, bits):
    ints, dtype = context(bits), np.dtype(name)
    limits = np.iinfo(dtype)
    a, b = operands(ints, dtype, 9)
    x, y = ints.encrypt(a), ints.encrypt(b)
    pairs = [(int(p), int(q)) for p, q in zip(a, b, strict=True)]
    for of_hemera, f in (
        (hm.integers.overflowing_add, operator.add),
        (hm.integers.overflowing_sub, operator.sub),
    ):
        found, wrapped = of_hemera(x, y)
        with np.errstate(over="ignore"):
            check(found, f(a, b), ints)
        check(wrapped, np.array([not limits.min <= f(p, q) <= limits.max for p, q in pairs]), ints)
    _, wrapped = hm.integers.overflowing_sub(x, 0)
    check(wrapped, np.zeros(a.shape, bool), ints)


@pytest.mark.parametrize(("name", "bits"), [("uint8", 8), ("int16", 16), ("uint32", 64), ("int64", 64)])
def test_numbers_of_ckks(name, bits):
    ints, dtype = context(bits), np.dtype(name)
    limits = np.iinfo(dtype)
    a, _ = operands(ints, dtype, 10)
    x = ints.encrypt(a)
    for factor in (1.0, -1 / limits.max):
        y = x.to_ckks(factor)
        assert y.shape == (ints._layout.vectors(a.size),)
        assert y.slots == ints.values
        found = ints._ckks.decrypt(y, ints.secret_key, dtype=float).reshape(-1)[: a.size]
        error = found - a.astype(float) * factor
        assert np.abs(error).max() < 2.0**-20 * abs(factor) * limits.max
        if dtype.kind == "u":
            assert error.std() < x.error * abs(factor) * 16.0 ** (2 * dtype.itemsize) / 15 + 2.0**-24
    y = x.to_ckks(1 / limits.max)
    squares = ints._ckks.decrypt(y * y, ints.secret_key, dtype=float).reshape(-1)[: a.size]
    np.testing.assert_allclose(squares, (a / limits.max) ** 2, atol=2**-18)


@pytest.mark.parametrize("name", ["uint8", "int8", "uint16", "int16"])
def test_integers_of_numbers(name):
    ints, dtype = context(16), np.dtype(name)
    limits = np.iinfo(dtype)
    a, _ = operands(ints, dtype, 11)
    sigma = 2.0**-11
    whole = a[:180].reshape(3, 60)
    noise = np.random.default_rng(11).normal(0, sigma, whole.shape)
    found = ints.from_ckks(ints.evaluator.encrypt(whole + noise), dtype, error=sigma)
    check(found, whole, ints, 2**-6)
    # There and back, by way of a computation.
    wide = ints.from_ckks(ints.encrypt(a[:100] // 2).to_ckks() * 2 + 1, dtype, error=2.0**-11)
    check(wide[0, :100], a[:100] // 2 * 2 + 1, ints, 2**-6)
    # A single vector of few slots; beyond the type's range numbers wrap around.
    few = np.array([limits.max + 1.0, limits.min, -1, 5])
    check(
        ints.from_ckks(ints.evaluator.encrypt(few), dtype, error=2.0**-12),
        few.astype(int).astype(dtype),
        ints,
    )


def test_numbers_that_are_refused():
    ints = context(64)
    ev = ints.evaluator
    y = ev.encrypt(np.arange(4.0))
    raises(hm.errors.NoiseError, "73 are needed", ints.from_ckks, y, np.uint8, error=2.0**-6)
    for error in (0.0, -1.0, 0.5, np.nan):
        raises(hm.errors.ParameterError, "above 0 and below", ints.from_ckks, y, np.uint8, error=error)
    raises(TypeError, "8 and 16 bits, not int32", ints.from_ckks, y, np.int32, error=2.0**-20)
    raises(TypeError, "not of float64", ints.from_ckks, y, float, error=2.0**-20)
    raises(TypeError, "takes a ciphertext", ints.from_ckks, np.arange(4.0), np.uint8, error=2.0**-20)
    with pytest.raises(hm.errors.MismatchError, match="128 slots, and 32"):
        ints.from_ckks(ev.encrypt(np.arange(128.0)), np.uint8, error=2.0**-20)
    other = hm.Context(ints.params)
    stranger = other.bind(other.generate_keys(other.generate_secret_key(), relinearization=False))
    with pytest.raises(hm.errors.MismatchError, match="another context"):
        ints.from_ckks(stranger.encrypt(np.arange(4.0)), np.uint8, error=2.0**-20)
    low = ev.encrypt(np.arange(4.0) + 0j).at_level(ints._engine.lowest)
    raises(hm.errors.LevelError, "imaginary", ints.from_ckks, low, np.uint8, error=2.0**-20)
    # Imaginary parts do not matter.
    numbers = np.array([[3, 4, 5, 6], [9, 8, 7, 255]])
    z = ev.encrypt(numbers + 3.3j)
    check(ints.from_ckks(z, np.uint8, error=2.0**-12), numbers.astype(np.uint8), ints)


def test_refreshes_are_as_many_as_the_page_says():
    ints = context(16)
    a = np.arange(9, dtype=np.uint16)
    x, by = ints.encrypt(a), ints.encrypt(a.astype(np.uint8))
    signed = ints.encrypt(a.astype(np.int16))
    y = x.to_ckks()
    for vectors, operation in (
        (0, x.to_ckks),
        (1, signed.to_ckks),
        (2, lambda: x << by),
        (2, lambda: signed << by),
        (3, lambda: signed >> by),  # the signs with the amounts
        (1, lambda: hm.integers.overflowing_sub(x, x)),
        (3, lambda: hm.integers.overflowing_add(signed, signed)),
        (1, lambda: ints.from_ckks(y, np.uint8, error=2.0**-10)),
        (2, lambda: ints.from_ckks(y, np.uint16, error=2.0**-10)),
        (0, lambda: x[3:].reshape(2, 3).T),
    ):
        before = ints.work.refreshes
        operation()
        assert ints.work.refreshes == before + vectors
