"""The ranges that programs know of their values: inputs at random, at corners and at one end never leave
them, and some are as narrow as can be. The judge is NumPy."""

import itertools

import numpy as np
import pytest

import hemera as hm
from hemera.arrays.chains import FusingRecorder
from hemera.compiler.passes import traced

RNG = np.random.default_rng(3)
SHAPE = (3, 5)
PROGRAMS = {
    "variance": lambda x: x.var(),
    "variance of rows": lambda x: x.var(1, ddof=1),
    "deviation": lambda x: x.std(0),
    "below the largest": lambda x: x - x.max(),
    "below the largest of rows": lambda x: 3 * (x - x.max(1, keepdims=True)),
    "below the largest, the other way": lambda x: x.max() - x,
    "above the smallest": lambda x: x - x.min(0),
    "spread": lambda x: x.max() - x.min(),
    "spread of columns": lambda x: x.min(0) - x.max(0),
    "of other axes": lambda x: x.max(0, keepdims=True) - x.min(1, keepdims=True),
    "of others": lambda x: x[:2] - x[1:].max(0),
    "inner product with itself": lambda x: x[0] @ x[0],
    "inner product of others": lambda x: x[0] @ x[1],
    "softmax": lambda x: np.exp(x - x.max()).sum(),
}


def recorded(program, ends):
    return traced(program, [hm.ArraySpec(SHAPE, range=ends)], FusingRecorder(precision_bits=16))


def inputs(low, high):
    rows = [RNG.uniform(low, high, (200, *SHAPE)), RNG.choice([low, high], (200, *SHAPE))]
    columns = np.tile(list(itertools.product([low, high], repeat=5)), (3, 1, 1)).transpose(1, 0, 2)
    return np.concatenate([*rows, columns, np.full((1, *SHAPE), low), np.full((1, *SHAPE), high)])


@pytest.mark.parametrize("ends", [(-1, 1), (2, 10), (-7, -3)])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_never_leave_their_ranges(name, ends):
    recorder = recorded(PROGRAMS[name], ends)
    for formulas in ((), recorder.program.approximated):
        values = recorder.program.values([inputs(*ends)], clip=True, formulas=formulas)
        for node, facts, own in zip(recorder.program.nodes, recorder.facts, values, strict=True):
            flat, slack = own.reshape(len(own), -1), 1e-9 * max(1, *map(abs, node.range))
            for low, high in (facts.bounds, facts.certain):
                assert (flat >= low - slack).all(), node
                assert (flat <= high + slack).all(), node


@pytest.mark.parametrize("count", [2, 5, 8])
@pytest.mark.parametrize("ddof", [0, 1])
def test_variances_are_known_to_be_what_halves_at_both_ends_have(count, ddof):
    spec = hm.ArraySpec((count,), range=(-2, 3))
    recorder = traced(lambda x: x.var(ddof=ddof), [spec], FusingRecorder(precision_bits=16))
    half = np.repeat([-2.0, 3.0], [count // 2, count - count // 2])
    assert recorder.range(recorder.program.outputs[0][1]) == (0, pytest.approx(half.var(ddof=ddof)))


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("below the largest", -8, 0),
        ("below the largest of rows", -24, 0),
        ("below the largest, the other way", 0, 8),
        ("above the smallest", 0, 8),
        ("spread", 0, 8),
        ("spread of columns", -8, 0),
        ("of other axes", 0, 8),
        ("of others", -8, 8),
        ("inner product with itself", 20, 500),
    ],
)
def test_differences_from_extremes_have_one_sign(name, least, most):
    recorder = recorded(PROGRAMS[name], (2, 10))
    low, high = recorder.range(recorder.program.outputs[0][1])
    assert (low, high) == (pytest.approx(least, abs=0.02), pytest.approx(most, abs=0.02))
