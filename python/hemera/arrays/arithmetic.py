"""Arithmetic of encrypted arrays, and of truth values as NumPy has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.arrays import masks
from hemera.arrays.kinds import are_truths, kind_of, of_numbers
from hemera.arrays.recorded import (
    A,
    as_operand,
    at_node,
    broadcast,
    joined_shape,
    number_of,
    of_kind,
    recorder_of,
    sum_of_maps,
)
from hemera.arrays.sparse_map import SparseMap

__all__ = ["bitwise", "negative", "plus", "positive", "times"]


def plus(x: A, other: Any, sign: float = 1, own: float = 1) -> A:
    """own * x + sign * other. Of truth values: whether one is true; TypeError for their difference."""
    if are_truths(x, other):
        return masks.either(x, other) if sign == own else _refuse_truths("-")
    given = as_operand(other, x)
    if given is None:
        return NotImplemented  # type: ignore[no-any-return]
    shape = joined_shape(x.shape, given.shape)
    terms, offset = [(broadcast(x, shape), own)], None
    if isinstance(given, np.ndarray):
        offset = np.broadcast_to(sign * given, shape).ravel()
    else:
        terms.append((broadcast(given, shape), sign))
    maps = [(number_of(each), SparseMap.scaling(np.full(each.size, factor))) for each, factor in terms]
    found = recorder_of(x).affine(maps, shape, offset)
    return at_node(x, found, of_numbers([kind_of(x), kind_of(other)]))


def times(x: A, other: Any) -> A:
    """x * other. Of truth values: whether both are true."""
    if are_truths(x, other):
        return masks.both(x, other)
    given = as_operand(other, x)
    if given is None:
        return NotImplemented  # type: ignore[no-any-return]
    kind = of_numbers([kind_of(x), kind_of(other)])
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
    return _refuse_truths("-") if are_truths(x) else _scaled(x, np.asarray(-1.0))


def positive(x: A) -> A:
    """+x. TypeError for truth values."""
    return _refuse_truths("+") if are_truths(x) else x


def _refuse_truths(operator: str) -> Any:
    raise TypeError(
        f"{operator} takes no truth values, as in NumPy: ~ is their opposite, ^ is True where two differ, "
        "and mask * 1 has the numbers 0 and 1"
    )


def bitwise(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A function of masks: of truth values truth values, of whole numbers 0 and 1 such."""

    def operate(x: Any, other: Any) -> Any:
        found = function(x, other)
        return found if are_truths(x, other) else of_kind(found, "i")

    return operate
