"""Sources of objects: bytes, or a file; and files that are written whole."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
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
