"""Models of xgboost, LightGBM and scikit-learn become ensembles with their libraries' own scores."""

import copy
import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from hemera.errors import FileError, FormatError, ParameterError
from hemera.trees import Quantiser, read_model
from hemera.trees.ensemble import MAX_DEPTH
from hemera.trees.quantise import quantise

from ..refusals import raises

FILES = sorted((Path(__file__).parent / "tree_models").glob("*.json"))


def stored(name):
    return json.loads((FILES[0].parent / f"{name}.json").read_text())


def read(model, folder):
    path = folder / "model.json"
    path.write_text(json.dumps(model))
    return read_model(path)


def test_there_are_models_of_both_libraries():
    assert len([path for path in FILES if path.stem.startswith("xgboost")]) == 10
    assert len([path for path in FILES if path.stem.startswith("lightgbm")]) == 4


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_scores_are_those_of_the_library(path, tmp_path):
    contents = json.loads(path.read_text())
    model = read(contents["model"], tmp_path)
    library, table, depth = path.stem.split("-")[0], path.stem.split("-", 1)[1][:-2], int(path.stem[-1])
    assert contents["library"].startswith(library)
    assert model.depth == depth
    assert model.classes == {"breast-cancer": 2, "holes": 2, "wine": 3, "diabetes": 0}[table]
    margins = np.array(contents["margins"])
    assert margins.shape == (40, 3 if table == "wine" else 1)
    # LightGBM adds up in double precision, xgboost in single.
    tolerance = 0 if library == "lightgbm" else 1e-6
    np.testing.assert_allclose(
        model.scores(np.array(contents["rows"])), margins, rtol=tolerance, atol=tolerance
    )


WHOLE = [path for path in FILES if "holes" not in path.stem]


@pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.stem)
def test_the_first_row_lies_on_a_threshold(path, tmp_path):
    """The stored rows distinguish < from <=: shifting all thresholds by the least step changes some score."""
    contents = json.loads(path.read_text())
    model = read(contents["model"], tmp_path)
    rows = np.array(contents["rows"])
    # xgboost goes right on its threshold, LightGBM left.
    away = np.inf if path.stem.startswith("xgboost") else -np.inf
    other = dataclasses.replace(model, thresholds=np.nextafter(model.thresholds, away))
    assert not np.array_equal(model.scores(rows), other.scores(rows))


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("table", ["breast_cancer", "wine", "diabetes"])
@pytest.mark.parametrize("init", [None, "zero"])
def test_scikit_learn(table, depth, init):
    datasets, ensemble = pytest.importorskip("sklearn.datasets"), pytest.importorskip("sklearn.ensemble")
    data, target = getattr(datasets, f"load_{table}")(return_X_y=True)
    kind = "Regressor" if table == "diabetes" else "Classifier"
    fitted = getattr(ensemble, f"GradientBoosting{kind}")(
        n_estimators=5, max_depth=depth, init=init, random_state=1
    ).fit(data, target)
    model = read_model(fitted)
    rows = data[:60].copy()
    root = fitted.estimators_[0, 0].tree_
    rows[0, root.feature[0]] = root.threshold[0]
    scores = (fitted.predict if table == "diabetes" else fitted.decision_function)(rows)
    np.testing.assert_allclose(model.scores(rows), scores.reshape(60, -1), rtol=1e-12, atol=1e-12)
    assert model.classes == {"breast_cancer": 2, "wine": 3, "diabetes": 0}[table]


def in_learner(*keys, value):
    def change(model):
        place = model["learner"]
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value

    return change


TREE = ("gradient_booster", "model", "trees", 0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (in_learner("objective", "name", value="rank:ndcg"), "objective is rank:ndcg.*train with"),
        (in_learner("gradient_booster", "name", value="dart"), "booster is dart.*booster='gbtree'"),
        (in_learner(*TREE, "split_type", 0, value=1), "categorical.*one-hot"),
        (in_learner(*TREE, "categories", value=[2]), "categorical.*one-hot"),
        (in_learner(*TREE, "tree_param", "size_leaf_vector", value="3"), "one_output_per_tree"),
        (in_learner("gradient_booster", "model", "trees", value=[]), "model of xgboost is damaged"),
        (in_learner("learner_model_param", value={}), "model of xgboost is damaged"),
        (in_learner(*TREE, "left_children", value=[9, 9]), "model of xgboost is damaged"),
    ],
)
def test_xgboost_that_can_not_be_used(change, words, tmp_path):
    model = stored("xgboost-wine-2")["model"]
    change(model)
    raises((ParameterError, FormatError), words, read, model, tmp_path)


@pytest.mark.parametrize(
    ("where", "value", "words"),
    [
        ("decision_type", "==", "categorical.*one-hot"),
        ("missing_type", "Zero", "zero_as_missing=False"),
        ("left_child", {"leaf_coeff": [1.0], "leaf_value": 0.0}, "linear_tree=False"),
        ("right_child", {}, "model of LightGBM is damaged"),
    ],
)
def test_lightgbm_that_can_not_be_used(where, value, words, tmp_path):
    model = stored("lightgbm-wine-2")["model"]
    model["tree_info"][0]["tree_structure"][where] = value
    raises((ParameterError, FormatError), words, read, model, tmp_path)


def test_lightgbm_objective_and_forest(tmp_path):
    model = stored("lightgbm-wine-2")["model"]
    raises(ParameterError, "averages", lambda: read(model | {"average_output": True}, tmp_path))
    raises(ParameterError, "objective is poisson", lambda: read(model | {"objective": "poisson"}, tmp_path))


