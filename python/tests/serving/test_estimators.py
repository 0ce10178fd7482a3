"""Models of scikit-learn: labels, ranges, scalers and pipelines, types of models."""

import json
import warnings
from pathlib import Path

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
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import SVR, LinearSVC
from sklearn.tree import DecisionTreeRegressor

import hemera as hm
from hemera import serving

from ..refusals import raises
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

RELEASED = Path(__file__).parents[3] / "tests/vectors/releases/0.2.0/models/labels.hemera-model"


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
def test_labels_of_any_type(labels):
    targets = labels[(VALUES > 0).astype(int)]
    linear = LinearSVC(random_state=0).fit(ROWS, targets)
    require_same(packaged(linear).evaluate_clear(OTHERS), linear.predict(OTHERS))
    logistic = make_pipeline(StandardScaler(), LogisticRegression()).fit(ROWS, targets)
    package = packaged(logistic)
    assert package.evaluate_clear(OTHERS).dtype == logistic.predict(OTHERS).dtype
    require_same(package.evaluate_clear(OTHERS), logistic.predict(OTHERS))
    trees = GradientBoostingClassifier(n_estimators=3, max_depth=2).fit(np.round(ROWS), targets)
    package = serving.Package.load(bytes(hm.compile(trees, name="t").package))
    require_same(package.evaluate_clear(np.round(OTHERS)), trees.predict(np.round(OTHERS)))


def test_three_labels_and_several_for_each_row():
    names = np.array(["low", "middle", "high"])[THREE - 5]
    require_its_results(LinearDiscriminantAnalysis().fit(ROWS, names))
    both = np.stack([VALUES > 0, VALUES > 0.5, ROWS[:, 0] > 0], axis=1).astype(int)
    model = linear_model.RidgeClassifier().fit(ROWS, both)
    require_same(packaged(model).evaluate_clear(OTHERS), model.predict(OTHERS))


def test_results_by_name():
    model = LogisticRegression(max_iter=1000).fit(ROWS, THREE)
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        require_same(packaged(model, method=method).evaluate_clear(OTHERS), getattr(model, method)(OTHERS))
    raises(TYPED, r"is one of predict, predict_proba, .*, not transform", packaged, model, method="transform")
    with pytest.raises(TYPED, match="is one of predict, not predict_proba"):
        packaged(Ridge().fit(ROWS, VALUES), method="predict_proba")


def labelled_rows():
    """The description of a packaged model of three labels, as 0.2.0 wrote it."""
    return json.loads(json.dumps(serving.Package.load(RELEASED).describe()))


def test_packages_from_before_there_were_labels():
    """Descriptions without the newer fields keep loading: numbers of classes, and warnings."""
    told = labelled_rows()
    for field in ("labels", "column"):
        del told["outputs"][0][field]
    del told["encoding"]["saturates"]
    interface = serving.Interface.from_dict(told)
    slots = np.zeros((1, interface.inputs[0].slots))
    slots[0, 1] = 1
    np.testing.assert_array_equal(interface.decode([slots], 2), [1, 0])
    with pytest.warns(hm.errors.HemeraWarning, match="clipped"):
        interface.encode(ROWS * 100)


def test_packages_of_trees_from_before_there_were_labels():
    model = GradientBoostingClassifier(n_estimators=3, max_depth=2).fit(ROWS, TWO)
    package = hm.compile(model, name="t", samples=16).package
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


def test_fewer_labels_than_classes():
    told = labelled_rows()
    told["outputs"][0]["labels"]["values"] = ["low"]
    interface = serving.Interface.from_dict(told)
    slots = np.zeros((1, interface.inputs[0].slots))
    slots[0, 1] = 1
    raises(hm.errors.MismatchError, "class 1, and 1 classes have labels", interface.decode, [slots], 2)


def test_linear_models_of_arrays():
    model = serving.LinearModel.of(
        [[1, -1], [2, 0]], [0.5, 0], mean=[1, 2], read="argmax", labels=["a", "b"], low=[0, 0], high=[3, 4]
    )
    rows = np.array([[-5.0, 9], [1, 1], [3, 0], [2, 7]])
    scores = (np.clip(rows, 0, [3, 4]) - [1, 2]) @ [[1, 2], [-1, 0]] + [0.5, 0]
    np.testing.assert_allclose(model.scores(rows), scores)
    with warnings.catch_warnings():
        warnings.simplefilter("error", hm.errors.HemeraWarning)
        warnings.simplefilter("ignore", hm.errors.SecurityWarning)
        found = hm.compile(model, **SMALL).evaluate_clear(rows)
    np.testing.assert_array_equal(found, np.array(["a", "b"])[scores.argmax(axis=1)])
    for wrong, said in (
        ({"labels": [1, 2, 3]}, "3 labels for 2 classes"),
        ({"labels": [1, 2], "read": "values"}, "2 labels for 0 classes"),
        ({"low": 0}, "clips has finite limits"),
        ({"low": 2, "high": [3, 1]}, "low is not above high"),
        ({"low": [1, 2, 3], "high": 9}, "do not fit"),
        ({"labels": [b"a", b"b"]}, "truth values, numbers or texts"),
    ):
        raises(TYPED, said, serving.LinearModel.of, [[1, -1], [2, 0]], **{"read": "argmax", **wrong})


