"""Every type of estimator of scikit-learn: scored as scikit-learn does, or refused with a reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn import linear_model
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import hemera as hm
from hemera import serving

from .estimator_cases import (
    CLASSIFIERS,
    LINEAR,
    OTHERS,
    POSITIVE,
    REGRESSORS,
    REST,
    ROWS,
    SMALL,
    TARGETS,
    THREE,
    TRANSFORMERS,
    TWO,
    TYPED,
    VALUES,
    encrypted,
    fitted,
    library_results,
    made,
    packaged,
    require_same,
)


def require_refused(model: Any) -> None:
    """A type that no reader knows is refused, before anything else is asked of the model."""
    with pytest.raises(TYPED, match=r"packaged|kernel is 'rbf'|give the model inside"):
        packaged(model)
    if "GradientBoosting" not in type(model).__name__:
        with pytest.raises(TYPED, match="is not read; train"):
            serving.export_trees(model, name="m")


@pytest.mark.parametrize("name", sorted({**CLASSIFIERS, **REGRESSORS}))
def test_every_classifier_and_regressor(name: str) -> None:
    kind = {**CLASSIFIERS, **REGRESSORS}[name]
    if name in LINEAR:
        targets = (TWO, THREE) if name in CLASSIFIERS else (POSITIVE, TARGETS, POSITIVE[:, np.newaxis])
        trained = [model for each in targets if (model := fitted(made(kind), ROWS, each)) is not None]
        assert trained
        for model in trained:
            require_same(packaged(model).evaluate_clear(OTHERS), library_results(model, OTHERS))
    else:
        require_refused(made(kind))


@pytest.mark.parametrize("name", sorted({**TRANSFORMERS, **REST}))
def test_every_other_estimator_is_refused(name: str) -> None:
    if name == "Pipeline":
        return
    if name not in LINEAR:
        require_refused(made({**TRANSFORMERS, **REST}[name]))


def test_models_inside_of_models() -> None:
    ransac = linear_model.RANSACRegressor(random_state=0).fit(ROWS, VALUES)
    require_same(packaged(ransac).evaluate_clear(OTHERS), ransac.predict(OTHERS))
    tree = linear_model.RANSACRegressor(DecisionTreeRegressor(), min_samples=20).fit(ROWS, VALUES)
    with pytest.raises(TYPED, match="RANSACRegressor of a DecisionTreeRegressor"):
        packaged(tree)
    poisson = MultiOutputRegressor(linear_model.PoissonRegressor()).fit(ROWS, np.exp(TARGETS / 4))
    require_same(packaged(poisson).evaluate_clear(OTHERS), poisson.predict(OTHERS))
    for inner, targets in ((LogisticRegression(), THREE), (LogisticRegression(), TWO)):
        rest = OneVsRestClassifier(inner).fit(ROWS, targets)
        require_same(packaged(rest).evaluate_clear(OTHERS), library_results(rest, OTHERS))
        require_same(packaged(rest, results="labels").evaluate_clear(OTHERS), rest.predict(OTHERS))
    vectors = OneVsRestClassifier(SVC(kernel="linear")).fit(ROWS, THREE)
    require_same(packaged(vectors).evaluate_clear(OTHERS), vectors.predict(OTHERS))
    for of_svc, said in ((vectors, "labels, scores, not prob"), (poisson, "one of values")):
        with pytest.raises(TYPED, match=said):
            packaged(of_svc, results="probabilities")
    several = OneVsRestClassifier(LogisticRegression()).fit(ROWS, np.stack([TWO == "yes", THREE > 5], axis=1))
    with pytest.raises(TYPED, match="several labels"):
        packaged(several)
    forest = OneVsRestClassifier(DecisionTreeClassifier()).fit(ROWS, THREE)
    with pytest.raises(TYPED, match="OneVsRestClassifier of a DecisionTreeClassifier"):
        packaged(forest)
    search = GridSearchCV(Ridge(), {"alpha": [1, 2]}).fit(ROWS, VALUES)
    with pytest.raises(TYPED, match="best_estimator_"):
        packaged(search)


def test_types_that_only_look_alike() -> None:
    class Mine(LogisticRegression):
        def decision_function(self, rows: Any) -> Any:
            return 2 * super().decision_function(rows)

    class LinearLike:
        coef_, intercept_ = np.ones((1, 4)), np.zeros(1)

    LookAlike = type("Ridge", (Ridge,), {"__module__": "sklearn.linear_model"})  # noqa: N806
    for model in (Mine().fit(ROWS, TWO), LinearLike(), LookAlike().fit(ROWS, VALUES), None, 3, {"coef_": 1}):
        with pytest.raises(TYPED, match="no linear model that is packaged"):
            packaged(model)


@pytest.mark.parametrize(
    "model",
    [LogisticRegression(), Ridge(), linear_model.PoissonRegressor(), SVC(kernel="linear"), PLSRegression()],
    ids=str,
)
def test_models_that_are_not_fitted(model: Any) -> None:
    for steps in ([model], [StandardScaler(), model]):
        with pytest.raises(TYPED, match=f"the {type(model).__name__} is not fitted; call fit"):
            packaged(make_pipeline(*steps))
    with pytest.raises(TYPED, match="the MinMaxScaler is not fitted; call fit"):
        packaged(make_pipeline(MinMaxScaler(), Ridge().fit(ROWS, VALUES)))
    with pytest.raises(TYPED, match="fitted on other features"):
        packaged(make_pipeline(MinMaxScaler().fit(ROWS[:, :2]), Ridge().fit(ROWS, VALUES)))


@pytest.mark.parametrize("calibrate", [True, False])
def test_what_differs_from_the_library_is_refused(calibrate: bool) -> None:
    """A library's model whose predictions are not those of its coefficients."""
    given = {"calibrate": ROWS} if calibrate else {"clip": 300}
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
        serving.export_linear(trained, name="m", **given, **SMALL)
        setattr(trained, method, wrong)
        with pytest.raises(
            hm.errors.MismatchError, match=rf"{type(model).__name__}.{method} gives .*not packaged"
        ):
            serving.export_linear(trained, name="m", **given, **SMALL)


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
            serving.export_trees(trained, name="t", calibrate=calibrate)
            trained.predict = wrong
            with pytest.raises(TYPED, match=said):
                serving.export_trees(trained, name="t", calibrate=calibrate)


