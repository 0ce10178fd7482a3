"""How a client's rows become what it encrypts, and what it decrypts becomes results: plain NumPy, by name."""

from __future__ import annotations

import itertools
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.recorder import beside_steps
from hemera.arrays.tiling import TiledLayout
from hemera.errors import FormatError, HemeraWarning, MismatchError, ParameterError, RangeWarning
from hemera.serving.finishing import Method
from hemera.serving.readings import read_as
from hemera.serving.specs import InputSpec, OutputSpec
from hemera.serving.values import MAX_SLOTS, Array, integer, real
from hemera.trees.layout import Layout as TreeLayout
from hemera.trees.quantise import Quantiser

Floats = NDArray[np.float64]
_Spec = TypeVar("_Spec", InputSpec, OutputSpec)

_ROUNDING = 1e-9
"""Part of the range by which a value on its end may lie outside."""
_LARGEST = 1e150
_COLUMNS_TOLD = 3
"""Columns that a warning names."""


class Encoding(ABC):
    """From rows to inputs, and from outputs to results."""

    kind: ClassVar[str]

    @abstractmethod
    def encode(self, rows: Any, inputs: Sequence[InputSpec]) -> list[Array]:
        """An array of shape (..., *shape, slots) for each input."""

    @abstractmethod
    def decode(self, values: list[Array], outputs: Sequence[OutputSpec], rows: int | None) -> Any:
        """Results, from arrays of shape (..., *shape, slots)."""

    def count(self, rows: Any, inputs: Sequence[InputSpec]) -> int | None:
        """How many rows `decode` gives the results of; None: as many as there is room for."""
        del inputs
        return len(rows) if hasattr(rows, "__len__") else None

    def to_data(self) -> dict[str, Any]:
        """What JSON takes, with its kind."""
        return {"kind": self.kind}

    def require_fit(self, inputs: int, outputs: int) -> None:  # noqa: B027
        """FormatError for another number of inputs or outputs than it is for."""


def _require_layouts(what: str, layouts: Sequence[TiledLayout], count: int) -> None:
    own = sum(layout.count for layout in layouts)
    if own != count:
        raise FormatError(f"layouts of {own} {what}, and the model has {count}")


def _require_range(values: Array, spec: InputSpec) -> None:
    low = -np.inf if spec.low is None else spec.low
    high = np.inf if spec.high is None else spec.high
    if not (np.isfinite(values).all() and (values >= low).all() and (values <= high).all()):
        raise ParameterError(
            f"{spec.name}: the model is for values from {low} to {high}, and these are from {values.min()} "
            f"to {values.max()}"
        )


def _clipped(given: Any, spec: InputSpec, step: float) -> Floats:
    """Values inside of the range: those outside become its ends, or the nearest multiples of the step in it.
    Warns of them. Infinite and missing ones stay."""
    values = np.asarray(given, np.float64)
    low = -np.inf if spec.low is None else spec.low
    high = np.inf if spec.high is None else spec.high
    outside = (values < low) | (values > high)
    if not (outside.any() and np.isfinite(values).all()):
        return values
    warnings.warn(
        f"{spec.name}: {int(outside.sum())} of {values.size} values, from {values.min()} to {values.max()}, "
        f"are outside of the range from {low} to {high}, and are brought into it. Results are those of the "
        "values so changed; compile with samples that have such values (calibrate=)",
        RangeWarning,
        stacklevel=2,
    )
    if step:
        low, high = math.ceil(low / step) * step, math.floor(high / step) * step
    return np.clip(values, low, high)


def finite_rows(given: Any, features: int, what: str) -> Floats:
    """Rows of numbers, checked: at least one, of so many features, all of them finite.

    Raises:
        ParameterError: for what is no table of numbers, and for missing or infinite values.
        MismatchError: for another shape.
    """
    try:
        rows = np.asarray(given, np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"{what}: the rows are no table of numbers: {error}") from None
    if rows.ndim != 2 or rows.shape[1] != features or len(rows) == 0:
        raise MismatchError(
            f"{what}: rows of shape {rows.shape} for a model of {features} features; give at least one row, "
            f"of shape (rows, {features})"
        )
    if not np.isfinite(rows).all():
        raise ParameterError(
            f"{what}: the rows have missing or infinite values; fill them in before, or leave such rows out"
        )
    return rows