def test_the_range_comes_from_rows_or_is_demanded():
    rows, labels = load_breast_cancer(return_X_y=True)
    model = fitted(LogisticRegression(), rows, labels)
    raises(TYPED, r"calibrate=X .*--calibrate FILE.*clip=", hm.compile, model, **SMALL)
    with warnings.catch_warnings():
        warnings.simplefilter("error", hm.errors.HemeraWarning)
        warnings.simplefilter("ignore", hm.errors.SecurityWarning)
        require_same(packaged(model, rows).evaluate_clear(rows), model.predict(rows))
    raises(TYPED, "give one of them", hm.compile, model, calibrate=rows, clip=3)
    for clip in (0, -1, np.inf, np.nan):
        raises(TYPED, "above 0 and finite", hm.compile, model, clip=clip, **SMALL)
    raises(TYPED, "one for each of 30", hm.compile, model, clip=[1, 2], **SMALL)
    for bad, said in ((rows[:, :5], "30 features"), (rows[:0], "at least"), (rows * np.nan, "missing")):
        raises(TYPED, said, packaged, model, bad)
    raises(TYPED, "scale them", packaged, model, rows * 1e200)
    raises(TYPED, "no table of numbers", packaged, model, [["a"] * 30])


def test_columns_in_another_order_are_refused():
    frame = pd.DataFrame(ROWS, columns=["age", "dose", "ratio", "days"])
    model = Ridge().fit(frame, VALUES)
    package = packaged(model, frame)
    with pytest.raises(hm.errors.MismatchError, match="column 0 is 'dose', and the model's is 'age'"):
        package.interface.encode(frame[["dose", "age", "ratio", "days"]])
    require_same(package.evaluate_clear(frame), model.predict(frame))
    raises(TYPED, "column 2", packaged, model, frame[["age", "dose", "days", "ratio"]])
    boosted = GradientBoostingRegressor(n_estimators=2, max_depth=1).fit(frame, VALUES)
    package = serving.Package.load(bytes(hm.compile(boosted, name="t").package))
    with pytest.raises(hm.errors.MismatchError, match="column 0 is 'dose', and the model's is 'age'"):
        package.interface.encode(frame[["dose", "age", "ratio", "days"]])
    np.testing.assert_allclose(package.evaluate_clear(frame), boosted.predict(frame), atol=1e-2)


def test_exporting_warns_of_nothing():
    frame = pd.DataFrame(ROWS, columns=["age", "dose", "ratio", "days"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for given in ({"calibrate": frame}, {"clip": 9}):
            hm.compile(PLSRegression(1).fit(frame, VALUES), **given)
            hm.compile(linear_model.RidgeClassifier().fit(frame, TWO), **given)
        boosted = GradientBoostingRegressor(n_estimators=2, max_depth=1).fit(frame, VALUES)
        hm.compile(boosted, name="t")


def _scalers():
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
def test_every_option_of_scalers(scaler, before):
    half = ROWS[:45]  # so that other rows go beyond what scalers saw
    steps = [clone(step) for step in (before, scaler) if step is not None]
    model = make_pipeline(*steps, LinearRegression()).fit(half, VALUES[:45])
    clips = any(getattr(step, "clip", False) for step in steps)
    far = half.mean(axis=0) + (ROWS - half.mean(axis=0)) * (4 if clips else 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", hm.errors.HemeraWarning)
        warnings.simplefilter("ignore", hm.errors.SecurityWarning)
        require_same(packaged(model, ROWS).evaluate_clear(far), model.predict(far))


def test_steps_that_do_nothing_and_pipelines_in_pipelines():
    model = Pipeline(
        [
            ("nothing", "passthrough"),
            ("inner", make_pipeline(RobustScaler(), MinMaxScaler())),
            ("last", Ridge()),
        ]
    ).fit(ROWS, VALUES)
    require_same(packaged(model).evaluate_clear(OTHERS), model.predict(OTHERS))


def test_features_of_very_different_sizes():
    """Weights of 1e-9 and features of 1e9 keep their digits under encryption."""
    rows = ROWS * [1e9, 1e-6, 1, 1e5]
    model = make_pipeline(LinearRegression()).fit(rows, VALUES)
    np.testing.assert_allclose(encrypted(packaged(model, rows), rows), model.predict(rows), atol=1e-6)


def test_pipelines_of_trees():
    boosted = GradientBoostingClassifier(n_estimators=3, max_depth=2)
    nothing = Pipeline([("a", "passthrough"), ("b", GradientBoostingRegressor(n_estimators=2, max_depth=1))])
    nothing.fit(ROWS, VALUES)
    found = hm.compile(nothing, name="t").package.evaluate_clear(OTHERS)
    np.testing.assert_allclose(found, nothing.predict(OTHERS), atol=1e-2)
    with pytest.raises(TYPED, match="KBinsDiscretizer is not fitted"):
        hm.compile(make_pipeline(KBinsDiscretizer(encode="ordinal"), boosted), name="t")
    raises(TYPED, "alone", hm.compile, make_pipeline(KBinsDiscretizer(4), boosted), name="t")


def test_models_inside_of_models():
    for inner in (None, SVR(kernel="linear"), linear_model.PoissonRegressor()):
        require_its_results(
            linear_model.RANSACRegressor(inner, min_samples=20, random_state=0).fit(ROWS, POSITIVE)
        )
    for inner, targets in ((LogisticRegression(), TWO), (LinearSVC(), THREE)):
        require_its_results(OneVsRestClassifier(inner).fit(ROWS, targets))
    tree = linear_model.RANSACRegressor(DecisionTreeRegressor(), min_samples=20).fit(ROWS, VALUES)
    raises(TypeError, "DecisionTreeRegressor is not compiled", packaged, tree)


@pytest.mark.parametrize("calibrate", [True, False])
def test_what_differs_from_the_library_is_refused(calibrate):
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


def test_trees_that_differ_from_their_library_are_refused():
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
            raises(TYPED, said, hm.compile, trained, name="t", calibrate=calibrate)


def test_under_encryption():
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
