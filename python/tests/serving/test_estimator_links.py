"""From scores to results: links of regressions, losses, support vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn import linear_model
from sklearn.base import clone
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
    library_results,
    packaged,
    require_same,
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
        require_same(packaged(trained).evaluate_clear(OTHERS), trained.predict(OTHERS))


@pytest.mark.parametrize("targets", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize(
    "loss", ["hinge", "log_loss", "modified_huber", "squared_hinge", "perceptron", "squared_error", "huber"]
)
def test_losses_of_stochastic_gradient_descent(loss: str, targets: Any) -> None:
    model = make_pipeline(StandardScaler(), SGDClassifier(loss=loss, random_state=0)).fit(ROWS, targets)
    if loss == "modified_huber" and targets is THREE:
        with pytest.raises(TYPED, match=r"jump.*results='labels'"):
            packaged(model)
    else:
        require_same(packaged(model).evaluate_clear(OTHERS), library_results(model, OTHERS))
    require_same(packaged(model, results="labels").evaluate_clear(OTHERS), model.predict(OTHERS))


def test_probabilities_of_one_class_against_the_rest_far_from_all() -> None:
    """All sigmoids are below the least step of 1."""
    model = SGDClassifier(loss="log_loss", random_state=0).fit(ROWS, THREE)
    model.coef_, model.intercept_ = np.zeros((3, 4)), np.array([-60.0, -59, -62])
    model.coef_[:, 0] = [1, 2, 3]
    expected = model.predict_proba(OTHERS)
    assert expected.max() < 0.999
    np.testing.assert_allclose(packaged(model).evaluate_clear(OTHERS), expected, atol=1e-9)


@pytest.mark.parametrize("kind", [SVC, NuSVC])
def test_support_vectors_of_two_classes(kind: Any) -> None:
    model = make_pipeline(
        StandardScaler(), kind(kernel="linear", nu=0.2) if kind is NuSVC else kind(kernel="linear")
    )
    model.fit(ROWS, TWO)
    require_same(packaged(model).evaluate_clear(OTHERS), model.predict(OTHERS))
    require_same(packaged(model, results="scores").evaluate_clear(OTHERS), model.decision_function(OTHERS))
    with pytest.raises(TYPED, match="calibrated apart"):
        packaged(model, results="probabilities")
    with pytest.raises(TYPED, match=r"in pairs.*LinearSVC"):
        packaged(clone(model).fit(ROWS, THREE))


@pytest.mark.parametrize("kind", [SVR, NuSVR])
def test_support_vectors_of_a_regression(kind: Any) -> None:
    model = make_pipeline(StandardScaler(), kind(kernel="linear")).fit(ROWS, VALUES)
    require_same(packaged(model).evaluate_clear(OTHERS), model.predict(OTHERS))
    with pytest.raises(TYPED, match="kernel is 'rbf'"):
        packaged(kind().fit(ROWS, VALUES))
