"""Linear estimators of scikit-learn as numbers: each type with its own coefficients, link and labels.

Exact types are read and no others. A type that only looks alike has another link, or coefficients that mean
something else: those of `SVC` compare pairs of classes, those of a `PoissonRegressor` are of a logarithm.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera.errors import ParameterError
from hemera.package.readings import Labels

__all__ = [
    "SCALERS",
    "TREE_LIBRARIES",
    "Features",
    "Linear",
    "Results",
    "Scores",
    "is_exactly",
    "is_linear",
    "linear_types",
    "read_features",
    "read_linear",
    "read_scores",
    "steps_of",
]

Floats = NDArray[np.float64]
Results = Literal["auto", "values", "labels", "probabilities", "scores"]


@dataclass(frozen=True)
class Scores:
    """scores = x @ coefficients.T + intercept, and what a client makes of them."""

    coefficients: Floats
    """Shape (scores, features)."""
    intercept: Floats
    """Shape (scores,)."""
    read: str
    labels: Labels | None
    method: str
    """The method of the library's model that gives the same results."""


@dataclass(frozen=True)
class Features:
    """x = (clip(row, low, high) - mean) / deviation: what a chain of scalers makes of a row."""

    mean: Floats
    deviation: Floats
    low: Floats
    high: Floats
    """-inf and inf where no scaler clips."""


def steps_of(model: Any) -> list[Any]:
    """The fitted steps of a Pipeline, also of one inside of another; a model that is none is its own step."""
    if not is_exactly(model, "sklearn.pipeline", "Pipeline"):
        return [model]
    steps = [step for _, step in model.steps if step is not None and not isinstance(step, str)]
    return [inner for step in steps for inner in steps_of(step)]


def is_linear(model: Any) -> bool:
    """Whether the last step is of a type that `read_scores` takes."""
    return _reader(steps_of(model)[-1]) is not None


# --- Scalers. ---


def read_features(scalers: list[Any], count: int) -> Features:
    """The result of a chain of scalers for rows of `count` features.

    Raises:
        ParameterError: for another transformer than those of `SCALERS`, or one that is not fitted.
    """
    found = Features(np.zeros(count), np.ones(count), np.full(count, -np.inf), np.full(count, np.inf))
    for scaler in scalers:
        found = _then(found, scaler, count)
    return found


def _then(before: Features, scaler: Any, count: int) -> Features:
    name = type(scaler).__name__
    if not any(is_exactly(scaler, "sklearn.preprocessing", known) for known in SCALERS):
        raise ParameterError(
            f"{name} is no step that is packaged; before a linear model there may be "
            f"{', '.join(SCALERS)}. Apply other steps to the rows at the client, and export what comes after"
        )
    try:
        mean, deviation, clip = SCALERS[name](scaler)
    except AttributeError:
        raise ParameterError(f"the {name} is not fitted; call fit first") from None
    try:
        mean = np.broadcast_to(np.asarray(mean, np.float64), (count,))
        deviation = np.broadcast_to(np.asarray(deviation, np.float64), (count,))
    except ValueError:
        raise ParameterError(f"the {name} was fitted on other features than the model") from None
    # (x - a) / b, then (x - c) / d, is (x - (a + b c)) / (b d).
    after = Features(
        before.mean + before.deviation * mean, before.deviation * deviation, before.low, before.high
    )
    if clip is None:
        return after
    low, high = (after.mean + after.deviation * end for end in clip)
    low, high = np.maximum(low, before.low), np.minimum(high, before.high)
    if (low > high).any():
        raise ParameterError(
            f"the {name} clips to a range that the step before it never reaches; leave it out"
        )
    return Features(after.mean, after.deviation, low, high)


Affine = tuple[ArrayLike, ArrayLike, tuple[float, float] | None]
"""Mean and deviation, and what a scaler clips its results to."""


def _standard(scaler: Any) -> Affine:
    # Without with_mean, mean_ is there all the same.
    deviation = scaler.scale_ if scaler.with_std else 1.0
    return scaler.mean_ if scaler.with_mean else 0.0, deviation, None


def _min_max(scaler: Any) -> Affine:
    low, high = scaler.feature_range
    return -scaler.min_ / scaler.scale_, 1 / scaler.scale_, (low, high) if scaler.clip else None


