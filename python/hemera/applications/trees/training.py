"""Training in the clear, by whichever library is there."""

from __future__ import annotations

import importlib.util
from typing import Any

from numpy.typing import NDArray

from hemera.applications.trees.tables import sklearn
from hemera.errors import ParameterError

TRAINERS = ("xgboost", "lightgbm", "scikit-learn")
RATE = 0.2


def train(
    trainer: str, rows: NDArray[Any], labels: NDArray[Any], *, trees: int, depth: int, seed: int
) -> object:
    """A fitted model of `trees` trees a score, for `read_model`.

    Args:
        trainer: one of TRAINERS, or "auto" for the first that is installed.
        rows: shape (rows, features).
        labels: classes from 0, shape (rows,).
        trees: rounds of boosting.
        depth: of each tree.
        seed: of what the library draws.

    Raises:
        ParameterError: when the library is not installed.
    """
    if trainer == "auto":
        trainer = next(name for name in TRAINERS if name == "scikit-learn" or _found(name))
    if trainer == "xgboost":
        model = _library(trainer).XGBClassifier(
            n_estimators=trees, max_depth=depth, learning_rate=RATE, random_state=seed
        )
    elif trainer == "lightgbm":
        model = _library(trainer).LGBMClassifier(
            n_estimators=trees,
            max_depth=depth,
            num_leaves=1 << depth,
            learning_rate=RATE,
            random_state=seed,
            verbose=-1,
        )
    else:
        # Few rows and features a tree: its exact search is slow, and boosting does not need all.
        model = sklearn("ensemble").GradientBoostingClassifier(
            n_estimators=trees,
            max_depth=depth,
            learning_rate=RATE,
            subsample=0.5,
            max_features="sqrt",
            random_state=seed,
        )
    fitted: object = model.fit(rows, labels)
    return fitted


def _found(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ParameterError(
            f'training with {name} needs the package: pip install "hemera[trees]", or take --trainer '
            "scikit-learn"
        ) from error
