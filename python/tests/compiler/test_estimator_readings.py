"""Readings of estimators over their settings and targets, on rows held out: the judge is scikit-learn."""

import inspect
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.gaussian_process import kernels
from sklearn.pipeline import make_pipeline

import hemera as hm
from hemera.compiler.estimators import compiling
from hemera.compiler.estimators.features import Features
from hemera.compiler.estimators.reading import KNOWN, read
from hemera.errors import MismatchError, ParameterError
from hemera.package.finishing import finished

from ..refusals import raises
from .test_estimators_all import ARGUMENTS, KINDS

sk = SimpleNamespace(**KINDS)
Ridge, Logistic = sk.Ridge, sk.LogisticRegression
RANDOM = np.random.default_rng(7)
ROWS = RANDOM.gamma(4, 0.5, size=(150, 4)) * [1, 3, 0.3, 2]
UNSEEN = RANDOM.gamma(4, 0.5, size=(100, 4)) * [1, 3, 0.3, 2]
SCORE = (ROWS - ROWS.mean(axis=0)) / ROWS.std(axis=0) @ [1.0, -0.7, 0.4, 0.2] + RANDOM.normal(size=150) / 2
THREE = np.digitize(SCORE, [-1.0, 0.2])
FEW = SCORE > 1.2
"""A class of an eighth of the rows, whose prior is not that of the other."""
CLASSES = {
    "two": np.where(FEW, 7, 3),
    "two, the first one rare": np.where(FEW, -1, 4),
    "truth values": FEW,
    "two words": np.where(FEW, "yes", "no"),
    "three words": np.array(["c", "b", "a"])[THREE],
    "four": THREE + FEW,
}


def fitted(model, targets=None, rows=ROWS):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(rows, targets)


def require_the_librarys(model, unseen=UNSEEN):
    own = read(model)
    assert own.methods
    scale, offset = np.linspace(0.5, 3, unseen.shape[1]), np.linspace(1, -2, unseen.shape[1])
    features = Features((unseen - offset) / scale, scale, offset)
    scores = np.asarray(own.run(features).array, np.float64)
    for method, steps in own.methods.items():
        if not hasattr(model, method):
            continue
        expected = np.asarray(getattr(model, method)(unseen))
        found = np.asarray(finished(scores, steps))
        assert found.size == expected.size, method
        found = found.reshape(expected.shape)
        if expected.dtype.kind == "f":
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())
        else:
            np.testing.assert_array_equal(found, expected, method)


OF_CLASSES = sorted(
    name
    for name in KNOWN
    if name not in ("Pipeline", "MultiOutputClassifier", "BernoulliNB", "KNeighborsClassifier")
    # scikit-learn's thresholds are of two classes, and the label -1 is none in its self-training.
    and name not in ("FixedThresholdClassifier", "SelfTrainingClassifier")
    and not name.endswith("CV")
    and is_classifier(KINDS[name](**ARGUMENTS.get(name, {})))
)


@pytest.mark.parametrize("name", OF_CLASSES)
def test_classes_of_any_number_size_and_type(name):
    for targets in CLASSES.values():
        require_the_librarys(fitted(KINDS[name](**ARGUMENTS.get(name, {})), targets))


def settings(kind, **choices):
    """A model for each of the settings, one at a time."""
    for name, values in choices.items():
        for value in values:
            yield kind(**({name: value} if name in inspect.signature(kind).parameters else value))


