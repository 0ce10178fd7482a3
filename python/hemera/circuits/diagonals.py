"""Diagonals and entries of plain matrices, as the core takes them."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera import _core
from hemera.inputs.plain import plain_array

Numbers = NDArray[np.float64] | NDArray[np.complex128]


def diagonals_by_number(diagonals: Mapping[int, ArrayLike], slots: int) -> tuple[_core.MatrixDiagonals, bool]:
    """Diagonals as the core takes them, and whether one is complex. ParameterError for lengths, numbers and
    entries out of range, and for two of one number."""
    found = _core.MatrixDiagonals()
    is_complex = False
    for number, entries in diagonals.items():
        given = plain_array(entries, "entries")
        if given.ndim == 0:
            given = given.reshape(1)
        elif given.shape != (slots,):
            raise _core.ParameterError(
                f"diagonal {number} has shape {given.shape}; over {slots} slots it is one number, or an "
                f"array of shape ({slots},)"
            )
        at = operator.index(number)
        if not -slots < at < slots:
            raise _core.ParameterError(f"there is no diagonal {at} over {slots} slots")
        if not found.add(at % slots, numbers_of(given)):
            raise _core.ParameterError(f"diagonals {at % slots} and {at % slots - slots} are the same")
        is_complex = is_complex or given.dtype.kind == "c"
    return found, is_complex


def numbers_of(given: NDArray[Any]) -> Numbers:
    """Real numbers as they are, all others as complex ones."""
    if given.dtype.kind in "biuf":
        return np.ascontiguousarray(given, dtype=np.float64)
    return np.ascontiguousarray(given, dtype=np.complex128)


def indices_of(given: ArrayLike, what: str) -> NDArray[np.int64]:
    """Rows or columns. TypeError unless they are integers."""
    found = plain_array(given, "a matrix")
    if found.dtype.kind not in "iu" and found.size:
        raise TypeError(f"{what} of entries are integers, not of type {found.dtype}")
    return np.ascontiguousarray(found, dtype=np.int64)
