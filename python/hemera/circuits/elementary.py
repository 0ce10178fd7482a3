"""Functions of encrypted values by their names: sigmoid, exp, sign, maximum, relu, ...

Each is made of its polynomials. Files keep its name and numbers, which tell how steep it is, too.
"""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from hemera import _core
from hemera.circuits.functions import Function, Interval
from hemera.circuits.polynomials import Polynomial, tolerance_of

# clip=True stands for this many times the larger end.
_TIMES_CLIPPED = 4
# Points for each degree at which the slope of a polynomial is taken.
_OVERSAMPLING = 16

_Maker = Callable[[float, float, float, float | None], _core.Function]


def made(make: Callable[..., _core.Function], *numbers: float | Interval | None) -> _core.Function:
    """What `make` gives for these numbers. Functions that were made are kept, and refusals: a search for
    degrees takes tenths of a second, and one that finds none is the longest."""
    found = _searched(make, *numbers)
    if isinstance(found, _core.ParameterError):
        raise copy.copy(found)  # the traceback is that of this call
    return found


@functools.lru_cache(maxsize=128)
def _searched(
    make: Callable[..., _core.Function], *numbers: float | Interval | None
) -> _core.Function | _core.ParameterError:
    try:
        return make(*numbers)
    except _core.ParameterError as error:
        return error.with_traceback(None)


def on_interval(make: _Maker, name: str, interval: Interval, bits: float, clip: bool | float) -> Function:
    """A function on an interval, of clipped values if `clip` says so."""
    low, high = (float(end) for end in interval)
    recipe = {"low": low, "high": high, "bits": float(bits)}
    if clip is False:
        return Function(made(make, low, high, tolerance_of(bits), None), name, recipe=recipe)
    largest = _TIMES_CLIPPED * max(math.fabs(low), math.fabs(high)) if clip is True else float(clip)
    native = made(make, low, high, tolerance_of(bits), largest)
    return Function(native, name, recipe=recipe | {"clip": largest})


def _of_numbers(make: Callable[..., _core.Function], name: str, **recipe: float) -> Function:
    """The function that `make` gives for the numbers of its recipe, the bits as a tolerance."""
    numbers = [tolerance_of(each) if key == "bits" else each for key, each in recipe.items()]
    return Function(made(make, *numbers), name, recipe=recipe)


def clip(interval: Interval, *, bits: float = 10, largest: float) -> Function:
    """`np.clip(x, *interval)` for |x| <= largest, within 2^-bits everywhere: x or the nearer end, as
    (|x - low| - |x - high| + low + high) / 2, each |t| as t times the `sign` of t.

    The depth grows with the bits and with log2(largest / 2^-bits): docs/circuits.md has a table. A function
    with `clip=` clips no more closely than it must, and is often much less deep.

    Raises:
        ParameterError: if largest is not above the magnitudes of both ends.
    """
    low, high = (float(end) for end in interval)
    return _of_numbers(_core.clip, "clip", low=low, high=high, bits=float(bits), largest=float(largest))


def sigmoid(interval: Interval, *, bits: float = 20, clip: bool | float = False) -> Function:
    """1 / (1 + exp(-x)) on an interval: the nearest polynomial of the smallest degree.

    Args:
        interval: the interval of x.
        bits: the error is at most 2^-bits; noise of ciphertexts comes in addition. The same holds for the
            functions below.
        clip: whether x outside of the interval gives the value at the nearer end; a number: the largest
            magnitude of x; True: four times that of the ends. A clip takes more depth (docs/circuits.md): see
            `clip`. The same holds for the functions below.

    Raises:
        ParameterError: if no polynomial of a degree up to 1023 is as near.

    Examples:
        >>> f = hm.circuits.sigmoid((-8, 8), bits=12)
        >>> f.depth, float(f(0.0).round(3))
        (6, 0.5)
    """
    return on_interval(_core.sigmoid, "sigmoid", interval, bits, clip)


def tanh(interval: Interval, *, bits: float = 20, clip: bool | float = False) -> Function:
    """The hyperbolic tangent on an interval: see `sigmoid`."""
    return on_interval(_core.hyperbolic_tangent, "tanh", interval, bits, clip)


