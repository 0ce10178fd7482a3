"""Ready-made packages, and every objective of xgboost and LightGBM: scored as their libraries do."""

import importlib
import importlib.util
import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler

import hemera as hm
from hemera import serving, trees
from hemera.trees import read_model

from ..refusals import raises
from .estimator_cases import encrypted

SMALL = {"security": None, "rows": 64}


def test_linear_models_from_json(tmp_path):
    path = tmp_path / "model.json"
    path.write_text(json.dumps({"coefficients": [1, -2, 0.5], "intercept": 3, "mean": [1, 0, 0]}))
    model = serving.LinearModel.from_json(path)
    rows = np.array([[1.0, 2, 3], [0, 0, 0]])
    np.testing.assert_allclose(model.scores(rows), [[3 - 4 + 1.5], [-1 + 3]])
    found = encrypted(hm.compile(model, clip=16, **SMALL).package, rows)
    np.testing.assert_allclose(found, model.scores(rows)[:, 0], atol=2**-20)
    for text in (
        "[]",
        "{}",
        "not JSON",
        '{"coefficients": [1, 2], "mean": [1, 2, 3]}',
        '{"coefficients": "a"}',
    ):
        path.write_text(text)
        raises((hm.errors.FormatError, hm.errors.MismatchError), "", serving.LinearModel.from_json, path)
    raises(hm.errors.FileError, "", serving.LinearModel.from_json, tmp_path / "missing")


@pytest.mark.parametrize("depth", [1, 3])
def test_trees_are_exact(depth):
    rows, kinds = load_wine(return_X_y=True)
    quantiser = trees.Quantiser.of_quantiles(rows, bins=4)
    trained = GradientBoostingClassifier(n_estimators=12, max_depth=depth, random_state=0)
    trained.fit(quantiser.bins(rows), kinds)
    model = quantiser.of_values(trees.read_model(trained))
    asked = rows[:40]
    package = hm.compile(model, quantiser=quantiser, name="wines", samples=16).package
    assert package.interface.encoding.layout.samples <= 16  # so that there are several requests

    values = package.program.evaluate_clear(package.interface.encode(asked), package.params.plain_modulus)
    layout = package.interface.encoding.layout
    scores = np.concatenate([layout.unpack(each[None]) for each in values[0]])[: len(asked)]
    np.testing.assert_array_equal(encrypted_scores(package, asked), scores)
    np.testing.assert_array_equal(encrypted(package, asked), trained.predict(quantiser.bins(asked)))


def encrypted_scores(package, rows):
    """The integers in the slots that clients decrypt."""
    ctx = hm.Context(package.params, "cpu")
    sk = ctx.generate_secret_key()
    keys = package.generate_keys(ctx, sk)
    inputs = [ctx.encrypt(values, sk) for values in package.interface.encode(rows)]
    (result,) = package.prepare(ctx).run(keys, inputs)
    layout = package.interface.encoding.layout
    slots = ctx.decrypt(result, sk)
    return np.concatenate([layout.unpack(each[None]) for each in slots])[: len(rows)]


def test_deep_trees_with_missing_values():
    """Bins in two digits, and missing values, go through the package's bytes."""
    rows, labels = load_breast_cancer(return_X_y=True)
    rows[np.random.default_rng(1).random(rows.shape) < 0.2] = np.nan
    trained = HistGradientBoostingClassifier(max_iter=6, max_depth=5, random_state=0).fit(rows, labels)
    ring = hm.bfv.Parameters.from_bits(
        degree=2048, plain_modulus=12289, prime_bits=[45] * 8, special_bits=[49], security=None
    )
    package = hm.compile(trained, name="tumours", params=ring).package
    assert package.params == ring
    np.testing.assert_array_equal(encrypted(package, rows[:60]), trained.predict(rows[:60]))
    rows[0, 0] = np.inf
    raises(hm.errors.ParameterError, "infinite", package.interface.encode, rows[:2])


