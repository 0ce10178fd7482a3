"""Linear models, and networks of layers: each type with its own coefficients, link and labels.

A type that only looks alike has another link, or coefficients that mean something else: those of a
`PoissonRegressor` are of a logarithm.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.arrays import functions
from hemera.compiler.estimators.features import Features
from hemera.compiler.estimators.model import PROBABILITIES, Model, Read, Run, plain, steps_in
from hemera.exporting.agreement import of_library
from hemera.exporting.linear import LinearModel
from hemera.package.finishing import Columns, Label

Floats = NDArray[np.float64]


def of_arrays(model: LinearModel) -> Model:
    """A model of arrays, whose results are read as it says."""
    steps = steps_in("" if model.read == "values" else model.read)
    labels = () if model.labels is None else (Label(model.labels),)
    return Model(_scores(model.coefficients, model.intercept), {"predict": (*steps, *labels)})


def _scores(coefficients: Floats, intercept: Floats) -> Run:
    """x @ coefficients.T + intercept."""
    return lambda x: x.product(coefficients.T, intercept)


def _affine(model: Any, intercept: Any = None) -> tuple[Floats, Floats]:
    """Coefficients of shape (scores, features), also of sparse ones, and as many intercepts."""
    matrix = np.atleast_2d(plain(model.coef_))
    bias = np.asarray(model.intercept_ if intercept is None else intercept, np.float64)
    return matrix, np.array(np.broadcast_to(bias.reshape(-1) if bias.ndim else bias, (len(matrix),)))


def regressor(model: Any, link: str = "", intercept: Any = None) -> Model:
    """A regression: its scores are the values before a link's inverse."""
    return Model.of(_scores(*_affine(model, intercept)), predict=link)


def tweedie(model: Any) -> Model:
    """TweedieRegressor, with the link that it takes for its power."""
    logarithm = model.link == "log" or (model.link == "auto" and model.power > 0)
    return regressor(model, "exp" if logarithm else "")


def centred(model: Any) -> Model:
    """Partial least squares: their means have no public name, and are in the prediction of zeros."""
    return regressor(model, intercept=_of_zeros(model))


def _of_zeros(model: Any) -> Any:
    """The prediction of a row of zeros, which has no names of columns, without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.predict(np.zeros((1, _affine(model, 0.0)[0].shape[1])))


# --- Classes. ---


def classifier(model: Any, **probabilities: str) -> Model:
    """A classifier with scores, and perhaps probabilities."""
    matrix, bias = _affine(model)
    labels = "sign label" if len(matrix) == 1 else "argmax label"
    return Model.of(
        _scores(matrix, bias), model.classes_, predict=labels, **probabilities, decision_function=""
    )


def _probable(model: Any, of_many: str) -> Model:
    """A classifier with probabilities, those of several classes by a reading of their scores."""
    if len(_affine(model)[0]) == 1:
        return classifier(model, predict_proba="sigmoid both")
    logarithms = {"predict_log_proba": "log-softmax"} if of_many == "softmax" else {}
    return classifier(model, predict_proba=of_many, **logarithms)


def logistic(model: Any) -> Model:
    """LogisticRegression."""
    # Before scikit-learn 1.8 there were models of one class against the rest.
    strategy = getattr(model, "multi_class", "auto")
    rest = strategy == "ovr" or (strategy in ("auto", "deprecated", "warn") and model.solver == "liblinear")
    return _probable(model, "one-against-rest" if rest else "softmax")


def gradient_descent(model: Any) -> Model:
    """SGDClassifier."""
    if model.loss == "log_loss":
        return _probable(model, "one-against-rest")
    # Probabilities of modified_huber with several classes jump where all classes have 0, which scores with
    # noise miss.
    if model.loss == "modified_huber" and len(_affine(model)[0]) == 1:
        return classifier(model, predict_proba="clipped both")
    return classifier(model)


def ridge_classifier(model: Any) -> Model:
    """RidgeClassifier, also of several labels a row, each 0 or 1."""
    if np.ndim(_of_zeros(model)) == 2:
        return Model.of(_scores(*_affine(model)), predict="sign", decision_function="")
    return classifier(model)


def discriminant(model: Any) -> Model:
    """LinearDiscriminantAnalysis: the classifier, and its projection."""
    own = _probable(model, "softmax")
    if model.solver == "lsqr":
        return own
    coefficients, intercept = _affine(model)
    matrix, offset = of_unit_vectors(model)
    scores = len(coefficients)
    methods = {name: (Columns(0, scores), *steps) for name, steps in own.methods.items()}
    methods["transform"] = (Columns(scores, scores + len(offset)),)
    both = np.concatenate([coefficients, matrix.T]), np.concatenate([intercept, offset])
    return Model(_scores(*both), methods)


def of_unit_vectors(model: Any) -> tuple[Floats, Floats]:
    """The matrix and the offset of a transformer that is a linear map, by its own results."""
    count = int(model.n_features_in_)
    found = plain(of_library(model, "transform", np.concatenate([np.zeros((1, count)), np.eye(count)])))
    return found[1:] - found[0], found[0]


# --- Networks. ---

_ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "identity": lambda x: x,
    "logistic": functions.sigmoid,
    "tanh": np.tanh,
    "relu": functions.relu,
}


def network(model: Any) -> Model:
    """MLPClassifier, MLPRegressor. The last layer's softmax, sigmoid or exponential is the client's."""
    layers = list(zip(map(plain, model.coefs_), map(plain, model.intercepts_), strict=True))
    activation = _ACTIVATIONS[model.activation]

    def run(x: Features) -> Features:
        for at, (matrix, bias) in enumerate(layers):
            x = x.product(matrix, bias)
            if at < len(layers) - 1:
                x = Features.of(activation(x.array))
        return x

    if not hasattr(model, "classes_"):
        return Model.of(run, predict="exp" if model.out_activation_ == "exp" else "")
    if model.out_activation_ == "softmax":
        return Model.of(run, model.classes_, **PROBABILITIES)
    if model._label_binarizer.y_type_.startswith("multilabel"):
        return Model.of(run, predict="sign", predict_proba="sigmoid")
    return Model.of(run, model.classes_, predict="sign label", predict_proba="sigmoid both")


READERS: dict[str, Read] = {
    "ARDRegression BayesianRidge ElasticNet ElasticNetCV HuberRegressor Lars LarsCV Lasso LassoCV LassoLars "
    "LassoLarsCV LassoLarsIC LinearRegression LinearSVR MultiTaskElasticNet MultiTaskElasticNetCV "
    "MultiTaskLasso MultiTaskLassoCV OrthogonalMatchingPursuit OrthogonalMatchingPursuitCV "
    "PassiveAggressiveRegressor QuantileRegressor Ridge RidgeCV SGDRegressor TheilSenRegressor": regressor,
    "CCA PLSCanonical PLSRegression": centred,
    "GammaRegressor PoissonRegressor": partial(regressor, link="exp"),
    "LinearDiscriminantAnalysis": discriminant,
    "LinearSVC PassiveAggressiveClassifier Perceptron": classifier,
    "LogisticRegression LogisticRegressionCV": logistic,
    "MLPClassifier MLPRegressor": network,
    "RidgeClassifier RidgeClassifierCV": ridge_classifier,
    "SGDClassifier": gradient_descent,
    "TweedieRegressor": tweedie,
}
