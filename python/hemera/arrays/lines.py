"""Lines of matrices as polynomials, for `hemera.circuits.MatrixBatchProduct`: columns of left factors, rows
of right ones. Slot entry * pairs + pair of a line has an entry of the matrix of a pair, or the value of the
polynomial whose coefficients are the entries."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["as_entries", "as_values"]

Complex = NDArray[np.complex128]

_GENERATOR = 5
"""The generator of the rotations of slots, which gives their order."""


@functools.lru_cache(maxsize=4)
def _powers(slots: int, size: int) -> Complex:
    """Powers of each slot's root of X^N + 1, for N = 2 `slots`: of shape (entries, entries, pairs), the
    exponents first."""
    exponents = [pow(_GENERATOR, slot, 4 * slots) for slot in range(slots)]
    roots: Complex = np.exp(1j * np.pi * np.array(exponents) / (2 * slots))
    return roots.reshape(1, size, -1) ** np.arange(size).reshape(-1, 1, 1)


def as_values(entries: NDArray[Any], size: int) -> Complex:
    """The values of lines of `size` entries, of shape (..., slots)."""
    own = entries.reshape(*entries.shape[:-1], size, -1)
    found: Complex = np.einsum("...up,usp->...sp", own, _powers(entries.shape[-1], size))
    return found.reshape(entries.shape)


def as_entries(values: NDArray[Any], size: int) -> Complex:
    """The entries of lines of such values."""
    own = values.reshape(*values.shape[:-1], size, -1)
    found: Complex = np.einsum("...sp,usp->...up", own, np.conj(_powers(values.shape[-1], size)) / size)
    return found.reshape(values.shape)
