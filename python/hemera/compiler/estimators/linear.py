"""Linear models, as the serving package reads them, and networks of layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hemera.compiler.estimators.features import Features, relu
from hemera.compiler.estimators.model import Model, Steps, labelled, log_probabilities, plain
from hemera.exporting.agreement import of_library
from hemera.exporting.estimators import read_linear
from hemera.package.finishing import Apply, Columns, Label

__all__ = ["discriminant", "linear", "network_of_classes", "network_of_values"]


def linear(model: Any) -> Model:
    """A linear model with its link: `hemera.exporting.estimators` has which."""
    found = read_linear(model)
    methods: dict[str, Steps] = {}
    for kind in ("values", "labels", "probabilities", "scores"):
        if kind not in found.offers or (kind == "probabilities" and found.missing):
            continue
        read, method = found.offers[kind]
        steps: Steps = () if read == "values" else (Apply(read),)
        if kind == "labels" and found.labels is not None:
            steps = (*steps, Label(found.labels))
        if kind == "probabilities":
            if read in ("sigmoid", "clipped"):
                steps = (*steps, Apply("both"))
            if read == "softmax":
                methods["predict_log_proba"] = (Apply("log-softmax"),)
        methods[method] = steps
    ordered = {name: methods[name] for name in sorted(methods, key=lambda name: name != "predict")}
    return Model(lambda x: x.product(found.coefficients.T, found.intercept), ordered)


def discriminant(model: Any) -> Model:
    """LinearDiscriminantAnalysis: the classifier, and its projection."""
    own = linear(model)
    if model.solver == "lsqr":
        return own
    classifier = read_linear(model)
    count = int(model.n_features_in_)
    found = plain(of_library(model, "transform", np.concatenate([np.zeros((1, count)), np.eye(count)])))
    scores = len(classifier.coefficients)
    matrix = np.concatenate([classifier.coefficients.T, found[1:] - found[0]], axis=1)
    bias = np.concatenate([classifier.intercept, found[0]])
    methods = {name: (Columns(0, scores), *steps) for name, steps in own.methods.items()}
    methods["transform"] = (Columns(scores, matrix.shape[1]),)
    return Model(lambda x: x.product(matrix, bias), methods)


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