def test_under_encryption() -> None:
    column = VALUES[:, np.newaxis]
    for model, targets, results, tolerance in (
        (make_pipeline(MinMaxScaler(clip=True), LogisticRegression()), TWO, "auto", 1e-6),
        (make_pipeline(RobustScaler(), LinearSVC()), TWO, "auto", None),
        (
            make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss", random_state=0)),
            THREE,
            "auto",
            1e-4,
        ),
        (make_pipeline(StandardScaler(), LogisticRegression()), THREE, "labels", None),
        (linear_model.PoissonRegressor(), POSITIVE, "auto", 1e-4),
        (PLSRegression(1), TARGETS, "auto", 1e-5),
        (LinearRegression(), column, "auto", 1e-5),
    ):
        model.fit(ROWS, targets)
        found, expected = encrypted(packaged(model, results=results), OTHERS), library_results(model, OTHERS)
        if tolerance is None:
            require_same(found, model.predict(OTHERS))
        else:
            assert found.shape == expected.shape
            np.testing.assert_allclose(found, expected, atol=tolerance)
    rows, values = load_diabetes(return_X_y=True)
    boosted = GradientBoostingRegressor(n_estimators=3, max_depth=1).fit(rows, values)
    found = encrypted(serving.export_trees(boosted, name="t", samples=16), rows[:16])
    assert found.shape == (16,)
    np.testing.assert_allclose(found, boosted.predict(rows[:16]), atol=0.5)
