"""Ranges of features: from calibration rows or declared, and rows beyond them."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import linear_model
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge

import hemera as hm
from hemera import serving

from .estimator_cases import ROWS, SMALL, TWO, TYPED, VALUES, fitted, packaged, require_same


def test_the_range_comes_from_rows_or_is_demanded() -> None:
    rows, labels = load_breast_cancer(return_X_y=True)
    model = fitted(LogisticRegression(), rows, labels)
    with pytest.raises(TYPED, match=r"calibrate=X .*--calibrate FILE.*clip="):
        hm.compile(model, **SMALL)
    with warnings.catch_warnings():
        warnings.simplefilter("error", hm.errors.HemeraWarning)
        warnings.simplefilter("ignore", hm.errors.SecurityWarning)
        require_same(packaged(model, rows).evaluate_clear(rows), model.predict(rows))
    with pytest.raises(TYPED, match="give one of them"):
        hm.compile(model, calibrate=rows, clip=3)
    for clip in (0, -1, np.inf, np.nan):
        with pytest.raises(TYPED, match="above 0 and finite"):
            hm.compile(model, clip=clip, **SMALL)
    with pytest.raises(TYPED, match="one for each of 30"):
        hm.compile(model, clip=[1, 2], **SMALL)
    for bad, said in ((rows[:, :5], "30 features"), (rows[:0], "at least"), (rows * np.nan, "missing")):
        with pytest.raises(TYPED, match=said):
            packaged(model, bad)
    with pytest.raises(TYPED, match="scale them"):
        packaged(model, rows * 1e200)
    with pytest.raises(TYPED, match="no table of numbers"):
        packaged(model, [["a"] * 30])


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
    package = serving.Package.load(bytes(hm.compile(boosted, name="t").package))
    with pytest.raises(hm.errors.MismatchError, match="column 0 is 'dose', and the model's is 'age'"):
        package.interface.encode(frame[["dose", "age", "ratio", "days"]])
    np.testing.assert_allclose(package.evaluate_clear(frame), boosted.predict(frame), atol=1e-2)


def test_exporting_warns_of_nothing() -> None:
    frame = pd.DataFrame(ROWS, columns=["age", "dose", "ratio", "days"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for given in ({"calibrate": frame}, {"clip": 9}):
            hm.compile(PLSRegression(1).fit(frame, VALUES), **given)
            hm.compile(linear_model.RidgeClassifier().fit(frame, TWO), **given)
        boosted = GradientBoostingRegressor(n_estimators=2, max_depth=1).fit(frame, VALUES)
        hm.compile(boosted, name="t")
