"""Tables of which a compiled estimator scores several rows at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.layout import FREE, Layout, index_bits
from hemera.errors import FormatError, ParameterError
from hemera.package.encodings.base import Encoding, chunked, finite_rows, require_columns, require_layouts
from hemera.package.encodings.rows import Scaling
from hemera.package.encodings.watching import tell_rows, tell_unwatched, unwatched_of
from hemera.package.finishing import Apply, Label, Method, Step
from hemera.package.specs import CLASSES, InputSpec, OutputSpec
from hemera.program.values import Array, integer, real

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Table(Encoding):
    """Rows of a table, several in an array: scaled as `Scaling` does, or compared with thresholds. The
    scores of the rows become the results of several methods."""

    kind: ClassVar[str] = "table"
    takes_rows: ClassVar[bool] = True
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
    older: Mapping[str, Any] | None = None
    """The data of `table_of_rows`, which clients of any version get."""

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

    def method(self, name: str | None) -> Method:
        """The method of this name; None: the first one. ParameterError for a name that it has not."""
        if name is not None and name not in self.methods:
            raise ParameterError(f"no method {name!r}: the estimator has {', '.join(self.methods)}")
        return self.methods[name or next(iter(self.methods))]

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
        if self.older is not None:
            return dict(self.older)
        return {
            "kind": self.kind,
            **self.scaling.to_data(),
            "thresholds": list(self.thresholds),
            "input": self.input.to_data(),
            "output": self.output.to_data(),
            **({"watched": [each.to_data() for each in self.watched]} if self.watched else {}),
            **({"unwatched": list(self.unwatched)} if self.unwatched else {}),
            "methods": [[name, method.to_data()] for name, method in self.methods.items()],
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Table:
        scaling = Scaling.from_data(data)
        thresholds = tuple(real(x, "a threshold") for x in data["thresholds"])
        given, scored = (Layout.from_data(data[name]) for name in ("input", "output"))
        if len(given.shape) != 2 or len(scored.shape) != 2 or given.shape[0] != scored.shape[0]:
            raise FormatError("a table's layouts are of as many rows of features as of scores")
        features = given.shape[1]
        if len(scaling.mean) != features:
            raise FormatError(f"{features} features need as many means, and deviations above 0")
        if len(thresholds) not in (0, features):
            raise FormatError(f"{features} features have {len(thresholds)} thresholds")
        methods = {str(name): Method.from_data(own) for name, own in data["methods"]}
        if not methods:
            raise FormatError("a table's results have no method")
        watched = tuple(Layout.from_data(each) for each in data.get("watched", ()))
        unwatched = unwatched_of(data.get("unwatched", ()))
        return cls(scaling, thresholds, given, scored, methods, watched, unwatched)


def table_of_rows(data: Mapping[str, Any], slots: int, output: OutputSpec) -> Table:
    """The same of packages until 0.2 with the encoding "rows": each row in a block of slots, its scores in
    the first ones of the block. FormatError."""
    scaling = Scaling.from_data(data)
    block = integer(data["block"], "a block", 1, slots)
    scores = integer(data["scores"], "scores", 1, block)
    features, rows = len(scaling.mean), slots // block
    if block & (block - 1) or features > block:
        raise FormatError(f"rows of {features} features need a block of a power of two, not {block}")

    def layout(width: int) -> Layout:
        bits = index_bits((rows, width))
        own, of_rows = bits[: (width - 1).bit_length()], bits[(width - 1).bit_length() :]
        return Layout((rows, width), (*own, *[FREE] * (block.bit_length() - 1 - len(own)), *of_rows))

    read, labels = output.read, output.labels
    steps: tuple[Step, ...] = (Apply(read),)
    kind = "int64" if read in CLASSES else "float64"
    if labels is not None and read in CLASSES:
        steps, kind = (*steps, Label(labels)), labels.kind
    is_single = read == "argmax" or (scores == 1 and not output.column)
    method = Method(steps, kind, () if is_single else (scores,))
    return Table(scaling, (), layout(features), layout(scores), {read: method}, older=data)
