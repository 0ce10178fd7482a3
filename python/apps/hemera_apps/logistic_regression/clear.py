"""The same algorithm on clear numbers. Encrypted training is compared with it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hemera.errors import ParameterError
from hemera_apps.logistic_regression.settings import Settings

Floats = NDArray[np.float64]


def train_clear(settings: Settings, batches: Floats) -> Iterator[Floats]:
    """The weights after each iteration, in double precision, by the formulas of `Settings` with its
    polynomial.

    Args:
        settings: the settings of the training.
        batches: z of each mini-batch, of shape (batches, m, width), or (models, batches, m, width) if each
            model has its own. Rows that fill a batch up have z = 0.

    Yields:
        Arrays of shape (models, width).
    """
    for weights, _, _ in _steps(settings, batches):
        yield weights


def require_bounds(settings: Settings, batches: Floats) -> None:
    """ParameterError if the same training in the clear leaves `weight_bound`, as the encrypted training then
    would after hours. The message names settings nearby that keep the bound, if there are any.

    Args:
        settings, batches: see `train_clear`.
    """
    weights, _ = _extents(settings, batches)
    if weights <= settings.weight_bound:
        return
    far = f"takes weights to {weights:.3g}" if weights < _DIVERGED else "diverges"
    told = (
        f"the same training in the clear {far}, beyond weight_bound = {settings.weight_bound:g} "
        "(--weight-bound), and encrypted training would be wrong"
    )
    found = _settings_nearby(settings, batches)
    if found is None:
        raise ParameterError(f"{told}; take fewer iterations (--iterations), or more regular samples")
    raise ParameterError(f"{told}; {options_of(found)} keep it")


def within_bounds(settings: Settings, batches: Floats) -> Settings:
    """The settings, or those nearby whose training in the clear keeps `weight_bound`, where there are some.

    Args:
        settings, batches: see `train_clear`.
    """
    weights, _ = _extents(settings, batches)
    if weights <= settings.weight_bound:
        return settings
    return _settings_nearby(settings, batches) or settings


def options_of(settings: Settings) -> str:
    """The command's options for the sigmoid, the rates and the bound of the weights."""
    rates = ",".join(f"{rate:.3g}" for rate in settings.rates)
    return (
        f"--degree {settings.degree} --interval {settings.interval:g} --rates {rates} --weight-bound "
        f"{settings.weight_bound:g}"
    )


_SIGMOIDS = ((7, 16.0), (15, 32.0))
_SLOWER = (1.0, 0.5, 0.25, 0.1)
_BOUNDS = (4.0, 8.0, 16.0)
_DIVERGED = 1e4
_MARGIN = 0.9
"""The part of a bound that suggested settings use."""


def _settings_nearby(settings: Settings, batches: Floats) -> Settings | None:
    """The settings of least change that keep weights and logits within their bounds."""
    own = (settings.degree, settings.interval)
    for factor in _SLOWER:
        for degree, interval in (own, *(other for other in _SIGMOIDS if other[1] > own[1])):
            # Three digits, as in the message.
            rates = tuple(float(f"{factor * rate:.3g}") for rate in settings.rates)
            found = dataclasses.replace(settings, degree=degree, interval=interval, rates=rates)
            weights, logits = _extents(found, batches)
            bounds = [bound for bound in _BOUNDS if max(weights / _MARGIN, settings.weight_bound) <= bound]
            if bounds and logits <= _MARGIN * interval:
                return dataclasses.replace(found, weight_bound=bounds[0])
    return None


def _extents(settings: Settings, batches: Floats) -> tuple[float, float]:
    """The largest magnitudes of weights (v and w), and of logits on the mini-batches."""
    weights = logits = 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for own, ahead, scores in _steps(settings, batches):
            weights = float(np.max(np.abs([own, ahead]), initial=weights))
            logits = float(np.max(np.abs(scores), initial=logits))
            if not weights < np.inf:  # or NaN
                return np.inf, np.inf
    return weights, logits


def _steps(settings: Settings, batches: Floats) -> Iterator[tuple[Floats, Floats, Floats]]:
    """w and v after each iteration, of shape (models, width), and the logits before it."""
    data = batches if batches.ndim == 4 else batches[None]
    shape = (settings.models, data.shape[-1])
    ahead, weights = np.zeros(shape), np.zeros(shape)
    for iteration in range(settings.iterations):
        z = data[:, iteration % data.shape[1]]
        factor = settings.rates_at(iteration)[:, None] / settings.batch
        logits = (z @ ahead[:, :, None])[..., 0]
        scores = settings.sigmoid(-logits)
        gradient = (scores[:, None, :] @ z)[:, 0]
        following = ahead + factor * gradient
        if settings.is_accelerated:
            ahead = following + settings.momentum_at(iteration) * (following - weights)
        else:
            ahead = following
        weights = following
        yield weights, ahead, logits
