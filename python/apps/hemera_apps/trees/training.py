"""Training in the clear, by an installed library, in a process of its own."""

from __future__ import annotations

import importlib.util
import json
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.errors import Error, ParameterError
from hemera.trees.ensemble import Ensemble
from hemera.trees.read import read_model
from hemera_apps._extras import how_to_install
from hemera_apps.trees.tables import sklearn

TRAINERS = ("xgboost", "lightgbm", "scikit-learn")
RATE = 0.2
_PACKAGES = {"xgboost": "xgboost", "lightgbm": "lightgbm"}


def train(
    trainer: str, rows: NDArray[Any], labels: NDArray[Any], *, trees: int, depth: int, seed: int
) -> Ensemble:
    """A model of `trees` trees a score.

    Args:
        trainer: one of TRAINERS, or "auto" for the first installed one.
        rows: shape (rows, features); NaN for a missing value.
        labels: classes from 0, shape (rows,).
        trees: the number of rounds of boosting.
        depth: the depth of each tree.
        seed: the seed of the library's random numbers.

    Raises:
        ParameterError: if the library is not installed, or all labels are of one class.
        Error: if the library's process ends without a model.
    """
    if len(np.unique(labels)) < 2:
        raise ParameterError(
            "the rows to train on are all of one class, so there is nothing to learn; give a table whose "
            "classes all have several rows, or another column with --label"
        )
    if trainer == "auto":
        trainer = next(name for name in TRAINERS if name == "scikit-learn" or _found(name))
    if trainer in _PACKAGES:
        _require(trainer)
        common = {"n_estimators": trees, "max_depth": depth, "learning_rate": RATE, "random_state": seed}
        settings = {"common": common, "leaves": 1 << depth}
        return _trained_apart(trainer, rows, labels, settings)
    ensemble = sklearn("ensemble")
    if np.isnan(rows).any():
        model = ensemble.HistGradientBoostingClassifier(
            max_iter=trees, max_depth=depth, learning_rate=RATE, early_stopping=False, random_state=seed
        )
    else:
        # Few rows and features for each tree: the exact search is slow, and boosting does not need all.
        model = ensemble.GradientBoostingClassifier(
            n_estimators=trees,
            max_depth=depth,
            learning_rate=RATE,
            subsample=0.5,
            max_features="sqrt",
            random_state=seed,
        )
    return read_model(model.fit(rows, labels))


# `fit` of libraries with threads of their own has ended whole processes, so it runs in another one.
_FIT = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
import numpy
library, folder, settings = sys.argv[2], sys.argv[3], json.loads(sys.argv[4])
with numpy.load(folder + "/table.npz") as table:
    rows, labels = table["rows"], table["labels"]
common = settings["common"]
if library == "xgboost":
    import xgboost
    xgboost.XGBClassifier(**common).fit(rows, labels).get_booster().save_model(folder + "/model.json")
else:
    import lightgbm
    model = lightgbm.LGBMClassifier(num_leaves=settings["leaves"], verbose=-1, **common).fit(rows, labels)
    with open(folder + "/model.json", "w") as file:
        json.dump(model.booster_.dump_model(), file)
"""


def _trained_apart(
    library: str, rows: NDArray[Any], labels: NDArray[Any], settings: dict[str, Any]
) -> Ensemble:
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "table.npz", rows=rows, labels=labels)
        paths = json.dumps([path or str(Path.cwd()) for path in sys.path])
        done = subprocess.run(
            [sys.executable, "-c", _FIT, paths, library, folder, json.dumps(settings)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
        )
        if done.returncode:
            told = done.stderr.decode(errors="replace").strip().splitlines()
            how = (
                f"signal {signal.Signals(-done.returncode).name}"
                if done.returncode < 0
                else told[-1]
                if told
                else f"exit status {done.returncode}"
            )
            raise Error(
                f"{library} ended without a model: {how}; take another version of it, or --trainer "
                "scikit-learn"
            )
        return read_model(Path(folder) / "model.json")


def _found(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def _require(name: str) -> None:
    if not _found(name):
        raise ParameterError(
            f"training with {name} needs the package: {how_to_install('trees', _PACKAGES[name])}, or take "
            "--trainer scikit-learn"
        )
