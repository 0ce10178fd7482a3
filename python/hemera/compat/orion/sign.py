"""Compositions of polynomials near the sign of a number.

E. Lee, J.-W. Lee, J.-S. No, Y.-S. Kim, 2020/834: each polynomial is the odd one of its degree with the least
largest error on the interval to which those before it bring the values. Remez' exchange finds it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from hemera.errors import ParameterError

Values = NDArray[np.float64]

_POINTS = 400
"""Errors are looked for at this many points for each coefficient."""
_EXCHANGES = 200
_EVEN = 1e-6
"""The relative distance of the largest and the least extremum that ends the exchange."""
_LEAST_ERROR_BITS = 30
"""About those of the least error. Orion's coefficients have 24 bits."""


def step_composition(degrees: Sequence[int], gap_bits: int, error_bits: int) -> list[Values]:
    """Polynomials whose composition is near 0 for -1 <= x <= -gap, and near 1 for gap <= x <= 1.

    Each maps [-1, 1] into itself, but the last one, which maps it to about [0, 1].

    Args:
        degrees: of the polynomials, the first one first.
        gap_bits: the gap is 2^-gap_bits.
        error_bits: the interval of each polynomial but the first is 2^-error_bits wider at both ends, for the
            noise of its input.

    Returns:
        The Chebyshev coefficients of each, the lowest first, of shape (degree + 1,).

    Raises:
        ParameterError: if there is no degree, a degree is below 1, or the exchange does not end.
    """
    if not degrees or min(degrees) < 1:
        raise ParameterError(f"a composition needs degrees of at least 1, not {list(degrees)}")
    noise = 2.0**-error_bits
    low = 2.0**-gap_bits
    found = []
    for degree in degrees:
        coefficients, error = nearest_odd(degree, min(low, _narrowest(degree)))
        largest = 1 + error + noise
        low = (1 - error - noise) / largest
        found.append(coefficients / largest)
        if low <= 0:
            raise ParameterError(
                f"degree {degree} does not bring values beyond the gap further from 0 than their noise of "
                f"2^-{error_bits}: take higher degrees or a wider gap"
            )
    found[-1] = found[-1] * largest / 2
    found[-1][0] += 0.5
    return found


def nearest_odd(degree: int, low: float) -> tuple[Values, float]:
    """The odd polynomial p that is nearest to 1 on [low, 1], and so to the sign on both sides.

    p(x) = x q(x^2), where q is a series of Chebyshev polynomials on [low^2, 1]: they stay well conditioned
    where the interval is narrow.

    Args:
        degree: of p, at least 1. An even one gives the polynomial of the odd degree below it.
        low: above 0 and below 1.

    Returns:
        The Chebyshev coefficients of p on [-1, 1], of shape (degree + 1,), and the largest |p - 1|.

    Raises:
        ParameterError: if the exchange does not end.
    """
    count = (degree + 1) // 2
    points = (1 + low) / 2 - (1 - low) / 2 * np.cos(np.linspace(0, np.pi, _POINTS * (count + 1)))
    terms = _terms(points, count, low)
    chosen = np.linspace(0, len(points) - 1, count + 1).round().astype(np.intp)
    signs = (-1.0) ** np.arange(count + 1)
    for _ in range(_EXCHANGES):
        system = np.column_stack([terms[chosen], signs])
        weights = np.linalg.solve(system, np.ones(count + 1))[:count]
        errors = terms @ weights - 1
        chosen = _alternating(errors, count + 1)
        extrema = np.abs(errors[chosen])
        if extrema.max() - extrema.min() <= _EVEN * extrema.max() + 2.0**-48:
            nodes = chebyshev.chebpts1(degree + 1)
            values = _terms(nodes, count, low) @ weights
            system = chebyshev.chebvander(nodes, degree)
            coefficients = np.asarray(np.linalg.solve(system, values), dtype=np.float64)
            coefficients[::2] = 0
            return coefficients, float(np.abs(errors).max())
    raise ParameterError(f"no polynomial of degree {degree} was found near the sign beyond {low:.3g}")


def _narrowest(degree: int) -> float:
    """The lower end of the interval on which a degree leaves an error of about 2^-30, as ((1 - low) / (1 +
    low))^m for m = (degree - 1) / 2. On a narrower one the polynomial would be huge between the interval and
    0, for an error that nobody sees."""
    if degree < 3:
        return 1.0
    ratio: float = 2.0 ** (-_LEAST_ERROR_BITS / ((degree - 1) // 2))
    return (1 - ratio) / (1 + ratio)


def _terms(x: Values, count: int, low: float) -> Values:
    """x T_k(y) for k < count, of shape (points, count), where y in [-1, 1] is x^2 from [low^2, 1]."""
    y = (2 * x**2 - 1 - low**2) / (1 - low**2)
    found: Values = x[:, None] * chebyshev.chebvander(y, count - 1)
    return found


def _alternating(errors: Values, count: int) -> NDArray[np.intp]:
    """The places of `count` extrema of alternating signs, the largest one among them."""
    starts = np.flatnonzero(np.diff(np.sign(errors))) + 1
    runs = np.split(np.arange(len(errors)), starts)
    peaks = [run[np.abs(errors[run]).argmax()] for run in runs]
    while len(peaks) > count:
        # If there are too many, the smaller end goes: what is left still alternates.
        ends = np.abs(errors[[peaks[0], peaks[-1]]])
        del peaks[0 if ends[0] < ends[1] else -1]
    if len(peaks) < count:
        raise ParameterError(f"errors have {len(peaks)} extrema in place of {count}")
    return np.asarray(peaks, dtype=np.intp)