def test_too_deep(tmp_path):
    model = stored("lightgbm-breast-cancer-2")["model"]
    structure = model["tree_info"][0]["tree_structure"]
    for _ in range(MAX_DEPTH - 1):
        deeper = copy.deepcopy(structure)
        deeper["left_child"] = structure
        structure = deeper
    model["tree_info"][0]["tree_structure"] = structure
    raises(ParameterError, f"depth {MAX_DEPTH + 1}.*max_depth={MAX_DEPTH} or less", read, model, tmp_path)


def test_scikit_learn_that_can_not_be_used():
    ensemble = pytest.importorskip("sklearn.ensemble")
    raises(ParameterError, "not fitted; call fit", lambda: read_model(ensemble.GradientBoostingClassifier()))
    with pytest.raises(ParameterError, match="RandomForestClassifier is not read"):
        read_model(ensemble.RandomForestClassifier())
    linear = pytest.importorskip("sklearn.linear_model").LogisticRegression()
    data, target = pytest.importorskip("sklearn.datasets").load_breast_cancer(return_X_y=True)
    fitted = ensemble.GradientBoostingClassifier(n_estimators=1, init=linear).fit(data[:, :3], target)
    raises(ParameterError, r"starts from another model.*init=None", read_model, fitted)


def test_no_model(tmp_path):
    raises(FileError, "can not read", lambda: read_model(tmp_path / "absent.json"))
    rubbish = tmp_path / "rubbish"
    rubbish.write_bytes(b"\x00\x01{")
    raises(FormatError, "is not JSON; save the model with", read_model, str(rubbish))
    raises(FormatError, "no model of xgboost or LightGBM", read, {"trees": []}, tmp_path)
    raises(TypeError, "or the path of a JSON file, not int", read_model, 3)


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_missing_values_go_where_the_library_takes_them(library, tmp_path):
    """Both sides occur in the file, so that taking all of them to one side gives other scores."""
    contents = stored(f"{library}-holes-6")
    model, rows = read(contents["model"], tmp_path), np.array(contents["rows"])
    assert model.missing is not None
    assert np.isnan(rows[0]).all()
    for side in (False, True):
        other = dataclasses.replace(model, missing=np.full_like(model.missing, side))
        assert not np.allclose(other.scores(rows), model.scores(rows))


def test_values_that_have_no_side(tmp_path):
    contents = stored("xgboost-wine-1")
    model, rows = read(contents["model"], tmp_path), np.array(contents["rows"])
    rows[3, 4] = np.inf
    raises(ParameterError, "infinite", model.scores, rows)
    rows[3, 4] = np.nan
    model.scores(rows)
    with pytest.raises(ParameterError, match=r"missing.*SimpleImputer.*with_missing_of"):
        dataclasses.replace(model, missing=None).scores(rows)


BOOSTERS = ("xgboost", "lightgbm", "histogram", "sklearn")


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("table", ["breast_cancer", "wine", "diabetes"])
@pytest.mark.parametrize("library", BOOSTERS)
def test_default_models_of_the_libraries(library, table, holes):
    """As their users train them (but for LightGBM's depth, which has no bound), in floats and in bins."""
    datasets, ensemble = pytest.importorskip("sklearn.datasets"), pytest.importorskip("sklearn.ensemble")
    data, target = getattr(datasets, f"load_{table}")(return_X_y=True)
    random = np.random.default_rng(1)
    if holes:
        data[random.random(data.shape) < 0.15] = np.nan
    regression = table == "diabetes"
    kind = "Regressor" if regression else "Classifier"
    if library == "xgboost":
        fitted = getattr(pytest.importorskip("xgboost"), f"XGB{kind}")(n_estimators=8, n_jobs=1)
    elif library == "lightgbm":
        lightgbm = pytest.importorskip("lightgbm")
        fitted = getattr(lightgbm, f"LGBM{kind}")(n_estimators=8, max_depth=6, n_jobs=1, verbose=-1)
    elif library == "histogram":
        fitted = getattr(ensemble, f"HistGradientBoosting{kind}")(max_iter=8, max_depth=6)
    elif holes:
        return  # GradientBoosting takes no missing values
    else:
        fitted = getattr(ensemble, f"GradientBoosting{kind}")(n_estimators=8)
    fitted.fit(data, target)
    rows = data[::5].copy()
    if library != "sklearn":  # also where training saw none
        rows[random.random(rows.shape) < 0.1] = np.nan
    if library == "xgboost":
        wanted = fitted.predict(rows, output_margin=True)
    elif library == "lightgbm":
        wanted = fitted.predict(rows, raw_score=True)
    else:
        wanted = (fitted.predict if regression else fitted.decision_function)(rows)
    wanted = np.reshape(wanted, (len(rows), -1))
    model = read_model(fitted)
    tolerance = 1e-6 if library == "xgboost" else 1e-12
    np.testing.assert_allclose(model.scores(rows), wanted, rtol=tolerance, atol=tolerance)
    integers = quantise(model, quantiser := Quantiser.of_model(model), 40)
    found = integers.scores(quantiser.bins(rows)) / integers.scale
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_histograms_that_can_not_be_used():
    ensemble = pytest.importorskip("sklearn.ensemble")
    with pytest.raises(ParameterError, match="not fitted; call fit"):
        read_model(ensemble.HistGradientBoostingClassifier())
    data = np.array([[at % 3, at] for at in range(60)], float)
    counts = ensemble.HistGradientBoostingRegressor(loss="poisson", max_iter=2).fit(data, data[:, 0])
    raises(ParameterError, "loss is poisson; train with", read_model, counts)
    kinds = ensemble.HistGradientBoostingRegressor(categorical_features=[0], max_iter=2, max_depth=2)
    with pytest.raises(ParameterError, match=r"categorical.*categorical_features=None"):
        read_model(kinds.fit(data, data[:, 0] == 1))
