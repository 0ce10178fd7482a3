"""Ranges by the Cauchy-Schwarz inequality: of sums of products that are divided by roots of sums of squares.
The judge is NumPy on vectors that are parallel, opposite, one of them 0, or drawn; and on encrypted ones."""

import math

import numpy as np
import pytest

import hemera as hm
from hemera.arrays.array import Array
from hemera.arrays.chains import FusingRecorder
from hemera.arrays.recorded import number_of

COUNT = 12
WEIGHTS = np.arange(1.0, COUNT + 1)
RNG = np.random.default_rng(4)


def root(x):
    return np.sqrt((x * x).sum() + 0.01)


def apart(x):
    return x - x.mean()


def rows(x, y):
    x = x.reshape(3, 4)
    return x @ y[:4] / (np.sqrt((x**2).sum(1) + 0.01) * np.sqrt(y[:4] @ y[:4] + 0.01))


def weighted(x, y):
    return (WEIGHTS * x * y).sum() / np.sqrt((WEIGHTS * x * x).sum() * (WEIGHTS * y * y).sum() + 0.01)


PROGRAMS = {
    "cosine": (lambda x, y: x @ y / (root(x) * root(y)), 1),
    "of one root": (lambda x, y: x @ y / np.sqrt((x @ x) * (y @ y) + 0.01), 1),
    "norms and a number": (lambda x, y: x @ y / (np.linalg.norm(x) * np.linalg.norm(y) + 0.1), 1),
    "correlation": (
        lambda x, y: (apart(x) * apart(y)).mean() / (np.sqrt(x.var() + 0.01) * np.sqrt(y.var() + 0.01)),
        1,
    ),
    "weighted": (weighted, 1),
    "three times": (lambda x, y: (3 * x) @ y / (root(x) * root(y)), 3),
    "rows": (rows, 1),
    "unit vectors": (lambda x, _: x / root(x), 1),
    "z-scores": (lambda x, _: apart(x) / np.sqrt(x.var() + 0.01), math.sqrt(COUNT)),
}


def recorded(program):
    recorder = FusingRecorder(precision_bits=16)
    x, y = (Array(recorder, recorder.input(name, (COUNT,), -1.0, 1.0)) for name in "xy")
    return recorder.range(number_of(program(x, y)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_quotients_have_the_range_of_the_inequality(name):
    program, most = PROGRAMS[name]
    low, high = recorded(program)
    assert -1.1 * most <= low < 0 < high <= 1.1 * most
    x, y = RNG.uniform(-1, 1, (2, COUNT))
    one = np.eye(COUNT)[0]
    pairs = [(x, y), (x, x), (x, -x), (np.ones(COUNT),) * 2, (one, one), (0 * x, y), (1e-6 * x, x)]
    values = [np.abs(program(*each)).max() for each in pairs]
    assert high >= max(values) >= 0.9 * most


def test_other_quotients_keep_their_ranges():
    """Ranges of other divisors, of sums with another summand, and of sums that are no squares."""
    for program in (
        lambda x, y: x @ y / (root(x) * root(x)),
        lambda x, y: (x @ y + 1) / (root(x) * root(y)),
        lambda x, y: x @ y / np.sqrt((x[:6] @ x[:6] + 0.1) * (y @ y + 0.1)),
        lambda x, y: x @ np.flip(y) / np.sqrt((x @ y) ** 2 + 1),
    ):
        x = np.r_[np.zeros(6), np.ones(6)]
        vectors = (x, np.full(COUNT, 0.3)), (np.ones(COUNT), np.flip(x))
        values = [abs(program(a, b)) for a in vectors[0] for b in vectors[1]]
        low, high = recorded(program)
        assert max(-low, high) >= max(values) > 1.2


def test_products_of_equal_elements_are_not_negative():
    assert recorded(lambda x, _: x[:4] @ x[:4])[0] == 0
    assert recorded(lambda x, _: (WEIGHTS * x * x).sum())[0] == 0
    assert recorded(lambda x, _: (-x * x).sum())[1] == 0
    assert recorded(lambda x, _: x[:4] @ x[1:5])[0] < 0
    assert recorded(lambda x, _: (np.linspace(-1, 1, COUNT) * x * x).sum())[0] < 0


@pytest.mark.parametrize("name", ["cosine", "of one root", "weighted", "rows"])
def test_encrypted_quotients(name):
    program, _ = PROGRAMS[name]
    plan = hm.compile(program, *[hm.ArraySpec(COUNT, range=(-1, 1))] * 2, security=None)
    run, x = plan.local(threads=1), RNG.uniform(-1, 1, COUNT)
    for pair in ((x, x), (x, -x), (np.ones(COUNT),) * 2, (0 * x, x), (0 * x, 0 * x), (0.05 * x, x[::-1])):
        np.testing.assert_allclose(run(*pair), program(*pair), atol=2.0**-15.25)
