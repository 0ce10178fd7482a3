"""Elementary functions of encrypted values, each by its polynomials: sigmoid, exp, sign, maximum, ..."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable

from hemera import _core
from hemera.circuits.functions import Function, Interval, tolerance_of

# clip=True stands for this many times the larger end.
_TIMES_CLIPPED = 4

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
    largest = _TIMES_CLIPPED * max(abs(low), abs(high)) if clip is True else float(clip)
    native = made(make, low, high, tolerance_of(bits), largest)
    return Function(native, name, recipe=recipe | {"clip": largest})


def clip(interval: Interval, *, bits: float = 10, largest: float) -> Function:
    """`np.clip(x, *interval)` for |x| <= largest, within 2^-bits everywhere: x or the nearer end, as
    (|x - low| - |x - high| + low + high) / 2, each |t| as t times the `sign` of t.

    The depth grows with the bits and with log2(largest / 2^-bits): docs/circuits.md has a table. A function
    with `clip=` clips no more closely than it must, and is often much less deep.

    Raises:
        ParameterError: if largest is not above the magnitudes of both ends.
    """
    low, high = (float(end) for end in interval)
    recipe = {"low": low, "high": high, "bits": float(bits), "largest": float(largest)}
    native = made(_core.clip, low, high, tolerance_of(bits), float(largest))
    return Function(native, "clip", recipe=recipe)


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
    recipe = {"gap": gap, "bits": bits, "largest": largest}
    return Function(made(_core.sign, gap, tolerance_of(bits), largest), "sign", recipe=recipe)


def compare(*, gap: float, bits: float = 20, largest: float = 1) -> Function:
    """For |a|, |b| <= largest: 1 if a > b, 0 if a < b, 1/2 if they are equal. The value is within 2^-bits if
    a and b differ by the gap or more, and from 0 to 1 otherwise. See `sign`.

    Examples:
        >>> f = hm.circuits.compare(gap=0.1, bits=10)
        >>> float(f(0.7, 0.2).round(2)), float(f(0.5, 0.5).round(2))
        (1.0, 0.5)
    """
    recipe = {"gap": gap, "bits": bits, "largest": largest}
    return Function(made(_core.compare, gap, tolerance_of(bits), largest), "compare", recipe=recipe)


def maximum(*, bits: float = 10, largest: float = 1) -> Function:
    """The larger of a and b, for |a|, |b| <= largest: (a + b) / 2 + |a - b| / 2 by the `sign` of the
    difference. Within 2^-bits everywhere. -maximum(-a, -b) is the smaller one."""
    recipe = {"bits": bits, "largest": largest}
    return Function(made(_core.maximum, tolerance_of(bits), largest), "maximum", recipe=recipe)
