"""Arrays cut into tiles, and programs on tiles, next to NumPy."""

import math

import numpy as np
import pytest

from hemera.arrays.folding import folded
from hemera.arrays.layout import Layout
from hemera.arrays.layout_search import layout_choices
from hemera.arrays.operations import Affine
from hemera.arrays.tiling import Tiling, split
from hemera.errors import FormatError, MismatchError, ParameterError

from .programs import Given, on_tiles, recorded

RNG = np.random.default_rng(5)
SHAPES = [(), (1,), (7,), (64,), (65,), (3, 5, 7), (1, 9, 2), (12, 1, 5), (2, 2, 33), (30, 30)]


@pytest.mark.parametrize("slots", [1, 2, 16, 64, 1024])
@pytest.mark.parametrize("shape", SHAPES)
def test_tiles_fit_and_are_the_array(shape, slots):
    tiling = Tiling.of(shape, slots)
    values = RNG.normal(size=(2, *shape))
    tiles = tiling.cut(values)
    assert len(tiles) == tiling.count == len(tiling.shapes) == len(tiling.elements)
    for tile, own, elements in zip(tiles, tiling.shapes, tiling.elements, strict=True):
        assert tile.shape == (2, *own)
        assert Layout.raster(own).period <= slots
        np.testing.assert_array_equal(tile.reshape(2, -1), values.reshape(2, -1)[:, elements])
    np.testing.assert_array_equal(tiling.joined(tiles), values)
    number, within = tiling.places
    assert [tiling.elements[a][b] for a, b in zip(number, within, strict=True)] == list(
        range(math.prod(shape))
    )
    if Layout.raster(shape).period <= slots:
        assert tiling.count == 1


@pytest.mark.parametrize(
    ("shape", "slots", "tile"),
    [
        ((100_000,), 32768, (25_000,)),  # four equal ones, not three full ones and a rest
        ((100_001,), 32768, (25_001,)),
        ((64, 32, 32), 32768, (32, 32, 32)),
        ((5, 1, 9), 32, (2, 1, 9)),
        ((3, 5, 7), 8, (1, 1, 7)),
        ((3, 5, 7), 16, (1, 2, 7)),
        ((3, 5, 7), 4, (1, 1, 4)),
    ],
)
def test_the_fewest_tiles(shape, slots, tile):
    assert Tiling.of(shape, slots).tile == tile


def test_refused_tilings():
    for shape, tile in [((4,), (5,)), ((4,), (0,)), ((4,), (2, 2)), ((4, 4), (2,))]:
        with pytest.raises(ParameterError, match="tiles"):
            Tiling(shape, tile)
    with pytest.raises(ParameterError, match="8192 ciphertexts; at most 4096"):
        Tiling.of((1 << 28,), 1 << 15)
    with pytest.raises(MismatchError, match=r"\(\.\.\., 3, 5\)"):
        Tiling.of((3, 5), 4).cut(np.zeros((5, 3)))


def test_layouts_of_tiles_as_data():
    tiling = Tiling.of((5, 6), 16)
    layouts = tuple(Layout.raster(own) for own in tiling.shapes)
    layout = Layout.of_tiles(tiling, layouts)
    assert Layout.from_data(layout.to_data()) == layout
    values = RNG.normal(size=(3, 5, 6))
    packed = layout.encode(values, 32)
    assert [each.shape for each in packed] == [(3, 32)] * 3
    np.testing.assert_array_equal(layout.decode(packed), values)
    # Arrays of one ciphertext are written as before there were tiles.
    assert set(Layout.raster((5, 6)).to_data()) == {"shape", "bits"}
    data = layout.to_data()
    for wrong in (
        {**data, "tile": [6, 5]},
        {**data, "tile": "no"},
        {**data, "layouts": data["layouts"][:1]},
        {**data, "layouts": [{"shape": [1], "bits": []}] * 3},
        {"shape": [1 << 40], "tile": [1], "layouts": []},
        {"layouts": []},
        {},
    ):
        with pytest.raises(FormatError):
            Layout.from_data(wrong)


def test_alike_tiles_are_added_before_a_sum():
    given = Given(RNG.uniform(-2, 2, 64))
    recorder, _ = recorded(lambda x: x.mean(), [given])
    cut = split(folded(recorder.program), 16)
    maps = [node.operation for node in cut.program.nodes if isinstance(node.operation, Affine)]
    assert [len(own.maps) for own in maps] == [4, 1]
    assert maps[0].maps[0].is_identity
    # A sum has the range of its parts together.
    at = next(at for at, node in enumerate(cut.program.nodes) if node.operation is maps[0])
    assert cut.program.nodes[at].range == (-8, 8)
    assert on_tiles(cut, [given.values[None]])[0][0] == pytest.approx(given.values.mean())
    # So are those of which the same elements are taken, in another order than theirs.
    recorder, _ = recorded(lambda x: x.reshape(4, 16)[:, ::-1].sum(0), [given])
    cut = split(folded(recorder.program), 16)
    maps = [node.operation for node in cut.program.nodes if isinstance(node.operation, Affine)]
    assert [len(own.maps) for own in maps] == [4, 1]


def test_sums_of_alike_tiles_are_made_once():
    given = Given(RNG.uniform(-2, 2, 64))
    recorder, _ = recorded(lambda x: [x.mean(), x.sum() ** 2], [given])
    cut = split(folded(recorder.program), 16)
    assert len([node for node in cut.program.nodes if node.shape == (16,)]) == 4 + 1


def test_tiles_of_an_array_take_one_layout():
    def program(x):
        return (x @ np.arange(24.0).reshape(6, 4)) ** 2

    recorder, _ = recorded(program, [Given(RNG.uniform(-1, 1, (21, 6)))])
    cut = split(folded(recorder.program), 32)
    layouts = layout_choices(cut.program, alike=cut.alike)[0].layouts
    for tiles in cut.tiles:
        assert len(tiles) > 1
        assert len({layouts[at] for at in tiles if layouts[at].shape == layouts[tiles[0]].shape}) == 1
