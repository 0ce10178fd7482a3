"""Polynomials in place of a block's functions, and the levels of its steps."""

from __future__ import annotations

import math
from dataclasses import dataclass

import hemera as hm
from hemera.errors import ParameterError
from hemera_apps.transformer.clear import EPSILON, Ranges
from hemera_apps.transformer.functions import MappedPolynomial, RefinedRoot
from hemera_apps.transformer.softmax import DividedExponentials, NormalizedSquares

_GELU = 15
"""The degree in x^2 where no bootstrap is before it."""
_WIDE_GELU = (31, 63, 127, 255, 511)
"""The degrees behind a bootstrap."""
_MOST_SCORE = 300
"""Exponentials of larger ones leave double precision's range."""
_ENOUGH_BITS = 24
"""Bits with which an inverse or an inverse root of a lower degree will do: more than a bootstrap leaves."""
_NARROW_BITS = 12
"""Bits of exponentials and GELU, relative to the largest value: with fewer, a wide range's way is taken."""


@dataclass(frozen=True)
class Degrees:
    """The highest degrees of polynomials, for which blocks have the same levels and keys, whatever their
    ranges. 2^k - 1 each, up to 127."""

    inverse: int = 127
    """The inverse of the softmax's sums."""
    inverse_roots: tuple[int, int] = (31, 127)
    """The inverse roots of the layer norms."""
    tanh: int = 127
    """The pooler's tanh: see `hemera_apps.transformer.network`."""


@dataclass(frozen=True)
class Depths:
    """The levels that a block's functions take where it has places for them. Functions on wide ranges take no
    more, and go on behind bootstraps of their own."""

    exponential: int
    gelu: int
    inverse: int
    inverse_roots: tuple[int, int]


class Approximations:
    """The functions of a block on the ranges of its values.

    - `softmax`: by a division of exponentials by their sums.
    - `gelu` of t = 2 (x / `ranges.hidden`)^2 - 1: the even part of GELU, x erf(x / sqrt 2) / 2. The odd part
      is x / 2.
    - `inverse_roots` of the sums of squares of the features, for each layer norm: 1 / sqrt(variance +
      epsilon), divided by its largest value, which is in `largest_roots`. In the second one the features are
      2 / `ranges.centred` times those of the block.
    - `depths`: the levels that these take.

    On a range where no polynomial of the given degrees is near, a block of one input (`tokens`) has others:

    - `softmax` by normalized squares.
    - `gelu` of a higher degree, behind a bootstrap (`wide_gelu`).
    - `hemera_apps.transformer.functions.RefinedRoot` in place of an inverse root.

    Args:
        ranges: of the values.
        features: the number of features.
        bits: of the inverse and of the inverse roots, relative to their largest values; of the functions on
            wide ranges.
        degrees: the highest ones of these; lower ones are taken if they are within 2^-24. None: the least
            that are within `bits`.
        tokens: of a block of one input with `degrees`; None: no range is wide.
        lower: whether lower degrees are taken. If not, the functions need all keys that others need.

    Raises:
        ParameterError: if no function is near enough. It names the function and its range.
    """

    def __init__(
        self,
        ranges: Ranges,
        features: int,
        *,
        bits: float = 15,
        degrees: Degrees | None = None,
        tokens: int | None = None,
        lower: bool = True,
    ) -> None:
        self.ranges = ranges
        wide = None if degrees is None else tokens
        enough = max(bits, _ENOUGH_BITS) if lower else None
        of_inverse = None if degrees is None else degrees.inverse
        self.softmax = _near_softmax(ranges, bits, of_inverse, enough, wide)
        self.gelu = _near_gelu(ranges.hidden, bits, wide=wide is not None)
        self.wide_gelu = self.gelu.depth > _GELU.bit_length()
        units = (1, 2 / ranges.centred)
        of_roots = (None, None) if degrees is None else degrees.inverse_roots
        self.inverse_roots = tuple(
            _near_root(norm, *variance, features * unit**2, bits, degree, enough, wide=wide is not None)
            for norm, variance, unit, degree in zip(
                ("first", "second"), ranges.variances, units, of_roots, strict=True
            )
        )
        self.largest_roots = tuple(1 / math.sqrt(low + EPSILON) for low, _ in ranges.variances)
        first, second = (root.depth for root in self.inverse_roots)
        division = (
            self.softmax.inverse.depth
            if isinstance(self.softmax, DividedExponentials)
            else _mapped_depth((degrees or Degrees()).inverse)
        )
        self.depths = Depths(DividedExponentials.ROOT_DEPTH, _GELU.bit_length(), division, (first, second))

    @property
    def hidden_unit(self) -> float:
        """The unit of hidden values, whose square gives t of `gelu`: bootstraps double wide ones before."""
        return self.ranges.hidden * (math.sqrt(2) if self.wide_gelu else 1)

    def levels(self, base: int) -> Levels:
        """The levels of a block whose bootstraps start at level `base`."""
        depths = self.depths
        attention = base + 4 + depths.exponential + 1
        centred = base + 3 + depths.gelu + 1
        centred = max(centred, base + 1 + depths.inverse_roots[0])
        fresh = max(attention, centred + 1)
        top = max(fresh + 2, base + 1 + depths.inverse, base + 1 + depths.inverse_roots[1])
        return Levels(base, fresh, attention, base + 3, centred, top)


