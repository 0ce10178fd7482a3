"""Arithmetic of encrypted arrays: sums, products, means, and truth values as NumPy has them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.facts import MOST_WHOLE
from hemera.arrays.recorded import (
    A,
    Axis,
    Recorded,
    as_numbers,
    as_operand,
    at_node,
    axes_of,
    bounds_of,
    broadcast,
    facts_of,
    joined_shape,
    kind_of,
    moved,
    number_of,
    of_kind,
    promoted,
    rearranged,
    recorder_of,
    reduced,
    sum_of_maps,
)
from hemera.arrays.sparse_map import SparseMap, Values
from hemera.errors import ParameterError
from hemera.inputs.arguments import described


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
        raise ParameterError(f"the variance of {count} values with ddof={ddof:g}: give more of them")
    apart = as_numbers(x) - mean(x, axis, keepdims=True)
    found = of_kind(_summed(apart.square(), axis, keepdims, 1 / (count - ddof)), "f")
    # It is largest where half of the values are at each end (T. Popoviciu, 1935).
    low, high = bounds_of(x, certain=True)
    most = (count // 2) * ((count + 1) // 2) / count * float(high.max() - low.min()) ** 2
    recorder_of(x).narrow(number_of(found), -math.inf, most / (count - ddof))
    return found


def _count(x: A, axis: Axis) -> int:
    """How many elements each sum over axes has."""
    return math.prod(x.shape[at] for at in axes_of(axis, x.ndim))


def kept_shape(x: A, axes: Sequence[int]) -> tuple[int, ...]:
    """The shape of results over axes, with these as axes of one element."""
    return tuple(1 if at in axes else extent for at, extent in enumerate(x.shape))


def last_axis(x: A, axes: Sequence[int]) -> A:
    """The array with these axes as one, the last; truth values as 0 and 1."""
    rest = [at for at in range(x.ndim) if at not in axes]
    shape = [x.shape[at] for at in rest]
    return rearranged(as_numbers(x), lambda y: y.transpose(*rest, *axes).reshape(*shape, -1))


def over_axes(x: A, axis: Axis, keepdims: bool, function: Callable[[A], A]) -> A:
    """A function that brings the elements of the last axis together, of axes as one; None: of all."""
    axes = axes_of(reduced(axis, x), x.ndim)
    found = function(last_axis(x, axes))
    return rearranged(found, lambda y: y.reshape(kept_shape(x, axes))) if keepdims else found


def _summed(x: A, axis: Axis, keepdims: bool, factor: float) -> A:
    """A sum times a factor."""
    axes = axes_of(axis, x.ndim)
    kept = kept_shape(x, axes)
    shape = kept if keepdims else tuple(extent for at, extent in enumerate(x.shape) if at not in axes)
    outputs = math.prod(kept)
    rows = np.broadcast_to(np.arange(outputs).reshape(kept), x.shape).ravel()
    own = SparseMap.of(outputs, x.size, rows, np.arange(x.size), np.full(x.size, float(factor)))
    return sum_of_maps(x, [(x, own)], shape)


def product(x: A, axis: Axis = None, *, keepdims: bool = False) -> A:
    """The product over axes, in pairs."""

    def of_last(rows: A) -> A:
        found = in_pairs(rows, lambda a, b: a * b)
        # Rounds of an odd count leave one over: the step of it and of products is smaller than that of all.
        step = None if rows.step is None else float(rows.step) ** rows.shape[-1]
        facts_of(found).step = step if step is not None and 0 < step < MOST_WHOLE else found.step
        return found

    return over_axes(x, axis, keepdims, of_last)


def in_pairs(rows: A, combine: Callable[[Any, Any], Any]) -> A:
    """The elements of the last axis, brought together by an associative operation: log2(n) rounds."""
    while (count := rows.shape[-1]) > 1:
        half = count // 2
        halves = (slice(half), slice(half, 2 * half))
        pairs = combine(*(rearranged(rows, operator.itemgetter((..., own))) for own in halves))
        if count % 2:
            pairs = moved([pairs, rows], lambda p, y: np.concatenate([p, y[..., -1:]], -1))
        rows = pairs
    return rearranged(rows, lambda y: y[..., 0])


def as_mask(x: A) -> A:
    """The array, known to be 0 or 1, as truth values."""
    facts_of(x).step = 1.0
    return of_kind(x, "b")


def is_mask(x: Recorded) -> bool:
    """Whether elements are known to be 0 or 1."""
    low, high = x.range
    is_whole = x.step is not None and abs(x.step - 1) <= 2.0**-10
    return kind_of(x) == "b" or (is_whole and low >= -0.25 and high <= 1.25)


def require_mask(x: Recorded) -> None:
    """TypeError for what is no mask."""
    if not is_mask(x):
        low, high = x.range
        raise TypeError(
            f"a mask of 0 and 1 is needed, not values from {low:g} to {high:g}: comparisons give one, and so "
            "do inputs with range=(0, 1), step=1"
        )


def _masks(x: A, other: Any) -> tuple[A, A | Values]:
    """Both masks as numbers; plain ones as arrays of 0 and 1. TypeError for others."""
    require_mask(x)
    given = as_operand(other, x)
    if isinstance(given, Recorded):
        require_mask(given)
        return as_numbers(x), as_numbers(given)
    if given is None or not np.isin(given, (0, 1)).all():
        raise TypeError(f"a mask of 0 and 1 goes with another one, not with {described(other)}")
    return as_numbers(x), given


def both(x: A, other: Any) -> A:
    """1 where both masks are 1. TypeError for others than masks, as in the functions below."""
    a, b = _masks(x, other)
    return as_mask(a * b)


def either(x: A, other: Any) -> A:
    """1 where at least one mask is 1."""
    a, b = _masks(x, other)
    if isinstance(b, np.ndarray):
        return as_mask(a * (1 - b) + b)
    return as_mask(1 - (1 - a) * (1 - b))


def one_of(x: A, other: Any) -> A:
    """1 where the masks differ."""
    a, b = _masks(x, other)
    if isinstance(b, np.ndarray):
        return as_mask(a * (1 - 2 * b) + b)
    return as_mask((a - b).square())


def negated(x: A) -> A:
    """1 where the mask is 0."""
    require_mask(x)
    found = as_mask(1 - as_numbers(x))
    facts_of(found).jump = facts_of(x).jump
    return found


def inverted(x: A) -> A:
    """`~x` of truth values. TypeError for numbers, whose bits NumPy turns."""
    if kind_of(x) != "b":
        raise TypeError(
            "~ of whole numbers is -1 - x in NumPy, and of real ones an error. It is the opposite of truth "
            "values, as comparisons give; for 0 and 1 take np.logical_not(x), or declare truth values by "
            "hm.ArraySpec(shape, dtype=bool)"
        )
    return negated(x)


def plus(x: A, other: Any, sign: float = 1, own: float = 1) -> A:
    """own * x + sign * other. Of truth values: whether one is true; TypeError for their difference."""
    if promoted(x, other) == "b":
        return either(x, other) if sign == own else _refuse_truths("-")
    given = as_operand(other, x)
    if given is None:
        return NotImplemented  # type: ignore[no-any-return]
    shape = joined_shape(x.shape, given.shape)
    terms, offset = [(broadcast(x, shape), own)], None
    if isinstance(given, np.ndarray):
        offset = np.broadcast_to(sign * given, shape).ravel()
    else:
        terms.append((broadcast(given, shape), sign))
    maps = [(each, SparseMap.scaling(np.full(each.size, factor))) for each, factor in terms]
    return sum_of_maps(x, maps, shape, offset, promoted(1, x, other))


def times(x: A, other: Any) -> A:
    """x * other. Of truth values: whether both are true."""
    if promoted(x, other) == "b":
        return both(x, other)
    given = as_operand(other, x)
    if given is None:
        return NotImplemented  # type: ignore[no-any-return]
    kind = promoted(1, x, other)
    if isinstance(given, np.ndarray):
        return of_kind(_scaled(x, given), kind)
    shape = joined_shape(x.shape, given.shape)
    a, b = broadcast(x, shape), broadcast(given, shape)
    if number_of(given) == number_of(x):
        b = a
    return at_node(x, recorder_of(x).multiply(number_of(a), number_of(b)), kind)


def _scaled(x: A, factors: NDArray[Any]) -> A:
    """The product with numbers, which broadcast with it."""
    shape = joined_shape(x.shape, factors.shape)
    own = SparseMap.scaling(np.broadcast_to(factors, shape))
    return sum_of_maps(x, [(broadcast(x, shape), own)], shape)


def negative(x: A) -> A:
    """-x. TypeError for truth values."""
    return _refuse_truths("-") if kind_of(x) == "b" else _scaled(x, np.asarray(-1.0))


def positive(x: A) -> A:
    """+x. TypeError for truth values."""
    return _refuse_truths("+") if kind_of(x) == "b" else x


def _refuse_truths(sign: str) -> Any:
    raise TypeError(
        f"{sign} takes no truth values, as in NumPy: ~ is their opposite, ^ is True where two differ, "
        "and mask * 1 has the numbers 0 and 1"
    )


def bitwise(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A function of masks: of truth values truth values, of whole numbers 0 and 1 such."""

    def operate(x: Any, other: Any) -> Any:
        found = function(x, other)
        return found if promoted(x, other) == "b" else of_kind(found, "i")

    return operate
