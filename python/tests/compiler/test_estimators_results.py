"""Compiled estimators on rows held out, against scikit-learn: in the clear and encrypted."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
)
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, RationalQuadratic, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestCentroid
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    MinMaxScaler,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.svm import SVC, SVR, NuSVC

import hemera as hm
from hemera.package.encodings import Table

from ..beside import printed
from ..refusals import raises

BITS = 16
OPTIONS = {"precision_bits": BITS, "security": None}
COUNT = 200
"""Rows of the training; the next 60 are the unseen ones."""


def _data(load):
    """Rows and targets of the training, and rows held out."""
    rows, targets = load(return_X_y=True)
    order = np.random.default_rng(1).permutation(len(rows))
    rows, targets = rows[order], targets[order]
    count = min(COUNT, len(rows) // 2)
    return rows[:count], targets[:count], rows[count : count + 60]


DATA = {
    name: _data(load)
    for name, load in {
        "iris": load_iris,
        "cancer": load_breast_cancer,
        "diabetes": load_diabetes,
        "digits": load_digits,
    }.items()
}


def _network(activation, **options):
    return MLPClassifier((8,), activation=activation, max_iter=400, random_state=0, **options)


MODELS = {
    "linear with a link": ("diabetes", PoissonRegressor(alpha=1e-3)),
    "linear, several classes": ("digits", make_pipeline(MinMaxScaler(clip=True), LogisticRegression())),
    "kernel rbf, two classes": ("cancer", make_pipeline(StandardScaler(), SVC())),
    "kernel rbf, pairs": ("iris", SVC(decision_function_shape="ovo")),
    "kernel poly": ("iris", make_pipeline(StandardScaler(), SVC(kernel="poly", degree=3, coef0=1))),
    "kernel rbf, narrow": ("iris", SVC(gamma=50.0)),
    "kernel sigmoid": ("iris", make_pipeline(StandardScaler(), NuSVC(kernel="sigmoid", gamma=0.05, nu=0.3))),
    "kernel linear, three classes": ("iris", SVC(kernel="linear")),
    "kernel ridge": ("diabetes", KernelRidge(kernel="rbf", gamma=5.0, alpha=0.1)),
    "network, tanh": ("cancer", make_pipeline(StandardScaler(), PCA(8), _network("tanh"))),
    "network, logistic, three classes": ("iris", make_pipeline(StandardScaler(), _network("logistic"))),
    "network, relu": ("iris", make_pipeline(StandardScaler(), _network("relu"))),
    "network, regression": (
        "diabetes",
        make_pipeline(
            StandardScaler(),
            MLPRegressor(hidden_layer_sizes=(8, 4), activation="tanh", max_iter=300, random_state=0),
        ),
    ),
    "naive Bayes, Gaussian": ("cancer", GaussianNB()),
    "naive Bayes, bits": ("digits", BernoulliNB(binarize=7.5)),
    "naive Bayes, scaled bits": (
        "digits",
        make_pipeline(MinMaxScaler(), Binarizer(threshold=0.4), BernoulliNB()),
    ),
    "linear discriminant": ("iris", LinearDiscriminantAnalysis()),
    "quadratic discriminant": ("iris", QuadraticDiscriminantAnalysis()),
    "clusters": ("digits", KMeans(10, random_state=0)),
    "centroids": ("iris", NearestCentroid()),
    "neighbours": ("cancer", KNeighborsClassifier(3)),
    "neighbours by distance": ("cancer", KNeighborsClassifier(7, weights="distance")),
    "Gaussian process": (
        "diabetes",
        GaussianProcessRegressor(
            ConstantKernel(1.0) * RBF(0.2) + WhiteKernel(0.5), normalize_y=True, optimizer=None
        ),
    ),
    "Gaussian process, several scales": (
        "diabetes",
        GaussianProcessRegressor(
            DotProduct() + RBF(np.linspace(0.1, 0.4, 10)) * RationalQuadratic(0.3, 2.0) + WhiteKernel(0.5),
            normalize_y=True,
            optimizer=None,
        ),
    ),
    "products of features": ("diabetes", make_pipeline(PolynomialFeatures(2), Ridge())),
    "columns": (
        "cancer",
        make_pipeline(
            make_column_transformer(
                (StandardScaler(), [3, 1, 0]), (MinMaxScaler(), slice(5, 9)), remainder="drop"
            ),
            LogisticRegression(),
        ),
    ),
    "soft votes": (
        "iris",
        VotingClassifier([("a", LogisticRegression()), ("b", GaussianNB())], voting="soft", weights=[1, 2]),
    ),
    "stack": ("diabetes", StackingRegressor([("a", Ridge()), ("b", SVR(C=10))], passthrough=True)),
}


def _fitted(name):
    """A model, rows of its training, and rows held out."""
    data, model = MODELS[name]
    rows, targets, unseen = DATA[data]
    if data == "iris":
        targets = load_iris().target_names[targets]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(rows, targets), rows, unseen


def _quiet(model, method, rows):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(getattr(model, method)(rows))


@pytest.mark.parametrize("name", MODELS)
def test_scores_are_within_the_stated_error_and_results_are_the_librarys(name):
    model, rows, unseen = _fitted(name)
    plan = hm.compile(model, calibrate=rows, **OPTIONS)
    exact, found = (plan.scores(unseen, exact=each) for each in (True, False))
    size = max(1.0, np.abs(exact).max())
    # Rounding of numbers in double precision comes on top.
    assert np.abs(found - exact).max() <= plan.approximation_error + 1e-9 * size
    assert plan.approximation_error <= size * 2.0 ** (4 - BITS)
    for method in plan.methods:
        expected = _quiet(model, method, unseen)
        own, ideal = (each(unseen, method=method) for each in (plan.evaluate_clear, plan.clear))
        for result in (own, ideal):
            assert result.shape == expected.shape
            assert result.dtype == expected.dtype or expected.dtype.kind in "UO"
        if expected.dtype.kind == "f":
            whole = np.abs(expected).max()
            np.testing.assert_allclose(ideal, expected, rtol=1e-6, atol=1e-6 * whole)
            np.testing.assert_allclose(own, expected, rtol=2e-3, atol=2e-3 * whole)
        else:
            np.testing.assert_array_equal(ideal, expected)
            np.testing.assert_array_equal(own, expected)


def test_labels_are_equal_wherever_the_margin_is_above_the_error():
    model, rows, unseen = _fitted("kernel rbf, two classes")
    plan = hm.compile(model, calibrate=rows, precision_bits=3, security=None)
    # Rows between the classes: their scores cross 0.
    parts = np.linspace(0, 1, 400)[:, None]
    expected = model.predict(unseen)
    first, second = unseen[expected == 0][0], unseen[expected == 1][0]
    path = first * (1 - parts) + second * parts
    score = model.decision_function(path)
    error = plan.approximation_error
    clear = np.abs(score) > error
    assert 0 < error < 0.5
    assert clear.sum() > 100
    np.testing.assert_array_equal(plan.evaluate_clear(path)[clear], model.predict(path)[clear])


ENCRYPTED = (
    "linear with a link",
    "linear, several classes",
    "kernel rbf, two classes",
    "kernel poly",
    "network, tanh",
    "naive Bayes, bits",
    "quadratic discriminant",
    "clusters",
    "neighbours by distance",
    "products of features",
    "soft votes",
)


@pytest.mark.parametrize("name", ENCRYPTED)
def test_encrypted_results_are_the_clear_ones(name):
    model, rows, unseen = _fitted(name)
    plan = hm.compile(model, calibrate=rows, rows=16, **OPTIONS)
    local = plan.local()
    given = unseen[:21]  # two chunks, the last one not full
    clear = plan.scores(given)
    size = max(1.0, np.abs(clear).max())
    np.testing.assert_allclose(local.scores(given), clear, atol=size * 2.0**-BITS)
    method = plan.methods[0]
    expected = _quiet(model, method, given)
    own = getattr(local, method)(given)
    assert own.shape == expected.shape
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(own, expected, rtol=2e-3, atol=2e-3 * np.abs(expected).max())
    else:
        np.testing.assert_array_equal(own, expected)


def test_probabilities_of_large_scores_are_the_librarys():
    """A feature that one class has only as 0 gives joint logarithms of 10^9, whose differences count."""
    rng = np.random.default_rng(0)
    rows = (rng.normal(size=(129, 4)) > 0).astype(float)
    labels = (rows.sum(1) + rng.integers(0, 2, 129)).astype(int) // 2
    rows[labels == 0, 0] = 0
    classifier = GaussianNB().fit(rows, labels)
    model = hm.compile(classifier, calibrate=rows, security=None)
    assert np.abs(model.scores(rows)).max() > 1e8
    found = model.local(threads=1).predict_proba(rows[:40])
    np.testing.assert_allclose(found, classifier.predict_proba(rows[:40]), rtol=0, atol=2.0**-7)


def test_bits_that_are_told_are_those_of_the_rows():
    """A feature that is constant in the training has weights of 10^9, for values which rows do not have."""
    rows, targets, _ = DATA["iris"]
    given = np.concatenate([rows, np.full((len(rows), 1), 3.0)], axis=1)
    judge = GaussianNB().fit(given, targets)
    plan = hm.compile(judge, calibrate=given, rows=4, **OPTIONS)
    wanted = judge.predict_joint_log_proba(given)
    error = np.abs(plan.local().predict_joint_log_proba(given) - wanted).max()
    assert BITS - 1 <= plan.expected_bits() < -np.log2(error / np.abs(wanted).max()) + 3


@pytest.mark.parametrize("bits", [6, 12])
def test_small_sums_of_large_terms_have_their_bits(bits):
    """Kernels of features far from 0 are of size 10^8, and scores of size 10."""
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(44, 7)) + 100 * rng.normal(size=7)
    targets = np.digitize((rows - rows.mean(axis=0)).sum(axis=1), [-1, 1])
    judge = NuSVC(kernel="poly", degree=2, gamma="auto").fit(rows, targets)
    plan = hm.compile(judge, calibrate=rows, rows=1, precision_bits=bits, security=None)
    wanted, found = plan.scores(rows, exact=True), plan.local().scores(rows)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=np.abs(wanted).max() * 2.0 ** (1 - bits))
    assert plan.expected_bits() >= bits - 1


def test_whole_features_are_rounded():
    rows = np.random.default_rng(0).integers(-50, 50, (40, 4))
    judge = SelectKBest(f_regression, k=2).fit(rows, rows[:, 0] + rows[:, 2])
    found = hm.compile(judge, calibrate=rows, rows=8, **OPTIONS).local().transform(rows)
    np.testing.assert_array_equal(found, judge.transform(rows), strict=True)


def test_methods_are_those_of_the_estimator():
    model, rows, unseen = _fitted("linear, several classes")
    plan = hm.compile(model, calibrate=rows, rows=8, **OPTIONS)
    local = plan.local()
    with pytest.raises(hm.errors.ParameterError, match="'transform': the estimator has predict, "):
        plan.clear(unseen, method="transform")
    assert hasattr(local, "predict_proba")
    assert not hasattr(local, "transform")
    assert {"predict", "predict_proba", "decision_function", "predict_log_proba"} <= set(dir(local))
    with pytest.raises(AttributeError, match="it has predict, "):
        _ = local.transform
    for method in ("predict_proba", "predict_log_proba", "decision_function"):
        expected = getattr(model, method)(unseen[:3])
        np.testing.assert_allclose(getattr(local, method)(unseen[:3]), expected, atol=1e-3)


def test_neighbours_at_one_distance_may_be_others():
    """Iris has flowers at equal distances, of which either may count: rows without them agree."""
    rows, targets = load_iris(return_X_y=True)
    model = KNeighborsRegressor(5).fit(rows, targets)
    far = np.sort(model.kneighbors(rows, 6)[0], axis=1)
    alone = far[:, 5] - far[:, 4] > 1e-6
    assert 100 < alone.sum() < 150
    plan = hm.compile(model, calibrate=rows, rows=4, **OPTIONS)
    np.testing.assert_allclose(plan.evaluate_clear(rows)[alone], model.predict(rows)[alone], atol=1e-9)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_neighbours_of_double_rows(count):
    """Every row of the training is there twice, with one label: which of both counts makes no difference."""
    rows, targets, unseen = DATA["iris"]
    model = KNeighborsClassifier(count).fit(np.repeat(rows, 2, axis=0), np.repeat(targets, 2))
    plan = hm.compile(model, calibrate=rows, rows=4, **OPTIONS)
    alone = KNeighborsClassifier(1).fit(rows, targets)
    expected = alone.predict(rows) if count < 3 else model.predict(rows)
    agree = plan.evaluate_clear(rows) == expected
    assert agree.all() if count < 3 else agree.mean() > 0.9
    assert (plan.evaluate_clear(unseen) == model.predict(unseen)).mean() > 0.9


@pytest.mark.parametrize("bits", [8, 16])
def test_inverses_of_distances_at_rows_of_the_training(bits):
    """Rows that are equal count alone and alike, and noise makes their distances neither 0 nor equal."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(40, 3)) * [1, 1, 100]
    rows[20:30], targets = rows[:10], rng.normal(size=(40, 2))
    near = rows[10:20] + rng.normal(size=(10, 3)) * [0.01, 0.01, 1]
    judge = KNeighborsRegressor(5, weights="distance").fit(rows, targets)
    near = near[np.diff(judge.kneighbors(near, 6)[0])[:, 4] > 1e-3]  # of equal ones either may count
    plan = hm.compile(judge, calibrate=rows, rows=16, precision_bits=bits, security=None)
    found, own = plan.local(), np.abs(targets).max()
    np.testing.assert_allclose(found.predict(rows), judge.predict(rows), rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.predict(near), judge.predict(near), rtol=0, atol=own * 2.0**-7)
    shares = KNeighborsClassifier(5, weights="distance").fit(rows, np.arange(40) % 3)
    plan = hm.compile(shares, calibrate=rows * 1.01, rows=16, precision_bits=bits, security=None)
    own = plan.local().predict_proba(rows)
    np.testing.assert_allclose(own, shares.predict_proba(rows), rtol=0, atol=1e-9)


