"""Encrypted values at other places: indices, shapes, joined and repeated arrays, beside NumPy's."""

import itertools
import operator

import numpy as np
import pytest

import hemera as hm
from hemera.errors import MismatchError

from ..refusals import raises, refuse
from .setting import check, context

VALUES = 128
"""In a ciphertext of 16 bits."""
COUNT = 2 * VALUES + 37


def numbers(*shape):
    return np.random.default_rng(1).integers(0, 2**16, shape, np.uint16)


@pytest.mark.parametrize(
    ("index", "takes"),
    [
        (np.s_[:5], 0),
        (np.s_[:VALUES], 0),
        (np.s_[VALUES : 2 * VALUES], 0),
        (np.s_[VALUES : VALUES + 3], 0),
        (np.s_[VALUES:], 0),
        (np.s_[...], 0),
        (np.s_[None, :], 0),
        (np.s_[7 : VALUES + 44], 1),
        (np.s_[VALUES - 1 :], 1),
        (np.s_[::3], 1),
        (np.s_[::-1], 1),
        (np.s_[0], 0),
        (np.s_[50], 1),
        (np.s_[-1], 1),
        ([5, 5, 2 * VALUES - 12, 2, VALUES - 1, VALUES], 1),
        ([77] * (VALUES + 5), 1),
        ([VALUES - 1] * 3, 1),
        (np.arange(COUNT) % 3 == 1, 1),
    ],
    ids=str,
)
def test_indices(index, takes):
    a = numbers(COUNT)
    ints = context(16)
    assert ints.values == VALUES
    x = ints.encrypt(a)
    found = x[index]
    check(found, a[index], ints)
    assert x.levels - found.levels == takes


