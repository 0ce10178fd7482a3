"""Ensembles from the models of other libraries."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hemera.errors import FileError, FormatError, ParameterError
from hemera.inputs.fields import damaged, read_json
from hemera.trees.ensemble import Ensemble, Node

_TYPES = {
    "xgboost": ("Booster", "XGBClassifier", "XGBRegressor", "XGBRFClassifier", "XGBRFRegressor"),
    "lightgbm": ("Booster", "LGBMClassifier", "LGBMRegressor"),
    "sklearn": (
        *("GradientBoostingClassifier", "GradientBoostingRegressor"),
        *("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"),
    ),
}
_CATEGORICAL = (
    "the model splits categorical features, which have no encrypted form; encode them as numbers or one-hot "
    "columns, and train "
)
"""The refusal of such splits, up to the way of a library."""
_MOST_SCORES = 1 << 16


def read_model(model: Any) -> Ensemble:
    """The ensemble of a trained model. Its scores are the raw ones: xgboost's margins, LightGBM's
    `raw_score=True`, scikit-learn's `decision_function`, or `predict` of a regression.

    Args:
        model: a model of xgboost (`Booster`, `XGBClassifier`, `XGBRegressor`, `XGBRFClassifier`,
            `XGBRFRegressor`), LightGBM (`Booster`, `LGBMClassifier`, `LGBMRegressor`) or scikit-learn
            (`GradientBoostingClassifier`, `GradientBoostingRegressor`, `HistGradientBoostingClassifier`,
            `HistGradientBoostingRegressor`), of that type exactly; or the path of a JSON file: `save_model`
            of xgboost, or `json.dump(booster.dump_model(), file)` of LightGBM.

    Raises:
        TypeError: if it is none of these.
        ParameterError: if the model can not be evaluated. The message has the reason and the way out.
        FileError: if the file can not be read.
        FormatError: if it is no model.
    """
    if isinstance(model, (str, os.PathLike)):
        return _from_file(Path(model))
    library, name = library_of(model), type(model).__name__
    if library not in _TYPES:
        raise TypeError(
            "read_model takes a model of xgboost, LightGBM or scikit-learn, or the path of a JSON file, not "
            f"{name}"
        )
    if name not in _TYPES[library]:
        raise ParameterError(
            f"{library}'s {name} is not read; train one of {', '.join(_TYPES[library])}"
            + (", or a model of xgboost or LightGBM" if library == "sklearn" else "")
        )
    if library == "xgboost":
        return _from_xgboost(json.loads(bytes(_booster(model).save_raw("json"))))
    if library == "lightgbm":
        return _from_lightgbm((model if name == "Booster" else _fitted(model).booster_).dump_model())
    return (_from_histogram if name.startswith("Hist") else _from_sklearn)(model)


def library_of(model: object) -> str:
    """The package that defines a model's type."""
    return type(model).__module__.partition(".")[0]


def _fitted(model: Any) -> Any:
    """The same model. ParameterError if it is not fitted."""
    own = getattr(model, "__sklearn_is_fitted__", lambda: hasattr(model, "n_features_in_"))
    if not own():
        raise ParameterError(f"the {type(model).__name__} is not fitted; call fit first")
    return model


def _booster(model: Any) -> Any:
    """xgboost's booster of the rounds that the model predicts with."""
    if type(model).__name__ == "Booster":
        return model
    if not np.isnan(_fitted(model).missing):
        raise ParameterError(
            f"the model takes {model.missing:g} for a missing value, and an encrypted comparison has no side "
            "for it; train with missing=numpy.nan"
        )
    booster = model.get_booster()
    # Early stopping alone sets `best_iteration`. The booster keeps all rounds; `predict` leaves the later
    # ones out.
    best = getattr(model, "best_iteration", None)
    return booster if best is None else booster[: best + 1]


def _from_file(path: Path) -> Ensemble:
    try:
        text = path.read_bytes()
    except OSError as error:
        raise FileError(f"can not read {path}: {error.strerror}") from error
    data = read_json(text, f"{path} is not JSON; save the model with booster.save_model('model.json')")
    if isinstance(data, dict) and "learner" in data:
        return _from_xgboost(data)
    if isinstance(data, dict) and "tree_info" in data:
        return _from_lightgbm(data)
    raise FormatError(f"{path} is JSON, but no model of xgboost or LightGBM")


