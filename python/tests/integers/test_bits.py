"""Bits of encrypted integers beside NumPy's: tables of bits, XOR without refreshes, bits and bytes joined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hemera as hm

from .setting import check, context

SHAPE = (2, 4, 64)
"""Two ciphertexts of 16 bits."""


def values() -> np.ndarray:
    found = np.arange(np.prod(SHAPE)).reshape(SHAPE).astype(np.uint8)
    return np.random.default_rng(1).permutation(found.reshape(-1)).reshape(SHAPE)


def bits(x: np.ndarray, count: int = 8) -> np.ndarray:
    return np.stack([x >> i & 1 for i in range(count)]).astype(np.bool_)


@pytest.mark.parametrize(
    ("entries", "dtype", "shape"),
    [(256, np.uint8, SHAPE), (256, np.uint32, SHAPE), (256, np.int8, (3, 5)), (16, np.uint16, (4, 64))],
)
def test_tables_of_bits(entries: int, dtype: Any, shape: tuple[int, ...]) -> None:
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


def test_a_byte_program_takes_one_refresh_a_round() -> None:
    """A table, XOR of five terms in rows that turn, and another order: as ciphers have them, six times."""
    ints, a, random = context(16), values(), np.random.default_rng(3)
    table = random.permutation(256).astype(np.uint8)
    key, order = random.integers(0, 256, SHAPE, np.uint8), random.permutation(64)
    rows = [np.arange(4) - i for i in range(4)]
    state, of_key, x = bits(a), hm.integers.Table(np.arange(256, dtype=np.uint8)).bits(ints.encrypt(key)), a
    encrypted = ints.encrypt(state)
    before = ints.work.refreshes
    for _ in range(6):
        of_table = hm.integers.Table(table).bits(encrypted)
        one, two, three, four = (of_table[:, :, row] for row in rows)
        assert one.levels == of_table.levels == four.levels  # whole ciphertexts that turn take none
        encrypted = ((one ^ two) ^ ((three ^ four) ^ of_key))[..., order]
        x = table[x]
        x = (x ^ x[:, rows[1]] ^ x[:, rows[2]] ^ x[:, rows[3]] ^ key)[..., order]
    assert ints.work.refreshes - before == 6 * 2
    check(encrypted, bits(x), ints)
    check(hm.integers.from_bits(encrypted, np.uint8), x, ints)


@pytest.mark.parametrize("ufunc", [np.bitwise_xor, np.bitwise_and, np.bitwise_or, np.not_equal, np.equal])
def test_plain_truths_take_a_level(ufunc: np.ufunc) -> None:
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
def test_integers_of_bits(count: int, dtype: Any, shape: tuple[int, ...]) -> None:
    ints = context(16)
    a = np.random.default_rng(5).integers(0, 2**count, shape, np.uint16)
    of_a, before = ints.encrypt(bits(a, count)), ints.work.refreshes
    check(hm.integers.from_bits(of_a, dtype), a.astype(dtype), ints)
    check(hm.integers.from_bits(list(of_a), dtype), a.astype(dtype), ints)
    assert ints.work.refreshes == before


@pytest.mark.parametrize("shape", [(2, 256), (2, 3, 5), (1, 7)])
def test_integers_of_bytes(shape: tuple[int, ...]) -> None:
    ints, a = context(16), np.random.default_rng(6).integers(0, 256, shape, np.uint8)
    expected = sum(row.astype(np.uint16) << 8 * i for i, row in enumerate(a))
    x, before = ints.encrypt(a), ints.work.refreshes
    check(hm.integers.from_bytes(x, np.uint16), np.asarray(expected, np.uint16), ints)
    assert ints.work.refreshes == before


def test_what_is_refused() -> None:
    ints = context(16)
    x = ints.encrypt(np.arange(4, dtype=np.uint8))
    nine = ints.encrypt(np.zeros((9, 4), np.bool_))
    table = hm.integers.Table(np.arange(256, dtype=np.uint8))
    with pytest.raises(hm.errors.MismatchError, match="its indices have 8 bits, not the shape"):
        table.bits(nine)
    with pytest.raises(TypeError, match="looked up by uint8, not by int16"):
        table.bits(x.astype(np.int16))
    with pytest.raises(hm.errors.MismatchError, match="from 1 to 8 arrays of one shape for uint8, not 9"):
        hm.integers.from_bits(nine, np.uint8)
    with pytest.raises(hm.errors.MismatchError, match="not 2 of"):
        hm.integers.from_bits([nine[0], nine[0, :2]], np.uint8)
    with pytest.raises(hm.errors.MismatchError, match="not 0 of none"):
        hm.integers.from_bytes([], np.uint16)
    with pytest.raises(hm.errors.MismatchError, match="from 1 to 2 arrays of one shape for uint16, not 3"):
        hm.integers.from_bytes([x, x, x], np.uint16)
    with pytest.raises(hm.errors.MismatchError, match="two contexts"):
        hm.integers.from_bytes([x, context(32).encrypt(np.arange(4, dtype=np.uint8))], np.uint16)
    with pytest.raises(TypeError, match="takes encrypted booleans, not"):
        hm.integers.from_bits(x, np.uint8)
    with pytest.raises(TypeError, match="takes uint8, not int16"):
        hm.integers.from_bytes([x.astype(np.int16)], np.uint16)
    with pytest.raises(TypeError, match="this context has integers of 16 bits, not uint32"):
        hm.integers.from_bits(nine, np.uint32)


@pytest.mark.parametrize("of", [np.max, np.min])
@pytest.mark.parametrize(
    ("shape", "axis", "dtype"),
    [
        ((2 * 256 + 37,), None, np.uint16),
        ((3, 5), 1, np.int16),
        ((3, 5), 0, np.uint8),
        ((2, 1), -1, np.uint8),
    ],
)
def test_largest_and_smallest(of: Any, shape: tuple[int, ...], axis: int | None, dtype: Any) -> None:
    ints, limits = context(16), np.iinfo(dtype)
    a = np.random.default_rng(7).integers(limits.min, limits.max, shape, dtype, endpoint=True)
    a.flat[-1] = limits.max if of is np.max else limits.min
    check(of(ints.encrypt(a), axis), of(a, axis), ints)
    check(
        of(ints.encrypt(a[:, :1] if a.ndim > 1 else a[:3]), axis, keepdims=True),
        of(a[:, :1] if a.ndim > 1 else a[:3], axis, keepdims=True),
        ints,
    )


def test_extremes_of_nothing() -> None:
    ints = context(16)
    x = ints.encrypt(np.zeros((0, 2), np.uint8))
    with pytest.raises(ValueError, match="zero-size array"):
        np.max(x)
    with pytest.raises(np.exceptions.AxisError):
        np.min(x, 2)
