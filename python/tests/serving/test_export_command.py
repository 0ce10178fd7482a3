"""`hemera export`, and what `hemera inspect` says of its files."""

import csv
import json
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC

import hemera as hm
from hemera import trees
from hemera.cli import main

MODELS = Path(__file__).parents[1] / "trees" / "tree_models"
SOURCE = """
import neighbour
import hemera as hm

def build():
    return hm.serving.export(lambda x: x * neighbour.WEIGHT, inputs=4, name="own", security=None)

def other():
    return 3
"""


def exported(tmp_path, model, *more):
    target = tmp_path / "out.hemera-model"
    assert main(["export", str(model), str(target), *more]) == 0
    return hm.serving.Package.load(target)


def test_a_function_of_a_file(tmp_path):
    (tmp_path / "model.py").write_text(SOURCE)
    (tmp_path / "neighbour.py").write_text("WEIGHT = 0.5")
    package = exported(tmp_path, f"{tmp_path / 'model.py'}:build")
    assert package.name == "own"
    np.testing.assert_allclose(package.evaluate_clear(np.ones(4)), 0.5)


def test_joblib_files(tmp_path, capsys):
    rows, kinds = load_wine(return_X_y=True)
    linear = make_pipeline(StandardScaler(), LogisticRegression()).fit(rows, kinds)
    joblib.dump(linear, tmp_path / "linear.joblib")
    np.savetxt(tmp_path / "rows.csv", rows, delimiter=",", header="of wines")
    package = exported(
        tmp_path, tmp_path / "linear.joblib", "--name", "wines", "--calibrate", str(tmp_path / "rows.csv")
    )
    assert package.name == "wines"
    np.testing.assert_allclose(package.evaluate_clear(rows), linear.predict_proba(rows))

    package = exported(tmp_path, tmp_path / "linear.joblib", "--clip", "16", "--results", "labels")
    np.testing.assert_array_equal(package.evaluate_clear(rows), linear.predict(rows))
    vectors = SVC(kernel="linear", probability=True, random_state=0).fit(rows, kinds)
    joblib.dump(vectors, tmp_path / "vectors.joblib")  # whose probabilities are calibrated apart
    package = exported(tmp_path, tmp_path / "vectors.joblib", "--calibrate", str(tmp_path / "rows.csv"))
    np.testing.assert_array_equal(package.evaluate_clear(rows), vectors.predict(rows))
    assert main(["export", str(tmp_path / "linear.joblib"), str(tmp_path / "none")]) == 1
    assert "--calibrate FILE" in capsys.readouterr().err

    boosted = GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=0).fit(rows, kinds)
    joblib.dump(boosted, tmp_path / "trees.joblib")
    rows_file = str(tmp_path / "rows.csv")
    told = ("--description", "of wines", "--calibrate", rows_file)
    package = exported(tmp_path, tmp_path / "trees.joblib", "--parameters", "16384-438", *told)
    assert package.params.degree == 16384
    package = exported(tmp_path, tmp_path / "trees.joblib", "--samples", "8", *told)
    assert (package.name, package.description) == ("out", "of wines")
    np.testing.assert_array_equal(package.evaluate_clear(rows), boosted.predict(rows))


def test_json_files(tmp_path, capsys):
    for stored in ("xgboost-wine-2", "lightgbm-wine-2"):
        contents = json.loads((MODELS / f"{stored}.json").read_text())
        (tmp_path / "trees.json").write_text(json.dumps(contents["model"]))
        package = exported(tmp_path, tmp_path / "trees.json")
        rows = np.asarray(contents["rows"])
        expected = trees.read_model(tmp_path / "trees.json").scores(rows).argmax(axis=1)
        np.testing.assert_array_equal(package.evaluate_clear(rows), expected)
    capsys.readouterr()
    (tmp_path / "linear.json").write_text(json.dumps({"coefficients": [1, 2], "read": "sigmoid"}))
    package = exported(tmp_path, tmp_path / "linear.json", "--json", "-", "--clip", "4")
    assert json.loads(capsys.readouterr().out) == package.describe()
    np.testing.assert_allclose(package.evaluate_clear([[1, 0.5], [-3, 1]]), 1 / (1 + np.exp([-2.0, 1.0])))


