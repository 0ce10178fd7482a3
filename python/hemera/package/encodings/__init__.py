"""How rows become a client's inputs, and decrypted values become results: plain NumPy, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hemera.errors import FormatError
from hemera.package.encodings.arrays import WHOLE, Arrays
from hemera.package.encodings.base import Encoding, chunked, column_ranges, finite_rows
from hemera.package.encodings.integers import Integers
from hemera.package.encodings.rows import Scaling
from hemera.package.encodings.tables import Table, table_of_rows
from hemera.package.encodings.trees import TreeRows
from hemera.package.encodings.vectors import Vectors
from hemera.package.specs import InputSpec, OutputSpec

__all__ = [
    "Arrays",
    "Encoding",
    "Integers",
    "Scaling",
    "Table",
    "TreeRows",
    "Vectors",
    "chunked",
    "column_ranges",
    "encoding_from_data",
    "finite_rows",
]

_KINDS: dict[str, type[Encoding]] = {
    **{each.kind: each for each in (Vectors, TreeRows, Arrays, Table, Integers)},
    WHOLE: Arrays,
}


def encoding_from_data(
    data: Mapping[str, Any], inputs: Sequence[InputSpec], outputs: Sequence[OutputSpec]
) -> Encoding:
    """The encoding that `to_data` told, of a model with these inputs and outputs. Raises as its parts do;
    FormatError for another kind."""
    kind = data["kind"]
    if kind == "rows":
        return table_of_rows(data, inputs[0].slots, outputs[0])
    if not isinstance(kind, str) or kind not in _KINDS:
        raise FormatError(f"rows are encoded as {kind!r}, which this Hemera does not know")
    return _KINDS[kind].from_data(data)
