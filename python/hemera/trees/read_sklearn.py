"""scikit-learn's GradientBoostingClassifier and GradientBoostingRegressor, and by histograms."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from hemera.errors import ParameterError
from hemera.trees.ensemble import CATEGORICAL, Ensemble, Node

_HISTOGRAMS = ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")
_LOSSES = ("log_loss", "squared_error", "absolute_error", "quantile")
"""Losses whose raw scores are the results of `decision_function` or `predict`."""


def from_sklearn(model: Any) -> Ensemble:
    """The ensemble; its scores are those of `decision_function` (`predict` for a regression).

    Raises:
        ParameterError: if the model is of another type, is not fitted, or has a model of its own as `init`.
    """
    name = type(model).__name__
    if name in _HISTOGRAMS:
        return _from_histogram(model)
    if name not in ("GradientBoostingClassifier", "GradientBoostingRegressor"):
        raise ParameterError(
            f"scikit-learn's {name} is not read; train a GradientBoostingClassifier or -Regressor, a "
            "HistGradientBoostingClassifier or -Regressor, or a model of xgboost or LightGBM"
        )
    if not hasattr(model, "estimators_"):
        raise ParameterError(f"the {name} is not fitted; call fit first")
    if model.init is not None and model.init != "zero":
        raise ParameterError("the model starts from another model; train it with init=None or init='zero'")
    rate, scores = float(model.learning_rate), model.estimators_.shape[1]
    trees = [[_tree(stage.tree_, rate) for stage in model.estimators_[:, score]] for score in range(scores)]
    classifier = name == "GradientBoostingClassifier"
    count = int(model.n_features_in_)
    classes = len(model.classes_) if classifier else 0
    parts = Ensemble.of(trees, [0.0] * scores, feature_count=count, single=True, classes=classes)
    # What every row starts from has no public name: it is what trees leave of any one row's score.
    anywhere = np.zeros((1, count))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the row has no names of columns
        whole = np.reshape((model.decision_function if classifier else model.predict)(anywhere), (1, scores))
    base = (whole - parts.scores(anywhere))[0]
    return Ensemble.of(trees, base.tolist(), feature_count=count, single=True, classes=classes)


def _tree(tree: Any, rate: float) -> Node:
    def node(at: int) -> Node:
        if tree.children_left[at] == -1:
            return Node(value=rate * float(tree.value[at, 0, 0]))
        return Node(
            feature=int(tree.feature[at]),
            # x <= t as x < the next number.
            threshold=float(np.nextafter(float(tree.threshold[at]), math.inf)),
            left=node(tree.children_left[at]),
            right=node(tree.children_right[at]),
        )

    return node(0)


def _from_histogram(model: Any) -> Ensemble:
    """The ensemble; its scores are those of `decision_function` (`predict` for a regression).

    Raises:
        ParameterError: if the model is not fitted, has categorical splits, or a loss with a link of its own.
    """
    name = type(model).__name__
    if not hasattr(model, "_predictors"):
        raise ParameterError(f"the {name} is not fitted; call fit first")
    if model.loss not in _LOSSES:
        raise ParameterError(f"the model's loss is {model.loss}; train with one of {', '.join(_LOSSES)}")
    rounds = model._predictors
    scores = len(rounds[0]) if rounds else 0
    trees = [[_histogram_tree(stage[score].nodes) for stage in rounds] for score in range(scores)]
    base = np.reshape(model._baseline_prediction, -1)
    classes = len(model.classes_) if hasattr(model, "classes_") else 0
    return Ensemble.of(
        trees, base.tolist(), feature_count=int(model.n_features_in_), single=False, classes=classes
    )


def _histogram_tree(nodes: Any) -> Node:
    def node(at: int) -> Node:
        own = nodes[at]
        if own["is_leaf"]:
            return Node(value=float(own["value"]))
        if own["is_categorical"]:
            raise ParameterError(f"{CATEGORICAL}with categorical_features=None")
        return Node(
            feature=int(own["feature_idx"]),
            # x <= t is x < the next number.
            threshold=float(np.nextafter(float(own["num_threshold"]), math.inf)),
            left=node(int(own["left"])),
            right=node(int(own["right"])),
            missing_right=not own["missing_go_to_left"],
        )

    return node(0)
