"""Programs of one sample, and maps as blocks: next to NumPy."""

import numpy as np
import pytest

from hemera.arrays import contraction
from hemera.arrays.array import Array
from hemera.arrays.batches import blocks_of, over_samples
from hemera.arrays.layout import Layout
from hemera.arrays.recorder import Recorder
from hemera.arrays.sparse_map import SparseMap
from hemera.errors import MismatchError, ParameterError

RNG = np.random.default_rng(3)
WEIGHTS = RNG.normal(size=(5, 4))


def recorded(function, *shapes):
    recorder = Recorder()
    arrays = [Array(recorder, recorder.input(f"x{at}", each, -1, 1)) for at, each in enumerate(shapes)]
    recorder.program.outputs = [("y", function(*arrays)._number)]
    return recorder.program


PROGRAMS = {
    # The shape of the input, the axes of the samples before and after, the program.
    "rows": ((7, 5), (0, 0), lambda x: x @ WEIGHTS + np.arange(4.0)),
    "columns": ((5, 7), (1, 1), lambda x: WEIGHTS.T @ x),
    "turned": ((7, 5), (0, 1), lambda x: WEIGHTS.T @ x.T),
    "square": ((5, 5), (0, 0), lambda x: x @ np.diag(np.arange(1.0, 6.0)) + x[:, ::-1]),
    "square, columns": ((5, 5), (1, 1), lambda x: x[::-1] + np.arange(5.0)[:, None] * x),
    "products": ((7, 3, 5), (0, 0), lambda x: x @ np.swapaxes(x, 1, 2)),
    "middle": ((3, 7, 5), (1, 0), lambda x: (x * x).sum(0) - 1),
    "functions": ((7, 5), (0, 0), lambda x: np.exp(x).sum(1)),
}


@pytest.mark.parametrize("most_listed", [0, 1 << 22])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_of_one_sample(name, most_listed, monkeypatch):
    """With maps that list their entries, and with those that are repeated."""
    monkeypatch.setattr(contraction, "_MOST_LISTED", most_listed)
    shape, (before, after), function = PROGRAMS[name]
    program = recorded(function, shape)
    batch = over_samples(program, 5)
    assert batch is not None
    assert batch.count == shape[before]
    assert (batch.inputs, batch.outputs) == ((before,), (after,))
    x = RNG.uniform(-1, 1, shape)
    wanted = function(x)
    (found,) = batch.one.evaluate_clear([np.moveaxis(x, before, 0)])
    np.testing.assert_allclose(np.moveaxis(found, 0, after), wanted, atol=2.0**-14)
    for one, whole in zip(batch.one.nodes, program.nodes, strict=True):
        assert (one.range, one.where) == (whole.range, whole.where)
        assert one.size * batch.count == whole.size


@pytest.mark.parametrize("most_listed", [0, 1 << 22])
def test_programs_of_several_samples_are_none_of_one(most_listed, monkeypatch):
    monkeypatch.setattr(contraction, "_MOST_LISTED", most_listed)
    for function in (
        lambda x: np.ones((7, 7)) @ x,
        lambda x: x - x.mean(0),
        lambda x: np.roll(x, 1, axis=0),
        lambda x: x * np.arange(7.0)[:, None],
        lambda x: x * np.arange(1.0, 8.0)[:, None],
        lambda x: x + np.arange(7.0)[:, None],
        lambda x: x + (np.arange(7) == 3)[:, None],
        lambda x: x * (1.0 + (np.arange(7) == 3))[:, None],
        lambda x: x[:6],
        lambda x: x * np.array([1.0, 1, 1, 0, 1, 1, 1])[:, None],
        lambda x: x.sum(),
        lambda x: x * np.roll(x, 1, axis=0),
    ):
        assert over_samples(recorded(function, (7, 4)), 5) is None
    assert over_samples(recorded(lambda x: x + 1, (7, 4)), 8) is None
    assert over_samples(recorded(lambda a, b: a * b, (7, 4), (7, 4)), 5) is not None
    assert over_samples(recorded(lambda a, b: a @ b, (7, 4), (4, 6)), 5) is None


def applied(blocks, x, outputs):
    found = np.full(outputs, np.nan)
    for each in blocks:
        for part in range(each.count):
            assert np.isnan(found[each.rows[:, part]]).all()
            found[each.rows[:, part]] = each.matrix @ x[each.columns[:, part]]
    return found


def test_blocks_give_the_map():
    matrix = RNG.normal(size=(3, 4))
    other = RNG.normal(size=(3, 4))
    maps = {
        "tokens": (np.kron(np.eye(6), matrix), 16, [(3, 4, 6)]),
        "features first": (np.kron(matrix, np.eye(6)), 16, [(3, 4, 6)]),
        "one": (matrix, 16, [(3, 4, 1)]),
        "two kinds": (
            np.block([[matrix, np.zeros((3, 4))], [np.zeros((3, 4)), other]]),
            2,
            [(3, 4, 1), (3, 4, 1)],
        ),
        "of one kind but for the shape": (
            np.block(
                [
                    [np.arange(1.0, 7).reshape(2, 3), np.zeros((2, 2))],
                    [np.zeros((3, 3)), np.arange(1.0, 7).reshape(3, 2)],
                ]
            ),
            16,
            [(2, 3, 1), (3, 2, 1)],
        ),
        "overlapping": (np.array([[1.0, 2, 0, 0], [0, 1, 2, 0], [0, 0, 1, 2]]), 16, [(1, 2, 3)]),
    }
    for entries, most, kinds in maps.values():
        own = SparseMap.dense(entries)
        found = blocks_of(own, most)
        assert found is not None
        assert [(*each.matrix.shape, each.count) for each in found] == kinds
        x = RNG.normal(size=own.inputs)
        np.testing.assert_allclose(applied(found, x, own.outputs), entries @ x, atol=1e-12)
    assert blocks_of(SparseMap.dense(maps["two kinds"][0]), 1) is None
    assert blocks_of(SparseMap.dense([[1.0, 2], [0, 0]]), 16) is None  # a row without an element


def test_layouts_of_elements():
    layout = Layout.in_ciphertexts((2, 3), 8, axis=1)
    x = RNG.normal(size=(4, 8, 2, 3))
    (packed,) = layout.encode(x, 8)
    assert packed.shape == (4, 6, 8)
    assert packed[3, 4, 5] == x[3, 5, 1, 1]
    np.testing.assert_array_equal(layout.decode([packed]), x)
    assert Layout.from_data(layout.to_data()) == layout
    with pytest.raises(MismatchError, match=r"\(\.\.\., 8, 2, 3\) is needed"):
        layout.encode(x[:, :7], 8)
    with pytest.raises(ParameterError, match="12 slots are not a multiple of the layout's 8"):
        layout.encode(x, 12)
    for shape, samples, axis in (((2, 0), 8, 0), ((2,), 6, 0), ((2,), 1, 0), ((2,), 8, 2), ((2,), 8, -1)):
        with pytest.raises(ParameterError, match=r"have no layout|has no tiles"):
            Layout.in_ciphertexts(shape, samples, axis=axis)
    for wrong in ({"length": 0}, {"length": 3}, {"tokens": 0}, {"length": 2, "axis": 1}):
        with pytest.raises(ParameterError, match="have no layout"):
            Layout.in_ciphertexts((1, 2), 8, **wrong)
