"""Rounds of AES on encrypted blocks under an encrypted key, by look-ups, XOR and indices (FIPS 197)."""

# Hidden from the server: the blocks and the key.
# Known to it: the number of blocks, and the cipher.
# The client has the secret key.

import time
from typing import Any

import numpy as np

import hemera as hm

ROUNDS = 1  # 10 are the whole cipher
BLOCK, KEY = "3243f6a8885a308d313198a2e0370734", "2b7e151628aed2a6abf7158809cf4f3c"  # of FIPS 197, appendix B
STATES = {1: "a49c7ff2689f352b6b5bea43026a5049", 10: "3925841d02dc09fbdc118597196a0b32"}  # after these rounds


def octets(text: str) -> np.ndarray:
    return np.frombuffer(bytes.fromhex(text), np.uint8)


# The tables: twice a byte in the field of x^8 + x^4 + x^3 + x + 1, and SubBytes, by powers of x + 1.
XTIME = np.array([(2 * x) ^ (0x11B if x >= 128 else 0) for x in range(256)], np.uint8)
powers = [1]
for _ in range(254):
    powers.append(powers[-1] ^ int(XTIME[powers[-1]]))
SBOX = np.full(256, 0x63, np.uint8)
for k, x in enumerate(powers):
    inverse = powers[-k % 255]
    turned = [(inverse << i | inverse >> (8 - i)) & 255 for i in range(5)]
    SBOX[x] = np.bitwise_xor.reduce([*turned, 0x63])

# Byte 4 c + r of a block is in row r and column c.
COLUMN, ROW = np.divmod(np.arange(16), 4)
SHIFT_ROWS = 4 * ((COLUMN + ROW) % 4) + ROW
NEXT, AFTER_NEXT = (4 * COLUMN + (ROW + i) % 4 for i in (1, 2))


def round_keys(key: np.ndarray) -> np.ndarray:
    words, constant = list(key.reshape(4, 4)), 1
    for i in range(4, 44):
        word = words[-1]
        if i % 4 == 0:
            word = SBOX[np.roll(word, -1)] ^ np.array([constant, 0, 0, 0], np.uint8)
            constant = int(XTIME[constant])
        words.append(words[i - 4] ^ word)
    return np.array(words).reshape(11, 16)


def rounds(state: Any, keys: Any, sbox: Any, xtime: Any) -> Any:
    """AddRoundKey, then rounds, of NumPy's arrays and of encrypted ones."""
    state = state ^ keys[0]
    for i in range(1, ROUNDS + 1):
        state = sbox[state][:, SHIFT_ROWS]
        if i < 10:  # MixColumns: 2 a + 3 b + c + d = 2 (a + b) + b + (c + d)
            following = state[:, NEXT]
            pairs = state ^ following
            state = xtime[pairs] ^ following ^ pairs[:, AFTER_NEXT]
        state = state ^ keys[i]
    return state


blocks = np.random.default_rng(18).integers(0, 256, (4, 16), dtype=np.uint8)
blocks[0] = octets(BLOCK)
keys = np.repeat(round_keys(octets(KEY))[: ROUNDS + 1, None], len(blocks), axis=1)  # one for each block
expected = rounds(blocks, keys, SBOX, XTIME)
assert np.array_equal(expected[0], octets(STATES[ROUNDS]))

# The client. "test-exact" is for tests, with a small ring: it is not secure. The default, "n16-exact", is.
client = hm.integers.Context(bits=8, preset="test-exact")
sent = [bytes(client.encrypt(x)) for x in (blocks, *keys)]

# The server has the client's keys, which can not decrypt.
server = hm.integers.Context(bits=8, keys=client.keys)
held, *held_keys = (server.load(file) for file in sent)
began = time.perf_counter()
state = rounds(held, held_keys, hm.integers.Table(SBOX), hm.integers.Table(XTIME))
seconds = time.perf_counter() - began
answer = bytes(state.shrink())

# The client again.
result = client.load(answer)
found = client.decrypt(result)
print(f"{ROUNDS} round(s) of {len(blocks)} blocks, room for {server.values // 16}: {seconds:.1f} s")
print(f"{server.work.refreshes} refreshes; sent {len(b''.join(sent)):,} bytes, answered {len(answer):,}")
print("state of appendix B:", bytes(found[0]).hex())
print(f"wrong with a probability of 2^{result.failure_log2:.0f}")
assert np.array_equal(found, expected)