def _max_abs(scaler: Any) -> Affine:
    return 0.0, scaler.scale_, (-1.0, 1.0) if getattr(scaler, "clip", False) else None


def _robust(scaler: Any) -> Affine:
    centre = scaler.center_ if scaler.with_centering else 0.0
    return centre, scaler.scale_ if scaler.with_scaling else 1.0, None


TREE_LIBRARIES = ("lightgbm", "xgboost")
"""Libraries of boosted trees that `hemera.serving.export_trees` takes, and `hemera.compile` does not."""
SCALERS: dict[str, Callable[[Any], Affine]] = {
    "StandardScaler": _standard,
    "MinMaxScaler": _min_max,
    "MaxAbsScaler": _max_abs,
    "RobustScaler": _robust,
}
"""Names of sklearn.preprocessing."""


# --- Models. ---


def read_scores(model: Any, results: Results) -> Scores:
    """The scores of a fitted estimator, and how they are read.

    Args:
        results: "auto": `predict` of regressors, `predict_proba` of classifiers that are fitted for
            probabilities, `predict` of others; or one of the others that the type has.

    Raises:
        ParameterError: for a type that is not read, a model that is not fitted, or results that it has not.
    """
    found = read_linear(model)
    name = type(model).__name__
    wanted = next(iter(found.offers)) if results == "auto" else results
    if wanted not in found.offers:
        raise ParameterError(
            f"{name}: results are one of {', '.join(found.offers)}, not {wanted}"
            + (f": {found.missing}" if found.missing and wanted == "probabilities" else "")
        )
    if wanted == "probabilities" and found.missing:
        raise ParameterError(f"{name}: {found.missing}; take results='labels' or 'scores'")
    read, method = found.offers[wanted]
    labels = found.labels if read in ("sign", "argmax") else None
    return Scores(found.coefficients, found.intercept, read, labels, method)


def read_linear(model: Any) -> Linear:
    """The scores of a fitted estimator, and all that it makes of them.

    Raises:
        ParameterError: for a type that is not read, and a model that is not fitted.
    """
    reader = _reader(model)
    name = type(model).__name__
    if reader is None:
        raise ParameterError(f"{name}: {_WHY_NOT.get(name, _NO_LINEAR_MODEL)}")
    try:
        return reader(model)
    except AttributeError:
        raise ParameterError(f"the {name} is not fitted; call fit first") from None


@dataclass(frozen=True)
class Linear:
    """scores = x @ coefficients.T + intercept, and what an estimator makes of them."""

    coefficients: Floats
    """Shape (scores, features)."""
    intercept: Floats
    """Shape (scores,)."""
    offers: dict[str, tuple[str, str]]
    """The reading of results and the library's method; the usual one first."""
    labels: Labels | None = None
    missing: str = ""
    """Why there are no probabilities although the library has them."""


_UNCALIBRATED = (
    "its probabilities are calibrated apart from its scores, and are not packaged; train a LogisticRegression"
)
_VALUES = {"values": ("values", "predict")}
_NO_LINEAR_MODEL = (
    "no linear model that is packaged; docs/serving.md lists those of scikit-learn. Boosted trees are for "
    "export_trees; write another model as a function of an encrypted row for hemera.serving.export"
)
_SEARCH = "a search is packaged by its best model: give best_estimator_"
_WHY_NOT = {
    "GridSearchCV": _SEARCH,
    "RandomizedSearchCV": _SEARCH,
    "HalvingGridSearchCV": _SEARCH,
    "HalvingRandomSearchCV": _SEARCH,
    "TransformedTargetRegressor": "what it does to targets is not packaged; give regressor_, and transform "
    "its results back at the client",
    "CalibratedClassifierCV": "it averages several calibrated models; give the model inside of it",
}


def _affine(model: Any, coefficients: Any = None, intercept: Any = None) -> tuple[Floats, Floats]:
    """Coefficients of shape (scores, features), also of sparse ones, and as many intercepts."""
    weights: Any = model.coef_ if coefficients is None else coefficients
    weights = weights.toarray() if hasattr(weights, "toarray") else weights
    matrix = np.atleast_2d(np.asarray(weights, np.float64))
    bias = np.asarray(model.intercept_ if intercept is None else intercept, np.float64)
    return matrix, np.array(np.broadcast_to(bias.reshape(-1) if bias.ndim else bias, (len(matrix),)))


