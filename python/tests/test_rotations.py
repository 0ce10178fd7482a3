"""Rotations, sums and exchanges of slots."""

import numpy as np
import pytest

import hemera as hm

from .refusals import refuse


def full(party):
    return party.values(2, party.ctx.params.max_slots)


def rolled(party, values, steps):
    """Slots turned left; BFV and BGV within their two rows."""
    if not party.exact:
        return np.roll(values, -steps, axis=-1)
    rows = values.reshape(*values.shape[:-1], 2, -1)
    return np.roll(rows, -steps, axis=-1).reshape(values.shape)


@pytest.mark.parametrize("steps", [0, 1, -1, 7, 3, 5, -6, 511, 513, 3 - 2**70])
def test_rotate(party, steps):
    a = full(party)
    party.check(party.ev.encrypt(a).rotate(steps), rolled(party, a, steps))


def test_rotation_plan_uses_one_key_if_it_is_there(party):
    x = party.ev.encrypt(full(party))
    assert party.ev.rotation_plan(x, 7) == [7]
    assert party.ev.rotation_plan(x, 0) == []
    plan = party.ev.rotation_plan(x, 9)
    assert len(plan) == 2
    assert sum(plan) == 9


def test_rotations_needed_suffice(party):
    steps = [3, 5, 100, -77]
    needed = hm.rotations_needed(party.ctx.params, steps)
    assert all(abs(step).bit_count() == 1 for step in needed)
    ev = party.ctx.bind(party.ctx.generate_keys(party.sk, relinearization=False, rotations=needed))
    a = full(party)
    for step in steps:
        party.check(ev.encrypt(a).rotate(step), rolled(party, a, step))


def test_galois_keys_limited_to_a_level(party):
    keys = party.ctx.generate_keys(party.sk, rotations=[1], galois_level=1)
    whole = party.ctx.generate_keys(party.sk, rotations=[1])
    assert keys.memory_bytes < whole.memory_bytes
    ev = party.ctx.bind(keys)
    a = full(party)
    x = ev.encrypt(a)
    refuse((lambda: x.rotate(1), hm.errors.LevelError, "level"))
    party.check(x.at_level(1).rotate(1), rolled(party, a, 1))
