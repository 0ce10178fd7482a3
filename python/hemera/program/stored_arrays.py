"""Arrays of a packaged model's file, expanded and converted when operations take them: once for each type."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hemera.errors import FormatError


class Room:
    """The memory that the arrays of a file may take together.

    Args:
        limit: bytes.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._taken = 0

    def take(self, size: int, what: str) -> None:
        """Count bytes that are about to be made. FormatError where there is no room for them."""
        if self._taken + size > self.limit:
            raise FormatError(
                f"{what} takes {size} bytes of memory, and all before it {self._taken}: arrays of this model "
                f"may take {self.limit} bytes; make a model of its parts, or of smaller arrays"
            )
        self._taken += size


class StoredArray:
    """An array of a file. Operations that take it in one type share one read-only array.

    Args:
        kind: its type in the file.
        shape: its extents.
        expand: makes its bytes. FormatError where they are damaged.
        room: of all arrays of the file.
    """

    def __init__(
        self, kind: DTypeLike, shape: tuple[int, ...], expand: Callable[[], bytes | memoryview], room: Room
    ) -> None:
        self.dtype: np.dtype[Any] = np.dtype(kind)
        self.shape = shape
        self._expand, self._room = expand, room
        self._made: dict[str, NDArray[Any]] = {}

    def converted(self, kind: DTypeLike) -> NDArray[Any]:
        """The array in a type, in C order and read-only. FormatError where the file's arrays take too much
        memory, are damaged, or have numbers that are not finite."""
        wanted = np.dtype(kind)
        found = self._made.get(wanted.str)
        if found is None:
            width = max(wanted.itemsize, self.dtype.itemsize)
            self._room.take(math.prod(self.shape) * width, f"an array of shape {self.shape}")
            whole = np.frombuffer(self._expand(), self.dtype).reshape(self.shape)
            if self.dtype.kind in "fc" and not np.isfinite(whole).all():
                raise FormatError(f"an array of shape {self.shape} has numbers that are not finite")
            found = whole if wanted == self.dtype else whole.astype(wanted)
            found.flags.writeable = False
            self._made[wanted.str] = found
        return found

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        found = self.converted(self.dtype if dtype is None else dtype)
        return found.copy() if copy else found