def test_neighbours_of_double_rows_with_two_labels():
    """Nothing defines which one counts: either is a result, and there is nothing to compare."""
    rows, targets, _ = DATA["iris"]
    both = np.concatenate([targets, (targets + 1) % 3])
    model = KNeighborsClassifier(1).fit(np.concatenate([rows, rows]), both)
    plan = hm.compile(model, calibrate=rows, rows=4, **OPTIONS)
    found = plan.evaluate_clear(rows)
    assert ((found == targets) | (found == (targets + 1) % 3)).all()


@pytest.mark.parametrize("weights", [{"a": 3.0, "b": 0.5}, {"a": -2.0}, {"b": 0.0}, {}, None])
def test_weights_of_transformers(weights):
    rows, targets, unseen = DATA["iris"]
    parts = [("a", StandardScaler(), [0, 1]), ("b", MinMaxScaler(), [2, 3])]
    union = [("a", StandardScaler()), ("b", PCA(2))]
    for whole in (
        ColumnTransformer(parts, transformer_weights=weights),
        FeatureUnion(union, transformer_weights=weights),
    ):
        whole.fit(rows)
        plan = hm.compile(whole, calibrate=rows, rows=4, **OPTIONS)
        np.testing.assert_allclose(plan.evaluate_clear(unseen), whole.transform(unseen), atol=1e-6)
        model = make_pipeline(whole, Ridge()).fit(rows, targets)
        plan = hm.compile(model, calibrate=rows, rows=4, **OPTIONS)
        np.testing.assert_allclose(plan.evaluate_clear(unseen), model.predict(unseen), atol=1e-6)


