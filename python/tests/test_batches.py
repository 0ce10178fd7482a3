"""A ciphertext is an array: shapes, indices, joining and broadcasting as in NumPy."""

from __future__ import annotations

import copy
import re
from typing import Any

import numpy as np
import pytest

import hemera as hm

SLOTS = 8


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3), (1, 2, 2)])
def test_shape(party: Any, shape: tuple[int, ...]) -> None:
    a = party.values(*shape, SLOTS)
    x = party.ev.encrypt(a)
    assert x.shape == shape
    assert x.ndim == len(shape)
    assert x.slots == SLOTS
    party.check(x * x, a * a)
    if shape:
        assert len(x) == shape[0]
    else:
        with pytest.raises(TypeError, match="single ciphertext"):
            len(x)


INDICES: list[Any] = [
    0,
    -1,
    slice(1, 3),
    slice(None, None, -1),
    slice(None, None, 2),
    (1, 2),
    (slice(None), 1),
    (..., 0),
    (0, slice(1, None)),
    [2, 0, 0],
    np.array([True, False, True, False]),
    (None, 2),
    ...,
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_index_like_numpy(ckks: Any, index: Any) -> None:
    a = ckks.values(4, 3, SLOTS)
    x = ckks.ev.encrypt(a)
    # The index is of the batch: slots stay together.
    chosen = np.arange(12).reshape(4, 3)[index]
    expected = a.reshape(12, SLOTS)[chosen]
    ckks.check(x[index], expected)


@pytest.mark.parametrize("index", [4, -5, (0, 3), slice(2, 2)], ids=str)
def test_index_out_of_range(ckks: Any, index: Any) -> None:
    x = ckks.ev.encrypt(ckks.values(4, 3, SLOTS))
    with pytest.raises(IndexError):
        x[index]


def test_single_ciphertext_has_no_elements(party: Any) -> None:
    x = party.ev.encrypt(party.values(SLOTS))
    with pytest.raises(IndexError, match="slots can not be taken out singly"):
        x[0]
    assert x[...].shape == ()
    with pytest.raises(TypeError):
        list(x)


@pytest.mark.parametrize("shape", [(), (2,), (2, 3)])
def test_texts_have_shapes_as_tuples(ckks: Any, shape: tuple[int, ...]) -> None:
    x = ckks.ev.encrypt(np.zeros((*shape, 4)))
    assert hm.inspect(bytes(x)).fields["batch"] == str(shape)
    with pytest.raises(
        hm.errors.MismatchError, match=re.escape(f"a batch of shape {shape} cannot become (5, 7);")
    ):
        x.reshape(5, 7)


def test_stack_concatenate_and_reshape(party: Any) -> None:
    a, b = party.values(2, SLOTS), party.values(2, SLOTS, seed=2)
    x, y = party.ev.encrypt(a), party.ev.encrypt(b)
    party.check(hm.stack([x, y]), np.stack([a, b]))
    party.check(hm.concatenate([x, y, x]), np.concatenate([a, b, a]))
    joined = hm.concatenate([x, y])
    party.check(joined.reshape(2, 2), np.concatenate([a, b]).reshape(2, 2, SLOTS))
    party.check(joined.reshape((1, -1)), np.concatenate([a, b]).reshape(1, 4, SLOTS))
    assert joined.shape == (4,)
    with pytest.raises(hm.errors.MismatchError, match="number of elements"):
        joined.reshape(3)


@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1, -2, -3])
@pytest.mark.parametrize("shape", [(2, 3), (3, 2)])
def test_sums_and_means_along_each_axis(party: Any, shape: tuple[int, ...], axis: int | None) -> None:
    a = party.values(*shape, SLOTS)
    along, x = 2 if axis is None else axis, party.ev.encrypt(a)
    for name in ("sum", "mean") if party.ctx.params.scheme == "ckks" else ("sum",):
        wanted = getattr(a, name)(axis=along)
        if along in (2, -1):  # in every slot
            wanted = np.repeat(wanted[..., None], SLOTS, axis=-1)
        party.check(getattr(x, name)(axis=axis), wanted)


def test_joining_needs_parts_that_fit(party: Any) -> None:
    x = party.ev.encrypt(party.values(2, SLOTS))
    with pytest.raises(hm.errors.ParameterError, match="at least one"):
        hm.stack([])
    with pytest.raises(hm.errors.MismatchError, match="shape"):
        hm.stack([x, x[0]])
    with pytest.raises(hm.errors.MismatchError, match="no axis"):
        hm.concatenate([x[0], x[1]])
    with pytest.raises(hm.errors.MismatchError, match="level"):
        hm.concatenate([x, x.at_level(0)])
    with pytest.raises(TypeError, match="takes ciphertexts"):
        hm.stack([x, 3])  # type: ignore[list-item]


def test_broadcast_that_does_not_fit(party: Any) -> None:
    x = party.ev.encrypt(party.values(2, SLOTS))
    with pytest.raises(hm.errors.MismatchError, match=r"\(2,\) and \(3,\)"):
        x + party.ev.encrypt(party.values(3, SLOTS))
    with pytest.raises(hm.errors.MismatchError, match=r"\(2,\) and \(3,\)"):
        x * party.values(3, SLOTS)
    with pytest.raises(hm.errors.MismatchError, match="can not replace an operand"):
        x += party.ev.encrypt(party.values(3, 2, SLOTS))


def test_copies(party: Any) -> None:
    a = party.values(2, SLOTS)
    x = party.ev.encrypt(a)
    copies = [x.copy(), copy.copy(x), copy.deepcopy(x)]
    x += 1
    for part in copies:
        party.check(part, a)


def test_batch_equals_its_elements_bit_for_bit(party: Any) -> None:
    """A single ciphertext is the batch of one: no other code path, no other bits."""
    a = party.values(3, SLOTS)
    x = party.ev.encrypt(a)
    batched = (x * x + x.rotate(1)).shrink()
    single = hm.stack([(part * part + part.rotate(1)).shrink() for part in x])
    assert bytes(batched) == bytes(single)
