"""The file of a packaged model: a magic, a JSON header, arrays one after the other, and a checksum.

    bytes 0-15       magic
    bytes 16-23      H, the length of the header, little-endian
    H bytes          JSON: {"version": 2, "arrays": [[type, shape, bytes], ...], "order": [...],
                     "content": {...}}
    the arrays       little-endian, in C order, each in the narrowest integer type that holds it; compressed
                     (RFC 1950) where that is shorter, and then `bytes` is less than the array has
    last 32 bytes    SHA-256 of all before

Version 1 has no `bytes`, and no array is compressed. Everything is checked before memory is taken, and
nothing in it is run. Arrays are expanded when operations take them, within the room of `memory_limit`.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from hemera.errors import FileError, FormatError, ParameterError
from hemera.inputs.source import Source, read_bytes
from hemera.program.stored_arrays import Room, StoredArray
from hemera.program.values import Array

MAGIC = b"\x89HEMMODEL\r\n\x1a\n\x00\x00\x00"
VERSION = 2
MAX_BYTES = 1 << 30
"""The most bytes of a file, and of its arrays together."""
MAX_HEADER = 32 << 20
MAX_ARRAYS = 200_000
MAX_VALUES = 1 << 22
"""The most values of a header, by its commas and opening brackets: each becomes an object of some 100 bytes.
So many arrays have 1.4 million, and the operations of the largest program as many."""
_MAX_AXES = 8
_DIGEST = 32
_EFFORT = 6
_PIECE = 1 << 20
_TYPES = ("<i1", "<i2", "<i4", "<i8", "<f8", "<c16")

_WIDENED = 8
"""Times its bytes in a file that an array takes in memory, where the file does not compress it: int8 as
float64."""

AnySource = Source | BinaryIO


def memory_limit(file_bytes: int) -> int:
    """Bytes that the arrays of a model may take in memory, for a file of `file_bytes`: 1 GiB, or what numbers
    of such a file take that are not compressed, if that is more."""
    return max(MAX_BYTES, _WIDENED * file_bytes)


def is_model(path: str) -> bool:
    """Whether a file begins as a packaged model does; False for one that can not be read."""
    try:
        with Path(path).open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def read_all(source: AnySource, limit: int) -> bytes:
    """All bytes of a source. FormatError for more than the limit, FileError where a file can not be read."""
    if hasattr(source, "read"):
        try:
            data = _up_to(cast(BinaryIO, source), limit + 1, _PIECE)
        except OSError as error:
            raise FileError(f"cannot read the model: {error}") from None
    elif isinstance(source, (bytes, bytearray, memoryview)):
        data = bytes(source)
    else:
        try:
            with open(source, "rb") as file:  # noqa: PTH123 - reads no more than the limit
                data = _up_to(file, limit + 1, os.fstat(file.fileno()).st_size + 1)
        except OSError:
            data = read_bytes(source)  # says what is wrong
    if len(data) > limit:
        raise FormatError(f"the model has more than {limit} bytes")
    return data


def _up_to(stream: BinaryIO, most: int, first: int) -> bytes:
    """The bytes of a stream, at most `most`. No more memory is asked for than there are, or than for the
    first piece."""
    pieces: list[bytes] = []
    left, size = most, first
    while left > 0:
        piece = stream.read(min(size, left))
        if not isinstance(piece, bytes):
            raise TypeError("a model is read from a binary stream, and this is one of text")
        if not piece:
            break
        pieces.append(piece)
        left, size = left - len(piece), _PIECE
    return b"".join(pieces)


def write(content: dict[str, Any], arrays: Sequence[Array]) -> bytes:
    """The bytes of a file."""
    blocks: list[bytes] = []
    places: dict[tuple[str, tuple[int, ...], bytes], int] = {}
    kept: list[list[Any]] = []
    order: list[int] = []
    for array in arrays:
        narrow = _narrowed(array)
        whole = narrow.tobytes()
        # Arrays that stand in several places are kept once.
        key = (narrow.dtype.str, narrow.shape, hashlib.sha256(whole).digest())
        if key not in places:
            block = min(whole, zlib.compress(whole, _EFFORT), key=len)
            places[key] = len(blocks)
            blocks.append(block)
            kept.append([_TYPES[_type_of(narrow)], list(narrow.shape), len(block)])
        order.append(places[key])
    header = json.dumps(
        {"version": VERSION, "arrays": kept, "order": order, "content": content},
        separators=(",", ":"),
        allow_nan=False,
    ).encode()
    file = b"".join([MAGIC, len(header).to_bytes(8, "little"), header, *blocks])
    return file + hashlib.sha256(file).digest()


def read(data: bytes) -> tuple[dict[str, Any], list[StoredArray]]:
    """Content and arrays of a file's bytes. FormatError for anything else; damage of a compressed array is
    found when it is taken."""
    begin = len(MAGIC) + 8
    if data[: len(MAGIC)] != MAGIC:
        raise FormatError("not a packaged model: it does not begin as one")
    if len(data) < begin + _DIGEST:
        raise FormatError("the packaged model is cut off")
    length = int.from_bytes(data[len(MAGIC) : begin], "little")
    if length > MAX_HEADER or begin + length + _DIGEST > len(data):
        raise FormatError(f"the packaged model is cut off: its header has {length} bytes")
    if hashlib.sha256(memoryview(data)[:-_DIGEST]).digest() != data[-_DIGEST:]:
        raise FormatError("the packaged model is damaged: its checksum does not fit")
    text = data[begin : begin + length]
    if (values := _values_of(text)) > MAX_VALUES:
        raise FormatError(f"the header of the model has {values} values, and at most {MAX_VALUES} are read")
    try:
        header = json.loads(text, parse_constant=_no_constant)
        if header["version"] not in (1, VERSION):
            raise FormatError(
                f"the model is of version {header['version']!r} of the format, and this reads 1 to "
                f"{VERSION}; take a newer Hemera"
            )
        content, order = header["content"], header["order"]
        room = Room(memory_limit(len(data)))
        found = _arrays(header["arrays"], memoryview(data)[begin + length : -_DIGEST], room)
        if not isinstance(content, dict) or not isinstance(order, list) or len(order) > MAX_ARRAYS:
            raise FormatError("the header of the model has other content")
        if not all(type(at) is int and 0 <= at < len(found) for at in order):
            raise FormatError("the header of the model names arrays that are not there")
        if len(set(order)) != len(found):
            raise FormatError("the model has arrays that nothing names")
        return content, [found[at] for at in order]
    except FormatError:
        raise
    except (KeyError, TypeError, ValueError, RecursionError, OverflowError) as error:
        raise FormatError(f"the header of the model is damaged: {error}") from None


def require_readable(data: bytes, arrays: Sequence[Array]) -> None:
    """ParameterError for a file of `write`, of these arrays, that is too large to be read again."""
    begin = len(MAGIC) + 8
    length = int.from_bytes(data[len(MAGIC) : begin], "little")
    text = data[begin : begin + length]
    described = json.loads(text)["arrays"]
    unpacked = sum(math.prod(shape) * np.dtype(kind).itemsize for kind, shape, _ in described)
    # Numbers of 8 bytes and more have the type that they are read in; others stay as they are in the file.
    different = {
        (each.dtype.str, each.shape, hashlib.sha256(each.tobytes()).digest()): each for each in arrays
    }
    taken = sum((each if each.itemsize >= 8 else _narrowed(each)).nbytes for each in different.values())
    for what, size, limit in (
        ("its header", length, MAX_HEADER),
        ("its file", len(data), MAX_BYTES),
        ("its arrays unpacked", unpacked, MAX_BYTES),
        ("its arrays in memory", taken, memory_limit(len(data))),
    ):
        if size > limit:
            raise ParameterError(
                f"the model has {size} bytes, {what}, and at most {limit} are read; use the model in this "
                "process, or take fewer samples= or smaller arrays"
            )
    if (values := _values_of(text)) > MAX_VALUES:
        raise ParameterError(
            f"the model has {values} values in its header, and at most {MAX_VALUES} are read; use the model "
            "in this process, or take fewer operations"
        )


def _values_of(text: bytes) -> int:
    """The most objects that JSON can become; commas in texts count, too."""
    return text.count(b",") + text.count(b"[") + text.count(b"{")


def _arrays(described: Any, data: memoryview, room: Room) -> list[StoredArray]:
    if not isinstance(described, list) or len(described) > MAX_ARRAYS:
        raise FormatError(f"a model has at most {MAX_ARRAYS} arrays")
    found: list[StoredArray] = []
    at = total = 0
    for each in described:
        kind, shape = each[:2]
        if kind not in _TYPES or not isinstance(shape, list) or not 1 <= len(shape) <= _MAX_AXES:
            raise FormatError(f"array {len(found)} has type {kind!r} and shape {shape!r}")
        if not all(type(extent) is int and 1 <= extent <= MAX_BYTES for extent in shape):
            raise FormatError(f"array {len(found)} has shape {shape!r}")
        dtype = np.dtype(kind)
        size = math.prod(shape) * dtype.itemsize
        total += size
        stored = each[2] if len(each) == 3 else size
        if len(each) > 3 or type(stored) is not int or not 0 < stored <= size or total > MAX_BYTES:
            raise FormatError(f"array {len(found)} has {size} bytes, {stored!r} of them in the file")
        if at + stored > len(data):
            raise FormatError(f"the model is cut off in array {len(found)}")
        block = data[at : at + stored]
        expand = functools.partial(_expanded, block, size)
        found.append(StoredArray(dtype, tuple(shape), expand, room))
        at += stored
    if at != len(data):
        raise FormatError(f"the model has {len(data) - at} bytes after its arrays")
    return found


def _expanded(block: memoryview, size: int) -> bytes | memoryview:
    """The bytes of an array, which is compressed where they are more than in the file. FormatError unless
    there are exactly `size`."""
    if len(block) == size:
        return block
    expander = zlib.decompressobj()
    try:
        whole = expander.decompress(block, size)
        is_longer = not expander.eof and (expander.unconsumed_tail or expander.decompress(b"", 1))
    except zlib.error as error:
        raise FormatError(f"an array of the model is damaged: {error}") from None
    if len(whole) != size or is_longer:
        raise FormatError(f"a compressed array of the model has not the {size} bytes of its shape")
    return whole


def _no_constant(name: str) -> float:
    raise FormatError(f"the header of the model has {name}")


def _type_of(array: Array) -> int:
    names = ("int8", "int16", "int32", "int64", "float64", "complex128")
    return names.index(array.dtype.name)


def _narrowed(array: Array) -> Array:
    """Integers in the narrowest type; little-endian."""
    if array.dtype.kind == "i":
        low, high = int(array.min()), int(array.max())
        for kind in ("<i1", "<i2", "<i4"):
            limits = np.iinfo(kind)
            if limits.min <= low and high <= limits.max:
                return np.ascontiguousarray(array, dtype=kind)
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
