"""Labels of classes: their types and shapes, in packages, at clients, and in damaged descriptions."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import linear_model
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import hemera as hm
from hemera import serving
from hemera.serving.home import Home

from .conftest import client_of
from .conftest import serving as running
from .estimator_cases import (
    OTHERS,
    ROWS,
    SMALL,
    THREE,
    TWO,
    TYPED,
    VALUES,
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
def test_labels_of_any_type(labels: Any) -> None:
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


def test_three_labels_and_several_for_each_row() -> None:
    names = np.array(["low", "middle", "high"])[THREE - 5]
    for model in (
        linear_model.RidgeClassifier().fit(ROWS, names),
        LinearDiscriminantAnalysis().fit(ROWS, names),
    ):
        require_its_results(model)
    both = np.stack([VALUES > 0, VALUES > 0.5, ROWS[:, 0] > 0], axis=1).astype(int)
    model = linear_model.RidgeClassifier().fit(ROWS, both)
    require_same(packaged(model).evaluate_clear(OTHERS), model.predict(OTHERS))


def test_results_by_name() -> None:
    model = LogisticRegression(max_iter=1000).fit(ROWS, THREE)
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        require_same(packaged(model, method=method).evaluate_clear(OTHERS), getattr(model, method)(OTHERS))
    with pytest.raises(TYPED, match=r"is one of predict, predict_proba, .*, not transform"):
        packaged(model, method="transform")
    with pytest.raises(TYPED, match="is one of predict, not predict_proba"):
        packaged(Ridge().fit(ROWS, VALUES), method="predict_proba")


def test_labels_by_a_server(tmp_path: Path) -> None:
    """What `hm.Client.predict` gives, and its warning of what it clips."""
    model = make_pipeline(StandardScaler(), linear_model.RidgeClassifier()).fit(ROWS, TWO)
    column = LinearRegression().fit(ROWS, VALUES[:, np.newaxis])
    home = Home(tmp_path / "home")
    for name, trained in (("labels", model), ("column", column)):
        hm.compile(trained, name=name, calibrate=ROWS, **SMALL).save(tmp_path / name)
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


def labelled_rows() -> dict[str, Any]:
    """The description of a packaged model of three labels, as 0.2.0 wrote it."""
    return json.loads(json.dumps(serving.Package.load(RELEASED).describe()))  # type: ignore[no-any-return]


def test_packages_from_before_there_were_labels() -> None:
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


def test_packages_of_trees_from_before_there_were_labels() -> None:
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
    told = labelled_rows()
    told["outputs"][0]["labels"] = labels
    with pytest.raises(hm.errors.FormatError):
        serving.Interface.from_dict(told)


def test_fewer_labels_than_classes() -> None:
    told = labelled_rows()
    told["outputs"][0]["labels"]["values"] = ["low"]
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
        with pytest.raises(TYPED, match=said):
            serving.LinearModel.of([[1, -1], [2, 0]], **{"read": "argmax", **wrong})
