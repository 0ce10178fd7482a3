"""Columns of tables of other libraries: values, and which are missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.errors import MismatchError
from hemera.inputs.arguments import require_different
from hemera.inputs.plain import is_missing

Values = NDArray[Any]


@dataclass(frozen=True, eq=False)
class ReadColumn:
    """One column. Values at missing places mean nothing."""

    values: Values
    """Shape (rows,)."""
    missing: NDArray[np.bool_]
    categories: tuple[Any, ...] = ()
    """The categories of a type that lists them, as pandas' does."""
    is_ordered: bool = True
    """Whether categories are in order; values are in their own."""
    is_nullable: bool = False
    """Whether missing values are pandas' NA, which comparisons keep, and not NaN, of which they are false."""

    @property
    def kind(self) -> str:
        """ "b", "i" or "f" for booleans, integers and other numbers, "O" for anything else, as categories of
        numbers."""
        if self.categories:
            return "O"
        known = self.values[~self.missing]
        if known.dtype.kind in "OUST":
            types = {type(each) for each in known.tolist()}
            if types and all(issubclass(each, (bool, np.bool_)) for each in types):
                return "b"
            if types and all(issubclass(each, (int, np.integer)) for each in types):
                return "i"
            if types and all(issubclass(each, (int, float, np.number)) for each in types):
                return "f"
            return "O"
        if known.dtype.kind == "f" and self.missing.any() and len(known) and (known == np.rint(known)).all():
            return "i"  # as pandas keeps integers next to missing ones
        return {"b": "b", "i": "i", "u": "i", "f": "f"}.get(known.dtype.kind, "O")


def read_frame(frame: Any) -> dict[str, ReadColumn]:
    """The columns of a DataFrame of pandas or Polars, of a Table of Arrow, or of a mapping of sequences.

    The libraries are recognised by their methods, and never imported.

    Raises:
        TypeError: for anything else.
        MismatchError: for columns of different lengths, and for two of one name.
    """
    if isinstance(frame, Mapping):
        names, columns = list(frame), (_of_values(each) for each in frame.values())
    elif hasattr(frame, "column_names"):  # Arrow
        names, columns = frame.column_names, (_of_series(frame.column(name)) for name in frame.column_names)
    elif hasattr(frame, "columns") and hasattr(frame, "__getitem__"):
        names, columns = list(frame.columns), (_of_series(frame[name]) for name in frame.columns)
    else:
        raise TypeError(
            "a table is a DataFrame of pandas or Polars, a Table of Arrow, or a dict of columns, not "
            + type(frame).__name__
        )
    require_different(names, "columns")
    found = dict(zip(map(str, names), columns, strict=True))
    lengths = {len(each.values) for each in found.values()}
    if len(lengths) > 1:
        raise MismatchError(f"columns of {', '.join(map(str, sorted(lengths)))} rows")
    return found


def is_of_pandas(frame: Any) -> bool:
    """Whether results of a table are given as pandas has them."""
    return type(frame).__module__.partition(".")[0] == "pandas"


def refuse_series(values: Any) -> None:
    """MismatchError for a Series of pandas, beside rows that have no index."""
    if is_of_pandas(values) and hasattr(values, "index"):
        raise MismatchError(
            "pandas aligns a Series by its index, which the rows of a program do not have: give "
            "series.to_numpy(), in the order of the rows"
        )


def _of_series(series: Any) -> ReadColumn:
    """A column of pandas, Polars or Arrow."""
    missing = series.isna() if hasattr(series, "isna") else series.is_null()
    dtype = getattr(series, "dtype", None)
    is_nullable = type(getattr(dtype, "na_value", None)).__name__ == "NAType"
    found = replace(_read(series.to_numpy(), np.asarray(missing)), is_nullable=is_nullable)
    if not hasattr(dtype, "ordered"):  # which categories of pandas have
        return found
    return replace(found, categories=tuple(series.dtype.categories), is_ordered=bool(series.dtype.ordered))


def _of_values(values: Any) -> ReadColumn:
    if isinstance(values, np.ma.MaskedArray):
        return _read(values.data, np.ma.getmaskarray(values))
    if hasattr(values, "to_numpy") and (hasattr(values, "isna") or hasattr(values, "is_null")):
        return _of_series(values)
    plain = np.asarray(values)
    if plain.ndim != 1:
        raise MismatchError(f"a column has one axis, not the shape {plain.shape}")
    return _read(plain, np.array([each is None for each in plain.tolist()], np.bool_))


def _read(values: Any, missing: Any) -> ReadColumn:
    plain = np.asarray(values)
    absent = np.array(missing, np.bool_)
    if plain.dtype.kind == "f":
        absent |= np.isnan(plain)
    elif plain.dtype.kind in "mM":
        absent |= np.isnat(plain)
        times = plain.astype("datetime64[us]") if plain.dtype.kind == "M" else plain
        plain = times if (times == plain)[~absent].all() else plain  # of which Python has values
    elif plain.dtype.kind == "O":
        absent |= np.array(
            [is_missing(each) or (isinstance(each, float) and each != each) for each in plain], np.bool_
        )
    return ReadColumn(plain, absent)
