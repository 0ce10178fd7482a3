"""Functions of whole numbers by tables of their values, in exact programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.facts import MOST_WHOLE, common_divisor
from hemera.arrays.operations import LookUp
from hemera.arrays.recorded import (
    A,
    Recorded,
    at_node,
    bounds_of,
    facts_of,
    number_of,
    recorder_of,
    sum_of_maps,
)
from hemera.arrays.recorder import user_line
from hemera.arrays.sparse_map import SparseMap, Values
from hemera.errors import ParameterError

Whole = NDArray[np.int64]

MOST_POINTS = 64
"""Different values of an element that is looked up: a table is a polynomial of that many terms."""


def tabulated(x: A, function: Callable[[Values], Any]) -> A | None:
    """A function of arrays of values, element by element, by a table in exact programs; None in others.

    Raises:
        ParameterError: for elements of more than 64 values, and functions whose values are not whole.
    """
    if not recorder_of(x).is_exact:
        return None
    step = int(x.step or 1)
    lowest, highest = _ends(x, step)
    points = int((highest - lowest).max()) + 1
    if points > MOST_POINTS:
        raise ParameterError(
            f"{user_line()}: elements have up to {points} values, from {int(lowest.min()) * step} to "
            f"{int(highest.max()) * step} in steps of {step}, and a look-up has at most {MOST_POINTS}. "
            "Give the inputs a narrower range, or compare after decryption. CKKS compares values with a "
            'step in any range (scheme="ckks", hm.ArraySpec(shape, range=, step=1)), and hm.integers '
            "compares all integers"
        )
    # Elements of the same range are of one kind.
    _, first, kind = np.unique(
        lowest * MOST_POINTS + (highest - lowest), return_index=True, return_inverse=True
    )
    least, most = lowest[first], highest[first]
    low = least
    spread = int(most.max() - least.min()) + 1
    # A table for all elements has plain numbers as coefficients, which take one product less than arrays.
    if (spread - 1).bit_length() == (points - 1).bit_length():
        low = np.full_like(low, low.min())
        points = spread
    places = np.clip(np.arange(points)[:, None] + low, least.min(), most.max())
    values = _whole_values(function, places * step)
    inside = (places >= least) & (places <= most)
    found = _looked_up(x, values, low, kind, step)
    smallest = np.where(inside, values, values.max()).min(axis=0)
    largest = np.where(inside, values, values.min()).max(axis=0)
    recorder_of(x).narrow(number_of(found), smallest[kind], largest[kind])
    facts_of(found).step = common_divisor(values.ravel()) or 1.0
    return found


def _looked_up(x: A, values: Whole, low: Whole, kind: Whole, step: int) -> A:
    """The entries of tables of shape (points, kinds), whose first points are step * low."""
    first, slope = values[0], values[-1] - values[0]
    is_line = (values == first).all() or (len(values) == 2 and not (slope % step).any())
    # The offset below would be rounded for larger products.
    if is_line and np.abs(slope.astype(np.float64) * low).max() < MOST_WHOLE:
        factor = slope // step
        offset = (first - factor * low * step).astype(np.float64)
        return sum_of_maps(x, [(x, SparseMap.scaling(factor[kind]))], x.shape, offset[kind], "i")
    start = -(low * step)[kind].astype(np.float64)
    if start.any():
        x = sum_of_maps(x, [(x, SparseMap.scaling(np.ones(x.size)))], x.shape, start, "i")
    different, which = np.unique(values, axis=1, return_inverse=True)
    own = LookUp(different, np.asarray(which, np.int64).ravel()[kind], step)
    return at_node(x, recorder_of(x).look_up(own, number_of(x)))


def _ends(x: Recorded, step: int) -> Whole:
    """The least and the largest value of each element, in steps: shape (2, size)."""
    bounds = bounds_of(x)
    if max(float(np.abs(end).max()) for end in bounds) >= MOST_WHOLE:
        raise ParameterError(
            f"{user_line()}: values from {bounds[0].min():g} to {bounds[1].max():g} are too large for a "
            "look-up"
        )
    low, high = (end.astype(np.int64) for end in bounds)
    return np.stack([-(-low // step), high // step])


def _whole_values(function: Callable[[Values], Any], points: Whole) -> Whole:
    values = np.asarray(function(points))
    values = np.broadcast_to(values, points.shape).astype(np.float64)
    if not np.isfinite(values).all() or (values != np.round(values)).any():
        wrong = values[~np.isfinite(values) | (values != np.round(values))][0]
        raise ParameterError(
            f"{user_line()}: the function has the value {wrong:g}, and exact programs look up whole "
            "numbers; scale it and round it, as in x.approximated(lambda v: round(1000 * f(v)))"
        )
    if np.abs(values).max() >= MOST_WHOLE:
        raise ParameterError(f"{user_line()}: a value of {np.abs(values).max():g} is beyond 2^53")
    return values.astype(np.int64)
