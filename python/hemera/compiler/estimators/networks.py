"""Networks of layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hemera.compiler.estimators.features import Features, relu
from hemera.compiler.estimators.model import Model, Steps, labelled, log_probabilities, plain
from hemera.package.finishing import Apply

__all__ = ["network_of_classes", "network_of_values"]


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
