"""scikit-learn's HistGradientBoostingClassifier and HistGradientBoostingRegressor."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hemera.errors import ParameterError
from hemera.trees.ensemble import Ensemble, Node

HISTOGRAMS = ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")
_LOSSES = ("log_loss", "squared_error", "absolute_error", "quantile")
"""Losses whose raw scores are the results of `decision_function` or `predict`."""


def from_histogram(model: Any) -> Ensemble:
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
    trees = [[_tree(stage[score].nodes) for stage in rounds] for score in range(scores)]
    base = np.reshape(model._baseline_prediction, -1)
    classes = len(model.classes_) if hasattr(model, "classes_") else 0
    return Ensemble.of(
        trees, base.tolist(), feature_count=int(model.n_features_in_), single=False, classes=classes
    )


def _tree(nodes: Any) -> Node:
    def node(at: int) -> Node:
        own = nodes[at]
        if own["is_leaf"]:
            return Node(value=float(own["value"]))
        if own["is_categorical"]:
            raise ParameterError(
                "the model splits categorical features, which have no encrypted form; encode them as numbers "
                "or one-hot columns, and train with categorical_features=None"
            )
        return Node(
            feature=int(own["feature_idx"]),
            # x <= t is x < the next number.
            threshold=float(np.nextafter(float(own["num_threshold"]), math.inf)),
            left=node(int(own["left"])),
            right=node(int(own["right"])),
            missing_right=not own["missing_go_to_left"],
        )

    return node(0)
