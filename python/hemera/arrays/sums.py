"""Sums and products over axes, means and variances."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from hemera.arrays.recorded import (
    A,
    Axis,
    as_numbers,
    axes_of,
    moved,
    of_kind,
    rearranged,
    reduced,
    sum_of_maps,
)
from hemera.arrays.sparse_map import SparseMap
from hemera.errors import ParameterError

__all__ = ["combined", "mean", "product", "total", "variance"]


def total(x: A, axis: Axis = None, *, keepdims: bool = False) -> A:
    """The sum over axes; None: over all."""
    return _summed(x, reduced(axis, x), keepdims, 1)


def mean(x: A, axis: Axis = None, *, keepdims: bool = False) -> A:
    """The mean over axes; None: over all."""
    return of_kind(_summed(x, axis, keepdims, 1 / _count(x, axis)), "f")


def variance(x: A, axis: Axis = None, *, ddof: float = 0, keepdims: bool = False) -> A:
    """The variance over axes, with the divisor n - ddof. ParameterError where that is not positive."""
    count = _count(x, axis)
    if not count > ddof:
        raise ParameterError(f"the variance of {count} values with ddof={ddof}")
    apart = as_numbers(x) - mean(x, axis, keepdims=True)
    return of_kind(_summed(apart.square(), axis, keepdims, 1 / (count - ddof)), "f")


def _count(x: A, axis: Axis) -> int:
    """How many elements each sum over axes has."""
    return math.prod(x.shape[at] for at in axes_of(axis, x.ndim))


def _summed(x: A, axis: Axis, keepdims: bool, factor: float) -> A:
    """A sum times a factor."""
    axes = axes_of(axis, x.ndim)
    kept = tuple(1 if at in axes else extent for at, extent in enumerate(x.shape))
    shape = kept if keepdims else tuple(extent for at, extent in enumerate(x.shape) if at not in axes)
    outputs = math.prod(kept)
    rows = np.broadcast_to(np.arange(outputs).reshape(kept), x.shape).ravel()
    own = SparseMap.of(outputs, x.size, rows, np.arange(x.size), np.full(x.size, float(factor)))
    return sum_of_maps(x, [(x, own)], shape)


def _columns(x: A, start: int, stop: int) -> A:
    """A part of the last axis."""
    return rearranged(x, lambda y: y[..., start:stop])


def product(x: A, axis: Axis = None, *, keepdims: bool = False) -> A:
    """The product over axes, in pairs."""
    return combined(as_numbers(x), axis, lambda a, b: a * b, keepdims)


def combined(x: A, axis: Axis, combine: Callable[[Any, Any], Any], keepdims: bool = False) -> A:
    """All elements along axes, brought together by an associative operation in pairs: log2(n) rounds."""
    axes = axes_of(reduced(axis, x), x.ndim)
    rest = [at for at in range(x.ndim) if at not in axes]
    shape = [x.shape[at] for at in rest]

    def last(y: Any) -> Any:
        return y.transpose(*rest, *axes).reshape(*shape, -1)

    found = rearranged(x, last)
    while found.shape[-1] > 1:
        half, odd = divmod(found.shape[-1], 2)
        pairs = combine(_columns(found, 0, half), _columns(found, half, 2 * half))
        if odd:
            pairs = moved([pairs, found], lambda p, y: np.concatenate([p, y[..., -1:]], -1))
        found = pairs
    kept = [1 if at in axes else extent for at, extent in enumerate(x.shape)]
    return rearranged(found, lambda y: y.reshape(kept if keepdims else shape))
