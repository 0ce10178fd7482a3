"""A ciphertext is an array: shapes, indices, joining and broadcasting as in NumPy."""

import copy
import re

import numpy as np
import pytest

import hemera as hm

from .refusals import refuse

SLOTS = 8


INDICES = [
    *(0, -1, slice(1, 3), slice(None, None, -1), slice(None, None, 2), (1, 2), (slice(None), 1), (..., 0)),
    *((0, slice(1, None)), [2, 0, 0], np.array([True, False, True, False]), (None, 2), ...),
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_index_like_numpy(ckks, index):
    a = ckks.values(4, 3, SLOTS)
    x = ckks.ev.encrypt(a)
    # The index is of the batch: slots stay together.
    chosen = np.arange(12).reshape(4, 3)[index]
    expected = a.reshape(12, SLOTS)[chosen]
    ckks.check(x[index], expected)


@pytest.mark.parametrize("index", [4, -5, (0, 3), slice(2, 2)], ids=str)
def test_index_out_of_range(ckks, index):
    x = ckks.ev.encrypt(ckks.values(4, 3, SLOTS))
    refuse((lambda: x[index], IndexError, None))


def test_single_ciphertext_has_no_elements(party):
    x = party.ev.encrypt(party.values(SLOTS))
    refuse((lambda: x[0], IndexError, "slots can not be taken out singly"))
    assert x[...].shape == ()
    refuse((lambda: list(x), TypeError, None))


@pytest.mark.parametrize("shape", [(), (2,), (2, 3)])
def test_texts_have_shapes_as_tuples(ckks, shape):
    x = ckks.ev.encrypt(np.zeros((*shape, 4)))
    assert hm.inspect(bytes(x)).fields["batch"] == str(shape)
    with pytest.raises(
        hm.errors.MismatchError, match=re.escape(f"a batch of shape {shape} cannot become (5, 7);")
    ):
        x.reshape(5, 7)


def test_stack_concatenate_and_reshape(party):
    a, b = party.values(2, SLOTS), party.values(2, SLOTS, seed=2)
    x, y = party.ev.encrypt(a), party.ev.encrypt(b)
    party.check(hm.stack([x, y]), np.stack([a, b]))
    party.check(hm.concatenate([x, y, x]), np.concatenate([a, b, a]))
    joined = hm.concatenate([x, y])
    party.check(joined.reshape(2, 2), np.concatenate([a, b]).reshape(2, 2, SLOTS))
    party.check(joined.reshape((1, -1)), np.concatenate([a, b]).reshape(1, 4, SLOTS))
    assert joined.shape == (4,)
    refuse((lambda: joined.reshape(3), hm.errors.MismatchError, "number of elements"))


@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1, -2, -3])
@pytest.mark.parametrize("shape", [(2, 3), (3, 2)])
def test_sums_and_means_along_each_axis(party, shape, axis):
    a = party.values(*shape, SLOTS)
    along, x = 2 if axis is None else axis, party.ev.encrypt(a)
    for name in ("sum", "mean") if party.ctx.params.scheme == "ckks" else ("sum",):
        wanted = getattr(a, name)(axis=along)
        if along in (2, -1):  # in every slot
            wanted = np.repeat(wanted[..., None], SLOTS, axis=-1)
        party.check(getattr(x, name)(axis=axis), wanted)


def test_joining_needs_parts_that_fit(party):
    x = party.ev.encrypt(party.values(2, SLOTS))
    refuse(
        (lambda: hm.stack([]), hm.errors.ParameterError, "at least one"),
        (lambda: hm.stack([x, x[0]]), hm.errors.MismatchError, "shape"),
        (lambda: hm.concatenate([x[0], x[1]]), hm.errors.MismatchError, "no axis"),
        (lambda: hm.concatenate([x, x.at_level(0)]), hm.errors.MismatchError, "level"),
    )
    with pytest.raises(TypeError, match="takes ciphertexts"):
        hm.stack([x, 3])


def test_broadcast_that_does_not_fit(party):
    x = party.ev.encrypt(party.values(2, SLOTS))
    with pytest.raises(hm.errors.MismatchError, match=r"\(2,\) and \(3,\)"):
        x + party.ev.encrypt(party.values(3, SLOTS))
    refuse((lambda: x * party.values(3, SLOTS), hm.errors.MismatchError, r"\(2,\) and \(3,\)"))
    with pytest.raises(hm.errors.MismatchError, match="can not replace an operand"):
        x += party.ev.encrypt(party.values(3, 2, SLOTS))


def test_copies(party):
    a = party.values(2, SLOTS)
    x = party.ev.encrypt(a)
    copies = [x.copy(), copy.copy(x), copy.deepcopy(x)]
    x += 1
    for part in copies:
        party.check(part, a)


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
    assert (party.ev.rotation_plan(x, 7), party.ev.rotation_plan(x, 0)) == ([7], [])
    plan = party.ev.rotation_plan(x, 9)
    assert (len(plan), sum(plan)) == (2, 9)


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