def test_labels_travel_by_files(tmp_path, capsys):
    """From `hemera export` to the table that `hemera client decrypt` writes."""
    rows, kinds = load_wine(return_X_y=True)
    names = np.array(["red", "a, b", "white"])[kinds]
    np.save(tmp_path / "rows.npy", rows[::9])
    for name, targets in (("names", names), ("numbers", kinds - 1), ("objects", names.astype(object))):
        model = make_pipeline(StandardScaler(), LinearSVC()).fit(rows, targets)
        joblib.dump(model, tmp_path / "model.joblib")
        exported(tmp_path, tmp_path / "model.joblib", "--calibrate", str(tmp_path / "rows.npy"))
        files = {each: str(tmp_path / f"{name}-{each}") for each in ("told", "keys", "request", "answer")}
        model_file, folder = str(tmp_path / "out.hemera-model"), ["--folder", str(tmp_path / "mine")]
        assert main(["run", model_file, "--describe", files["told"]]) == 0
        assert main(["client", "keys", files["told"], files["keys"], *folder]) == 0
        assert (
            main(["client", "encrypt", files["told"], str(tmp_path / "rows.npy"), files["request"], *folder])
            == 0
        )
        assert main(["run", model_file, files["keys"], files["request"], files["answer"]]) == 0
        decrypt = ["client", "decrypt", files["told"], files["answer"]]
        more = [*folder, "--rows", str(len(rows[::9]))]
        expected = model.predict(rows[::9])
        assert main([*decrypt, str(tmp_path / "found.npy"), *more]) == 0
        found = np.load(tmp_path / "found.npy", allow_pickle=False)
        np.testing.assert_array_equal(found, expected.astype(str) if name == "objects" else expected)
        assert main([*decrypt, str(tmp_path / "found.csv"), *more]) == 0
        with (tmp_path / "found.csv").open(newline="") as file:
            assert [line for (line,) in csv.reader(file)] == list(map(str, expected))
        capsys.readouterr()
        assert main([*decrypt, *more]) == 0
        assert json.loads(capsys.readouterr().out)["results"] == expected.tolist()


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("model.py:missing", "has no function 'missing'"),
        ("model.py:other", "returned int; return the package"),
        ("missing.py:build", "no such file"),
        ("missing.json", "cannot read"),
        ("missing.joblib", "cannot read"),
        ("rubbish.json", "is not JSON"),
        ("rubbish.joblib", "is no file of joblib"),
        ("list.json", "no model of xgboost or LightGBM"),
        ("dict.joblib", "compile takes a function, not dict"),
        ("forest.joblib", "RandomForestClassifier is not compiled: it compares features"),
        ("histogram.joblib", "HistGradientBoostingClassifier is not"),
        ("text.joblib", "OneHotEncoder is not compiled: it takes text or objects; apply it"),
    ],
)
def test_errors(model, said, tmp_path, capsys):
    (tmp_path / "model.py").write_text(SOURCE)
    (tmp_path / "neighbour.py").write_text("WEIGHT = 0.5")
    for name in ("rubbish.json", "rubbish.joblib"):
        (tmp_path / name).write_text("rubbish")
    (tmp_path / "list.json").write_text("[]")
    joblib.dump({"coef_": 1}, tmp_path / "dict.joblib")
    joblib.dump(RandomForestClassifier(), tmp_path / "forest.joblib")
    joblib.dump(HistGradientBoostingClassifier(), tmp_path / "histogram.joblib")
    encoder = make_pipeline(OneHotEncoder(), RidgeClassifier()).fit(np.eye(4), [1, 1, 0, 0])
    joblib.dump(encoder, tmp_path / "text.joblib")
    target = tmp_path / "out"
    assert main(["export", str(tmp_path / model), str(target)]) == 1
    assert said in capsys.readouterr().err
    assert not target.exists()


def test_inspect(tmp_path, capsys):
    path = tmp_path / "model"
    package = hm.serving.export(
        lambda x: (x * x).rotate(3) + x, inputs=4, name="squares", description="turned", security=None
    )
    package.save(path)
    assert main(["inspect", str(path)]) == 0
    text = capsys.readouterr().out
    for part in (
        "packaged model",
        "squares",
        "turned",
        "relinearization",
        "rotation 3 up to",
        package.digest,
    ):
        assert part in text
    assert main(["inspect", str(path), "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["digest"] == package.digest
    assert found["operations"] == {"power": 1, "rotate": 1, "add": 1}
    assert found["cost"]["operations"]["key_products"] == 2
    assert found["cost"]["seconds"] is None
    assert main(["inspect", str(path), "--device", "cpu-avx2-16"]) == 0
    text = capsys.readouterr().out
    for part in ("2 products with keys", "a request", "s on cpu-avx2-16"):
        assert part in text
    path.write_bytes(bytes(package)[:-1])
    assert main(["inspect", str(path)]) == 1
    assert "cut off" in capsys.readouterr().err
