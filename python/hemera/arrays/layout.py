"""Where the elements of an array lie in the slots of a ciphertext."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera._process import cached_property
from hemera.errors import FormatError, MismatchError, ParameterError

__all__ = ["COPY", "FREE", "Layout", "axes_before", "index_bits"]

Indices = NDArray[np.int64]
Place = tuple[int, int]

COPY: Place = (-1, 0)
"""A bit of the slot's number on which the contents do not depend: copies lie in both halves."""

FREE: Place = (-2, 0)
"""A bit of the slot's number that is 0 where elements lie; the slots where it is 1 may hold anything."""

_MOST_BITS = 17


@functools.lru_cache(maxsize=256)
def index_bits(shape: tuple[int, ...]) -> tuple[Place, ...]:
    """The bits of an element's indices, of the last axis first, the lowest bit of an axis first."""
    return tuple(
        (axis, bit) for axis in reversed(range(len(shape))) for bit in range((shape[axis] - 1).bit_length())
    )


def axes_before(values: NDArray[Any], shape: Sequence[int]) -> int:
    """The number of axes of an array before those of `shape`. MismatchError for an array of another shape."""
    axes = values.ndim - len(shape)
    if axes < 0 or values.shape[axes:] != tuple(shape):
        wanted = "".join(f", {extent}" for extent in shape)
        raise MismatchError(f"an array of shape (...{wanted}) is needed, not one of {values.shape}")
    return axes


@dataclass(frozen=True)
class Layout:
    """A bijection between the bits of an element's indices and bits of its slot's number.

    Each axis is filled up to a power of two. The contents repeat with the period 2^len(bits). Slots of no
    element hold 0 after encryption.

    Args:
        shape: of the array.
        bits: for each bit of the slot's number, the lowest first, the (axis, bit) of the index that lies
            there, COPY or FREE.

    Raises:
        ParameterError: for bits that are missing, come twice, or belong to no axis.
    """

    shape: tuple[int, ...]
    bits: tuple[Place, ...]

    def __post_init__(self) -> None:
        own = [bit for bit in self.bits if bit not in (COPY, FREE)]
        if sorted(own) != sorted(index_bits(self.shape)) or len(self.bits) > _MOST_BITS:
            raise ParameterError(
                f"a layout of {len(self.bits)} bits does not fit an array of shape {self.shape}"
            )

    @staticmethod
    def raster(shape: Sequence[int]) -> Layout:
        """The elements in the order of memory, each axis filled up to a power of two."""
        return Layout(tuple(shape), index_bits(tuple(shape)))

    @staticmethod
    def by_columns(shape: Sequence[int]) -> Layout:
        """The elements in the order of Fortran's memory: the first axis lies in the lowest bits."""
        return Layout(tuple(shape), tuple(sorted(index_bits(tuple(shape)))))

    @property
    def size(self) -> int:
        """Elements of the array."""
        return math.prod(self.shape)

    @property
    def period(self) -> int:
        """Slots after which the contents repeat."""
        return 1 << len(self.bits)

    @cached_property
    def copy_mask(self) -> int:
        """The bits of the slot's number on which the contents do not depend, below the period."""
        return sum(1 << at for at, bit in enumerate(self.bits) if bit == COPY)

    @cached_property
    def free_mask(self) -> int:
        """The bits of the slot's number that are 0 where elements lie, below the period."""
        return sum(1 << at for at, bit in enumerate(self.bits) if bit == FREE)

    @cached_property
    def places(self) -> Indices:
        """The slot of each element, in the order of memory: the one whose copy bits are 0."""
        weights = [np.zeros(extent, np.int64) for extent in self.shape]
        for at, (axis, bit) in enumerate(self.bits):
            if axis >= 0:
                weights[axis] += (np.arange(self.shape[axis]) >> bit & 1) << at
        found = np.zeros((1,) * len(self.shape), np.int64)
        for axis, weight in enumerate(weights):
            found = found + weight.reshape(-1, *(1,) * (len(self.shape) - 1 - axis))
        return found.ravel()

    @cached_property
    def contents(self) -> Indices:
        """The element in each slot of one period; -1 where there is none."""
        found = np.full(self.period, -1, np.int64)
        for copy in self.copies:
            found[self.places | copy] = np.arange(self.size)
        return found

    @cached_property
    def copies(self) -> Indices:
        """What is added to a place for each copy."""
        found = np.zeros(1, np.int64)
        for at, bit in enumerate(self.bits):
            if bit == COPY:
                found = np.concatenate((found, found + (1 << at)))
        return found

    def pack(self, values: NDArray[Any], slots: int) -> NDArray[Any]:
        """Slots of values of shape (..., *shape): an array of shape (..., slots).

        Raises:
            MismatchError: for another shape.
            ParameterError: for fewer slots than the period.
        """
        axes = axes_before(values, self.shape)
        if slots % self.period:
            raise ParameterError(f"{slots} slots are not a multiple of the layout's {self.period}")
        flat = values.reshape((*values.shape[:axes], self.size))
        one = np.where(self.contents >= 0, flat[..., self.contents], np.zeros((), values.dtype))
        return np.tile(one, slots // self.period)

    def unpack(self, slots: NDArray[Any]) -> NDArray[Any]:
        """The array of slots of shape (..., slots): of shape (..., *shape)."""
        return slots[..., self.places].reshape((*slots.shape[:-1], *self.shape))

    def to_data(self) -> dict[str, Any]:
        """What JSON takes."""
        return {"shape": list(self.shape), "bits": [list(bit) for bit in self.bits]}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Layout:
        """The layout of `to_data`. FormatError for anything else."""
        try:
            shape = tuple(int(extent) for extent in data["shape"])
            bits = tuple((int(axis), int(bit)) for axis, bit in data["bits"])
            if any(extent < 1 for extent in shape) or len(bits) > _MOST_BITS:
                raise FormatError(f"no layout has the shape {shape} and {len(bits)} bits")
            return cls(shape, bits)
        except (KeyError, TypeError, ValueError, ParameterError) as error:
            raise FormatError(f"not a layout: {error}") from None
