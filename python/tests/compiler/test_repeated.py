"""Functions that do something else when they are called again are refused: by NumPy, which calls them so."""

import itertools
import random

import numpy as np
import pytest

import hemera as hm
from hemera.errors import ParameterError

from .table_cases import patients, spec_of

RNG = np.random.default_rng(5)
SPEC = hm.ArraySpec((6,), (0, 1))
WHOLE = hm.ArraySpec((6,), (0, 9), step=1)
WEIGHTS = np.ones(6)
NUMBERS = itertools.count(1)
KEPT = []


def changing_weights(x):
    WEIGHTS[0] += 1
    return x * WEIGHTS


def keeping(x):
    KEPT.append(x)
    return KEPT[0] + 1


CHANGING = [
    lambda x: x + RNG.normal(size=6),
    lambda x: x * np.random.rand(),
    lambda x: {"sum": x.sum(), "some": (x * RNG.integers(0, 2**40, 6)).sum()},
    lambda x: (x[RNG.permutation(6)] * np.arange(6)).sum() * random.random(),
    lambda x: x * next(NUMBERS),
    lambda x: x.sigmoid() * next(NUMBERS),  # plain arrays have no such method
    lambda x: x[: 1 + next(NUMBERS) % 2],
    changing_weights,
]


@pytest.mark.parametrize("number", range(len(CHANGING)))
def test_functions_that_change_are_refused(number):
    with pytest.raises(ParameterError, match=r"gives other results when it .*: draw random numbers, count"):
        hm.compile(CHANGING[number], SPEC, security=None)


def test_functions_that_change_are_refused_in_exact_programs_and_on_tables():
    with pytest.raises(ParameterError, match=r"other results when it is called again: \d+ for \d+ in result"):
        hm.compile(lambda x: x * next(NUMBERS), WHOLE, scheme="bfv")
    with pytest.raises(ParameterError, match="other results when it is called again"):
        hm.compile(lambda t: t.age.sum() * next(NUMBERS), spec_of(patients()), security=None)
    with pytest.raises(TypeError, match="returns an array of another call as 'output'; let it keep none"):
        hm.compile(keeping, SPEC, security=None)


def test_integers_that_wrap_around_in_numpy_are_refused():
    def function(x):
        return x.astype(np.uint8) + np.uint8(250)

    assert function(np.arange(9))[6] == 0
    with pytest.raises(
        ParameterError, match=r"plain arrays: \d+ for 25\d in .*integers of fewer bits, which wrap"
    ):
        hm.compile(function, hm.ArraySpec((6,), (6, 9), dtype=int), security=None)
    plan = hm.compile(
        lambda x: np.exp(x.astype(np.float16)), SPEC, security=None
    )  # of which float16 has few bits
    np.testing.assert_allclose(plan.local(threads=1)(np.ones(6)), np.full(6, np.e), atol=2.0**-10)


def test_functions_whose_choice_is_another_one_for_plain_arrays_are_refused():
    with pytest.raises(ParameterError, match=r"called with plain arrays: .* in result 'output' \(test"):
        hm.compile(lambda x: x * (2 if isinstance(x, np.ndarray) else 3), SPEC, security=None)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * np.random.default_rng(3).normal(size=6),  # the same at each call
        lambda x: ((x + 1e6) ** 2).mean() - (x + 1e6).mean() ** 2,  # rounded differently
    ],
)
def test_functions_that_stay_are_taken(function):
    x = RNG.uniform(0, 1, 6)
    plan = hm.compile(function, SPEC, security=None, precision_bits=8)
    np.testing.assert_allclose(plan.local(threads=1)(x), function(x), atol=2.0**-8)
