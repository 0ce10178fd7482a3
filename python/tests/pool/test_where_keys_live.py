"""Every method with a key, wherever the key is: of no member, of one, of some, of all, in pools of 1 to 3."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import hemera as hm
from hemera.errors import MismatchError

from ..conftest import make_params
from ..refusals import raises

HOMES = [(count, homes) for count in (1, 2, 3) for homes in ([], *([at] for at in range(count)))]
HOMES += [(2, [1, 0]), (3, [0, 2]), (3, [2, 0]), (3, [1, 0]), (3, [1, 2, 0]), (3, [0, 1, 2])]
"""The number of members, and which have the secret key, the first one its own."""
SLOTS = 8


def shared(pool: hm.Pool, x: hm.Ciphertext, sk: hm.SecretKey) -> Any:
    bound = {"noise_bound": 2.0**-60} if pool.params.scheme == "ckks" else {}
    return pool.decrypt_for_sharing(x, sk, **bound)


def moved(pool: hm.Pool, x: hm.Ciphertext, sk: hm.SecretKey) -> Any:
    """To the same secret key, so that it stays where it is."""
    return pool.decrypt(pool._keyless.reencrypt(x, pool.generate_switching_key(sk, sk)), sk)


CALLS: dict[str, Callable[[hm.Pool, hm.Ciphertext, hm.SecretKey, NDArray[Any]], Any]] = {
    "decrypt": lambda pool, x, sk, _: pool.decrypt(x, sk),
    "decrypt a row": lambda pool, x, sk, a: np.stack([pool.decrypt(x[at], sk) for at in range(len(a))]),
    "decrypt to an array": lambda pool, x, sk, a: pool.decrypt(x, sk, out=np.empty_like(a)),
    "decrypt with masks": lambda pool, x, sk, _: pool.decrypt(x, sk, errors="mask").filled(),
    "decrypt to share": lambda pool, x, sk, _: shared(pool, x, sk),
    "encrypt": lambda pool, _, sk, a: pool.decrypt(pool.encrypt(a, sk), sk),
    "encrypt a plaintext": lambda pool, _, sk, a: pool.decrypt(pool.encrypt(pool.encode(a), sk), sk),
    "encrypt by other keys": lambda pool, _, sk, a: pool.decrypt(pool.encrypt(a, pool.generate_keys(sk)), sk),
    "bind": lambda pool, x, sk, _: pool.decrypt(
        pool.bind(pool.generate_keys(sk, rotations=[1, -1])).bind(x).rotate(1).rotate(-1), sk
    ),
    "switch": lambda pool, x, sk, _: moved(pool, x, sk),
    "product": lambda pool, x, sk, a: pool.decrypt(pool.bind(pool.generate_keys(sk)).bind(x) * a, sk),
}


@pytest.mark.parametrize("scheme", ["ckks", "bfv", "bgv"])
@pytest.mark.parametrize(("count", "homes"), HOMES, ids=str)
def test_a_secret_key_is_used_where_it_is_and_goes_nowhere(
    monkeypatch: pytest.MonkeyPatch, scheme: str, count: int, homes: list[int]
) -> None:
    random = np.random.default_rng(count)
    a = random.uniform(-1, 1, (4, SLOTS)) if scheme == "ckks" else random.integers(-9, 9, (4, SLOTS))
    with hm.Pool(make_params(scheme), ["cpu"] * count, threads=1) as pool:
        contexts = [pool.contexts[at] for at in homes]
        own = contexts[0] if homes else hm.Context(pool.params, "cpu", threads=1)
        sk = own.generate_secret_key()
        sk._copies.extend(sk.to(context) for context in contexts[1:])
        x = pool.bind(pool.load(bytes(own.generate_keys(sk)))).encrypt(a)
        copy_of, decrypt = hm.Context._copy_of, hm.Context.decrypt
        decrypting: set[hm.Context] = set()

        def copied(context: hm.Context, stored: Any) -> Any:
            assert not isinstance(stored, hm.SecretKey), "a secret key reached a member that was not told"
            return copy_of(context, stored)

        def decrypted(context: hm.Context, *args: Any, **options: Any) -> Any:
            decrypting.add(context)
            return decrypt(context, *args, **options)

        monkeypatch.setattr(hm.Context, "_copy_of", copied)
        monkeypatch.setattr(hm.Context, "decrypt", decrypted)
        for name, call in CALLS.items():
            decrypting.clear()
            if not homes:
                raises(MismatchError, "no member", call, pool, x, sk, a)
                continue
            found, expected = call(pool, x, sk, a), a * a if name == "product" else a
            np.testing.assert_allclose(found, expected, atol=0 if scheme != "ckks" else 1e-3, err_msg=name)
            if name == "decrypt":  # each member its part, where all may
                assert decrypting == (set(pool.contexts) if len(homes) == count else {own})
        if scheme != "ckks" and homes:
            assert pool.noise_budget(x, sk) == own.noise_budget(x.to(own), sk)
        monkeypatch.undo()
        if homes:  # told to, all have it
            assert {pool.replicate(sk).to(context).context for context in pool.contexts} == set(pool.contexts)
            assert len(sk._copies) == count - 1
