"""Linear maps by their entries: as dense matrices; and in slots, through random layouts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hemera.arrays import sparse_map
from hemera.arrays.layout import COPY, Layout, index_bits
from hemera.arrays.packing import offsets, packed
from hemera.arrays.sparse_map import SparseMap
from hemera.errors import FormatError, MismatchError, ParameterError

from .programs import applied

SEEDS = st.integers(0, 2**31)
SHAPES = st.lists(st.integers(1, 5), max_size=3).map(tuple)


def random_matrix(rng, outputs, inputs):
    """Small whole numbers, many of them 0: sums of products are exact."""
    return rng.integers(-3, 4, (outputs, inputs)) * (rng.random((outputs, inputs)) < rng.random())


def random_layout(rng, shape, most_copies=2):
    bits = [*index_bits(shape), *[COPY] * int(rng.integers(0, most_copies + 1))]
    return Layout(shape, tuple(bits[at] for at in rng.permutation(len(bits))))


def dense(own):
    found = np.zeros((own.outputs, own.inputs))
    found[own.rows, own.columns] = own.values
    return found


@settings(max_examples=150, deadline=None)
@given(SEEDS)
def test_algebra_is_that_of_matrices(seed):
    rng = np.random.default_rng(seed)
    n, m, k = rng.integers(1, 7, 3)
    a, b, c = random_matrix(rng, n, m), random_matrix(rng, m, k), random_matrix(rng, n, m)
    x = rng.integers(-5, 6, (2, 3, m))
    one, two, three = SparseMap.dense(a), SparseMap.dense(b), SparseMap.dense(c)
    np.testing.assert_array_equal(dense(one), a)
    np.testing.assert_array_equal(dense(one @ two), a @ b)
    np.testing.assert_array_equal(dense(one + three), a + c)
    np.testing.assert_array_equal(one.apply(x), x @ a.T)
    for own in (one @ two, one + three):
        assert (own.values != 0).all()
        key = own.rows * own.inputs + own.columns
        assert (np.diff(key) > 0).all()
    assert (
        (one @ two).entries <= one.entries_after(two) == (np.abs(a).astype(bool).astype(int) @ (b != 0)).sum()
    )
    assert (one.digest == three.digest) == np.array_equal(a, c)
    assert one.is_identity == (n == m and np.array_equal(a, np.eye(n)))
    rows = (a != 0).sum(axis=1)
    assert one.is_selection == (set(np.unique(a)) <= {0, 1} and (rows <= 1).all())


@pytest.mark.parametrize("in_cache", [1, 7, 1 << 17])
def test_scalings_and_long_maps_are_matrices(monkeypatch, in_cache):
    """Scalings with zeros before and after a map, whose rows have 0 to 9 entries, more than fit and fewer."""
    monkeypatch.setattr(sparse_map, "_IN_CACHE", in_cache)
    rng = np.random.default_rng(in_cache)
    matrix = random_matrix(rng, 12, 9)
    matrix[3], matrix[5] = 0, 1
    own, before, after = SparseMap.dense(matrix), rng.integers(-1, 2, 9), rng.integers(-1, 2, 12)
    x = rng.integers(-5, 6, (20, 9))
    scaled = own @ SparseMap.scaling(before), SparseMap.scaling(after) @ own
    for found, wanted in zip(scaled, (matrix * before, matrix * after[:, None]), strict=True):
        np.testing.assert_array_equal(dense(found), wanted)
        assert found.values.all()
        np.testing.assert_array_equal(found.apply(x), x @ wanted.T)
    with pytest.raises(ParameterError, match="finite"), np.errstate(over="ignore"):
        SparseMap.scaling([1e300]) @ SparseMap.scaling([1e300])


@settings(max_examples=100, deadline=None)
@given(SEEDS)
def test_entries_of_one_place_are_added_in_any_order(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(0, 30))
    rows, columns = rng.integers(0, 4, count), rng.integers(0, 5, count)
    values = rng.integers(-2, 3, count)
    expected = np.zeros((4, 5))
    np.add.at(expected, (rows, columns), values)
    own = SparseMap.of(4, 5, rows, columns, values)
    np.testing.assert_array_equal(dense(own), expected)
    assert own.entries == np.count_nonzero(expected)


@settings(max_examples=100, deadline=None)
@given(SEEDS)
def test_bounds_hold_and_are_reached(seed):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 6, 2)
    a = random_matrix(rng, n, m)
    low = rng.integers(-5, 5, m).astype(float)
    high = low + rng.integers(0, 5, m)
    least, most = SparseMap.dense(a).bounds(low, high)
    corners = np.where(a > 0, high, low), np.where(a > 0, low, high)
    np.testing.assert_array_equal(most, (a * corners[0]).sum(axis=1))
    np.testing.assert_array_equal(least, (a * corners[1]).sum(axis=1))


def test_selections_and_scalings():
    x = np.array([[5.0, 6, 7]])
    np.testing.assert_array_equal(SparseMap.selection([2, -1, 0, 2], 3).apply(x), [[7, 0, 5, 7]])
    np.testing.assert_array_equal(SparseMap.scaling([2, 0, -1]).apply(x), [[10, 0, -7]])
    # However small: values may be as large.
    np.testing.assert_array_equal(SparseMap.scaling([1e-300, 0, -1e-20]).apply(x), [[5e-300, 0, -7e-20]])
    assert SparseMap.of(1, 2, [0, 0], [0, 1], [1e-18, 2.0**-62]).entries == 2
    assert SparseMap.scaling([1, 1]).is_identity
    assert not SparseMap.selection([1, 0], 2).is_identity
    assert SparseMap.selection([1, 0], 2).is_selection
    assert not SparseMap.scaling([1, 2]).is_selection


@pytest.mark.parametrize(
    "entries",
    [
        (2, 2, [0], [0, 1], [1.0]),
        (2, 2, [2], [0], [1.0]),
        (2, 2, [0], [2], [1.0]),
        (2, 2, [-1], [0], [1.0]),
        (2, 2, [0], [0], [np.nan]),
        (2, 2, [0], [0], [np.inf]),
    ],
)
def test_wrong_entries_are_refused(entries):
    with pytest.raises(ParameterError):
        SparseMap.of(*entries)


def test_maps_that_do_not_fit_are_refused():
    own = SparseMap.dense(np.ones((2, 3)))
    with pytest.raises(MismatchError, match="does not follow one that gives 2"):
        own @ own
    with pytest.raises(MismatchError, match="no sum"):
        own + SparseMap.dense(np.ones((3, 2)))


# --- In slots. ---


@settings(max_examples=150, deadline=None)
@given(SEEDS, SHAPES)
def test_layouts_are_bijections(seed, shape):
    rng = np.random.default_rng(seed)
    layout = random_layout(rng, shape)
    slots = layout.period * int(rng.integers(1, 4))
    x = rng.integers(1, 100, (2, *shape))
    held = layout.pack(x, slots)
    np.testing.assert_array_equal(layout.unpack(held), x)
    # Each element as often as there are copies, in each period, and 0 elsewhere.
    times = slots // layout.period * len(layout.copies)
    for own, row in zip(x.reshape(2, -1), held, strict=True):
        np.testing.assert_array_equal(np.sort(row[row != 0]), np.sort(np.tile(own, times)))
    assert len(set(layout.places.tolist())) == layout.size
    assert Layout.from_data(layout.to_data()) == layout


def test_raster_is_the_order_of_memory():
    np.testing.assert_array_equal(Layout.raster((2, 4)).places, np.arange(8))
    np.testing.assert_array_equal(Layout.raster((2, 3)).places, [0, 1, 2, 4, 5, 6])
    assert Layout.raster(()).period == 1


@settings(max_examples=250, deadline=None)
@given(SEEDS, SHAPES, SHAPES)
def test_maps_in_slots_are_maps_of_elements(seed, shape, wanted):
    rng = np.random.default_rng(seed)
    source, target = random_layout(rng, shape), random_layout(rng, wanted)
    matrix = random_matrix(rng, target.size, source.size)
    own = SparseMap.dense(matrix)
    slots = max(source.period, target.period) * int(rng.integers(1, 3))
    x = rng.integers(-9, 10, (2, *shape))
    found = packed(own, source, target)
    result = applied(found, source.pack(x, slots))
    expected = (x.reshape(2, -1) @ matrix.T).reshape(2, *wanted)
    np.testing.assert_array_equal(target.unpack(result), expected)
    # All copies have the value too, and slots of no element hold 0 where nothing is folded.
    used = np.tile(target.contents >= 0, slots // target.period)
    packed_again = target.pack(expected, slots)
    np.testing.assert_array_equal(result[:, used], packed_again[:, used])
    if not found.folds:
        np.testing.assert_array_equal(result, packed_again)
    numbers = offsets(own.rows, own.columns, source, target)
    assert set(numbers.tolist()) <= set(found.numbers.tolist())
    assert found.diagonals.shape == (len(found.numbers), max(source.period, target.period))
    if len(target.copies) == 1:
        assert set(numbers.tolist()) == set(found.numbers.tolist())


def test_wide_maps_are_folded():
    source, target = Layout.raster((16,)), Layout.raster((2,))
    found = packed(SparseMap.dense(np.ones((2, 16))), source, target)
    assert found.numbers.tolist() == [0, 1]
    assert found.folds == (2, 4, 8)


def test_maps_that_only_scale():
    layout = Layout.raster((3,))
    assert packed(SparseMap.scaling([2, 2, 2]), layout, layout).only_scales == 2
    assert packed(SparseMap.scaling([2, 1, 2]), layout, layout).only_scales is None
    assert packed(SparseMap.selection([1, 0, 2], 3), layout, layout).only_scales is None
    assert (
        packed(SparseMap.dense(np.ones((1, 4))), Layout.raster((4,)), Layout.raster((1,))).only_scales is None
    )


@pytest.mark.parametrize(
    "bits",
    [((0, 0),), ((0, 0), (0, 0)), ((0, 0), (0, 1), (0, 2)), ((0, 0), (1, 0)), ((0, 0), (0, 1), *[COPY] * 16)],
)
def test_wrong_layouts_are_refused(bits):
    with pytest.raises(ParameterError, match="does not fit"):
        Layout((4,), bits)


def test_values_that_do_not_fit_a_layout_are_refused():
    layout = Layout.raster((2, 3))
    with pytest.raises(MismatchError, match=r"\(\.\.\., 2, 3\)"):
        layout.pack(np.zeros((3, 2)), 8)
    with pytest.raises(MismatchError):
        layout.pack(np.zeros(3), 8)
    with pytest.raises(ParameterError, match="12 slots are not a multiple"):
        layout.pack(np.zeros((2, 3)), 12)


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"shape": [2]},
        {"shape": [2], "bits": [[0]]},
        {"shape": [2], "bits": 3},
        {"shape": [0], "bits": []},
        {"shape": [-2], "bits": [[0, 0]]},
        {"shape": [2], "bits": [[0, 1]]},
        {"shape": ["a"], "bits": []},
        {"shape": [1], "bits": [[-1, 0]] * 18},
        {"shape": [2], "bits": [[-1, 0], [-1, 1], [0, 0]]},
    ],
)
def test_wrong_data_of_layouts_are_refused(data):
    with pytest.raises(FormatError):
        Layout.from_data(data)
