"""Tables to train on and to score: the made-up genome, scikit-learn's, the user's files, and one that was
published with its model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.errors import ParameterError
from hemera.trees.ensemble import Ensemble, Floats, Integers
from hemera_apps.table_files import extra, read_table_file
from hemera_apps.trees import genome, idash

NAMES = ("genome", "idash-2020", "breast-cancer", "digits")
GROUP = "trees"
"""The name of the extra requirements."""
GENES = 1024
SAMPLES = 2258
"""The samples of the genome: 2,000 to train, and 258 to score, as in the paper."""
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
    model: Ensemble | None = None
    """The model that comes with the table, which then has no rows to train on."""

    @property
    def classes(self) -> int:
        """The number of classes; labels go from 0."""
        return int(max(self.train_labels.max(initial=0), self.labels.max())) + 1


def load(name: str, seed: int, label: str | None = None) -> Table:
    """A table by its name, or a file by its path: see `read_table_file`.

    Args:
        name: one of NAMES, or a path.
        seed: splits the table (and makes the genome).
        label: the column of the classes in a file; None: the last.

    Raises:
        ParameterError: if scikit-learn is not installed, or a file has too few rows; and as
            `read_table_file`.
        FileError: if the file can not be read.
        FormatError: if the file is no table.
    """
    if name in NAMES and label is not None:
        raise ParameterError(f"{name} has its own classes; a label is for a table of yours")
    if name == "genome":
        values, kinds = genome.generate(SAMPLES, GENES, seed)
        return _split(name, values, kinds, _HELD_OUT, genome.LEVELS, seed)
    if name == "idash-2020":
        values, kinds = idash.samples()
        none = np.zeros((0, values.shape[1]))
        return Table(
            name, none, np.zeros(0, np.int64), values.astype(float), kinds, idash.LEVELS, idash.model()
        )
    if name in NAMES:
        data = getattr(sklearn("datasets"), f"load_{name.replace('-', '_')}")()
        return _split(name, data.data, data.target, len(data.target) // 2, None, seed)
    found = read_table_file(name, label, GROUP, missing=True)
    if len(found.labels) < 4:
        raise ParameterError(f"{name} has {len(found.labels)} rows; four are the least")
    if np.isinf(found.features).any():
        raise ParameterError(f"{name} has infinite values; replace them, or leave out these rows")
    if len(found.classes) < 2:
        raise ParameterError(
            f"column {found.label!r} of {name} has one class alone, {str(found.classes[0])!r}: there is "
            "nothing to learn; name the column of the classes with --label"
        )
    classes = {value: number for number, value in enumerate(found.classes)}
    labels = np.array([classes[value] for value in found.labels])
    return _split(Path(name).stem, found.features, labels, len(labels) // 2, None, seed)


def sklearn(module: str) -> Any:
    """A module of scikit-learn. ParameterError if it is not installed."""
    return extra(f"sklearn.{module}", GROUP)


def _split(
    name: str, rows: NDArray[Any], labels: NDArray[Any], held_out: int, levels: int | None, seed: int
) -> Table:
    order = np.random.default_rng(seed).permutation(len(labels))
    kept, train = order[:held_out], order[held_out:]
    rows, labels = np.asarray(rows, float), np.asarray(labels, np.int64)
    return Table(name, rows[train], labels[train], rows[kept], labels[kept], levels)
