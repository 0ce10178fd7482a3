"""Arrays of any shape, of `hemera.compile`."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from hemera._noise_warning import warn_of_rows
from hemera.arrays.facts import beside_steps, multiples_within
from hemera.arrays.layout import Layout
from hemera.errors import FormatError, MismatchError, ParameterError
from hemera.inputs.plain import plain_array
from hemera.package.encodings.base import (
    Encoding,
    arrays_by_name,
    chunked,
    limits_of,
    require_layouts,
    require_range,
)
from hemera.package.encodings.watching import rows_text, tell_rows, tell_unwatched, unwatched_of
from hemera.package.specs import InputSpec, OutputSpec, read_as
from hemera.program.values import MAX_SLOTS, Array, integer, real

Floats = NDArray[np.float64]
_Spec = TypeVar("_Spec", InputSpec, OutputSpec)


WHOLE = "whole arrays"
"""The kind in files of arrays of whole numbers."""
_AS_IT_IS = (1.0, 0.0)
"""The scale of values that are encrypted as they are."""


def _clipped(given: Any, spec: InputSpec, step: float, axes: int) -> Floats:
    """Values inside of the range: those outside become its ends, or the nearest multiples of the step in it.
    Warns of them, and names rows, of which the last `axes` axes are one. Infinite and missing ones stay."""
    values: Floats = plain_array(given, spec.name, np.float64)
    low, high = limits_of(spec)
    outside = (values < low) | (values > high)
    if not (outside.any() and np.isfinite(values).all()):
        return values
    rows = values.ndim - axes
    told = outside.any(axis=tuple(range(rows, values.ndim))).ravel() if rows > 0 else np.ones(1, np.bool_)
    warn_of_rows(
        f"{spec.name}: {int(outside.sum())} of {values.size} values, from {values.min()} to {values.max()}, "
        f"are outside of the range from {low} to {high}, and are brought into it"
        + (f" ({rows_text(told)})" if told.size > 1 else "")
        + ". Results are those of the values so changed; compile with samples that have such values "
        "(calibrate=)"
    )
    if step:
        low, high = multiples_within(low, high, step)
    return np.clip(values, low, high)


@dataclass(frozen=True)
class Arrays(Encoding):
    """Arrays of any shape in layouts of `hemera.compile`. Large ones are several inputs, or outputs."""

    kind: ClassVar[str] = "arrays"
    inputs: tuple[Layout, ...]
    outputs: tuple[Layout, ...]
    steps: tuple[float | None, ...] = ()
    """The step of each input, whose elements are multiples of it; None: any numbers. (): no input has one."""
    samples: int = 1
    """The number of samples that each ciphertext holds. Several are the first axis of the layouts, and of the
    arrays."""
    parts: int = 1
    """2: half of the samples are in the imaginary parts of slots, and layouts are of one half."""
    clips: tuple[bool, ...] = ()
    """For each input whether values outside of its range are brought into it; else they are refused. (): for
    none."""
    unwatched: tuple[str, ...] = ()
    """Lines whose functions take values that rows may take out of the ranges of samples, where no output
    shows it."""
    rows: int = 0
    """The rows of a table that an array has along its first axis, for warnings; 0: it is one row. No file
    has it."""
    input_scales: tuple[tuple[float, float], ...] = ()
    """A factor f and a number c of each input: (x - c) / f is encrypted. (): x itself."""
    output_scales: tuple[tuple[float, float], ...] = ()
    """A factor f and a number c of each result: f y + c of the decrypted y. (): y itself."""
    whole: bool = False
    """Whether elements are whole numbers, for BFV or BGV: then each input has a step."""

    @property
    def is_complex(self) -> bool:
        return self.parts == 2

    @property
    def _in_slots(self) -> int:
        """Samples of which layouts are."""
        return self.samples // self.parts

    def _shape_of(self, layout: Layout) -> tuple[int, ...]:
        """The shape of one sample."""
        return layout.shape[1:] if self._in_slots > 1 else layout.shape

    def arguments(self, inputs: Sequence[InputSpec]) -> tuple[str, ...]:
        return tuple(spec.name for spec in _of_arrays(inputs, self.inputs))

    def encode(self, rows: Any, inputs: Sequence[InputSpec]) -> list[Array]:
        specs = _of_arrays(inputs, self.inputs)
        steps = self.steps or (None,) * len(self.inputs)
        clips = self.clips or (False,) * len(self.inputs)
        own = zip(arrays_by_name(rows, self.arguments(inputs)), specs, steps, clips, strict=True)
        axes = [len(self._shape_of(layout)) for layout in self.inputs]
        inside = [
            _clipped(values, spec, step or 0, each) if clip else values
            for (values, spec, step, clip), each in zip(own, axes, strict=True)
        ]
        given = zip(inside, specs, steps, strict=True)
        return self.in_slots([self._checked(*each) for each in given], specs[0].slots)

    def in_slots(self, given: Sequence[Array], slots: int) -> list[Array]:
        """The slots of each input, of arrays that fit. MismatchError for other shapes."""
        found: list[Array] = []
        scales = self.input_scales or (_AS_IT_IS,) * len(self.inputs)
        for values, layout, (factor, number) in zip(self._chunked(given), self.inputs, scales, strict=True):
            own = values if (factor, number) == _AS_IT_IS else (values - number) / factor
            found += self._packed(own, layout, slots)
        return found

    def of_slots(self, values: Sequence[Array], rows: int | None = None) -> list[Array]:
        """The array of each output; `rows`: how many samples, where ciphertexts hold several; None: all."""
        arrays, found = iter(values), list[Array]()
        scales = self.output_scales or (_AS_IT_IS,) * len(self.outputs)
        for layout, (factor, number) in zip(self.outputs, scales, strict=True):
            own = self._unpacked(list(itertools.islice(arrays, layout.count)), layout)
            if (factor, number) != _AS_IT_IS:
                own = factor * own + number
            if self.samples > 1:
                own = np.moveaxis(own.reshape(-1, *self._shape_of(layout))[:rows], 0, layout.axis)
            found.append(own)
        return found

    def _packed(self, values: Array, layout: Layout, slots: int) -> list[Array]:
        if self.parts == 1:
            return layout.encode(values, slots)
        halves = values.reshape(len(values), 2, *layout.shape)
        both = zip(layout.encode(halves[:, 0], slots), layout.encode(halves[:, 1], slots), strict=True)
        return [real + 1j * imaginary for real, imaginary in both]

    def _unpacked(self, slots: Sequence[Array], layout: Layout) -> Array:
        if self.parts == 1:
            return layout.decode(slots)
        halves = [layout.decode([part(each) for each in slots]) for part in (np.real, np.imag)]
        return np.stack(halves, axis=1)

    def _checked(self, values: Any, spec: InputSpec, step: float | None) -> Array:
        """The packed values. ParameterError for values that the model is not for."""
        if self.whole:
            return _whole(values, spec, int(step or 1))
        array = plain_array(values, spec.name, np.float64)
        require_range(array, spec)
        if step is not None:
            _require_step(array, spec, step)
        return array

    def _chunked(self, given: Sequence[Any]) -> Sequence[Any]:
        """Arrays of shape (chunks, samples, *shape) of those of shape (n, *shape). MismatchError for other
        shapes, or different numbers of samples."""
        if self.samples == 1:
            return given
        own = [plain_array(each, "inputs") for each in given]
        arrays = [_samples_first(each, layout) for each, layout in zip(own, self.inputs, strict=True)]
        for whole, array, layout in zip(own, arrays, self.inputs, strict=True):
            shape = self._shape_of(layout)
            if array.ndim == 0 or array.shape != (len(arrays[0]), *shape):
                extents = [*map(str, shape[: layout.axis]), "samples", *map(str, shape[layout.axis :])]
                raise MismatchError(
                    f"arrays of shape ({', '.join(extents)}), with as many samples for each input, are "
                    f"needed, not one of {whole.shape}"
                )
        count = len(arrays[0])
        if count == 0:
            raise MismatchError("no samples were given")
        return [chunked(array, self.samples) for array in arrays]

    def count(self, rows: Any, inputs: Sequence[InputSpec]) -> int | None:
        if self.samples == 1:
            return None
        first = arrays_by_name(rows, self.arguments(inputs))[0]
        return len(_samples_first(np.asarray(first), self.inputs[0]))

    def decode(self, values: list[Array], outputs: Sequence[OutputSpec], rows: int | None) -> Any:
        tell_unwatched(self.unwatched)
        read = {}
        scales = self.output_scales or (_AS_IT_IS,) * len(self.outputs)
        own = zip(_of_arrays(outputs, self.outputs), self.outputs, scales, strict=True)
        for found, (spec, layout, scale) in zip(self.of_slots(values, rows), own, strict=True):
            axes, together = len(self._shape_of(layout)), max(self.samples, self.rows)
            first = _samples_first(found, layout) if self.samples > 1 else found
            tell_rows(first, spec, axes, rows=self.rows, count=rows, together=together, scale=scale)
            if not spec.watched:
                read[spec.name] = read_as(found, spec.read, spec.labels)
        return next(iter(read.values())) if len(read) == 1 else read

    def require_fit(self, inputs: int, outputs: int) -> None:
        require_layouts("inputs", self.inputs, inputs)
        require_layouts("outputs", self.outputs, outputs)

    def to_data(self) -> dict[str, Any]:
        return {
            "kind": WHOLE if self.whole else self.kind,
            "inputs": [layout.to_data() for layout in self.inputs],
            "outputs": [layout.to_data() for layout in self.outputs],
            # Models without these are files as before there were such.
            **({"steps": list(self.steps)} if self.steps else {}),
            **({"samples": self.samples} if self.samples > 1 else {}),
            **({"parts": self.parts} if self.parts > 1 else {}),
            **({"clips": list(self.clips)} if self.clips else {}),
            **({"unwatched": list(self.unwatched)} if self.unwatched else {}),
            **({"input_scales": list(map(list, self.input_scales))} if self.input_scales else {}),
            **({"output_scales": list(map(list, self.output_scales))} if self.output_scales else {}),
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Arrays:
        inputs, outputs = (tuple(map(Layout.from_data, data[name])) for name in ("inputs", "outputs"))
        whole = data["kind"] == WHOLE
        steps = tuple(None if each is None else _step(each, whole) for each in data.get("steps", ()))
        if steps and len(steps) != len(inputs):
            raise FormatError(f"{len(inputs)} inputs have {len(steps)} steps")
        samples = integer(data.get("samples", 1), "samples", 1, MAX_SLOTS)
        parts = integer(data.get("parts", 1), "parts", 1, 2)
        if samples % parts:
            raise FormatError(f"{samples} samples are not in {parts} parts of slots")
        in_slots = samples // parts
        if in_slots > 1 and any(layout.shape[:1] != (in_slots,) for layout in (*inputs, *outputs)):
            raise FormatError(f"layouts are not of {in_slots} samples")
        clips = tuple(data.get("clips", ()))
        if clips and (len(clips) != len(inputs) or not all(isinstance(each, bool) for each in clips)):
            raise FormatError(f"{len(inputs)} inputs, and {clips} says which are clipped")
        unwatched = unwatched_of(data.get("unwatched", ()))
        scales = (
            _scales_of(data.get("input_scales", ()), len(inputs)),
            _scales_of(data.get("output_scales", ()), len(outputs)),
        )
        if whole and (any(clips) or any(scales)):
            raise FormatError("whole numbers are not clipped or scaled")
        if whole and (None in steps or len(steps) != len(inputs)):
            raise FormatError(f"{len(inputs)} inputs of whole numbers have the steps {steps}")
        return cls(inputs, outputs, steps, samples, parts, clips, unwatched, 0, *scales, whole)


def _step(value: Any, whole: bool) -> float:
    step = integer(value, "a step", 1, 1 << 53) if whole else real(value, "a step")
    if step <= 0:
        raise FormatError(f"a step must be positive, not {step:g}")
    return step


def _scales_of(data: Any, count: int) -> tuple[tuple[float, float], ...]:
    """Factors and numbers of a file. FormatError for others than finite ones, and for factors of 0."""
    pairs = [tuple(each) for each in data]
    if pairs and (len(pairs) != count or any(len(each) != 2 for each in pairs)):
        raise FormatError(f"{count} arrays have {len(pairs)} scales of a factor and a number")
    found = tuple((real(factor, "a factor"), real(number, "a number")) for factor, number in pairs)
    if any(factor <= 0 for factor, _ in found):
        raise FormatError("a scale's factor must be positive")
    return found


def _samples_first(array: Array, layout: Layout) -> Array:
    """An array with its axis of samples as the first one; as it is where it has no such axis."""
    return np.moveaxis(array, layout.axis, 0) if array.ndim > layout.axis else array


def _of_arrays(specs: Sequence[_Spec], layouts: Sequence[Layout]) -> list[_Spec]:
    """The first of the inputs, or outputs, that each array is, with the name of the array."""
    starts = itertools.accumulate((layout.count for layout in layouts), initial=0)
    return [
        specs[start]
        if layout.count == 1
        else replace(specs[start], name=specs[start].name.removesuffix(".0"))
        for start, layout in zip(starts, layouts, strict=False)
    ]


def _require_step(values: Array, spec: InputSpec, step: float) -> None:
    """ParameterError for values that are no multiples of the step: comparisons of them would be wrong."""
    wrong = beside_steps(values, step)
    if wrong.any():
        raise ParameterError(
            f"{spec.name}: the model is for multiples of {step:g}, and {values[wrong][0]:g} is none"
        )


def _whole(given: Any, spec: InputSpec, step: int) -> NDArray[np.int64]:
    """Whole numbers as int64. ParameterError for others, for values out of the range, and for values that
    are no multiples of the step."""
    values = plain_array(given, spec.name)
    if values.dtype.kind == "O" and all(isinstance(each, (int, np.integer)) for each in values.flat):
        # Python's integers beyond int64 are out of every range.
        values = np.clip(values, -(1 << 62), 1 << 62).astype(np.int64)
    if values.dtype.kind not in "biuf":
        raise ParameterError(f"{spec.name}: whole numbers are needed, not values of {values.dtype}")
    require_range(values, spec)
    found = values.astype(np.int64)
    wrong = values[(found != values) | (found % step != 0)]
    if wrong.size:
        wanted = "whole numbers" if step == 1 else f"multiples of {step}"
        raise ParameterError(f"{spec.name}: the model is for {wanted}, and {wrong[0]} is none")
    return found