@dataclass(frozen=True)
class Levels:
    """The levels at which steps of a block begin, from its input to its output."""

    base: int
    """The lowest one, where bootstraps start."""
    fresh: int
    """The level of the block's input, and of its output."""
    attention: int
    """The level of the products with the weights of queries and keys."""
    values: int
    """The level of the products with the weights of values."""
    centred: int
    """The level of the first layer norm."""
    top: int
    """The least level at which bootstraps must end."""


def _near_softmax(
    ranges: Ranges, bits: float, degree: int | None, enough: float | None, tokens: int | None
) -> DividedExponentials | NormalizedSquares:
    """On scores that may be wide, of this number of tokens; None: they may not."""
    if not (ranges.score <= _MOST_SCORE and 0 < ranges.sums[0] <= ranges.sums[1] < math.inf):
        raise ParameterError(f"the softmax of scores up to {ranges.score:g}: they are at most {_MOST_SCORE}")
    try:
        found = DividedExponentials.of(ranges, bits, degree, enough)
    except ParameterError:
        if tokens is None:
            raise
    else:
        if tokens is None or found.error <= 2.0**-_NARROW_BITS:
            return found
    return NormalizedSquares.of(ranges, tokens, bits - 1)


def _mapped_depth(degree: int) -> int:
    """The depth of a `MappedPolynomial`."""
    return 1 + degree.bit_length()


def _even_gelu(largest: float, t: float) -> float:
    x = largest * math.sqrt(max(0.0, (t + 1) / 2))
    return x * math.erf(x * math.sqrt(0.5)) / 2


def _near_gelu(largest: float, bits: float, *, wide: bool) -> hm.circuits.Polynomial:
    """The even part on values up to the largest one."""
    found = hm.approximate(lambda t: _even_gelu(largest, t), (-1, 1), _GELU)
    if not wide or found.error <= largest * 2.0**-_NARROW_BITS:
        return found
    for degree in _WIDE_GELU:
        found = hm.approximate(lambda t: _even_gelu(largest, t), (-1, 1), degree)
        if found.error <= largest * 2.0**-bits:
            return found
    raise ParameterError(
        f"GELU of values up to {largest:g}: no polynomial of degree {_WIDE_GELU[-1]} in their squares is "
        f"within 2^-{bits:g} of the largest"
    )


def _near_root(
    norm: str,
    low: float,
    high: float,
    unit: float,
    bits: float,
    degree: int | None,
    enough: float | None,
    *,
    wide: bool,
) -> MappedPolynomial | RefinedRoot:
    """The inverse root of a variance from `low` to `high`, given `unit` times it, relative to the largest."""
    largest = 1 / math.sqrt(low + EPSILON)
    try:
        return MappedPolynomial.near(
            lambda s: 1 / math.sqrt(s / unit + EPSILON) / largest,
            unit * low,
            unit * high,
            bits,
            degree,
            enough=enough,
        )
    except ParameterError as error:
        what = f"the variances of the {norm} layer norm from {low:g} to {high:g}"
        if not wide or degree is None:
            raise ParameterError(f"{what}: {error}") from error
        try:
            return RefinedRoot(unit * low, unit * high, bits, _mapped_depth(degree))
        except ParameterError as wider:
            raise ParameterError(f"{what}: {wider}") from wider