@pytest.mark.parametrize(
    ("count", "last", "step"), [*((n, VALUES, 0) for n in (1, 2, 3, 4)), (3, 37, 0), (3, VALUES, 1)]
)
def test_ciphertexts_in_every_order_and_with_repeats(count, last, step):
    """Three ciphertexts. Values that stay in their places take no level."""
    ints, a = context(16), numbers(2 * VALUES + last)
    x, vectors = ints.encrypt(a), np.split(np.arange(a.size), [VALUES, 2 * VALUES])
    orders = list(itertools.product(range(3), repeat=count))
    for order in orders[:: -(-len(orders) // 12)]:
        if last == VALUES or 2 not in order[:-1]:  # behind a part of one all others would move
            index = np.concatenate([np.roll(vectors[each], -step) for each in order])
            np.testing.assert_array_equal(ints.decrypt(x[index]), np.take(a, index), err_msg=str(order))
            assert x.levels - x[index].levels == step


def test_indices_of_several_axes():
    ints, a = context(16), numbers(5, 10, 11)
    x = ints.encrypt(a)
    rows = [0, 4, 2]
    for index in (np.s_[3], np.s_[1:4, ::2], np.s_[..., 3], np.s_[:, None, 5], np.s_[rows, 1:3], a > 30000):
        check(x[index], a[index], ints)
    check(x[2][3][4], a[2, 3, 4], ints)
    for row, expected in zip(x, a, strict=True):
        check(row, expected, ints)
    assert x.ndim == 3


def test_shapes_take_nothing():
    ints, a = context(16), numbers(4, 150)
    x = ints.encrypt(a)
    for found, expected in (
        (x.reshape(8, 75), a.reshape(8, 75)),
        (x.reshape((2, -1)), a.reshape(2, -1)),
        (x.ravel(), a.ravel()),
        ((x > 5).reshape(600), (a > 5).reshape(600)),
    ):
        check(found, expected, ints)
    assert x.reshape(600).levels == x.levels
    raises(MismatchError, r"\(4, 150\) cannot become \(7, -1\)", x.reshape, 7, -1)
    raises(MismatchError, "number of values must stay", x.reshape, 4, 151)


def test_axes_in_another_order():
    ints, a = context(16), numbers(4, 9, 10)
    x = ints.encrypt(a)
    check(x.T, a.T, ints)
    check(x.transpose(1, 0, 2), a.transpose(1, 0, 2), ints)
    check((x < 3000).transpose((2, 0, 1)), (a < 3000).transpose(2, 0, 1), ints)
    raises(ValueError, "axes", x.transpose, 0, 1)


BOTH = [
    (operator.add, (3, 1), (1, 70)),
    (operator.mul, (3, 1), (1, 70)),
    (operator.lt, (3, 1), (1, 70)),
    (operator.xor, (3, 100), (100,)),
    (np.minimum, (2, VALUES), (VALUES,)),
    (operator.sub, (), (300,)),
    (operator.eq, (1, 3), (200, 1)),
]


@pytest.mark.parametrize(("f", "left", "right"), BOTH, ids=lambda x: str(getattr(x, "__name__", x)))
def test_operands_broadcast(f, left, right):
    ints, a, b = context(16), numbers(*left), numbers(2, *right)[1]
    x, y = ints.encrypt(a), ints.encrypt(b)
    check(f(x, y), f(a, b), ints)
    check(f(x, b), f(a, b), ints)


def test_choices_broadcast():
    ints, a, b = context(16), numbers(3, 1), numbers(2, 70)[1]
    x, y = ints.encrypt(a), ints.encrypt(b)
    check(np.where(y > 30000, x, y), np.where(b > 30000, a, b), ints)
    check(np.where(x > 30000, y, 7), np.where(a > 30000, b, np.uint16(7)), ints)
    check(np.where(x > 30000, b, b[::-1]), np.where(a > 30000, b, b[::-1]), ints)
    check((x > 30000) & (y > 30000), (a > 30000) & (b > 30000), ints)


def test_arrays_repeat():
    ints = context(16)
    for shape, wanted in (((), (2, 300)), ((VALUES,), (3, VALUES)), ((5, 1), (2, 5, 7)), ((4,), (4,))):
        a = numbers(*shape)
        found = np.broadcast_to(ints.encrypt(a), wanted)
        check(found, np.broadcast_to(a, wanted), ints)
    raises(MismatchError, r"\(4,\) do not broadcast to \(5,\)", np.broadcast_to, ints.encrypt(numbers(4)), 5)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_arrays_are_joined(axis):
    ints = context(16)
    a, b = numbers(3, 110), numbers(2, 3, 110)[1]
    x, y = ints.encrypt(a), ints.encrypt(b) + 0  # of fewer levels
    check(np.concatenate([x, b, y], axis), np.concatenate([a, b, b], axis), ints)
    check(np.stack([x, y], axis), np.stack([a, b], axis), ints)
    check(np.concatenate([x < y, x == y], axis), np.concatenate([a < b, a == b], axis), ints)


def test_whole_ciphertexts_are_joined_for_nothing():
    ints, a, b = context(16), numbers(2 * VALUES), numbers(2, 20)[1]
    x, y = ints.encrypt(a), ints.encrypt(b)
    found = np.concatenate([x, y])
    check(found, np.concatenate([a, b]), ints)
    assert found.levels == x.levels
    low = y + 1
    found = np.concatenate([x, low])
    check(found, np.concatenate([a, b + np.uint16(1)]), ints)
    assert low.levels - 1 <= found.levels <= low.levels


def test_types_of_joined_arrays_are_numpys():
    ints = context(16)
    a, b = numbers(5).astype(np.uint8), numbers(6).astype(np.int8)
    check(np.concatenate([ints.encrypt(a), ints.encrypt(b)]), np.concatenate([a, b]), ints)
    check(np.concatenate([b, ints.encrypt(a)]), np.concatenate([b, a]), ints)


def test_values_move_when_no_level_is_left():
    ints, a = context(16), numbers(300)
    x, expected, turned = ints.encrypt(a), a, [*range(1, 300), 0]
    for _ in range(x.levels + 3):
        x, expected = x[turned], expected[turned]
    check(x, expected, ints)
    assert x.failure_log2 > -np.inf  # refreshed
    low, truth = ints.encrypt(a) < 30000, a < 30000
    for _ in range(low.levels + 2):
        low, truth = low[turned], truth[turned]
    check(low, truth, ints)


def test_what_does_not_move():
    ints, a = context(16), numbers(4)
    x = ints.encrypt(a)
    refuse(
        (lambda: x[4], IndexError, "out of bounds"),
        (lambda: x[4:], IndexError, "selects nothing"),
        (lambda: x[x > 3], TypeError, "chooses"),
        (lambda: x.reshape(2, 2)[0, x], TypeError, "Table"),
    )
    with pytest.raises(TypeError, match="do not change"):
        x[0] = 3
    refuse(
        (lambda: list(x[0]), TypeError, "without axes"),
        (lambda: np.asarray(x), TypeError, "decrypt it"),
        (lambda: np.stack([x, x[:3]]), MismatchError, "do not fit"),
        (lambda: np.concatenate([x, x], axis=1), MismatchError, "do not fit: axis 1"),
    )
    other = hm.integers.Context(16, preset="test-exact", keys=ints.keys)
    raises(MismatchError, "two contexts", np.concatenate, [x, other.encrypt(a)])
