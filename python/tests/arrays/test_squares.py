"""Quadratic polynomials of single elements: as one square where that saves a level."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hemera as hm
from hemera.arrays.folding import folded, with_squares

from .programs import Given, check, recorded

WEIGHTS = np.random.default_rng(1).normal(size=(6, 4))
SQUARE = np.random.default_rng(3).normal(size=(6, 6)) / 6
VALUES = np.random.default_rng(2).uniform(-2, 2, 6)
FACTORS = np.array([0.3, -0.4, 0.5, 0.6, -0.7, 0.8])


def program_of(function, *inputs):
    return folded(with_squares(recorded(function, inputs)[0].program))


def levels_of(function, *inputs):
    given = inputs or (Given(VALUES),)
    check(function, *given)
    return program_of(function, *given).depth


@pytest.mark.parametrize(
    ("function", "levels"),
    [
        # A square and the map, which takes the factor in.
        (lambda x: x * (0.1 * x + 0.5) @ WEIGHTS, 2),
        (lambda x: (0.1 * x + 0.5) * x @ WEIGHTS, 2),
        (lambda x: (0.1 * x * x + 0.5 * x + 3) @ WEIGHTS, 2),
        (lambda x: (0.1 * x**2 + 0.5 * x - 1) @ WEIGHTS, 2),
        (lambda x: (0.3 * x + 1) * (0.2 * x - 1) @ WEIGHTS, 2),
        (lambda x: (x * (FACTORS * x + 0.1)) @ WEIGHTS, 2),
        (lambda x: (-(x * (0.1 * x + 0.5))).reshape(2, 3) @ WEIGHTS[:3], 2),
        (lambda x: (x[::-1] ** 2 / 10 + x[::-1] / 2) @ WEIGHTS, 2),
        (lambda x: ((x @ SQUARE) ** 2 / 10 + x @ SQUARE / 2) @ WEIGHTS, 3),
        (lambda x: (x * (np.array([2, 0.3, 0.4, 0.5, 0.6, 0.7]) * x + 0.1)) @ WEIGHTS, 2),
        # The same for the square of a square.
        (lambda x: (lambda y: y * (0.4 * y + 0.5))(x * (0.4 * x + 0.5)) @ WEIGHTS, 3),
        # As a result, the factor takes the level that is saved.
        (lambda x: x * (0.1 * x + 0.5), 2),
        (lambda x: 0.2 * x * (0.1 * x + 0.5) * 0.3, 2),
        # A function takes it too.
        (lambda x: (x * (0.1 * x + 0.5)) * (x[::-1] + 1), 3),
    ],
)
def test_levels(function, levels):
    assert levels_of(function) == levels


@pytest.mark.parametrize(
    "function", [lambda x: x * (2 * x + 3) @ WEIGHTS, lambda x: (x + 1) * (x + 3) @ WEIGHTS]
)
def test_whole_factors_are_left(function):
    """Products by them take no level."""
    before = recorded(function, [Given(VALUES)])[0].program
    assert len(folded(with_squares(before)).nodes) == len(folded(before).nodes)


def test_both_uses_of_a_value():
    """The sum with a shortcut takes the factor in as well."""
    small = WEIGHTS[:, :4].T @ WEIGHTS / 10

    def block(x):
        first = x[:4]
        y = first * (0.1 * first + 0.5)
        return y @ small + y

    assert levels_of(block) == 2


@pytest.mark.parametrize("linear", [0.5, 20.0, -500.0])
def test_squares_that_cancel_are_left(linear):
    """(x + 2.5)^2 / 10 is not much larger than x^2 / 10 + x / 2, (x + 2500)^2 / 10 is 600 times as large."""

    def function(x):
        return x * (0.1 * x + linear) @ WEIGHTS

    assert levels_of(function) == (2 if linear == 0.5 else 3)


def test_results_that_maps_take_too():
    """The result itself takes as many levels as before, the map's one less."""

    def both(x):
        y = x * (0.1 * x + 0.5)
        return [y, y @ WEIGHTS]

    assert levels_of(both) == 2
    # A product takes the factor by itself, and then nothing is saved for it.
    assert levels_of(lambda x: (lambda y: [y * x[::-1], y @ WEIGHTS])(x * (0.1 * x + 0.5))) == 3


def test_factors_do_not_grow():
    """The factor of a square of a square is the cube of one, so a chain takes some in by itself."""

    def chain(x):
        for _ in range(9):
            x = (x * x - 0.5) * 1.25
        return x

    values = Given(VALUES / 2, -1, 1)
    check(chain, values, tolerance=1e-6)
    program = program_of(chain, values)
    assert 9 < program.depth < 18
    largest = [max(map(abs, node.range)) for node in program.nodes]
    assert min(largest) > 1 / 128
    assert max(largest) < 32


def test_elements_without_a_square_are_left():
    assert levels_of(lambda x: (x * (np.array([0.1, 0, 0.1, 0.1, 0.1, 0.1]) * x + 0.5)) @ WEIGHTS) == 3


def test_products_of_two_arrays_are_left():
    other = Given(VALUES[::-1].copy())
    assert levels_of(lambda x, y: (x * (0.1 * y + 0.5)) @ WEIGHTS, Given(VALUES), other) == 3


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**31))
def test_random_polynomials(seed):
    """Factors of all signs and sizes, on ranges around and beside 0, of one number and of one for each."""
    rng = np.random.default_rng(seed)
    low, width = rng.uniform(-4, 3), rng.uniform(0.1, 4)
    shape = (2, 3)
    a, b, c, d = (
        rng.choice([0.0, 1.0, -2.0, 0.3, -0.7, rng.normal()], shape if rng.integers(2) else ())
        for _ in range(4)
    )

    def function(x):
        y = (a * x + b) * (c * x + d)
        return [y.sum(axis=0) / 3, (y - x / 2) @ WEIGHTS[:3], y]

    check(function, Given(rng.uniform(low, low + width, shape), low, low + width), tolerance=1e-8)


def test_encrypted():
    def function(x):
        y = x * (0.1 * x + 0.5) @ WEIGHTS
        return y * (FACTORS[:4] * y - 1) @ WEIGHTS[:4]

    params = hm.ckks.Parameters.for_circuit(4, scale_bits=40, slots=16, range_bits=12, security=None)
    plan = hm.compile(function, hm.ArraySpec((6,), range=(-2, 2)), params=params)
    assert plan.depth == 4
    np.testing.assert_allclose(plan.local(threads=1)(VALUES), function(VALUES), atol=1e-5)
