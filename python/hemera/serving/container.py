"""The file of a packaged model: a magic, a JSON header, arrays one after the other, and a checksum.

    bytes 0-15       magic
    bytes 16-23      H, the length of the header, little-endian
    H bytes          JSON: {"version": 2, "arrays": [[type, shape, bytes], ...], "order": [...],
                     "content": {...}}
    the arrays       little-endian, in C order, each in the narrowest integer type that holds it; compressed
                     (RFC 1950) where that is shorter, and then `bytes` is less than the array has
    last 32 bytes    SHA-256 of all before

Version 1 has no `bytes`, and no array is compressed. Everything is checked before memory is taken, and
nothing in it is run.
"""

from __future__ import annotations

import hashlib
import json
import math
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from hemera.errors import FileError, FormatError, ParameterError
from hemera.inputs.source import Source, read_bytes
from hemera.serving.values import Array

MAGIC = b"\x89HEMMODEL\r\n\x1a\n\x00\x00\x00"
VERSION = 2
MAX_BYTES = 1 << 30
"""Of a file, and of its arrays together."""
MAX_HEADER = 64 << 20
MAX_ARRAYS = 200_000
_MAX_AXES = 8
_DIGEST = 32
_EFFORT = 6
_TYPES = ("<i1", "<i2", "<i4", "<i8", "<f8", "<c16")

AnySource = Source | BinaryIO


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
            data = source.read(limit + 1)
        except OSError as error:
            raise FileError(f"cannot read the model: {error}") from None
        if not isinstance(data, bytes):
            raise TypeError("a model is read from a binary stream, and this is one of text")
    elif isinstance(source, (bytes, bytearray, memoryview)):
        data = bytes(source)
    else:
        try:
            with open(source, "rb") as file:  # noqa: PTH123 - reads no more than the limit
                data = file.read(limit + 1)
        except OSError:
            data = read_bytes(source)  # says what is wrong
    if len(data) > limit:
        raise FormatError(f"the model has more than {limit} bytes")
    return data


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


def read(data: bytes) -> tuple[dict[str, Any], list[Array]]:
    """Content and arrays (read-only) of a file's bytes. FormatError for anything else."""
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
    try:
        header = json.loads(data[begin : begin + length], parse_constant=_no_constant)
        if header["version"] not in (1, VERSION):
            raise FormatError(
                f"the model is of version {header['version']!r} of the format, and this reads 1 to "
                f"{VERSION}; take a newer Hemera"
            )
        content, order = header["content"], header["order"]
        found = _arrays(header["arrays"], memoryview(data)[begin + length : -_DIGEST])
        if not isinstance(content, dict) or not isinstance(order, list) or len(order) > MAX_ARRAYS:
            raise FormatError("the header of the model has other content")
        if not all(type(at) is int and 0 <= at < len(found) for at in order):
            raise FormatError("the header of the model names arrays that are not there")
        return content, [found[at] for at in order]
    except FormatError:
        raise
    except (KeyError, TypeError, ValueError, RecursionError, OverflowError) as error:
        raise FormatError(f"the header of the model is damaged: {error}") from None


def require_readable(data: bytes) -> None:
    """ParameterError for a file of `write` that is too large to be read again."""
    begin = len(MAGIC) + 8
    length = int.from_bytes(data[len(MAGIC) : begin], "little")
    described = json.loads(data[begin : begin + length])["arrays"]
    unpacked = sum(math.prod(shape) * np.dtype(kind).itemsize for kind, shape, _ in described)
    largest = max(len(data), unpacked)
    if largest > MAX_BYTES:
        raise ParameterError(
            f"a file of the model has {largest} bytes, its arrays unpacked, and at most {MAX_BYTES} are "
            "read; use the model in this process, or take fewer samples= or smaller arrays"
        )


def _arrays(described: Any, data: memoryview) -> list[Array]:
    if not isinstance(described, list) or len(described) > MAX_ARRAYS:
        raise FormatError(f"a model has at most {MAX_ARRAYS} arrays")
    found: list[Array] = []
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
        whole = block if stored == size else _expanded(block, size)
        found.append(np.frombuffer(whole, dtype).reshape(shape))
        at += stored
    if at != len(data):
        raise FormatError(f"the model has {len(data) - at} bytes after its arrays")
    return found


def _expanded(block: memoryview, size: int) -> bytes:
    """The bytes of a compressed array. FormatError unless they are exactly so many."""
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
