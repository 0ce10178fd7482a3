"""Tables of numbers and of results in files: .npy, or values with commas."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hemera.errors import FileError, FormatError, ParameterError
from hemera.inputs.fields import SAYS_MORE
from hemera.inputs.source import read_bytes


class Headed(np.ndarray[Any, Any]):
    """Numbers with the names of their columns, which models compare with their own, as those of frames."""

    columns: tuple[str, ...] = ()

    def __array_finalize__(self, of: Any) -> None:
        self.columns = getattr(of, "columns", ())


def read_table(path: Path) -> np.ndarray[Any, Any]:
    """The numbers of a .npy file, or of a file with commas. Its first line is a heading if it has no number:
    then they are `Headed`.

    Raises:
        FileError: if the file can not be read.
        FormatError: if it holds something else, or no rows.
    """
    data = read_bytes(path)
    try:
        if path.suffix == ".npy":
            table = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
            if table.dtype.kind not in "biufc":
                raise ValueError(f"its values are of type {table.dtype}")
            return table
        lines = data.decode("utf-8-sig").splitlines()
        heading = bool(lines) and not any(map(_is_number, lines[0].split(",")))
        if len(lines) <= heading:
            raise ValueError("it has no rows")
        table = np.loadtxt(lines, delimiter=",", skiprows=int(heading), ndmin=2)
    except SAYS_MORE:
        raise
    except Exception as error:  # of NumPy, which has several kinds
        raise FormatError(f"{path} is no table of numbers: {error}") from None
    # Integers stay integers: BFV and BGV take nothing else.
    with np.errstate(invalid="ignore"):  # of values that no integer has
        integers = table.astype(np.int64)
    found = integers if (integers == table).all() else table
    if heading:
        found = found.view(Headed)
        found.columns = tuple(each.strip(' #"') for each in next(csv.reader(lines)))
    return found


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


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
            lines = table.reshape((len(table), math.prod(table.shape[1:])) if table.ndim else (1, 1))
            if table.dtype.kind == "U":
                with path.open("w", newline="", encoding="utf-8") as file:
                    csv.writer(file, lineterminator="\n").writerows(lines)
            else:
                np.savetxt(path, lines, delimiter=",", fmt="%.18e" if table.dtype.kind in "fc" else "%d")
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror}") from None
