"""Weights of rows: which values of a column are there, and which rows filters leave."""

from __future__ import annotations

from typing import Any

import numpy as np

from hemera.arrays import Array
from hemera.arrays.recorded import of_kind

__all__ = ["Weight", "as_truths", "joined", "length"]

Weight = Any
"""None: true everywhere; else truth values for each row, an `Array` or a plain array."""


def joined(a: Weight, b: Weight) -> Weight:
    """Whether two weights are both true."""
    if a is None or b is None:
        return b if a is None else a
    return a if a is b else np.bitwise_and(a, b)


def as_truths(values: Any) -> Any:
    """0 and 1, encrypted or plain, as truth values."""
    return of_kind(values, "b") if isinstance(values, Array) else np.asarray(values).astype(np.bool_)


def length(rows: int, weight: Weight) -> int:
    """How many of the rows are left. TypeError where that is encrypted."""
    if weight is None:
        return rows
    if isinstance(weight, Array):
        raise TypeError(
            "how many rows encrypted filters leave is encrypted: count() of the table, or of a column, is it"
        )
    return int(np.count_nonzero(weight))
