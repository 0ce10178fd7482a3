"""Arrays of samples with an element in each ciphertext, whose slots are samples, or tokens and samples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.layout import axes_before
from hemera.errors import FormatError, ParameterError

__all__ = ["BatchLayout"]

Shape = tuple[int, ...]

_MOST_SLOTS = 1 << 17
_MOST_AXES = 32


@dataclass(frozen=True)
class BatchLayout:
    """Where the elements of arrays lie in a batch of ciphertexts: slot token * samples + s has token `token`
    of sample s, and each ciphertext one element of all tokens.

    Args:
        sample: the shape of a sample.
        samples: of a ciphertext, a power of two.
        length: the number of tokens, a power of two; 1: elements are of no tokens.
        tokens: their axis in a sample; None: the array has none, and the slots of all tokens hold the same.
        axis: of the samples, in the arrays that clients have: 0 where there are tokens.

    Raises:
        ParameterError: for an empty shape, other numbers of samples or tokens, and axes that are not there.
    """

    sample: Shape
    samples: int
    length: int = 1
    tokens: int | None = None
    axis: int = 0

    count = 1
    """Batches of ciphertexts."""

    def __post_init__(self) -> None:
        powers = all(each & (each - 1) == 0 for each in (self.samples, self.length))
        is_there = 0 <= self.axis <= (len(self.sample) if self.length == 1 else 0)
        if (
            any(extent < 1 for extent in self.sample)
            or len(self.sample) >= _MOST_AXES
            or not (powers and self.samples > 1 and self.length > 0 and is_there)
            or self.samples * self.length > _MOST_SLOTS
            or (
                self.tokens is not None
                and not (0 <= self.tokens < len(self.sample) and self.sample[self.tokens] == self.length > 1)
            )
        ):
            raise ParameterError(
                f"{self.samples} samples of shape {self.sample} along axis {self.axis}, with {self.length} "
                f"tokens along axis {self.tokens}, have no layout"
            )

    @property
    def shape(self) -> Shape:
        """The shape of the samples of a batch."""
        return (self.samples, *self.sample)

    @property
    def batch(self) -> Shape:
        """The batch shape of the ciphertexts."""
        return (math.prod(self._rest),)

    @property
    def _rest(self) -> Shape:
        if self.tokens is None:
            return self.sample
        return (*self.sample[: self.tokens], *self.sample[self.tokens + 1 :])

    def pack(self, values: NDArray[Any], slots: int) -> list[NDArray[Any]]:
        """Slots of values of shape (..., samples, *sample): an array of shape (..., elements, slots).

        Raises:
            MismatchError: for another shape.
            ParameterError: for another number of slots.
        """
        axes = axes_before(values, self.shape)
        if slots != self.samples * self.length:
            raise ParameterError(
                f"{slots} slots, and a ciphertext holds {self.samples} samples of {self.length} tokens"
            )
        if self.tokens is None:
            own = np.broadcast_to(
                np.expand_dims(values, axes), (*values.shape[:axes], self.length, *self.shape)
            )
        else:
            own = np.moveaxis(values, axes + 1 + self.tokens, axes)
        flat = own.reshape(*values.shape[:axes], slots, self.batch[0])
        return [np.swapaxes(flat, -1, -2)]

    def unpack(self, slots: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """The array, of shape (..., samples, *sample), of slots of shape (..., elements, slots)."""
        (own,) = slots
        lead = own.shape[:-2]
        found = np.swapaxes(own, -1, -2).reshape(*lead, self.length, self.samples, *self._rest)
        first = len(lead)
        array: NDArray[Any]
        if self.tokens is None:
            array = np.take(found, 0, axis=first)
        else:
            array = np.moveaxis(found, first, first + 1 + self.tokens)
        return array

    def to_data(self) -> dict[str, Any]:
        """What JSON takes."""
        if self.length == 1:
            return {"sample": list(self.sample), "samples": self.samples, "axis": self.axis}
        return {
            "sequence": list(self.sample),
            "samples": self.samples,
            "length": self.length,
            "tokens": self.tokens,
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> BatchLayout:
        """The layout of `to_data`. FormatError for anything else."""
        try:
            if "sequence" not in data:
                sample = tuple(int(extent) for extent in data["sample"])
                return cls(sample, int(data["samples"]), axis=int(data["axis"]))
            sample = tuple(int(extent) for extent in data["sequence"])
            tokens = None if data["tokens"] is None else int(data["tokens"])
            if int(data["length"]) < 2:
                raise FormatError("not a layout: sequences of less than two tokens")
            return cls(sample, int(data["samples"]), int(data["length"]), tokens)
        except (KeyError, TypeError, ValueError, ParameterError) as error:
            raise FormatError(f"not a layout: {error}") from None
