"""Softmax by polynomials: exponentials divided by their sums, or normalized squares of small exponentials.

Exponentials of wide scores have sums that differ too widely between tokens for one inverse: those of s / 2^k
do not. They are squared k times, and divided by their sums at each of these times:

    y_0 = exp(s / 2^k),   y_j = (y_(j-1) / sqrt(sum of y_(j-1)^2))^2,   y_k = softmax(s).

The terms of each y_j are from 0 to 1 and have the sum 1, so that the sums of squares of n tokens are from
1 / n to 1 for whatever scores. The first range is about the 2^(k-1)th root of that of the sums of exp(s).
Only the last inverse root has to be exact, as those before it scale all terms of a token alike.

(The algorithm is that of W. Cho, G. Hanrot, T. Kim, M. Park, D. Stehle, 2024/1953. Here a sum is that of the
squares, and divides the terms before they are squared: a term is bootstrapped once for each square.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import hemera as hm
from hemera.errors import ParameterError
from hemera_apps.transformer.clear import Ranges
from hemera_apps.transformer.functions import MappedPolynomial, in_the_clear

Array = NDArray[np.float64]

_MOST = 8
"""Squarings."""
_HALF_EXPONENTIAL = 15
"""The degree for the root of an exponential."""
_EXPONENTIAL = 31
"""The degree for a small exponential, which leaves the levels of its square and their sum."""
_FIRST_ROOT, _ROOT = 127, 63
"""The degrees of inverse roots behind a bootstrap of the squares, and behind one of the terms, whose squares
take a level."""
_NOISE, _LEAST_SLACK, _SLACK = 2.0**-18, 2.0**-10, 2.0**-5
"""The error of bootstrapped sums, and the least and the largest one relative to a sum that has a place."""
_LEAST_RATIO = 2.0**-30
"""The least sum, relative to the largest one, that one inverse is for."""


@dataclass(frozen=True)
class DividedExponentials:
    """The softmax of scores that are not wide.

    - `exponential` of t = (score - `middle`) / `half`: the root of exp(score) over the largest sum of
      exponentials. Its square has half the range in its exponent, so a small degree is near. Sums of squares
      are at most 1.
    - `inverse` of twice such a sum, s: 2 / s.
    """

    half: float
    middle: float
    exponential: hm.circuits.Polynomial
    inverse: MappedPolynomial

    ROOT_DEPTH = _HALF_EXPONENTIAL.bit_length()

    @classmethod
    def of(cls, ranges: Ranges, bits: float, degree: int | None, enough: float | None) -> DividedExponentials:
        """On the ranges of a block.

        Args:
            ranges: of the block.
            bits: of the inverse, relative to its largest value.
            degree: of the inverse; None: the least.
            enough: bits with which a lower degree will do; None: none will.

        Raises:
            ParameterError: if no inverse of this degree is near enough.
        """
        low, high = ranges.sums
        exponential = hm.approximate(
            lambda t: math.exp(t * ranges.score / 2) / math.sqrt(high), (-1, 1), _HALF_EXPONENTIAL
        )
        try:
            if low < _LEAST_RATIO * high:
                raise ParameterError("there is no inverse on so wide a range")
            inverse = MappedPolynomial.near(lambda s: 2 / s, 2 * low / high, 2, bits, degree, enough=enough)
        except ParameterError as error:
            raise ParameterError(f"the softmax's sums from {low:g} to {high:g}: {error}") from error
        return cls(ranges.score, 0.0, exponential, inverse)

    @property
    def error(self) -> float:
        """The error of the exponential, relative to its largest value."""
        values = self.exponential.coefficients
        return self.exponential.error / abs(float(np.polynomial.chebyshev.chebval(1, values).real))

    def in_the_clear(self, scores: Array, weights: Array) -> Array:
        """See `NormalizedSquares.in_the_clear`."""
        terms = in_the_clear(self.exponential, scores / self.half) ** 2 * weights
        return terms * self.inverse.in_the_clear(2 * terms.sum(-1, keepdims=True))


@dataclass(frozen=True)
class NormalizedSquares:
    """The polynomials. Bootstraps between them double the values, as `Refresh.twice` does.

    - `exponential` of t = (score - `middle`) / `half`: y_0, times a factor by which sums of squares are at
      most 1.
    - `roots`: of twice the sum of y_0^2, and then of the sums of squares of doubled terms. The terms times
      their root have squares whose sum is at most 1, and 1/2 behind the last one.
    """

    half: float
    middle: float
    exponential: hm.circuits.Polynomial
    roots: tuple[MappedPolynomial, ...]

    @classmethod
    def of(cls, ranges: Ranges, tokens: int, bits: float) -> NormalizedSquares:
        """The fewest squarings by which the softmax of each token is within 2^-bits of its largest term.

        Raises:
            ParameterError: if there is none.
        """
        for squarings in range(2, _MOST + 1):
            found = cls._with(squarings, ranges, tokens, bits)
            if found is not None:
                return found
        low, high = ranges.sums
        raise ParameterError(
            f"no softmax of {_MOST} squarings is within 2^-{bits:g} for scores up to {ranges.score:g} and "
            f"sums of exponentials from {low:g} to {high:g}"
        )

    @classmethod
    def _with(cls, squarings: int, ranges: Ranges, tokens: int, bits: float) -> NormalizedSquares | None:
        low, high = ranges.sums
        # No exponential is larger than the largest sum, and the largest of a token not less than its mean.
        top = min(ranges.score, max(math.log(high), 0.0))
        half, middle = (top + ranges.score) / 2, (top - ranges.score) / 2
        parts, of_terms = 2**squarings, 2 ** (squarings - 1)
        # Between the terms' largest one and the mean of powers.
        least, most = low ** (1 / of_terms), tokens * (high / tokens) ** (1 / of_terms)
        slack = max(_LEAST_SLACK, _NOISE * most / (2 * least))
        if slack > _SLACK:
            return None
        exponential = hm.approximate(
            lambda t: math.exp((middle + half * t) / parts) / math.sqrt(most), (-1, 1), _EXPONENTIAL
        )
        largest_term = (low / tokens) ** (1 / parts) / math.sqrt(most)
        if exponential.error * parts > largest_term * 2.0 ** -(bits + 1):
            return None
        roots = []
        sums, degree, unit = (2 * least / most, 2.0), _FIRST_ROOT, math.sqrt(2)
        for number in range(squarings):
            root, low_end, high_end = MappedPolynomial.near_root(*sums, degree)
            if low_end <= 0:
                return None
            if number < squarings - 1:
                largest = high_end * (1 + slack)
                roots.append(root.times(unit / largest))
                least_sum = (low_end / largest * (1 - slack)) ** 2
                sums, degree, unit, slack = (4 * least_sum**2 / tokens, 4.0), _ROOT, 1.0, _LEAST_SLACK
            else:
                if max(1 - low_end, high_end - 1) > 2.0 ** -(bits + 2):
                    return None
                roots.append(root.times(math.sqrt(0.5)))
        return cls(half, middle, exponential, tuple(roots))

    def in_the_clear(self, scores: Array, weights: Array) -> Array:
        """The softmax over the last axis, with the polynomials.

        Args:
            scores: of shape (..., tokens).
            weights: of the tokens' exponentials, see `hemera_apps.transformer.clear.token_weights`.
        """
        terms = in_the_clear(self.exponential, (scores - self.middle) / self.half) * np.sqrt(weights)
        squares = 2 * (terms**2).sum(-1, keepdims=True)
        for root in self.roots:
            terms = 2 * (root.in_the_clear(squares) * terms) ** 2
            squares = (terms**2).sum(-1, keepdims=True)
        return terms
