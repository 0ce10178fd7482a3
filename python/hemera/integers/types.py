"""NumPy's rules of integer types, for encrypted operands."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera import _core
from hemera.inputs.arguments import described
from hemera.inputs.plain import plain_array
from hemera.integers.layout import DIGIT_BITS

DType = np.dtype[Any]

WIDTHS = (8, 16, 32, 64)
"""The bits of integers that contexts and types have."""
TYPES = ("bool", *(f"{kind}int{bits}" for kind in ("u", "") for bits in WIDTHS))
"""NumPy's names of the types of encrypted values."""


def integer_type(dtype: object, bits: int) -> DType:
    """A type of integers that a context of this number of bits holds, in the machine's order of bytes.

    Raises:
        TypeError: if it is another one.
    """
    found: DType = np.dtype(dtype).newbyteorder("=")  # type: ignore[call-overload]
    if found.kind not in "iu":
        raise TypeError(f"integers are of uint8 to uint64 and int8 to int64, not of {found}")
    if found.itemsize * 8 > bits:
        raise TypeError(
            f"this context has integers of {bits} bits, not {found}; make one with more: Context(bits=)"
        )
    return found


def digits_of(dtype: DType) -> int:
    """The digits of a type's integers."""
    return dtype.itemsize * 8 // DIGIT_BITS


def as_words(values: NDArray[Any]) -> NDArray[np.uint64]:
    """Integers as 64-bit words, two's complements cut to their own width."""
    return values.astype(np.dtype(f"u{values.dtype.itemsize}")).astype(np.uint64)


def from_words(words: NDArray[np.uint64], dtype: DType) -> NDArray[Any]:
    """The inverse of `as_words`."""
    return words.astype(np.dtype(f"u{dtype.itemsize}")).view(dtype)


def common_type(operation: str, left: DType, right: DType) -> DType:
    """NumPy's type of a result.

    Raises:
        TypeError: if it is no integer type.
    """
    found = np.result_type(left, right)
    if found.kind not in "iu":
        raise TypeError(
            f"{operation}: NumPy's type of {left} and {right} is {found}, and encrypted numbers are "
            "integers; bring one to the other's type with astype"
        )
    return found


def common_shape(operation: str, left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    """The shape to which both broadcast by NumPy's rules.

    Raises:
        MismatchError: if there is none.
    """
    try:
        return np.broadcast_shapes(left, right)
    except ValueError:
        raise _core.MismatchError(
            f"{operation}: operands of shapes {left} and {right} do not broadcast to one"
        ) from None


def summed_axes(
    shape: tuple[int, ...], axis: int | tuple[int, ...] | None, keepdims: bool
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes that a sum of NumPy takes, from 0 on, and the shape of its result.

    Raises:
        AxisError, ValueError, TypeError: as NumPy's.
    """
    given = axis if axis is None or isinstance(axis, tuple) else operator.index(axis)
    found: tuple[int, ...] = np.shape(
        np.sum(np.broadcast_to(np.False_, shape), axis=given, keepdims=keepdims)
    )
    if given is None:
        return tuple(range(len(shape))), found
    axes = given if isinstance(given, tuple) else (given,)
    return tuple(sorted(k % len(shape) for k in axes if shape)), found


def plain_values(operation: str, values: object, bits: int) -> NDArray[Any]:
    """Plain integers or booleans as an array. NumPy's keep their type; Python's, alone or in lists,
    are of NumPy's default type, or of the widest signed one of a context of fewer bits.

    Raises:
        OverflowError: if Python's integers are out of the type's range.
    """
    found = plain_array(values, operation)
    is_of_python = isinstance(values, (int, list, tuple)) and not isinstance(values, np.generic)
    if not is_of_python or found.dtype.kind not in "iuO" or (bits == 64 and found.dtype.kind != "O"):
        return found
    if found.dtype not in (np.int64, np.uint64, np.object_):  # NumPy's scalars in a list
        return found
    widest = np.dtype(f"i{bits // 8}")
    for each in found.reshape(-1).tolist():
        if not isinstance(each, int):
            raise TypeError(f"{operation}: the values are integers, not {described(each)}")
        in_range(each, widest)
    return found.astype(widest)


def in_range(value: int, dtype: DType) -> int:
    """The value. OverflowError, as NumPy's, if a type does not hold it."""
    limits = np.iinfo(dtype)
    if not limits.min <= value <= limits.max:
        raise OverflowError(f"Python integer {value} out of bounds for {dtype}")
    return value


def plain_operand(operation: str, value: object, dtype: DType, bits: int) -> NDArray[Any]:
    """An operand that is not encrypted: a Python integer, which takes the other's type, or integers of NumPy.
    Truth values count as 0 and 1 of the other's type.

    Raises:
        TypeError: if it is something else.
        OverflowError: if a Python integer is out of the type's range.
    """
    if isinstance(value, int):
        return np.asarray(in_range(int(value), dtype), dtype)
    if isinstance(value, (np.ndarray, np.generic, list, tuple)):
        found = plain_values(operation, value, bits)
        if found.dtype.kind == "b":
            return found.astype(dtype)
        if found.dtype.kind in "iu":
            return found
        if found.dtype.kind == "f":
            raise TypeError(f"{operation}: encrypted integers and numbers of {found.dtype} do not mix")
    raise TypeError(f"{operation}: the operand is an integer or an array of integers, not {described(value)}")


def compared_values(
    comparison: np.ufunc, value: object, dtype: DType, bits: int
) -> tuple[NDArray[Any], NDArray[np.bool_], NDArray[np.bool_]]:
    """Plain values that values of a type are compared with: those that the type holds, with 0 in place of the
    others; which ones it holds; and what the comparison with the others is.

    Raises:
        TypeError: if they are no integers.
    """
    if isinstance(value, int):
        numbers = np.asarray(int(value), object)
    else:
        numbers = plain_operand(comparison.__name__, value, dtype, bits)
    limits = np.iinfo(dtype)
    inside = np.asarray((numbers >= limits.min) & (numbers <= limits.max), np.bool_)
    decided = np.asarray(comparison(0, numbers), np.bool_)
    return np.where(inside, numbers, 0).astype(dtype), inside, decided
