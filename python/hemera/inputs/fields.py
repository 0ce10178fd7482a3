"""Fields of files and messages that others made: their types and ranges, and what damage raises."""

from __future__ import annotations

import base64
import contextlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, SupportsBytes, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from hemera._core import DeviceError, Error, FileError, FormatError, OutOfMemoryError, SecurityError

MALFORMED = (Error, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Errors of reading data that others wrote, where it is not of its form."""
TIMES_THE_FILE = 128
"""Memory over a file's bytes that is allowed for any file."""
SAYS_MORE = (DeviceError, FileError, FormatError, MemoryError, OutOfMemoryError, SecurityError)
"""Errors that say no less than that data is damaged."""


@dataclass(frozen=True)
class Whole:
    """An integer from `low` to `high`."""

    low: int = 0
    high: int = (1 << 62) - 1

    def has(self, value: Any) -> bool:
        return type(value) is int and self.low <= value <= self.high

    def __str__(self) -> str:
        return f"an integer from {self.low} to {self.high}"


@dataclass(frozen=True)
class Real:
    """A finite number from `low` to `high`."""

    low: float
    high: float

    def has(self, value: Any) -> bool:
        return type(value) is float and math.isfinite(value) and self.low <= value <= self.high

    def __str__(self) -> str:
        return f"a number from {self.low:.3g} to {self.high:.3g}"


Kind: TypeAlias = type | Whole | Real
"""The kind of a field: a type, or a range of numbers. A float is never an integer, and a bool is neither."""


def read_json(data: bytes, told: str) -> Any:
    """The value of a text in JSON. FormatError, `told` and the reason, for anything else, which may be nested
    more deeply than Python reads."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{told}: {error}") from None


def require_fields(found: Any, wanted: Mapping[str, Kind], what: str) -> None:
    """FormatError unless an object of JSON has these fields and no others, of these kinds."""
    if not isinstance(found, dict) or set(found) != set(wanted):
        raise FormatError(f"the header of {what} has other fields")
    for name, kind in wanted.items():
        value = found[name]
        is_right = kind.has(value) if isinstance(kind, (Whole, Real)) else type(value) is kind
        if not is_right:
            needed = kind.__name__ if isinstance(kind, type) else kind
            raise FormatError(f"the header of {what} has {name} = {value!r:.40}, where {needed} is needed")


def require_memory(needed: int, file_bytes: int, limit: int, what: str, way: str) -> None:
    """FormatError where a file's contents would take more memory than a limit, and than `TIMES_THE_FILE` of
    its bytes.

    Args:
        needed: bytes of memory, before any is taken.
        file_bytes: of the file.
        limit: bytes that are allowed whatever the file has.
        what: is read.
        way: to allow more.
    """
    allowed = max(limit, TIMES_THE_FILE * file_bytes)
    if needed > allowed:
        raise FormatError(
            f"{what} of {file_bytes} bytes would take {needed} bytes of memory, and {allowed} are allowed; "
            f"if you trust it, {way}"
        )


@contextlib.contextmanager
def damaged(what: str, *told: type[Exception]) -> Iterator[None]:
    """Within it, whatever reading of damaged data raises is a FormatError, apart from errors that say more:
    those of devices, files, memory and security, and those of `told`."""
    try:
        yield
    except MALFORMED as error:
        if isinstance(error, (*SAYS_MORE, *told)):
            raise
        raise FormatError(f"{what} is damaged: {error}") from error


def as_base64(data: bytes | SupportsBytes) -> str:
    """Bytes, or those of an object's file, as JSON takes them."""
    return base64.b64encode(bytes(data)).decode()


def places_as_base64(places: ArrayLike) -> str:
    """Numbers of elements or slots: little-endian int32."""
    return as_base64(np.asarray(places, "<i4").tobytes())
