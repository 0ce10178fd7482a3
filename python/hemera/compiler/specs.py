"""The shape and the range of each input, with which a function is called."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hemera.arrays.facts import multiples_within, widened
from hemera.arrays.recorded import Kind
from hemera.arrays.tiling import Tiling
from hemera.errors import MismatchError, ParameterError
from hemera.inputs.arguments import parameters_of
from hemera.inputs.encoding import as_number

_FAR = 2.0**8
"""Inputs whose middle is this many half widths from 0 are centred."""


@dataclass(frozen=True)
class ArraySpec:
    """An encrypted input: its shape, and the range in which its elements lie.

    Args:
        shape: of the array; () for a single number, and n for (n,), as NumPy has it.
        range: the least and the largest element; None: what the samples of `calibrate=` show.
        name: for people, and for clients that give inputs by name; "": that of the function's parameter. That
            of another parameter is refused: inputs are in the order of parameters.
        step: elements are integer multiples of it, as whole numbers are of 1; None: any numbers. Values with
            a step can be compared.
        clip: whether clients bring values outside of the range into it, with a `RangeWarning`, or refuse
            them; None: they do where the range comes of samples.
        dtype: bool: elements are truth values, whose range and step are known, and `+` is "or" as in NumPy;
            an integer type: whole numbers, whose step is 1; None: numbers of any type.

    Raises:
        TypeError: for a shape that is no whole number or tuple of them, and a range that is no pair.
        ParameterError: for negative extents, a range that is reversed, not of finite numbers or without a
            multiple of the step, and other types.

    Examples:
        >>> hm.ArraySpec((1000,), range=(0, 120), step=1)  # whole numbers can be compared
        ArraySpec(shape=(1000,), range=(0, 120), name='', step=1, clip=None, dtype=None)
    """

    shape: tuple[int, ...]
    range: tuple[float, float] | None = None
    name: str = ""
    step: float | None = None
    clip: bool | None = None
    dtype: DTypeLike | None = None

    @property
    def kind(self) -> Kind | None:
        """The kind of the elements; None: numbers of any."""
        if self.dtype is None:
            return None
        kinds: dict[str, Kind] = {"b": "b", "i": "i", "u": "i", "f": "f"}
        return kinds[np.dtype(self.dtype).kind]

    # An int is a shape of one axis; a field has one type, so `__init__` takes both.
    if TYPE_CHECKING:

        def __init__(
            self,
            shape: int | Sequence[int],
            range: tuple[float, float] | None = None,  # noqa: A002
            name: str = "",
            step: float | None = None,
            clip: bool | None = None,
            dtype: DTypeLike | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", _shape(self.shape))
        what = f"ArraySpec{self.name and ' '}{self.name}"
        if self.range is not None:
            checked_range(what, self.range)
            object.__setattr__(self, "range", tuple(self.range))  # of any pair, as of an array
        if self.dtype is not None:
            self._of_type(np.dtype(self.dtype))
        limits, step = self.range or (0.0, 0.0), self.step or 0.0
        if step > 0 and operator.gt(*multiples_within(*limits, step)):
            raise ParameterError(f"{what}: no multiple of the step {step:g} lies in {limits}")

    def _of_type(self, dtype: np.dtype[Any]) -> None:
        """Fills in the fields that follow from the type of the elements."""
        if dtype.kind not in "biuf":
            raise ParameterError(f"dtype={dtype}: inputs are truth values, whole numbers or real ones")
        has_range = self.range is not None and tuple(self.range) != (0, 1)
        if dtype.kind == "b" and (has_range or self.step not in (None, 1)):
            raise ParameterError(
                f"truth values have the range (0, 1) and the step 1, not {self.range} and {self.step}"
            )
        if dtype.kind in "iu" and self.range is not None:
            most = np.iinfo(dtype)
            if not most.min <= self.range[0] <= self.range[1] <= most.max:
                raise ParameterError(
                    f"dtype={dtype} has numbers from {most.min} to {most.max}, not from {self.range[0]:g} "
                    f"to {self.range[1]:g}: give a wider type, or a narrower range"
                )
        object.__setattr__(self, "dtype", dtype)
        if dtype.kind == "b":
            object.__setattr__(self, "range", (0, 1))
        if dtype.kind != "f" and self.step is None:
            object.__setattr__(self, "step", 1)


def _shape(given: Any) -> tuple[int, ...]:
    """As NumPy takes shapes. See `ArraySpec` for errors."""
    try:
        shape = tuple(map(operator.index, given if np.iterable(given) else (given,)))
    except TypeError:
        raise TypeError(
            f"ArraySpec: a shape is a tuple of whole numbers, or one, as in NumPy, not {given!r}"
        ) from None
    if min(shape, default=0) < 0:
        raise ParameterError(f"ArraySpec: the shape {shape} has a negative extent")
    return shape


def shape_of(given: Any) -> tuple[int, ...]:
    """The shape of a spec or of an example. TypeError for a tuple, which would be a shape elsewhere."""
    if isinstance(given, ArraySpec):
        return given.shape
    if isinstance(given, tuple):
        raise TypeError(
            f"an input is an ArraySpec or an example array, and not the tuple {given!r}: give "
            f"ArraySpec({given!r}, range=(low, high)) for its shape, or np.array({given!r}) as an example"
        )
    return np.shape(given)


def names_of(what: Callable[..., Any], inputs: Sequence[Any]) -> list[str]:
    """The name of each input: its own, that of the function's parameter, or else x, x1 and so on. Errors as
    `parameters_of`."""
    own = [each.name if isinstance(each, ArraySpec) else "" for each in inputs]
    of_function = parameters_of(what, own)
    found: list[str] = []
    for at, name in enumerate(own):
        other = name or next(iter(of_function[at:]), f"x{at or ''}")
        while not name and other in (*own, *found):
            other += "_"
        found.append(other)
    return found


def spec_of(given: Any, name: str, samples: NDArray[Any] | None, margin: float) -> ArraySpec:
    """The spec of an input, of a spec or an example.

    Raises:
        TypeError: for a tuple.
        ParameterError: when there is no range, or none of finite numbers.
        MismatchError: when the samples have another shape.
    """
    if not isinstance(given, ArraySpec):
        return spec_of(ArraySpec(shape_of(given), dtype=_type_of(given, samples)), name, samples, margin)
    limits, clip = given.range, given.clip
    if samples is not None:
        if samples.shape[1:] != given.shape or not len(samples):
            raise MismatchError(f"samples of shape {samples.shape} for input {name!r} of shape {given.shape}")
        if limits is None:
            low, high = float(samples.min()), float(samples.max())
            room = margin * max(high - low, 2.0**-10)
            limits = widened(low, high, room, margin, 1 if low >= 0 else -1)
    if limits is None:
        raise ParameterError(
            f"the range of input {name!r} is not known: give ArraySpec({given.shape}, range=(low, high)), or "
            "samples by calibrate="
        )
    clip = given.range is None if clip is None else clip
    return replace(given, range=checked_range(f"input {name!r}", limits), name=name, clip=clip)


def _type_of(example: Any, samples: NDArray[Any] | None) -> DTypeLike | None:
    """The type of an input by an example: of truth values, of integers where its samples are whole, too;
    None: of any numbers. Integers that are far from 0 are centred as any numbers are."""
    kind = getattr(getattr(example, "dtype", None), "kind", "")
    if kind == "b":
        return np.bool_
    if kind not in ("i", "u") or samples is None or not samples.size or (samples % 1 != 0).any():
        return None
    return np.int64 if centre_of((float(samples.min()), float(samples.max()))) == 0 else None


def checked_range(what: str, limits: tuple[float, float]) -> tuple[float, float]:
    """The least and the largest number.

    Raises:
        TypeError: for what is no pair of numbers.
        ParameterError: for others than finite ones, and a reversed pair.
    """
    given = [as_number(end) for end in limits] if np.iterable(limits) else []
    ends = [end for end in given if isinstance(end, (int, float))]
    if len(given) != 2 or len(ends) != 2:
        raise TypeError(f"{what}: a range is a pair of numbers, (low, high), not {limits!r}")
    try:
        low, high = map(float, ends)
    except OverflowError:
        raise ParameterError(f"{what}: an end of the range is beyond all doubles") from None
    if not np.isfinite([low, high]).all():
        raise ParameterError(f"{what}: a range from {low:g} to {high:g}; both ends are finite numbers")
    if low > high:
        raise ParameterError(f"{what}: a range from {low:g} to {high:g} is reversed: give (low, high)")
    return low, high


def require_fitting(specs: Iterable[ArraySpec], samples: int, slots: int) -> None:
    """ParameterError unless ciphertexts of `slots` slots can hold `samples` samples each, and inputs are of
    few enough ciphertexts: before anything of their size is made."""
    if not 1 <= samples <= slots or samples & (samples - 1):
        raise ParameterError(
            f"samples={samples}: a ciphertext of {slots} slots holds a power of two of samples, up to {slots}"
        )
    for spec in specs:
        if 0 in spec.shape:
            raise ParameterError(f"input {spec.name!r} of shape {spec.shape} has no elements; give it some")
        Tiling.of(spec.shape, slots // samples)


def are_far(specs: Iterable[ArraySpec]) -> bool:
    """Whether an input without a step is far from 0, next to the width of its range."""
    return bool([own for own in specs if own.range and own.step is None and centre_of(own.range) != 0])


def centre_of(ends: tuple[float, float]) -> float:
    """The number that is taken off values that are far from 0; 0: none."""
    middle, half = (ends[0] + ends[1]) / 2, (ends[1] - ends[0]) / 2
    return middle if half > 0 and abs(middle) > _FAR * half else 0.0
