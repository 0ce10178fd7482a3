"""Numbers, types and attributes of an ONNX file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.recorder import MOST_ELEMENTS
from hemera.errors import FormatError, ParameterError
from hemera.inputs.fields import SAYS_MORE

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


KINDS = {
    1: "float",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    9: "bool",
    10: "float16",
    11: "double",
    12: "uint32",
    13: "uint64",
    16: "bfloat16",
}
"""ONNX's names of types by their numbers (`onnx.TensorProto.DataType`). Others are refused."""
UNKNOWN = "unknown"
"""The type of results of functions that were given in the place of operators."""
DTYPES: dict[str, np.dtype[Any]] = {
    "float": np.dtype(np.float32),
    "double": np.dtype(np.float64),
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(np.float32),
    "bool": np.dtype(np.bool_),
    **{name: np.dtype(name) for name in KINDS.values() if "int" in name},
}
"""How values of a type are held: bfloat16 as the float32 that each of its numbers is."""


def is_real(kind: str) -> bool:
    """Whether it is a type of floating-point numbers, or unknown."""
    return kind not in DTYPES or DTYPES[kind].kind == "f"


def limits_of(kind: str) -> tuple[int, int]:
    """The least and the largest number of a type of integers or truth values."""
    if kind == "bool":
        return 0, 1
    own = np.iinfo(DTYPES[kind])
    return int(own.min), int(own.max)


def converted(values: NDArray[Any], kind: str) -> NDArray[Any]:
    """Plain values in a type, by ONNX's rules of `Cast`: fractions are cut off, integers wrap around, and
    truth values are what is not 0.

    Raises:
        ParameterError: for numbers beyond the integers of the type, of which ONNX does not say what they are.
    """
    if kind == "bfloat16":
        return _bfloat16(values)
    if values.dtype.kind == "f" and DTYPES[kind].kind in "iu":
        low, high = limits_of(kind)
        whole = np.trunc(values)
        # As floats: the largest number of a type can be one that they have not, and the next is too large.
        if not ((whole >= float(low)) & (whole < float(high + 1))).all():
            raise ParameterError(
                f"numbers outside of {low} to {high}, or none, are cast to {kind}, which ONNX leaves open"
            )
    with np.errstate(over="ignore", invalid="ignore"):
        return values.astype(DTYPES[kind])


def _bfloat16(values: NDArray[Any]) -> NDArray[Any]:
    """The nearest numbers of 8 bits, ties to even, as float32."""
    with np.errstate(over="ignore", invalid="ignore"):
        bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    nearest = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    # What is no number stays none: its bits could carry into those of infinity.
    kept = np.where(np.isnan(values), np.uint64(0x7FC00000), nearest)
    return kept.astype(np.uint32).view(np.float32)


def result_kinds(schema: Any, operands: Sequence[str | None], results: int) -> list[str]:
    """The types of a node's results, by ONNX's schema; `UNKNOWN` where it states none.

    Args:
        operands: types of the operands, `UNKNOWN` for those that may be of any; None: left out.

    Raises:
        FormatError: for operands that the schema does not take, and results that it does not have.
    """
    allowed = {each.type_param_str: set(each.allowed_type_strs) for each in schema.type_constraints}
    formal = list(schema.inputs)
    if not schema.min_input <= len(operands) <= schema.max_input:
        raise FormatError(
            f"{len(operands)} operands; it takes {schema.min_input} to {schema.max_input} of them"
        )
    if not schema.min_output <= results <= schema.max_output:
        raise FormatError(f"{results} results; it has {schema.min_output} to {schema.max_output} of them")
    known: dict[str, str] = {}
    for at, kind in enumerate(operands):
        own = formal[min(at, len(formal) - 1)]
        if kind is None:
            if own.option == type(own.option).Single:
                raise FormatError(f"the operand {own.name!r} is left out")
            continue
        if kind == UNKNOWN:
            continue
        name, text = own.type_str, f"tensor({kind})"
        if text not in allowed.get(name, {name}):
            raise FormatError(f"an operand {own.name!r} of {kind}, which it does not take")
        if own.is_homogeneous and known.setdefault(name, text) != text:
            raise FormatError(f"operands of {known[name]} and {text}, where one type is needed")
    found = []
    for at in range(results):
        own = schema.outputs[min(at, len(schema.outputs) - 1)]
        own_kinds = allowed.get(own.type_str, {own.type_str})
        text = known.get(own.type_str) or (next(iter(own_kinds)) if len(own_kinds) == 1 else "")
        found.append(text.removeprefix("tensor(").removesuffix(")") or UNKNOWN)
    return found
