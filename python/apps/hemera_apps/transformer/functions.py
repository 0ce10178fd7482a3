"""Polynomials of mapped values: one alone, and the inverse root on a wide range by two and a bootstrap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import hemera as hm
from hemera.errors import ParameterError
from hemera_apps.transformer.refresh import Refresh, declared

Array = NDArray[np.float64]

DEGREES = (7, 15, 31, 63, 127)
"""Degrees that take one more level each."""

_POINTS = 8
"""Points of a fit, for each coefficient; four times as many judge it."""


def in_the_clear(polynomial: hm.circuits.Polynomial, t: Array) -> Array:
    """The values of a polynomial in the Chebyshev basis, beyond its interval as well."""
    return np.asarray(np.polynomial.chebyshev.chebval(t, polynomial.coefficients).real)


@dataclass(frozen=True)
class MappedPolynomial:
    """A polynomial on (-1, 1) of factor * x + shift."""

    factor: float
    shift: float
    polynomial: hm.circuits.Polynomial
    spare: int = 0
    """Levels that are given up before, so that a polynomial of a lower degree ends where others do."""

    @classmethod
    def near(
        cls,
        f: Callable[[float], float],
        low: float,
        high: float,
        bits: float,
        degree: int | None = None,
        *,
        enough: float | None = None,
    ) -> MappedPolynomial:
        """A polynomial near f on (low, high).

        Args:
            f: the function.
            low, high: the interval.
            bits: the error is at most 2^-bits.
            degree: of the polynomial; None: the least.
            enough: bits with which a lower degree than the given one will do; None: none will.

        Raises:
            ParameterError: if there is none of that degree, or of 127.
        """
        middle, half = (low + high) / 2, (high - low) / 2
        lower = [each for each in DEGREES if degree is None or (enough is not None and each < degree)]
        tried = lower if degree is None else [*lower, degree]
        for each in tried:
            found = hm.approximate(lambda t: f(middle + half * t), (-1, 1), each)
            least = enough if enough is not None and degree is not None and each < degree else bits
            if found.error <= 2**-least:
                spare = 0 if degree is None else degree.bit_length() - each.bit_length()
                return cls(1 / half, -middle / half, found, spare)
        raise ParameterError(
            f"no polynomial of degree {tried[-1]} is within 2^-{bits:g} on ({low:g}, {high:g})"
        )

    @classmethod
    def near_root(cls, low: float, high: float, degree: int) -> tuple[MappedPolynomial, float, float]:
        """p(x) near 1 / sqrt(x) by its relative error on (low, high), and the ends of p(x) sqrt(x): a fit by
        least squares at Chebyshev's nodes, each relative to its value. High degrees reach from one end of a
        range to 10,000 times that, where a polynomial of the least error by magnitude is nothing like 1 /
        sqrt(x) at the other end."""
        middle, half = (low + high) / 2, (high - low) / 2
        count = _POINTS * (degree + 1)
        t = np.cos(np.pi * (np.arange(count) + 0.5) / count)
        root = np.sqrt(middle + half * t)
        found = hm.circuits.Polynomial(
            np.polynomial.chebyshev.chebfit(t, 1 / root, degree, w=root), basis="chebyshev"
        )
        t = np.cos(np.pi * np.arange(4 * count + 1) / (4 * count))  # with both ends
        product = in_the_clear(found, t) * np.sqrt(middle + half * t)
        return cls(1 / half, -middle / half, found), float(product.min()), float(product.max())

    @property
    def depth(self) -> int:
        """The depth, with the level of the factor and spare ones."""
        return 1 + self.polynomial.depth + self.spare

    def times(self, factor: float) -> MappedPolynomial:
        """The polynomial times a factor."""
        own = self.polynomial
        scaled = hm.circuits.Polynomial(own.coefficients * factor, basis="chebyshev")
        return MappedPolynomial(self.factor, self.shift, scaled, self.spare)

    def __call__(self, x: hm.Ciphertext, _: Refresh | None = None) -> hm.Ciphertext:
        """The values for a ciphertext. Bootstraps are not needed: see `RefinedRoot`."""
        low = x.at_level(x.level - self.spare) if self.spare else x
        return self.polynomial(declared(low * self.factor + self.shift))

    def in_the_clear(self, x: Array) -> Array:
        """The values for numbers."""
        return in_the_clear(self.polynomial, x * self.factor + self.shift)


class RefinedRoot:
    """sqrt(low / x) for x from `low` to `high`, a wide range.

    A polynomial of a low degree is a guess, g. Then b = g^2 x / low has a narrow range whatever x is, and
    g / sqrt(b) is the root. g and b share a bootstrap, before which b is computed: a bootstrap adds an error
    that is small relative to the largest x, and not to the least. (Newton's iteration is this with the line
    (3 - b) / 2 in place of 1 / sqrt(b).)

    Args:
        low, high: the range.
        bits: of the root.
        depth: the levels above the lowest one, at most those that it takes before the bootstrap.

    Raises:
        ParameterError: if no polynomial is near enough, or there are too few levels for a guess.
    """

    def __init__(self, low: float, high: float, bits: float, depth: int) -> None:
        self.depth = depth
        degree = 2 ** (depth - 3) - 1  # the factor before, and two products behind
        if degree < 3:
            raise ParameterError(f"{depth} levels are too few for a guess of an inverse root, which takes 5")
        guess, least, most = MappedPolynomial.near_root(low, high, degree)
        if least <= 0:
            raise ParameterError(
                f"no polynomial of degree {degree} is a guess of an inverse root on ({low:g}, {high:g})"
            )
        self._per_low = 1 / low
        self._guess = guess.times(low**0.5 / most)
        # For twice the values: the bootstrap leaves these.
        self._correction = MappedPolynomial.near(
            lambda c: (2 * c) ** -0.5, 2 * (least / most) ** 2, 2, bits + 1
        )

    def __call__(self, x: hm.Ciphertext, refresh: Refresh) -> hm.Ciphertext:
        """The root of a batch of one."""
        guess = self._guess(x)
        product = (x * self._per_low).at_level(guess.level) * guess
        step = guess.level - 1
        product = product.at_level(step) * guess.at_level(step)
        guess, near_one = refresh.pair(
            guess.at_level(refresh.base), product.at_level(refresh.base), refresh.top
        )
        correction = self._correction(declared(near_one))
        return (guess.at_level(correction.level) * correction).rescale()

    def in_the_clear(self, x: Array) -> Array:
        """The root of numbers, with the polynomials."""
        guess = self._guess.in_the_clear(x)
        return 2 * guess * self._correction.in_the_clear(2 * guess**2 * x * self._per_low)
