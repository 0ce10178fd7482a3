"""Linear models, and networks of layers: each type with its own coefficients, link and labels.

A type that only looks alike has another link, or coefficients that mean something else: those of a
`PoissonRegressor` are of a logarithm.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.compiler.estimators.features import Features, relu
from hemera.compiler.estimators.model import Model, Steps, labelled, log_probabilities, plain
from hemera.exporting.agreement import of_library
from hemera.exporting.linear import LinearModel
from hemera.package.finishing import Apply, Columns, Label

Floats = NDArray[np.float64]


def of_arrays(model: LinearModel) -> Model:
    """A model of arrays, whose results are read as it says."""
    steps: Steps = () if model.read == "values" else (Apply(model.read),)
    steps = steps if model.labels is None else (*steps, Label(model.labels))
    return _of(model.coefficients, model.intercept, {"predict": steps})


def _of(coefficients: Floats, intercept: Floats, methods: dict[str, Steps]) -> Model:
    """scores = x @ coefficients.T + intercept."""
    return Model(lambda x: x.product(coefficients.T, intercept), methods)


def _affine(model: Any, coefficients: Any = None, intercept: Any = None) -> tuple[Floats, Floats]:
    """Coefficients of shape (scores, features), also of sparse ones, and as many intercepts."""
    matrix = np.atleast_2d(plain(model.coef_ if coefficients is None else coefficients))
    bias = np.asarray(model.intercept_ if intercept is None else intercept, np.float64)
    return matrix, np.array(np.broadcast_to(bias.reshape(-1) if bias.ndim else bias, (len(matrix),)))


# --- Regressions. ---


def regressor(model: Any) -> Model:
    """A regression: its scores are the values."""
    return _of(*_affine(model), {"predict": ()})


def log_link(model: Any) -> Model:
    """A regression of logarithms."""
    return _of(*_affine(model), {"predict": (Apply("exp"),)})


def tweedie(model: Any) -> Model:
    """TweedieRegressor, with the link that it takes for its power."""
    logarithm = model.link == "log" or (model.link == "auto" and model.power > 0)
    return log_link(model) if logarithm else regressor(model)


def centred(model: Any) -> Model:
    """Partial least squares: their means have no public name, and are in the prediction of zeros."""
    weights = plain(model.coef_)
    return _of(*_affine(model, weights, _of_zeros(model, weights.shape[1])), {"predict": ()})


def _of_zeros(model: Any, features: int) -> Any:
    """The prediction of a row of zeros, which has no names of columns, without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.predict(np.zeros((1, features)))


# --- Classes. ---


def _with(model: Any, probabilities: dict[str, Steps]) -> Model:
    """Labels, probabilities and scores of a classifier."""
    matrix, bias = _affine(model)
    labels = labelled(model.classes_, "sign" if len(matrix) == 1 else "argmax")
    return _of(matrix, bias, {"predict": labels, **probabilities, "decision_function": ()})


def classifier(model: Any) -> Model:
    """A classifier without probabilities."""
    return _with(model, {})


def _probable(model: Any, of_many: str) -> Model:
    """A classifier with probabilities, those of several classes by a reading of their scores."""
    if len(_affine(model)[0]) == 1:
        return _with(model, {"predict_proba": (Apply("sigmoid"), Apply("both"))})
    found: dict[str, Steps] = {"predict_proba": (Apply(of_many),)}
    if of_many == "softmax":
        found["predict_log_proba"] = (Apply("log-softmax"),)
    return _with(model, found)


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
        return _with(model, {"predict_proba": (Apply("clipped"), Apply("both"))})
    return classifier(model)


def ridge_classifier(model: Any) -> Model:
    """RidgeClassifier, also of several labels a row, each 0 or 1."""
    matrix, bias = _affine(model)
    if np.ndim(_of_zeros(model, matrix.shape[1])) == 2:
        return _of(matrix, bias, {"predict": (Apply("sign"),), "decision_function": ()})
    return classifier(model)


def discriminant(model: Any) -> Model:
    """LinearDiscriminantAnalysis: the classifier, and its projection."""
    own = _probable(model, "softmax")
    if model.solver == "lsqr":
        return own
    coefficients, intercept = _affine(model)
    count = int(model.n_features_in_)
    found = plain(of_library(model, "transform", np.concatenate([np.zeros((1, count)), np.eye(count)])))
    scores = len(coefficients)
    matrix = np.concatenate([coefficients, (found[1:] - found[0]).T])
    methods = {name: (Columns(0, scores), *steps) for name, steps in own.methods.items()}
    methods["transform"] = (Columns(scores, len(matrix)),)
    return _of(matrix, np.concatenate([intercept, found[0]]), methods)


# --- Networks. ---


def _sigmoid(x: Any) -> Any:
    return x.sigmoid() if hasattr(x, "sigmoid") else np.exp(-np.logaddexp(0, -x))


_ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "identity": lambda x: x,
    "logistic": _sigmoid,
    "tanh": np.tanh,
    "relu": relu,
}


def _run(model: Any) -> Callable[[Features], Features]:
    layers = list(zip(map(plain, model.coefs_), map(plain, model.intercepts_), strict=True))
    activation = _ACTIVATIONS[model.activation]

    def run(x: Features) -> Features:
        for at, (matrix, bias) in enumerate(layers):
            x = x.product(matrix, bias)
            if at < len(layers) - 1:
                x = Features.of(activation(x.array))
        return x

    return run


def network_of_classes(model: Any) -> Model:
    """MLPClassifier. The last layer's softmax or sigmoid is the client's."""
    if model.out_activation_ == "softmax":
        return Model(_run(model), log_probabilities(model.classes_))
    several = model._label_binarizer.y_type_.startswith("multilabel")
    both: Steps = (Apply("sigmoid"),) if several else (Apply("sigmoid"), Apply("both"))
    chosen: Steps = (Apply("sign"),) if several else labelled(model.classes_, "sign")
    return Model(_run(model), {"predict": chosen, "predict_proba": both})


def network_of_values(model: Any) -> Model:
    """MLPRegressor."""
    link: Steps = (Apply("exp"),) if model.out_activation_ == "exp" else ()
    return Model(_run(model), {"predict": link})
