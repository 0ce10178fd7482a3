"""What a compiled program takes: the shape and the range of each input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.errors import MismatchError, ParameterError

__all__ = ["ArraySpec", "checked_range", "spec_of"]


@dataclass(frozen=True)
class ArraySpec:
    """An encrypted input: its shape, and the range in which its elements lie.

    Args:
        shape: of the array; () for a single number.
        range: the least and the largest element; None: what the samples of `calibrate=` show.
        name: for people, and for clients that give inputs by name.
        step: elements are integer multiples of it, as whole numbers are of 1; None: any numbers. Values with
            a step can be compared.

    Examples:
        >>> hm.ArraySpec((1000,), range=(0, 120), step=1)  # whole numbers can be compared
        ArraySpec(shape=(1000,), range=(0, 120), name='', step=1, clip=None)
    """

    shape: tuple[int, ...]
    range: tuple[float, float] | None = None
    name: str = ""
    step: float | None = None
    clip: bool | None = None


def spec_of(given: Any, at: int, samples: NDArray[Any] | None, margin: float) -> ArraySpec:
    """The spec of an input, of a spec, a shape or an example.

    Raises:
        ParameterError: when there is no range, or none of finite numbers.
        MismatchError: when the samples have another shape.
    """
    if isinstance(given, ArraySpec):
        shape, limits, name, step = tuple(given.shape), given.range, given.name, given.step
        clip = given.clip
    else:
        shape, limits, name, step, clip = np.shape(given), None, "", None, None
    clip = limits is None if clip is None else clip
    name = name or ("x" if at == 0 else f"x{at}")
    if samples is not None:
        if samples.shape[1:] != shape or not len(samples):
            raise MismatchError(f"samples of shape {samples.shape} for input {name!r} of shape {shape}")
        if limits is None:
            low, high = float(samples.min()), float(samples.max())
            room = margin * max(high - low, 2.0**-10)
            limits = (min(low, max(low - room, 0.0)) if low >= 0 else low - room, high + room)
    if limits is None:
        raise ParameterError(
            f"the range of input {name!r} is not known: give ArraySpec({shape}, range=(low, high)), or "
            "samples by calibrate="
        )
    return ArraySpec(shape, checked_range(f"input {name!r}", limits), name, step, clip)


def checked_range(what: str, limits: tuple[float, float]) -> tuple[float, float]:
    """The least and the largest number. ParameterError for a range of others than finite ones, or none."""
    low, high = map(float, limits)
    if not (np.isfinite([low, high]).all() and low <= high):
        raise ParameterError(f"{what}: a range from {low:g} to {high:g}")
    return low, high