KERNELS = [
    {"kernel": "poly", "degree": 1, "coef0": 2.0},
    {"kernel": "poly", "degree": 2, "gamma": 0.3},
    {"kernel": "poly", "degree": 4, "gamma": 0.1, "coef0": 0.5},
    {"kernel": "rbf", "gamma": 0.2},
    {"kernel": "sigmoid", "gamma": 0.01, "coef0": -0.3},
    {"kernel": "linear"},
]
OF_GAUSSIANS = [
    kernels.ConstantKernel(2.0) * kernels.RBF(0.7) + kernels.WhiteKernel(0.1),
    kernels.RBF([0.5, 2.0, 0.1, 1.0]),
    kernels.DotProduct(3.0) ** 2,
    kernels.RationalQuadratic(1.5, 0.4) * kernels.ConstantKernel(0.3) + kernels.DotProduct(0.0),
]
SGD_LOSSES = ["hinge", "log_loss", "modified_huber", "squared_hinge", "perceptron", "squared_error", "huber"]
PAIRS = sk.SVC(decision_function_shape="ovo")
CLASSIFIERS = [
    *settings(sk.SVC, own=KERNELS, break_ties=[True], decision_function_shape=["ovo"]),
    *settings(sk.NuSVC, own=[{"nu": 0.2, **each} for each in KERNELS[2:4]]),
    *settings(sk.ComplementNB, norm=[True], alpha=[0.1], fit_prior=[False]),
    *settings(sk.MultinomialNB, fit_prior=[False], class_prior=[[0.2, 0.3, 0.5]]),
    *settings(sk.GaussianNB, priors=[[0.2, 0.3, 0.5]], var_smoothing=[0.1]),
    *settings(sk.NearestCentroid, priors=["empirical", [0.2, 0.2, 0.6]], shrink_threshold=[0.5]),
    *settings(sk.LinearDiscriminantAnalysis, solver=["svd", "lsqr", "eigen"], n_components=[1]),
    *settings(sk.QuadraticDiscriminantAnalysis, reg_param=[0.3], priors=[[0.2, 0.2, 0.6]]),
    *settings(sk.KNeighborsClassifier, n_neighbors=[1, 4, 150], weights=["distance"], p=[2]),
    *settings(sk.MLPClassifier, activation=["identity", "logistic", "tanh", "relu"]),
    *settings(sk.SGDClassifier, loss=SGD_LOSSES),
    *settings(Logistic, fit_intercept=[False], class_weight=["balanced"]),
    sk.VotingClassifier(
        [("a", sk.GaussianNB()), ("b", "drop"), ("c", Logistic())], voting="soft", weights=[1, 9, 3]
    ),
    sk.VotingClassifier([("a", sk.GaussianNB()), ("b", sk.SVC()), ("c", Logistic())], weights=[5, 1, 1]),
    sk.BaggingClassifier(sk.GaussianNB(), 3, max_features=2, bootstrap_features=True, random_state=0),
    *settings(sk.OneVsRestClassifier, estimator=[sk.SVC(), Logistic(class_weight="balanced")]),
    sk.StackingClassifier([("a", sk.LinearSVC()), ("b", PAIRS)], stack_method="decision_function"),
    make_pipeline(sk.PolynomialFeatures(2), sk.StandardScaler(), sk.PCA(3, whiten=True), Logistic()),
]
REGRESSORS = [
    *settings(sk.SVR, own=KERNELS, C=[30.0], epsilon=[99.0]),
    *settings(sk.KernelRidge, own=KERNELS),
    *settings(sk.GaussianProcessRegressor, own=[{"kernel": each, "alpha": 0.1} for each in OF_GAUSSIANS]),
    *settings(sk.KNeighborsRegressor, n_neighbors=[1, 6], weights=["distance"]),
    *settings(sk.MLPRegressor, activation=["identity", "logistic", "tanh", "relu"]),
    sk.VotingRegressor([("a", Ridge()), ("b", "drop"), ("c", sk.SVR())], weights=[1, 9, 3]),
    sk.VotingRegressor([("a", Ridge()), ("b", sk.KNeighborsRegressor(3))], weights=[1, 3]),
    sk.BaggingRegressor(Ridge(), 3, max_features=2, bootstrap_features=True, random_state=0),
    sk.StackingRegressor([("a", Ridge()), ("b", sk.SVR())], final_estimator=Ridge(), passthrough=True),
]
TRANSFORMERS = [
    *settings(sk.StandardScaler, with_mean=[False], with_std=[False]),
    *settings(sk.MinMaxScaler, feature_range=[(-2, 5)]),
    *settings(sk.RobustScaler, with_centering=[False], with_scaling=[False], quantile_range=[(10.0, 70.0)]),
    sk.MaxAbsScaler(),
    *settings(sk.PolynomialFeatures, degree=[1, 3, (2, 3)], include_bias=[False], interaction_only=[True]),
    *settings(sk.PCA, n_components=[2], whiten=[True]),
    *settings(sk.KernelPCA, own=[{"n_components": 3, **each} for each in KERNELS]),
    *settings(sk.Nystroem, own=[{"n_components": 9, **each} for each in KERNELS]),
    sk.KMeans(3, n_init=1, random_state=0),
    sk.FeatureUnion([("a", sk.PCA(2)), ("b", "drop"), ("c", "passthrough")], transformer_weights={"c": -3}),
    sk.ColumnTransformer(
        [("a", sk.StandardScaler(), [3, 1]), ("b", "passthrough", [0]), ("c", sk.MaxAbsScaler(), [])],
        remainder="passthrough",
        transformer_weights={"b": 0.5},
    ),
]


@pytest.mark.parametrize("model", CLASSIFIERS, ids=str)
def test_settings_of_classifiers(model):
    require_the_librarys(fitted(model, THREE))


@pytest.mark.parametrize("model", REGRESSORS, ids=str)
def test_settings_of_regressors(model):
    require_the_librarys(fitted(model, SCORE))


@pytest.mark.parametrize("model", TRANSFORMERS, ids=str)
def test_settings_of_transformers(model):
    require_the_librarys(fitted(model))


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_models_without_targets(kind):
    require_the_librarys(fitted(sk.GaussianMixture(3, covariance_type=kind, random_state=0)))
    for model in settings(sk.OneClassSVM, own=[{"nu": 0.3, **each} for each in KERNELS[2:4]]):
        require_the_librarys(fitted(model))


OF_TARGETS = [
    *(sk.KernelRidge(kernel="rbf"), sk.KNeighborsRegressor(4), sk.MLPRegressor(hidden_layer_sizes=(5,))),
    Ridge(),
    *(sk.MultiOutputRegressor(sk.PoissonRegressor()), sk.RegressorChain(Ridge(), order=[2, 0, 1])),
]


