"""Every estimator of scikit-learn, packaged: scored as scikit-learn itself does, or refused with a reason."""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import linear_model
from sklearn.base import clone
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC, NuSVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import all_estimators

import hemera as hm
from hemera import serving
from hemera.serving.service import Home

from .conftest import client_of
from .conftest import serving as running

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
"""That are packaged as they come; SVC and its like are with kernel="linear" only."""


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


def require_refused(model: Any) -> None:
    """Of a type that no reader knows, before anything else is asked of the model."""
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


@pytest.mark.parametrize("name", sorted(TRANSFORMERS))
def test_every_transformer_in_a_pipeline(name: str) -> None:
    scaler = made(TRANSFORMERS[name])
    if name in ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler"):
        model = make_pipeline(scaler, Ridge()).fit(ROWS, VALUES)
        require_same(packaged(model).evaluate_clear(OTHERS), model.predict(OTHERS))
    else:
        model = Pipeline([("a", scaler), ("b", Ridge().fit(ROWS, VALUES))])
        with pytest.raises(
            TYPED, match=r"no step that is packaged; before a linear model there may be Stand"
        ):
            packaged(model)


def _scalers() -> Iterator[Any]:
    for mean in (True, False):
        for deviation in (True, False):
            yield StandardScaler(with_mean=mean, with_std=deviation)
            for unit in (True, False):
                yield RobustScaler(with_centering=mean, with_scaling=deviation, unit_variance=unit)
    yield RobustScaler(quantile_range=(5, 70))
    for clip in (True, False):
        yield MaxAbsScaler(clip=clip) if "clip" in MaxAbsScaler().get_params() else MaxAbsScaler()
        yield MinMaxScaler(clip=clip)
        yield MinMaxScaler((-3, 5), clip=clip)