def column_ranges(rows: Floats, wider: float) -> tuple[Floats, Floats]:
    """The middle of each column, and half its width times `wider`; of a constant one half its size, or 1/2.

    Raises:
        ParameterError: for columns beyond 1e150.
    """
    low, high = rows.min(axis=0), rows.max(axis=0)
    centre = low / 2 + high / 2
    half = np.where(high > low, high / 2 - low / 2, np.maximum(np.abs(centre), 1.0) / 2)
    if half.max() > _LARGEST:
        raise ParameterError(f"calibrate: rows of up to {half.max():g} are beyond {_LARGEST:g}; scale them")
    return centre, wider * half


def _require_columns(rows: Any, names: tuple[str, ...]) -> None:
    """MismatchError for a table whose columns have the model's names in another order, or other names."""
    columns = tuple(map(str, getattr(rows, "columns", ())))
    differ = [at for at, (a, b) in enumerate(zip(columns, names, strict=False)) if a != b]
    if differ and len(columns) == len(names):
        at = differ[0]
        raise MismatchError(
            f"the table's column {at} is {columns[at]!r}, and the model's is {names[at]!r}; give the columns "
            "in the model's order: table[list(names)]"
        )


def arrays_by_name(rows: Any, inputs: Sequence[InputSpec]) -> list[Any]:
    """One array an input: of a dict by name, of a sequence, or the array itself where there is one input.
    MismatchError for others."""
    if isinstance(rows, Mapping):
        missing = [spec.name for spec in inputs if spec.name not in rows]
        if missing or len(rows) != len(inputs):
            raise MismatchError(f"the model has the inputs {', '.join(spec.name for spec in inputs)}")
        given = [rows[spec.name] for spec in inputs]
    elif len(inputs) == 1 and not (isinstance(rows, (list, tuple)) and len(rows) == 1):
        given = [rows]
    else:
        given = list(rows)
    if len(given) != len(inputs):
        raise MismatchError(f"{len(given)} arrays were given, and the model has {len(inputs)} inputs")
    return given


