"""Ready-made packages: linear models, and boosted trees that score exactly as their own server does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler

import hemera as hm
from hemera import serving, trees

SMALL = {"security": None, "rows": 64}


def answers(package: serving.Package, rows: Any) -> Any:
    """What a client reads, after everything went through bytes."""
    package = serving.Package.load(bytes(package))
    interface = serving.Interface.from_dict(json.loads(json.dumps(package.describe())))
    ctx = hm.Context(interface.params, "cpu")
    sk = ctx.generate_secret_key()
    keys = ctx.load(bytes(interface.generate_keys(ctx, sk)))
    package.check(ctx, keys)
    inputs = [ctx.load(bytes(ctx.encrypt(values, sk))) for values in interface.encode(rows)]
    results = [ctx.load(bytes(y)) for y in package.prepare(ctx).run(keys, inputs)]
    return interface.decode([ctx.decrypt(y, sk) for y in results], len(rows))


@pytest.mark.parametrize("table", [load_breast_cancer, load_wine])
def test_probabilities(table: Any) -> None:
    rows, labels = table(return_X_y=True)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(rows, labels)
    package = hm.compile(model, calibrate=rows, method="predict_proba", **SMALL).package
    np.testing.assert_allclose(answers(package, rows), model.predict_proba(rows), atol=2**-20)
    assert package.describe()["depth"] == 1
    assert not package.describe()["keys"]["relinearization"]


def test_regression_and_classes() -> None:
    rows, values = load_diabetes(return_X_y=True)
    model = LinearRegression().fit(rows, values)
    package = hm.compile(model, calibrate=rows, **SMALL).package
    np.testing.assert_allclose(answers(package, rows[:50]), model.predict(rows[:50]), atol=2**-12)
    np.testing.assert_allclose(package.evaluate_clear(rows[:50]), model.predict(rows[:50]))
    for table in (load_wine, load_breast_cancer):
        rows, labels = table(return_X_y=True)
        classifier = make_pipeline(StandardScaler(), RidgeClassifier()).fit(rows, labels)
        package = hm.compile(classifier, calibrate=rows, **SMALL).package
        np.testing.assert_array_equal(answers(package, rows), classifier.predict(rows))


def test_linear_models_from_json(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text(json.dumps({"coefficients": [1, -2, 0.5], "intercept": 3, "mean": [1, 0, 0]}))
    model = serving.LinearModel.from_json(path)
    rows = np.array([[1.0, 2, 3], [0, 0, 0]])
    np.testing.assert_allclose(model.scores(rows), [[3 - 4 + 1.5], [-1 + 3]])
    found = answers(hm.compile(model, clip=16, **SMALL).package, rows)
    np.testing.assert_allclose(found, model.scores(rows)[:, 0], atol=2**-20)
    for text in (
        "[]",
        "{}",
        "not JSON",
        '{"coefficients": [1, 2], "mean": [1, 2, 3]}',
        '{"coefficients": "a"}',
    ):
        path.write_text(text)
        with pytest.raises((hm.errors.FormatError, hm.errors.MismatchError)):
            serving.LinearModel.from_json(path)
    with pytest.raises(hm.errors.FileError):
        serving.LinearModel.from_json(tmp_path / "missing")


def test_rows_that_do_not_fit() -> None:
    model = serving.LinearModel.of([1.0, 2.0])
    interface = hm.compile(model, clip=16, **SMALL).package.interface
    with pytest.raises(hm.errors.MismatchError, match="2 features"):
        interface.encode(np.zeros((3, 5)))
    with pytest.raises(hm.errors.ParameterError, match="missing"):
        interface.encode([[np.nan, 1]])
    with pytest.warns(
        hm.errors.HemeraWarning, match=r"1 of 2 rows.*column 0 has 1e\+09.*-16 to 16; column 1"
    ):
        (packed,) = interface.encode([[1e9, -1e9], [8, 4]])
    np.testing.assert_array_equal(packed[0, [0, 1, 2, 3]], [1, -1, 0.5, 0.25])


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_trees_are_exact(depth: int) -> None:
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
    np.testing.assert_array_equal(answers(package, asked), trained.predict(quantiser.bins(asked)))


def encrypted_scores(package: serving.Package, rows: Any) -> Any:
    """The integers in the slots that clients decrypt."""
    ctx = hm.Context(package.params, "cpu")
    sk = ctx.generate_secret_key()
    keys = package.generate_keys(ctx, sk)
    inputs = [ctx.encrypt(values, sk) for values in package.interface.encode(rows)]
    (result,) = package.prepare(ctx).run(keys, inputs)
    layout = package.interface.encoding.layout  # type: ignore[attr-defined]
    slots = ctx.decrypt(result, sk)
    return np.concatenate([layout.unpack(each[None]) for each in slots])[: len(rows)]


def test_deep_trees_with_missing_values() -> None:
    """Bins in two digits, and missing values, go through the package's bytes."""
    rows, labels = load_breast_cancer(return_X_y=True)
    rows[np.random.default_rng(1).random(rows.shape) < 0.2] = np.nan
    trained = HistGradientBoostingClassifier(max_iter=6, max_depth=5, random_state=0).fit(rows, labels)
    ring = hm.bfv.Parameters.from_bits(
        degree=2048, plain_modulus=12289, prime_bits=[45] * 8, special_bits=[49], security=None
    )
    package = hm.compile(trained, name="tumours", params=ring).package
    assert package.params == ring
    np.testing.assert_array_equal(answers(package, rows[:60]), trained.predict(rows[:60]))
    rows[0, 0] = np.inf
    with pytest.raises(hm.errors.ParameterError, match="infinite"):
        package.interface.encode(rows[:2])


def test_trees_after_bins_of_scikit_learn() -> None:
    rows, labels = load_breast_cancer(return_X_y=True)
    bins = KBinsDiscretizer(6, encode="ordinal", strategy="uniform")
    boosted = GradientBoostingClassifier(n_estimators=8, max_depth=2, random_state=0)
    model = make_pipeline(bins, boosted).fit(rows, labels)
    package = hm.compile(model, name="tumours").package
    np.testing.assert_array_equal(package.evaluate_clear(rows), model.predict(rows))
    np.testing.assert_array_equal(answers(package, rows[:30]), model.predict(rows[:30]))
    with pytest.raises(TypeError, match=r"GradientBoostingClassifier is not compiled: .* KBinsDiscretizer"):
        hm.compile(make_pipeline(StandardScaler(), boosted).fit(rows, labels), calibrate=rows)


def test_trees_of_two_classes_and_of_a_regression() -> None:
    rows, labels = load_breast_cancer(return_X_y=True)
    quantiser = trees.Quantiser.of_quantiles(rows, bins=4)
    trained = GradientBoostingClassifier(n_estimators=10, max_depth=2, random_state=0)
    trained.fit(quantiser.bins(rows), labels)
    model = quantiser.of_values(trees.read_model(trained))
    package = hm.compile(model, quantiser=quantiser, name="tumours").package
    np.testing.assert_array_equal(answers(package, rows[:60]), trained.predict(quantiser.bins(rows[:60])))

    rows, values = load_diabetes(return_X_y=True)
    regressor = GradientBoostingRegressor(n_estimators=5, max_depth=1, random_state=0).fit(rows, values)
    package = hm.compile(regressor, name="progress").package
    found = answers(package, rows[:20])
    assert found.shape == (20,)
    np.testing.assert_allclose(found, regressor.predict(rows[:20]), atol=1)
