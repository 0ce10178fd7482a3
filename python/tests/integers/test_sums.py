"""Sums over axes beside NumPy's."""

import numpy as np
import pytest

from hemera.integers import columns, sums
from hemera.integers.layout import Layout

from ..refusals import raises, refuse_each
from .setting import check, context

SHAPES = [
    ((20, 40), 0),
    ((20, 40), (0, 1)),
    ((2, 3, 100), 1),
    ((2, 3, 100), (0, -1)),
    ((3, 1, 5, 2, 4), (0, -2)),
    ((2, 300), 0),
    ((300, 2), 1),
    ((3, 256), 0),
    ((2, 2, 512), (1,)),
    ((1, 7), 0),
    ((4, 3), ()),
    ((), None),
]


def numbers(shape, dtype):
    """Random ones; a third have all digits at their most, or are the least."""
    limits = np.iinfo(dtype)
    rng = np.random.default_rng(len(shape))
    found = rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    edges = np.array([limits.max, limits.max, limits.min], dtype)
    return np.where(rng.integers(3, size=shape) == 0, rng.choice(edges, shape), found)


@pytest.mark.parametrize(("shape", "axis"), SHAPES, ids=str)
def test_sums_over_axes(shape, axis):
    ints, a = context(16), numbers(shape, "uint16")
    x = ints.encrypt(a)
    check(x.sum(axis, dtype=np.uint16), a.sum(axis, dtype=np.uint16), ints)
    if len(shape) == 3:
        check(x.sum(axis, dtype="int16", keepdims=True), a.sum(axis, dtype="int16", keepdims=True), ints)
    odd = x == 2**16 - 1
    check(odd.sum(axis), (a == 2**16 - 1).sum(axis, dtype=np.int16), ints)


@pytest.mark.parametrize("name", ["uint8", "int8", "int32", "uint64", "int64"])
def test_types_of_sums_are_numpys(name):
    ints, a = context(64), numbers((3, 50), name)
    x = ints.encrypt(a)
    with np.errstate(over="ignore"):
        check(x.sum(axis=0), a.sum(axis=0), ints)
        check(x[:, 3:7].sum(axis=1, dtype=name), a[:, 3:7].sum(axis=1, dtype=name), ints)
    check((x > 5).sum(axis=0), (a > 5).sum(axis=0), ints)


def test_what_stands_beside_values_is_in_no_sum():
    ints, a = context(16), numbers((4, 100), "uint16")
    x = ints.encrypt(a)[:3]  # the fourth row is still there
    check(x.sum(axis=0), a[:3].sum(axis=0, dtype=np.uint16), ints)
    check(x.sum(axis=1), a[:3].sum(axis=1, dtype=np.uint16), ints)
    check((~x).sum(), (~a[:3]).sum(dtype=np.uint16), ints)
    found = x.sum(axis=1)
    check(found.sum(), a[:3].sum(dtype=np.uint16), ints)
    check(np.concatenate([found, found]).sum(), np.tile(a[:3], 2).sum(dtype=np.uint16), ints)


@pytest.mark.parametrize(("bits", "name", "count"), [(8, "int8", 513), (16, "uint16", 257)])
def test_sums_at_every_level(bits, name, count):
    """Sums of a vector and some values, which take as many carries as two whole vectors."""
    ints, a = context(bits), numbers((count,), name)
    expected = a.sum(dtype=name)
    for levels in range(6):
        check(ints.encrypt(a, levels=levels).sum(dtype=name), expected, ints)


def test_no_values():
    ints, a = context(16), np.zeros((0, 3), np.uint16)
    x = ints.encrypt(a)
    check(x.sum(axis=0), a.sum(axis=0, dtype=np.uint16), ints)
    check((x == x).sum(), np.int16(0), ints)


def test_axes_that_are_not_there():
    x = context(16).encrypt(numbers((2, 3), "uint16"))
    refuse_each(x.sum, (2, -3, (0, 2)), np.exceptions.AxisError)
    raises(ValueError, "duplicate", x.sum, (0, -2))
    refuse_each(x.sum, (0.5, "0", [0, 1]), TypeError)


@pytest.mark.parametrize(
    ("bits", "name", "shape", "axis", "refreshes"),
    [
        (16, "uint16", (2, 128), 0, 1),  # digits up to 30: one carry
        (16, "uint16", (3, 128), 0, 1),  # and up to 45
        (16, "uint16", (128,), 0, 2),
        (64, "uint8", (32,), 0, 2),
        (8, "uint8", (256,), 0, 1),
        (8, "uint8", (5000,), 0, 2),
    ],
)
def test_refreshes_of_sums(bits, name, shape, axis, refreshes):
    ints, a = context(bits), numbers(shape, name)
    x, before = ints.encrypt(a), ints.work.refreshes
    found = x.sum(axis)
    assert ints.work.refreshes == before + refreshes
    check(found, a.sum(axis, dtype=found.dtype), ints)


@pytest.mark.parametrize("largest", [64, 300])
def test_long_sums_carry_in_between(largest, monkeypatch):
    # What LARGEST is for takes more values than a test: it is smaller here.
    monkeypatch.setattr(columns, "LARGEST", largest)
    seen, carried = [], columns.carried

    def watched(engine, s, bounds, digits):
        seen.append(max(bounds))
        return carried(engine, s, bounds, digits)

    monkeypatch.setattr(columns, "carried", watched)
    ints, a = context(16), numbers((6, 256), "uint16")
    x = ints.encrypt(a)
    for axis in (0, None):
        check(x.sum(axis), a.sum(axis, dtype=np.uint16), ints)
    assert max(seen) <= largest
    assert len(seen) > 3


@pytest.mark.parametrize(
    "shape", [(3, 5, 7), (1, 40, 2), (9, 33), (100,), (3, 2, 17), (2, 3, 40), (3, 2, 2, 20)]
)
def test_values_that_are_added_up_never_leave_their_vectors(shape):
    layout = Layout(32, 2)
    for k in range(1 << len(shape)):
        axes = [i for i in range(len(shape)) if k >> i & 1]
        grid = sums._Grid(layout, shape, axes)
        chosen = grid.chosen()
        assert sorted(chosen[chosen >= 0]) == list(range(np.prod(shape)))
        a = np.arange(1, np.prod(shape) + 1).reshape(shape)
        rows = np.where(chosen >= 0, a.reshape(-1)[chosen], 0).reshape(-1, layout.values)
        groups = grid.vectors_of_sums()
        rows = rows[groups].sum(axis=1)
        for step in grid.steps():
            assert step < layout.values
            rows = rows + np.pad(rows, ((0, 0), (0, step)))[:, step:]  # nothing comes around
        at = np.searchsorted(groups[:, 0], grid.places(summed=False) // layout.values)
        found = rows[at, grid.places(summed=False) % layout.values]
        np.testing.assert_array_equal(found, a.sum(axis=tuple(axes)).reshape(-1))
