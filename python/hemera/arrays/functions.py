"""Functions of plain and of encrypted arrays: hm.sigmoid, hm.softmax and others, by one name for both.

Results of plain arrays are float64 (float32 if the array is), and do not overflow. Encrypted arrays give
approximations on the range of the values, with the program's precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.arrays import arithmetic, elementwise
from hemera.arrays.operations import FORMULAS
from hemera.arrays.recorded import Recorded, axes_of, number_of, of_kind, rearranged, recorder_of
from hemera.errors import ParameterError
from hemera.inputs.plain import plain_array

_WIDEST = 10.0
"""The widest range of exponents whose sum is a divisor: wider ones are halved, and squared afterwards."""
_BITS_LEFT = 1.5
"""Bits of the least exponential above its error."""
_LESS, _MORE = 1 / 2, 1 + 1 / 16
"""Times the ends of a sum's range: errors take it out of it."""


def _of_plain(name: str, x: Any, function: Callable[[Any], Any]) -> Any:
    """A function of a plain array of real numbers. TypeError for anything else, ParameterError for missing
    values."""
    if hasattr(x, "_evaluated"):
        raise TypeError(
            f"hm.{name} takes arrays; hm.circuits has functions of ciphertexts on an interval, as "
            f"hm.circuits.sigmoid((low, high))(x)"
        )
    given = plain_array(x, f"hm.{name}")
    if given.dtype.kind not in "biuf":
        raise TypeError(f"hm.{name} takes real numbers, not {given.dtype}")
    with np.errstate(over="ignore", under="ignore"):
        found = np.asarray(function(given.astype(np.float64)))
    return found.astype(given.dtype if given.dtype.kind == "f" else np.float64)[()]


def _named(name: str, x: Any) -> Any:
    is_encrypted = isinstance(x, Recorded)
    return elementwise.named(x, name) if is_encrypted else _of_plain(name, x, FORMULAS[name])


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)), element by element.

    Examples:
        >>> hm.sigmoid([-1000.0, 0.0, 1000.0]).tolist()
        [0.0, 0.5, 1.0]
        >>> plan = hm.compile(hm.sigmoid, hm.ArraySpec((3,), range=(-8, 8)))
        >>> plan.local()([-8.0, 0.0, 2.0]).round(3).tolist()
        [0.0, 0.5, 0.881]
    """
    return _named("sigmoid", x)


def relu(x: Any) -> Any:
    """max(x, 0), element by element."""
    if isinstance(x, Recorded):
        return of_kind(elementwise.larger(x, 0), "f")
    return _of_plain("relu", x, lambda v: np.maximum(v, 0))


def gelu(x: Any) -> Any:
    """x times the normal distribution's P(X <= x), element by element: (1 + erf(x / sqrt(2))) x / 2."""
    return _named("gelu", x)


def silu(x: Any) -> Any:
    """x sigmoid(x), element by element."""
    return _named("silu", x)


def softplus(x: Any) -> Any:
    """log(1 + exp(x)), element by element."""
    return _named("softplus", x)


def erf(x: Any) -> Any:
    """The error function, element by element."""
    if isinstance(x, Recorded):
        return elementwise.approximated(x, math.erf)
    return _of_plain("erf", x, FORMULAS["erf"])


def softmax(x: Any, axis: int | tuple[int, ...] | None = None, *, where: Any = None) -> Any:
    """exp(x) over the sum of exp(x) along axes; None: over all, as in SciPy.

    For encrypted arrays: exponentials of (x - high) / 2^k, where high is the end of the range, divided by
    their sum, and k times squared and divided by the sum again, so that no sum is near 0 (docs/compile.md).

    Args:
        where: plain truth values, which broadcast to the shape of x: elements that are left out get the
            weight 0, as padded and later tokens of an attention; None: all are in.

    Raises:
        ParameterError: where all elements of a sum are left out.

    Examples:
        >>> hm.softmax([0.0, 1000.0]).tolist()
        [0.0, 1.0]
    """
    kept = None if where is None else _kept(where, np.shape(x), axis)
    if isinstance(x, Recorded):
        return _shares(x, axis, kept)[0]
    return _of_plain("softmax", x, lambda v: _plain_softmax(v, axis, kept))


def logsumexp(x: Any, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False) -> Any:
    """log of the sum of exp(x) along axes; None: over all, as in SciPy. See `softmax`.

    Examples:
        >>> float(hm.logsumexp([1000.0, 1000.0]).round(4))
        1000.6931
    """
    if isinstance(x, Recorded):
        _, totals = _shares(x, axis)
        last, *before = reversed(totals)
        found = elementwise.named(last, "log") + x.range[1]
        for at, each in enumerate(before, 1):
            found = found + elementwise.named(each, "log") * 2.0**at
        axes = axes_of(axis, x.ndim)
        return found if keepdims else rearranged(found, lambda y: np.squeeze(y, axes))
    return _of_plain("logsumexp", x, lambda v: _plain_logsumexp(v, axis, keepdims))


def _kept(where: Any, shape: tuple[int, ...], axis: Any) -> NDArray[np.bool_]:
    """Which elements of a softmax are in. ParameterError where none of a sum is."""
    kept = np.broadcast_to(np.asarray(where, np.bool_), shape)
    if not kept.any(axis=axis).all():
        raise ParameterError("softmax: where= leaves out all elements of a sum, whose shares are no numbers")
    return kept


def _plain_softmax(v: Any, axis: Any, kept: NDArray[np.bool_] | None) -> Any:
    v = v if kept is None else np.where(kept, v, -np.inf)
    powers = np.exp(v - v.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def _plain_logsumexp(v: Any, axis: Any, keepdims: bool) -> Any:
    most = v.max(axis=axis, keepdims=True)
    found = most + np.log(np.exp(v - most).sum(axis=axis, keepdims=True))
    return found if keepdims else np.squeeze(found, axes_of(axis, v.ndim))


def _shares(x: Any, axis: Any, kept: NDArray[np.bool_] | None = None) -> tuple[Any, list[Any]]:
    """The softmax along axes of the elements that are in, and the sums by which it was divided, with these
    axes kept.

    With y the exponentials of (x - high) / 2^k over their sum s, and q the sum of y^2, the exponentials of
    twice the argument have the sum s^2 q and the shares y^2 / q. All q are from 1 / n to 1.
    """
    axes = axes_of(axis, x.ndim)
    counts = np.sum(np.ones(x.shape) if kept is None else kept, axis=axes)
    fewest, count = float(counts.min()), float(counts.max())
    low, high = x.range
    widest = min(_WIDEST, math.log(2) * max(1.0, recorder_of(x).tolerance_bits(1.0) - _BITS_LEFT))
    stages = max(0, math.ceil(math.log2(max(high - low, 2.0**-10) / widest)))
    least = math.exp(-(high - low) / 2**stages)
    shares = elementwise.named((x - high) * 2.0**-stages, "exp")
    shares = shares if kept is None else shares * kept.astype(np.float64)
    totals = []
    for stage in range(stages + 1):
        powers = shares.square() if stage else shares
        ends = (1 / count, 1.0) if stage else (fewest * least, count)
        total = arithmetic.total(powers, axes, keepdims=True)
        recorder_of(total).bound(number_of(total), ends[0] * _LESS, ends[1] * _MORE)
        totals.append(total)
        shares = powers * elementwise.reciprocal(total)
        recorder_of(shares).narrow(number_of(shares), 1 - _MORE, _MORE)
    return shares, totals
