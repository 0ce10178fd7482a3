"""Rotations, sums and exchanges of slots."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hemera as hm
from hemera.objects.keys import rotations_for_sum


def full(party: Any) -> np.ndarray[Any, Any]:
    return party.values(2, party.ctx.params.max_slots)


def rolled(party: Any, values: np.ndarray[Any, Any], steps: int) -> np.ndarray[Any, Any]:
    """Slots turned left; BFV and BGV within their two rows."""
    if not party.exact:
        return np.roll(values, -steps, axis=-1)
    rows = values.reshape(*values.shape[:-1], 2, -1)
    return np.roll(rows, -steps, axis=-1).reshape(values.shape)


@pytest.mark.parametrize("steps", [0, 1, -1, 7, 3, 5, -6, 511, 513, 3 - 2**70])
def test_rotate(party: Any, steps: int) -> None:
    a = full(party)
    party.check(party.ev.encrypt(a).rotate(steps), rolled(party, a, steps))


def test_rotate_many_equals_rotate(party: Any) -> None:
    a = full(party)
    x = party.ev.encrypt(a)
    steps = [1, -1, 0, 7, 3]
    results = x.rotate_many(steps)
    assert len(results) == len(steps)
    for step, result in zip(steps, results, strict=True):
        party.check(result, rolled(party, a, step))
        assert bytes(result) == bytes(x.rotate(step))


def test_rotation_plan_uses_one_key_if_it_is_there(party: Any) -> None:
    x = party.ev.encrypt(full(party))
    assert party.ev.rotation_plan(x, 7) == [7]
    assert party.ev.rotation_plan(x, 0) == []
    plan = party.ev.rotation_plan(x, 9)
    assert len(plan) == 2
    assert sum(plan) == 9


def test_rotations_needed_suffice(party: Any) -> None:
    steps = [3, 5, 100, -77]
    needed = hm.rotations_needed(party.ctx.params, steps)
    assert all(abs(step).bit_count() == 1 for step in needed)
    ev = party.ctx.bind(party.ctx.generate_keys(party.sk, relinearization=False, rotations=needed))
    a = full(party)
    for step in steps:
        party.check(ev.encrypt(a).rotate(step), rolled(party, a, step))


def test_rotations_for_sum_suffice(ckks: Any) -> None:
    steps = rotations_for_sum(ckks.ctx.params, 16)
    ev = ckks.ctx.bind(ckks.ctx.generate_keys(ckks.sk, relinearization=False, rotations=steps))
    a = ckks.values(16)
    ckks.check(ev.encrypt(a).sum(), np.full(16, a.sum()))


def test_galois_keys_limited_to_a_level(party: Any) -> None:
    keys = party.ctx.generate_keys(party.sk, rotations=[1], galois_level=1)
    whole = party.ctx.generate_keys(party.sk, rotations=[1])
    assert keys.memory_bytes < whole.memory_bytes
    ev = party.ctx.bind(keys)
    a = full(party)
    x = ev.encrypt(a)
    with pytest.raises(hm.errors.LevelError, match="level"):
        x.rotate(1)
    party.check(x.at_level(1).rotate(1), rolled(party, a, 1))


def test_reencryption(party: Any) -> None:
    other = party.ctx.generate_secret_key()
    key = party.ctx.generate_switching_key(party.sk, other)
    a = party.values(16)
    moved = party.ev.reencrypt(party.ev.encrypt(a), party.ctx.load(bytes(key)))
    assert not moved.evaluator.has_keys, "those of the evaluator end at the old secret"
    found = party.ctx.decrypt(moved, other)
    np.testing.assert_allclose(found, a, rtol=0, atol=2**-18)
