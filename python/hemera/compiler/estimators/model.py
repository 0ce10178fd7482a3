"""The result of reading a fitted estimator: a program on encrypted features, and the client's last steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from hemera.compiler.estimators.features import Features
from hemera.package.finishing import Apply, Label, Step
from hemera.package.specs import Labels

Steps = tuple[Step, ...]
Run = Callable[[Features], Features]
PROBABILITIES = {"predict": "argmax label", "predict_proba": "softmax", "predict_log_proba": "log-softmax"}
"""The methods of a classifier whose softmax gives probabilities, of one score a class."""


@dataclass(frozen=True)
class Model:
    """An estimator in two parts."""

    run: Run
    """The step from features to scores, encrypted."""
    methods: Mapping[str, Steps]
    """The steps from scores to the results of each method, at the client. The first is what clients read."""

    @classmethod
    def of(cls, run: Run, classes: Any = None, **methods: str) -> Model:
        """A model with the methods' steps in words: see `steps_in`."""
        return cls(run, {name: steps_in(words, classes) for name, words in methods.items()})


Read = Callable[[Any], Model]


def steps_in(words: str, classes: Any = None) -> Steps:
    """The steps of names of `Apply`, one after the other. "label": the labels of classes by their numbers."""
    return tuple(Label(Labels.of(classes)) if word == "label" else Apply(word) for word in words.split())


def refuse(model: Any, why: str) -> NoReturn:
    """TypeError: the estimator is not compiled, and what to do."""
    raise TypeError(f"{type(model).__name__} is not compiled: {why}")


def plain(values: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Numbers of an estimator, also of a sparse matrix."""
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values, np.float64)
