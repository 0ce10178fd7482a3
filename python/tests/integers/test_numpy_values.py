"""Values of encrypted integers with plain operands of all kinds, at the edges of types, beside NumPy's."""

import operator

import numpy as np
import pytest

from ..refusals import raises
from .setting import check, context

COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]


def edges(dtype):
    limits = np.iinfo(dtype)
    found = {limits.min, limits.min + 1, -1, 0, 1, 15, 16, 200, limits.max}
    return np.array(sorted(each for each in found if limits.min <= each <= limits.max), dtype)


def pairs(left, right):
    """All pairs of edges of two types."""
    a, b = np.meshgrid(edges(np.dtype(left)), edges(np.dtype(right)), indexing="ij")
    return a.reshape(-1).copy(), b.reshape(-1).copy()


@pytest.mark.parametrize("f", COMPARISONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize(("left", "right"), [("uint8", "int16"), ("int16", ">u8"), ("int8", "uint8")])
def test_comparisons_with_plain_values_of_any_size(f, left, right):
    """In a context that does not hold the other type: those beyond the type decide."""
    ints = context(16)
    a, b = pairs(left, right)
    x = ints.encrypt(a)
    check(f(x, b), f(a, b), ints)
    check(f(b, x), f(b, a), ints)


@pytest.mark.parametrize("f", COMPARISONS, ids=lambda f: f.__name__)
def test_comparisons_with_pythons_integers(f):
    ints = context(16)
    for name in ("uint8", "int16"):
        a = edges(np.dtype(name))
        limits, x = np.iinfo(name), ints.encrypt(a)
        for number in (limits.min - 1, limits.max + 1, 2**70, -(2**70)):
            refreshes = ints.work.refreshes
            check(f(x, number), f(a, number), ints)
            assert ints.work.refreshes == refreshes
        for number in (limits.min, limits.max):
            check(f(x, number), f(a, number), ints)


ARITHMETIC = [
    *(operator.add, operator.sub, operator.mul, operator.and_, operator.xor, np.minimum, np.maximum),
    lambda a, b: np.concatenate([a, b]),
    lambda a, b: np.stack([b, a]),
]


@pytest.mark.parametrize("f", range(len(ARITHMETIC)))
def test_functions_of_encrypted_and_plain_arrays(f):
    """Pairs of types in turn: all of them are counted in test_numpy_types.py."""
    of, ints = ARITHMETIC[f], context(16)
    a, b = pairs(*[("uint8", "int8"), (">i2", "uint8"), ("uint16", ">u2")][f % 3])
    with np.errstate(over="ignore"):
        check(of(ints.encrypt(a), b), of(a, b), ints)
        check(of(a, ints.encrypt(b)), of(a, b), ints)


@pytest.mark.parametrize("f", [operator.lshift, operator.rshift], ids=["left", "right"])
@pytest.mark.parametrize("name", ["int8", "uint16"])
def test_plain_amounts(f, name):
    """Arrays of them, typed ones and Python's; NumPy shifts by the width and more to 0 and -1."""
    ints = context(16)
    amounts = np.array([0, 1, 3, 4, 7, 8, 9, 15, 16, 17, 100], np.uint8)
    a, b = (x.reshape(-1) for x in np.meshgrid(edges(np.dtype(name)), amounts, indexing="ij"))
    x = ints.encrypt(a)
    check(f(x, b), f(a, b), ints)
    far = np.where(b > 8, 256 * b.astype(np.int16), b)  # multiples of 256 are no 0, also those of int16
    for amount in (b.astype(np.uint16), far, far[-1], np.uint16(256), np.uint16(65535), np.int8(1), 6, 127):
        of_amount = a.dtype if isinstance(amount, int) else amount.dtype
        if np.result_type(a.dtype, of_amount).itemsize <= 2:
            check(f(x, amount), f(a, amount), ints)
    for wrong in (-1, np.int8(-1), np.array([3] * (b.size - 1) + [-1], np.int8)):
        raises((TypeError, OverflowError), "", f, x, wrong)


def test_choices():
    ints = context(16)
    truths = np.array([True, False, True, True, False])
    condition, a = ints.encrypt(truths), np.array([1, 2, 255, 0, 7], np.uint8)
    for one, other in (
        (np.uint8(200), 3),
        (-(2**15), 2**15 - 1),
        (a, a[::-1].copy()),
        ([1, 2, 3, 4, -5], np.int16(-7)),
        (True, 300),
        (truths[::-1].copy(), False),
    ):
        expected = np.where(truths, one, other)
        if expected.dtype == np.int64:
            expected = expected.astype(np.int16)  # the widest that the context holds
        check(np.where(condition, one, other), expected, ints)
    x, mask = ints.encrypt(a), ints.encrypt(~truths)
    check(np.where(condition, x, 9), np.where(truths, a, np.uint8(9)), ints)
    check(np.where(truths, 9, x), np.where(truths, np.uint8(9), a), ints)
    check(np.where(condition, mask, x), np.where(truths, ~truths, a), ints)
    check(np.where(condition, mask, condition), np.where(truths, ~truths, truths), ints)
    check(np.where(condition, True, mask), np.where(truths, True, ~truths), ints)


def test_truth_values():
    ints = context(16)
    p, q = np.array([True, True, False, False]), np.array([True, False, True, False])
    x, y, a = ints.encrypt(p), ints.encrypt(q), np.array([1, 0, 255, 7], np.uint8)
    z = ints.encrypt(a)
    for name in ("eq", "ne", "and_", "or_", "xor", "add", "mul"):
        f = getattr(operator, name)
        check(f(x, y), f(p, q), ints)
        check(f(x, q), f(p, q), ints)
        check(f(z, x), f(a, p), ints)
        check(f(x, a), f(p, a), ints)
    for truth_function in (np.logical_and, np.logical_or, np.logical_xor):
        check(truth_function(x, y), truth_function(p, q), ints)
    check(p ^ y, p ^ q, ints)
    check(x | True, p | True, ints)
    check(x * z, p * a, ints)
    check(np.logical_not(x), ~p, ints)
    check(np.logical_not(z), a == 0, ints)
    check((z < 5) == (z < 2), (a < 5) == (a < 2), ints)
    check(x.astype(">i2"), p.astype(np.int16), ints)
    check(x - np.int16(3), p - np.int16(3), ints)
    check(np.uint8(0) - x, np.uint8(0) - p, ints)
    check(z + True, a + True, ints)
    check((x + y).sum(), (p + q).sum(dtype=np.int16), ints)
    check(x + 1, (p + 1).astype(np.int16), ints)
    check(np.concatenate([x, q]), np.concatenate([p, q]), ints)
    check(np.concatenate([x, a, z]), np.concatenate([p, a, a]), ints)


def test_booleans_of_many_values_are_encrypted():
    ints = context(8)
    p = np.random.default_rng(3).random((3, ints.values + 1)) < 0.5
    x = ints.encrypt(p, levels=2)
    check(x, p, ints)
    check(ints.load(bytes(x)), p, ints)
    check(~x[1], ~p[1], ints)


def test_in_place():
    ints = context(16)
    a = np.arange(5, dtype=np.uint8)
    x = same = ints.encrypt(a)
    x += 3
    x *= x
    x &= np.uint8(60)
    b = (((a + 3) * (a + 3)) & 60).astype(np.uint8)
    check(same, b, ints)
    narrow = ints.encrypt(a.astype(np.int8))
    narrow -= np.int16(300)  # NumPy computes in int16, and casts
    check(narrow, (a.astype(np.int8) - np.int16(300)).astype(np.int8), ints)


def test_functions_of_numpy():
    ints = context(16)
    a = np.array([[1, 2, 200], [0, 255, 7]], np.uint8)
    x = ints.encrypt(a)
    check(np.sum(x, axis=1, dtype=">u2"), np.sum(a, axis=1, dtype=np.uint16), ints)
    check(np.sum(x, keepdims=True), np.sum(a, keepdims=True, dtype=np.uint16), ints)
    check(np.reshape(x, (3, 2)), np.reshape(a, (3, 2)), ints)
    check(np.transpose(x), a.T, ints)
    check(np.transpose(x, (1, 0)), a.T, ints)
    check(np.ravel(x), a.ravel(), ints)
    check(np.broadcast_to(x[0], (2, 3)), np.broadcast_to(a[0], (2, 3)), ints)
    check(np.concatenate([x, a], axis=None), np.concatenate([a, a], axis=None), ints)
    check(np.concatenate([x, a], axis=1), np.concatenate([a, a], axis=1), ints)
    for f in (np.absolute, np.negative, np.invert):
        check(f(x), f(a), ints)
    check(np.floor_divide(x, 7), a // 7, ints)
    check(np.remainder(x, np.int16(-7)), a % np.int16(-7), ints)
    assert (np.shape(x), np.ndim(x), np.size(x)) == ((2, 3), 2, 6)
