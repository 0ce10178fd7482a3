"""Programs on arrays that are recorded, run in the clear and compared with NumPy's."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.array import Array
from hemera.arrays.folding import folded, with_squares
from hemera.arrays.recorder import Recorder
from hemera.arrays.tiling import split

Program = Callable[..., Any]
Values = NDArray[Any]


@dataclass
class Given:
    """A plain input: its values, and what is known of it before."""

    values: Values
    low: float = -2.0
    high: float = 2.0
    step: float | None = None


def listed(result):
    """The arrays of a result, which may be a sequence or a dict."""
    if isinstance(result, dict):
        return list(result.values())
    return list(result) if isinstance(result, (list, tuple)) else [result]


def applied(found, slots):
    """A map of slots in the clear: its diagonals, and then its folds."""
    repeats = slots.shape[-1] // found.period
    terms = zip(found.numbers, found.diagonals, strict=True)
    total = sum((np.tile(each, repeats) * np.roll(slots, -at, -1) for at, each in terms), 0 * slots)
    for fold in found.folds:
        total = total + np.roll(total, -fold, -1)
    return total


def recorded(program, inputs, *, bits=16, samples=False):
    """The recorder of a program, and its results: arrays and plain values."""
    recorder = Recorder(precision_bits=bits)
    arrays = []
    for at, each in enumerate(inputs):
        own = np.asarray(each.values, np.float64)[None] if samples else None
        shape = np.shape(each.values)
        number = recorder.input(f"x{at}", shape, each.low, each.high, own, each.step)
        arrays.append(Array(recorder, number))
    results = listed(program(*arrays))
    recorder.program.outputs = [
        (f"y{at}", each._number) for at, each in enumerate(results) if isinstance(each, Array)
    ]
    return recorder, results


def on_tiles(cut, inputs):
    """The outputs of a program in the clear, by the one on tiles, of inputs of shape (batch, *shape)."""
    whole, tilings = cut.whole, cut.tilings
    tiles = [
        own for at, x in zip(whole.inputs, inputs, strict=True) for own in tilings[at].cut(np.asarray(x))
    ]
    found = iter(cut.program.evaluate_clear(tiles))
    return [tilings[at].joined(list(itertools.islice(found, tilings[at].count))) for _, at in whole.outputs]


def check(program, *inputs, tolerance=1e-9, bits=16, samples=False):
    """The recorded program, as it is, folded, with squares, and on tiles of at most four elements, has the
    values and shapes of the same function on plain arrays. All values are in the ranges and multiples of the
    steps that the recorder states, and in those that squares have."""
    expected = [np.asarray(each) for each in listed(program(*(each.values for each in inputs)))]
    recorder, results = recorded(program, inputs, bits=bits, samples=samples)
    assert len(results) == len(expected)
    plain = [np.asarray(each.values, np.float64)[None] for each in inputs]
    simpler = folded(recorder.program)
    squared = with_squares(recorder.program)
    for evaluate in (
        recorder.program.evaluate_clear,
        simpler.evaluate_clear,
        folded(squared).evaluate_clear,
        lambda given: on_tiles(split(simpler, 4), given),
    ):
        found = iter(evaluate(plain))
        for result, wanted in zip(results, expected, strict=True):
            value = next(found)[0] if isinstance(result, Array) else np.asarray(result)
            assert value.shape == wanted.shape
            np.testing.assert_allclose(value, wanted.astype(np.float64), rtol=tolerance, atol=tolerance)
    for node, value in zip(squared.nodes, squared.values(plain), strict=True):
        slack = 1e-9 * max(1.0, float(np.abs(value).max()))
        assert node.range[0] - slack <= value.min()
        assert value.max() <= node.range[1] + slack
    for number, value in enumerate(recorder.program.values(plain)):
        low, high = recorder.facts[number].bounds
        slack = 1e-9 * max(1.0, float(np.abs(value).max()))
        assert (value.reshape(-1) >= low - slack).all(), (number, value.min(), low.min())
        assert (value.reshape(-1) <= high + slack).all(), (number, value.max(), high.max())
        assert recorder.program.nodes[number].range[0] <= low.min() + slack
        assert recorder.program.nodes[number].range[1] >= high.max() - slack
        step = recorder.facts[number].step
        if step is not None:
            multiples = value / step
            np.testing.assert_allclose(multiples, np.round(multiples), rtol=0, atol=0.02)


def in_parts(function, *arguments, **options):
    """A function's result; of complex numbers the real and the imaginary part."""
    found = function(*arguments, **options)
    return (found.real, found.imag) if found.dtype.kind == "c" else found
