"""Polynomials near the sigmoid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.polynomial import Chebyshev, Legendre, Polynomial
from numpy.typing import ArrayLike, NDArray

from hemera.circuits import approximate
from hemera.errors import ParameterError

Floats = NDArray[np.float64]
Fit = Literal["least-squares", "chebyshev"]
MOST = 15
"""The highest degree. Polynomials of powers lose digits above it."""


def sigmoid(x: ArrayLike) -> Floats:
    """1 / (1 + exp(-x)), for any x without overflow."""
    half = np.tanh(np.asarray(x, dtype=np.float64) / 2)
    return np.asarray(0.5 + half / 2, dtype=np.float64)


@dataclass(frozen=True)
class Sigmoid:
    """A polynomial p of 1/2 and odd powers, with p(x / interval) near 1 / (1 + exp(-x)) for |x| <= interval.

    Args:
        degree: odd, from 1 to 15.
        interval: the largest |x|.
        fit: "least-squares": least mean square error over the interval (K. Han et al., AAAI 2019, section
            3.1); "chebyshev": least maximum error (Remez' exchange).

    Raises:
        ParameterError: if the degree, the interval or the fit is another one.
    """

    degree: int = 3
    interval: float = 8.0
    fit: Fit = "least-squares"

    def __post_init__(self) -> None:
        if self.degree not in range(1, MOST + 1, 2):
            raise ParameterError(f"a sigmoid of degree {self.degree}; give an odd degree from 1 to {MOST}")
        if not 0 < self.interval < math.inf:
            raise ParameterError(f"a sigmoid on an interval up to {self.interval}; give a positive number")
        if self.fit not in ("least-squares", "chebyshev"):
            raise ParameterError(f"fit must be 'least-squares' or 'chebyshev', not {self.fit!r}")

    @property
    def depth(self) -> int:
        """The number of levels that the polynomial takes."""
        return self.degree.bit_length()

    @cached_property
    def coefficients(self) -> Floats:
        """The coefficients of p, the lowest power first."""
        if self.fit == "chebyshev":
            nearest = approximate(lambda x: float(sigmoid(self.interval * x)), (-1, 1), self.degree)
            series: Polynomial = Chebyshev(nearest.coefficients.real).convert(kind=Polynomial)
        else:
            # The projection on the Legendre polynomials, by Gauss' rule.
            points, weights = np.polynomial.legendre.leggauss(200)
            values = weights * sigmoid(self.interval * points)
            orders = np.arange(self.degree + 1)
            rows = np.polynomial.legendre.legvander(points, self.degree)
            series = Legendre((2 * orders + 1) / 2 * (values @ rows)).convert(kind=Polynomial)
        found = np.zeros(self.degree + 1)
        found[: len(series.coef)] = series.coef
        # The function is 1/2 plus an odd one; all other coefficients are rounding.
        found[2::2] = 0
        found[0] = 0.5
        found.flags.writeable = False
        return found

    def __call__(self, x: ArrayLike) -> Floats:
        """The polynomial at x, in the clear."""
        scaled = np.asarray(x, dtype=np.float64) / self.interval
        return np.asarray(np.polynomial.polynomial.polyval(scaled, self.coefficients), dtype=np.float64)

    @property
    def error(self) -> float:
        """The largest difference from the sigmoid in the interval, at 2001 points."""
        points = np.linspace(-self.interval, self.interval, 2001)
        return float(np.abs(self(points) - sigmoid(points)).max())
