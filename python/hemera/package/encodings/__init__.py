"""How rows become a client's inputs, and decrypted values become results: plain NumPy, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hemera.errors import FormatError
from hemera.package.encodings.arrays import Arrays, WholeArrays
from hemera.package.encodings.base import Encoding, chunked, column_ranges, finite_rows
from hemera.package.encodings.rows import Rows, Scaling, TreeRows
from hemera.package.encodings.tables import Table
from hemera.package.encodings.vectors import Vectors

__all__ = [
    "Arrays",
    "Encoding",
    "Rows",
    "Scaling",
    "Table",
    "TreeRows",
    "Vectors",
    "WholeArrays",
    "chunked",
    "column_ranges",
    "encoding_from_data",
    "finite_rows",
]


_KINDS: dict[str, type[Encoding]] = {
    each.kind: each for each in (Vectors, Rows, TreeRows, Arrays, WholeArrays, Table)
}


def encoding_from_data(data: Mapping[str, Any]) -> Encoding:
    """The encoding that `to_data` told. Raises as its parts do; FormatError for another kind."""
    kind = data["kind"]
    if not isinstance(kind, str) or kind not in _KINDS:
        raise FormatError(f"rows are encoded as {kind!r}, which this Hemera does not know")
    return _KINDS[kind].from_data(data)