@pytest.mark.parametrize(
    "columns",
    [
        *(["b", "d"], "c", ["d", "a"], slice("b", "c"), slice("b", None), slice(None, "c")),
        *(slice("c", "c"), slice(1, 3), slice(-2, None), [-1, 0], [True, False, False, True]),
    ],
    ids=str,
)
def test_every_way_to_name_columns(columns):
    """Slices of names take their last column, as those of pandas; slices of numbers do not."""
    rows, _, unseen = DATA["iris"]
    given = [columns] if isinstance(columns, str) else columns
    frame, others = (pd.DataFrame(each, columns=list("abcd")) for each in (rows, unseen))
    whole = ColumnTransformer([("a", MinMaxScaler(), given)]).fit(frame)
    plan = hm.compile(whole, calibrate=frame, rows=4, **OPTIONS)
    np.testing.assert_allclose(plan.evaluate_clear(others), whole.transform(others), atol=1e-6)


def test_boosted_trees_after_scalers_have_a_way_out():
    """The module of their class decides: the libraries need not be there."""
    booster = type("XGBClassifier", (BaseEstimator,), {"__module__": "xgboost.sklearn"})()
    with pytest.raises(TypeError, match="boosted trees are compiled by themselves, or after a KBins"):
        hm.compile(make_pipeline(StandardScaler(), booster), calibrate=np.ones((2, 3)))


