"""Numbers and attributes of an ONNX file."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.recorder import MOST_ELEMENTS
from hemera.compiler.networks.kinds import DTYPES, KINDS
from hemera.errors import FormatError
from hemera.inputs.fields import SAYS_MORE

__all__ = ["MOST_KEPT", "array_of", "bytes_of", "text_of", "value_of"]

MOST_KEPT = 1 << 30
"""Bytes of all plain arrays of a network together."""
_MOST_AXES = 16
_MOST_LISTED = 1 << 10
"""Numbers of an attribute that is a list."""
_ATTRIBUTES = {1: "f", 2: "i", 3: "s", 4: "t", 6: "floats", 7: "ints"}
"""The field of an attribute by its kind (onnx.AttributeProto.AttributeType)."""


def text_of(value: str | bytes) -> str:
    """A name: protobuf gives bytes where a damaged one is no text."""
    return value if isinstance(value, str) else value.decode("utf-8", "replace")


def bytes_of(tensors: Any) -> int:
    """The bytes that tensors take as arrays, by their shapes."""
    return sum(
        min(math.prod(each.dims), MOST_ELEMENTS) * DTYPES[KINDS[each.data_type]].itemsize
        for each in tensors
        if each.data_type in KINDS and min(each.dims, default=1) > 0
    )


def array_of(onnx: Any, source: str, tensor: Any) -> NDArray[Any]:
    """A tensor of numbers, as `DTYPES` has its type.

    Raises:
        FormatError: for one in another file, of another type, of too many elements, and for damaged ones.
    """
    count = math.prod(tensor.dims)
    kind = KINDS.get(tensor.data_type)
    if tensor.data_location == onnx.TensorProto.EXTERNAL or tensor.external_data:
        raise FormatError(f"{source}: {tensor.name!r} is in another file; save the network as one file")
    told = f"{tensor.name!r} of type {kind or tensor.data_type} and shape {list(tensor.dims)}"
    if kind is None or len(tensor.dims) > _MOST_AXES or not 0 <= count <= MOST_ELEMENTS:
        raise FormatError(
            f"{source}: {told}: there is no such array; arrays are of floats, integers and truth values, "
            f"and have at most {MOST_ELEMENTS} elements"
        )
    width = 2 if kind == "bfloat16" else DTYPES[kind].itemsize
    if any(extent < 0 for extent in tensor.dims) or (
        tensor.HasField("raw_data") and len(tensor.raw_data) != count * width
    ):
        raise FormatError(f"{source}: {told} has other bytes")
    try:
        found = np.asarray(onnx.numpy_helper.to_array(tensor)).astype(DTYPES[kind])
    except SAYS_MORE:
        raise
    except Exception as error:  # whatever a damaged tensor brings about
        raise FormatError(f"{source}: {tensor.name!r}: {error}") from error
    if found.size != count:
        raise FormatError(f"{source}: {told} has other numbers")
    return found


def value_of(onnx: Any, source: str, attribute: Any) -> Any:
    """The value of an attribute; None: its kind is one that no operator here takes."""
    field = _ATTRIBUTES.get(attribute.type)
    if field is None:
        return None
    value = getattr(attribute, field)
    if field == "t":
        return array_of(onnx, source, value)
    if field == "s":
        return text_of(value)
    if field not in ("floats", "ints"):
        return value
    # A list has 32 bytes a number: long ones are of constants.
    kind = np.float32 if field == "floats" else np.int64
    return list(value) if len(value) <= _MOST_LISTED else np.fromiter(value, kind, len(value))
