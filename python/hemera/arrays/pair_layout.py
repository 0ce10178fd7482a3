"""Matrices as factors of `hemera.circuits.MatrixBatchProduct`, many in one batch of ciphertexts."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.layout import axes_before
from hemera.errors import FormatError, ParameterError

__all__ = ["PairLayout", "pairs_packed", "pairs_unpacked"]

Complex = NDArray[np.complex128]

_MOST_SLOTS = 1 << 17
_GENERATOR = 5
"""The generator of the rotations of slots, which gives their order."""


@functools.lru_cache(maxsize=4)
def _roots(slots: int) -> Complex:
    """The root of X^N + 1, for N = 2 `slots`, that each slot is the value at."""
    exponents = [pow(_GENERATOR, slot, 4 * slots) for slot in range(slots)]
    found: Complex = np.exp(1j * np.pi * np.array(exponents) / (2 * slots))
    return found


def pairs_packed(matrices: NDArray[Any], slots: int, *, left: bool) -> Complex:
    """Matrices of shape (..., pairs, size, size) as the slots of `size` ciphertexts, of shape (..., size,
    slots), with `slots` = pairs * size: columns of left factors, rows of right ones. A slot has the value of
    a polynomial whose coefficients are the entries of a column, or a row."""
    size = matrices.shape[-1]
    lines = np.swapaxes(matrices, -1, -2) if left else matrices  # [..., pair, line, entry]
    roots = _roots(slots).reshape(size, 1, -1)  # [repeat, 1, pair]: slot = repeat * pairs + pair
    powers = roots ** np.arange(size)[:, np.newaxis]  # [repeat, entry, pair]
    found: Complex = np.einsum("...plu,rup->...lrp", lines, powers)
    return found.reshape(*found.shape[:-2], slots)


def pairs_unpacked(values: NDArray[Any], *, left: bool) -> Complex:
    """The matrices of `pairs_packed`."""
    size, slots = values.shape[-2:]
    roots = _roots(slots).reshape(size, 1, -1)
    powers = np.conj(roots) ** np.arange(size)[:, np.newaxis]
    parts = values.reshape(*values.shape[:-1], size, -1)  # [..., line, repeat, pair]
    lines = np.einsum("...lrp,rup->...plu", parts, powers) / size
    return np.swapaxes(lines, -1, -2) if left else lines


@dataclass(frozen=True)
class PairLayout:
    """Matrices of one factor, filled up with zeros to `size` rows and columns.

    Args:
        sample: (rows, columns) of the arrays that clients have.
        size: of the products, a power of two.
        samples: pairs of a batch of ciphertexts, a power of two.
        left: whether they are left factors.
        turned: whether the factor is the transposed array.
        axis: of the samples, in the arrays that clients have.

    Raises:
        ParameterError: for matrices that are larger, and other numbers that do not fit.
    """

    sample: tuple[int, int]
    size: int
    samples: int
    left: bool = False
    turned: bool = False
    axis: int = 0

    def __post_init__(self) -> None:
        powers = all(each > 1 and not each & (each - 1) for each in (self.size, self.samples))
        if (
            not powers
            or len(self.sample) != 2
            or not all(1 <= extent <= self.size for extent in self.sample)
            or self.size * self.samples > _MOST_SLOTS
            or not 0 <= self.axis <= 2
        ):
            raise ParameterError(
                f"{self.samples} matrices of shape {self.sample}, filled up to {self.size}, along axis "
                f"{self.axis}, have no layout"
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the matrices of a batch."""
        return (self.samples, *self.sample)

    @property
    def batch(self) -> tuple[int, ...]:
        """The batch shape of the ciphertexts."""
        return (self.size,)

    @property
    def count(self) -> int:
        """How many batches there are."""
        return 1

    def pack(self, values: NDArray[Any], slots: int) -> list[Complex]:
        """Slots of values of shape (..., samples, rows, columns): an array of shape (..., size, slots).

        Raises:
            MismatchError: for another shape.
            ParameterError: for another number of slots.
        """
        axes_before(values, self.shape)
        if slots != self.samples * self.size:
            raise ParameterError(f"{slots} slots, and {self.samples} pairs take {self.samples * self.size}")
        rows, columns = self.sample
        whole = np.zeros((*values.shape[:-2], self.size, self.size), values.dtype)
        whole[..., :rows, :columns] = values
        return [pairs_packed(np.swapaxes(whole, -1, -2) if self.turned else whole, slots, left=self.left)]

    def unpack(self, slots: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """The real arrays, of shape (..., samples, rows, columns), of slots of shape (..., size, slots)."""
        (own,) = slots
        found = np.real(pairs_unpacked(own, left=self.left))
        rows, columns = self.sample
        return (np.swapaxes(found, -1, -2) if self.turned else found)[..., :rows, :columns]

    def to_data(self) -> dict[str, Any]:
        """What JSON takes."""
        return {
            "matrix": list(self.sample),
            "size": self.size,
            "samples": self.samples,
            "left": self.left,
            "turned": self.turned,
            "axis": self.axis,
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> PairLayout:
        """The layout of `to_data`. FormatError for anything else."""
        try:
            rows, columns = (int(extent) for extent in data["matrix"])
            size, samples, axis = (int(data[name]) for name in ("size", "samples", "axis"))
            left, turned = (bool(data[name]) for name in ("left", "turned"))
            return cls((rows, columns), size, samples, left, turned, axis)
        except (KeyError, TypeError, ValueError, ParameterError) as error:
            raise FormatError(f"not a layout: {error}") from None
