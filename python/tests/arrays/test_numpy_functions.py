"""Functions of circuits on arrays, arrays in loops, and the functions that NumPy's are made of. Others are in
test_random_programs.py."""

import math

import numpy as np
import pytest

import hemera as hm
from hemera import circuits
from hemera.arrays.array import Array
from hemera.arrays.folding import folded
from hemera.arrays.operations import Apply
from hemera.errors import ParameterError, RangeError

from .programs import Given, check, recorded


def uniform(shape, seed):
    return np.random.default_rng(seed).uniform(-2, 2, shape)


def test_functions_of_circuits():
    """With plain numbers in place of encrypted ones, and shapes that broadcast."""
    given = Given(uniform((2, 3), 1))
    wide = np.array([[[1.0]], [[-0.5]]])
    tanh, larger = circuits.tanh((-2, 2), bits=14), circuits.maximum(bits=10, largest=2)
    check(lambda x: tanh(x), given, tolerance=2**-10)
    check(lambda x: larger(x, x[::-1]), given, tolerance=2**-10)
    check(lambda x: larger(x, wide), given, tolerance=2**-10)
    check(lambda x: x.apply(tanh) if isinstance(x, Array) else np.tanh(x), given, tolerance=2**-10)
    apart = Given(np.array([[0.5, -1.0, 1.5], [0.75, 0.0, -1.75]]))
    compare = circuits.compare(gap=0.2, bits=12, largest=2)
    check(lambda x: compare(x, 0.25) if isinstance(x, Array) else x > 0.25, apart, tolerance=2**-10)


def test_gelu():
    """x P(X <= x) of the normal distribution (D. Hendrycks, K. Gimpel, arXiv 1606.08415)."""
    given = Given(uniform((4,), 2))
    error_function = np.vectorize(math.erf)
    check(
        lambda x: x.gelu() if isinstance(x, Array) else x * (1 + error_function(x / np.sqrt(2))) / 2,
        given,
        tolerance=2**-12,
    )


def test_arrays_are_iterated():
    check(lambda x: [row.sum() for row in x], Given(uniform((3, 2), 3)))
    check(lambda x: sum(x), Given(uniform((3, 2), 3)))


def test_samples_let_correlations_be():
    """Without them a variance can be 0."""
    given = Given(np.array([[0.5, -1.0, 1.5, 0.1], [0.75, 0.0, -1.75, 1.0]]))
    check(lambda x: np.corrcoef(x), given, tolerance=2**-9, samples=True)
    check(lambda x: (x - x.mean()) / x.std(), given, tolerance=2**-9, samples=True)
    with pytest.raises((ParameterError, RangeError)):
        recorded(np.corrcoef, [given])


def functions_of(program, given):
    """The first words of the names of functions that a program takes."""
    recorder, _ = recorded(program, [given])
    operations = [node.operation for node in folded(recorder.program).nodes]
    return [each.function.name.split()[0] for each in operations if isinstance(each, Apply)]


def test_functions_are_no_deeper_than_they_have_to_be():
    real = Given(np.zeros(3))
    assert functions_of(lambda x: np.clip(x, -1, 1), real) == ["clip"]
    assert functions_of(lambda x: np.clip(x, -3, 1), real) == ["relu"]
    assert functions_of(lambda x: np.clip(x, 1, 3), real) == ["relu"]
    assert functions_of(lambda x: np.clip(x, -2, 2), real) == []
    assert functions_of(lambda x: abs(x + 3), real) == []
    assert functions_of(lambda x: np.max(x), real) == ["maximum"] * 2
    for most, name in ((1, []), (3, ["polynomial"]), (9, ["polynomial"]), (10, ["sign"])):
        counted = Given(np.zeros(3), 0, most, 1)
        assert functions_of(lambda n: n > 0, counted) == name
        assert functions_of(lambda n: n == 1, counted) == name
        assert functions_of(lambda n, most=most: n > most, counted) == []
        assert functions_of(lambda n: n.max(), counted) == (["polynomial"] if 0 < most < 5 else ["sign"])


@pytest.mark.parametrize(("low", "high"), [("x", 6.0), (2.0, "x"), ("x", -1.0), (None, "x"), ("x", "x")])
def test_clip_of_plain_numbers_by_encrypted_ends(low, high):
    """Where they are the wrong way round NumPy takes the upper one."""
    numbers, given = np.arange(10.0), np.array([0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 0, 1])

    def clipped(x):
        return np.clip(numbers, *(x if isinstance(end, str) else end for end in (low, high)))

    plan = hm.compile(clipped, hm.ArraySpec((10,), range=(0, 4)))
    np.testing.assert_allclose(plan.evaluate_clear(given), clipped(given), atol=2.0**-10)