@pytest.mark.parametrize("count", [1, 7, 8, 9])
def test_any_number_of_rows(count):
    model, rows, unseen = _fitted("quadratic discriminant")
    plan = hm.compile(model, calibrate=rows, rows=8, **OPTIONS)
    assert plan.rows == 8
    np.testing.assert_array_equal(plan.evaluate_clear(unseen[:count]), model.predict(unseen[:count]))


def test_the_last_chunk_is_filled_up_with_rows_of_the_table():
    """What is filled up is within the ranges of values in between, as the rows are."""
    model, rows, unseen = _fitted("linear with a link")
    plan = hm.compile(model, calibrate=rows, rows=8, **OPTIONS)
    encoding = plan.package.interface.encoding
    assert isinstance(encoding, Table)
    chunks = encoding.prepared(unseen[:11])
    assert chunks.shape == (2, 8, 10)
    flat = chunks.reshape(16, 10)
    np.testing.assert_array_equal(flat[11:], np.repeat(flat[10:11], 5, axis=0))
    np.testing.assert_array_equal(flat[:11], encoding.scaling(unseen[:11]))


@pytest.mark.parametrize(
    ("name", "depth"),
    [
        ("linear with a link", 1),
        ("linear, several classes", 1),
        ("kernel linear, three classes", 1),
        ("kernel poly", 2 + 2),
        ("naive Bayes, Gaussian", 2),
        ("naive Bayes, bits", 1),
        ("linear discriminant", 1),
        ("quadratic discriminant", 3),
        ("clusters", 2),
        ("centroids", 2),
        ("neighbours", 2),
        ("columns", 1),
        ("products of features", 2 + 1),
    ],
)
def test_depths_are_those_of_the_page(name, depth):
    model, rows, _ = _fitted(name)
    assert hm.compile(model, calibrate=rows, rows=2, **OPTIONS).depth == depth


