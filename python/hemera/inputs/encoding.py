"""From Python's and NumPy's numbers to the arrays of the encoders, and back."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera import _core
from hemera.inputs.arguments import described


def as_doubles(values: ArrayLike, what: str) -> NDArray[np.float64] | NDArray[np.complex128]:
    """An array (..., slots) of real numbers as float64, of complex ones as complex128, contiguous; the array
    itself if it is so. Raises as `as_numbers`."""
    array = as_numbers(values, what)
    return np.asarray(array, np.complex128 if array.dtype.kind == "c" else np.float64, order="C")


def as_integers(values: ArrayLike, what: str, scheme: str) -> NDArray[np.int64]:
    """An array (..., slots) of integers, contiguous. Raises as `as_numbers`, TypeError if they are other
    numbers, ParameterError if one is beyond 64 bits."""
    array = as_numbers(values, what)
    if array.dtype.kind not in "biu":
        raise TypeError(
            f"{what}: {scheme.upper()} computes with integers, not {array.dtype}; round the values to "
            "integers first, or use CKKS"
        )
    if array.dtype == np.uint64 and array.max() > np.iinfo(np.int64).max:
        raise _core.ParameterError(f"{what}: values of 2^63 and more are beyond every plaintext modulus")
    return np.asarray(array, dtype=np.int64, order="C")


def as_numbers(values: ArrayLike, what: str) -> NDArray[Any]:
    """An array of numbers. TypeError if it is none, MismatchError if it has no axis or no value."""
    array = np.asarray(values)
    if array.dtype.kind not in "biufc":
        raise TypeError(f"{what}: an array of numbers is needed, not one of {array.dtype}")
    if array.ndim == 0 or array.size == 0:
        raise _core.MismatchError(
            f"{what}: an array of shape {array.shape} has no values to encode; the last axis holds the "
            "slots, as of [1.5, 2.5]"
        )
    return array


def refuse_table(values: object, what: str) -> None:
    """TypeError if `values` is a data frame (of pandas, polars, ...): each of its rows would be a message."""
    if hasattr(values, "columns") and hasattr(values, "to_numpy"):
        raise TypeError(
            f"{what}: a table is no array, and each of its rows would be a ciphertext; give "
            "frame.to_numpy().T for a ciphertext of each column, or frame.to_numpy() for one of each row"
        )


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


def room_in(out: object, shape: tuple[int, ...]) -> NDArray[Any]:
    """An array that a caller gave for results. TypeError if it is none, MismatchError if it has another
    shape, ParameterError if it can not be written to."""
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out takes a NumPy array, not {described(out)}")
    if out.shape != shape:
        raise _core.MismatchError(f"out is an array of shape {out.shape}, and the values are of {shape}")
    if not out.flags.writeable:
        raise _core.ParameterError("out is an array that can not be written to (flags.writeable)")
    return np.asarray(out)


def power_of_two(count: int) -> int:
    """The least power of two that is not below count >= 1."""
    return 1 << (count - 1).bit_length()


def as_number(value: object) -> int | float | complex | None:
    """`value` as a plain number (also from a NumPy scalar or an array without axes); None if it is none."""
    if isinstance(value, (np.generic, np.ndarray)) and value.ndim == 0:
        value = value.item()
    if isinstance(value, (bool, numbers.Integral)):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    if isinstance(value, numbers.Complex):
        return complex(value)
    return None