def gelu(interval: Interval, *, bits: float = 20, clip: bool | float = False) -> Function:
    """The Gaussian error linear unit, x times the normal distribution's P(X <= x): see `sigmoid`."""
    return on_interval(_core.gelu, "gelu", interval, bits, clip)


def exp(interval: Interval, *, bits: float = 20, clip: bool | float = False) -> Function:
    """The exponential on an interval: see `sigmoid`."""
    return on_interval(_core.exponential, "exp", interval, bits, clip)


def log(interval: Interval, *, bits: float = 20, clip: bool | float = False) -> Function:
    """The natural logarithm on an interval of positive numbers: see `sigmoid`."""
    return on_interval(_core.logarithm, "log", interval, bits, clip)


def inverse(interval: Interval, *, bits: float = 20, clip: bool | float = False) -> Function:
    """1 / x on an interval without 0: a polynomial, and Goldschmidt's iterations if they save depth. For
    `clip` see `sigmoid`.

    Raises:
        ParameterError: if 0 is in the interval, or no function was found that is as near.
    """
    return on_interval(_core.inverse, "inverse", interval, bits, clip)


def reaches_zero(low: float, high: float) -> bool:
    """Whether a square root on [low, high] takes values near 0, as far as noise goes."""
    return low <= 2.0**-18 * high


def sqrt(interval: Interval, *, bits: float = 20, clip: bool | float = False) -> Function:
    """The square root on an interval without negative numbers: a polynomial, Newton's iterations for the
    inverse square root, or the stages of a sign, which are right from 0 on while noise is far below 2^(-2
    bits) of the largest value. For `clip` see `sigmoid`; it needs an interval above 0.

    Raises:
        ParameterError: if the interval has negative numbers, or no function was found that is as near.
    """
    return on_interval(_core.square_root, "sqrt", interval, bits, clip)


def sign(*, gap: float, bits: float = 20, largest: float = 1) -> Function:
    """-1 or 1 for gap <= |x| <= largest, within 2^-bits; some value from -1 to 1 for smaller x. The function
    is composed of odd polynomials, with the degrees of the least depth.

    Raises:
        ParameterError: if not 0 < gap < largest.
    """
    return _of_numbers(_core.sign, "sign", gap=gap, bits=bits, largest=largest)


def compare(*, gap: float, bits: float = 20, largest: float = 1) -> Function:
    """For |a|, |b| <= largest: 1 if a > b, 0 if a < b, 1/2 if they are equal. The value is within 2^-bits if
    a and b differ by the gap or more, and from 0 to 1 otherwise. See `sign`.

    Examples:
        >>> f = hm.circuits.compare(gap=0.1, bits=10)
        >>> float(f(0.7, 0.2).round(2)), float(f(0.5, 0.5).round(2))
        (1.0, 0.5)
    """
    return _of_numbers(_core.compare, "compare", gap=gap, bits=bits, largest=largest)


def maximum(*, bits: float = 10, largest: float = 1) -> Function:
    """The larger of a and b, for |a|, |b| <= largest: (a + b) / 2 + |a - b| / 2 by the `sign` of the
    difference. Within 2^-bits everywhere. -maximum(-a, -b) is the smaller one."""
    return _of_numbers(_core.maximum, "maximum", bits=bits, largest=largest)


def relu(interval: Interval = (-1, 1), *, bits: float = 11) -> Function:
    """max(x, 0) on an interval, within 2^-bits everywhere: x (1 + sign(x)) / 2 by a composition of odd
    minimax polynomials (E. Lee, J.-W. Lee, J.-S. No, Y.-S. Kim, 2020/834; J.-W. Lee et al., 2022), with the
    degrees of the fewest levels, then of the fewest products.

        relu = hm.circuits.relu((-8, 8), bits=8)
        y = relu(x)  # x a ciphertext of values from -8 to 8, or an array in the clear

    On (-1, 1) 11 bits take 12 levels, 13 bits 14. Bits are absolute: on (-8, 8) 8 bits take what 11 take on
    (-1, 1). Wide intervals take a level more where a first polynomial of a low degree does not map them.
    Where the interval is on one side of 0, the function is x without a level, or 0.

    Args:
        interval: where x lies.
        bits: errors are at most 2^-bits, here and in the functions below; those of ciphertexts come on top.

    Raises:
        ParameterError: for an empty interval, and when no polynomials are as near.
    """
    low, high = (float(end) for end in interval)
    return _of_numbers(_core.relu, "relu", low=low, high=high, bits=float(bits))


