"""What a data owner does to samples before they are encrypted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hemera.errors import MismatchError, ParameterError
from hemera_apps.logistic_regression.settings import Settings
from hemera_apps.logistic_regression.tables import Table

__all__ = ["Preparation", "make_batches", "suggest_rate"]

Floats = NDArray[np.float64]
CLIP = 3.0
"""Standardised features are clipped to [-CLIP, CLIP]."""


@dataclass(frozen=True)
class Preparation:
    """Standardises features by the mean and the deviation of the samples for training."""

    mean: Floats
    deviation: Floats

    @classmethod
    def of(cls, features: Floats) -> Preparation:
        """For samples of shape (samples, columns). Columns of one value become 0."""
        deviation = features.std(axis=0)
        flat = deviation <= 1e-12 * np.abs(features).max(axis=0)
        return cls(features.mean(axis=0), np.where(flat, 1.0, deviation))

    def apply(self, features: Floats, width: int) -> Floats:
        """Rows (1, features, 0, ..., 0) of `width` numbers: an intercept, and what fills them up.

        Raises:
            MismatchError: for another number of columns.
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
    """z = y (1, x), y = -1 or 1, of shuffled mini-batches, for `train_clear` and to be encrypted.

    Args:
        settings: of the training.
        preparation: of the features.
        tables: one for all models, or one for each (as many batches as the smallest of them has).
        seed: of the shuffling.

    Returns:
        An array of shape (batches, batch, width), or (models, batches, batch, width). The last batch of a
        table is filled up with zeros, which teach nothing.

    Raises:
        ParameterError: for another number of tables than models.
        MismatchError: for tables of other columns than the preparation's.
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
    """A learning rate that suits the samples: half of 4 / L, L the largest eigenvalue of the second moments
    of the prepared rows (the gradient of the loss is L/4-Lipschitz). It is one number that depends on the
    data, and that the server gets to know.

    Raises:
        MismatchError: for a table of other columns than the preparation's.
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
