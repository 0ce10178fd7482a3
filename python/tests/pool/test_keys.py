"""Keys of a pool: evaluation keys are copied once, secret keys where it is asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import hemera as hm

from ..refusals import raises
from .setting import Setting, make, same


def test_keys_are_copied_once_and_secrets_by_request() -> None:
    setting = make("ckks", 3)
    keys, pool, sk = setting.ev.keys, setting.pool, setting.sk
    bound = pool.bind(keys)
    for first, second in zip(setting.ev.evaluators[1:], bound.evaluators[1:], strict=True):
        assert first.keys is second.keys
        assert first.context is first.keys.context
        assert bytes(first.keys) == bytes(keys)
    assert pool.replicate(sk) is pool.replicate(sk) is sk
    assert [copy.context for copy in sk._copies] == list(pool.contexts[1:])
    assert bytes(sk._copies[0]) == bytes(sk)
    x = pool.encrypt(setting.values(4), sk)
    assert pool.load(bytes(keys)).context is pool.contexts[0]
    other = hm.Context(pool.params, "cpu", threads=1)
    raises(hm.errors.MismatchError, "no member", pool.bind, other.load(bytes(keys)))
    raises(hm.errors.MismatchError, "no member", pool.decrypt, x, other.load(bytes(sk)))
    raises(TypeError, "SecretKey", pool.bind, sk)


def test_keys_are_written_by_the_member_of_the_secret(ckks: Setting, tmp_path: Path) -> None:
    counts: list[tuple[int, int]] = []
    ckks.pool.save_keys(
        tmp_path / "keys",
        ckks.sk,
        rotations=[1],
        progress=lambda _, done, count: counts.append((done, count)),
    )
    assert counts[-1] == (2, 2)  # of products, and of the rotation
    a = ckks.values(3)
    x = ckks.pool.bind(ckks.pool.load(tmp_path / "keys")).encrypt(a)
    np.testing.assert_allclose(ckks.pool.decrypt(x.rotate(1), ckks.sk), np.roll(a, -1, -1), atol=2**-18)


def test_a_second_secret(ckks: Setting) -> None:
    other = ckks.pool.generate_secret_key()
    key = ckks.pool.generate_switching_key(ckks.sk, other)
    x, one = ckks.pair(ckks.values(3))
    moved = ckks.ev.reencrypt(x, key)
    same(moved, ckks.one.reencrypt(one, key))
    np.testing.assert_allclose(ckks.pool.decrypt(moved, other), ckks.values(3), atol=2**-18)
    assert not moved.evaluator.has_keys


def test_the_client_s_side_in_one_context_s_words(any_scheme: Setting) -> None:
    pool, sk = any_scheme.pool, any_scheme.sk
    a = any_scheme.values(4)
    x, one = any_scheme.pair(a)
    context = pool.contexts[0]
    if pool.params.scheme == "ckks":
        shown = {"noise_bound": 2.0**-30}
        assert pool.noise_bound(depth=1, largest=1) == context.noise_bound(depth=1, largest=1)
        np.testing.assert_array_equal(
            pool.decrypt_for_sharing(x, sk, **shown), context.decrypt_for_sharing(one, sk, **shown)
        )
    else:
        assert pool.noise_budget(x, sk) == context.noise_budget(one, sk)
        np.testing.assert_array_equal(pool.decrypt_for_sharing(x, sk), a)
    assert any_scheme.ev.rotation_plan(x, -1) == any_scheme.one.rotation_plan(one, -1)
    same(any_scheme.ev.load(bytes(one)), one)
    same(pool.load(bytes(x)), one)
    raises(hm.errors.DeviceError, "one GPU", pool.decrypt_on_device, x, sk)
    raises(hm.errors.DeviceError, "one GPU", pool.decode_on_device, pool.encode(a))
