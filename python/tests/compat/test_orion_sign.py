"""Compositions near the sign, held to Chebyshev's alternation theorem and to their own intervals."""

import numpy as np
import pytest
from numpy.polynomial import chebyshev

import hemera as hm
from hemera.compat.orion.sign import nearest_odd, step_composition

from ..refusals import raises

GRID = 20_001


def test_degree_1_has_a_formula():
    """c x is nearest to 1 on [a, 1] for c = 2 / (1 + a), with the error (1 - a) / (1 + a)."""
    coefficients, error = nearest_odd(1, 0.25)
    np.testing.assert_allclose(coefficients, [0, 1.6], atol=1e-12)
    assert error == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("degree", "low"), [(3, 0.5), (7, 2.0**-5), (15, 2.0**-6), (15, 2.0**-12), (27, 0.6)]
)
def test_errors_alternate(degree, low):
    """An odd polynomial with (degree + 1) / 2 coefficients is the nearest one if its error has one extremum
    more than that, of alternating signs."""
    coefficients, error = nearest_odd(degree, low)
    assert coefficients.shape == (degree + 1,)
    assert not coefficients[::2].any()
    x = np.linspace(low, 1, GRID)
    errors = chebyshev.chebval(x, coefficients) - 1
    assert np.abs(errors).max() == pytest.approx(error, rel=1e-3, abs=1e-12)
    reached = np.sign(errors[np.abs(errors) > 0.99 * error])
    assert 1 + np.count_nonzero(np.diff(reached)) == (degree + 1) // 2 + 1


def test_an_even_degree_is_the_odd_one_below():
    even, of_even = nearest_odd(8, 0.1)
    odd, of_odd = nearest_odd(7, 0.1)
    np.testing.assert_allclose(even, [*odd, 0], atol=1e-9)
    assert of_even == pytest.approx(of_odd)
    for degrees in ([2, 8], [4, 2, 8], [2, 2]):
        odd_ones = step_composition([degree - 1 for degree in degrees], 2, 8)
        for found, expected in zip(step_composition(degrees, 2, 8), odd_ones, strict=True):
            np.testing.assert_allclose(found, [*expected, 0], atol=1e-9)


def composed(polynomials, x):
    for each in polynomials:
        x = chebyshev.chebval(x, each)
    return x


@pytest.mark.parametrize(
    ("degrees", "gap_bits", "bits"), [([15, 15, 27], 6, 30), ([7, 7, 13], 5, 20), ([3, 3], 2, 4)]
)
def test_compositions_are_steps(degrees, gap_bits, bits):
    """`bits` are those of Lattigo's compositions of the same degrees, or fewer."""
    found = step_composition(degrees, gap_bits, 12)
    assert [len(each) - 1 for each in found] == degrees
    x = np.linspace(2.0**-gap_bits, 1, GRID)
    assert np.abs(composed(found, x) - 1).max() < 2.0**-bits
    assert np.abs(composed(found, -x)).max() < 2.0**-bits


def test_values_between_stay_small():
    """Also where the last degree is far higher than its interval takes: between the gap's ends, and for noise
    of 2^-12 beyond them, no value is much beyond 0 and 1, and no polynomial but the last leaves [-1, 1]."""
    found = step_composition([15, 15, 27], 6, 12)
    x = np.linspace(-1 - 2.0**-12, 1 + 2.0**-12, GRID)
    whole = composed(found, x)
    assert -0.01 < whole.min() < whole.max() < 1.01
    for each in found[:-1]:
        assert np.abs(chebyshev.chebval(np.linspace(-1, 1, GRID), each)).max() <= 1
        assert np.abs(each).max() < 2


def test_compositions_that_are_refused():
    raises(hm.errors.ParameterError, "at least 1", step_composition, [], 6, 12)
    raises(hm.errors.ParameterError, "at least 1", step_composition, [7, 0], 6, 12)
    raises(hm.errors.ParameterError, "higher degrees or a wider gap", step_composition, [1, 15], 12, 8)
