"""Polynomials in place of a block's functions, and the levels of its steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import hemera as hm
from hemera.errors import ParameterError
from hemera_apps.transformer.clear import EPSILON, Ranges

__all__ = ["Approximations", "Degrees", "Levels", "MappedPolynomial"]

_DEGREES = (7, 15, 31, 63, 127)
"""Of one more level each."""


@dataclass(frozen=True)
class Degrees:
    """Of polynomials whose degrees do not depend on ranges, so that blocks have the same levels and keys.
    2^k - 1 each, up to 127."""

    inverse: int = 127
    """Of the softmax's sums."""
    inverse_roots: tuple[int, int] = (31, 127)
    """Of the layer norms."""
    tanh: int = 127
    """Of a pooler, see `hemera_apps.transformer.network`."""


@dataclass(frozen=True)
class MappedPolynomial:
    """A polynomial on (-1, 1) of factor * x + shift."""

    factor: float
    shift: float
    polynomial: hm.circuits.Polynomial

    @classmethod
    def near(
        cls, f: Callable[[float], float], low: float, high: float, bits: float, degree: int | None = None
    ) -> MappedPolynomial:
        """Of a degree, or None: of the least depth, with an error of at most 2^-bits from f on (low, high).
        ParameterError if there is none of that degree, or of 127."""
        middle, half = (low + high) / 2, (high - low) / 2
        tried = _DEGREES if degree is None else (degree,)
        for each in tried:
            found = hm.approximate(lambda t: f(middle + half * t), (-1, 1), each)
            if found.error <= 2**-bits:
                return cls(1 / half, -middle / half, found)
        raise ParameterError(
            f"no polynomial of degree {tried[-1]} is within 2^-{bits:g} on ({low:g}, {high:g})"
        )

    @property
    def depth(self) -> int:
        """With the level of the factor."""
        return 1 + self.polynomial.depth

    def __call__(self, x: hm.Ciphertext) -> hm.Ciphertext:
        """The values for a ciphertext."""
        return self.polynomial(declared(x * self.factor + self.shift))


def declared(x: hm.Ciphertext) -> hm.Ciphertext:
    """The same values, of which calibration says that they lie from -1 to 1."""
    return x.evaluator.declare(x, 1)


class Approximations:
    """The functions of a block on the ranges of its values.

    - `exponential` of t = score / `ranges.score`: the root of exp(score) / `ranges.sums[1]`. Its square has
      half the range in its exponent, so a small degree is near. Sums of squares are at most 1.
    - `inverse` of twice such a sum, s: 2 / s.
    - `gelu` of t = 2 (x / `ranges.hidden`)^2 - 1: the even part of GELU, x erf(x / sqrt 2) / 2. The odd part
      is x / 2.
    - `inverse_roots` of the sums of squares of the features, for each layer norm: 1 / sqrt(variance +
      epsilon), divided by its largest value, which is in `largest_roots`. In the second one the features are
      2 / `ranges.centred` times those of the block.

    Args:
        ranges: of the values.
        features: the number of features.
        bits: of the inverse and of the inverse roots, relative to their largest values.
        degrees: of these; None: the least that are within these bits.

    Raises:
        ParameterError: if no polynomial of these degrees is near enough.
    """

    def __init__(
        self, ranges: Ranges, features: int, *, bits: float = 15, degrees: Degrees | None = None
    ) -> None:
        self.ranges = ranges
        most = ranges.sums[1]
        self.exponential = hm.approximate(
            lambda t: math.exp(t * ranges.score / 2) / math.sqrt(most), (-1, 1), 15
        )
        self.gelu = hm.approximate(lambda t: _even_gelu(ranges.hidden, t), (-1, 1), 15)
        inverse, of_roots = (
            (None, (None, None)) if degrees is None else (degrees.inverse, degrees.inverse_roots)
        )
        self.inverse = MappedPolynomial.near(lambda s: 2 / s, 2 * ranges.sums[0] / most, 2, bits, inverse)
        units = (1, 2 / ranges.centred)
        roots = [
            _inverse_root(*variance, features * unit**2, bits, degree)
            for variance, unit, degree in zip(ranges.variances, units, of_roots, strict=True)
        ]
        self.inverse_roots = tuple(root for root, _ in roots)
        self.largest_roots = tuple(largest for _, largest in roots)

    def levels(self, base: int) -> Levels:
        """The levels of a block whose bootstraps start at level `base`."""
        attention = base + 4 + self.exponential.depth + 1
        centred = base + 3 + self.gelu.depth + 1
        centred = max(centred, base + 1 + self.inverse_roots[0].depth)
        fresh = max(attention, centred + 1)
        top = max(fresh + 2, base + 1 + self.inverse.depth, base + 1 + self.inverse_roots[1].depth)
        return Levels(base, fresh, attention, base + 3, centred, top)


@dataclass(frozen=True)
class Levels:
    """The levels at which steps of a block begin, from its input to its output."""

    base: int
    """The lowest one, where bootstraps start."""
    fresh: int
    """Of the block's input, and of its output."""
    attention: int
    """Of the products with the weights of queries and keys."""
    values: int
    """Of those with the weights of values."""
    centred: int
    """Of the first layer norm."""
    top: int
    """The least level at which bootstraps must end."""


def _even_gelu(largest: float, t: float) -> float:
    x = largest * math.sqrt(max(0.0, (t + 1) / 2))
    return x * math.erf(x * math.sqrt(0.5)) / 2


def _inverse_root(
    low: float, high: float, unit: float, bits: float, degree: int | None
) -> tuple[MappedPolynomial, float]:
    """Of `unit` times a variance from `low` to `high`; and the largest value."""
    largest = 1 / math.sqrt(low + EPSILON)
    root = MappedPolynomial.near(
        lambda s: 1 / math.sqrt(s / unit + EPSILON) / largest, unit * low, unit * high, bits, degree
    )
    return root, largest
