"""Tables in files of the user's, for all applications."""

from __future__ import annotations

import importlib
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.errors import FileError, FormatError, ParameterError

__all__ = ["TableFile", "extra", "read_table_file"]


@dataclass(frozen=True)
class TableFile:
    """Samples as a file has them, with a class each."""

    label: str
    """The column of the classes."""
    columns: tuple[str, ...]
    """The others."""
    features: NDArray[np.float64]
    """Of shape (samples, columns)."""
    labels: NDArray[Any]
    """The class of each sample, as the file has it."""
    classes: tuple[Any, ...]
    """All that there are: numbers in their order, text in alphabetical order."""


def read_table_file(path: str | Path, label: str | None, group: str) -> TableFile:
    """A table from a file of comma-separated values with a heading or a Parquet file (by its ending, .parquet
    or .pq).

    Columns of numbers are features as they are; others become one of 0 and 1 for each value that they have.

    Args:
        path: of the file.
        label: the column of the classes; None: the last.
        group: the extra requirements that bring pandas.

    Raises:
        FileError: when the file can not be read.
        FormatError: when it is no such table.
        ParameterError: without such a column, or another one, for values that are missing, and when pandas
            (for Parquet also pyarrow) is not installed.
    """
    pandas = extra("pandas", group)
    file = Path(path)
    is_parquet = file.suffix in (".parquet", ".pq")
    if is_parquet:
        extra("pyarrow", "parquet")
    try:
        # Rows longer than the heading would else lose values, or become names of rows.
        with file.open("rb") as stream, warnings.catch_warnings():
            warnings.simplefilter("error", pandas.errors.ParserWarning)
            frame = pandas.read_parquet(stream) if is_parquet else pandas.read_csv(stream, index_col=False)
    except OSError as error:
        raise FileError(f"can not read {file}: {error.strerror or error}") from error
    # ValueErrors are of pandas and pyarrow; UnicodeDecodeError is one.
    except (ValueError, pandas.errors.ParserWarning) as error:
        kind = "Parquet file" if is_parquet else "table of comma-separated values"
        raise FormatError(f"{file} is no {kind}: {error}") from error
    frame.columns = frame.columns.map(str)
    if label is None:
        label = str(frame.columns[-1])
    if label not in frame.columns:
        raise ParameterError(f"{file} has no column {label!r} for labels; it has {', '.join(frame.columns)}")
    if len(frame.columns) < 2:
        raise ParameterError(f"{file} has no column beside {label!r}: there is nothing to learn from")
    for name in frame.columns:
        missing = int(frame[name].isna().sum())
        if missing:
            raise ParameterError(
                f"column {name!r} of {file} lacks {missing} of {len(frame)} values; fill them in, or "
                "leave out these samples"
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


def extra(module: str, group: str) -> Any:
    """A module that only the applications need. ParameterError when it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError:
        package = {"sklearn": "scikit-learn"}.get(module.partition(".")[0], module.partition(".")[0])
        raise ParameterError(f"this needs {package}: pip install 'hemera[{group}]'") from None
