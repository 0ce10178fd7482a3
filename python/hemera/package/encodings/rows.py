"""Rows of tables: how they are scaled; and quantised for trees."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hemera.errors import FormatError, HemeraWarning, MismatchError
from hemera.package.encodings.base import Encoding, finite_rows, require_columns
from hemera.package.specs import InputSpec, OutputSpec, read_as
from hemera.program.values import Array, integer, real
from hemera.trees.layout import Layout as TreeLayout
from hemera.trees.quantise import Quantiser

Floats = NDArray[np.float64]
_ROUNDING = 1e-9
"""Part of the range by which a value on its end may lie outside."""
_COLUMNS_TOLD = 3
"""Columns that a warning names."""


@dataclass(frozen=True)
class Scaling:
    """How a client brings the columns of a table into [-clip, clip]."""

    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    """Features become (x - mean) / deviation."""
    clip: float
    names: tuple[str, ...] = ()
    """The names of the features, if they are known."""
    saturates: bool = False
    """Whether the model itself clips there; otherwise a client that clips warns."""

    def __call__(self, rows: Any) -> Floats:
        """Standardised and clipped rows. Warns of the columns that are clipped, unless the model saturates
        there."""
        require_columns(rows, self.names)
        values = finite_rows(rows, len(self.mean), "score")
        scaled = (values - np.asarray(self.mean)) / np.asarray(self.deviation)
        clipped = np.clip(scaled, -self.clip, self.clip)
        if not self.saturates:
            self._warn_of(values, np.abs(scaled) > self.clip * (1 + _ROUNDING))
        return np.asarray(clipped, np.float64)

    def to_data(self) -> dict[str, Any]:
        """Fields for JSON."""
        return {
            **vars(self),
            "mean": list(self.mean),
            "deviation": list(self.deviation),
            "names": list(self.names),
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Scaling:
        """The scaling that `to_data` told. FormatError."""
        mean = tuple(real(x, "a mean") for x in data["mean"])
        deviation = tuple(real(x, "a deviation") for x in data["deviation"])
        names = tuple(map(str, data["names"]))
        if not 1 <= len(mean) == len(deviation) or min(deviation) <= 0:
            raise FormatError(f"{len(mean)} features need as many means, and deviations above 0")
        if len(names) not in (0, len(mean)):
            raise FormatError(f"{len(mean)} features have {len(names)} names")
        # Packages from before there was `saturates` are without it.
        return cls(mean, deviation, real(data["clip"], "clip"), names, bool(data.get("saturates", False)))

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
    """The names of the features, if they are known."""

    def encode(self, rows: Any, inputs: Sequence[InputSpec]) -> list[Array]:
        del inputs
        require_columns(rows, self.names)
        bins = self.quantiser.bins(rows)
        if len(bins) == 0:
            raise MismatchError(f"score: no rows; give at least one, of {bins.shape[1]} features")
        layout = replace(self.layout, samples=len(bins))
        planes = [
            layout.pack(bit)
            for node in range(self.features.shape[2])
            for bit in self.quantiser.bits(bins[:, self.features[:, :, node]])
        ]
        # From (planes, groups, chunks, N): of each chunk a group's planes one after the other.
        return [np.stack(planes).transpose(2, 1, 0, 3).reshape(layout.chunks, -1, layout.degree)]

    def decode(self, values: list[Array], outputs: Sequence[OutputSpec], rows: int | None) -> Any:
        slots = values[0].reshape(-1, values[0].shape[-1])
        layout = replace(self.layout, samples=len(slots) * self.layout.width)
        scores = layout.unpack(slots)[:rows]
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