def _regressor(model: Any) -> Linear:
    return Linear(*_affine(model), _VALUES)


def _log_link(model: Any) -> Linear:
    return Linear(*_affine(model), {"values": ("exp", "predict")})


def _tweedie(model: Any) -> Linear:
    logarithm = model.link == "log" or (model.link == "auto" and model.power > 0)
    return _log_link(model) if logarithm else _regressor(model)


def _centred(model: Any) -> Linear:
    """Partial least squares: their means have no public name, and are in the prediction of zeros."""
    weights = np.asarray(model.coef_, np.float64)
    return Linear(*_affine(model, weights, _of_zeros(model, weights.shape[1])), _VALUES)


def _of_zeros(model: Any, features: int) -> Any:
    """The prediction of a row of zeros, which has no names of columns, without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.predict(np.zeros((1, features)))


def _ransac(model: Any) -> Linear:
    return _of_kind(model.estimator_, "values", "RANSACRegressor")


def _each_target(model: Any) -> Linear:
    """A regressor for each target."""
    parts = [_of_kind(each, "values", "MultiOutputRegressor") for each in model.estimators_]
    if len({next(iter(part.offers.values())) for part in parts}) != 1:
        raise ParameterError("MultiOutputRegressor: its estimators have several links; export each by itself")
    return Linear(
        np.concatenate([part.coefficients for part in parts]),
        np.concatenate([part.intercept for part in parts]),
        parts[0].offers,
    )


def _one_against_rest(model: Any) -> Linear:
    """A classifier of two classes for each class."""
    if model.multilabel_:
        raise ParameterError(
            "OneVsRestClassifier: its rows have several labels; export each of estimators_ by itself"
        )
    parts = [_of_kind(each, "scores", "OneVsRestClassifier") for each in model.estimators_]
    matrix = np.concatenate([part.coefficients for part in parts])
    bias = np.concatenate([part.intercept for part in parts])
    offers, labels = _classes(model, matrix)
    probable = {part.offers.get("probabilities", ("", ""))[0] for part in parts}
    if probable == {"sigmoid"}:
        reading = "sigmoid" if len(matrix) == 1 else "one-against-rest"
        offers = {"probabilities": (reading, "predict_proba"), **offers}
    missing = probable != {"sigmoid"} and hasattr(model, "predict_proba")
    return Linear(matrix, bias, offers, labels, _UNCALIBRATED if missing else "")


def _of_kind(model: Any, kind: str, outer: str) -> Linear:
    reader = _reader(model)
    found = None if reader is None else reader(model)
    if found is None or kind not in found.offers:
        raise ParameterError(f"{outer} of a {type(model).__name__}: give linear models inside of it")
    return found


def _classes(model: Any, matrix: Floats) -> tuple[dict[str, tuple[str, str]], Labels]:
    """Labels and scores of a classifier, and the labels."""
    reading = "sign" if len(matrix) == 1 else "argmax"
    offers = {"labels": (reading, "predict"), "scores": ("values", "decision_function")}
    return offers, Labels.of(model.classes_)


def _classifier(model: Any) -> Linear:
    matrix, bias = _affine(model)
    offers, labels = _classes(model, matrix)
    return Linear(matrix, bias, offers, labels)


def _with_probabilities(model: Any, of_many: str) -> Linear:
    matrix, bias = _affine(model)
    offers, labels = _classes(model, matrix)
    reading = "sigmoid" if len(matrix) == 1 else of_many
    return Linear(matrix, bias, {"probabilities": (reading, "predict_proba"), **offers}, labels)


def _logistic(model: Any) -> Linear:
    # Before scikit-learn 1.8 there were models of one class against the rest.
    strategy = getattr(model, "multi_class", "auto")
    rest = strategy == "ovr" or (strategy in ("auto", "deprecated", "warn") and model.solver == "liblinear")
    return _with_probabilities(model, "one-against-rest" if rest else "softmax")


def _discriminant(model: Any) -> Linear:
    return _with_probabilities(model, "softmax")


def _gradient_descent(model: Any) -> Linear:
    if model.loss == "log_loss":
        return _with_probabilities(model, "one-against-rest")
    if model.loss != "modified_huber":
        return _classifier(model)
    matrix, bias = _affine(model)
    offers, labels = _classes(model, matrix)
    why = (
        ""
        if len(matrix) == 1
        else (
            "probabilities of modified_huber with several classes jump where all classes have 0, which "
            "scores with noise miss"
        )
    )
    return Linear(matrix, bias, {"probabilities": ("clipped", "predict_proba"), **offers}, labels, why)


def _ridge_classifier(model: Any) -> Linear:
    matrix, bias = _affine(model)
    if np.ndim(_of_zeros(model, matrix.shape[1])) == 2:  # several labels a row, each 0 or 1
        offers = {"labels": ("sign", "predict"), "scores": ("values", "decision_function")}
        return Linear(matrix, bias, offers)
    return _classifier(model)


def _support_vectors(model: Any) -> Linear:
    name = type(model).__name__
    if model.kernel != "linear":
        raise ParameterError(
            f"{name}: the kernel is {model.kernel!r}, no linear one; train with kernel='linear'"
        )
    if not hasattr(model, "classes_"):
        return _regressor(model)
    if len(model.classes_) != 2:
        raise ParameterError(
            f"{name}: {len(model.classes_)} classes are compared in pairs, which is not packaged; train a "
            "LinearSVC, which compares each class with the rest"
        )
    matrix, bias = _affine(model)
    offers, labels = _classes(model, matrix)
    return Linear(
        matrix,
        bias,
        offers,
        labels,
        _UNCALIBRATED,
    )


_TYPES: dict[str, dict[Callable[[Any], Linear], tuple[str, ...]]] = {
    "sklearn.linear_model": {
        _regressor: (
            "ARDRegression",
            "BayesianRidge",
            "ElasticNet",
            "ElasticNetCV",
            "HuberRegressor",
            "Lars",
            "LarsCV",
            "Lasso",
            "LassoCV",
            "LassoLars",
            "LassoLarsCV",
            "LassoLarsIC",
            "LinearRegression",
            "MultiTaskElasticNet",
            "MultiTaskElasticNetCV",
            "MultiTaskLasso",
            "MultiTaskLassoCV",
            "OrthogonalMatchingPursuit",
            "OrthogonalMatchingPursuitCV",
            "PassiveAggressiveRegressor",
            "QuantileRegressor",
            "Ridge",
            "RidgeCV",
            "SGDRegressor",
            "TheilSenRegressor",
        ),
        _log_link: ("GammaRegressor", "PoissonRegressor"),
        _tweedie: ("TweedieRegressor",),
        _ransac: ("RANSACRegressor",),
        _logistic: ("LogisticRegression", "LogisticRegressionCV"),
        _gradient_descent: ("SGDClassifier",),
        _classifier: ("PassiveAggressiveClassifier", "Perceptron"),
        _ridge_classifier: ("RidgeClassifier", "RidgeClassifierCV"),
    },
    "sklearn.svm": {
        _regressor: ("LinearSVR",),
        _classifier: ("LinearSVC",),
        _support_vectors: ("SVC", "NuSVC", "SVR", "NuSVR"),
    },
    "sklearn.cross_decomposition": {_centred: ("CCA", "PLSCanonical", "PLSRegression")},
    "sklearn.discriminant_analysis": {_discriminant: ("LinearDiscriminantAnalysis",)},
    "sklearn.multiclass": {_one_against_rest: ("OneVsRestClassifier",)},
    "sklearn.multioutput": {_each_target: ("MultiOutputRegressor",)},
}


def _reader(model: Any) -> Callable[[Any], Linear] | None:
    """The reader of the estimator's exact type; None: it is not read."""
    name = type(model).__name__
    for module, readers in _TYPES.items():
        for reader, names in readers.items():
            if name in names and is_exactly(model, module, name):
                return reader
    return None


def is_exactly(model: Any, module: str, name: str) -> bool:
    """Whether the exact type is a public one of scikit-learn, which only objects of its own import."""
    kind = type(model)
    if kind.__name__ != name or kind.__module__.partition(".")[0] != "sklearn":
        return False
    return getattr(importlib.import_module(module), name, None) is kind


def linear_types() -> dict[str, tuple[str, ...]]:
    """The names of the types that `read_linear` takes, by their module of scikit-learn."""
    return {
        module: tuple(name for names in readers.values() for name in names)
        for module, readers in _TYPES.items()
    }