# --- Trees. ---


def test_boosted_trees_are_compiled_to_integers():
    frame = load_iris(as_frame=True)
    named = load_iris().target_names[frame.target]
    classes = GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0).fit(frame.data, named)
    plan = hm.compile(classes, calibrate=frame.data, name="irises")
    assert (plan.package.scheme, plan.package.name, plan.methods) == ("bfv", "irises", ("predict",))
    np.testing.assert_array_equal(plan.evaluate_clear(frame.data), classes.predict(frame.data))
    local = plan.local()
    for count in (1, 33):
        own = local.predict(frame.data[:count])
        np.testing.assert_array_equal(own, classes.predict(frame.data[:count]))
    values = HistGradientBoostingRegressor(max_iter=3, max_depth=2, min_samples_leaf=5)
    values.fit(frame.data, frame.target)
    found = hm.compile(values, calibrate=frame.data, watch=False).local().predict(frame.data[::10])
    np.testing.assert_allclose(found, values.predict(frame.data[::10]), atol=1e-3)
    with pytest.raises(hm.errors.ParameterError, match="take no rows, precision_bits"):
        hm.compile(values, rows=4, precision_bits=12)


# --- Clients. ---


def test_tables_of_pandas_by_the_names_of_their_columns():
    frame = load_iris(as_frame=True)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(frame.data, frame.target)
    plan = hm.compile(model, calibrate=frame.data, rows=32, **OPTIONS)
    np.testing.assert_array_equal(plan.evaluate_clear(frame.data), model.predict(frame.data))
    np.testing.assert_array_equal(plan.local().predict(frame.data[:5]), model.predict(frame.data[:5]))
    with pytest.raises(hm.errors.MismatchError, match="give the columns in the model's order"):
        plan.evaluate_clear(frame.data[frame.data.columns[::-1]])