def _trees_of(scores: int) -> list[list[Node]]:
    """A list of trees for each score of a model. FormatError for more scores than models have."""
    if not 1 <= scores <= _MOST_SCORES:
        raise FormatError(f"a model has 1 to {_MOST_SCORES} scores, not {scores}")
    return [[] for _ in range(scores)]


def _tree(
    left: Any, right: Any, features: Any, thresholds: Any, values: Any, missing_right: ArrayLike | None = None
) -> Node:
    """The tree of a library's tables of nodes, of which 0 is the root; leaves have -1 on their left.
    FormatError if a node is met twice."""
    read: set[int] = set()

    def node(at: int) -> Node:
        if at in read:
            raise FormatError(f"node {at} stands below two others, or below itself")
        read.add(at)
        if left[at] == -1:
            return Node(value=float(values[at]))
        return Node(
            feature=int(features[at]),
            threshold=float(thresholds[at]),
            left=node(int(left[at])),
            right=node(int(right[at])),
            missing_right=None if sides is None else bool(sides[at]),
        )

    sides = None if missing_right is None else np.asarray(missing_right, np.bool_)
    return node(0)


def _above(thresholds: Any) -> Any:
    """x <= t as x < the next number."""
    return np.nextafter(np.asarray(thresholds, np.float64), math.inf)


# --- xgboost, from the JSON of its `save_model` (xgboost documents the schema). ---

_XGBOOST_VALUES = ("reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror", "reg:quantileerror")
_XGBOOST = ("binary:logistic", "multi:softprob", "multi:softmax", *_XGBOOST_VALUES)


@damaged("the model of xgboost", ParameterError)
def _from_xgboost(data: Mapping[str, Any]) -> Ensemble:
    learner = data["learner"]
    objective = learner["objective"]["name"]
    if objective == "binary:logitraw":
        raise ParameterError(
            "the model's objective is binary:logitraw, for which xgboost takes margins above 0.5, not 0, as "
            "the second class; train with binary:logistic, which has the same margins"
        )
    if objective not in _XGBOOST:
        raise ParameterError(
            f"the model's objective is {objective}, and only {', '.join(_XGBOOST)} are read; train with one "
            "of these"
        )
    booster = learner["gradient_booster"]
    if booster["name"] != "gbtree":
        raise ParameterError(
            f"the model's booster is {booster['name']}, and only gbtree is read; train with booster='gbtree'"
        )
    shape = learner["learner_model_param"]
    binary = objective == "binary:logistic"
    targets = int(shape.get("num_target", 1))
    if targets > 1 and binary:
        raise ParameterError(f"the model has {targets} labels for each row; train a model for each of them")
    scores = int(shape["num_class"]) if objective.startswith("multi:") else targets
    trees = _trees_of(scores)
    model = booster["model"]
    for tree, score in zip(model["trees"], model["tree_info"], strict=True):
        if int(tree["tree_param"]["size_leaf_vector"]) > 1:
            raise ParameterError(
                "the model's leaves are vectors; train with multi_strategy='one_output_per_tree'"
            )
        if any(tree.get("split_type", ())) or tree.get("categories"):
            raise ParameterError(f"{_CATEGORICAL}with enable_categorical=False")
        values = np.asarray(tree["split_conditions"], dtype=np.float32).astype(float)
        sides = np.logical_not(tree["default_left"])
        children = tree["left_children"], tree["right_children"]
        trees[score].append(_tree(*children, tree["split_indices"], values, values, sides))
    base = np.zeros(scores) + np.atleast_1d(np.asarray(json.loads(shape["base_score"]), float))
    if binary:
        base = np.array([math.log(p / (1 - p)) for p in base])
    classes = 0 if objective in _XGBOOST_VALUES else max(2, scores)
    return Ensemble.of(
        trees, base.tolist(), feature_count=int(shape["num_feature"]), single=True, classes=classes
    )


# --- LightGBM, from the dictionary of `Booster.dump_model()`. ---

_LIGHTGBM_VALUES = ("regression", "regression_l1", "huber", "fair", "quantile", "mape")
_LIGHTGBM = ("binary", "multiclass", "multiclassova", *_LIGHTGBM_VALUES)


