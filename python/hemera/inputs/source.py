"""Sources of objects: bytes, or a file; files that are written whole; and the models that files name."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar, Union

from hemera import _core

T = TypeVar("T")

Source = Union[bytes, bytearray, memoryview, str, "os.PathLike[str]"]
"""Bytes of an object, or the path of a file that holds them."""


def read_bytes(source: Source) -> bytes:
    """All bytes of the source. FileError if a file can not be read."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source)
    try:
        return Path(os.fspath(source)).read_bytes()
    except OSError as error:
        raise _core.FileError(f"cannot read {os.fspath(source)}: {error.strerror or error}") from None


def read(source: Source, from_bytes: Callable[[bytes], T], from_file: Callable[[bytes], T]) -> T:
    """The object of the source, by the reader for bytes or by the reader for a file."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return from_bytes(bytes(source))
    if isinstance(source, (str, os.PathLike)):
        return from_file(os.fsencode(source))
    raise TypeError(f"load takes bytes or the path of a file, not {type(source).__name__}")


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file, which appears under its name only when it is complete. FileError if it can not be
    written."""
    target = Path(path)
    beside = target.with_name(f".{target.name}.{os.urandom(8).hex()}")
    try:
        with beside.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(target)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        raise _core.FileError(f"cannot write {target}: {error.strerror or error}") from None


MAGIC = b"\x89HEMREQ\n"
_DIGEST, _CHECK = 32, 8
_HEAD = len(MAGIC) + _DIGEST + _CHECK


def named(file: bytes, digest: str) -> bytes:
    """A file with the digest of its model, 64 hexadecimal digits, before it: 48 bytes more."""
    head = MAGIC + bytes.fromhex(digest)
    return head + _check_of(head) + file


def model_of(data: bytes) -> tuple[str | None, bytes]:
    """The digest that stands before a file, and the file; None before a file that names no model.

    Raises:
        FormatError: if the digest is damaged.
    """
    if data[: len(MAGIC)] != MAGIC:
        return None, data
    head = data[: _HEAD - _CHECK]
    if len(data) < _HEAD or data[len(head) : _HEAD] != _check_of(head):
        raise _core.FormatError("the name of the model before the file is damaged")
    return head[len(MAGIC) :].hex(), data[_HEAD:]


def opened(files: Mapping[str, bytes]) -> tuple[dict[str, bytes], set[str]]:
    """Files without the digests before them, and these digests. FormatError as `model_of`."""
    found = {name: model_of(data) for name, data in files.items()}
    digests = {digest for digest, _ in found.values() if digest is not None}
    return {name: file for name, (_, file) in found.items()}, digests


def _check_of(head: bytes) -> bytes:
    return hashlib.sha256(head).digest()[:_CHECK]