def test_trees_after_bins_of_scikit_learn():
    rows, labels = load_breast_cancer(return_X_y=True)
    bins = KBinsDiscretizer(6, encode="ordinal", strategy="uniform")
    boosted = GradientBoostingClassifier(n_estimators=8, max_depth=2, random_state=0)
    model = make_pipeline(bins, boosted).fit(rows, labels)
    package = hm.compile(model, name="tumours").package
    np.testing.assert_array_equal(package.evaluate_clear(rows), model.predict(rows))
    np.testing.assert_array_equal(encrypted(package, rows[:30]), model.predict(rows[:30]))
    with pytest.raises(TypeError, match=r"GradientBoostingClassifier is not compiled: .* KBinsDiscretizer"):
        hm.compile(make_pipeline(StandardScaler(), boosted).fit(rows, labels), calibrate=rows)


TREES = Path(__file__).parents[1] / "trees"
FILES = {
    library: json.loads((TREES / "tree_objectives" / f"{library}.json").read_text())
    for library in ("xgboost", "lightgbm")
}
STORED = [(library, name) for library, contents in FILES.items() for name in contents["models"]]
PACKAGED = {
    "xgboost": {
        "reg:squarederror",
        "reg:squarederror of two targets",
        "reg:pseudohubererror",
        "reg:absoluteerror",
        "reg:quantileerror",
        "binary:logistic",
        "multi:softmax",
        "multi:softprob",
    },
    "lightgbm": {
        *("regression", "regression_l1", "huber", "fair", "quantile", "mape"),
        *("binary", "multiclass", "multiclassova"),
    },
}


def require_same(found, expected):
    expected = np.asarray(expected)
    assert found.shape == expected.shape
    if expected.dtype.kind == "f":
        # Leaves are rounded to steps; a sum of 4 is off by at most 2 of them.
        np.testing.assert_allclose(found, expected, atol=2e-4)
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("library", "name"), STORED)
def test_every_stored_model(library, name, tmp_path):
    rows, stored = np.array(FILES[library]["rows"]), FILES[library]["models"][name]
    path = tmp_path / "model.json"
    path.write_text(json.dumps(stored["model"]))
    if name in PACKAGED[library]:
        package = hm.compile(path, name="t", samples=16).package
        require_same(package.evaluate_clear(rows), stored["predictions"])
    else:
        raises(hm.errors.ParameterError, r"the model('s| has).*; train ", hm.compile, path, name="t")


def test_several_targets_under_encryption(tmp_path):
    rows = np.array(FILES["xgboost"]["rows"])
    stored = FILES["xgboost"]["models"]["reg:squarederror of two targets"]
    path = tmp_path / "model.json"
    path.write_text(json.dumps(stored["model"]))
    found = encrypted(hm.compile(path, name="t", samples=8).package, rows)
    require_same(found, stored["predictions"])
    assert np.ptp(found - np.array(stored["predictions"])[:, ::-1]) > 0.1  # targets differ


# --- Where the libraries are installed. ---


