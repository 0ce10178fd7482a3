"""Linear maps by their entries, and maps that are repeated: as dense matrices, and in slots."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hemera as hm
from hemera.arrays import contraction, sparse_map
from hemera.arrays.array import Array
from hemera.arrays.folding import folded
from hemera.arrays.layout import COPY, Layout, index_bits
from hemera.arrays.packing import offsets, packed
from hemera.arrays.recorder import Recorder
from hemera.arrays.sparse_map import RepeatedMap, SparseMap
from hemera.errors import FormatError, MismatchError, ParameterError

from .programs import applied

SEEDS = st.integers(0, 2**31)
SHAPES = st.lists(st.integers(1, 5), max_size=3).map(tuple)


def random_matrix(rng: np.random.Generator, outputs: int, inputs: int) -> Any:
    """Small whole numbers, many of them 0: sums of products are exact."""
    return rng.integers(-3, 4, (outputs, inputs)) * (rng.random((outputs, inputs)) < rng.random())


def random_layout(rng: np.random.Generator, shape: tuple[int, ...], most_copies: int = 2) -> Layout:
    bits = [*index_bits(shape), *[COPY] * int(rng.integers(0, most_copies + 1))]
    return Layout(shape, tuple(bits[at] for at in rng.permutation(len(bits))))


def dense(own: SparseMap) -> Any:
    found = np.zeros((own.outputs, own.inputs))
    found[own.rows, own.columns] = own.values
    return found


@settings(max_examples=80, deadline=None)
@given(SEEDS)
def test_algebra_is_that_of_matrices(seed: int) -> None:
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
def test_scalings_and_long_maps_are_matrices(monkeypatch: pytest.MonkeyPatch, in_cache: int) -> None:
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


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_entries_of_one_place_are_added_in_any_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(0, 30))
    rows, columns = rng.integers(0, 4, count), rng.integers(0, 5, count)
    values = rng.integers(-2, 3, count)
    expected = np.zeros((4, 5))
    np.add.at(expected, (rows, columns), values)
    own = SparseMap.of(4, 5, rows, columns, values)
    np.testing.assert_array_equal(dense(own), expected)
    assert own.entries == np.count_nonzero(expected)


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_bounds_hold_and_are_reached(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 6, 2)
    a = random_matrix(rng, n, m)
    low = rng.integers(-5, 5, m).astype(float)
    high = low + rng.integers(0, 5, m)
    least, most = SparseMap.dense(a).bounds(low, high)
    corners = np.where(a > 0, high, low), np.where(a > 0, low, high)
    np.testing.assert_array_equal(most, (a * corners[0]).sum(axis=1))
    np.testing.assert_array_equal(least, (a * corners[1]).sum(axis=1))


def test_selections_and_scalings() -> None:
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


def test_wrong_entries_are_refused() -> None:
    for row, column, value in ((2, 0, 1.0), (0, 2, 1.0), (-1, 0, 1.0), (0, 0, np.nan), (0, 0, np.inf)):
        with pytest.raises(ParameterError):
            SparseMap.of(2, 2, [row], [column], [value])
    with pytest.raises(ParameterError):
        SparseMap.of(2, 2, [0], [0, 1], [1.0])


def test_maps_that_do_not_fit_are_refused() -> None:
    own = SparseMap.dense(np.ones((2, 3)))
    with pytest.raises(MismatchError, match="does not follow one that gives 2"):
        own @ own
    with pytest.raises(MismatchError, match="no sum"):
        own + SparseMap.dense(np.ones((3, 2)))


# --- In slots. ---


@settings(max_examples=80, deadline=None)
@given(SEEDS, SHAPES)
def test_layouts_are_bijections(seed: int, shape: tuple[int, ...]) -> None:
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


@settings(max_examples=120, deadline=None)
@given(SEEDS, SHAPES, SHAPES)
def test_maps_in_slots_are_maps_of_elements(
    seed: int, shape: tuple[int, ...], wanted: tuple[int, ...]
) -> None:
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


def test_maps_that_only_scale() -> None:
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
def test_wrong_layouts_are_refused(bits: Any) -> None:
    with pytest.raises(ParameterError, match="does not fit"):
        Layout((4,), bits)


def test_values_that_do_not_fit_a_layout_are_refused() -> None:
    layout = Layout.raster((2, 3))
    with pytest.raises(MismatchError, match=r"\(\.\.\., 2, 3\)"):
        layout.pack(np.zeros((3, 2)), 8)
    with pytest.raises(MismatchError):
        layout.pack(np.zeros(3), 8)
    with pytest.raises(ParameterError, match="12 slots are not a multiple"):
        layout.pack(np.zeros((2, 3)), 12)


def test_wrong_data_of_layouts_are_refused() -> None:
    one, two = {"shape": [1]}, {"shape": [2]}
    for data in (
        *({}, two, {**two, "bits": [[0]]}, {**two, "bits": 3}, {**two, "bits": [[0, 1]]}),
        *({"shape": [0], "bits": []}, {"shape": [-2], "bits": [[0, 0]]}, {"shape": ["a"], "bits": []}),
        *({**one, "bits": [[-1, 0]] * 18}, {**two, "bits": [[-1, 0], [-1, 1], [0, 0]]}),
    ):
        with pytest.raises(FormatError):
            Layout.from_data(data)  # type: ignore[arg-type]


RNG = np.random.default_rng(11)
BEFORE, AFTER = 3, 2
MATRIX = RNG.normal(size=(4, 5)) * (RNG.random((4, 5)) < 0.7)
ONE = SparseMap.dense(MATRIX)
REPEATED = RepeatedMap(BEFORE, ONE, AFTER)
WHOLE = np.kron(np.kron(np.eye(BEFORE), MATRIX), np.eye(AFTER))
PLAIN = SparseMap.dense(WHOLE)


def test_it_is_the_map_of_its_entries() -> None:
    assert (REPEATED.outputs, REPEATED.inputs) == WHOLE.shape
    assert (REPEATED.entries, REPEATED.size) == (PLAIN.entries, PLAIN.size)
    for name in ("rows", "columns", "values"):
        np.testing.assert_array_equal(getattr(REPEATED, name), getattr(PLAIN, name))
    assert set(REPEATED.weights) == set(PLAIN.values)
    x = RNG.normal(size=(2, 7, WHOLE.shape[1]))
    np.testing.assert_allclose(REPEATED.apply(x), x @ WHOLE.T, atol=1e-12)
    assert not REPEATED.is_identity
    assert not REPEATED.is_selection
    same = RepeatedMap(2, SparseMap.selection(np.arange(3), 3), 2)
    assert same.is_identity
    assert same.is_selection
    assert RepeatedMap(2, SparseMap.selection([0, -1], 2), 1).is_selection
    assert REPEATED.digest == RepeatedMap(BEFORE, ONE, AFTER).digest
    assert REPEATED.digest not in {RepeatedMap(AFTER, ONE, BEFORE).digest, ONE.digest}


@pytest.mark.parametrize("alike", [True, False])
def test_bounds_are_those_of_the_entries(alike: bool) -> None:
    low = RNG.normal(size=(1, 5, 1) if alike else (BEFORE, 5, AFTER)) * np.ones((BEFORE, 5, AFTER))
    high = low + RNG.random(low.shape[1:2])[:, np.newaxis]
    for found, wanted in zip(
        REPEATED.bounds(low.ravel(), high.ravel()), PLAIN.bounds(low.ravel(), high.ravel()), strict=True
    ):
        np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_products_are_those_of_the_entries() -> None:
    other = RepeatedMap(BEFORE, SparseMap.dense(RNG.normal(size=(5, 3))), AFTER)
    joined = REPEATED @ other
    assert isinstance(joined, RepeatedMap)
    np.testing.assert_allclose(joined.values, (PLAIN @ other).values, atol=1e-12)
    same = SparseMap.selection(np.arange(30), 30)
    assert REPEATED @ same is REPEATED
    turned = RepeatedMap(BEFORE * AFTER, SparseMap.dense(np.eye(5)[::-1]), 1)
    assert not REPEATED.joins(turned)
    x = RNG.normal(size=30)
    np.testing.assert_allclose((REPEATED @ turned).apply(x), WHOLE @ turned.apply(x), atol=1e-12)


def test_the_map_of_one_sample() -> None:
    # From shape (3, 5, 2) to (3, 4, 2): samples are the first axis, or the last one, or a part of it.
    found = REPEATED.of_each(3, (1, 10), (1, 8))
    assert found is not None
    np.testing.assert_array_equal(found.values, np.kron(MATRIX, np.eye(2))[np.kron(MATRIX, np.eye(2)) != 0])
    found = REPEATED.of_each(2, (15, 1), (12, 1))
    assert found is not None
    np.testing.assert_allclose(found.apply(np.arange(15.0)), np.kron(np.eye(3), MATRIX) @ np.arange(15.0))
    assert RepeatedMap(3, ONE, 1).of_each(3, (1, 5), (1, 4)) is ONE
    assert REPEATED.of_each(5, (3, 2), (3, 2)) is None
    assert REPEATED.of_each(3, (1, 10), (2, 8)) is None
    assert RepeatedMap(2, ONE, 1).of_each(4, (1, 1), (1, 1)) is None
    # The axis is the same of both, and all of it repeats the map.
    assert RepeatedMap(3, ONE, 4).of_each(2, (30, 2), (24, 1)) is None
    assert RepeatedMap(6, ONE, 1).of_each(3, (4, 1), (4, 1)) is None


def test_large_maps_are_not_listed() -> None:
    large = RepeatedMap(1 << 20, SparseMap.dense(np.ones((16, 16))), 1)
    assert large.entries == 1 << 28
    for name in ("rows", "columns", "values"):
        with pytest.raises(ParameterError, match="compile the function of one sample, with samples="):
            getattr(large, name)


PROGRAMS: dict[str, tuple[tuple[int, ...], Any]] = {
    "rows": ((6, 5), lambda x: x @ MATRIX.T + np.arange(4.0)),
    "columns": ((5, 6), lambda x: MATRIX @ x),
    "turned": ((6, 5), lambda x: (x @ MATRIX.T).T),
    "middle": ((2, 5, 3), lambda x: np.einsum("aib,ji->ajb", x, MATRIX)),
    "other axes": ((2, 3, 5), lambda x: np.einsum("abi,ji->jab", x, MATRIX)),
    "shared, alone": ((6, 5), lambda x: np.stack([(x @ MATRIX.T) @ MATRIX, (x @ MATRIX.T) @ MATRIX * 2])),
    "of a bias": ((6, 5), lambda x: (x + 1) @ MATRIX.T),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shape, function = PROGRAMS[name]
    found = []
    for most_listed in (0, 1 << 22):
        monkeypatch.setattr(contraction, "_MOST_LISTED", most_listed)
        recorder = Recorder()
        y = function(Array(recorder, recorder.input("x", shape, -1, 2)))
        recorder.program.outputs = [("y", y._number)]
        found.append(
            (folded(recorder.program), recorder.facts[y._number].bounds, recorder.facts[y._number].step)
        )
    x = RNG.uniform(-1, 2, (3, *shape))
    for program, bounds, step in found:
        (values,) = program.evaluate_clear([x])
        np.testing.assert_allclose(values, np.stack([function(each) for each in x]), atol=1e-12)
        np.testing.assert_allclose(bounds, found[1][1], atol=1e-12)
        assert step == found[1][2]


def test_a_layer_of_a_large_batch() -> None:
    """Entries of this map would take 3 GB."""
    weights = RNG.normal(size=(256, 128)) / 16
    x = RNG.uniform(-1, 1, (4096, 256))
    y = hm.array(x, range=(-1, 1)) @ weights + 1
    plan = hm.compile(y)
    assert plan.layout == "ciphertexts"
    (node,) = (each for each in plan._program.nodes if each.operands)
    assert isinstance(node.operation.maps[0], RepeatedMap)  # type: ignore[union-attr]
    with pytest.raises(ParameterError, match="with samples="):
        hm.compile(y - y.mean(), layout="slots")
    np.testing.assert_allclose(plan.evaluate_clear(x), x @ weights + 1, atol=1e-9)
