"""Every estimator of scikit-learn: compiled, with scikit-learn's own results, or refused with a way out."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils import all_estimators

import hemera as hm
from hemera.compiler.estimators.reading import KNOWN
from hemera.compiler.estimators.trees import BOOSTED

RANDOM = np.random.default_rng(30)
ROWS = RANDOM.gamma(4, 0.5, size=(80, 4)) * [1, 3, 0.3, 2]
SCORE = (ROWS - ROWS.mean(axis=0)) / ROWS.std(axis=0) @ [1.0, -0.7, 0.4, 0.2]
VALUES = SCORE + 0.1 * RANDOM.normal(size=80)
THREE = np.array(["a", "b", "c"])[np.digitize(VALUES, [-0.6, 0.6])]
TWO = np.where(VALUES > 0, 7, 3)
POSITIVE = np.exp(VALUES / 2)
TARGETS = np.stack([VALUES, POSITIVE], axis=1)
LABELS = np.stack([TWO, THREE], axis=1)
UNSEEN = RANDOM.permuted(ROWS, axis=0)[:20]
"""Rows within the ranges of ROWS, of other combinations."""
BITS = 12

ARGUMENTS = {
    "FrozenEstimator": {"estimator": Ridge().fit(ROWS, VALUES)},
    "BaggingClassifier": {"estimator": LogisticRegression(), "n_estimators": 3},
    "BaggingRegressor": {"estimator": Ridge(), "n_estimators": 3, "max_features": 0.5},
    "ClassifierChain": {"estimator": LogisticRegression()},
    "ColumnTransformer": {"transformers": [("a", StandardScaler(), [2, 0]), ("b", "passthrough", [1])]},
    "FeatureUnion": {
        "transformer_list": [("a", StandardScaler()), ("b", SelectKBest(k=2))],
        "transformer_weights": {"a": 0.5},
    },
    "FixedThresholdClassifier": {"estimator": LogisticRegression()},
    "GridSearchCV": {"estimator": Ridge(), "param_grid": {"alpha": [1.0]}},
    "HalvingGridSearchCV": {"estimator": Ridge(), "param_grid": {"alpha": [1.0]}},
    "HalvingRandomSearchCV": {"estimator": Ridge(), "param_distributions": {"alpha": [1.0, 2.0]}},
    "MLPClassifier": {"hidden_layer_sizes": (6,), "activation": "tanh"},
    "MLPRegressor": {"hidden_layer_sizes": (6,), "activation": "logistic"},
    "MultiOutputClassifier": {"estimator": LogisticRegression()},
    "MultiOutputRegressor": {"estimator": Ridge()},
    "OneVsOneClassifier": {"estimator": LogisticRegression()},
    "OneVsRestClassifier": {"estimator": LogisticRegression()},
    "OutputCodeClassifier": {"estimator": LogisticRegression()},
    "Pipeline": {"steps": [("a", StandardScaler()), ("b", LogisticRegression())]},
    "RANSACRegressor": {"estimator": LinearRegression()},
    "RFE": {"estimator": Ridge()},
    "RFECV": {"estimator": Ridge()},
    "RandomizedSearchCV": {"estimator": Ridge(), "param_distributions": {"alpha": [1.0]}, "n_iter": 1},
    "RegressorChain": {"estimator": Ridge(), "order": [1, 0]},
    "SelectFdr": {"alpha": 0.5},
    "SelectFpr": {"alpha": 0.5},
    "SelectFromModel": {"estimator": Ridge()},
    "SelectFwe": {"alpha": 0.5},
    "SelectKBest": {"k": 2},
    "SelectPercentile": {"percentile": 50},
    "GenericUnivariateSelect": {"param": 50},
    "SelfTrainingClassifier": {"estimator": LogisticRegression()},
    "SequentialFeatureSelector": {"estimator": Ridge()},
    "SparseCoder": {"dictionary": np.eye(4)},
    "SparseRandomProjection": {"n_components": 3},
    "GaussianRandomProjection": {"n_components": 3},
    "StackingClassifier": {
        "estimators": [("a", LinearSVC()), ("b", LogisticRegression())],
        "stack_method": "decision_function",
    },
    "StackingRegressor": {"estimators": [("a", Ridge()), ("b", LinearRegression())]},
    "TransformedTargetRegressor": {"regressor": Ridge(), "transformer": MinMaxScaler((-3, 5))},
    "TunedThresholdClassifierCV": {"estimator": LogisticRegression()},
    "VotingClassifier": {
        "estimators": [("a", LogisticRegression()), ("b", LogisticRegression(C=0.01))],
        "voting": "soft",
        "weights": [2, 1],
    },
    "VotingRegressor": {"estimators": [("a", Ridge()), ("b", LinearRegression())], "weights": [2, 1]},
    "EllipticEnvelope": {"store_precision": False},
    "NuSVC": {"nu": 0.3},
    "RBFSampler": {"n_components": 8, "gamma": 0.05},
    "Nystroem": {"n_components": 8},
    "KernelPCA": {"n_components": 2, "kernel": "rbf"},
    "GaussianMixture": {"n_components": 2, "random_state": 0},
    "KMeans": {"n_clusters": 3, "random_state": 0},
    "MiniBatchKMeans": {"n_clusters": 3, "random_state": 0},
    "GammaRegressor": {},
}
"""Arguments of constructors that need some, and settings that make a test worth it."""
TARGETS_OF = {
    **dict.fromkeys(["GammaRegressor", "PoissonRegressor", "TweedieRegressor"], POSITIVE),
    **dict.fromkeys(["TunedThresholdClassifierCV", "FixedThresholdClassifier"], TWO),
    "SelfTrainingClassifier": np.where(np.arange(len(TWO)) % 5, TWO, -1),
    **dict.fromkeys(["MultiOutputRegressor", "RegressorChain"], TARGETS),
    **dict.fromkeys(["CCA", "PLSCanonical", "PLSRegression", "PLSSVD"], TARGETS),
    "MultiOutputClassifier": LABELS,
    **dict.fromkeys(
        ["GenericUnivariateSelect", "SelectFdr", "SelectFpr", "SelectFwe", "SelectKBest", "SelectPercentile"],
        THREE,
    ),
    **dict.fromkeys(["NeighborhoodComponentsAnalysis", "Pipeline"], THREE),
    "ClassifierChain": np.stack([TWO, TWO[::-1]], axis=1) > 5,
}


def _kinds():
    import sklearn.experimental.enable_halving_search_cv
    import sklearn.experimental.enable_iterative_imputer  # noqa: F401

    return dict(all_estimators())


KINDS = {
    **_kinds(),
    "Pipeline": Pipeline,
    "FeatureUnion": FeatureUnion,
    "ColumnTransformer": ColumnTransformer,
}


PAGE = (Path(__file__).parents[3] / "docs" / "compile-estimators.md").read_text(encoding="utf-8")
COMPILED_ROWS, REFUSED_ROWS = (
    [line for line in part.splitlines() if line.startswith("| `")]
    for part in PAGE.split("## Estimators")[1].split("## What is refused")
)
LISTED = {
    name: row.split("|")[2]
    for row in COMPILED_ROWS
    for name in re.findall(r"`([A-Z]\w+)`", row.split("|")[1])
}
"""What the page says of the methods of each."""


def _targets(name, kind):
    if name in TARGETS_OF:
        return TARGETS_OF[name]
    if name.startswith("MultiTask"):
        return TARGETS
    is_classifier = getattr(kind, "_estimator_type", "") == "classifier" or "Classif" in str(kind.__mro__)
    return THREE if is_classifier else VALUES


def _fitted(name):
    """A fitted estimator; None where rows of numbers are not what it is fitted on."""
    kind = KINDS[name]
    own = kind(**ARGUMENTS.get(name, {}))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return own.fit(ROWS, _targets(name, kind))
    except (TypeError, ValueError, AttributeError):
        return None


@pytest.mark.parametrize("name", sorted(set(KINDS) - {*KNOWN, *BOOSTED}))
def test_others_are_refused_with_a_way_out(name):
    model = _fitted(name)
    if model is None:
        model = KINDS[name](**ARGUMENTS.get(name, {}))
    with pytest.raises(TypeError, match=rf"{name} is not compiled: .*(;|:|, and|they are|it is) ") as caught:
        hm.compile(model, calibrate=ROWS)
    told = str(caught.value)
    ways = ("train ", "take ", "apply it", "compile ", "give ", "write ", "they are the client's own")
    assert any(way in told for way in ways)
    assert "lists the estimators that are" not in told, "the reason is not its own"


def _agrees(own, expected, slack):
    assert own.shape == expected.shape
    assert own.dtype == expected.dtype or {own.dtype.kind, expected.dtype.kind} <= {"U", "O"}
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(own, expected, rtol=slack, atol=slack * max(1.0, np.abs(expected).max()))
    else:
        assert (own == expected).mean() >= 0.9


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_compiled_ones_agree(name):
    model = _fitted(name)
    assert model is not None
    plan = hm.compile(model, calibrate=ROWS, precision_bits=BITS, rows=8, security=None)
    assert plan.methods
    assert "those of" in LISTED[name] or all(f"`{method}`" in LISTED[name] for method in plan.methods)
    for method in plan.methods:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = np.asarray(getattr(model, method)(UNSEEN))
        _agrees(plan.clear(UNSEEN, method=method), expected, 1e-6)
        _agrees(plan.evaluate_clear(UNSEEN, method=method), expected, 0.02)


def test_at_least_30_are_compiled():
    assert len(KNOWN) >= 30
    assert set(KNOWN) <= set(KINDS)


def test_the_page_lists_exactly_the_compiled_ones():
    assert sorted(LISTED) == sorted([*KNOWN, *BOOSTED])
    for row in REFUSED_ROWS:
        for name in re.findall(r"`([A-Z][a-zA-Z]+)`", row.split("|")[1]):
            assert name not in KNOWN or f"`{name}` of a function" in row
            assert name in KINDS


@pytest.mark.parametrize("classifier", [LogisticRegression(), LinearSVC()])
@pytest.mark.parametrize("positive", ["no", "yes"])
@pytest.mark.parametrize("threshold", ["auto", 0.2, 0.9, -0.7, 0.0])
def test_thresholds_of_the_library(classifier, positive, threshold):
    """At rows on both sides of each, encrypted; a probability is never below 0."""
    labels, name = np.where(VALUES > 0, "yes", "no"), "auto" if hasattr(classifier, "predict_proba") else ""
    options = {"threshold": threshold, "response_method": name or "decision_function"}
    model = FixedThresholdClassifier(classifier, pos_label=positive, **options).fit(ROWS, labels)
    if name and threshold in (0.0, -0.7):
        with pytest.raises(TypeError, match="a probability is always, or never, at least"):
            hm.compile(model, calibrate=ROWS)
        return
    run = hm.compile(model, calibrate=ROWS, precision_bits=BITS, rows=32, security=None).local(threads=1)
    expected = model.predict(UNSEEN)
    assert (run.predict(UNSEEN) == expected).all()
    other = model.set_params(threshold=0.5 if name else 0.1).predict(UNSEEN)
    assert threshold in ("auto", 0.0, 0.2) or (other != expected).any()
