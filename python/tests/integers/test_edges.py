"""Encrypted integers at edges of their layout, levels and arguments, beside NumPy's."""

import re
from math import log2

import numpy as np
import pytest

import hemera as hm
from hemera.errors import LevelError

from ..refusals import raises
from .setting import check, context, encrypted

JOINED = [(0.5, 1), (1, 0.5), (1, 1), (2, 0.5), (1, 0.5, 1), (0.25, 1, 1)]
"""Sizes of arrays, in vectors."""


@pytest.mark.parametrize("sizes", JOINED, ids=str)
def test_arrays_that_fill_their_vectors_or_not_are_joined(sizes):
    ints, rng = context(8), np.random.default_rng(len(sizes))
    arrays = [rng.integers(0, 256, int(size * ints.values), np.uint8) for size in sizes]
    check(np.concatenate([ints.encrypt(a) for a in arrays]), np.concatenate(arrays), ints)
    truths = [a > 128 for a in arrays]
    check(np.concatenate([ints.encrypt(a) for a in truths]), np.concatenate(truths), ints)


@pytest.mark.parametrize(("name", "amounts"), [("uint8", "int64"), ("int8", "int16"), ("uint16", "uint8")])
def test_shifts_are_of_the_bits_of_the_results_type(name, amounts):
    """NumPy's amounts widen the numbers, which are shifted afterwards."""
    ints = context(64)
    by = np.array([0, 1, 7, 8, 9, 15, 16, 17, 31, 40, 63, 64], amounts)
    a = np.full(by.shape, np.iinfo(name).max, name)
    a[::2] = np.iinfo(name).min + 3
    x = ints.encrypt(a)
    check(x << by, a << by, ints)
    check(x >> by, a >> by, ints)
    for amount in (9, 8 * by.itemsize - 1):
        check(x << np.dtype(amounts).type(amount), a << np.dtype(amounts).type(amount), ints)


@pytest.mark.parametrize("count", [2, 17, 18, 34])
def test_sums_of_digits_at_the_edges_of_carries(count):
    """Sums of digits around the multiples of 16: what moves up fills the next column, and a carry comes."""
    ints, rng = context(16), np.random.default_rng(count)
    most = 15 * count
    edges = [s for k in range(0, most + 2, 16) for s in (k - 2, k - 1, k) if 0 <= s <= most] + [most]
    sums = rng.choice([*edges, most, most - 15], (4, ints.values))
    sums[:3, :8] = np.array([[most], [most], [min(255, most)]])
    filled = np.clip(sums - 15 * np.arange(count)[:, None, None], 0, 15)  # of shape (terms, digits, values)
    a = (filled << 4 * np.arange(4)[:, None]).sum(axis=1).astype(np.uint16)
    check(ints.encrypt(a).sum(axis=0, dtype=np.uint16), a.sum(axis=0, dtype=np.uint16), ints)


def test_real_parts_of_numbers_take_the_last_level():
    ints = context(8)
    a = np.arange(6.0)
    x, lowest = ints.evaluator.encrypt(a + 0.25j), ints._engine.lowest
    check(ints.from_ckks(x.at_level(lowest + 1), np.uint8, error=2**-15)[:6], a.astype(np.uint8), ints)
    with pytest.raises(LevelError, match="imaginary parts are left out, which takes a level"):
        ints.from_ckks(x.at_level(lowest), np.uint8, error=2**-15)
    real = ints.evaluator.encrypt(a).at_level(lowest)
    check(ints.from_ckks(real, np.uint8, error=2**-15)[:6], a.astype(np.uint8), ints)


@pytest.mark.parametrize("vectors", [1, 2, 3, 4, 5])
def test_each_bootstrap_of_several_vectors_may_fail(vectors):
    """Two vectors share one."""
    engine = context(8)._engine
    x = encrypted(engine, np.zeros((vectors, engine.layout.slots)), 15)
    before = engine.work.refreshes
    found = engine.refreshed(x).risk.log2
    assert engine.work.refreshes - before == vectors
    assert found == pytest.approx(engine._whole.failure_log2 + log2(-(-vectors // 2)), abs=0.01)


def test_reports_tell_the_failure_of_all_refreshes():
    ints = context(16)
    lines = re.findall(r"(\d+) refreshe?s?.*, fails with a probability of 2\^(-[\d.]+)", ints.report())
    assert len({count for count, _ in lines}) > 1
    for count, failure in lines:
        assert float(failure) == pytest.approx(ints._whole.failure_log2 + log2(int(count)), abs=0.051)


def test_files_of_as_many_axes_as_there_may_be():
    ints = context(8)
    for axes in (0, 1, 31, 32):
        a = np.full((1,) * axes, 7, np.uint8)
        check(ints.load(bytes(ints.encrypt(a))), a, ints)


def test_a_table_keeps_its_entries():
    ints, entries, index = context(8), np.arange(16, dtype=np.uint8), np.array([0, 3, 15], np.uint8)
    table = hm.integers.Table(entries)
    x = ints.encrypt(index)
    check(table[x], index, ints)
    entries[:] = 9
    check(table[x], index, ints)


@pytest.mark.parametrize("entries", [16, 256])
@pytest.mark.parametrize("vectors", [1, 3])
def test_tables_at_every_level(entries, vectors):
    ints, rng = context(8), np.random.default_rng(entries + vectors)
    table = rng.integers(0, 256, entries, np.uint8)
    index = rng.integers(0, entries, vectors * ints.values - 1).astype(np.uint8)
    for levels in range(3):
        check(hm.integers.Table(table)[ints.encrypt(index, levels=levels)], table[index], ints)


@pytest.mark.parametrize("function", [np.logical_and, np.logical_or, np.logical_xor])
def test_truth_functions_take_no_integers_on_either_side(function):
    ints = hm.integers.Context(8, preset="test-exact", device="ledger")
    mask, x = ints.encrypt(np.array([True, False])), ints.encrypt(np.array([1, 0], np.uint8))
    for pair in ((mask, x), (x, mask), (x, x), (x, np.array([True, True])), (np.array([True, True]), x)):
        raises(TypeError, f"np.{function.__name__} takes encrypted booleans; x != 0", function, *pair)


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_pythons_integers_in_sequences_have_the_contexts_type(bits):
    ints = hm.integers.Context(bits, preset="test-exact", device="ledger")
    widest = np.dtype(f"i{bits // 8}")
    for values in (3, [1, 2], (1, 2), [[1], [2]], ((1, 2), (3, 4)), [(1,), (2,)]):
        assert ints.encrypt(values).dtype == (ints.encrypt(np.int8(1)) + ints.encrypt(values)).dtype == widest
        assert ints.encrypt(values).shape == np.shape(values)
