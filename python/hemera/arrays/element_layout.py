"""Arrays of samples with an element of each in a ciphertext of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.layout import axes_before
from hemera.errors import FormatError, ParameterError

__all__ = ["ElementLayout"]

Shape = tuple[int, ...]

_MOST_SAMPLES = 1 << 17
_MOST_AXES = 32


@dataclass(frozen=True)
class ElementLayout:
    """Where the elements of arrays lie in a batch of ciphertexts: element k of sample s in slot s of
    ciphertext k.

    Args:
        sample: the shape of a sample.
        samples: of a ciphertext, a power of two.
        axis: of the samples, in the arrays that clients have.

    Raises:
        ParameterError: for an empty shape, another number of samples, and an axis that is not there.
    """

    sample: Shape
    samples: int
    axis: int = 0

    def __post_init__(self) -> None:
        if (
            any(extent < 1 for extent in self.sample)
            or len(self.sample) >= _MOST_AXES
            or not 1 < self.samples <= _MOST_SAMPLES
            or self.samples & (self.samples - 1)
            or not 0 <= self.axis <= len(self.sample)
        ):
            raise ParameterError(
                f"{self.samples} samples of shape {self.sample}, along axis {self.axis}, have no layout"
            )

    @property
    def shape(self) -> Shape:
        """The shape of the samples of a batch."""
        return (self.samples, *self.sample)

    @property
    def batch(self) -> Shape:
        """The batch shape of the ciphertexts."""
        return (math.prod(self.sample),)

    @property
    def count(self) -> int:
        """How many batches there are."""
        return 1

    def pack(self, values: NDArray[Any], slots: int) -> list[NDArray[Any]]:
        """Slots of values of shape (..., samples, *sample): an array of shape (..., elements, slots).

        Raises:
            MismatchError: for another shape.
            ParameterError: for another number of slots.
        """
        axes = axes_before(values, self.shape)
        if slots != self.samples:
            raise ParameterError(f"{slots} slots, and a ciphertext holds {self.samples} samples")
        flat = values.reshape(*values.shape[:axes], self.samples, math.prod(self.sample))
        return [np.swapaxes(flat, -1, -2)]

    def unpack(self, slots: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """The array, of shape (..., samples, *sample), of slots of shape (..., elements, slots)."""
        (own,) = slots
        return np.swapaxes(own, -1, -2).reshape(*own.shape[:-2], *self.shape)

    def to_data(self) -> dict[str, Any]:
        """What JSON takes."""
        return {"sample": list(self.sample), "samples": self.samples, "axis": self.axis}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> ElementLayout:
        """The layout of `to_data`. FormatError for anything else."""
        try:
            sample = tuple(int(extent) for extent in data["sample"])
            return cls(sample, int(data["samples"]), int(data["axis"]))
        except (KeyError, TypeError, ValueError, ParameterError) as error:
            raise FormatError(f"not a layout: {error}") from None