def chunked(rows: NDArray[Any], each: int) -> NDArray[Any]:
    """An array of shape (chunks, each, ...) of rows. The last chunk is filled up with the last row."""
    chunks = -(-len(rows) // each)
    taken = np.minimum(np.arange(chunks * each), len(rows) - 1)
    return rows[taken].reshape(chunks, each, *rows.shape[1:])


class Vectors(Encoding):
    """Vectors as they are: one array an input, of shape (..., *shape, width)."""

    kind = "vectors"

    def encode(self, rows: Any, inputs: Sequence[InputSpec]) -> list[Array]:
        given = arrays_by_name(rows, inputs)
        found = []
        for values, spec in zip(given, inputs, strict=True):
            array = np.asarray(values)
            own = (*spec.shape, spec.width)
            if array.shape[-len(own) :] != own:
                wanted = ", ".join(map(str, own))
                raise MismatchError(
                    f"{spec.name}: an array of shape (..., {wanted}) is needed, not {array.shape}"
                )
            _require_range(array, spec)
            padded = np.zeros((*array.shape[:-1], spec.slots), array.dtype)
            padded[..., : spec.width] = array
            found.append(padded)
        return found

    def decode(self, values: list[Array], outputs: Sequence[OutputSpec], rows: int | None) -> Any:
        del rows
        read = [
            read_as(array[..., : spec.width], spec.read, spec.labels)
            for array, spec in zip(values, outputs, strict=True)
        ]
        return read[0] if len(read) == 1 else dict(zip((spec.name for spec in outputs), read, strict=True))


@dataclass(frozen=True)
class Scaling:
    """How a client brings the columns of a table into [-clip, clip]."""

    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    """Features become (x - mean) / deviation."""
    clip: float
    names: tuple[str, ...] = ()
    """Of the features, if they are known."""
    saturates: bool = False
    """Whether the model itself clips there; otherwise a client that clips warns."""

    def __call__(self, rows: Any) -> Floats:
        """Standardised and clipped rows. Warns of the columns that are clipped, unless the model saturates
        there."""
        _require_columns(rows, self.names)
        values = finite_rows(rows, len(self.mean), "score")
        scaled = (values - np.asarray(self.mean)) / np.asarray(self.deviation)
        clipped = np.clip(scaled, -self.clip, self.clip)
        if not self.saturates:
            self._warn_of(values, np.abs(scaled) > self.clip * (1 + _ROUNDING))
        return np.asarray(clipped, np.float64)

    def _warn_of(self, values: Floats, outside: NDArray[np.bool_]) -> None:
        columns = np.flatnonzero(outside.any(axis=0))
        if len(columns) == 0:
            return
        told = []
        for at in columns[:_COLUMNS_TOLD]:
            named = f" ({self.names[at]})" if self.names else ""
            far = values[outside[:, at], at]
            worst = far[np.abs(far - self.mean[at]).argmax()]
            low, high = (self.mean[at] + sign * self.clip * self.deviation[at] for sign in (-1, 1))
            told.append(f"column {at}{named} has {worst:g}, and the model is for {low:g} to {high:g}")
        if len(columns) > _COLUMNS_TOLD:
            told.append(f"{len(columns) - _COLUMNS_TOLD} more columns")
        warnings.warn(
            f"{int(outside.any(axis=1).sum())} of {len(values)} rows are clipped, and their results are "
            f"those of the clipped rows: {'; '.join(told)}. Package the model for a wider range (calibrate=)",
            HemeraWarning,
            stacklevel=2,
        )


@dataclass(frozen=True)
class Rows(Encoding):
    """Rows of a table, several in a ciphertext: each standardised, clipped, and filled up to a block of
    slots. The scores of a row are in the first slots of its block."""

    kind: ClassVar[str] = "rows"
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    """Features become (x - mean) / deviation."""
    clip: float
    """They are then brought into [-clip, clip]."""
    block: int
    """Slots of a row, a power of two."""
    scores: int = 1
    """How many a row has."""
    names: tuple[str, ...] = ()
    """Of the features, if they are known."""
    saturates: bool = False
    """Whether the model itself clips there; otherwise a client that clips warns."""

    @property
    def features(self) -> int:
        """How many a row has."""
        return len(self.mean)

    def prepared(self, rows: Any) -> Floats:
        """Standardised and clipped rows. Warns of the columns that are clipped, unless the model saturates
        there."""
        own = Scaling(self.mean, self.deviation, self.clip, self.names, self.saturates)
        return own(rows)

    def encode(self, rows: Any, inputs: Sequence[InputSpec]) -> list[Array]:
        values = self.prepared(rows)
        slots = inputs[0].slots
        each = slots // self.block
        chunks = -(-len(values) // each)
        packed = np.zeros((chunks * each, self.block))
        packed[: len(values), : self.features] = values
        return [packed.reshape(chunks, slots)]

    def decode(self, values: list[Array], outputs: Sequence[OutputSpec], rows: int | None) -> Any:
        spec = outputs[0]
        scores = values[0].reshape(-1, self.block)[:rows, : self.scores]
        return read_as(scores if self.scores > 1 or spec.column else scores[:, 0], spec.read, spec.labels)

    def to_data(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "mean": list(self.mean),
            "deviation": list(self.deviation),
            "clip": self.clip,
            "block": self.block,
            "scores": self.scores,
            "names": list(self.names),
            "saturates": self.saturates,
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Rows:
        mean = tuple(real(x, "a mean") for x in data["mean"])
        deviation = tuple(real(x, "a deviation") for x in data["deviation"])
        block = integer(data["block"], "a block", 1, 1 << 17)
        if block & (block - 1) or not 1 <= len(mean) == len(deviation) <= block or min(deviation) <= 0:
            raise FormatError(
                "rows need as many deviations, above 0, as means, and a block of a power of two"
            )
        names = tuple(map(str, data["names"]))
        if len(names) not in (0, len(mean)):
            raise FormatError(f"rows of {len(mean)} features have {len(names)} names")
        scores = integer(data["scores"], "scores", 1, block)
        clip = real(data["clip"], "clip")
        # Packages from before there was `saturates` are without it.
        return cls(mean, deviation, clip, block, scores, names, bool(data.get("saturates", False)))


@dataclass(frozen=True)
class TreeRows(Encoding):
    """Rows of a table for boosted trees: the bits of each node's comparisons, laid out as
    `hemera.trees` does. Splits and leaves are not in it."""

    kind: ClassVar[str] = "trees"
    quantiser: Quantiser
    layout: TreeLayout
    features: NDArray[np.int64]
    """Shape (scores, trees, nodes): what each node compares, where any tree has one."""
    scale: int
    """Integer scores are the model's times this."""
    classes: int
    """0: a regression."""
    names: tuple[str, ...] = ()
    """Of the features, if they are known."""

    def encode(self, rows: Any, inputs: Sequence[InputSpec]) -> list[Array]:
        del inputs
        _require_columns(rows, self.names)
        bins = self.quantiser.bins(np.asarray(rows))
        each = self.layout.samples
        parts = [self._planes(bins[at : at + each]) for at in range(0, len(bins), each)]
        return [np.stack(parts)]

    def _planes(self, bins: NDArray[np.int64]) -> Array:
        """Slots of shape (groups * nodes * planes, N)."""
        found = []
        for node in range(self.features.shape[2]):
            compared = bins[:, self.features[:, :, node]]
            found += [self.layout.pack(bit) for bit in self.quantiser.bits(compared)]
        return np.asarray(np.stack(found).swapaxes(0, 1).reshape(-1, self.layout.degree))

    def decode(self, values: list[Array], outputs: Sequence[OutputSpec], rows: int | None) -> Any:
        chunks = values[0].reshape(-1, 1, values[0].shape[-1])
        scores = np.concatenate([self.layout.unpack(each) for each in chunks])[:rows]
        spec = outputs[0]
        if scores.shape[1] > 1:
            return read_as(scores / self.scale, spec.read, spec.labels)
        # Packages from before there was "sign" for two classes say "argmax".
        read = "sign" if spec.read == "argmax" else spec.read
        return read_as(scores[:, 0] / self.scale, read, spec.labels)

    def to_data(self) -> dict[str, Any]:
        layout = self.layout
        return {
            "kind": self.kind,
            **self.quantiser.to_data(),
            "degree": layout.degree,
            "lanes": layout.lanes,
            "samples": layout.samples,
            "features": self.features.tolist(),
            "scale": self.scale,
            "classes": self.classes,
            "names": list(self.names),
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> TreeRows:
        features = np.asarray(data["features"])
        quantiser = Quantiser.from_data(data)
        if features.ndim != 3 or features.dtype.kind != "i" or features.size == 0:
            raise FormatError("the trees' features are damaged")
        if features.min() < 0 or features.max() >= len(quantiser.edges):
            raise FormatError("the trees compare features that are not there")
        degree = integer(data["degree"], "degree", 1 << 10, 1 << 17)
        lanes = integer(data["lanes"], "lanes", 1, degree // 2)
        scores, trees = features.shape[:2]
        samples = integer(data["samples"], "samples", 1, max(1, degree // 2 // lanes // scores))
        if degree & (degree - 1) or lanes & (lanes - 1) or samples * scores > degree // 2 // lanes:
            raise FormatError("the trees' layout does not fit its degree")
        # Packages from before there were names are without them.
        names = tuple(map(str, data.get("names", ())))
        if len(names) not in (0, len(quantiser.edges)):
            raise FormatError(f"trees of {len(quantiser.edges)} features have {len(names)} names")
        return cls(
            quantiser,
            TreeLayout(degree, scores, trees, samples, lanes, samples),
            features.astype(np.int64),
            integer(data["scale"], "a scale", 1, 1 << 62),
            integer(data["classes"], "classes", 0, 1 << 20),
            names,
        )


@dataclass(frozen=True)
class Arrays(Encoding):
    """Arrays of any shape in layouts of `hemera.compile`. Large ones are several inputs, or outputs."""

    kind: ClassVar[str] = "arrays"
    inputs: tuple[TiledLayout, ...]
    outputs: tuple[TiledLayout, ...]
    steps: tuple[float | None, ...] = ()
    """Of each input: its elements are multiples of it; None: any numbers. (): of no input."""
    samples: int = 1
    """That each ciphertext holds. Several are the first axis of the layouts, and of the arrays."""
    parts: int = 1
    """2: half of the samples are in the imaginary parts of slots, and layouts are of one half."""
    clips: tuple[bool, ...] = ()
    """Of each input: whether values outside of its range are brought into it; else they are refused. (): of
    none."""

    @property
    def _in_slots(self) -> int:
        """Samples of which layouts are."""
        return self.samples // self.parts

    def _shape_of(self, layout: TiledLayout) -> tuple[int, ...]:
        """Of one sample."""
        return layout.shape[1:] if self._in_slots > 1 else layout.shape

    def encode(self, rows: Any, inputs: Sequence[InputSpec]) -> list[Array]:
        specs = _of_arrays(inputs, self.inputs)
        found: list[Array] = []
        steps = self.steps or (None,) * len(self.inputs)
        clips = self.clips or (False,) * len(self.inputs)
        own = zip(arrays_by_name(rows, specs), specs, steps, clips, strict=True)
        inside = [_clipped(values, spec, step or 0) if clip else values for values, spec, step, clip in own]
        given = self._chunked(inside)
        for values, spec, layout, step in zip(given, specs, self.inputs, steps, strict=True):
            found += self._packed(self._checked(values, spec, step), layout, spec.slots)
        return found

    def _packed(self, values: Array, layout: TiledLayout, slots: int) -> list[Array]:
        if self.parts == 1:
            return layout.pack(values, slots)
        halves = values.reshape(len(values), 2, *layout.shape)
        both = zip(layout.pack(halves[:, 0], slots), layout.pack(halves[:, 1], slots), strict=True)
        return [real + 1j * imaginary for real, imaginary in both]

    def _unpacked(self, slots: Sequence[Array], layout: TiledLayout) -> Array:
        if self.parts == 1:
            return layout.unpack(slots)
        halves = [layout.unpack([part(each) for each in slots]) for part in (np.real, np.imag)]
        return np.stack(halves, axis=1)

    def _checked(self, values: Any, spec: InputSpec, step: float | None) -> Array:
        """What is packed. ParameterError for values that the model is not for."""
        array = np.asarray(values, np.float64)
        _require_range(array, spec)
        if step is not None:
            _require_step(array, spec, step)
        return array

    def _chunked(self, given: list[Any]) -> list[Any]:
        """Arrays of shape (chunks, samples, *shape) of those of shape (n, *shape). MismatchError for other
        shapes, or different numbers of samples."""
        if self.samples == 1:
            return given
        arrays = [np.asarray(each) for each in given]
        for array, layout in zip(arrays, self.inputs, strict=True):
            shape = self._shape_of(layout)
            if array.ndim == 0 or array.shape != (len(arrays[0]), *shape):
                wanted = "".join(f", {extent}" for extent in shape)
                raise MismatchError(
                    f"arrays of shape (samples{wanted}), with as many samples for each input, are needed, "
                    f"not one of {array.shape}"
                )
        count = len(arrays[0])
        if count == 0:
            raise MismatchError("no samples were given")
        return [chunked(array, self.samples) for array in arrays]

    def count(self, rows: Any, inputs: Sequence[InputSpec]) -> int | None:
        if self.samples == 1:
            return None
        return len(arrays_by_name(rows, _of_arrays(inputs, self.inputs))[0])

    def decode(self, values: list[Array], outputs: Sequence[OutputSpec], rows: int | None) -> Any:
        arrays, specs = iter(values), _of_arrays(outputs, self.outputs)
        read = []
        for spec, layout in zip(specs, self.outputs, strict=True):
            found = self._unpacked(list(itertools.islice(arrays, layout.count)), layout)
            if self.samples > 1:
                found = found.reshape(-1, *self._shape_of(layout))[:rows]
            read.append(read_as(found, spec.read, spec.labels))
        return read[0] if len(read) == 1 else dict(zip((spec.name for spec in specs), read, strict=True))

    def require_fit(self, inputs: int, outputs: int) -> None:
        _require_layouts("inputs", self.inputs, inputs)
        _require_layouts("outputs", self.outputs, outputs)

    def to_data(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "inputs": [layout.to_data() for layout in self.inputs],
            "outputs": [layout.to_data() for layout in self.outputs],
            # Models without these are files as before there were such.
            **({"steps": list(self.steps)} if self.steps else {}),
            **({"samples": self.samples} if self.samples > 1 else {}),
            **({"parts": self.parts} if self.parts > 1 else {}),
            **({"clips": list(self.clips)} if self.clips else {}),
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Arrays:
        inputs, outputs = (
            tuple(TiledLayout.from_data(each) for each in data[name]) for name in ("inputs", "outputs")
        )
        steps = tuple(None if each is None else cls._step(each) for each in data.get("steps", ()))
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
        return cls(inputs, outputs, steps, samples, parts, clips)

    @staticmethod
    def _step(value: Any) -> float:
        step = real(value, "a step")
        if step <= 0:
            raise FormatError(f"a step must be positive, not {step:g}")
        return step


@dataclass(frozen=True)
class WholeArrays(Arrays):
    """Arrays of whole numbers, in layouts of `hemera.compile` with BFV or BGV."""

    kind: ClassVar[str] = "whole arrays"

    def _checked(self, values: Any, spec: InputSpec, step: float | None) -> Array:
        return _whole(values, spec, int(step or 1))

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> WholeArrays:
        found = super().from_data(data)
        assert isinstance(found, cls)
        if any(found.clips):
            raise FormatError("whole numbers are not clipped")
        if None in found.steps or len(found.steps) != len(found.inputs):
            raise FormatError(f"{len(found.inputs)} inputs of whole numbers have the steps {found.steps}")
        return found

    @staticmethod
    def _step(value: Any) -> float:
        return integer(value, "a step", 1, 1 << 53)


def _of_arrays(specs: Sequence[_Spec], layouts: Sequence[TiledLayout]) -> list[_Spec]:
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
    values = np.asarray(given)
    if values.dtype.kind == "O" and all(isinstance(each, (int, np.integer)) for each in values.flat):
        # Python's integers beyond int64 are out of every range.
        values = np.clip(values, -(1 << 62), 1 << 62).astype(np.int64)
    if values.dtype.kind not in "biuf":
        raise ParameterError(f"{spec.name}: whole numbers are needed, not values of {values.dtype}")
    _require_range(values, spec)
    found = values.astype(np.int64)
    wrong = values[(found != values) | (found % step != 0)]
    if wrong.size:
        wanted = "whole numbers" if step == 1 else f"multiples of {step}"
        raise ParameterError(f"{spec.name}: the model is for {wanted}, and {wrong[0]} is none")
    return found


@dataclass(frozen=True, eq=False)
class Table(Encoding):
    """Rows of a table, several in an array: scaled as `Scaling` does, or compared with thresholds. The
    scores of the rows become the results of several methods."""

    kind: ClassVar[str] = "table"
    scaling: Scaling
    thresholds: tuple[float, ...]
    """Of each feature; it becomes 1 above, 0 elsewhere. (): features are scaled."""
    input: TiledLayout
    """Of an array of shape (rows, features)."""
    output: TiledLayout
    """Of an array of shape (rows, scores)."""
    methods: Mapping[str, Method]
    """By the name that the estimator's library has; the first one gives what clients read."""

    @property
    def rows(self) -> int:
        """How many an array has."""
        return self.input.shape[0]

    def prepared(self, rows: Any) -> Floats:
        """What is encrypted of rows: an array of shape (chunks, rows of each, features). The last chunk is
        filled up with the last row."""
        values = self.scaling(rows) if not self.thresholds else self._compared(rows)
        return chunked(values, self.rows)

    def _compared(self, rows: Any) -> Floats:
        _require_columns(rows, self.scaling.names)
        values = finite_rows(rows, len(self.thresholds), "score")
        return (values > np.asarray(self.thresholds)).astype(np.float64)

    def encode(self, rows: Any, inputs: Sequence[InputSpec]) -> list[Array]:
        return self.input.pack(self.prepared(rows), inputs[0].slots)

    def decode(self, values: list[Array], outputs: Sequence[OutputSpec], rows: int | None) -> Any:
        del outputs
        return self.read(values, next(iter(self.methods)), rows)

    def read(self, values: Sequence[Array], method: str, rows: int | None = None) -> Array:
        """Results of a method, from slots of shape (chunks, slots) of each ciphertext."""
        scores = self.output.unpack(values).reshape(-1, self.output.shape[1])[:rows]
        return self.methods[method](np.asarray(scores, np.float64))

    def require_fit(self, inputs: int, outputs: int) -> None:
        _require_layouts("inputs", [self.input], inputs)
        _require_layouts("outputs", [self.output], outputs)

    def to_data(self) -> dict[str, Any]:
        scaling = self.scaling
        return {
            "kind": self.kind,
            "mean": list(scaling.mean),
            "deviation": list(scaling.deviation),
            "clip": scaling.clip,
            "names": list(scaling.names),
            "saturates": scaling.saturates,
            "thresholds": list(self.thresholds),
            "input": self.input.to_data(),
            "output": self.output.to_data(),
            "methods": [[name, method.to_data()] for name, method in self.methods.items()],
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Table:
        mean = tuple(real(x, "a mean") for x in data["mean"])
        deviation = tuple(real(x, "a deviation") for x in data["deviation"])
        thresholds = tuple(real(x, "a threshold") for x in data["thresholds"])
        names = tuple(map(str, data["names"]))
        given, scored = (TiledLayout.from_data(data[name]) for name in ("input", "output"))
        if len(given.shape) != 2 or len(scored.shape) != 2 or given.shape[0] != scored.shape[0]:
            raise FormatError("a table's layouts are of as many rows of features as of scores")
        features = given.shape[1]
        if not (len(mean) == len(deviation) == features and min(deviation) > 0):
            raise FormatError(f"{features} features need as many means, and deviations above 0")
        if len(names) not in (0, features) or len(thresholds) not in (0, features):
            raise FormatError(f"{features} features have {len(names)} names and {len(thresholds)} thresholds")
        methods = {str(name): Method.from_data(own) for name, own in data["methods"]}
        if not methods:
            raise FormatError("a table's results have no method")
        scaling = Scaling(mean, deviation, real(data["clip"], "clip"), names, bool(data["saturates"]))
        return cls(scaling, thresholds, given, scored, methods)


def encoding_from_data(data: Mapping[str, Any]) -> Encoding:
    """The encoding that `to_data` told. Raises as its parts do; FormatError for another kind."""
    kind = data["kind"]
    if kind == Vectors.kind:
        return Vectors()
    if kind == Rows.kind:
        return Rows.from_data(data)
    if kind == TreeRows.kind:
        return TreeRows.from_data(data)
    if kind == Arrays.kind:
        return Arrays.from_data(data)
    if kind == WholeArrays.kind:
        return WholeArrays.from_data(data)
    if kind == Table.kind:
        return Table.from_data(data)
    raise FormatError(f"rows are encoded as {kind!r}, which this Hemera does not know")
