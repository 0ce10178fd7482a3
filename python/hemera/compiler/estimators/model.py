"""The result of reading a fitted estimator: a program on encrypted features, and the client's last steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from hemera.compiler.estimators.features import Features
from hemera.package.finishing import Apply, Columns, Label, Step
from hemera.package.specs import Labels

Steps = tuple[Step, ...]


@dataclass(frozen=True)
class Model:
    """An estimator in two parts."""

    run: Callable[[Features], Features]
    """The step from features to scores, encrypted."""
    methods: Mapping[str, Steps]
    """The steps from scores to the results of each method, at the client. The first is what clients read."""

    @property
    def values(self) -> str:
        """The method whose results are the scores; "" where there is none."""
        return next((name for name, steps in self.methods.items() if not steps), "")


def identity(x: Features) -> Features:
    """The features as they are."""
    return x


def refuse(model: Any, why: str) -> NoReturn:
    """TypeError: the estimator is not compiled, and what to do."""
    raise TypeError(f"{type(model).__name__} is not compiled: {why}")


def labelled(classes: Any, chosen: str) -> Steps:
    """The labels of classes, whose numbers `chosen` gives."""
    return Apply(chosen), Label(Labels.of(classes))


def log_probabilities(classes: Any, scores: Steps = ()) -> dict[str, Steps]:
    """The methods of a classifier whose softmax gives probabilities.

    Args:
        scores: steps to one score a class.
    """
    return {
        "predict": (*scores, *labelled(classes, "argmax")),
        "predict_proba": (*scores, Apply("softmax")),
        "predict_log_proba": (*scores, Apply("log-softmax")),
    }


def of_columns(start: int, stop: int, steps: Steps) -> Steps:
    """Steps on some of the scores."""
    return Columns(start, stop), *steps


def plain(values: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Numbers of an estimator, also of a sparse matrix."""
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values, np.float64)
