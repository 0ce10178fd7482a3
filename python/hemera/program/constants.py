"""Plain values in programs that are being recorded."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from hemera.program.values import Array

__all__ = ["Constant", "array_of", "real_number"]


class Constant:
    """The result of `Recorder.encode`, in a plaintext's place."""

    def __init__(self, values: Array, slots: int) -> None:
        self.values = values
        self.slots = slots

    @property
    def shape(self) -> tuple[int, ...]:
        """The plaintext's batch."""
        return cast("tuple[int, ...]", self.values.shape[:-1])


def real_number(number: complex) -> Any:
    """The number. TypeError if it is complex."""
    if isinstance(number, complex):
        raise TypeError("a recorded program takes real numbers; put complex ones into an array")
    return number


def array_of(values: object) -> Array:
    """The array of a constant, or of numbers. TypeError for anything else."""
    if isinstance(values, Constant):
        return values.values
    array = np.asarray(values)
    if array.dtype.kind not in "biufc":
        raise TypeError(f"a recorded program takes numbers and arrays of them, not {type(values).__name__}")
    return array
