"""Seconds of operations: each question is answered as if it was the first, whatever was asked before."""

import dataclasses
import itertools

import numpy as np
import pytest

import hemera as hm
from hemera.compiler.costs import CostModel, weighed
from hemera.program import operations as op
from hemera.program.values import Form
from hemera.times.table import DeviceTimes

PARAMS = hm.ckks.Parameters.for_circuit(6, scale_bits=40, slots=256, security=None)
DEVICE = "cpu-avx512-16"


def rows(count, width, taken=None):
    own = np.arange(width) if taken is None else np.array(taken)
    return op.MatrixRows(np.ones((count, width)) / 3, own[:, np.newaxis], 8)


def diagonals(*numbers, **options):
    return dataclasses.replace(op.Map.of(list(numbers), np.ones((len(numbers), 256)) / 3), **options)


def polynomial(*coefficients, basis="power"):
    return op.OfPolynomial.of(hm.circuits.Polynomial(coefficients, basis=basis))


ALIKE = [
    [(op.Multiply(), [(64,)] * 2), (op.Multiply(), [()] * 2), (op.Multiply(), [(8,)] * 2)],
    [(op.Negate(), [(64,)]), (op.Negate(), [()])],
    [(rows(8, 4), [(4,)]), (rows(2, 4), [(4,)]), (rows(8, 2), [(2,)])],
    [(diagonals(0, 1, 2), [()]), (diagonals(0, 7), [()]), (diagonals(*range(16)), [()])],
    [(op.Rotations((1, 2, 3)), [(4,)]), (op.Rotations((1,)), [(4,)]), (op.Rotations((0, 1, 2)), [(4,)])],
    [(diagonals(0, 1, 2), [()]), (diagonals(1, 2, 3), [()])],
    [(diagonals(*range(16), **own), [()]) for own in ({}, {"baby_steps": 1}, {"own_keys": True})],
    [(op.Power(exponent), [()]) for exponent in (5, 6, 7, 8)],
    [(op.Matmul(matrix, 4), [()]) for matrix in (np.ones((16, 16)), np.ones((4, 4)), np.eye(16))],
    [(polynomial(*own), [()]) for own in ([1] * 8, [0, 1] * 4, [0] * 7 + [1], [1] * 7)],
    [(polynomial(*[0.1] * 8, basis=basis), [()]) for basis in ("power", "chebyshev")],
    [(op.SumsOfProducts(own, own), [(4,)] * 2) for own in (np.array([[0, 1]]), np.array([[0, 0]]))],
    [(rows(8, 4, taken), [(4,)]) for taken in (None, (1, 0, 3, 2))],
]
"""Operations of one kind that differ in one field, and shapes of their operands."""


@pytest.mark.parametrize("questions", ALIKE, ids=lambda each: each[0][0].name)
def test_answers_do_not_depend_on_what_was_asked_before(questions):
    def seconds(own, operation, shapes):
        forms = [Form(256, shape) for shape in shapes]
        line = own.of(operation, forms)
        return own.least(operation, forms), line(2), line(6)

    def first_of_all():
        DeviceTimes.find(DEVICE).prices.clear()
        return CostModel(PARAMS, 6, 1, DEVICE)

    alone = [seconds(first_of_all(), *each) for each in questions]
    assert len(set(alone)) == len(alone)
    assert all(least > 0 and low < 1.01 * high for least, low, high in alone)
    for order in itertools.permutations(range(len(questions)), 2):
        own = first_of_all()
        for at in order:
            assert seconds(own, *questions[at]) == pytest.approx(alone[at]), order


@pytest.mark.parametrize("requests", [1, 5])
def test_seconds_are_those_of_hm_cost_less_the_way_down(requests):
    """At the level where fresh ciphertexts are there is no way down."""
    own, forms = CostModel(PARAMS, 6, 0, DEVICE, requests), [Form(256, (3,))] * 2
    shape = ((requests,) if requests > 1 else ()) + (3, 256)

    def counted(run):
        return hm.cost(run, shape, shape, params=PARAMS, device=DEVICE).seconds or 0.0

    assert own.of(op.Multiply(), forms)(6) == pytest.approx(counted(lambda x, y: x * y))
    whole = counted(lambda x, y: x.evaluator.at_level(x, 1) * y.evaluator.at_level(y, 1))
    down = counted(lambda x, y: (x.evaluator.at_level(x, 1), y.evaluator.at_level(y, 1)))
    assert own.least(op.Multiply(), forms) == pytest.approx(whole - down)


def test_ten_times_as_many_keys_are_worth_a_quarter_of_the_time():
    """Their tenth power counts: 10^0.1 is 1.259. No key counts as one."""
    for seconds, wanted in ((1.25, "few"), (1.27, "many")):
        assert ("few" if weighed(seconds, 100) < weighed(1.0, 1000) else "many") == wanted
    assert weighed(0.9, 2) < weighed(1.0, 1) == weighed(1.0, 0)


def test_no_operation_is_above_the_level_of_fresh_ciphertexts():
    line = CostModel(PARAMS, 7, 0, DEVICE).of(op.Negate(), [Form(256)])
    assert line(7) == np.inf
    line = CostModel(PARAMS, 3, 3, DEVICE).of(op.Multiply(), [Form(256)] * 2)
    assert line(3) == np.inf  # it leaves level 2
    assert CostModel(PARAMS, 4, 3, DEVICE).of(op.Multiply(), [Form(256)] * 2)(4) < np.inf
