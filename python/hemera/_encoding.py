"""From Python's and NumPy's numbers to what the encoders take, and back."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera import _core


def as_complex(values: ArrayLike, what: str) -> NDArray[np.complex128]:
    """An array of real or complex numbers, contiguous; TypeError for anything else."""
    array = np.asarray(values)
    if array.dtype.kind not in "biufc":
        raise TypeError(f"{what}: CKKS takes numbers, not an array of {array.dtype}")
    return np.ascontiguousarray(array, dtype=np.complex128)


def as_integers(values: ArrayLike, what: str, scheme: str) -> NDArray[np.int64]:
    """An array of integers, contiguous; TypeError for anything else, ParameterError beyond 64 bits."""
    array = np.asarray(values)
    if array.dtype.kind not in "biu":
        raise TypeError(
            f"{what}: {scheme.upper()} computes with integers, not {array.dtype}; round the values to "
            "integers first, or use CKKS"
        )
    if array.dtype == np.uint64 and array.size != 0 and array.max() > np.iinfo(np.int64).max:
        raise _core.ParameterError(f"{what}: values of 2^63 and more are beyond every plaintext modulus")
    return np.ascontiguousarray(array, dtype=np.int64)


def pad_slots(array: NDArray[Any], slots: int, what: str) -> NDArray[Any]:
    """The array with zeros appended to its last axis, up to `slots` values."""
    count = array.shape[-1]
    if count == slots:
        return array
    if count > slots:
        raise _core.MismatchError(f"{what}: {count} values do not fit in {slots} slots; use a batch axis")
    padded = np.zeros((*array.shape[:-1], slots), dtype=array.dtype)
    padded[..., :count] = array
    return padded


def power_of_two(count: int) -> int:
    """The least power of two that is not below count >= 1."""
    return 1 << (count - 1).bit_length()


def as_number(value: object) -> int | float | complex | None:
    """A plain number if `value` is one (NumPy scalars and arrays without axes too), else None."""
    if isinstance(value, (np.generic, np.ndarray)) and value.ndim == 0:
        value = value.item()
    if isinstance(value, (bool, numbers.Integral)):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    if isinstance(value, numbers.Complex):
        return complex(value)
    return None
