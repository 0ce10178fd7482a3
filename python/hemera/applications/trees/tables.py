"""Tables to train on and to score: the generated genome, scikit-learn's, and files of the user's."""

from __future__ import annotations

import contextlib
import csv
import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.applications.trees import genome
from hemera.applications.trees.ensemble import Floats, Integers
from hemera.errors import FileError, FormatError, ParameterError

NAMES = ("genome", "breast-cancer", "digits")
GENES = 1024
SAMPLES = 2258
"""Of the genome: 2,000 to train, and 258 to score as in the paper."""
_HELD_OUT = 258


@dataclass(frozen=True)
class Table:
    """Rows to train on, and rows to score."""

    name: str
    train: Floats
    train_labels: Integers
    held_out: Floats
    labels: Integers
    levels: int | None
    """Features are integers from 0 to levels - 1; None: they are binned before training."""

    @property
    def classes(self) -> int:
        """Number of classes; labels go from 0."""
        return int(max(self.train_labels.max(), self.labels.max())) + 1


def load(name: str, seed: int) -> Table:
    """A table by its name, or a CSV file by its path; `seed` splits it (and makes the genome).

    Raises:
        ParameterError: when scikit-learn is not installed, or a file has too few rows.
        FileError: when the file can not be read.
        FormatError: when it is no table of numbers with a label in the last column.
    """
    if name == "genome":
        values, kinds = genome.generate(SAMPLES, GENES, seed)
        return _split(name, values, kinds, _HELD_OUT, genome.LEVELS, seed)
    if name in NAMES:
        data = getattr(sklearn("datasets"), f"load_{name.replace('-', '_')}")()
        return _split(name, data.data, data.target, len(data.target) // 2, None, seed)
    rows, labels = _read_csv(Path(name))
    return _split(Path(name).stem, rows, labels, len(labels) // 2, None, seed)


def sklearn(module: str) -> Any:
    """A module of scikit-learn. ParameterError when it is not installed."""
    try:
        return importlib.import_module(f"sklearn.{module}")
    except ImportError as error:
        raise ParameterError('this needs scikit-learn: pip install "hemera[trees]"') from error


def _split(
    name: str, rows: NDArray[Any], labels: NDArray[Any], held_out: int, levels: int | None, seed: int
) -> Table:
    order = np.random.default_rng(seed).permutation(len(labels))
    kept, train = order[:held_out], order[held_out:]
    rows, labels = np.asarray(rows, float), np.asarray(labels, np.int64)
    return Table(name, rows[train], labels[train], rows[kept], labels[kept], levels)


def _read_csv(path: Path) -> tuple[Floats, Integers]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            lines = [line for line in csv.reader(file) if line]
    except OSError as error:
        raise FileError(f"can not read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise FormatError(f"{path} is no text: give a table with commas") from error
    if len(lines) < 5:
        raise ParameterError(f"{path} has {len(lines)} lines; a heading and four rows are the least")
    names = sorted({line[-1] for line in lines[1:]})
    with contextlib.suppress(ValueError):  # classes by name stay in that order
        names.sort(key=float)
    try:
        rows = np.array([[float(cell) for cell in line[:-1]] for line in lines[1:]])
    except ValueError as error:
        raise FormatError(
            f"{path} is no table of numbers: {error}; give a heading, then rows of numbers with commas and "
            "the class "
            "in the last column, and no cell empty"
        ) from error
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise FormatError(f"{path} has no features: the last column is the class")
    return rows, np.array([names.index(line[-1]) for line in lines[1:]])
