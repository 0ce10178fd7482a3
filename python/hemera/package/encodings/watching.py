"""Rows that leave the ranges that samples showed: told by name."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from hemera._noise_warning import warn_of_rows
from hemera.errors import FormatError
from hemera.package.specs import OutputSpec

_MOST_NAMED = 8
_WAY_OUT = "Compile with samples that have such rows (calibrate=), or with a larger margin="
_SLACK = 2.0**-20
"""A part of a range: for noise of values at its end."""
_SLACK_OF_RESULTS = 2.0**-6
"""A margin for errors of functions, too."""


def rows_text(outside: NDArray[np.bool_]) -> str:
    """The numbers of rows for people: "row 3 of 5", or "rows 1, 2 and 17 more of 200"; "the row" of one."""
    numbers = np.flatnonzero(outside)
    if outside.size == 1:
        return "the row"
    named = ", ".join(map(str, numbers[:_MOST_NAMED]))
    more = f" and {len(numbers) - _MOST_NAMED} more" if len(numbers) > _MOST_NAMED else ""
    return f"row{'s' * (len(numbers) > 1)} {named}{more} of {outside.size}"


def unwatched_of(data: Iterable[str]) -> tuple[str, ...]:
    """The lines of an encoding's file whose values no output shows."""
    lines = tuple(data)
    if not all(isinstance(each, str) for each in lines):
        raise FormatError(f"{lines} are no lines")
    return lines


def tell_unwatched(lines: Sequence[str]) -> None:
    """Give a RangeWarning that no output shows whether values at these lines stay in their ranges."""
    if lines:
        warn_of_rows(
            f"values at {', '.join(lines)} have the ranges of samples, and nothing shows here whether these "
            "rows stay in them; results of rows that do not are wrong. plan.check(rows) and plan.local() "
            'name such rows, and so do clients of plans with layout="slots", without share= and watch=False'
        )


def tell_rows(
    values: NDArray[np.float64],
    spec: OutputSpec,
    axes: int,
    *,
    rows: int = 0,
    count: int | None = None,
    together: int = 1,
    scale: tuple[float, float] = (1.0, 0.0),
) -> None:
    """Give a RangeWarning that names rows whose values of an output lie outside of its range.

    Args:
        values: of the result, of shape (..., *shape).
        axes: of `shape`; those before are of rows.
        rows: that each entry of the axes before has; 0: it is one.
        count: of all rows, after which others only fill up; None: as many as there are.
        together: rows that share ciphertexts.
        scale: factor and number of values: (value - number) / factor was decrypted.
    """
    least = -np.inf if spec.low is None else spec.low
    most = np.inf if spec.high is None else spec.high
    factor, number = scale
    slack = (_SLACK if spec.watched else _SLACK_OF_RESULTS) * max(abs(least - number), abs(most - number))
    low, high = (least - slack, most + slack) if np.isfinite(slack) else (least, most)
    outside = ~((values >= low) & (values <= high))  # NaN is outside
    before = values.ndim - axes
    each_row = rows > 0 and axes > 0 and values.shape[before] == rows
    each = rows if rows and not each_row else 1  # of a run, of which any may be meant
    runs = math.prod(values.shape[: before + each_row])
    kept = None if count is None else -(-count // each)
    values, outside = values.reshape(runs, -1)[:kept], outside.reshape(runs, -1)[:kept]
    found = np.repeat(outside.any(axis=1), each)[:count]
    if not found.any():
        return
    which = rows_text(found)
    beyond = values[outside]
    farthest = beyond[np.argmax(np.maximum(least - beyond, beyond - most))]
    leaves = "leaves" if found.sum() == 1 else "leave"
    ends = f"from {least:.6g} to {most:.6g}"
    if spec.watched:
        warn_of_rows(
            f"{which} {leaves} the range {ends} that samples gave the values at {spec.watched}, with "
            f"{farthest:.6g}: results are wrong there, or may be{_others(together)}. {_WAY_OUT}"
        )
        return
    possible = spec.reach is not None and abs(farthest - number) <= factor * spec.reach
    wrong = (
        "may have left theirs, and the result may be" if possible else "have left theirs, and the result is"
    )
    warn_of_rows(
        f"{which} {leaves} the range of result {spec.name!r}, {ends}, with {farthest:.6g}: values in between "
        f"{wrong} wrong{_others(together)}. {_WAY_OUT}"
    )


def _others(together: int) -> str:
    return f", and so may be those of other rows, as {together} share ciphertexts" if together > 1 else ""
