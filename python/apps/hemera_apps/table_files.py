"""Tables in the user's files, for all applications."""

from __future__ import annotations

import importlib
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.errors import FileError, FormatError, ParameterError
from hemera_apps._extras import how_to_install

__all__ = ["TableFile", "extra", "read_table_file"]


@dataclass(frozen=True)
class TableFile:
    """The samples of a file, each with a class."""

    label: str
    """The column of the classes."""
    columns: tuple[str, ...]
    """The other columns."""
    features: NDArray[np.float64]
    """An array of shape (samples, columns)."""
    labels: NDArray[Any]
    """The class of each sample, in the file's words."""
    classes: tuple[Any, ...]
    """All classes: numbers in their order, text in alphabetical order."""


MOST_WORDS = 64
"""The most different words of a column that becomes a column for each word."""


def read_table_file(path: str | Path, label: str | None, group: str, *, missing: bool = False) -> TableFile:
    """A table from a file of comma-separated values with a heading or a Parquet file (by its ending, .parquet
    or .pq).

    Columns of numbers are features as they are. Another column becomes a column of 0 and 1 for each of its
    values.

    Args:
        path: the path of the file.
        label: the column of the classes; None: the last.
        group: the extra requirements with pandas.
        missing: whether numbers may be missing. Missing numbers become NaN.

    Raises:
        FileError: if the file can not be read.
        FormatError: if the file is no such table.
        ParameterError: if there is no such column, or no other one; if two columns have one name; if text is
            not a few words, or values are missing; or if pandas (for Parquet also pyarrow) is not installed.
    """
    pandas = extra("pandas", group)
    file = Path(path)
    is_parquet = file.suffix in (".parquet", ".pq")
    if is_parquet:
        extra("pyarrow", "parquet")
    try:
        # Without this, rows longer than the heading would lose values, or become names of rows.
        with file.open("rb") as stream, warnings.catch_warnings():
            warnings.simplefilter("error", pandas.errors.ParserWarning)
            if is_parquet:
                frame = pandas.read_parquet(stream)
            else:
                # pandas renames the second of two columns of one name.
                heading = pandas.read_csv(stream, index_col=False, header=None, nrows=1, dtype=str)
                stream.seek(0)
                frame = pandas.read_csv(stream, index_col=False)
                _require_different(file, heading.iloc[0].dropna())
    except OSError as error:
        raise FileError(f"can not read {file}: {error.strerror or error}") from error
    # pandas and pyarrow raise ValueErrors, of which UnicodeDecodeError is one.
    except (ValueError, pandas.errors.ParserWarning) as error:
        kind = "Parquet file" if is_parquet else "table of comma-separated values"
        raise FormatError(f"{file} is no {kind}: {error}") from error
    frame.columns = frame.columns.map(str)
    _require_different(file, frame.columns)
    if label is None:
        label = str(frame.columns[-1])
    if label not in frame.columns:
        raise ParameterError(f"{file} has no column {label!r} for labels; it has {', '.join(frame.columns)}")
    if len(frame.columns) < 2:
        raise ParameterError(f"{file} has no column other than {label!r}: there is nothing to learn from")
    for name in frame.columns:
        lacks = int(frame[name].isna().sum())
        is_number = pandas.api.types.is_numeric_dtype(frame[name])
        if lacks and not (missing and is_number and name != label):
            raise ParameterError(
                f"column {name!r} of {file} lacks {lacks} of {len(frame)} values; fill them in, or "
                "leave out these samples"
            )
        words = 0 if is_number or name == label else int(frame[name].nunique())
        if words > max(3, min(MOST_WORDS, len(frame) // 2)):
            raise ParameterError(
                f"column {name!r} of {file} has {words} different texts in {len(frame)} rows, and would "
                "become as many columns; a model learns nothing from names and free text: leave the column "
                "out, or make numbers or a few words of it"
            )
    features = pandas.get_dummies(frame.drop(columns=[label]), dtype=np.float64)
    labels = frame[label]
    return TableFile(
        label,
        tuple(map(str, features.columns)),
        features.to_numpy(dtype=np.float64),
        labels.to_numpy(),
        tuple(sorted(labels.unique(), key=lambda value: (str(type(value)), value))),
    )


def _require_different(file: Path, names: Iterable[Any]) -> None:
    counts = Counter(map(str, names))
    for name, count in counts.items():
        if count > 1:
            raise ParameterError(f"{file} has {count} columns named {name!r}; give each a name of its own")


def extra(module: str, group: str) -> Any:
    """A module that only the applications need. ParameterError if it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError:
        package = {"sklearn": "scikit-learn"}.get(module.partition(".")[0], module.partition(".")[0])
        raise ParameterError(f"this needs {package}: {how_to_install(group)}") from None
