"""TenSEAL's files: messages of Protocol Buffers, whose fields are objects of SEAL (docs/tenseal.md).

The wire format: https://protobuf.dev/programming-guides/encoding/. Fields from 1001 are Hemera's own; TenSEAL
skips them.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from hemera.errors import FormatError

Value: TypeAlias = "int | float | bytes"
"""A field: a whole number of 0 or more, a double, or bytes (which a message within a message is, too)."""

_VARINT, _DOUBLE, _BYTES, _FLOAT = 0, 1, 2, 5
_LONGEST_VARINT = 10


def write_message(fields: Mapping[int, Value | Sequence[Value]]) -> bytes:
    """A message of these fields, by number; a sequence is a repeated field."""
    parts = []
    for number, values in fields.items():
        for value in [values] if isinstance(values, (int, float, bytes)) else values:
            if isinstance(value, bytes):
                parts += [_varint(number << 3 | _BYTES), _varint(len(value)), value]
            elif isinstance(value, float):
                parts += [_varint(number << 3 | _DOUBLE), struct.pack("<d", value)]
            else:
                parts += [_varint(number << 3 | _VARINT), _varint(value)]
    return b"".join(parts)


def read_message(data: bytes) -> dict[int, list[Value]]:
    """The fields of a message by number, each with its values in their order.

    Raises:
        FormatError: if the bytes are no message.
    """
    found: dict[int, list[Value]] = {}
    at = 0
    while at < len(data):
        key, at = _read_varint(data, at)
        number, kind = key >> 3, key & 7
        value: Value
        if kind == _VARINT:
            value, at = _read_varint(data, at)
        elif kind == _BYTES:
            length, at = _read_varint(data, at)
            value, at = _cut(data, at, length)
        elif kind in (_DOUBLE, _FLOAT):
            size, name = (8, "<d") if kind == _DOUBLE else (4, "<f")
            raw, at = _cut(data, at, size)
            value = float(struct.unpack(name, raw)[0])
        else:
            raise _damaged(f"there is no field of kind {kind}")
        found.setdefault(number, []).append(value)
    return found


def whole_numbers(values: Sequence[Value]) -> list[int]:
    """The numbers of a repeated field, packed into one value or not."""
    numbers: list[int] = []
    for value in values:
        if isinstance(value, bytes):
            at = 0
            while at < len(value):
                number, at = _read_varint(value, at)
                numbers.append(number)
        elif isinstance(value, int):
            numbers.append(value)
        else:
            raise _damaged("a whole number is a double")
    return numbers


def _varint(number: int) -> bytes:
    parts = bytearray()
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    parts.append(number)
    return bytes(parts)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """The number at a place, and the place after it."""
    number = 0
    for index, byte in enumerate(data[at : at + _LONGEST_VARINT]):
        number |= (byte & 127) << 7 * index
        if byte < 128:
            return number, at + index + 1
    raise _damaged("a number has no end")


def _cut(data: bytes, at: int, length: int) -> tuple[bytes, int]:
    """`length` bytes from a place, and the place after them."""
    if length > len(data) - at:
        raise _damaged(f"{length} bytes are announced where {len(data) - at} are left")
    return data[at : at + length], at + length


def _damaged(reason: str) -> FormatError:
    return FormatError(f"the bytes are no message of TenSEAL: {reason}")
