"""Differences of values and of their largest or smallest ones, which have one sign, but for errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hemera.arrays.facts import Extreme, Facts
from hemera.arrays.sparse_map import Indices, SparseMap, scaling_of


def moved_extreme(known: Extreme | None, own: SparseMap) -> Extreme | None:
    """What is known of elements that a map moves or repeats: nothing, unless they stay, or each comes to the
    places of all elements that it is the largest or smallest of."""
    if known is None or own.is_identity:
        return known
    if not own.is_selection or own.entries != own.outputs or not np.array_equal(own.columns, known.places):
        return None
    return replace(known, places=np.arange(own.outputs))


def difference_bound(
    facts: Sequence[Facts], terms: Sequence[tuple[int, SparseMap]]
) -> tuple[int, float] | None:
    """The sign of a difference of values and of an extreme of theirs, or of two extremes, and how far it may
    be beyond 0; None for other sums."""
    (a, first), (b, second) = terms
    factor, other = scaling_of(first), scaling_of(second)
    if not factor or other != -factor:
        return None
    for x, y, scale in ((a, b, factor), (b, a, -factor)):
        found = _sign_of_difference(facts[x].extreme, facts[y], y)
        if found is not None:
            sign, slack = found
            return (sign, slack * scale) if scale > 0 else (-sign, -slack * scale)
    return None


def _sign_of_difference(extreme: Extreme | None, other: Facts, number: int) -> tuple[int, float] | None:
    """The sign of extreme values less others, and how far they may be beyond 0; None: not known."""
    if extreme is None:
        return None
    if extreme.of == number and np.array_equal(extreme.places, np.arange(extreme.places.size)):
        return extreme.sign, extreme.slack
    second = other.extreme
    if second is None or second.of != extreme.of or second.sign == extreme.sign:
        return None
    same = np.array_equal(second.places, extreme.places)
    return (extreme.sign, extreme.slack + second.slack) if same else None


def places_over(shape: tuple[int, ...], kept: tuple[int, ...]) -> Indices:
    """For each element of an array the number of the result that it is reduced to, where axes are kept."""
    numbers = np.arange(int(np.prod(kept))).reshape(kept)
    return np.broadcast_to(numbers, shape).ravel()
