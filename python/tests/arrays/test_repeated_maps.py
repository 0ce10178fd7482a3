"""Maps that are repeated, next to the same by their entries."""

import numpy as np
import pytest

import hemera as hm
from hemera.arrays import contraction
from hemera.arrays.array import Array
from hemera.arrays.folding import folded
from hemera.arrays.recorder import Recorder
from hemera.arrays.sparse_map import RepeatedMap, SparseMap
from hemera.errors import ParameterError

RNG = np.random.default_rng(11)
BEFORE, AFTER = 3, 2
MATRIX = RNG.normal(size=(4, 5)) * (RNG.random((4, 5)) < 0.7)
ONE = SparseMap.dense(MATRIX)
REPEATED = RepeatedMap(BEFORE, ONE, AFTER)
WHOLE = np.kron(np.kron(np.eye(BEFORE), MATRIX), np.eye(AFTER))
PLAIN = SparseMap.dense(WHOLE)


def test_it_is_the_map_of_its_entries():
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
def test_bounds_are_those_of_the_entries(alike):
    low = RNG.normal(size=(1, 5, 1) if alike else (BEFORE, 5, AFTER)) * np.ones((BEFORE, 5, AFTER))
    high = low + RNG.random(low.shape[1:2])[:, np.newaxis]
    for found, wanted in zip(
        REPEATED.bounds(low.ravel(), high.ravel()), PLAIN.bounds(low.ravel(), high.ravel()), strict=True
    ):
        np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_products_are_those_of_the_entries():
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


def test_the_map_of_one_sample():
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


def test_large_maps_are_not_listed():
    large = RepeatedMap(1 << 20, SparseMap.dense(np.ones((16, 16))), 1)
    assert large.entries == 1 << 28
    for name in ("rows", "columns", "values"):
        with pytest.raises(ParameterError, match="compile the function of one sample, with samples="):
            getattr(large, name)


PROGRAMS = {
    "rows": ((6, 5), lambda x: x @ MATRIX.T + np.arange(4.0)),
    "columns": ((5, 6), lambda x: MATRIX @ x),
    "turned": ((6, 5), lambda x: (x @ MATRIX.T).T),
    "middle": ((2, 5, 3), lambda x: np.einsum("aib,ji->ajb", x, MATRIX)),
    "two": ((6, 5), lambda x: (x @ MATRIX.T) @ MATRIX),
    "shared": ((6, 5), lambda x: (x @ MATRIX.T) @ MATRIX + (x @ MATRIX.T) @ MATRIX[::-1]),
    "other axes": ((2, 3, 5), lambda x: np.einsum("abi,ji->jab", x, MATRIX)),
    "times a number": ((6, 5), lambda x: np.einsum("ab,->ab", x, np.array(2.5))),
    "shared, alone": ((6, 5), lambda x: np.stack([(x @ MATRIX.T) @ MATRIX, (x @ MATRIX.T) @ MATRIX * 2])),
    "of a bias": ((6, 5), lambda x: (x + 1) @ MATRIX.T),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_the_same(name, monkeypatch):
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


def test_a_layer_of_a_large_batch():
    """Entries of this map would take 3 GB."""
    weights = RNG.normal(size=(256, 128)) / 16
    x = RNG.uniform(-1, 1, (4096, 256))
    y = hm.array(x, range=(-1, 1)) @ weights + 1
    plan = hm.compile(y)
    assert plan.layout == "ciphertexts"
    (node,) = (each for each in plan._program.nodes if each.operands)
    assert isinstance(node.operation.maps[0], RepeatedMap)
    with pytest.raises(ParameterError, match="with samples="):
        hm.compile(y - y.mean(), layout="slots")
    np.testing.assert_allclose(plan.evaluate_clear(x), x @ weights + 1, atol=1e-9)