def test_columns_by_name_in_a_column_transformer():
    frame = load_breast_cancer(as_frame=True)
    chosen = ["worst area", "mean radius"]
    columns = make_column_transformer((StandardScaler(), chosen), ("passthrough", ["mean texture"]))
    model = make_pipeline(columns, LogisticRegression()).fit(frame.data, frame.target)
    plan = hm.compile(model, calibrate=frame.data, rows=16, **OPTIONS)
    own = plan.evaluate_clear(frame.data[:50], method="decision_function")
    np.testing.assert_allclose(own, model.decision_function(frame.data[:50]), atol=1e-6)


def test_rows_beyond_the_range_are_clipped_with_a_warning():
    model, rows, _ = _fitted("quadratic discriminant")
    plan = hm.compile(model, calibrate=rows, rows=4, **OPTIONS)
    far = rows[:3] + np.array([0, 1e6, 0, 0])
    with pytest.warns(hm.errors.HemeraWarning, match="column 1 has"):
        found = plan.evaluate_clear(far, method="decision_function")
    low, high = rows[:, 1].min(), rows[:, 1].max()
    far[:, 1] = high + (high - low) / 2  # the margin of a half
    np.testing.assert_allclose(found, model.decision_function(far), rtol=1e-6)


def test_a_scaler_that_clips_at_the_start_is_the_clients():
    rows, targets, unseen = DATA["iris"]
    model = make_pipeline(MinMaxScaler(clip=True), SVC()).fit(rows, targets)
    plan = hm.compile(model, calibrate=rows, rows=16, **OPTIONS)
    far = unseen * 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        own = plan.evaluate_clear(far, method="decision_function")
    np.testing.assert_allclose(own, model.decision_function(far), atol=1e-3)


def test_a_packaged_model_is_loaded_and_read():
    from hemera.serving import Package

    for name in ("soft votes", "neighbours by distance", "naive Bayes, scaled bits", "kernel rbf, pairs"):
        model, rows, unseen = _fitted(name)
        plan = hm.compile(model, calibrate=rows, rows=16, name="a model", **OPTIONS)
        package = Package.load(bytes(plan.package))
        assert package.interface.name == "a model"
        expected = model.predict(unseen)
        found = package.evaluate_clear(unseen)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype
        local = package.interface.encode(unseen[:3])
        assert [each.shape for each in local] == [(1, package.inputs[0].slots)]


# --- Refusals. ---


def test_rows_that_do_not_fit():
    model, rows, _ = _fitted("quadratic discriminant")
    raises(hm.errors.ParameterError, "they are sparse", lambda: hm.compile(model, calibrate=csr_array(rows)))
    raises(hm.errors.ParameterError, "at least one row", hm.compile, model, calibrate=rows, rows=0)
    raises(hm.errors.ParameterError, "give them as calibrate=", hm.compile, model, rows, calibrate=rows)
    plan = hm.compile(model, calibrate=rows, rows=4, **OPTIONS)
    for bad in (rows[:, :3], rows[0], rows[:0], np.full((1, 4), np.nan), [["a"] * 4]):
        raises(hm.errors.Error, "", plan.evaluate_clear, bad)


