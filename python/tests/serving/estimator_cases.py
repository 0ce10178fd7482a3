"""Rows, targets and estimators of scikit-learn that the tests of estimators share."""

from __future__ import annotations

import inspect
import json
import warnings
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler
from sklearn.utils import all_estimators

import hemera as hm
from hemera import serving

SMALL = {"security": None, "degree": 1024}
TYPED = hm.errors.Error

# Columns of different places and sizes: what a scaler forgets shows.
RANDOM = np.random.default_rng(28)
ROWS = RANDOM.normal(size=(90, 4)) * [1, 3, 0.3, 2] + [0, 9, -0.3, 4]
SCORE = (ROWS - ROWS.mean(axis=0)) / ROWS.std(axis=0) @ [1.0, -0.7, 0.4, 0.2]
VALUES = SCORE + 0.1 * RANDOM.normal(size=90)
POSITIVE = np.exp(0.5 * VALUES)
TWO = np.where(VALUES > 0.2, "yes", "no")
THREE = np.digitize(VALUES, [-0.6, 0.6]) + 5
TARGETS = np.stack([VALUES, POSITIVE], axis=1)
OTHERS = RANDOM.permuted(ROWS, axis=0)
"""Rows within the ranges of ROWS, which the export does not see."""

CLASSIFIERS = dict(all_estimators(type_filter="classifier"))
REGRESSORS = dict(all_estimators(type_filter="regressor"))
TRANSFORMERS = dict(all_estimators(type_filter="transformer"))
REST = {
    name: kind for name, kind in all_estimators() if name not in (*CLASSIFIERS, *REGRESSORS, *TRANSFORMERS)
}
LINEAR = {
    *("LogisticRegression", "LogisticRegressionCV", "LinearDiscriminantAnalysis", "LinearSVC", "Perceptron"),
    *("PassiveAggressiveClassifier", "RidgeClassifier", "RidgeClassifierCV", "SGDClassifier"),
    "OneVsRestClassifier",
    *("ARDRegression", "BayesianRidge", "CCA", "ElasticNet", "ElasticNetCV", "GammaRegressor"),
    *("HuberRegressor", "Lars", "LarsCV", "Lasso", "LassoCV", "LassoLars", "LassoLarsCV", "LassoLarsIC"),
    *("LinearRegression", "LinearSVR", "MultiOutputRegressor", "MultiTaskElasticNet"),
    *("MultiTaskElasticNetCV", "MultiTaskLasso", "MultiTaskLassoCV", "OrthogonalMatchingPursuit"),
    *("OrthogonalMatchingPursuitCV", "PLSCanonical", "PLSRegression", "PassiveAggressiveRegressor"),
    *("PoissonRegressor", "QuantileRegressor", "RANSACRegressor", "Ridge", "RidgeCV", "SGDRegressor"),
    *("TheilSenRegressor", "TweedieRegressor"),
}
"""Estimators that are packaged as they come; SVC and its like are with kernel="linear" only."""


def made(kind: type) -> Any:
    """An estimator with its usual settings, and small ones where training would take long."""
    inner: dict[str, Any] = {
        "estimator": LogisticRegression() if issubclass(kind, tuple(CLASSIFIERS.values())) else Ridge(),
        "estimators": [("a", LogisticRegression() if kind in CLASSIFIERS.values() else Ridge())],
        "transformer_list": [("a", StandardScaler())],
        "transformers": [("a", StandardScaler(), [0, 1, 2, 3])],
        "steps": [("a", StandardScaler()), ("b", Ridge())],
        "param_grid": {},
        "param_distributions": {},
        "dictionary": np.eye(4),
    }
    known = inspect.signature(kind).parameters
    settings = {
        name: value
        for name, value in inner.items()
        if name in known and known[name].default is inspect.Parameter.empty
    }
    for name, value in (("Cs", 2), ("n_estimators", 3), ("random_state", 0), ("n_components", 1)):
        if name in known:
            settings[name] = value
    if "Cs" in known:
        settings["cv"] = 2
    return kind(**settings)


def fitted(model: Any, rows: Any, targets: Any) -> Any:
    """Trained; None where scikit-learn refuses these rows or targets."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return model.fit(rows, targets)
        except (ValueError, TypeError, NotImplementedError, IndexError, AttributeError):
            return None


def library_results(model: Any, rows: Any) -> Any:
    """What docs/serving.md promises: probabilities where the model is fitted for them, else predictions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if hasattr(model, "predict_proba"):
            found = model.predict_proba(rows)
            return found[:, 1] if found.shape[1] == 2 else found
        return model.predict(rows)


def require_same(found: Any, expected: Any) -> None:
    """Equal labels of one type, or equal numbers, in arrays of one shape."""
    expected = np.asarray(expected)
    assert found.shape == expected.shape
    if expected.dtype.kind in "f":
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
    else:
        assert found.dtype.kind == expected.dtype.kind
        np.testing.assert_array_equal(found, expected)


def packaged(model: Any, rows: Any = ROWS, **more: Any) -> serving.Package:
    """The package after its bytes."""
    return serving.Package.load(
        bytes(serving.export_linear(model, name="m", calibrate=rows, **SMALL, **more))
    )


def encrypted(package: serving.Package, rows: Any) -> Any:
    """What a client of the package's description reads."""
    interface = serving.Interface.from_dict(json.loads(json.dumps(package.describe())))
    ctx = hm.Context(interface.params, "cpu")
    sk = ctx.generate_secret_key()
    keys = interface.generate_keys(ctx, sk)
    inputs = [ctx.encrypt(values, sk) for values in interface.encode(rows)]
    results = package.prepare(ctx).run(keys, inputs)
    return interface.decode([ctx.decrypt(y, sk) for y in results], len(rows))
