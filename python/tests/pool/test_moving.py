"""Values move between contexts and pools."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import hemera as hm
from hemera.pool.parts import PoolCiphertext

from ..refusals import raises
from .setting import Setting, same


@pytest.mark.fact_of_the_cpu("names of devices")
def test_values_move_between_contexts_and_pools(any_scheme: Setting, tmp_path: Path) -> None:
    pool = any_scheme.pool
    a = any_scheme.values(4)
    x, one = any_scheme.pair(a)
    for target in (*pool.contexts, "cpu"):
        moved = x.to(target)
        assert not isinstance(moved, PoolCiphertext)
        assert moved.context in pool.contexts
        assert bytes(moved) == bytes(one)
    assert x.to(any_scheme.ev.evaluators[1]).evaluator is any_scheme.ev.evaluators[1]
    outside = hm.Context(pool.params, "cpu", threads=1)
    foreign = x.to(outside)
    same(foreign.to(pool), one)
    same(foreign.to(any_scheme.ev), one)
    plain = pool.encode(a).parts[0].to(pool)
    assert plain.members == [0, 1]
    np.testing.assert_allclose(pool.decode(plain), a[:2], atol=2**-18)
    x.save(tmp_path / "x")
    same(pool.load(tmp_path / "x"), one)
    with hm.Pool(pool.params, ["cpu"], threads=1) as other:
        same(x.to(other), one)
        for mixed in (x.to(other), foreign):
            with pytest.raises(hm.errors.MismatchError, match=r"two pools|no member"):
                x + mixed
            raises(hm.errors.MismatchError, r"another pool|no member", any_scheme.ev.bind, mixed)
            raises(hm.errors.MismatchError, r"two pools|no member|another pool", hm.concatenate, [x, mixed])
            raises(hm.errors.MismatchError, r"two pools|no member", pool.decrypt, mixed, any_scheme.sk)
        with pytest.raises(hm.errors.MismatchError, match="two pools"):
            x * other.encode(a)
    for misuse in (
        lambda: x.to(any_scheme.one) + x,
        lambda: any_scheme.one.add(x, x),
        lambda: pool.contexts[0].decrypt(x, any_scheme.sk),
    ):
        raises(hm.errors.MismatchError, "in parts on the members", misuse)
    with pytest.raises(hm.errors.MismatchError, match=r"pool\.contexts"):
        pool._native  # noqa: B018
    with pytest.raises(hm.errors.MismatchError, match="evaluators has"):
        any_scheme.ev._native  # noqa: B018
    raises(TypeError, "to takes", x.to, 3)
    raises(hm.errors.DeviceError, "no member", x.to, "cuda:7")
    raises(TypeError, "pickle", pool.__reduce__)