REFUSED = {
    "a kernel of its own": (SVC(kernel=lambda a, b: a @ b.T), "train it with one of linear"),
    "a kernel without a polynomial": (KernelRidge(kernel="laplacian"), "train it with one of linear"),
    "a metric": (KNeighborsClassifier(metric="manhattan"), "train it with metric='euclidean'"),
    "weights by a function": (KNeighborsClassifier(weights=lambda d: d), "weights='uniform' or 'distance'"),
    "a function": (
        make_pipeline(FunctionTransformer(np.log1p), LogisticRegression()),
        "apply it to the rows at the client",
    ),
    "a clip in the middle": (
        make_pipeline(PCA(2), MinMaxScaler(clip=True), LogisticRegression()),
        "train it with clip=False",
    ),
    "a threshold in the middle": (make_pipeline(PCA(2), BernoulliNB()), "train it with binarize=None"),
    "a threshold inside": (VotingClassifier([("a", BernoulliNB())]), "train it with binarize=None"),
    "two thresholds": (make_pipeline(Binarizer(), BernoulliNB(binarize=0.5)), "train it with binarize=None"),
    "distances in the middle": (make_pipeline(KMeans(3), LogisticRegression()), "ends at the client"),
    "a forest": (RandomForestClassifier(2), "train a GradientBoostingClassifier"),
    "a forest in a pipeline": (make_pipeline(PCA(2), RandomForestClassifier(2)), "compiled to BFV"),
    "boosted trees after a scaler": (
        make_pipeline(StandardScaler(), GradientBoostingClassifier(n_estimators=2)),
        "and compile the trees",
    ),
    "probabilities in a stack": (
        StackingClassifier([("a", LogisticRegression())]),
        "stack_method='decision_function'",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_settings_that_are_refused_with_a_way_out(name):
    model, way = REFUSED[name]
    rows, targets, _ = DATA["iris"]
    raises(TypeError, way, lambda: hm.compile(model.fit(rows, targets), calibrate=rows, **OPTIONS))


def test_estimators_that_are_not_fitted_and_types_that_are_not_theirs():
    rows, targets, _ = DATA["iris"]
    pipe = make_pipeline(StandardScaler(), LogisticRegression())
    for model in (SVC(), PCA(), pipe, KMeans(), MLPClassifier()):
        raises(hm.errors.ParameterError, "not fitted", hm.compile, model, calibrate=rows)

    class Own(LogisticRegression):
        """A subclass may predict otherwise."""

    class Another(BaseEstimator):
        pass

    with pytest.raises(TypeError, match="types are taken exactly"):
        hm.compile(make_pipeline(StandardScaler(), Own()).fit(rows, targets), calibrate=rows)
    for model in (Own().fit(rows, targets), Another()):
        raises(TypeError, "", hm.compile, model, calibrate=rows)


def test_compile_of_a_function_does_not_import_scikit_learn():
    code = (
        "import sys, numpy as np, hemera as hm; "
        "hm.compile(lambda x: x * 2, np.ones(4), calibrate=np.ones((1, 4))); "
        "assert 'sklearn' not in sys.modules"
    )
    printed(code)


def test_the_table_is_a_frame_of_the_package():
    """Rows of a frame with other columns than numbers are refused by name."""
    frame = load_iris(as_frame=True).data
    model = PCA(2).fit(frame)
    plan = hm.compile(model, calibrate=frame, rows=4, **OPTIONS)
    np.testing.assert_allclose(plan.evaluate_clear(frame), model.transform(frame), atol=1e-9)
    text = pd.DataFrame({name: ["x"] for name in frame.columns})
    raises(hm.errors.ParameterError, "no table of numbers", plan.evaluate_clear, text)
