"""Studies over sites, judged on the pooled rows by NumPy and scikit-learn."""

import runpy
from pathlib import Path

import numpy as np
import pytest

SITES = Path(__file__).parents[2] / "examples" / "25_studies_over_sites.py"


@pytest.mark.filterwarnings("ignore::hemera.errors.SecurityWarning")
def test_studies_find_what_the_pooled_rows_say():
    linear = pytest.importorskip("sklearn.linear_model", reason="scikit-learn judges the regressions")
    own = runpy.run_path(str(SITES))
    rows = {name: own["rows_of"](seed) for seed, name in enumerate(own["SITES"])}
    found = own["run"](rows)
    pooled = {key: np.concatenate([each[key] for each in rows.values()]) for key in rows["a"]}
    for name in own["SITES"]:
        (mean, variance), histogram, survival, logistic, poisson = found[name]
        assert (mean, variance) == pytest.approx((pooled["age"].mean(), pooled["age"].var(ddof=1)), rel=1e-12)
        assert histogram.tolist() == np.histogram(pooled["age"], bins=range(20, 101, 10))[0].tolist()
        alive, curve = 1.0, []
        for month in range(1, 25):
            at_risk = sum(months >= month for months in pooled["months"])
            alive *= 1 - sum(pooled["died"][pooled["months"] == month]) / at_risk
            curve.append(alive)
        np.testing.assert_allclose(survival, curve, rtol=1e-12)
        judge = linear.LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10, max_iter=1000)
        right = judge.fit(pooled["x"], pooled["died"]).coef_[0]
        np.testing.assert_allclose(logistic, right, atol=1e-5)
        judge = linear.PoissonRegressor(alpha=0, fit_intercept=False, tol=1e-10, max_iter=1000)
        np.testing.assert_allclose(poisson, judge.fit(pooled["x"], pooled["visits"]).coef_, atol=1e-5)


@pytest.mark.filterwarnings("ignore")
def test_survival_is_that_of_lifelines():
    lifelines = pytest.importorskip(
        "lifelines", reason="lifelines is not installed: tools/setup frameworks brings it"
    )
    own = runpy.run_path(str(SITES))
    rows = {name: own["rows_of"](seed) for seed, name in enumerate(own["SITES"])}
    survival = own["run"](rows)["a"][2]
    pooled = {key: np.concatenate([each[key] for each in rows.values()]) for key in ("months", "died")}
    judge = lifelines.KaplanMeierFitter().fit(pooled["months"], pooled["died"])
    right = judge.survival_function_at_times(np.arange(1, 25))
    np.testing.assert_allclose(survival, right, rtol=1e-12)
