"""Sources of objects: bytes, or a file."""

from __future__ import annotations

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
