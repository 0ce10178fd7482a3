"""Ensembles from the models of other libraries."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from hemera.errors import FileError, FormatError, ParameterError
from hemera.inputs.fields import read_json
from hemera.trees.ensemble import Ensemble
from hemera.trees.read_lightgbm import from_lightgbm
from hemera.trees.read_sklearn import from_sklearn
from hemera.trees.read_xgboost import from_xgboost


def read_model(model: object) -> Ensemble:
    """The ensemble of a trained model.

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
    library = library_of(model)
    if library in _TYPES:
        name = type(model).__name__
        if name not in _TYPES[library]:
            raise ParameterError(f"{library}'s {name} is not read; train one of {', '.join(_TYPES[library])}")
        if library == "xgboost":
            return from_xgboost(json.loads(bytes(_booster(model).save_raw("json"))))
        return from_lightgbm(_dumped(model))
    if library == "sklearn":
        return from_sklearn(model)
    raise TypeError(
        "read_model takes a model of xgboost, LightGBM or scikit-learn, or the path of a JSON file, not "
        f"{type(model).__name__}"
    )


_TYPES = {
    "xgboost": ("Booster", "XGBClassifier", "XGBRegressor", "XGBRFClassifier", "XGBRFRegressor"),
    "lightgbm": ("Booster", "LGBMClassifier", "LGBMRegressor"),
}


def library_of(model: object) -> str:
    """The package that defines a model's type."""
    return type(model).__module__.partition(".")[0]


def _require_fitted(model: Any) -> None:
    if not model.__sklearn_is_fitted__():
        raise ParameterError(f"the {type(model).__name__} is not fitted; call fit first")


def _dumped(model: Any) -> Any:
    if type(model).__name__ == "Booster":
        return model.dump_model()
    _require_fitted(model)
    return model.booster_.dump_model()


def _booster(model: Any) -> Any:
    """xgboost's booster of the rounds that the model predicts with."""
    if type(model).__name__ == "Booster":
        return model
    _require_fitted(model)
    if not np.isnan(model.missing):
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
        return from_xgboost(data)
    if isinstance(data, dict) and "tree_info" in data:
        return from_lightgbm(data)
    raise FormatError(f"{path} is JSON, but no model of xgboost or LightGBM")
