"""Contexts, operands and the judge of tests of encrypted integers: NumPy."""

from functools import cache

import numpy as np

import hemera as hm
from hemera.integers.bounded import Bounded


@cache
def secret():
    return hm.Context(hm.ckks.Parameters.for_bootstrapping("test-exact")).generate_secret_key()


@cache
def context(bits):
    """All widths in one context of CKKS, whose freed memory serves each of them."""
    return hm.integers.Context(bits, secret_key=secret())


def encrypted(engine, numbers, largest):
    """Numbers of shape (vectors, slots) up to a bound, encrypted with the public key."""
    return Bounded(engine.evaluator.encrypt(numbers), largest, engine.fresh)


def operands(ints, dtype, seed=0):
    """Pairs of edges, neighbours and random values: more than a vector of them."""
    limits = np.iinfo(dtype)
    edges = {0, 1, 15, 16, limits.max, limits.max - 1, limits.min, limits.min + 1, limits.max // 2 + 1}
    pairs = np.array([(a, b) for a in sorted(edges) for b in sorted(edges)], dtype)
    rng = np.random.default_rng(seed)
    count = ints.values + max(ints.values // 2, 96)
    a, b = (rng.integers(limits.min, limits.max, count, dtype, endpoint=True) for _ in range(2))
    a[: len(pairs)], b[: len(pairs)] = pairs.T
    part = (count - len(pairs)) // 4
    equal, next_to = slice(len(pairs), len(pairs) + part), slice(len(pairs) + part, len(pairs) + 2 * part)
    b[equal] = a[equal]
    with np.errstate(over="ignore"):
        b[next_to] = a[next_to] + dtype.type(1)
    # Carries that go through all digits.
    a[-16:] = limits.max if dtype.kind == "u" else -1
    b[-16:] = np.arange(16) % 3
    return a, b


def check(found, expected, ints, most=2**-9):
    expected = np.asarray(expected)
    values = ints.decrypt(found)
    np.testing.assert_array_equal(values, expected)
    assert values.dtype == found.dtype == expected.dtype
    assert values.shape == found.shape == expected.shape
    assert found.failure_log2 < -128
    # The bound is one: of the deviation, and what is decrypted is near whole numbers.
    slots = ints._ckks.decrypt(found._held.value, ints._secret, dtype=float)
    assert (slots - np.rint(slots)).std() < found.error < most
    if expected.dtype != bool:  # digits beyond the type's are 0
        beyond = slots.reshape(-1, ints._layout.digits, ints.values)[:, 2 * expected.dtype.itemsize :]
        assert not np.rint(beyond).any()
