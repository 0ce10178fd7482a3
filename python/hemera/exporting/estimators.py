"""Pipelines and scalers of scikit-learn, by their exact types."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera.errors import ParameterError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Scaled:
    """x = (clip(row, low, high) - mean) / deviation: what a chain of scalers makes of a row."""

    mean: Floats
    deviation: Floats
    low: Floats
    high: Floats
    """-inf and inf where no scaler clips."""


INSIDE = {
    **dict.fromkeys(
        ("GridSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV", "RandomizedSearchCV"),
        "best_estimator_",
    ),
    "FrozenEstimator": "estimator",
    "SelfTrainingClassifier": "estimator_",
}
"""The attribute of the fitted model that estimators of these names predict by."""


def steps_of(model: Any) -> list[Any]:
    """The fitted steps of a Pipeline, also of one inside of another, or of a search; a model that is none is
    its own step."""
    name = name_of(model)
    inner = getattr(model, INSIDE[name], None) if name in INSIDE else None
    if inner is not None:
        return steps_of(inner)
    if name != "Pipeline":
        return [model]
    steps = [step for _, step in model.steps if step is not None and not isinstance(step, str)]
    return [inner for step in steps for inner in steps_of(step)]


def scaled_by(scalers: list[Any], count: int) -> Scaled:
    """The result of a chain of scalers for rows of `count` features.

    Raises:
        ParameterError: for another transformer than those of `SCALERS`, or one that is not fitted.
    """
    found = Scaled(np.zeros(count), np.ones(count), np.full(count, -np.inf), np.full(count, np.inf))
    for scaler in scalers:
        found = _then(found, scaler, count)
    return found


def _then(before: Scaled, scaler: Any, count: int) -> Scaled:
    name = type(scaler).__name__
    if name_of(scaler) not in SCALERS:
        raise ParameterError(
            f"{name} is no step that is packaged; before a linear model there may be "
            f"{', '.join(SCALERS)}. Apply other steps to the rows at the client, and export what comes after"
        )
    try:
        mean, deviation, clip = SCALERS[name](scaler)
    except AttributeError:
        raise ParameterError(f"the {name} is not fitted; call fit first") from None
    try:
        mean = np.broadcast_to(np.asarray(mean, np.float64), (count,))
        deviation = np.broadcast_to(np.asarray(deviation, np.float64), (count,))
    except ValueError:
        raise ParameterError(f"the {name} was fitted on other features than the model") from None
    # (x - a) / b, then (x - c) / d, is (x - (a + b c)) / (b d).
    after = Scaled(
        before.mean + before.deviation * mean, before.deviation * deviation, before.low, before.high
    )
    if clip is None:
        return after
    low, high = (after.mean + after.deviation * end for end in clip)
    low, high = np.maximum(low, before.low), np.minimum(high, before.high)
    if (low > high).any():
        raise ParameterError(
            f"the {name} clips to a range that the step before it never reaches; leave it out"
        )
    return Scaled(after.mean, after.deviation, low, high)


Affine = tuple[ArrayLike, ArrayLike, tuple[float, float] | None]
"""Mean and deviation, and what a scaler clips its results to."""


def _standard(scaler: Any) -> Affine:
    # Without with_mean, mean_ is there all the same.
    deviation = scaler.scale_ if scaler.with_std else 1.0
    return scaler.mean_ if scaler.with_mean else 0.0, deviation, None


def _min_max(scaler: Any) -> Affine:
    low, high = scaler.feature_range
    return -scaler.min_ / scaler.scale_, 1 / scaler.scale_, (low, high) if scaler.clip else None


def _robust(scaler: Any) -> Affine:
    centre = scaler.center_ if scaler.with_centering else 0.0
    return centre, scaler.scale_ if scaler.with_scaling else 1.0, None


TREE_LIBRARIES = ("lightgbm", "xgboost")
"""Libraries of boosted trees."""
SCALERS: dict[str, Callable[[Any], Affine]] = {
    "StandardScaler": _standard,
    "MinMaxScaler": _min_max,
    "MaxAbsScaler": lambda of: (0.0, of.scale_, (-1.0, 1.0) if getattr(of, "clip", False) else None),
    "RobustScaler": _robust,
}


def name_of(model: Any) -> str:
    """The name of the exact type, if it is a public one of scikit-learn, which only objects of its own
    import; "" of others."""
    kind = type(model)
    library, *parts = kind.__module__.split(".")
    if library != "sklearn":
        return ""
    public = ".".join([library, *itertools.takewhile(lambda part: not part.startswith("_"), parts)])
    return kind.__name__ if getattr(importlib.import_module(public), kind.__name__, None) is kind else ""
