"""Models of the libraries that train them, as ensembles."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from hemera.applications.trees.ensemble import Ensemble
from hemera.applications.trees.read_lightgbm import from_lightgbm
from hemera.applications.trees.read_sklearn import from_sklearn
from hemera.applications.trees.read_xgboost import from_xgboost
from hemera.errors import FileError, FormatError


def read_model(model: object) -> Ensemble:
    """The ensemble of a trained model.

    Args:
        model: a model of xgboost (`Booster`, `XGBClassifier`, `XGBRegressor`), LightGBM (`Booster`,
            `LGBMClassifier`, `LGBMRegressor`) or scikit-learn (`GradientBoostingClassifier`,
            `GradientBoostingRegressor`); or the path of a JSON file: `save_model` of xgboost, or
            `json.dump(booster.dump_model(), file)` of LightGBM.

    Raises:
        TypeError: for anything else.
        ParameterError: for a model that can not be evaluated; the message says why and what to do.
        FileError: when the file can not be read.
        FormatError: when it is no model.
    """
    if isinstance(model, (str, os.PathLike)):
        return _from_file(Path(model))
    library = type(model).__module__.partition(".")[0]
    if library == "xgboost":
        return from_xgboost(json.loads(bytes(_booster(model).save_raw("json"))))
    if library == "lightgbm":
        booster: Any = getattr(model, "booster_", model)
        return from_lightgbm(booster.dump_model())
    if library == "sklearn":
        return from_sklearn(model)
    raise TypeError(
        "read_model takes a model of xgboost, LightGBM or scikit-learn, or the path of a JSON file, not "
        f"{type(model).__name__}"
    )


def _booster(model: Any) -> Any:
    """xgboost's booster of those rounds that the model predicts with."""
    if not hasattr(model, "get_booster"):
        return model
    booster = model.get_booster()
    # Only early stopping sets it; all rounds are kept, and `predict` leaves the later ones out.
    best = getattr(model, "best_iteration", None)
    return booster if best is None else booster[: best + 1]


def _from_file(path: Path) -> Ensemble:
    try:
        data = json.loads(path.read_bytes())
    except OSError as error:
        raise FileError(f"can not read {path}: {error.strerror}") from error
    except ValueError as error:
        raise FormatError(
            f"{path} is not JSON; save the model with booster.save_model('model.json')"
        ) from error
    if isinstance(data, dict) and "learner" in data:
        return from_xgboost(data)
    if isinstance(data, dict) and "tree_info" in data:
        return from_lightgbm(data)
    raise FormatError(f"{path} is JSON, but no model of xgboost or LightGBM")
