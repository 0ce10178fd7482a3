"""Tables of numbers and of results in files: .npy, or values with commas."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hemera.errors import FileError, FormatError, ParameterError
from hemera.inputs.source import read_bytes


def read_table(path: Path) -> np.ndarray[Any, Any]:
    """The numbers of a .npy file, or of a file with commas, whose first line may be a heading."""
    data = read_bytes(path)
    try:
        if path.suffix == ".npy":
            return np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
        lines = data.decode().splitlines()
        try:
            first = [float(value) for value in lines[0].split(",")]
        except (ValueError, IndexError):
            first = []
        table = np.loadtxt(lines, delimiter=",", skiprows=0 if first else 1, ndmin=2)
    except Exception as error:  # of NumPy, which has several kinds
        raise FormatError(f"{path} is no table of numbers: {error}") from None
    # Integers stay integers: BFV and BGV take nothing else.
    integers = table.astype(np.int64)
    return integers if (integers == table).all() else table


def write_table(path: Path, results: Any) -> None:
    """Write results as a .npy file, or as a line with commas for each row; labels stay as they are."""
    if isinstance(results, Mapping):
        raise ParameterError("results with several names go to JSON: leave out RESULTS")
    table = np.asarray(results)
    if table.dtype.kind == "O":
        table = table.astype(str)  # a file of objects would run code when it is read
    try:
        if path.suffix == ".npy":
            np.save(path, table)
        else:
            lines = table.reshape(len(table), -1) if table.ndim else table.reshape(1, 1)
            if table.dtype.kind == "U":
                with path.open("w", newline="", encoding="utf-8") as file:
                    csv.writer(file, lineterminator="\n").writerows(lines)
            else:
                np.savetxt(path, lines, delimiter=",", fmt="%.18e" if table.dtype.kind in "fc" else "%d")
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror}") from None