def abs(interval: Interval = (-1, 1), *, bits: float = 10) -> Function:  # noqa: A001
    """|x| on an interval, as x sign(x): see `relu`, whose error is half of this one's."""
    low, high = (float(end) for end in interval)
    return _of_numbers(_core.absolute, "abs", low=low, high=high, bits=float(bits))


def leaky_relu(slope: float = 0.01, interval: Interval = (-1, 1), *, bits: float = 11) -> Function:
    """x where x > 0, else slope x: see `relu`.

    Raises:
        ParameterError: as `relu`, and for a slope that is not finite.
    """
    low, high = (float(end) for end in interval)
    numbers = {"low": low, "high": high, "slope": float(slope), "bits": float(bits)}
    return _of_numbers(_core.leaky_relu, "leaky_relu", **numbers)


def silu(interval: Interval, *, bits: float = 20, clip: bool | float = False) -> Function:
    """x / (1 + exp(-x)) on an interval, which is called swish, too: see `sigmoid`."""
    return on_interval(_core.silu, "silu", interval, bits, clip)


def softplus(interval: Interval, *, bits: float = 20, clip: bool | float = False) -> Function:
    """log(1 + exp(x)) on an interval: see `sigmoid`."""
    return on_interval(_core.softplus, "softplus", interval, bits, clip)


def divide(numerator: Interval, denominator: Interval, *, bits: float = 20) -> Function:
    """x / y of two inputs, within 2^-bits: x times the `inverse` of y.

        ratio = hm.circuits.divide((-1, 1), (0.5, 4), bits=16)
        z = ratio(x, y)

    It takes at most one level more than the inverse: x is multiplied before the iterations.

    Args:
        numerator: the interval of x.
        denominator: the interval of y, without 0.
        bits: of the quotient.

    Raises:
        ParameterError: for an empty interval, a denominator with 0 in it, and when no inverse is as near.
    """
    low, high = (float(end) for end in numerator)
    least, most = (float(end) for end in denominator)
    recipe = {
        "numerator_low": low,
        "numerator_high": high,
        "denominator_low": least,
        "denominator_high": most,
        "bits": float(bits),
    }
    return Function(
        made(_core.divide, (low, high), (least, most), tolerance_of(bits)), "divide", recipe=recipe
    )


_OF_INTERVALS: dict[str, Callable[..., Function]] = {
    own.__name__: own
    for own in (
        *(sigmoid, tanh, gelu, exp, log),
        *(inverse, sqrt, clip),
        *(relu, abs, leaky_relu, silu, softplus),
    )
}
_OF_NUMBERS: dict[str, Callable[..., Function]] = {own.__name__: own for own in (sign, compare, maximum)}


def from_recipe(name: str, recipe: Mapping[str, float]) -> Function:
    """The function of this `Function.name` and `Function.recipe`: what files keep of it.

    Raises:
        ParameterError: for another name, or other numbers than it is made of.
    """
    numbers = dict(recipe)
    try:
        if name in _OF_INTERVALS:
            interval = (numbers.pop("low"), numbers.pop("high"))
            return _OF_INTERVALS[name](interval=interval, **numbers)
        if name == divide.__name__:
            intervals = [
                (numbers.pop(f"{which}_low"), numbers.pop(f"{which}_high"))
                for which in ("numerator", "denominator")
            ]
            return divide(intervals[0], intervals[1], **numbers)
        if name in _OF_NUMBERS:
            return _OF_NUMBERS[name](**numbers)
    except (KeyError, TypeError):
        raise _core.ParameterError(f"{name} is not made of {', '.join(recipe) or 'nothing'}") from None
    known = [*_OF_INTERVALS, divide.__name__, *_OF_NUMBERS]
    raise _core.ParameterError(f"no function is named {name!r}; there are {', '.join(known)}")


