"""Values of a program before there are any: their slots and batches, and the constants beside them."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hemera.errors import MismatchError, ParameterError
from hemera.program.stored_arrays import StoredArray

Array = NDArray[Any]
SchemeName = Literal["ckks", "bfv", "bgv"]
SCHEME_NAMES: tuple[SchemeName, ...] = ("ckks", "bfv", "bgv")

MAX_SLOTS = 1 << 17
MAX_AXES = 8
MAX_ELEMENTS = 1 << 20
"""Ciphertexts of one value: of a request's batch."""
MAX_UPLOAD = 1 << 50
"""The largest limit of bytes of keys to upload."""
MAX_PASSES = 16
"""The most passes of an exact bootstrap."""


@dataclass(frozen=True)
class Form:
    """The form of a value: the slots of its ciphertexts, and the batch that one request has of it."""

    slots: int
    shape: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not 1 <= self.slots <= MAX_SLOTS:
            raise ParameterError(f"a value of {self.slots} slots; there are 1 to {MAX_SLOTS}")
        if (
            len(self.shape) > MAX_AXES
            or min(self.shape, default=1) < 1
            or math.prod(self.shape) > MAX_ELEMENTS
        ):
            raise ParameterError(
                f"a batch of shape {self.shape} for each request; at most {MAX_AXES} axes and {MAX_ELEMENTS} "
                "ciphertexts"
            )


@dataclass(frozen=True)
class Filling:
    """The slots of a value that hold the model's input, as `hemera.Ciphertext.filled` says of ciphertexts."""

    count: int
    """The first ones; the slots' number where all do."""
    padding: Literal["zeros", "unknown", "values", "uniform"] = "zeros"
    """The contents of the other slots."""

    def without_zeros(self) -> Filling:
        """After an operation that does not keep 0."""
        return replace(self, padding="unknown") if self.padding == "zeros" else self

    def joined(self, other: Filling, operation: str, slots: int, *, product: bool = False) -> Filling:
        """The filling of a sum, or a product, of values of `slots` slots. MismatchError if both are filled in
        part, to different counts."""
        if self.padding == other.padding == "uniform":
            return Filling(min(self.count, other.count), "uniform")
        for one, another in ((self, other), (other, self)):
            if one.padding == "uniform":
                return another if product else another.without_zeros()
        partial = [each for each in (self, other) if each.count < slots]
        if len(partial) == 2:
            if self.count != other.count:
                raise MismatchError(
                    f"{operation}: values of {self.count} and of {other.count} slots do not fit each other"
                )
            paddings = {self.padding, other.padding}
            if "zeros" in paddings and (product or len(paddings) == 1):
                return replace(self, padding="zeros")
            return replace(self, padding="values" if "values" in paddings else "unknown")
        if product and partial and partial[0].padding == "zeros":
            return partial[0]
        return Filling(slots)


def common_form(operation: str, forms: list[Form]) -> Form:
    """The form of an operation slot by slot. MismatchError where slots or batches do not fit."""
    slots = {form.slots for form in forms}
    if len(slots) != 1:
        raise MismatchError(f"{operation}: values of {sorted(slots)} slots do not fit each other")
    return Form(forms[0].slots, common_shape(operation, [form.shape for form in forms]))


def common_shape(operation: str, shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    """The batch to which several broadcast, as in NumPy."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise MismatchError(f"{operation}: batches of shapes {shapes} do not fit, as in NumPy") from None


def form_with_array(operation: str, form: Form, array: Array) -> Form:
    """The form of an operation slot by slot with an array of shape (..., slots or fewer, or 1)."""
    if array.ndim == 0 or not 1 <= array.shape[-1] <= form.slots:
        raise MismatchError(
            f"{operation}: an array of shape {array.shape} and a value of {form.slots} slots do not fit; the "
            "last axis holds the slots"
        )
    return Form(form.slots, common_shape(operation, [form.shape, array.shape[:-1]]))


def constant(values: Any, scheme: SchemeName, what: str) -> Array:
    """An array that a program keeps: int64 for BFV and BGV, float64 or complex128 for CKKS; a read-only copy,
    which operations that take the same array of a file share.

    Raises:
        TypeError: for values that are no numbers of the scheme.
        ParameterError: for no values, or ones that are not finite.
    """
    array = values if isinstance(values, StoredArray) else np.asarray(values)
    if array.dtype.kind not in "biufc" or 0 in array.shape:
        raise TypeError(f"{what}: an array of numbers is needed, not one of {array.dtype} and {array.shape}")
    if scheme != "ckks" and array.dtype.kind not in "biu":
        raise TypeError(f"{what}: {scheme.upper()} computes with integers, not {array.dtype}")
    if scheme != "ckks":
        return read_only(array, np.int64)
    found = read_only(array, np.complex128 if array.dtype.kind == "c" else np.float64)
    # A file's values were looked at when they were made.
    if not isinstance(array, StoredArray) and not np.isfinite(found).all():
        raise ParameterError(f"{what}: values must be finite")
    return found


def read_only(values: Any, kind: DTypeLike) -> Array:
    """A read-only copy in a type, in C order; of an array of a file the one that all operations share."""
    if isinstance(values, StoredArray):
        return values.converted(kind)
    found = np.array(values, dtype=kind, order="C")
    found.flags.writeable = False
    return found


def integer(value: object, what: str, low: int, high: int) -> int:
    """An integer in a range. TypeError or ParameterError."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{what} must be an integer, not {type(value).__name__}")
    number = operator.index(value)
    if not low <= number <= high:
        raise ParameterError(f"{what} must be from {low} to {high}, not {number}")
    return number


def real(value: object, what: str) -> float:
    """A finite number. TypeError or ParameterError."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{what} must be a number, not {type(value).__name__}")
    number = float(value)
    if not math.isfinite(number):
        raise ParameterError(f"{what} must be finite, not {number}")
    return number


class Constant:
    """The result of `Recorder.encode`, in a plaintext's place."""

    def __init__(self, values: Array, slots: int) -> None:
        self.values = values
        self.slots = slots

    @property
    def shape(self) -> tuple[int, ...]:
        """The plaintext's batch."""
        return cast("tuple[int, ...]", self.values.shape[:-1])


def real_number(number: complex) -> Any:
    """The number. TypeError if it is complex."""
    if isinstance(number, complex):
        raise TypeError("a recorded program takes real numbers; put complex ones into an array")
    return number


def array_of(values: object) -> Array:
    """The array of a constant, or of numbers. TypeError for anything else."""
    if isinstance(values, Constant):
        return values.values
    array = np.asarray(values)
    if array.dtype.kind not in "biufc":
        raise TypeError(f"a recorded program takes numbers and arrays of them, not {type(values).__name__}")
    return array
