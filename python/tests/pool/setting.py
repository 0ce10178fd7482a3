"""What tests of pools share: a pool with keys, and the comparison with one context."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import hemera as hm
from hemera.pool.evaluator import PoolEvaluator
from hemera.pool.parts import PoolCiphertext

from ..conftest import PLAIN_MODULUS, make_params

SLOTS = 8


@dataclass
class Setting:
    """A pool with keys, and one of its members as a context of its own."""

    pool: hm.Pool
    sk: hm.SecretKey
    ev: PoolEvaluator

    @property
    def one(self):
        return self.ev.evaluators[0]

    def values(self, *shape, seed=1):
        random = np.random.default_rng(seed)
        if self.pool.params.scheme == "ckks":
            return random.uniform(-1, 1, (*shape, SLOTS))
        return random.integers(-9, 9, (*shape, SLOTS))

    def pair(self, values):
        """The same ciphertext in parts, and on one member."""
        x = self.one.encrypt(values)
        return self.ev.bind(x), x

    def check(self, found, expected):
        values = self.pool.decrypt(found, self.sk)
        assert isinstance(found, PoolCiphertext)
        assert values.shape == expected.shape
        if self.pool.params.scheme == "ckks":
            np.testing.assert_allclose(values, expected, atol=2**-18)
        else:
            half = PLAIN_MODULUS // 2
            np.testing.assert_array_equal(values, (expected + half) % PLAIN_MODULUS - half)


def make(scheme, members):
    pool = hm.Pool(make_params(scheme), ["cpu"] * members, threads=1)
    sk = pool.generate_secret_key()
    own = {"conjugation": True} if scheme == "ckks" else {"swap_rows": True}
    keys = pool.generate_keys(sk, rotations=[1, 2, 3], sum_slots=True, **own)
    return Setting(pool, sk, pool.bind(keys))


def same(found, expected):
    """The bits of results, ciphertexts or lists of them."""
    if isinstance(expected, (list, tuple)):
        assert type(found) is type(expected)
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            same(a, b)
        return
    assert isinstance(found, PoolCiphertext)
    for fact in ("shape", "dtype", "level", "scale", "size", "filled"):
        assert getattr(found, fact) == getattr(expected, fact), fact
    assert bytes(found) == bytes(expected)
