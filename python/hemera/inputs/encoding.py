"""Turns Python's and NumPy's numbers into the arrays of the encoders, and back."""

from __future__ import annotations

import decimal
import numbers
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera import _core
from hemera.inputs.arguments import described
from hemera.inputs.plain import plain_array, refuse_missing

PAIR = np.dtype([("value", np.float64), ("rest", np.float64)])
"""A real number as the sum of a double and of its rest, some 106 bits."""
COMPLEX_PAIR = np.dtype([("value", np.complex128), ("rest", np.complex128)])
"""The same of a complex number."""


def as_doubles(values: ArrayLike, what: str) -> NDArray[np.float64] | NDArray[np.complex128]:
    """An array (..., slots) of real numbers as float64, of complex ones as complex128, contiguous; the array
    itself if it is so. Raises as `as_numbers`."""
    array = as_numbers(values, what)
    return np.asarray(array, np.complex128 if array.dtype.kind == "c" else np.float64, order="C")


def as_ckks_numbers(values: ArrayLike, what: str, *, wide: bool) -> NDArray[Any]:
    """As `as_doubles`, but numbers of more bits as pairs. Where these can not be (`wide`), long doubles are
    rounded, and pairs a ParameterError."""
    array = as_numbers(values, what)
    if is_wide(array.dtype) and (wide or is_pair(array.dtype)):
        return as_pairs(array)
    return as_doubles(array, what)


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
    array = plain_array(values, what)
    if array.dtype.kind not in "biufc" and not is_pair(array.dtype):
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
        refuse_missing(value, "a number")
        value = value.item()
    if isinstance(value, (bool, numbers.Integral)):
        return int(value)
    if isinstance(value, (numbers.Real, decimal.Decimal)):
        return float(value)
    if isinstance(value, numbers.Complex):
        return complex(value)
    return None


# --- Numbers of more bits than doubles. ---


def is_pair(dtype: np.dtype[Any]) -> bool:
    """Whether it is PAIR or COMPLEX_PAIR."""
    return dtype in (PAIR, COMPLEX_PAIR)


def is_wide(dtype: np.dtype[Any]) -> bool:
    """Whether its numbers have more bits than doubles: pairs, and long doubles where they do."""
    if dtype.kind in "fc" and dtype.itemsize > (8 if dtype.kind == "f" else 16):
        return int(np.finfo(dtype).nmant) > 52
    return is_pair(dtype)


def kind_of(dtype: np.dtype[Any]) -> str:
    """NumPy's kind of the numbers: "f", "c" and so on."""
    return dtype["value"].kind if is_pair(dtype) else dtype.kind


def as_pairs(array: NDArray[Any]) -> NDArray[Any]:
    """Wide numbers as pairs, contiguous: the same array if it is so."""
    if is_pair(array.dtype):
        return np.ascontiguousarray(array)
    result = np.empty(array.shape, COMPLEX_PAIR if array.dtype.kind == "c" else PAIR)
    result["value"] = array
    result["rest"] = array - result["value"]
    return result


def difference(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """a - b as doubles, of numbers of any kind; of wide ones that are nearly equal it is exact."""
    if not (is_wide(a.dtype) or is_wide(b.dtype)):
        return np.asarray(a - b)
    first, second = as_pairs(a), as_pairs(b)
    return np.asarray((first["value"] - second["value"]) + (first["rest"] - second["rest"]))


def joined(values: NDArray[Any], rests: NDArray[Any], out: NDArray[Any]) -> None:
    """Fills an array of pairs or of long doubles."""
    if is_pair(out.dtype):
        out["value"], out["rest"] = values, rests
    else:
        np.add(values, rests, out=out, dtype=out.dtype)
