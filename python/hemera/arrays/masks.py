"""Masks: truth values of comparisons, as 0 and 1, and what brings them together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.kinds import kind_of
from hemera.arrays.recorded import A, Recorded, as_numbers, as_operand, facts_of, of_kind
from hemera.arrays.sums import product
from hemera.inputs.arguments import described

__all__ = [
    "all_of",
    "any_of",
    "as_mask",
    "both",
    "either",
    "inverted",
    "is_mask",
    "negated",
    "one_of",
    "require_mask",
]

Values = NDArray[Any]


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


def all_of(x: A, axis: Any = None, *, keepdims: bool = False) -> A:
    """1 where the mask is 1 everywhere along axes."""
    require_mask(x)
    return as_mask(product(as_numbers(x), axis, keepdims=keepdims))


def any_of(x: A, axis: Any = None, *, keepdims: bool = False) -> A:
    """1 where the mask is 1 anywhere along axes."""
    return negated(all_of(negated(x), axis, keepdims=keepdims))