@damaged("the model of LightGBM", ParameterError)
def _from_lightgbm(data: Mapping[str, Any]) -> Ensemble:
    objective, *settings = str(data.get("objective", "one of its own")).split()
    if objective not in _LIGHTGBM:
        raise ParameterError(
            f"the model's objective is {objective}, whose results are not sums of leaves; train with "
            f"{', '.join(_LIGHTGBM)}"
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
    trees = _trees_of(scores)
    for index, tree in enumerate(data["tree_info"]):
        trees[index % scores].append(_lightgbm_node(tree["tree_structure"]))
    classes = 0 if objective in _LIGHTGBM_VALUES else max(2, scores)
    return Ensemble.of(
        trees, [0.0] * scores, feature_count=int(data["max_feature_idx"]) + 1, single=False, classes=classes
    )


def _lightgbm_node(node: Mapping[str, Any]) -> Node:
    if "split_feature" not in node:
        if "leaf_coeff" in node:
            raise ParameterError("the model has linear trees; train with linear_tree=False")
        return Node(value=float(node["leaf_value"]))
    if node["decision_type"] != "<=":
        raise ParameterError(f"{_CATEGORICAL}without categorical_feature")
    if node["missing_type"] == "Zero":
        raise ParameterError(
            "the model takes zeros for missing values, and an encrypted comparison has no side for them; "
            "train with zero_as_missing=False"
        )
    threshold = float(_above(node["threshold"]))
    return Node(
        feature=int(node["split_feature"]),
        threshold=threshold,
        left=_lightgbm_node(node["left_child"]),
        right=_lightgbm_node(node["right_child"]),
        # A feature without missing values in training takes a missing one for 0.
        missing_right=threshold <= 0 if node["missing_type"] == "None" else not node["default_left"],
    )


# --- scikit-learn. ---


def _from_sklearn(model: Any) -> Ensemble:
    """GradientBoostingClassifier and -Regressor."""
    count, stages, rate = int(_fitted(model).n_features_in_), model.estimators_, float(model.learning_rate)
    if model.init is not None and model.init != "zero":
        raise ParameterError("the model starts from another model; train it with init=None or init='zero'")
    of_scores = [[stage.tree_ for stage in stages[:, score]] for score in range(stages.shape[1])]
    trees = [
        [
            _tree(
                *(own.children_left, own.children_right, own.feature, _above(own.threshold)),
                rate * own.value[:, 0, 0],
            )
            for own in each
        ]
        for each in of_scores
    ]
    classifier = hasattr(model, "classes_")
    classes = len(model.classes_) if classifier else 0
    nothing = [0.0] * len(trees)
    parts = Ensemble.of(trees, nothing, feature_count=count, single=True, classes=classes)
    # What every row starts from has no public name: it is what trees leave of any one row's score.
    anywhere = np.zeros((1, count))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the row has no names of columns
        whole = (model.decision_function if classifier else model.predict)(anywhere)
    base = (np.reshape(whole, (1, len(trees))) - parts.scores(anywhere))[0]
    return dataclasses.replace(parts, base=base)


def _from_histogram(model: Any) -> Ensemble:
    """HistGradientBoostingClassifier and -Regressor."""
    rounds = _fitted(model)._predictors
    if model.loss not in _LOSSES:
        raise ParameterError(f"the model's loss is {model.loss}; train with one of {', '.join(_LOSSES)}")
    trees = [[_histogram_tree(own.nodes) for own in each] for each in zip(*rounds, strict=True)]
    base = np.reshape(model._baseline_prediction, -1)
    classes = len(model.classes_) if hasattr(model, "classes_") else 0
    return Ensemble.of(
        trees, base.tolist(), feature_count=int(model.n_features_in_), single=False, classes=classes
    )


_LOSSES = ("log_loss", "squared_error", "absolute_error", "quantile")
"""Losses whose raw scores are the results of `decision_function` or `predict`."""


def _histogram_tree(nodes: Any) -> Node:
    if nodes["is_categorical"].any():
        raise ParameterError(f"{_CATEGORICAL}with categorical_features=None")
    return _tree(
        *(np.where(nodes["is_leaf"], -1, nodes["left"].astype(np.int64)), nodes["right"]),
        *(nodes["feature_idx"], _above(nodes["num_threshold"]), nodes["value"]),
        ~nodes["missing_go_to_left"].astype(np.bool_),
    )