@pytest.mark.parametrize("scaler", list(_scalers()), ids=str)
@pytest.mark.parametrize("before", [None, StandardScaler(), MinMaxScaler((-2, 1), clip=True)], ids=str)
def test_every_option_of_scalers(scaler: Any, before: Any) -> None:
    half = ROWS[:45]  # so that other rows go beyond what scalers saw
    steps = [clone(step) for step in (before, scaler) if step is not None]
    model = make_pipeline(*steps, LinearRegression()).fit(half, VALUES[:45])
    clips = any(getattr(step, "clip", False) for step in steps)
    far = half.mean(axis=0) + (ROWS - half.mean(axis=0)) * (4 if clips else 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", hm.errors.HemeraWarning)
        warnings.simplefilter("ignore", hm.errors.SecurityWarning)
        require_same(packaged(model, ROWS).evaluate_clear(far), model.predict(far))


def test_a_scaler_without_deviation_in_a_column() -> None:
    rows = np.concatenate([ROWS, np.full((90, 1), 7.0)], axis=1)
    for scaler in (StandardScaler(), MinMaxScaler(clip=True), RobustScaler(), MaxAbsScaler()):
        model = make_pipeline(scaler, Ridge()).fit(rows, VALUES)
        require_same(packaged(model, rows).evaluate_clear(rows), model.predict(rows))


def test_steps_that_do_nothing_and_pipelines_in_pipelines() -> None:
    model = Pipeline(
        [
            ("nothing", "passthrough"),
            ("inner", make_pipeline(RobustScaler(), MinMaxScaler())),
            ("last", Ridge()),
        ]
    ).fit(ROWS, VALUES)
    require_same(packaged(model).evaluate_clear(OTHERS), model.predict(OTHERS))
    empty = Pipeline([("a", "passthrough")])
    with pytest.raises(TYPED, match="no steps"):
        packaged(empty)


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


@pytest.mark.parametrize(
    "labels",
    [
        np.array([3, 7]),
        np.array([-1, 1], np.int8),
        np.array([1.0, 2.0]),
        np.array([False, True]),
        np.array(["b", "a long one"]),
        np.array(["x", "y"], object),
        np.array([2**40, 5]),
    ],
    ids=str,
)
def test_labels_of_any_type(labels: Any) -> None:
    targets = labels[(VALUES > 0).astype(int)]
    linear = LinearSVC(random_state=0).fit(ROWS, targets)
    require_same(packaged(linear).evaluate_clear(OTHERS), linear.predict(OTHERS))
    logistic = make_pipeline(StandardScaler(), LogisticRegression()).fit(ROWS, targets)
    package = packaged(logistic, results="labels")
    assert package.evaluate_clear(OTHERS).dtype == logistic.predict(OTHERS).dtype
    require_same(package.evaluate_clear(OTHERS), logistic.predict(OTHERS))
    trees = GradientBoostingClassifier(n_estimators=3, max_depth=2).fit(np.round(ROWS), targets)
    package = serving.Package.load(bytes(serving.export_trees(trees, name="t")))
    require_same(package.evaluate_clear(np.round(OTHERS)), trees.predict(np.round(OTHERS)))


def test_three_labels_and_several_for_each_row() -> None:
    names = np.array(["low", "middle", "high"])[THREE - 5]
    for model in (
        linear_model.RidgeClassifier().fit(ROWS, names),
        LinearDiscriminantAnalysis().fit(ROWS, names),
    ):
        require_same(packaged(model, results="labels").evaluate_clear(OTHERS), model.predict(OTHERS))
    both = np.stack([VALUES > 0, VALUES > 0.5, ROWS[:, 0] > 0], axis=1).astype(int)
    model = linear_model.RidgeClassifier().fit(ROWS, both)
    require_same(packaged(model).evaluate_clear(OTHERS), model.predict(OTHERS))


def test_results_by_name() -> None:
    model = LogisticRegression(max_iter=1000).fit(ROWS, THREE)
    for results, method in (
        ("auto", "predict_proba"),
        ("probabilities", "predict_proba"),
        ("labels", "predict"),
        ("scores", "decision_function"),
    ):
        found = packaged(model, results=results).evaluate_clear(OTHERS)
        require_same(found, getattr(model, method)(OTHERS))
    with pytest.raises(TYPED, match="one of probabilities, labels, scores, not values"):
        packaged(model, results="values")
    with pytest.raises(TYPED, match="one of values, not labels"):
        packaged(Ridge().fit(ROWS, VALUES), results="labels")


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


# --- Ranges. ---


def test_the_range_comes_from_rows_or_is_demanded() -> None:
    rows, labels = load_breast_cancer(return_X_y=True)
    model = fitted(LogisticRegression(), rows, labels)
    with pytest.raises(TYPED, match=r"calibrate=rows .*--calibrate FILE.*clip="):
        serving.export_linear(model, name="m", **SMALL)
    with warnings.catch_warnings():
        warnings.simplefilter("error", hm.errors.HemeraWarning)
        warnings.simplefilter("ignore", hm.errors.SecurityWarning)
        require_same(packaged(model, rows).evaluate_clear(rows), library_results(model, rows))
    with pytest.raises(TYPED, match="give one of them"):
        packaged(model, rows, clip=3)
    for clip in (0, -1, np.inf, np.nan):
        with pytest.raises(TYPED, match="above 0 and finite"):
            serving.export_linear(model, name="m", clip=clip, **SMALL)
    with pytest.raises(TYPED, match="one for each of 30"):
        serving.export_linear(model, name="m", clip=[1, 2], **SMALL)
    for bad, said in ((rows[:, :5], "30 features"), (rows[:0], "at least"), (rows * np.nan, "missing")):
        with pytest.raises(TYPED, match=said):
            packaged(model, bad)
    with pytest.raises(TYPED, match="scale them"):
        packaged(model, rows * 1e200)
    with pytest.raises(TYPED, match="no table of numbers"):
        packaged(model, [["a"] * 30])


def test_rows_to_twice_the_range_are_right_and_further_ones_are_told() -> None:
    frame = pd.DataFrame(ROWS, columns=["age", "dose", "ratio", "days"])
    model = make_pipeline(StandardScaler(), Ridge()).fit(frame, VALUES)
    package = packaged(model, frame)
    middle = (ROWS.max(axis=0) + ROWS.min(axis=0)) / 2
    width = ROWS.max(axis=0) - ROWS.min(axis=0)
    ends = pd.DataFrame(np.stack([middle - width, middle + width]), columns=frame.columns)
    with warnings.catch_warnings():
        warnings.simplefilter("error", hm.errors.HemeraWarning)
        warnings.simplefilter("ignore", hm.errors.SecurityWarning)
        require_same(package.evaluate_clear(ends), model.predict(ends))
    beyond = frame.copy()
    beyond.loc[3, "dose"] = middle[1] + 1.1 * width[1]
    beyond.loc[4, "dose"] = middle[1] - 3 * width[1]
    with pytest.warns(hm.errors.HemeraWarning, match=r"2 of 90 rows.*column 1 \(dose\) has -") as told:
        found = package.evaluate_clear(beyond)
    assert len(told) == 1
    inside = beyond.clip(ends.iloc[0], ends.iloc[1], axis=1)
    require_same(found, model.predict(inside))


def test_a_declared_range_is_of_scaled_features() -> None:
    model = make_pipeline(StandardScaler(), Ridge()).fit(ROWS, VALUES)
    package = serving.export_linear(model, name="m", clip=[9, 9, 9, 2], **SMALL)
    scaler = model[0]
    for column, size in enumerate([9, 9, 9, 2]):
        row = scaler.mean_.copy()
        row[column] += size * scaler.scale_[column]
        with warnings.catch_warnings():
            warnings.simplefilter("error", hm.errors.HemeraWarning)
            warnings.simplefilter("ignore", hm.errors.SecurityWarning)
            require_same(package.evaluate_clear([row]), model.predict([row]))
        row[column] += 0.01 * scaler.scale_[column]
        with pytest.warns(hm.errors.HemeraWarning, match=f"1 of 1 rows.*column {column} "):
            package.evaluate_clear([row])


def test_columns_in_another_order_are_refused() -> None:
    frame = pd.DataFrame(ROWS, columns=["age", "dose", "ratio", "days"])
    model = Ridge().fit(frame, VALUES)
    package = packaged(model, frame)
    with pytest.raises(hm.errors.MismatchError, match="column 0 is 'dose', and the model's is 'age'"):
        package.interface.encode(frame[["dose", "age", "ratio", "days"]])
    require_same(package.evaluate_clear(frame), model.predict(frame))
    with pytest.raises(TYPED, match="column 2"):
        packaged(model, frame[["age", "dose", "days", "ratio"]])
    boosted = GradientBoostingRegressor(n_estimators=2, max_depth=1).fit(frame, VALUES)
    package = serving.Package.load(bytes(serving.export_trees(boosted, name="t")))
    with pytest.raises(hm.errors.MismatchError, match="column 0 is 'dose', and the model's is 'age'"):
        package.interface.encode(frame[["dose", "age", "ratio", "days"]])
    np.testing.assert_allclose(package.evaluate_clear(frame), boosted.predict(frame), atol=1e-2)


def test_exporting_warns_of_nothing() -> None:
    frame = pd.DataFrame(ROWS, columns=["age", "dose", "ratio", "days"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for given in ({"calibrate": frame}, {"clip": 9}):
            serving.export_linear(PLSRegression(1).fit(frame, VALUES), name="m", **given)
            serving.export_linear(linear_model.RidgeClassifier().fit(frame, TWO), name="m", **given)
        boosted = GradientBoostingRegressor(n_estimators=2, max_depth=1).fit(frame, VALUES)
        serving.export_trees(boosted, name="t")


# --- The comparison. ---


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


def test_pipelines_of_trees() -> None:
    bins = KBinsDiscretizer(4, encode="ordinal", strategy="uniform")
    boosted = GradientBoostingClassifier(n_estimators=3, max_depth=2)
    model = make_pipeline(bins, boosted).fit(ROWS, TWO)
    require_same(serving.export_trees(model, name="t").evaluate_clear(OTHERS), model.predict(OTHERS))
    nothing = Pipeline([("a", "passthrough"), ("b", GradientBoostingRegressor(n_estimators=2, max_depth=1))])
    nothing.fit(ROWS, VALUES)
    found = serving.export_trees(nothing, name="t").evaluate_clear(OTHERS)
    np.testing.assert_allclose(found, nothing.predict(OTHERS), atol=1e-2)
    with pytest.raises(TYPED, match="KBinsDiscretizer is not fitted"):
        serving.export_trees(make_pipeline(KBinsDiscretizer(encode="ordinal"), boosted), name="t")
    onehot = make_pipeline(KBinsDiscretizer(4), boosted)
    with pytest.raises(TYPED, match="alone"):
        serving.export_trees(onehot, name="t")


# --- Under encryption, and older packages. ---


def encrypted(package: serving.Package, rows: Any) -> Any:
    """What a client of the package's description reads."""
    interface = serving.Interface.from_dict(json.loads(json.dumps(package.describe())))
    ctx = hm.Context(interface.params, "cpu")
    sk = ctx.generate_secret_key()
    keys = interface.generate_keys(ctx, sk)
    inputs = [ctx.encrypt(values, sk) for values in interface.encode(rows)]
    results = package.prepare(ctx).run(keys, inputs)
    return interface.decode([ctx.decrypt(y, sk) for y in results], len(rows))


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


def test_labels_by_a_server(tmp_path: Path) -> None:
    """What `hm.Client.predict` gives, and its warning of what it clips."""
    model = make_pipeline(StandardScaler(), linear_model.RidgeClassifier()).fit(ROWS, TWO)
    column = LinearRegression().fit(ROWS, VALUES[:, np.newaxis])
    home = Home(tmp_path / "home")
    for name, trained in (("labels", model), ("column", column)):
        serving.export_linear(trained, name=name, calibrate=ROWS, **SMALL).save(tmp_path / name)
        home.add_model(tmp_path / name)
    with running(home) as server, client_of(server.url, home.clients.add("alice")) as client:
        require_same(client.predict("labels", OTHERS), model.predict(OTHERS))
        found = client.predict("column", OTHERS)
        assert found.shape == (90, 1)
        np.testing.assert_allclose(found, column.predict(OTHERS), atol=1e-5)
        far = OTHERS.copy()
        far[5, 3] = 1e3
        with pytest.warns(hm.errors.HemeraWarning, match=r"1 of 90 rows are clipped.*column 3 has 1000"):
            client.predict("labels", far)


def test_packages_from_before_there_were_labels() -> None:
    """Descriptions without the newer fields keep loading: numbers of classes, and warnings."""
    model = make_pipeline(StandardScaler(), LinearSVC()).fit(ROWS, THREE)
    told = json.loads(json.dumps(packaged(model).describe()))
    for field in ("labels", "column"):
        del told["outputs"][0][field]
    del told["encoding"]["saturates"]
    interface = serving.Interface.from_dict(told)
    slots = np.zeros((1, interface.inputs[0].slots))
    slots[0, 1] = 1
    np.testing.assert_array_equal(interface.decode([slots], 2), [1, 0])
    with pytest.warns(hm.errors.HemeraWarning, match="clipped"):
        interface.encode(ROWS * 100)


def test_packages_of_trees_from_before_there_were_labels() -> None:
    model = GradientBoostingClassifier(n_estimators=3, max_depth=2).fit(ROWS, TWO)
    package = serving.export_trees(model, name="t", samples=16)
    told = json.loads(json.dumps(package.describe()))
    for field in ("labels", "column"):
        del told["outputs"][0][field]
    told["outputs"][0]["read"] = "argmax"  # they said so of two classes too
    del told["encoding"]["names"]
    interface = serving.Interface.from_dict(told)
    params = package.params
    assert isinstance(params, hm.bfv.Parameters)
    values = package.program.evaluate_clear(interface.encode(OTHERS), params.plain_modulus)
    np.testing.assert_array_equal(interface.decode(values, 90), model.predict(OTHERS) == "yes")


@pytest.mark.parametrize(
    "labels",
    [
        3,
        {},
        {"kind": "int64"},
        {"kind": "int64", "values": ["a", "b", "c"]},
        {"kind": "str", "values": [1, 2, 3]},
        {"kind": "uint8", "values": [1, 2, 300]},
        {"kind": "U999999999", "values": ["a", "b", "c"]},
        {"kind": "object", "values": [[1], [2], [3]]},
        {"kind": "int64", "values": []},
        {"kind": "int64", "values": "123"},
    ],
    ids=str,
)
def test_labels_that_are_damaged(labels: Any) -> None:
    told = json.loads(json.dumps(packaged(LinearSVC().fit(ROWS, THREE)).describe()))
    told["outputs"][0]["labels"] = labels
    with pytest.raises(hm.errors.FormatError):
        serving.Interface.from_dict(told)


def test_fewer_labels_than_classes() -> None:
    package = packaged(LinearSVC().fit(ROWS, THREE))
    told = json.loads(json.dumps(package.describe()))
    told["outputs"][0]["labels"]["values"] = [5]
    interface = serving.Interface.from_dict(told)
    slots = np.zeros((1, interface.inputs[0].slots))
    slots[0, 1] = 1
    with pytest.raises(hm.errors.MismatchError, match="class 1, and 1 classes have labels"):
        interface.decode([slots], 2)


def test_linear_models_of_arrays() -> None:
    model = serving.LinearModel.of(
        [[1, -1], [2, 0]], [0.5, 0], mean=[1, 2], read="argmax", labels=["a", "b"], low=[0, 0], high=[3, 4]
    )
    rows = np.array([[-5.0, 9], [1, 1], [3, 0], [2, 7]])
    scores = (np.clip(rows, 0, [3, 4]) - [1, 2]) @ [[1, 2], [-1, 0]] + [0.5, 0]
    np.testing.assert_allclose(model.scores(rows), scores)
    with warnings.catch_warnings():
        warnings.simplefilter("error", hm.errors.HemeraWarning)
        warnings.simplefilter("ignore", hm.errors.SecurityWarning)
        found = serving.export_linear(model, name="m", **SMALL).evaluate_clear(rows)
    np.testing.assert_array_equal(found, np.array(["a", "b"])[scores.argmax(axis=1)])
    for wrong, said in (
        ({"labels": [1, 2, 3]}, "3 labels for 2 classes"),
        ({"labels": [1, 2], "read": "values"}, "2 labels for 0 classes"),
        ({"low": 0}, "clips has finite limits"),
        ({"low": 2, "high": [3, 1]}, "low is not above high"),
        ({"low": [1, 2, 3], "high": 9}, "do not fit"),
        ({"labels": [b"a", b"b"]}, "truth values, numbers or texts"),
    ):
        with pytest.raises(TYPED, match=said):
            serving.LinearModel.of([[1, -1], [2, 0]], **{"read": "argmax", **wrong})
    with pytest.raises(TYPED, match="are its `read`"):
        serving.export_linear(model, name="m", results="labels")


def test_features_of_very_different_sizes() -> None:
    """Weights of 1e-9 and features of 1e9 keep their digits under encryption."""
    rows = ROWS * [1e9, 1e-6, 1, 1e5]
    model = make_pipeline(LinearRegression()).fit(rows, VALUES)
    np.testing.assert_allclose(encrypted(packaged(model, rows), rows), model.predict(rows), atol=1e-6)
