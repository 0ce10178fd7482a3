"""Masks before a softmax: places closed by -inf, or by numbers far below the values, get the weight 0."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.array import Array
from hemera.arrays.functions import softmax
from hemera.errors import ParameterError

_FAR = 64.0
"""How far below another one a summand of a softmax is left out: its weight is below 2^-92."""


@dataclass(frozen=True)
class Masked:
    """Encrypted values with a mask, which a softmax takes as it is.

    Encrypted values are finite, so that a mask of -inf has no sum with them.
    """

    values: Array
    mask: NDArray[Any]
    """What is added to them, of the shape of the sum."""
    whole: Callable[[], Array]
    """The sum, for all but a softmax. ParameterError for a mask of -inf."""

    @property
    def shape(self) -> tuple[int, ...]:
        return self.mask.shape

    @property
    def ndim(self) -> int:
        return self.mask.ndim

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def reshape(self, shape: tuple[int, ...]) -> Masked:
        """The same elements along other axes."""
        values: Any = np.broadcast_to(self.values, self.shape)
        return Masked(values.reshape(shape), self.mask.reshape(shape), lambda: self.whole().reshape(shape))

    def mapped(self, function: Callable[[Any], Any]) -> Masked:
        """Cast by a function that leaves values as they are."""
        return Masked(function(self.values), self.mask, lambda: function(self.whole()))


def opened(value: Any) -> Any:
    """The sum of encrypted values and their mask; other values as they are."""
    return value.whole() if isinstance(value, Masked) else value


def together(function: Callable[..., Any], *operands: Any) -> Any:
    """A function of operands without masks. ParameterError for infinite ones next to encrypted ones."""
    own = list(map(opened, operands))
    plain = [each for each in own if each is not None and not isinstance(each, Array)]
    encrypted = any(isinstance(each, Array) for each in own)
    if encrypted and not all(np.isfinite(each).all() for each in plain):
        raise ParameterError(
            "infinite numbers, or what is no number, next to encrypted values: only a softmax takes them, "
            "after a sum with -inf, or a choice of it by a plain condition"
        )
    return function(*own)


def _masked(function: Callable[..., Any], x: Any, mask: Any, *operands: Any) -> Masked:
    """Values, which may have a mask already, with one more; the sum is the function of the operands."""
    values, before = (x.values, x.mask) if isinstance(x, Masked) else (x, np.zeros(x.shape))
    both = before + mask
    return Masked(values, both, functools.cache(lambda: together(function, *operands)))


def _span(x: Any, other: Any) -> tuple[float, float]:
    """The range of encrypted values next to plain floats; infinite: they are no such pair."""
    own = x.values if isinstance(x, Masked) else x
    pair = isinstance(own, Array) and isinstance(other, np.ndarray) and other.dtype.kind == "f"
    return own.range if pair else (-math.inf, math.inf)


def summed(x: Any, y: Any) -> Any:
    """The sum; that of encrypted values and a mask waits for what takes it."""
    for own, other in ((x, y), (y, x)):
        low, high = _span(own, other)
        if low > -math.inf and (other < np.inf).all():
            far = np.isneginf(other) | (other < other.max(initial=-math.inf) - (high - low) - _FAR)
            if isinstance(own, Masked) or far.any():
                return _masked(np.add, own, other, x, y)
    return together(np.add, x, y)


def chosen(condition: Any, x: Any, y: Any) -> Any:
    """x where a condition holds, and y elsewhere; a side far below encrypted values is a mask."""
    if isinstance(condition, np.ndarray):
        for own, other, kept in ((x, y, condition), (y, x, ~condition)):
            low, _ = _span(own, other)
            if low > -math.inf and (other < low - _FAR).all():
                mask = np.where(kept, 0.0, np.full(other.shape, -np.inf))
                return _masked(np.where, own, mask, condition, x, y)
    return together(np.where, condition, x, y)


def softmax_of(x: Any, axis: int) -> Any:
    """The softmax along an axis, without the places that a mask closes."""
    if not isinstance(x, Masked):
        return softmax(x, axis)
    low, high = x.values.range
    top = x.mask.max(axis=axis, keepdims=True)
    kept = np.isfinite(x.mask) & (x.mask >= top - (high - low) - _FAR)
    if not kept.any(axis=axis).all():
        return softmax(x.whole(), axis)
    added = np.where(kept, x.mask - top, 0.0)
    return softmax(x.values + added if added.any() else np.broadcast_to(x.values, x.shape), axis, where=kept)
