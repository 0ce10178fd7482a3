"""xgboost's models, from the JSON of its `save_model` (xgboost documents the schema)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from hemera.errors import FormatError, ParameterError
from hemera.inputs.fields import damaged
from hemera.trees.ensemble import CATEGORICAL, Ensemble, Node, trees_of

_BINARY = ("binary:logistic",)
_MULTICLASS = ("multi:softprob", "multi:softmax")
_REGRESSION = ("reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror", "reg:quantileerror")


def from_xgboost(data: Mapping[str, Any]) -> Ensemble:
    """The ensemble; its scores are the margins (`output_margin=True`).

    Raises:
        ParameterError: if the model has categorical splits, another booster than gbtree, vector leaves, or an
            objective whose margins are not sums of leaves. The message has the way out.
        FormatError: if a field is missing.
    """
    with damaged("the model of xgboost", ParameterError):
        return _read(data["learner"])


def _read(learner: Mapping[str, Any]) -> Ensemble:
    objective = learner["objective"]["name"]
    if objective == "binary:logitraw":
        raise ParameterError(
            "the model's objective is binary:logitraw, for which xgboost takes margins above 0.5, not 0, as "
            "the second class; train with binary:logistic, which has the same margins"
        )
    if objective not in (*_BINARY, *_MULTICLASS, *_REGRESSION):
        raise ParameterError(
            f"the model's objective is {objective}, and only "
            f"{', '.join((*_BINARY, *_MULTICLASS, *_REGRESSION))} "
            "are read; train with one of these"
        )
    booster = learner["gradient_booster"]
    if booster["name"] != "gbtree":
        raise ParameterError(
            f"the model's booster is {booster['name']}, and only gbtree is read; train with booster='gbtree'"
        )
    shape = learner["learner_model_param"]
    multiclass = objective in _MULTICLASS
    targets = int(shape.get("num_target", 1))
    if targets > 1 and objective in _BINARY:
        raise ParameterError(f"the model has {targets} labels for each row; train a model for each of them")
    scores = int(shape["num_class"]) if multiclass else targets
    trees = trees_of(scores)
    model = booster["model"]
    for tree, score in zip(model["trees"], model["tree_info"], strict=True):
        trees[score].append(_tree(tree))
    base = np.zeros(scores) + np.atleast_1d(np.asarray(json.loads(shape["base_score"]), float))
    if objective in _BINARY:
        base = np.array([math.log(p / (1 - p)) for p in base])
    classes = 0 if objective in _REGRESSION else max(2, scores)
    return Ensemble.of(
        trees, base.tolist(), feature_count=int(shape["num_feature"]), single=True, classes=classes
    )


def _tree(tree: Mapping[str, Any]) -> Node:
    if int(tree["tree_param"]["size_leaf_vector"]) > 1:
        raise ParameterError(
            "the model's leaves are vectors; train with multi_strategy='one_output_per_tree'"
        )
    if any(tree.get("split_type", ())) or tree.get("categories"):
        raise ParameterError(f"{CATEGORICAL}with enable_categorical=False")
    left, right, default_left = tree["left_children"], tree["right_children"], tree["default_left"]
    values = np.asarray(tree["split_conditions"], dtype=np.float32).astype(float)

    read: set[int] = set()

    def node(at: int) -> Node:
        if at in read:
            raise FormatError(f"node {at} stands below two others, or below itself")
        read.add(at)
        if left[at] == -1:
            return Node(value=float(values[at]))
        return Node(
            feature=int(tree["split_indices"][at]),
            threshold=float(values[at]),
            left=node(left[at]),
            right=node(right[at]),
            missing_right=not default_left[at],
        )

    return node(0)
