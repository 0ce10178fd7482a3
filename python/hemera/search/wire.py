"""The messages and files of a search: settings, queries, answers and indexes.

bytes 0-15       magic
bytes 16-23      H, the length of the header, little-endian
H bytes          JSON: {"version": 1, "kind": "query", ...}
the body         numbers, little-endian
last 32 bytes    SHA-256 of all before; of answers that of the SHA-256 of each 64 KiB, which threads share
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera import _core
from hemera.errors import FormatError

MAGIC = b"\x89HEMSEARCH\r\n\x1a\n\x00\x00"
VERSION = 1
_MAX_HEADER = 1 << 16
_DIGEST = 32
_BEGIN = len(MAGIC) + 8
_IN_PIECES = ("answer", "encrypted answer")

Part = bytes | memoryview


class Draft:
    """A message whose parts are written in their places: `parts` has a view of each.

    Args:
        sizes: the bytes of each part.
    """

    def __init__(self, kind: str, header: dict[str, Any], *sizes: int) -> None:
        described = {"version": VERSION, "kind": kind, **header}
        text = json.dumps(described, separators=(",", ":"), allow_nan=False).encode()
        head = MAGIC + len(text).to_bytes(8, "little") + text
        self._kind = kind
        self._bytes = _core.BytesBuilder(len(head) + sum(sizes) + _DIGEST)
        self._memory: NDArray[np.uint8] = self._bytes.memory
        self._memory[: len(head)] = np.frombuffer(head, np.uint8)
        ends = np.cumsum([len(head), *sizes])
        self.parts = [
            self._memory[begin:end] for begin, end in zip(ends.tolist(), ends.tolist()[1:], strict=False)
        ]

    def finish(self) -> bytes:
        """The bytes of the message, which is not written to afterwards."""
        digest = _digest(self._memory[:-_DIGEST], self._kind in _IN_PIECES)
        self._memory[-_DIGEST:] = np.frombuffer(digest, np.uint8)
        self._memory, self.parts = np.empty(0, np.uint8), []
        return self._bytes.finish()


def pack(kind: str, header: dict[str, Any], *parts: Part) -> bytes:
    """The bytes of a message."""
    draft = Draft(kind, header, *(len(part) for part in parts))
    for place, part in zip(draft.parts, parts, strict=True):
        place[:] = np.frombuffer(part, np.uint8)
    return draft.finish()


def unpack(kind: str, data: bytes, fields: dict[str, type]) -> tuple[dict[str, Any], memoryview]:
    """Header and body of a message of this kind, whose header has these fields. FormatError for anything
    else."""
    header, body = unpack_any(kind, data)
    if set(header) != set(fields) or any(type(header[name]) is not of for name, of in fields.items()):
        raise FormatError(f"the header of the {kind} has other fields")
    return header, body


def unpack_any(kind: str, data: bytes) -> tuple[dict[str, Any], memoryview]:
    """The same with any fields."""
    view = memoryview(data)
    text = _header(kind, view)
    before, digest = np.frombuffer(view[:-_DIGEST], np.uint8), bytes(view[-_DIGEST:])
    # A message of another kind, which may have the other digest, is told by its header.
    in_pieces = kind in _IN_PIECES
    if digest != _digest(before, in_pieces) and digest != _digest(before, not in_pieces):
        raise FormatError(f"the {kind} of a search is damaged: its checksum does not fit")
    header = _read(kind, text)
    if header.get("kind") != kind:
        raise FormatError(f"this is the {header.get('kind')!r} of a search, where a {kind} is needed")
    del header["version"], header["kind"]
    return header, view[_BEGIN + len(text) : -_DIGEST]


def kind_of(data: bytes) -> str:
    """The kind of a message or file, by its header alone: `unpack` checks the rest. FormatError."""
    return str(_read("file", _header("file", memoryview(data))).get("kind"))


def _header(kind: str, view: memoryview) -> bytes:
    """The text of the header."""
    if bytes(view[: len(MAGIC)]) != MAGIC:
        raise FormatError(f"no {kind} of a search: it does not begin as one")
    length = int.from_bytes(view[len(MAGIC) : _BEGIN], "little")
    if len(view) < _BEGIN + _DIGEST or length > min(_MAX_HEADER, len(view) - _BEGIN - _DIGEST):
        raise FormatError(f"the {kind} of a search is cut off")
    return bytes(view[_BEGIN : _BEGIN + length])


def _read(kind: str, text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"the header of the {kind} is damaged: {error}") from None
    if not isinstance(header, dict) or header.get("version") != VERSION:
        found = header.get("version") if isinstance(header, dict) else None
        raise FormatError(
            f"the {kind} is of version {found!r} of the format, and this reads {VERSION}; take a newer Hemera"
        )
    return header


def _digest(data: NDArray[np.uint8], in_pieces: bool) -> bytes:
    return _core.digest_of_pieces(data) if in_pieces else hashlib.sha256(data.data).digest()


def pack_numbers(numbers: NDArray[np.uint64], width: int) -> bytes:
    """Numbers below 2^(8 width) in `width` bytes each."""
    words = np.ascontiguousarray(numbers, "<u8").reshape(-1)
    return words.view(np.uint8).reshape(-1, 8)[:, :width].tobytes()


def unpack_numbers(body: memoryview, width: int) -> NDArray[np.uint64]:
    """The reverse, in one axis."""
    words = np.zeros((len(body) // width, 8), np.uint8)
    words[:, :width] = np.frombuffer(body, np.uint8).reshape(-1, width)
    return words.view("<u8").reshape(-1).astype(np.uint64, copy=False)
