"""Arrays as the whole numbers that are summed, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hemera.errors import MismatchError, ParameterError, RangeError
from hemera.inputs.plain import plain_array


@dataclass(frozen=True)
class Quantized:
    """The values of one contributor.

    `clipped`: how many lay outside of [-clip, clip].
    """

    values: NDArray[np.int64]
    clipped: int


@dataclass(frozen=True)
class Layout:
    """Names, shapes and types of the arrays, in their order; one array has the name None."""

    entries: tuple[tuple[str | None, tuple[int, ...], str], ...]
    bits: int
    clip: float

    @classmethod
    def of(cls, like: Any, bits: int, clip: float) -> Layout:
        """The layout of such arrays. ParameterError for those that are not of real floating-point numbers."""
        if not (clip > 0 and math.isfinite(clip) and math.isfinite(2.0**bits / clip)):
            raise ParameterError(f"clip must be a positive number, not {clip!r}")
        entries = []
        for name, array in _named(like):
            if array.dtype.kind != "f":
                raise ParameterError(
                    f"{_called(name)} is of {array.dtype}, and a federation averages floating-point numbers; "
                    "leave it out of the dictionary, or convert it"
                )
            entries.append((name, array.shape, array.dtype.str))
        if sum(math.prod(shape) for _, shape, _ in entries) == 0:
            raise ParameterError("there are no values to average; give arrays like those that are pushed")
        return cls(tuple(entries), bits, clip)

    @property
    def count(self) -> int:
        return sum(math.prod(shape) for _, shape, _ in self.entries)

    @property
    def steps(self) -> int:
        """The whole number that stands for `clip`."""
        return int(2 ** (self.bits - 1)) - 1

    @property
    def described(self) -> list[Any]:
        """What the parties agree on, for a file."""
        return [[name, list(shape), kind] for name, shape, kind in self.entries]

    def quantized(self, values: Any) -> Quantized:
        """Values, clipped and rounded to the nearest step, ties to even.

        Raises:
            MismatchError: for other names or shapes.
            ParameterError: for values that are masked or missing.
            RangeError: for values that are not finite.
            TypeError: for others than real numbers.
        """
        given = _named(values, np.float64)
        found = [(name, array.shape) for name, array in given]
        asked = [(name, shape) for name, shape, _ in self.entries]
        if found != asked:
            clash = next((pair for pair in zip(found, asked, strict=False) if pair[0] != pair[1]), None)
            detail = f"{len(found)} arrays, not {len(asked)}"
            if clash is not None:
                (name, shape), (other, due) = clash
                detail = f"{_called(name)} of shape {shape}, not {_called(other)} of {due}"
            raise MismatchError(f"the arrays differ from those of the federation: {detail}")
        flat = np.concatenate([array.ravel() for _, array in given])
        if not np.isfinite(flat).all():
            raise RangeError("values that are infinite or no numbers cannot be averaged")
        clipped = int(np.count_nonzero(np.abs(flat) > self.clip))
        whole = np.rint(np.clip(flat, -self.clip, self.clip) * (self.steps / self.clip))
        return Quantized(np.clip(whole, -self.steps, self.steps).astype(np.int64), clipped)

    def average(self, sums: NDArray[np.int64], weight: int) -> Any:
        """The arrays of a weighted mean."""
        means = sums.astype(np.float64) * (self.clip / self.steps / weight)
        arrays: dict[str | None, NDArray[Any]] = {}
        at = 0
        for name, shape, kind in self.entries:
            count = math.prod(shape)
            arrays[name] = means[at : at + count].reshape(shape).astype(kind)
            at += count
        return arrays[None] if list(arrays) == [None] else arrays


def _called(name: str | None) -> str:
    return "the array" if name is None else f"{name!r}"


def _named(values: Any, dtype: DTypeLike | None = None) -> list[tuple[str | None, NDArray[Any]]]:
    """Arrays in the order of a dictionary's names, by `plain_array`: anything with NumPy's array protocol."""
    if not isinstance(values, Mapping):
        return [(None, plain_array(values, _called(None), dtype))]
    if not all(isinstance(name, str) for name in values):
        raise ParameterError("the names of arrays must be texts")
    return [(name, plain_array(values[name], _called(name), dtype)) for name in sorted(values)]
