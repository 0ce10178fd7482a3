"""LightGBM's models, from the dictionary of `Booster.dump_model()`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from hemera.errors import ParameterError
from hemera.inputs.fields import damaged
from hemera.trees.ensemble import CATEGORICAL, Ensemble, Node, trees_of

_CLASSES = ("binary", "multiclass", "multiclassova")
_VALUES = ("regression", "regression_l1", "huber", "fair", "quantile", "mape")


def from_lightgbm(data: Mapping[str, Any]) -> Ensemble:
    """The ensemble; its scores are the raw ones (`raw_score=True`).

    Raises:
        ParameterError: if the model has categorical splits, zeros that count as missing, linear trees or
            averaged outputs. The message has the way out.
        FormatError: if a field is missing.
    """
    with damaged("the model of LightGBM", ParameterError):
        return _read(data)


def _read(data: Mapping[str, Any]) -> Ensemble:
    objective, *settings = str(data.get("objective", "one of its own")).split()
    if objective not in (*_CLASSES, *_VALUES):
        raise ParameterError(
            f"the model's objective is {objective}, whose results are not sums of leaves; train with "
            f"{', '.join((*_CLASSES, *_VALUES))}"
        )
    if "sqrt" in settings:
        raise ParameterError(
            "the model's results are squares of its sums of leaves; train with reg_sqrt=False, on roots of "
            "the targets"
        )
    if data["average_output"]:
        raise ParameterError(
            "the model averages its trees (a random forest); train with boosting_type='gbdt'"
        )
    scores = int(data["num_tree_per_iteration"])
    trees = trees_of(scores)
    for index, tree in enumerate(data["tree_info"]):
        trees[index % scores].append(_node(tree["tree_structure"]))
    classes = 0 if objective in _VALUES else max(2, scores)
    return Ensemble.of(
        trees, [0.0] * scores, feature_count=int(data["max_feature_idx"]) + 1, single=False, classes=classes
    )


def _node(node: Mapping[str, Any]) -> Node:
    if "split_feature" not in node:
        if "leaf_coeff" in node:
            raise ParameterError("the model has linear trees; train with linear_tree=False")
        return Node(value=float(node["leaf_value"]))
    if node["decision_type"] != "<=":
        raise ParameterError(f"{CATEGORICAL}without categorical_feature")
    if node["missing_type"] == "Zero":
        raise ParameterError(
            "the model takes zeros for missing values, and an encrypted comparison has no side for them; "
            "train with zero_as_missing=False"
        )
    # x <= t is x < the next number.
    threshold = float(np.nextafter(float(node["threshold"]), math.inf))
    return Node(
        feature=int(node["split_feature"]),
        threshold=threshold,
        left=_node(node["left_child"]),
        right=_node(node["right_child"]),
        # A feature without missing values in training takes a missing one for 0.
        missing_right=threshold <= 0 if node["missing_type"] == "None" else not node["default_left"],
    )
