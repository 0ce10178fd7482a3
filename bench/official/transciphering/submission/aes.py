"""AES-128 (FIPS 197): of NumPy's arrays for the client, and of encrypted blocks for the server."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import hemera as hm

Bytes = NDArray[np.uint8]
ROUNDS = 10

# Byte 4 c + r of a block is in row r and column c. Encrypted states have row r and column c at place 4 r + c.
PLACES = np.arange(16)
IN_ROWS = PLACES.reshape(4, 4).T.reshape(-1)
"""The byte of each place; and the place of each byte."""
_ROW, _COLUMN = np.divmod(PLACES, 4)
SHIFT_ROWS = 4 * _ROW + (_COLUMN + _ROW) % 4
UNSHIFT_ROWS = 4 * _ROW + (_COLUMN - _ROW) % 4


def times(a: Bytes, factor: int) -> Bytes:
    """Products in the field of x^8 + x^4 + x^3 + x + 1."""
    found = np.zeros_like(a)
    while factor:
        if factor & 1:
            found = found ^ a
        a, factor = (a << 1) ^ np.where(a >= 128, 0x1B, 0).astype(np.uint8), factor >> 1
    return found


def _sbox() -> Bytes:
    """SubBytes: inverses by powers of x + 1, and an affine map."""
    powers = [np.array([1], np.uint8)]
    for _ in range(254):
        powers.append(times(powers[-1], 3))
    box = np.full(256, 0x63, np.uint8)
    for k, x in enumerate(powers):
        inverse = int(powers[-k % 255][0])
        turned = [(inverse << i | inverse >> (8 - i)) & 255 for i in range(5)]
        box[x] = np.bitwise_xor.reduce([*turned, 0x63])
    return box


SBOX = _sbox()
INVERSE = np.argsort(SBOX).astype(np.uint8)


def round_keys(key: Bytes) -> Bytes:
    """The eleven keys of rounds [round, byte]."""
    words, constant = list(key.reshape(4, 4)), np.array([1, 0, 0, 0], np.uint8)
    for i in range(4, 4 * (ROUNDS + 1)):
        word = words[-1]
        if i % 4 == 0:
            word, constant = SBOX[np.roll(word, -1)] ^ constant, times(constant, 2)
        words.append(words[i - 4] ^ word)
    return np.array(words).reshape(ROUNDS + 1, 16)


def inverse_keys(keys: Bytes) -> Bytes:
    """The keys of the equivalent inverse cipher, in the order of its rounds (5.3.5)."""
    keys = keys[::-1].copy()
    keys[1:-1] = _combined(keys[1:-1], (14, 11, 13, 9))
    return keys


def _combined(state: Bytes, factors: tuple[int, int, int, int]) -> Bytes:
    """MixColumns with these factors of the bytes from each one on, downwards in its column."""
    column, row = np.divmod(PLACES, 4)
    moved = [times(state[:, 4 * column + (row + i) % 4], factor) for i, factor in enumerate(factors)]
    return np.bitwise_xor.reduce(moved)


def encrypted_blocks(blocks: Bytes, keys: Bytes) -> Bytes:
    """Blocks [block, byte] encrypted in the clear, with keys of rounds [round, byte]."""
    column, row = np.divmod(PLACES, 4)
    state, last = blocks ^ keys[0], len(keys) - 1
    for i in range(1, last + 1):
        state = SBOX[state][:, 4 * ((column + row) % 4) + row]
        state = (_combined(state, (2, 3, 1, 1)) if i < last else state) ^ keys[i]
    return state


def counters(first: bytes, count: int) -> Bytes:
    """The blocks of counter mode [block, byte]."""
    start = int.from_bytes(first, "big")
    words = [((start + i) % (1 << 128)).to_bytes(16, "big") for i in range(count)]
    return np.frombuffer(b"".join(words), np.uint8).reshape(count, 16)


# --- Of encrypted blocks. Bits are booleans [bit, ..., place, block], the lowest bit first. ---


class Forward:
    """Encryption."""

    table = last = hm.integers.Table(SBOX)
    shift = SHIFT_ROWS

    @staticmethod
    def mixed(state: hm.integers.Booleans, key: hm.integers.Booleans) -> hm.integers.Booleans:
        """MixColumns and a round's key: 2 a + 3 b + c + d = 2 (a + b) + b + (c + d)."""
        following = _below(state, 1)
        pairs = state ^ following
        return _doubled(pairs) ^ ((following ^ key) ^ _below(pairs, 2))


class Inverse:
    """Decryption: the equivalent inverse cipher, with its keys."""

    _words = sum(
        times(INVERSE, factor).astype(np.uint32) << 8 * i for i, factor in enumerate((14, 11, 13, 9))
    )
    table, last = hm.integers.Table(np.asarray(_words, np.uint32)), hm.integers.Table(INVERSE)
    shift = UNSHIFT_ROWS

    @staticmethod
    def mixed(state: hm.integers.Booleans, key: hm.integers.Booleans) -> hm.integers.Booleans:
        """InvMixColumns, of tables of the products, and a round's key."""
        a, b, c, d = (_below(state[8 * i : 8 * i + 8], i) for i in range(4))
        return (a ^ b) ^ ((c ^ d) ^ key)


def crypted(
    blocks: NDArray[np.bool_], keys: hm.integers.Integers, way: type[Forward] | type[Inverse]
) -> hm.integers.Booleans:
    """Encrypted or decrypted blocks, of clear ones.

    Args:
        blocks: bits [bit, part, place, block].
        keys: of rounds, encrypted [round, place, block].
    """
    of_keys = hm.integers.Table(np.arange(256, dtype=np.uint8)).bits(keys)
    rounds = len(keys) - 1
    state = _key(of_keys, 0) ^ blocks
    for i in range(1, rounds + 1):
        state = state[:, :, way.shift]
        if i < rounds:
            state = way.mixed(way.table.bits(state), _key(of_keys, i))
        else:
            state = way.last.bits(state) ^ _key(of_keys, i)
    return state


def _key(of_keys: hm.integers.Booleans, i: int) -> hm.integers.Booleans:
    """The bits of a round's key, of all parts."""
    return of_keys[:, i : i + 1]


def _below(bits: hm.integers.Booleans, rows: int) -> hm.integers.Booleans:
    """The bytes that many rows below, cyclically."""
    return bits[:, :, (PLACES + 4 * rows) % 16]


def _doubled(b: hm.integers.Booleans) -> hm.integers.Booleans:
    """Twice a byte in the field: bits move up, and the highest goes to bits 0, 1, 3 and 4."""
    top = b[7:]
    return np.concatenate([top, b[:1] ^ top, b[1:2], b[2:4] ^ top, b[4:7]])
