"""A data owner's preparation of samples before encryption."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hemera.errors import MismatchError, ParameterError
from hemera_apps.logistic_regression.settings import Settings
from hemera_apps.logistic_regression.tables import Table

Floats = NDArray[np.float64]
CLIP = 3.0
"""Standardised features are clipped to [-CLIP, CLIP]."""


@dataclass(frozen=True)
class Preparation:
    """Standardises features by the mean and the deviation of the training samples."""

    mean: Floats
    deviation: Floats

    @classmethod
    def of(cls, features: Floats) -> Preparation:
        """The preparation of samples of shape (samples, columns). Columns of a single value become 0."""
        deviation = features.std(axis=0)
        flat = deviation <= 1e-12 * np.abs(features).max(axis=0)
        return cls(features.mean(axis=0), np.where(flat, 1.0, deviation))

    def apply(self, features: Floats, width: int) -> Floats:
        """Rows (1, features, 0, ..., 0) of `width` numbers: 1 for the intercept, zeros to fill up.

        Raises:
            MismatchError: if the number of columns is another one.
        """
        columns = len(self.mean)
        if features.ndim != 2 or features.shape[1] != columns or columns >= width:
            raise MismatchError(
                f"samples of shape {features.shape} are not of the {columns} columns that were prepared "
                f"for, in rows of {width}"
            )
        rows = np.zeros((len(features), width))
        rows[:, 0] = 1
        rows[:, 1 : columns + 1] = np.clip((features - self.mean) / self.deviation, -CLIP, CLIP)
        return rows


def make_batches(
    settings: Settings, preparation: Preparation, tables: Table | Sequence[Table], seed: int
) -> Floats:
    """z = y (1, x), y = -1 or 1, of shuffled mini-batches, for `train_clear` and for encryption.

    Args:
        settings: the settings of the training.
        preparation: the preparation of the features.
        tables: one table for all models, or one for each (the smallest decides the number of batches).
        seed: the seed of the shuffling.

    Returns:
        An array of shape (batches, batch, width), or (models, batches, batch, width). The last batch of a
        table is filled up with zeros, which have no effect.

    Raises:
        ParameterError: if there are not as many tables as models.
        MismatchError: if a table has other columns than the preparation.
    """
    if isinstance(tables, Table):
        return _batches_of(settings, preparation, tables, seed)
    if len(tables) != settings.models:
        raise ParameterError(
            f"{len(tables)} tables do not fit {settings.models} models; give one, or as many"
        )
    each = [_batches_of(settings, preparation, table, seed) for table in tables]
    count = min(len(batches) for batches in each)
    return np.stack([batches[:count] for batches in each])


def suggest_rate(preparation: Preparation, table: Table) -> float:
    """A learning rate that suits the samples: half of 4 / L. L is the largest eigenvalue of the second
    moments of the prepared rows (the gradient of the loss is L/4-Lipschitz). This number depends on the data,
    and the server learns it.

    Raises:
        MismatchError: if the table has other columns than the preparation.
    """
    rows = preparation.apply(table.features, len(table.columns) + 1)
    return 2 / float(np.linalg.eigvalsh(rows.T @ rows / len(rows))[-1])


def _batches_of(settings: Settings, preparation: Preparation, table: Table, seed: int) -> Floats:
    rows = preparation.apply(table.features, settings.width)
    z = rows * (2 * table.labels - 1)[:, None]
    z = z[np.random.default_rng(seed).permutation(len(z))]
    count = -(-len(z) // settings.batch)
    filled = np.zeros((count * settings.batch, settings.width))
    filled[: len(z)] = z
    return filled.reshape(count, settings.batch, settings.width)
