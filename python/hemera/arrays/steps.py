"""Numbers of which values are integer multiples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["beside_steps", "common_step", "distinct", "multiples", "multiples_within", "step_of_sum"]

Floats = NDArray[np.float64]

_MOST_DISTINCT = 1 << 12
"""Different numbers of which a common step is looked for."""


def beside_steps(values: NDArray[Any], step: float) -> NDArray[np.bool_]:
    """Marks values that are no integer multiples of a step, by more than a thousandth of it."""
    quotients = values / step
    found: NDArray[np.bool_] = np.abs(quotients - np.rint(quotients)) > 2.0**-10
    return found


def multiples(values: Floats, step: float) -> tuple[Floats, NDArray[np.bool_]]:
    """Plain numbers in units of a step, and which are whole: but for roundings, where the step is no power of
    two and multiples of it have some."""
    quotients = values / step
    near = np.rint(quotients)
    slack = 0.0 if math.frexp(step)[0] == 0.5 else 2.0**-26
    is_whole = np.abs(quotients - near) <= slack * np.maximum(1.0, np.abs(near))
    return np.where(is_whole, near, quotients), is_whole


def multiples_within(low: float, high: float, step: float) -> tuple[float, float]:
    """The least and the largest multiple of a step in a range, the first above the second if there is none.
    Ends may be multiples but for roundings: 0.7 is one of 0.1, and 0.7 / 0.1 is below 7."""
    (least, most), _ = multiples(np.array([low, high], np.float64), step)
    return max(low, float(np.ceil(least)) * step), min(high, float(np.floor(most)) * step)


def distinct(values: NDArray[Any]) -> NDArray[Any]:
    """The different values, ascending: as `np.unique`, which imports numpy.ma at its first call."""
    ordered = np.sort(values, axis=None)
    return np.concatenate((ordered[:1], ordered[1:][ordered[1:] != ordered[:-1]]))


def common_step(values: Floats) -> float | None:
    """The largest number of which all of these are integer multiples, nearly; 0 if all are 0, None if none
    is at least 2^-20 of the largest."""
    known = distinct(np.abs(values))
    known = known[known > 0]
    if not len(known) or len(known) > _MOST_DISTINCT:
        return None if len(known) else 0.0
    least = 2.0**-20 * float(known[-1])
    found = 0.0
    for value in known.tolist():
        a, b = value, found
        while b > 2.0**-30 * known[-1]:
            a, b = b, abs(a - b * round(a / b))
        found = a
        if found < least:
            return None
    quotients = known / found
    return found if np.abs(quotients - np.round(quotients)).max() < 2.0**-12 else None


def step_of_sum(steps: Sequence[float | None]) -> float | None:
    """The step of a sum of values with these steps; 0 stands for values that are all 0."""
    if any(each is None for each in steps):
        return None
    return common_step(np.array([each for each in steps if each is not None])) or None