def slopes_of(function: Function, ranges: Sequence[Interval]) -> tuple[float, ...]:
    """How steep a function is by each of its inputs, at most; that of a sign is 0, outside of its gap.

    Raises:
        TypeError: for functions of which it is not known.
    """
    if isinstance(function, Polynomial):
        return (_slope_of_polynomial(function, ranges[0]),)
    if function.name in _SLOPES:
        return _SLOPES[function.name]
    if function.name in _SLOPES_OF_RECIPES and function.recipe is not None:
        return _SLOPES_OF_RECIPES[function.name](function.recipe)
    raise TypeError(f"{function.name} is no function of which others are composed")


def _slopes_of_divide(recipe: Mapping[str, float]) -> tuple[float, ...]:
    largest = max(math.fabs(recipe["numerator_low"]), math.fabs(recipe["numerator_high"]))
    nearest = min(math.fabs(recipe["denominator_low"]), math.fabs(recipe["denominator_high"]))
    return 1 / nearest, largest / nearest**2


_SLOPES: dict[str, tuple[float, ...]] = {
    "sigmoid": (0.25,),
    "tanh": (1.0,),
    "gelu": (1.129,),
    "silu": (1.0999,),
    "softplus": (1.0,),
    "relu": (1.0,),
    "abs": (1.0,),
    "clip": (1.0,),
    "sign": (0.0,),
    "compare": (0.0, 0.0),
    "maximum": (1.0, 1.0),
}
_SLOPES_OF_RECIPES: dict[str, Callable[[Mapping[str, float]], tuple[float, ...]]] = {
    "exp": lambda recipe: (math.exp(recipe["high"]),),
    "log": lambda recipe: (1 / recipe["low"],),
    "inverse": lambda recipe: (1 / min(math.fabs(recipe["low"]), math.fabs(recipe["high"])) ** 2,),
    "sqrt": lambda recipe: (0.5 / math.sqrt(recipe["low"]) if recipe["low"] > 0 else math.inf,),
    "leaky_relu": lambda recipe: (max(1.0, math.fabs(recipe["slope"])),),
    "divide": _slopes_of_divide,
}


def _slope_of_polynomial(function: Polynomial, given: Interval) -> float:
    """The largest magnitude of the derivative on a range: a polynomial of degree n that is at most 1 at m > n
    Chebyshev nodes is at most 1 / cos(pi n / 2 m) between them (H. Ehlich, K. Zeller, 1964)."""
    coefficients = np.asarray(function.coefficients)
    if coefficients.ndim != 1:
        rows = np.moveaxis(coefficients, 0, -1).reshape(-1, coefficients.shape[0])
        coefficients = np.abs(rows).max(axis=0)  # of slots
        if function.basis == "power":
            largest = max(math.fabs(end) for end in given)
            return float(sum(k * c * largest ** (k - 1) for k, c in enumerate(coefficients) if k))
        low, high = function.interval
        return float(sum(k * k * c for k, c in enumerate(coefficients)) * 2 / (high - low))
    degree = max(len(coefficients) - 1, 1)
    count = _OVERSAMPLING * (degree + 1)
    nodes = np.cos(np.pi * (np.arange(count) + 0.5) / count)
    points = (given[0] + given[1]) / 2 + nodes * (given[1] - given[0]) / 2
    if function.basis == "power":
        power = np.polynomial.polynomial  # imported at its first use: few users need it
        values = power.polyval(points, power.polyder(coefficients))
    else:
        low, high = function.interval
        t = (2 * points - low - high) / (high - low)
        chebyshev = np.polynomial.chebyshev
        values = chebyshev.chebval(t, chebyshev.chebder(coefficients)) * 2 / (high - low)
    return float(np.abs(values).max() / math.cos(math.pi * degree / (2 * count)))
