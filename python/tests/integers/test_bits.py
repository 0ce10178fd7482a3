"""Bits of encrypted integers beside NumPy's: tables of bits, XOR without refreshes, bits and bytes joined."""

from math import hypot, sqrt

import numpy as np
import pytest

import hemera as hm
from hemera.integers.margins import cleaned_rounding

from ..refusals import raises
from .setting import check, context

SHAPE = (2, 4, 32)
"""Two ciphertexts of 16 bits."""


def values():
    found = np.arange(np.prod(SHAPE)).reshape(SHAPE).astype(np.uint8)
    return np.random.default_rng(1).permutation(found.reshape(-1)).reshape(SHAPE)


def bits(x, count=8):
    return np.stack([x >> i & 1 for i in range(count)]).astype(np.bool_)


@pytest.mark.parametrize(
    ("entries", "dtype", "shape"),
    [(256, np.uint8, SHAPE), (256, np.uint32, (4, 64)), (256, np.int8, (3, 5)), (16, np.uint16, (4, 64))],
)
def test_tables_of_bits(entries, dtype, shape):
    """Indices are integers, and their bits: one refresh of each ciphertext."""
    ints, width = context(16), 8 * np.dtype(dtype).itemsize
    a = values().reshape(-1)[: np.prod(shape)].reshape(shape)
    limits = np.iinfo(dtype)
    table = np.random.default_rng(2).integers(limits.min, limits.max, entries, dtype, endpoint=True)
    expected = bits(table[a & (entries - 1)], width)
    index, x = bits(a, 8 if entries == 256 else 4), ints.encrypt(a)
    for given in (x, ints.encrypt(index)):
        before = ints.work.refreshes
        found = hm.integers.Table(table).bits(given)
        if given is x:
            assert ints.work.refreshes - before == -(-a.size // ints.values)
        check(found, expected, ints)


def test_a_byte_program_takes_one_refresh_a_round():
    """A table, XOR of five terms in rows that turn, and another order: as ciphers have them, three times."""
    ints, a, random = context(16), values(), np.random.default_rng(3)
    table = random.permutation(256).astype(np.uint8)
    key, order = random.integers(0, 256, SHAPE, np.uint8), random.permutation(32)
    rows = [np.arange(4) - i for i in range(4)]
    state, of_key, x = bits(a), hm.integers.Table(np.arange(256, dtype=np.uint8)).bits(ints.encrypt(key)), a
    encrypted = ints.encrypt(state)
    before = ints.work.refreshes
    for _ in range(3):
        of_table = hm.integers.Table(table).bits(encrypted)
        one, two, three, four = (of_table[:, :, row] for row in rows)
        assert one.levels == of_table.levels == four.levels  # whole ciphertexts that turn take none
        encrypted = ((one ^ two) ^ ((three ^ four) ^ of_key))[..., order]
        x = table[x]
        x = (x ^ x[:, rows[1]] ^ x[:, rows[2]] ^ x[:, rows[3]] ^ key)[..., order]
    assert ints.work.refreshes - before == 3 * 2
    check(encrypted, bits(x), ints)
    check(hm.integers.from_bits(encrypted, np.uint8), x, ints)


class Traced:
    """Booleans of one vector, and how often each place of each draw of roundings comes into each value."""

    def __init__(self, value, counts):
        self.value, self.counts = value, counts

    def __xor__(self, other):
        found = dict(self.counts)
        for draw, count in other.counts.items():
            found[draw] = found[draw] + count if draw in found else count
        found[object()] = EACH  # a product's
        return Traced(self.value ^ other.value, found)

    def __getitem__(self, places):
        return Traced(self.value[places], {draw: count[places] for draw, count in self.counts.items()})

    def check(self, ints):
        """The noise is within the bound, by the formula and in the slots."""
        rounding, held = ints._engine.rounding, self.value._held
        deviations = {
            draw: cleaned_rounding(rounding) if type(draw) is int else rounding for draw in self.counts
        }
        squares = sum((count**2).sum(1) * deviations[draw] ** 2 for draw, count in self.counts.items())
        assert held.noise.deviation >= sqrt(np.max(squares)) * (1 - 1e-12)
        slots = ints._ckks.decrypt(held.value, ints._secret, dtype=float)
        assert (slots - np.rint(slots)).std() < held.error


EACH = np.eye(256, dtype=int)
WITH_FIXED = np.r_[0:64, np.random.default_rng(9).permutation(192) + 64]
MOVES = [np.roll(np.arange(256), 1), np.arange(256) ^ 3, WITH_FIXED, np.repeat(np.arange(128), 2)]


def traced(ints, entries):
    """Eight bits of a table, each with a draw of its own."""
    found = hm.integers.Table(entries.astype(np.uint8)).bits(ints.encrypt(np.arange(256, dtype=np.uint8)))
    return [Traced(bit, {i: EACH}) for i, bit in enumerate(found)]


def test_roundings_of_random_programs():
    """Bits enter again, moved with and without places that stay."""
    ints, random = context(8), np.random.default_rng(10)
    sources = traced(ints, random.permutation(256))
    before = ints.work.refreshes
    for _ in range(8):
        pool = list(sources[: random.integers(1, 4)])
        for _ in range(6):
            a, b = (pool[i] for i in random.integers(0, len(pool), 2))
            if random.integers(2) and b.value.levels:
                b = b[MOVES[random.integers(4)]]
            if min(a.value.levels, b.value.levels) > 0:
                pool.append(a ^ b)
                pool[-1].check(ints)
    assert ints.work.refreshes == before


def test_roundings_of_different_bits_add_up_in_squares():
    ints = context(8)
    a, b, c, d, *_ = traced(ints, np.arange(256))
    cleaned, rounding = cleaned_rounding(ints._engine.rounding), ints._engine.rounding
    turned = MOVES[0]
    for found in ((a ^ b) ^ (c ^ d[turned]), (a ^ b) ^ (c ^ b[turned])):  # other slots of one bit
        told = found.value._held.noise.deviation
        assert told == pytest.approx(hypot(2 * cleaned, sqrt(3) * rounding))
    for places in MOVES[1:3]:  # where slots go in other orders is not followed
        for moved in (a, a[turned]):
            told = (moved ^ a[places]).value._held.noise.deviation
            assert told == pytest.approx(hypot(2 * cleaned, rounding))


@pytest.mark.parametrize("other", [0x55, 0xFF], ids=["opposite", "equal"])
def test_tables_of_one_refresh_may_be_one(other):
    """Bits of these entries are equal or opposite, and bits that are read of an array again are the same."""
    ints, x = context(8), np.arange(256, dtype=np.uint8)
    table = hm.integers.Table(np.where(x % 2, other, 0xFF ^ other).astype(np.uint8))
    encrypted = ints.encrypt(x)
    (a, b, *_), (again, *_) = table.bits(encrypted), table.bits(encrypted)
    for pair in ((a, b), (a, again)):
        Traced(pair[0] ^ pair[1], {0: 2 * EACH, object(): EACH}).check(ints)
    eight = ints._engine.number([bit._held for bit in table.bits(encrypted)])
    assert eight.error >= 255 * cleaned_rounding(ints._engine.rounding)


@pytest.mark.parametrize(
    "step",
    [
        lambda _, y: y ^ y,
        lambda x, y: (x ^ y) ^ x,
        lambda x, y: y ^ (x[WITH_FIXED] ^ x),
        lambda x, y: y ^ (y ^ x)[MOVES[0]],
    ],
)
def test_long_chains(step):
    """Arrays enter again and again: the deviation stays within its bound."""
    ints, of_x = context(16), values().reshape(-1)[:256] % 2 == 1
    x = y = ints.encrypt(of_x)
    of_y = of_x
    for _ in range(16):
        y, of_y = step(x, y), step(of_x, of_y)
        check(y, of_y, ints)


@pytest.mark.parametrize("ufunc", [np.bitwise_xor, np.bitwise_and, np.bitwise_or, np.not_equal, np.equal])
def test_plain_truths_take_a_level(ufunc):
    ints, a = context(16), bits(values())
    plain = np.random.default_rng(4).integers(0, 2, (8, 1, *SHAPE[1:])).astype(np.bool_)
    x = ints.encrypt(a)
    found = ufunc(x, plain)
    check(found, ufunc(a, plain), ints)
    assert x.levels - found.levels == 1


@pytest.mark.parametrize(
    ("count", "dtype", "shape"),
    [(8, np.uint8, SHAPE), (16, np.int16, (4, 64)), (3, np.uint16, (5,)), (1, np.int8, (2, 128))],
)
def test_integers_of_bits(count, dtype, shape):
    ints = context(16)
    a = np.random.default_rng(5).integers(0, 2**count, shape, np.uint16)
    of_a, before = ints.encrypt(bits(a, count)), ints.work.refreshes
    check(hm.integers.from_bits(of_a, dtype), a.astype(dtype), ints)
    check(hm.integers.from_bits(list(of_a), dtype), a.astype(dtype), ints)
    assert ints.work.refreshes == before


@pytest.mark.parametrize("shape", [(2, 256), (2, 3, 5), (1, 7)])
def test_integers_of_bytes(shape):
    ints, a = context(16), np.random.default_rng(6).integers(0, 256, shape, np.uint8)
    expected = sum(row.astype(np.uint16) << 8 * i for i, row in enumerate(a))
    x, before = ints.encrypt(a), ints.work.refreshes
    check(hm.integers.from_bytes(x, np.uint16), np.asarray(expected, np.uint16), ints)
    assert ints.work.refreshes == before


def test_what_is_refused():
    ints = context(16)
    x = ints.encrypt(np.arange(4, dtype=np.uint8))
    nine = ints.encrypt(np.zeros((9, 4), np.bool_))
    table = hm.integers.Table(np.arange(256, dtype=np.uint8))
    raises(hm.errors.MismatchError, "its indices have 8 bits, not the shape", table.bits, nine)
    raises(TypeError, "looked up by uint8, not by int16", table.bits, x.astype(np.int16))
    with pytest.raises(hm.errors.MismatchError, match="from 1 to 8 arrays of one shape for uint8, not 9"):
        hm.integers.from_bits(nine, np.uint8)
    raises(hm.errors.MismatchError, "not 2 of", hm.integers.from_bits, [nine[0], nine[0, :2]], np.uint8)
    raises(hm.errors.MismatchError, "not 0 of none", hm.integers.from_bytes, [], np.uint16)
    with pytest.raises(hm.errors.MismatchError, match="from 1 to 2 arrays of one shape for uint16, not 3"):
        hm.integers.from_bytes([x, x, x], np.uint16)
    with pytest.raises(hm.errors.MismatchError, match="two contexts"):
        hm.integers.from_bytes([x, context(32).encrypt(np.arange(4, dtype=np.uint8))], np.uint16)
    raises(TypeError, "takes encrypted booleans, not", hm.integers.from_bits, x, np.uint8)
    raises(TypeError, "takes uint8, not int16", hm.integers.from_bytes, [x.astype(np.int16)], np.uint16)
    with pytest.raises(TypeError, match="this context has integers of 16 bits, not uint32"):
        hm.integers.from_bits(nine, np.uint32)


@pytest.mark.parametrize(
    ("of", "shape", "axis", "dtype"),
    [
        (np.max, (256 + 37,), None, np.uint16),
        (np.min, (3, 5), 1, np.int16),
        (np.max, (3, 5), 1, np.int16),
        (np.min, (3, 5), 0, np.uint8),
        (np.max, (2, 1), -1, np.uint8),
        (np.min, (2, 3, 2), (0, -1), np.int8),
        (np.max, (2, 3), (), np.uint8),
        (np.min, (), 0, np.uint8),
    ],
)
def test_largest_and_smallest(of, shape, axis, dtype):
    ints, limits = context(16), np.iinfo(dtype)
    a = np.random.default_rng(7).integers(limits.min, limits.max, shape, dtype, endpoint=True)
    a.flat[-1] = limits.max if of is np.max else limits.min
    check(of(ints.encrypt(a), axis), of(a, axis), ints)
    part = a[:, :1] if a.ndim > 1 else a[:3] if a.ndim else a
    check(of(ints.encrypt(part), axis, keepdims=True), of(part, axis, keepdims=True), ints)


def test_extremes_of_nothing():
    ints = context(16)
    x = ints.encrypt(np.zeros((0, 2), np.uint8))
    for axis, told in ((None, "zero-size array"), (2, "axis 2 is out of bounds")):
        raises(ValueError, told, np.max, x, axis)
    assert ints.decrypt(np.min(x, 1)).shape == (0,)
