"""Models of scikit-learn inside of others, and those that differ from their library."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import linear_model
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import SVR, LinearSVC
from sklearn.tree import DecisionTreeRegressor

import hemera as hm

from .estimator_cases import (
    OTHERS,
    POSITIVE,
    ROWS,
    SMALL,
    TARGETS,
    THREE,
    TWO,
    TYPED,
    VALUES,
    encrypted,
    fitted,
    packaged,
    require_its_results,
    require_same,
)


def test_models_inside_of_models() -> None:
    for inner in (None, SVR(kernel="linear"), linear_model.PoissonRegressor()):
        require_its_results(
            linear_model.RANSACRegressor(inner, min_samples=20, random_state=0).fit(ROWS, POSITIVE)
        )
    poisson = MultiOutputRegressor(linear_model.PoissonRegressor())
    require_its_results(poisson.fit(ROWS, np.exp(TARGETS / 4)))
    for inner, targets in ((LogisticRegression(), THREE), (LogisticRegression(), TWO), (LinearSVC(), THREE)):
        require_its_results(OneVsRestClassifier(inner).fit(ROWS, targets))
    tree = linear_model.RANSACRegressor(DecisionTreeRegressor(), min_samples=20).fit(ROWS, VALUES)
    with pytest.raises(TypeError, match="DecisionTreeRegressor is not compiled"):
        packaged(tree)


@pytest.mark.parametrize("calibrate", [True, False])
def test_what_differs_from_the_library_is_refused(calibrate: bool) -> None:
    """A library's model whose predictions are not those of its coefficients."""
    given = {"calibrate": ROWS} if calibrate else {"clip": 10}
    for model, targets, method, wrong in (
        (Ridge(), VALUES, "predict", lambda rows: Ridge().fit(ROWS, VALUES).predict(rows) + 1e-3),
        (Ridge(), VALUES, "predict", lambda rows: Ridge().fit(ROWS, VALUES).predict(rows)[:, np.newaxis] * 2),
        (Ridge(), TARGETS, "predict", lambda rows: Ridge().fit(ROWS, VALUES).predict(rows)),
        (LogisticRegression(), TWO, "predict_proba", lambda rows: np.full((len(rows), 2), 0.5)),
        (LogisticRegression(), THREE, "predict_proba", lambda rows: np.full((len(rows), 3), 1 / 3)),
        (LinearSVC(), THREE, "predict", lambda rows: np.full(len(rows), 5)),
        (LinearSVC(), TWO, "predict", lambda rows: np.full(len(rows), "yes")),
        (linear_model.PoissonRegressor(), POSITIVE, "predict", lambda rows: np.ones(len(rows))),
    ):
        trained = fitted(model, ROWS, targets)
        hm.compile(trained, **given, **SMALL)
        setattr(trained, method, wrong)
        with pytest.raises(TYPED, match=f"{type(model).__name__}.{method}|not those|results of shape"):
            hm.compile(trained, **given, **SMALL)


def test_trees_that_differ_from_their_library_are_refused() -> None:
    model = GradientBoostingRegressor(n_estimators=3, max_depth=2).fit(ROWS, VALUES)
    classifier = GradientBoostingClassifier(n_estimators=3, max_depth=2).fit(ROWS, THREE)
    true, labels = model.predict, classifier.predict
    for trained, wrong, said in (
        (model, lambda rows: true(rows) * 1.01, "not packaged"),
        (classifier, lambda rows: np.full(len(rows), 6), "not packaged"),
        (classifier, lambda rows: labels(rows) - 5, "not packaged"),
        (classifier, lambda rows: np.stack([labels(rows)] * 2, axis=1), "not packaged"),
        (classifier, lambda _: 1 / 0, "does not take"),
    ):
        for calibrate in (None, ROWS):
            trained.__dict__.pop("predict", None)
            hm.compile(trained, name="t", calibrate=calibrate)
            trained.predict = wrong
            with pytest.raises(TYPED, match=said):
                hm.compile(trained, name="t", calibrate=calibrate)


def test_under_encryption() -> None:
    column = VALUES[:, np.newaxis]
    losses = SGDClassifier(loss="log_loss", random_state=0)
    for model, targets, method, tolerance in (
        (make_pipeline(MinMaxScaler(clip=True), LogisticRegression()), TWO, "predict_proba", 1e-6),
        (make_pipeline(RobustScaler(), LinearSVC()), TWO, "predict", None),
        (make_pipeline(StandardScaler(), losses), THREE, "predict_proba", 1e-4),
        (make_pipeline(StandardScaler(), LogisticRegression()), THREE, "predict", None),
        (linear_model.PoissonRegressor(), POSITIVE, "predict", 1e-4),
        (PLSRegression(1), TARGETS, "predict", 1e-5),
        (LinearRegression(), column, "predict", 1e-5),
    ):
        model.fit(ROWS, targets)
        found = encrypted(packaged(model, method=method), OTHERS)
        expected = getattr(model, method)(OTHERS)
        if tolerance is None:
            require_same(found, model.predict(OTHERS))
        else:
            assert found.shape == expected.shape
            np.testing.assert_allclose(found, expected, atol=tolerance)
    rows, values = load_diabetes(return_X_y=True)
    boosted = GradientBoostingRegressor(n_estimators=3, max_depth=1).fit(rows, values)
    found = encrypted(hm.compile(boosted, name="t", samples=16).package, rows[:16])
    assert found.shape == (16,)
    np.testing.assert_allclose(found, boosted.predict(rows[:16]), atol=0.5)