@pytest.mark.parametrize("model", OF_TARGETS, ids=str)
def test_several_targets(model):
    require_the_librarys(fitted(model, np.stack([SCORE**2, np.abs(SCORE[::-1]), np.exp(SCORE)], axis=1)))


@pytest.mark.parametrize("size", [1.0, 64.0, 4096.0])
def test_sums_of_kernels_that_cancel_have_their_bits(size):
    """Each row of the training stands twice, with weights whose sum is 1: results do not grow with them."""
    model = fitted(sk.KernelRidge(kernel="rbf", gamma=0.1), SCORE)
    model.X_fit_, model.dual_coef_ = np.repeat(ROWS[:10], 2, axis=0), np.tile([size, 1 - size], 10)
    expected = model.predict(ROWS)
    plan = hm.compile(model, calibrate=ROWS, precision_bits=12, security=None, rows=4)
    assert np.abs(plan.scores(ROWS)[:, 0] - expected).max() <= 2.0**-11.5 * np.abs(expected).max()


@pytest.mark.parametrize("scale", [1.0, 2.0**-7, 2.0**7])
def test_networks_have_their_bits_whatever_the_size_of_their_values(scale):
    model = fitted(sk.MLPRegressor(hidden_layer_sizes=(5,), random_state=0, max_iter=50), SCORE)
    model.coefs_ = [model.coefs_[0] * scale, model.coefs_[1] / scale]
    model.intercepts_[0] = model.intercepts_[0] * scale
    expected = model.predict(ROWS)
    plan = hm.compile(model, calibrate=ROWS, precision_bits=10, security=None, rows=4)
    assert np.abs(plan.scores(ROWS)[:, 0] - expected).max() <= 2.0**-9.5 * np.abs(expected).max()


def require_watched(model, told, *, taken):
    """A model whose predictions on ROWS are others than those of what was read."""
    options = {"calibrate": ROWS, "rows": 2, "precision_bits": 4, "security": None}
    if taken:
        assert hm.compile(model, **options)
    else:
        raises(MismatchError, told, hm.compile, model, **options)


@pytest.mark.parametrize(("wrong", "taken"), [(0, True), (3, True), (4, False)])
def test_labels_may_differ_for_two_percent_of_the_rows(wrong, taken):
    """There are 150 rows: near ties a label may be another one; numbers may not."""
    model = fitted(sk.LinearSVC(), THREE)
    labels = model.predict(ROWS)
    labels[10 : 10 + wrong] = (labels[10 : 10 + wrong] + 1) % 3
    model.predict = lambda _: labels
    require_watched(model, r"LinearSVC.predict gives . for row 10, .*; 4 of 150 rows differ", taken=taken)


@pytest.mark.parametrize(("off", "taken"), [(1e-6, True), (1e-3, False)])
def test_numbers_differ_by_rounding_alone(off, taken):
    model = fitted(Ridge(), SCORE)
    values = model.predict(ROWS)
    values[7] += off * np.abs(values).max()
    model.predict = lambda _: values
    require_watched(model, r"Ridge.predict gives .* for row 7, .*; 1 of 150 rows differ", taken=taken)


@pytest.mark.parametrize("margin", [0.0, 0.25, 0.5])
def test_ranges_of_features_are_widened_to_both_sides(margin):
    plan = hm.compile(fitted(Ridge(), SCORE), calibrate=ROWS, rows=2, margin=margin, security=None)
    scaling = plan.package.interface.encoding.scaling
    low, high = ROWS.min(axis=0), ROWS.max(axis=0)
    np.testing.assert_allclose(scaling.mean, (low + high) / 2)
    np.testing.assert_allclose(scaling.deviation, (high - low) / 2 * (1 + 2 * margin))
    assert plan.rows == 2


@pytest.mark.parametrize(("features", "rows"), [(4, 1024), (5, 512), (64, 64), (65, 32), (4096, 1)])
def test_default_rows_fill_4096_slots_with_the_widest_value(features, rows):
    """Up to 1,024 rows: a row takes the power of two that is not below its features."""
    few = np.zeros((3, features))
    found, samples = compiling._rows_and_samples(lambda x: x @ np.ones((features, 1)), few, None)
    assert (found, samples) == (rows, 2048)
    assert compiling._rows_and_samples(lambda x: x, few, 3)[0] == 3
    raises(ParameterError, "at least one row, not 0", compiling._rows_and_samples, lambda x: x, few, 0)


def test_features_that_do_not_vary_and_links():
    """A scaler divides by 1 there, and a centroid's deviation is 0."""
    rows, unseen = (np.concatenate([each, np.full((len(each), 1), 3.0)], axis=1) for each in (ROWS, UNSEEN))
    for model in (sk.StandardScaler(), sk.MinMaxScaler(), sk.RobustScaler(), sk.MaxAbsScaler()):
        require_the_librarys(fitted(model, rows=rows), unseen)
    require_the_librarys(fitted(sk.PoissonRegressor(), np.exp(SCORE), rows), unseen)
    for power, link in ((0, "auto"), (0, "log"), (1, "log"), (1.5, "auto"), (3, "auto")):
        require_the_librarys(fitted(sk.TweedieRegressor(power=power, link=link), np.exp(SCORE)))
