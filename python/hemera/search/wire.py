"""The messages and files of a search: settings, queries, answers and indexes.

bytes 0-15       magic
bytes 16-23      H, the length of the header, little-endian
H bytes          JSON: {"version": 1, "kind": "query", ...}
the body         numbers, little-endian
last 32 bytes    SHA-256 of all before

Answers have version 3. Their header has the sizes of the body's parts, "parts", and their digest is that of
the XXH3-64 of each 64 KiB (`hemera/runtime/checksum.hpp`): of all before the body, of the first part, of
the next. Threads share the work, and the checksums of a part that is known early are taken early.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera import _core
from hemera.errors import FormatError
from hemera.inputs.fields import Kind, read_json, require_fields

MAGIC = b"\x89HEMSEARCH\r\n\x1a\n\x00\x00"
VERSION = 1
_VERSION_IN_PARTS = 3
_MAX_HEADER = 1 << 16
_DIGEST = 32
_BEGIN = len(MAGIC) + 8
_IN_PARTS = ("answer", "encrypted answer")

Part = bytes | memoryview


class Draft:
    """An answer whose parts are written in their places.

    Args:
        kind: of the message.
        header: its fields. Others of the same length may take the place of some: `rename`.
        sizes: the bytes of each part.
    """

    def __init__(self, kind: str, header: dict[str, Any], *sizes: int) -> None:
        self._kind, self._header = kind, {**header, "parts": sizes}
        self._head = _head(kind, self._header)
        self.memory = _core.MessageBytes([len(self._head), *sizes])
        """Part i of the body is number i + 1."""

    def part(self, number: int) -> NDArray[np.uint8]:
        """The place of a part of the body."""
        place: NDArray[np.uint8] = self.memory.part(number + 1)
        return place

    def settle(self, *written: int) -> None:
        """Do early what can be done before the rest is there: these parts stay as they are. The others may
        have any contents afterwards."""
        self.memory.settle([number + 1 for number in written])

    def rename(self, **fields: Any) -> None:
        """Take other fields, of the same length."""
        head = _head(self._kind, {**self._header, **fields})
        assert len(head) == len(self._head)
        self._head = head

    def finish(self) -> bytes:
        """The bytes of the message, which is not written to afterwards."""
        self.memory.part(0)[:] = np.frombuffer(self._head, np.uint8)
        return self.memory.finish()


def pack(kind: str, header: dict[str, Any], *parts: Part) -> bytes:
    """The bytes of a message."""
    if kind in _IN_PARTS:
        draft = Draft(kind, header, *map(len, parts))
        for number, part in enumerate(parts):
            draft.part(number)[:] = np.frombuffer(part, np.uint8)
        return draft.finish()
    head = _head(kind, header)
    digest = hashlib.sha256(head)
    for part in parts:
        digest.update(part)
    return b"".join([head, *parts, digest.digest()])


def unpack(
    kind: str, data: bytes, fields: Mapping[str, Kind] | None = None
) -> tuple[dict[str, Any], memoryview]:
    """Header and body of a message of this kind, whose header has these fields; None: any. An answer's have
    "parts", the sizes of the body's. FormatError for anything else."""
    view = memoryview(data)
    text = _header(kind, view)
    header = _read(kind, text)
    found = header.pop("kind", None)
    if found != kind:
        raise FormatError(f"this is the {found!r} of a search, where a {kind} is needed")
    del header["version"]
    body, before = view[_BEGIN + len(text) : -_DIGEST], view[:-_DIGEST]
    if kind in _IN_PARTS:
        sizes = header.get("parts")
        if not isinstance(sizes, list) or any(type(size) is not int or size < 0 for size in sizes):
            raise FormatError(f"the header of the {kind} is damaged: it has no sizes of parts")
        if sum(sizes) != len(body):
            raise FormatError(f"the {kind} has {len(body)} bytes of numbers, not {sum(sizes)}")
        whole = np.frombuffer(before, np.uint8)
        digest = _core.digest_of_pieces(whole, [len(before) - len(body), *sizes])
    else:
        digest = hashlib.sha256(before).digest()
    if digest != view[-_DIGEST:]:
        raise FormatError(f"the {kind} of a search is damaged: its checksum does not fit")
    if fields is not None:
        require_fields(header, fields, f"the {kind}")
    return header, body


def kind_of(data: bytes) -> str:
    """The kind of a message or file, by its header alone: `unpack` checks the rest. FormatError."""
    return str(_read("file", _header("file", memoryview(data))).get("kind"))


def _head(kind: str, header: dict[str, Any]) -> bytes:
    """All before the body."""
    version = _VERSION_IN_PARTS if kind in _IN_PARTS else VERSION
    described = {"version": version, "kind": kind, **header}
    text = json.dumps(described, separators=(",", ":"), allow_nan=False).encode()
    return MAGIC + len(text).to_bytes(8, "little") + text


def _header(kind: str, view: memoryview) -> bytes:
    """The text of the header."""
    if bytes(view[: len(MAGIC)]) != MAGIC:
        raise FormatError(f"no {kind} of a search: it does not begin as one")
    length = int.from_bytes(view[len(MAGIC) : _BEGIN], "little")
    if len(view) < _BEGIN + _DIGEST or length > min(_MAX_HEADER, len(view) - _BEGIN - _DIGEST):
        raise FormatError(f"the {kind} of a search is cut off")
    return bytes(view[_BEGIN : _BEGIN + length])


def _read(kind: str, text: bytes) -> dict[str, Any]:
    """The header, in a version that this reads."""
    header = read_json(text, f"the header of the {kind} is damaged")
    if not isinstance(header, dict):
        raise FormatError(f"the header of the {kind} is damaged: it is no object")
    found = header.get("version")
    read = _VERSION_IN_PARTS if header.get("kind") in _IN_PARTS else VERSION
    if type(found) is int and found < read:
        raise FormatError(
            f"the {kind} is of version {found} of the format, and this reads {read}: it is of an older "
            "Hemera; take a newer one there"
        )
    if found != read:
        raise FormatError(
            f"the {kind} is of version {found!r} of the format, and this reads {read}; take a newer Hemera"
        )
    return header


def pack_numbers(numbers: NDArray[np.uint64], width: int) -> bytes:
    """Numbers below 2^(8 width) in `width` bytes each."""
    words = np.ascontiguousarray(numbers, "<u8").reshape(-1)
    return words.view(np.uint8).reshape(-1, 8)[:, :width].tobytes()


def unpack_numbers(body: memoryview, width: int) -> NDArray[np.uint64]:
    """The reverse, in one axis."""
    words = np.zeros((len(body) // width, 8), np.uint8)
    words[:, :width] = np.frombuffer(body, np.uint8).reshape(-1, width)
    return words.view("<u8").reshape(-1).astype(np.uint64, copy=False)
