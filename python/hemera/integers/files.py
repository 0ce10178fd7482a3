"""The file of encrypted integers: what is public of them, then their ciphertexts in Hemera's format.

    bytes 0-15       magic
    bytes 16-23      H, the length of the header, little-endian
    H bytes          JSON: {"version": 1, "bits": 64, "dtype": "uint64", "shape": [1000], "error": 1e-8,
                     "failure_log2": -130.1}; null in place of minus infinity
    the ciphertext   as docs/file-format.md has it, of shape (vectors,)
    last 32 bytes    SHA-256 of all before

Bounds are taken as the file has them. Where they lie, results may be wrong, as with ciphertexts that lie.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hemera.errors import FormatError
from hemera.inputs.fields import Kind, Real, Whole, read_json, require_fields
from hemera.integers.types import TYPES, DType

MAGIC = b"\x89HEMINTS\r\n\x1a\n\x00\x00\x00\x00"
VERSION = 1
_MAX_HEADER = 1 << 16
_MAX_AXES = 32
_MAX_VALUES = 1 << 48
_EXTENT = Whole(0, _MAX_VALUES)
_FIELDS: Mapping[str, Kind] = {
    "bits": Whole(1, 64),
    "dtype": str,
    "shape": list,
    "error": Real(5e-324, 0.5),  # of a digit, beyond which it is another one
    "failure_log2": Real(-1.7e308, 1.7e308),
}
_DIGEST = 32


@dataclass(frozen=True)
class Header:
    """The public facts of encrypted values."""

    bits: int
    """The bits of the context, by which digits stand in slots."""
    dtype: str
    shape: list[int]
    error: float
    failure_log2: float | None

    @property
    def type(self) -> DType:
        return np.dtype(self.dtype)

    @property
    def size(self) -> int:
        return math.prod(self.shape)


def write(header: Header, ciphertext: bytes) -> bytes:
    """The bytes of a file."""
    described = {"version": VERSION, **asdict(header)}
    text = json.dumps(described, separators=(",", ":"), allow_nan=False).encode()
    file = b"".join([MAGIC, len(text).to_bytes(8, "little"), text, ciphertext])
    return file + hashlib.sha256(file).digest()


def read(data: bytes) -> tuple[Header, bytes]:
    """Header and ciphertext of a file's bytes. FormatError for anything else."""
    begin = len(MAGIC) + 8
    if data[: len(MAGIC)] != MAGIC:
        raise FormatError(
            "no file of encrypted integers: it does not begin as one; keys are loaded by "
            "Context(keys=, secret_key=), ciphertexts of CKKS by hemera.Context"
        )
    if len(data) < begin + _DIGEST:
        raise FormatError("the file of encrypted integers is cut off")
    length = int.from_bytes(data[len(MAGIC) : begin], "little")
    if length > min(_MAX_HEADER, len(data) - begin - _DIGEST):
        raise FormatError(f"the file of encrypted integers is cut off: its header has {length} bytes")
    view = memoryview(data)
    if hashlib.sha256(view[:-_DIGEST]).digest() != data[-_DIGEST:]:
        raise FormatError("the file of encrypted integers is damaged: its checksum does not fit")
    found = read_json(data[begin : begin + length], "the header of encrypted integers is damaged")
    return _header(found), bytes(view[begin + length : -_DIGEST])


def _header(found: Any) -> Header:
    if not isinstance(found, dict) or "version" not in found:
        raise FormatError("the header of encrypted integers has no version")
    version = found.pop("version")
    if version != VERSION or type(version) is not int:
        raise FormatError(
            f"the encrypted integers are of version {version!r} of the format, and this reads {VERSION}; "
            "take a newer Hemera"
        )
    fields = _FIELDS if found.get("failure_log2") is not None else {**_FIELDS, "failure_log2": type(None)}
    require_fields(found, fields, "encrypted integers")
    header = Header(**found)
    shape = header.shape
    if (
        header.dtype not in TYPES
        or len(shape) > _MAX_AXES
        or not all(_EXTENT.has(extent) for extent in shape)
        or math.prod(shape) > _MAX_VALUES
    ):
        raise FormatError(f"the header of encrypted integers has the type {header.dtype!r} and shape {shape}")
    return header
