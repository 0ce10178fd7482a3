"""Chains: nodes as functions of another one. The judge is NumPy."""

import numpy as np

import hemera as hm
from hemera.arrays.chains import Chain, FusingRecorder, product, total
from hemera.arrays.lines import meaning_of
from hemera.compiler.passes import traced

ROUNDS = 60
POINTS = np.linspace(-1, 1, 101)


def iterated(x):
    for _ in range(ROUNDS):
        x = 0.5 * x + 0.25 * x * x
    return x


def test_values_that_several_take_are_computed_once():
    """As a tree these are 3^60 evaluations."""
    chain = Chain(0)
    for _ in range(ROUNDS):
        assert chain is not None
        square = product(chain, chain)
        assert square is not None
        chain = total([chain, square], [0.5, 0.25], 0.0)
    assert chain is not None
    assert chain.approximated is not None
    for points in (POINTS, POINTS / 2, POINTS):
        np.testing.assert_allclose(chain.formula(points), iterated(points), rtol=1e-12)
        np.testing.assert_allclose(chain.approximated(points), iterated(points), rtol=1e-12)
    np.testing.assert_allclose(chain.formula(np.float64(0.5)), iterated(0.5), rtol=1e-12)


def test_meanings_of_values_that_several_take_are_computed_once():
    recorder = traced(iterated, [hm.ArraySpec((3,), range=(-1, 1))], FusingRecorder(precision_bits=16))
    root, meant = meaning_of(recorder, recorder.program.outputs[0][1])
    assert root == 0
    np.testing.assert_allclose(meant(POINTS), iterated(POINTS), rtol=1e-12)


def test_a_sum_of_exponentials_of_one_wide_number_is_the_number():
    """14 halvings of the range, each with a square and a quotient."""
    plan = hm.compile(
        lambda x: hm.logsumexp(x), hm.ArraySpec((1,), range=(0, 5e4)), precision_bits=20, security=None
    )
    for value in (0.0, 1.5, 3e4, 5e4):
        assert abs(float(plan.local(threads=1)([value])) - value) <= 5e4 * 2.0**-19