def maker():
    """The functions that trained what is stored."""
    pytest.importorskip("xgboost")
    pytest.importorskip("lightgbm")
    spec = importlib.util.spec_from_file_location("maker", TREES / "make_tree_objectives.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_all_objectives_of_xgboost_are_stored():
    xgboost = pytest.importorskip("xgboost")
    with pytest.raises(xgboost.core.XGBoostError) as told:
        xgboost.train({"objective": "?"}, xgboost.DMatrix(np.ones((2, 2)), label=[0, 1]), 1)
    known = {line.rpartition(" ")[2] for line in str(told.value).splitlines() if "candidate:" in line}
    stored = {name.partition(" ")[0] for name in FILES["xgboost"]["models"]}
    assert known - {"reg:linear"} == stored  # an old name of reg:squarederror


@pytest.mark.parametrize(("library", "name"), STORED)
def test_every_live_model(library, name):
    own = maker()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = getattr(own, f"of_{library}")(name)
        if name not in PACKAGED[library]:
            raises(hm.errors.ParameterError, "train", hm.compile, model, name="t")
            return
        for calibrate in (None, own.ROWS):
            package = hm.compile(model, name="t", calibrate=calibrate, samples=16).package
            require_same(package.evaluate_clear(own.ROWS), model.predict(own.ROWS))
        booster = model.get_booster() if library == "xgboost" else model.booster_
        package = hm.compile(booster, name="t", samples=16).package
        require_same(package.evaluate_clear(own.ROWS), model.predict(own.ROWS))


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_labels_shapes_and_settings_of_live_models(library):
    own = maker()
    module = importlib.import_module(library)
    prefix = "XGB" if library == "xgboost" else "LGBM"
    settings = own.SETTINGS if library == "xgboost" else own.LIGHT
    classifier, regressor = (getattr(module, f"{prefix}{kind}") for kind in ("Classifier", "Regressor"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if library == "lightgbm":
            for labels in (np.array(["b", "a", "c"])[own.THREE], own.TWO * 2 - 1, own.THREE + 5):
                model = classifier(**settings).fit(own.ROWS, labels)
                found = hm.compile(model, name="t").package.evaluate_clear(own.ROWS)
                require_same(found, model.predict(own.ROWS))
                assert found.dtype.kind == model.predict(own.ROWS).dtype.kind
        else:
            column = regressor(**settings).fit(own.ROWS, own.VALUES[:, np.newaxis])
            require_same(
                hm.compile(column, name="t").package.evaluate_clear(own.ROWS), column.predict(own.ROWS)
            )
            zeros = regressor(**settings, missing=0.0).fit(own.ROWS, own.VALUES)
            with pytest.raises(
                hm.errors.ParameterError, match=r"takes 0 for a missing value.*missing=numpy.nan"
            ):
                hm.compile(zeros, name="t")
            for kind, targets in ((module.XGBRFClassifier, own.THREE), (module.XGBRFRegressor, own.VALUES)):
                forest = kind(n_estimators=4, max_depth=2, random_state=0).fit(own.ROWS, targets)
                require_same(
                    hm.compile(forest, name="t").package.evaluate_clear(own.ROWS), forest.predict(own.ROWS)
                )
            mine = regressor(**{**settings, "objective": own.squared_error}).fit(own.ROWS, own.VALUES)
            require_same(hm.compile(mine, name="t").package.evaluate_clear(own.ROWS), mine.predict(own.ROWS))
        for unfit in (classifier(), regressor()):
            raises(hm.errors.ParameterError, "not fitted; call fit", hm.compile, unfit, name="t")
    with pytest.raises(hm.errors.ParameterError, match="is not read; train one of Booster"):
        hm.compile(getattr(module, "DMatrix" if library == "xgboost" else "Dataset")(own.ROWS), name="t")


@pytest.mark.parametrize("first", [True, False], ids=["the first is the best", "a later one is"])
@pytest.mark.parametrize("kind", ["Regressor", "Classifier"])
@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_rounds_up_to_the_best_one(library, kind, first):
    """Rounds that early stopping has tried after it are not read, and none before is left out."""
    own, words = maker(), {"xgboost": ("XGB", "early_stopping_rounds", "output_margin")}
    prefix, stopping, raw = words.get(library, ("LGBM", "early_stopping_round", "raw_score"))
    settings = {**(own.SETTINGS if library == "xgboost" else own.LIGHT), "n_estimators": 40, stopping: 4}
    model = getattr(importlib.import_module(library), prefix + kind)(**{**settings, "learning_rate": 0.9})
    targets = own.VALUES if kind == "Regressor" else own.TWO
    judge = targets if not first else -targets if kind == "Regressor" else 1 - targets  # worse at each round
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(own.ROWS[:60], targets[:60], eval_set=[(own.ROWS[60:], judge[60:])])
        wanted = model.predict(own.ROWS, **{raw: True})
    found = read_model(model).scores(own.ROWS)[:, 0]
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    if library == "xgboost":
        assert (model.best_iteration == 0) == first
        assert model.get_booster().num_boosted_rounds() == model.best_iteration + 5


def test_a_file_that_its_library_reads_otherwise(tmp_path, monkeypatch):
    xgboost = pytest.importorskip("xgboost")
    path = tmp_path / "model.json"
    path.write_text(json.dumps(FILES["xgboost"]["models"]["reg:squarederror"]["model"]))
    true = xgboost.Booster.predict
    hm.compile(path, name="t")
    monkeypatch.setattr(xgboost.Booster, "predict", lambda *given, **more: true(*given, **more) + 0.01)
    raises(hm.errors.MismatchError, r"Booster.predict gives .*not packaged", hm.compile, path, name="t")
