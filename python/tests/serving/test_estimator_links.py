"""From scores to results: links of regressions, losses, support vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn import linear_model
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, NuSVR

from .estimator_cases import (
    OTHERS,
    POSITIVE,
    ROWS,
    THREE,
    TWO,
    TYPED,
    VALUES,
    fitted,
    packaged,
    require_its_results,
)


@pytest.mark.parametrize(
    "model",
    [
        linear_model.TweedieRegressor(power=power, link=link)
        for power in (0, 1, 1.5, 2, 3)
        for link in ("auto", "log", "identity")
    ],
    ids=str,
)
def test_links(model: Any) -> None:
    trained = fitted(make_pipeline(StandardScaler(), model), ROWS, POSITIVE)
    if trained is not None and np.isfinite(trained.predict(ROWS)).all():
        require_its_results(trained)


@pytest.mark.parametrize("targets", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize(
    "loss", ["hinge", "log_loss", "modified_huber", "squared_hinge", "perceptron", "squared_error", "huber"]
)
def test_losses_of_stochastic_gradient_descent(loss: str, targets: Any) -> None:
    model = make_pipeline(StandardScaler(), SGDClassifier(loss=loss, random_state=0)).fit(ROWS, targets)
    require_its_results(model)


def test_probabilities_of_one_class_against_the_rest_far_from_all() -> None:
    """All sigmoids are below the least step of 1."""
    model = SGDClassifier(loss="log_loss", random_state=0).fit(ROWS, THREE)
    model.coef_, model.intercept_ = np.zeros((3, 4)), np.array([-60.0, -59, -62])
    model.coef_[:, 0] = [1, 2, 3]
    expected = model.predict_proba(OTHERS)
    assert expected.max() < 0.999
    np.testing.assert_allclose(
        packaged(model, method="predict_proba").evaluate_clear(OTHERS), expected, atol=1e-9
    )


@pytest.mark.parametrize("kind", [SVC, NuSVC])
def test_support_vectors_of_two_classes(kind: Any) -> None:
    model = make_pipeline(
        StandardScaler(), kind(kernel="linear", nu=0.2) if kind is NuSVC else kind(kernel="linear")
    )
    require_its_results(model.fit(ROWS, TWO))
    with pytest.raises(TYPED, match="one of predict, decision_function, not predict_proba"):
        packaged(model, method="predict_proba")


@pytest.mark.parametrize("kind", [SVR, NuSVR])
def test_support_vectors_of_a_regression(kind: Any) -> None:
    model = make_pipeline(StandardScaler(), kind(kernel="linear")).fit(ROWS, VALUES)
    require_its_results(model)
