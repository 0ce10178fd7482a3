"""A pool's members copy the evaluation keys that they use, and no others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import hemera as hm
from hemera.circuits import LinearTransform

from ..conftest import make_params
from .setting import Setting, make, same


@pytest.fixture
def setting() -> Iterator[Setting]:
    found = make("ckks", 3)
    with found.pool:
        yield found


def switching_bytes(keys: hm.Keys) -> int:
    return keys.memory_bytes - keys.public_only().memory_bytes


def one_key(setting: Setting) -> int:
    """The bytes of a key of a rotation."""
    pool = setting.pool
    return switching_bytes(pool.generate_keys(setting.sk, relinearization=False, rotations=[1]))


def test_members_copy_a_key_at_its_first_use(setting: Setting) -> None:
    keys, pool = setting.ev.keys, setting.pool
    of_members = [ev.keys for ev in setting.ev.evaluators]
    assert of_members[0] is keys
    assert [switching_bytes(each) for each in of_members[1:]] == [0, 0]
    used = [context.memory_used for context in pool.contexts]
    two, whole = setting.pair(setting.values(2))  # on the first two members
    same(two.rotate(1), whole.rotate(1))
    each = one_key(setting)
    assert [switching_bytes(keys) for keys in of_members[1:]] == [each, 0]
    same(two.rotate(1), whole.rotate(1))
    assert [switching_bytes(keys) for keys in of_members[1:]] == [each, 0]
    same(two * two, whole * whole)
    assert [switching_bytes(keys) for keys in of_members[1:]] == [2 * each, 0]
    # The last member has made nothing.
    assert pool.contexts[2].memory_used == used[2]
    # A second evaluator has the same copies, and copies of the whole are whole.
    again = pool.bind(keys)
    same(again.bind(two).rotate(1), whole.rotate(1))
    assert again.evaluators[1].keys is of_members[1]
    assert switching_bytes(of_members[1]) == 2 * each
    assert bytes(of_members[2]) == bytes(keys)
    assert of_members[1].galois_elements == keys.galois_elements
    apart = hm.Context(pool.params, "cpu", threads=1)
    assert of_members[2].to(apart).memory_bytes == keys.memory_bytes


def test_unions_and_missing_keys_are_those_of_the_whole(setting: Setting) -> None:
    pool = setting.pool
    more = pool.generate_keys(setting.sk, public_key=False, relinearization=False, rotations=[5])
    x, whole = setting.pair(setting.values(3))
    both = pool.bind(setting.ev.keys | more)
    own = pool.contexts[0].bind(setting.ev.keys | more)
    for steps in (1, 5):
        same(both.bind(x).rotate(steps), own.bind(whole).rotate(steps))
    bare = pool.bind(pool.generate_keys(setting.sk, relinearization=False))
    with pytest.raises(hm.errors.MissingKeyError, match="relinearization key"):
        bare.bind(x) * bare.bind(x)


@pytest.mark.parametrize(("members", "giants"), [(2, [2]), (3, [1, 1])])
def test_a_shared_transform_has_the_keys_of_its_giant_steps(members: int, giants: list[int]) -> None:
    """16 diagonals in steps of 4: three keys for baby steps, and one for each giant step but the first."""
    params = make_params("ckks")
    matrix = np.random.default_rng(3).uniform(-1, 1, (16, 16))
    plan = LinearTransform(matrix, params, baby_steps=4)
    with hm.Pool(params, ["cpu"] * 4, threads=1) as pool:
        sk = pool.generate_secret_key()
        keys = pool.generate_keys(sk, relinearization=False, plan=plan)
        ev = pool.bind(keys)
        values = np.random.default_rng(4).uniform(-1, 1, 16)
        x = ev.bind(ev.evaluators[0].encrypt(values))
        y = pool.circuit(plan, members=members)(x)
        assert bytes(y) == bytes(plan(x))
        np.testing.assert_allclose(pool.decrypt(y, sk), matrix @ values, atol=2**-18)
        each = switching_bytes(keys) / len(keys.galois_elements)
        found = [switching_bytes(own.keys) / each for own in ev.evaluators]
        assert len(keys.galois_elements) == 6
        assert found[1:] == [*(3 + own for own in giants), *[0] * (4 - members)]
