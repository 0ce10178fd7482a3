"""Quotients and remainders by clear divisors: NumPy's, and Python's integers for the reciprocals."""

import random

import numpy as np
import pytest

import hemera as hm
from hemera.integers.division import reciprocal

from ..refusals import raises
from .setting import check, context

CASES = [
    # The refreshes of a quotient, and of both, at most.
    ("uint8", 8, [10, 255], 1, 2),
    ("int8", 16, [-1, 7], 1, 2),
    ("uint16", 16, [3, 10], 6, 9),
    ("int16", 16, [-(2**15), 7], 8, 11),
    ("uint32", 64, [10**6 + 3], 2, 5),
    ("int32", 32, [-1000], 8, 11),
    ("uint64", 64, [2**63 + 5], 5, 8),
    ("int64", 64, [-(2**63), 10**18 + 9, -7], 9, 12),
    ("uint64", 64, [1, 16, 2**13], 1, 2),
    ("int16", 64, [1, 8, 2**14], 1, 2),
    ("int16", 16, [-1], 3, 5),
]


def dividends(name, divisor):
    """Edges, multiples of the divisor and their neighbours, and random numbers."""
    limits = np.iinfo(name)
    rng = np.random.default_rng(1)
    found = [0, 1, limits.min, limits.min + 1, limits.max, limits.max - 1]
    for k in rng.integers(0, max(1, limits.max // abs(divisor)), 6, np.uint64, endpoint=True):
        found += [int(k) * divisor + step for step in (-1, 0, 1)]
    found += [limits.max // divisor * divisor + step for step in (-1, 0)]
    inside = [each for each in found if limits.min <= each <= limits.max]
    return np.concatenate([np.array(inside, name), rng.integers(limits.min, limits.max, 30, name)])


@pytest.mark.parametrize(("name", "bits", "divisors", "quotient", "both"), CASES)
def test_quotients_and_remainders(name, bits, divisors, quotient, both):
    ints = context(bits)
    for divisor in divisors:
        a = dividends(name, divisor)[: ints.values]  # of one ciphertext
        x = ints.encrypt(a)
        with np.errstate(over="ignore"):
            expected = divmod(a, np.dtype(name).type(divisor))
        before = ints.work.refreshes
        pair = divmod(x, divisor)
        assert ints.work.refreshes <= before + both
        check(pair[0], expected[0], ints)
        check(pair[1], expected[1], ints)
    before = ints.work.refreshes
    check(x // divisor, expected[0], ints)
    assert ints.work.refreshes <= before + quotient
    if divisor & (divisor - 1) == 0:  # without a quotient
        check(x % divisor, expected[1], ints)


def test_types_and_shapes_are_numpys():
    ints = context(64)
    a = np.arange(12, dtype=np.uint8).reshape(3, 4) * 21
    x = ints.encrypt(a)
    check(x // np.int8(-5), a // np.int8(-5), ints)
    check(x % np.array([[7]], np.uint16), a % np.array([[7]], np.uint16), ints)
    check(x[0, :1] // np.full((2, 3), 9, np.uint8), a[0, :1] // np.full((2, 3), 9, np.uint8), ints)


def test_division_by_zero_gives_zero():
    ints = context(16)
    a = np.array([0, 5, 2**16 - 1], np.uint16)
    x = ints.encrypt(a)
    with np.errstate(divide="ignore"):
        for found, expected in zip(divmod(x, 0), divmod(a, np.uint16(0)), strict=True):
            check(found, expected, ints)
        check(x // 0, a // np.uint16(0), ints)


def test_digits_with_no_level_left_divide():
    ints = context(16)
    a = dividends("uint16", 10)
    check(ints.encrypt(a).shrink() % 10, a % 10, ints)
    check(ints.encrypt(a).shrink() % 64, a % 64, ints)


@pytest.mark.parametrize("divisor", [2044, 10])
def test_numbers_divide_at_every_level(divisor):
    """2044: two columns are left for a second vector, which take a level more than those of the first."""
    ints = context(16)
    a = dividends("uint16", divisor)
    for levels in range(5):
        check(ints.encrypt(a, levels=levels) // divisor, a // divisor, ints)


def test_what_is_refused():
    ints = context(16)
    x = ints.encrypt(np.arange(4, dtype=np.uint16))
    wrong = [lambda: x / 3, lambda: 7 // x, lambda: x // x, lambda: divmod(x, np.arange(1, 5, dtype="u2"))]
    for each in wrong:
        raises(TypeError, "one clear integer", each)
    raises(OverflowError, "out of bounds", lambda: x // -1)
    raises(TypeError, "not float", lambda: x // 0.5)
    raises(hm.errors.MismatchError, "do not broadcast", lambda: x // np.full(3, 3, np.uint16))


def test_reciprocals_of_all_numbers_of_two_digits():
    n = np.arange(256)
    for d in range(2, 256):
        plan = reciprocal(d, 2)
        columns = np.array(plan.weights) @ np.array([n % 16, n // 16]) + np.array(plan.added)[:, None]
        total = 16 ** np.arange(len(columns)) @ columns
        np.testing.assert_array_equal(total >> 4 * plan.fraction, n // d)


@pytest.mark.parametrize("digits", [4, 8, 16])
def test_a_reciprocal_gives_every_quotient(digits):
    rng, most = random.Random(digits), 16**digits - 1
    divisors = [3, 5, 7, 10, 15, 17, 255, 16 ** (digits // 2) + 1, most, most // 2 + 2]
    divisors += [rng.randrange(3, 16 ** rng.randint(1, digits)) for _ in range(60)]
    for d in divisors:
        plan = reciprocal(d, digits)
        assert max(plan.bounds) < 4608  # what columns read in one step
        last = most // d * d
        for n in {0, 1, d - 1, d, most, last - 1, last, *(rng.randrange(most) for _ in range(20))}:
            digits_of_n = [n >> 4 * i & 15 for i in range(digits)]
            columns = [
                sum(w * x for w, x in zip(row, digits_of_n, strict=True)) + own
                for row, own in zip(plan.weights, plan.added, strict=True)
            ]
            assert all(c <= bound for c, bound in zip(columns, plan.bounds, strict=True))
            total = sum(c << 4 * k for k, c in enumerate(columns))
            assert total >> 4 * plan.fraction == n // d
            assert total < 16 ** len(columns)
