"""Kinds of values: truth values, whole and real numbers, which NumPy's operators treat differently."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np

__all__ = ["DTYPES", "Kind", "are_truths", "kind_of", "of_numbers", "promoted"]

Kind = Literal["b", "i", "f"]
"""As the kinds of NumPy's types: "b" of truth values, "i" of whole numbers, "f" of real ones."""

DTYPES: dict[Kind, np.dtype[Any]] = {
    "b": np.dtype(np.bool_),
    "i": np.dtype(np.int64),
    "f": np.dtype(np.float64),
}
"""NumPy's type of each kind."""


def kind_of(value: Any) -> Kind:
    """The kind of an encrypted array, or of plain numbers; "f" for what is neither."""
    own: Kind | None = getattr(value, "_kind", None)
    if own is not None:
        return own
    if isinstance(value, (bool, np.bool_)):
        return "b"
    if isinstance(value, (int, float)):
        return "i" if isinstance(value, int) else "f"
    try:
        found = np.asarray(value).dtype.kind
    except (TypeError, ValueError):
        return "f"
    return "b" if found == "b" else "i" if found in "iu" else "f"


def promoted(kinds: Iterable[Kind]) -> Kind:
    """The least kind that holds values of all these."""
    return max(kinds, key="bif".index)


def of_numbers(kinds: Iterable[Kind]) -> Kind:
    """The kind of sums and products of these: truth values count as 0 and 1."""
    return promoted(("i", *kinds))


def are_truths(*values: Any) -> bool:
    """Whether all are truth values."""
    return all(kind_of(value) == "b" for value in values)
