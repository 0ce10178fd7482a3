"""The layouts that the search chooses, by the diagonals that their maps take."""

import math

import numpy as np
import pytest

from hemera.arrays import conv, layout_search
from hemera.arrays.array import Array
from hemera.arrays.folding import folded
from hemera.arrays.layout import Layout
from hemera.arrays.layout_search import layout_choices
from hemera.arrays.operations import Affine
from hemera.arrays.packing import offsets, packed
from hemera.arrays.recorder import Recorder
from hemera.arrays.sparse_map import SparseMap


def diagonals(function, shape, most_slots=1):
    """The diagonals of each linear map of a program, those that only scale left out."""
    x = Array(recorder := Recorder(), recorder.input("x", shape, -1, 1))
    recorder.program.outputs = [("y", function(x)._number)]
    program = folded(recorder.program)
    layouts = layout_choices(program, most_slots=most_slots)[0].layouts
    maps = [
        packed(own, layouts[operand], layouts[at])
        for at, node in enumerate(program.nodes)
        if isinstance(node.operation, Affine)
        for operand, own in zip(node.operands, node.operation.maps, strict=True)
    ]
    return [len(each.numbers) for each in maps if each.only_scales is None]


def residual(x, widths):
    """Groups of two residual blocks: each group after the first one halves the image."""
    rng = np.random.default_rng(0)
    channels = x.shape[0]
    for width in widths:
        for _ in range(2):
            stride = 1 if width == channels else 2
            weights = rng.normal(size=(2, width, max(width, channels), 3, 3)) / 1000
            y = conv(x, weights[0][:, :channels], stride=stride, padding=1) ** 2
            y = conv(y, weights[1][:, :width], padding=1)
            x = y + (x if stride == 1 else conv(x, weights[0][:, :channels, :1, :1], stride=stride))
            channels = width
    return x


def test_residual_networks_take_multiplexed_packing():
    """The counts of ResNet-20's layers packed by hand: with channels between the pixels of one after each
    stride of 2 (E. Lee et al., "Low-complexity deep convolutional neural networks on fully homomorphic
    encryption using multiplexed parallel convolutions", ICML 2022, section 4). Where slots are left, every
    second convolution finds the channels that it needs in copies."""
    found = diagonals(lambda x: residual(x, (16, 32, 64)), (16, 32, 32))
    by_hand = [144] * 4 + [128, 392, 32, 392, 392] + [324, 900, 100, 900, 900]
    assert found[:4] == by_hand[:4]
    assert {168, 324, 360, 392, 420, 900} <= set(found)
    assert sum(found) < 0.8 * sum(by_hand)


def test_strides_without_shortcuts():
    """Bits of an image's indices are followed through a kernel, whose numbers blur them."""
    rng = np.random.default_rng(1)
    kernels = rng.normal(size=(3, 8, 8, 3, 3))

    def chain(x):
        x = conv(x, rng.normal(size=(8, 4, 3, 3)), stride=2, padding=1)
        for kernel in kernels:
            x = conv(x**2, kernel, padding=1)
        return x

    # [32, 98, 98, 98] without copies.
    assert diagonals(chain, (4, 16, 16)) == [64, 42, 98, 42]


def test_costs_of_searches_are_those_of_their_maps():
    """Three maps of the same entries between arrays of other shapes: a cost of one is none of the other."""
    recorder, places = Recorder(), np.arange(24)
    own = SparseMap.of(24, 24, places, places[::-1] // 3 * 2, places + 1)
    ends = [
        recorder.affine([(recorder.input(f"x{at}", shape, -1, 1), own)], shape)
        for at, shape in enumerate([(4, 6), (3, 8), (24,)])
    ]
    recorder.program.outputs = [(f"y{at}", end) for at, end in enumerate(ends)]
    for choice in layout_choices(recorder.program):
        wanted = 0.0
        for at in ends:
            source, target = choice.layouts[at - 1 : at + 1]
            numbers = set(offsets(own.rows, own.columns, source, target).tolist())
            count = len(numbers) * len(target.copies) ** 0.5
            rotations = 2 * math.sqrt(count) - (2 if 0 in numbers else 1)
            wanted += 2 + 0.06 * count + 0.7 * rotations + len(packed(own, source, target).folds)
        assert choice.cost == pytest.approx(wanted)


def test_what_searches_remember_changes_no_choice(monkeypatch):
    """Groups are not settled again next to the same layouts, which counts as if they were."""

    def found(*, remembers):
        trials = []

        def tried(own, name, first):
            own._settled = own._settled if remembers else {}
            changed = settle(own, name, first)
            trials.append(own.trials)
            return changed

        monkeypatch.setattr(layout_search._Search, "_settle", tried)
        x = Array(recorder := Recorder(), recorder.input("x", (2, 8, 8), -1, 1))
        recorder.program.outputs = [("y", residual(x, (2, 4, 8))._number)]
        return layout_choices(folded(recorder.program), most_slots=512), trials

    settle = layout_search._Search._settle
    assert found(remembers=True) == found(remembers=False)


def test_the_search_is_deterministic():
    assert len({tuple(diagonals(lambda x: residual(x, (2, 4)), (2, 8, 8))) for _ in range(2)}) == 1


@pytest.mark.parametrize("shape", [(3, 5), (4, 8), (1, 7), (6,)])
def test_layouts_of_neighbours_carry_over_a_transposition(shape):
    """A transposed array lies as the array does: the map moves nothing."""
    assert diagonals(lambda x: (x**2).T ** 2, shape) == []


def test_copies_only_where_there_is_room():
    kernel = np.random.default_rng(2).normal(size=(8, 8, 3, 3))
    tight = diagonals(lambda x: conv(x, kernel, padding=1) ** 2, (8, 8, 8))
    wide = diagonals(lambda x: conv(x, kernel, padding=1) ** 2, (8, 8, 8), most_slots=1 << 13)
    assert sum(wide) <= sum(tight)
    assert Layout.raster((8, 8, 8)).period == 512


def test_convolutions_that_differ_in_one_field_are_different_maps():
    x = Array(recorder := Recorder(), recorder.input("x", (1, 9), -1, 1))
    fields = [{}, {"stride": 2}, {"padding": 1}, {"dilation": 2}]
    assert [conv(x, np.ones((1, 1, 3)), **each).shape[1] for each in fields] == [7, 4, 9, 5]
