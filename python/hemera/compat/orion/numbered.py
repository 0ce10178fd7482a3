"""Objects under numbers, as Orion names what its backend holds."""

from __future__ import annotations

import heapq
from typing import Generic, TypeVar

from hemera.errors import ParameterError

T = TypeVar("T")


class Numbered(Generic[T]):
    """Objects under the smallest free numbers from 0 on.

    Args:
        kind: a word for one of the objects, in messages.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._objects: dict[int, T] = {}
        self._free: list[int] = []

    def add(self, each: T) -> int:
        """Keep an object. Returns its number."""
        number = heapq.heappop(self._free) if self._free else len(self._objects)
        self._objects[number] = each
        return number

    def __getitem__(self, number: int) -> T:
        try:
            return self._objects[number]
        except KeyError:
            raise ParameterError(f"there is no {self._kind} {number}; it may have been deleted") from None

    def replace(self, number: int, each: T) -> int:
        """Keep another object under a number that is taken. Returns the number.

        Raises:
            ParameterError: if the number is free.
        """
        _ = self[number]
        self._objects[number] = each
        return number

    def delete(self, number: int) -> None:
        """Forget an object. A number that is free stays free."""
        if self._objects.pop(number, None) is not None:
            heapq.heappush(self._free, number)

    def clear(self) -> None:
        """Forget all objects."""
        self._objects.clear()
        self._free.clear()

    @property
    def numbers(self) -> list[int]:
        """The numbers that are taken, in order."""
        return sorted(self._objects)
