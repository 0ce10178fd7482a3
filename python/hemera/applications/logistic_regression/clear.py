"""The same algorithm on clear numbers: what encrypted training is held to."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hemera.applications.logistic_regression.settings import Settings

__all__ = ["train_clear"]

Floats = NDArray[np.float64]


def train_clear(settings: Settings, batches: Floats) -> Iterator[Floats]:
    """The weights after each iteration, in double precision, by the formulas of `Settings` with its
    polynomial.

    Args:
        settings: of the training.
        batches: z of each mini-batch, of shape (batches, m, width), or (models, batches, m, width) where each
            model learns from its own; z of rows that fill up are 0.

    Yields:
        Arrays of shape (models, width).
    """
    data = batches if batches.ndim == 4 else batches[None]
    shape = (settings.models, data.shape[-1])
    ahead, weights = np.zeros(shape), np.zeros(shape)
    for iteration in range(settings.iterations):
        z = data[:, iteration % data.shape[1]]
        factor = settings.rates_at(iteration)[:, None] / settings.batch
        scores = settings.sigmoid(-(z @ ahead[:, :, None])[..., 0])
        gradient = (scores[:, None, :] @ z)[:, 0]
        following = ahead + factor * gradient
        if settings.is_accelerated:
            ahead = following + settings.momentum_at(iteration) * (following - weights)
        else:
            ahead = following
        weights = following
        yield weights
