"""Scalers and pipelines before an estimator."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

import hemera as hm

from .estimator_cases import (
    OTHERS,
    ROWS,
    TWO,
    TYPED,
    VALUES,
    encrypted,
    packaged,
    require_same,
)


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


def test_pipelines_of_trees() -> None:
    bins = KBinsDiscretizer(4, encode="ordinal", strategy="uniform")
    boosted = GradientBoostingClassifier(n_estimators=3, max_depth=2)
    model = make_pipeline(bins, boosted).fit(ROWS, TWO)
    require_same(hm.compile(model, name="t").package.evaluate_clear(OTHERS), model.predict(OTHERS))
    nothing = Pipeline([("a", "passthrough"), ("b", GradientBoostingRegressor(n_estimators=2, max_depth=1))])
    nothing.fit(ROWS, VALUES)
    found = hm.compile(nothing, name="t").package.evaluate_clear(OTHERS)
    np.testing.assert_allclose(found, nothing.predict(OTHERS), atol=1e-2)
    with pytest.raises(TYPED, match="KBinsDiscretizer is not fitted"):
        hm.compile(make_pipeline(KBinsDiscretizer(encode="ordinal"), boosted), name="t")
    onehot = make_pipeline(KBinsDiscretizer(4), boosted)
    with pytest.raises(TYPED, match="alone"):
        hm.compile(onehot, name="t")


def test_features_of_very_different_sizes() -> None:
    """Weights of 1e-9 and features of 1e9 keep their digits under encryption."""
    rows = ROWS * [1e9, 1e-6, 1, 1e5]
    model = make_pipeline(LinearRegression()).fit(rows, VALUES)
    np.testing.assert_allclose(encrypted(packaged(model, rows), rows), model.predict(rows), atol=1e-6)
