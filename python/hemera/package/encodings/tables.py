"""Tables of which a compiled estimator scores several rows at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.layout import Layout
from hemera.errors import FormatError
from hemera.package.encodings.base import Encoding, chunked, finite_rows, require_columns, require_layouts
from hemera.package.encodings.rows import Scaling
from hemera.package.encodings.watching import tell_rows, tell_unwatched, unwatched_of
from hemera.package.finishing import Method
from hemera.package.specs import InputSpec, OutputSpec
from hemera.program.values import Array, real

__all__ = ["Table"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Table(Encoding):
    """Rows of a table, several in an array: scaled as `Scaling` does, or compared with thresholds. The
    scores of the rows become the results of several methods."""

    kind: ClassVar[str] = "table"
    scaling: Scaling
    thresholds: tuple[float, ...]
    """The threshold of each feature, which becomes 1 above it, 0 elsewhere. (): features are scaled."""
    input: Layout
    """The layout of an array of shape (rows, features)."""
    output: Layout
    """The layout of an array of shape (rows, scores)."""
    methods: Mapping[str, Method]
    """Methods by the names that the estimator's library has; the first one gives what clients read."""
    watched: tuple[Layout, ...] = ()
    """The layouts of the outputs after the scores, which show whether rows leave the ranges of samples."""
    unwatched: tuple[str, ...] = ()
    """Lines whose functions take values that rows may take out of these ranges, where no output shows it."""

    @property
    def rows(self) -> int:
        """How many an array has."""
        return self.input.shape[0]

    def prepared(self, rows: Any) -> Floats:
        """The encrypted values of rows: an array of shape (chunks, rows of each, features). The last chunk is
        filled up with the last row."""
        values = self.scaling(rows) if not self.thresholds else self._compared(rows)
        return chunked(values, self.rows)

    def first(self, method: str) -> Table:
        """The same with a method as the first one, whose results clients read."""
        return replace(self, methods={method: self.methods[method], **self.methods})

    def _compared(self, rows: Any) -> Floats:
        require_columns(rows, self.scaling.names)
        values = finite_rows(rows, len(self.thresholds), "score")
        return (values > np.asarray(self.thresholds)).astype(np.float64)

    def encode(self, rows: Any, inputs: Sequence[InputSpec]) -> list[Array]:
        return self.input.encode(self.prepared(rows), inputs[0].slots)

    def decode(self, values: list[Array], outputs: Sequence[OutputSpec], rows: int | None) -> Any:
        tell_unwatched(self.unwatched)
        at = 0
        for layout in (self.output, *self.watched):
            found = np.asarray(layout.decode(values[at : at + layout.count]), np.float64)
            axes = len(layout.shape)
            tell_rows(found, outputs[at], axes, rows=self.rows, count=rows, together=self.rows)
            at += layout.count
        return self.read(values[: self.output.count], next(iter(self.methods)), rows)

    def read(self, values: Sequence[Array], method: str, rows: int | None = None) -> Array:
        """Results of a method, from slots of shape (chunks, slots) of each ciphertext."""
        scores = self.output.decode(values).reshape(-1, self.output.shape[1])[:rows]
        return self.methods[method](np.asarray(scores, np.float64))

    def require_fit(self, inputs: int, outputs: int) -> None:
        require_layouts("inputs", [self.input], inputs)
        require_layouts("outputs", [self.output, *self.watched], outputs)

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
            **({"watched": [each.to_data() for each in self.watched]} if self.watched else {}),
            **({"unwatched": list(self.unwatched)} if self.unwatched else {}),
            "methods": [[name, method.to_data()] for name, method in self.methods.items()],
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Table:
        mean = tuple(real(x, "a mean") for x in data["mean"])
        deviation = tuple(real(x, "a deviation") for x in data["deviation"])
        thresholds = tuple(real(x, "a threshold") for x in data["thresholds"])
        names = tuple(map(str, data["names"]))
        given, scored = (Layout.from_data(data[name]) for name in ("input", "output"))
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
        watched = tuple(Layout.from_data(each) for each in data.get("watched", ()))
        unwatched = unwatched_of(data.get("unwatched", ()))
        return cls(scaling, thresholds, given, scored, methods, watched, unwatched)
