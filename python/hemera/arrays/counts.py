"""Counts of encrypted values in bins and among others, and tables of values by their numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hemera.arrays.arithmetic import as_mask, negated, total
from hemera.arrays.comparisons import bounded, equal, exceeds, of_few, reaches, step_of
from hemera.arrays.facts import common_step, multiples
from hemera.arrays.recorded import (
    A,
    Recorded,
    as_numbers,
    as_operand,
    filled,
    moved,
    of_kind,
    promoted,
    rearranged,
    recorder_of,
)
from hemera.arrays.sparse_map import Values
from hemera.errors import ParameterError
from hemera.inputs.plain import plain_array, stepping_array

_MOST_TOGETHER = 1 << 15
"""Elements times plain numbers that exact programs compare at once: the largest rows have no more slots."""


def is_in(element: A, test_elements: Any, invert: bool = False) -> A:
    """`numpy.isin`: 1 where an element is one of some plain numbers; with `invert`, where it is none."""
    x, known = as_numbers(element), np.unique(stepping_array(test_elements, "np.isin"))
    step = step_of(x)
    whole, is_whole = multiples(known, step)
    low, high = x.range
    whole = whole[is_whole & (low <= known) & (known <= high)]
    found = of_few(x, lambda points: np.isin(points, whole), 1.0) if len(whole) else filled(x, False)
    if found is None:
        each = equal(rearranged(x, lambda y: y[..., None]), whole * step)
        found = bounded(total(each, -1), 0, 1)
    return negated(as_mask(found)) if invert else as_mask(found)


def _edges(edges: Any) -> Values:
    known = stepping_array(edges, "edges")
    if known.ndim != 1 or not len(known) or (np.diff(known) < 0).any() or not np.isfinite(known).all():
        raise ParameterError("edges are ascending numbers, on one axis: give np.sort(edges)")
    return known


def bins_of(x: A, bins: Any, right: bool = False) -> A:
    """`numpy.digitize`: how many of ascending edges are at most x; with `right`, below x."""
    reached = (exceeds if right else reaches)(rearranged(x, lambda y: y[..., None]), _edges(bins))
    return total(reached, -1)


def bin_counts(x: A, edges: Any) -> A:
    """How many elements lie between ascending edges, the last one included: `numpy.histogram`'s counts."""
    known = _edges(edges)
    if len(known) < 2:
        raise ParameterError("a histogram takes two edges at least")
    flat = rearranged(x, lambda y: y.reshape(-1, 1))
    lower = _counts(reaches, flat, known[:-1])
    last = total(exceeds(flat, known[-1:]), 0)
    after: A = moved([lower, last], lambda a, b: np.concatenate([a[1:], b]))
    return bounded(lower - after, 0, x.size)


def values_counted(x: A, weights: Any = None, minlength: int = 0) -> A:
    """`numpy.bincount` without weights: how many elements are 0, 1, ... minlength - 1."""
    low, high = x.range
    if weights is not None or low < -0.25 or not high < minlength - 0.5:
        raise TypeError(
            f"np.bincount of values from {low:g} to {high:g}: minlength must be above the largest one, and "
            "there are no weights"
        )
    if x.ndim != 1:
        raise ParameterError(f"bincount takes one axis, not an array of shape {x.shape}")
    return _counts(equal, rearranged(x, lambda y: y[:, None]), np.arange(minlength))


def _counts(comparison: Callable[[A, Any], A], column: A, others: Values) -> A:
    """How many elements of an array of shape (elements, 1) compare so with each plain number."""
    slots = 1 << ((column.size - 1).bit_length() + (len(others) - 1).bit_length())
    if not recorder_of(column).is_exact or slots <= _MOST_TOGETHER:
        return total(comparison(column, others), 0)
    # One after the other, which takes some times longer: tables of the same elements share their powers.
    each = [total(comparison(column, other), 0) for other in others]
    found: A = moved(each, lambda *counts: np.concatenate(counts))
    return found


def chosen(x: A, choices: Sequence[Any]) -> A:
    """`numpy.choose`: the element of the array of which x is the number.

    Raises:
        IndexError: when x can be no integer, or the number of no array.
    """
    low, high = x.range
    if step_of(x) % 1 > 2.0**-10 or low < -0.25 or high > len(choices) - 0.75:
        raise IndexError(
            f"values from {low:g} to {high:g} with the step {step_of(x):g} do not choose of {len(choices)} "
            f"arrays: give np.choose an index of whole numbers from 0 to {len(choices) - 1}"
        )
    kind = promoted(*choices)
    if all(isinstance(as_operand(each, x), np.ndarray) and np.ndim(each) == 0 for each in choices):
        found = _table(as_numbers(x), plain_array(choices, "np.choose", np.float64))
    else:
        numbers = [
            as_numbers(each) if isinstance(each, Recorded) else np.asarray(each) * 1 for each in choices
        ]
        first, *others = (equal(x, at) * each for at, each in enumerate(numbers))
        found = sum(others, start=first)
    return as_mask(found) if kind == "b" else of_kind(found, kind)


def _table(x: A, known: Values) -> A:
    """The entry of a plain table for each element, which is its index."""
    found = of_few(
        x, lambda points: known[np.round(points * step_of(x)).astype(int)], common_step(known) or None
    )
    if found is not None:
        return found
    masks = equal(rearranged(x, lambda y: y[..., None]), np.arange(len(known)))
    return total(masks * known, -1)
