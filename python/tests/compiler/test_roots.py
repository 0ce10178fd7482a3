"""Square roots of values that reach 0: deviations, norms and distances by ranges alone, with the bits that
were asked for, at 0 and at the ends of ranges, too. The judge is NumPy in float64 on encrypted inputs."""

import math

import numpy as np
import pytest

import hemera as hm

ROOM = 0.75
RNG = np.random.default_rng(11)
VALUES = RNG.uniform(0, 100, 32)


def distance(x, y):
    return np.sqrt(((x - y) ** 2).mean())


CASES = {
    "deviation": (
        lambda x: x.std(),
        [(0, 100)],
        [
            (VALUES,),
            (np.full(32, 50.0),),
            (np.repeat([0.0, 100.0], 16),),
            (np.r_[VALUES[:1] + np.zeros(31), 7],),
        ],
    ),
    "norm": (
        np.linalg.norm,
        [(-1, 1)],
        [(np.ones(32),), (np.zeros(32),), (np.r_[1e-4, np.zeros(31)],), (VALUES / 50 - 1,)],
    ),
    "distance": (
        distance,
        [(0, 10), (2, 13)],
        [(VALUES / 10, VALUES / 10 + 2), (np.full(32, 5.0),) * 2, (np.zeros(32), np.full(32, 13.0))],
    ),
    "norm of functions": (  # whose squares are polynomials, and below 0 by errors
        lambda x: np.linalg.norm(np.tanh(x)),
        [(-2, 2)],
        [(np.zeros(32),), (np.full(32, 1e-4),), (VALUES / 25 - 2,)],
    ),
    "products of squares": (
        lambda x: np.sqrt((np.tanh(x) ** 2 * x**2).sum()),
        [(-2, 2)],
        [(np.zeros(32),), (np.full(32, 1e-2),), (VALUES / 25 - 2,)],
    ),
    "magnitudes of a spectrum": (
        lambda x: np.abs(np.fft.rfft(x)),
        [(-1, 1)],
        [
            (VALUES / 50 - 1,),
            (np.zeros(32),),
            (np.ones(32),),
            (1e-4 * np.eye(32)[3],),
            (np.cos(np.arange(32)),),
        ],
    ),
    "hypotenuse": (
        np.hypot,
        [(-10, 10)] * 2,
        [(VALUES / 5 - 10, VALUES[::-1] / 10), (np.zeros(32),) * 2, (np.full(32, 10.0),) * 2],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_roots_from_0_have_the_bits_that_are_asked_for(name):
    function, ends, rows = CASES[name]
    plan = hm.compile(function, *(hm.ArraySpec((32,), range=each) for each in ends), security=None)
    run = plan.local(threads=1)
    drawn = zip(*(RNG.uniform(*each, (8, 32)) for each in ends), strict=True)
    size = float(np.median([np.abs(function(*each)).max() for each in drawn]))
    for each in rows:
        error = float(np.abs(run(*each) - function(*each)).max())
        assert -math.log2(error / size) >= 16 - ROOM, each
    assert plan.expected_bits() >= 16 - ROOM


@pytest.mark.parametrize(("exponent", "high"), [(1 / 2.2, 1.0), (1 / 2.4, 255.0), (0.4, 1.0)])
def test_powers_of_values_that_reach_0(exponent, high):
    """Powers of their roots have the bits that were asked for, at 0 and next to it."""
    x = high * np.concatenate([[0.0], np.geomspace(1e-13, 1, 63)])
    spec = hm.ArraySpec(x.shape, range=(0, high))
    plan = hm.compile(lambda x: x**exponent, spec, security=None)
    found, wanted = plan.local(threads=1)(x), x**exponent
    assert np.abs(found - wanted).max() <= 2.0 ** (0.5 - 16) * wanted.max()
    with pytest.raises(hm.errors.PrecisionError, match="no polynomial of degree 1023"):
        hm.compile(lambda x: x**0.38, spec, security=None)
