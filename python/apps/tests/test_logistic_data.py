"""Logistic regression: tables, their preparation before encryption, and the clear algorithm."""

import dataclasses

import numpy as np
import pytest

from hemera.errors import FileError, FormatError, MismatchError, ParameterError
from hemera_apps import logistic_regression as logistic
from hemera_apps import table_files
from hemera_apps.logistic_regression.clear import require_bounds
from hemera_apps.logistic_regression.preparation import Preparation


@pytest.fixture(scope="module")
def loans():
    return logistic.loan_applications(20_000, seed=3)


def test_made_up_loans_have_the_shape_that_is_documented(loans):
    assert loans.features.shape == (20_000, 25)
    # 12 numbers, then three choices with one 1 each.
    choices = loans.features[:, 12:]
    assert set(np.unique(choices)) == {0.0, 1.0}
    for first, last in ((0, 3), (3, 8), (8, 13)):
        np.testing.assert_array_equal(choices[:, first:last].sum(axis=1), 1)
    assert all(len(np.unique(column)) >= 4 for column in loans.features[:, :12].T)
    assert 0.45 < loans.labels.mean() < 0.55
    correlations = np.corrcoef(loans.features[:, :12].T)
    assert np.abs(correlations - np.eye(12)).max() > 0.5
    np.testing.assert_array_equal(
        logistic.loan_applications(50, 1).features[:7], logistic.loan_applications(50, 1).features[:7]
    )
    assert not np.array_equal(
        logistic.loan_applications(50, 1).features, logistic.loan_applications(50, 2).features
    )


def test_tables_split_and_fold(loans):
    training, held_out = loans.split(0.2, 1)
    assert (len(training), len(held_out)) == (16_000, 4_000)
    together = np.concatenate([training.features, held_out.features])
    np.testing.assert_array_equal(np.sort(together, axis=0), np.sort(loans.features, axis=0))
    folds = held_out.folds(4, 1)
    assert [len(fold) for fold in folds] == [3_000] * 4
    # Each sample lacks in one fold.
    all_of_them = np.sort(np.concatenate([fold.features[:, 1] for fold in folds]))
    np.testing.assert_array_equal(all_of_them, np.sort(np.repeat(held_out.features[:, 1], 3)))
    with pytest.raises(ParameterError, match="held out"):
        training.split(1.5, 0)
    with pytest.raises(ParameterError, match="folds"):
        training.folds(1, 0)


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_a_table_of_the_user(tmp_path):
    pytest.importorskip("pandas")
    file = write(
        tmp_path / "pets.csv", "weight,kind,kept\n4.5,cat,yes\n30,dog,no\n3.5,cat,no\n0.1,bird,yes\n"
    )
    table = logistic.read_table(file, "kept")
    assert table.columns == ("weight", "kind_bird", "kind_cat", "kind_dog")
    np.testing.assert_array_equal(
        table.features, [[4.5, 0, 1, 0], [30, 0, 0, 1], [3.5, 0, 1, 0], [0.1, 1, 0, 0]]
    )
    np.testing.assert_array_equal(table.labels, [1, 0, 0, 1])
    np.testing.assert_array_equal(logistic.read_table(file, "kept", positive="no").labels, [0, 1, 1, 0])


@pytest.mark.parametrize(
    ("text", "label", "options", "error", "words"),
    [
        ("a,b\n1,2\n3,4\n", "c", {}, ParameterError, "has no column 'c'.*a, b"),
        ("a,b\n1,2\n3,4\n5,6\n", "b", {}, ParameterError, "3 different values.*two classes"),
        (
            "a,b\n1,2\n3,4\n",
            "b",
            {"positive": "7"},
            ParameterError,
            "no label .* is '7': they are '2' and '4'",
        ),
        ("a,b\n1,2\n,4\n", "b", {}, ParameterError, "column 'a' .* lacks 1 of 2 values; fill"),
        ("a,b\n1,2\ninf,4\n", "b", {}, ParameterError, "column 'a' .* not finite"),
        ("b\n1\n2\n", "b", {}, ParameterError, "nothing to learn from"),
        ("", "b", {}, FormatError, "no table of comma-separated values"),
        ("a,b\n1,2\n3,4,5,6\n", "b", {}, FormatError, "no table of comma-separated values"),
    ],
)
def test_wrong_tables_are_told(tmp_path, text, label, options, error, words, refuse):
    pytest.importorskip("pandas")
    file = write(tmp_path / "table.csv", text)
    refuse((lambda: logistic.read_table(file, label, **options), error, words))


def test_files_that_are_none(tmp_path, monkeypatch, refuse):
    pytest.importorskip("pandas")
    refuse((lambda: logistic.read_table(tmp_path / "missing.csv", "a"), FileError, r"missing\.csv"))
    whole = table_files.extra

    def without_pyarrow(module, group):
        return whole("no_such_module" if module == "pyarrow" else module, group)

    monkeypatch.setattr(table_files, "extra", without_pyarrow)
    with pytest.raises(ParameterError, match=r"pip install pandas pyarrow \(in a clone"):
        logistic.read_table(tmp_path / "table.parquet", "a")


def test_a_parquet_table(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow", reason="an optional extra")
    file = tmp_path / "table.parquet"
    pandas.DataFrame({"a": [1.5, 2, 3], "b": ["x", "y", "x"]}).to_parquet(file)
    table = logistic.read_table(file, "b")
    np.testing.assert_array_equal(table.features, [[1.5], [2], [3]])
    np.testing.assert_array_equal(table.labels, [0, 1, 0])
    with pytest.raises(FormatError, match="no Parquet file"):
        logistic.read_table(write(tmp_path / "text.parquet", "a,b\n1,2\n"), "b")


def test_labels_are_zero_and_one():
    with pytest.raises(ParameterError, match="0 and 1"):
        logistic.Table("t", ("a",), np.ones((3, 1)), np.array([0, 1, 2]))
    with pytest.raises(ParameterError, match="does not fit"):
        logistic.Table("t", ("a",), np.ones((3, 2)), np.array([0, 1, 1]))


def test_features_are_standardised_and_clipped():
    features = np.random.default_rng(1).normal(5, 3, (500, 3))
    features[:, 1] = 7  # the same for all
    features[0, 0] = 1e6
    rows = logistic.Preparation.of(features).apply(features, 8)
    assert rows.shape == (500, 8)
    np.testing.assert_array_equal(rows[:, 0], 1)
    np.testing.assert_array_equal(rows[:, 4:], 0)
    np.testing.assert_array_equal(rows[:, 2], 0)
    assert (rows[0, 1], np.abs(rows).max()) == (3, 3)
    assert abs(rows[:, 3].mean()) < 0.01
    with pytest.raises(MismatchError, match="3 columns"):
        logistic.Preparation.of(features).apply(features[:, :2], 8)
    with pytest.raises(MismatchError, match="3 columns"):
        logistic.Preparation.of(features).apply(features, 3)


def test_batches_hold_each_sample_once_and_zeros(loans):
    part, _ = loans.split(0.995, 0)
    settings = logistic.Settings(25, batch=64)
    preparation = logistic.Preparation.of(part.features)
    batches = logistic.make_batches(settings, preparation, part, 5)
    assert batches.shape == (-(-len(part) // 64), 64, 32)
    rows = batches.reshape(-1, 32)
    signs = 2 * part.labels - 1
    expected = preparation.apply(part.features, 32) * signs[:, None]
    filled = np.concatenate([expected, np.zeros((len(rows) - len(part), 32))])
    np.testing.assert_allclose(np.sort(rows, axis=0), np.sort(filled, axis=0))
    with pytest.raises(ParameterError, match="1 tables do not fit 2 models"):
        logistic.make_batches(logistic.Settings(25, batch=64, models=2), preparation, [part], 5)


def test_the_suggested_rate_is_half_of_what_the_curvature_allows():
    features = np.random.default_rng(2).normal(size=(4000, 5))
    table = logistic.Table("t", tuple("abcde"), features, (features[:, 0] > 0).astype(np.int64))
    rate = logistic.suggest_rate(logistic.Preparation.of(features), table)
    assert 1.7 < rate < 2.1  # eigenvalues of independent columns are about 1


@pytest.mark.parametrize(
    ("degree", "fit", "low", "high"),
    [
        (3, "least-squares", 0.11, 0.12),
        (3, "chebyshev", 0.08, 0.1),
        (7, "least-squares", 0.02, 0.05),
        (7, "chebyshev", 0.01, 0.04),
    ],
)
def test_sigmoids(degree, fit, low, high):
    polynomial = logistic.Sigmoid(degree, 8, fit)
    assert low < polynomial.error < high
    assert polynomial.coefficients.shape == (degree + 1,)
    np.testing.assert_array_equal(polynomial.coefficients[2::2], 0)
    points = np.linspace(-8, 8, 401)
    np.testing.assert_allclose(polynomial(points) + polynomial(-points), 1)
    differences = polynomial(points) - logistic.sigmoid(points)
    assert np.abs(differences).max() <= polynomial.error + 1e-12
    # The least squares fit is better by the measure that it is the best by.
    other = logistic.Sigmoid(degree, 8, "chebyshev" if fit == "least-squares" else "least-squares")
    squares = [float(np.mean((p(points) - logistic.sigmoid(points)) ** 2)) for p in (polynomial, other)]
    assert (squares[0] < squares[1]) == (fit == "least-squares")
    assert (polynomial.error < other.error) == (fit == "chebyshev")


def test_least_squares_of_degree_3_is_that_of_the_literature():
    # M. Kim, Y. Song, S. Wang, Y. Xia, X. Jiang (JMIR Med Inform 2018): 0.5 + 1.20096 (x/8) - 0.81562 (x/8)^3
    np.testing.assert_allclose(logistic.Sigmoid(3, 8).coefficients, [0.5, 1.20096, 0, -0.81562], atol=0.005)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"degree": 4}, "odd degree"),
        ({"degree": 17}, "odd degree"),
        ({"interval": -1.0}, "positive number"),
        ({"fit": "best"}, "'least-squares' or 'chebyshev'"),
        ({"method": "newton"}, "'nesterov' or 'gradient'"),
        ({"rates": (0.5, -1.0)}, "rates must be positive"),
        ({"rates": (0.5, 1.0), "models": 3}, "2 rates do not fit 3 models"),
        ({"momentum": 1.0}, "momentum must be"),
        ({"iterations": 0}, "iterations must be"),
        ({"weight_bound": 0.0}, "weight_bound"),
    ],
)
def test_settings_out_of_range(fields, words, refuse):
    refuse((lambda: logistic.Settings(25, **fields), ParameterError, words))


def test_settings_go_through_json():
    settings = logistic.Settings(25, batch=64, rates=(0.5, 1.0), momentum=0.7)
    assert (settings.models, logistic.Settings(**settings.as_dict())) == (2, settings)
    assert (settings.width, settings.depth) == (32, 4)
    assert [logistic.Settings(n).width for n in (1, 3, 4, 31, 32)] == [2, 4, 8, 32, 64]


def test_nesterov_momentum():
    settings = logistic.Settings(5, largest_momentum=0.99)
    np.testing.assert_allclose(
        [settings.momentum_at(i) for i in range(4)], [0, 0.2817, 0.4340, 0.5311], atol=1e-4
    )
    assert logistic.Settings(5, largest_momentum=0.5).momentum_at(30) == 0.5
    assert logistic.Settings(5, momentum=0.3).momentum_at(0) == 0.3


def by_hand(settings, batches, model):
    """The same formulas, sample by sample."""
    ahead = weights = np.zeros(settings.width)
    for t in range(settings.iterations):
        gradient = np.zeros(settings.width)
        for z in batches[t % len(batches)]:
            gradient += float(settings.sigmoid(-z @ ahead)) * z
        rate = settings.rates[model % len(settings.rates)] / (1 + settings.decay * t)
        following = ahead + rate / settings.batch * gradient
        momentum = settings.momentum_at(t) if settings.method == "nesterov" else 0
        ahead = following + momentum * (following - weights)
        weights = following
    return weights


@pytest.mark.parametrize("method", ["nesterov", "gradient"])
def test_the_clear_algorithm(loans, method):
    settings = logistic.Settings(25, batch=40, iterations=7, method=method, rates=(0.5, 0.1))
    part, _ = loans.split(0.995, 0)
    batches = logistic.make_batches(settings, logistic.Preparation.of(part.features), part, 1)
    found = list(logistic.train_clear(settings, batches))
    assert len(found) == 7
    for model in range(2):
        np.testing.assert_allclose(found[-1][model], by_hand(settings, batches, model), atol=1e-12)
    # Each model with its own samples.
    each = list(logistic.train_clear(settings, np.stack([batches, batches[::-1]])))
    np.testing.assert_allclose(each[-1][0], found[-1][0])
    np.testing.assert_allclose(each[-1][1], by_hand(settings, batches[::-1], 1), atol=1e-12)


def test_bounds_are_checked_in_the_clear(loans, refuse):
    part, _ = loans.split(0.99, 0)
    batches = logistic.make_batches(
        settings := logistic.Settings(25, batch=40, iterations=8),
        logistic.Preparation.of(part.features),
        part,
        1,
    )
    steps = [by_hand(dataclasses.replace(settings, iterations=n), batches, 0) for n in range(1, 9)]
    own = max(float(np.abs(w).max()) for w in steps)
    # With Nesterov's method v runs ahead of w, and the state holds it too.
    before = [np.zeros_like(steps[0]), *steps[:-1]]
    ahead = [
        w + settings.momentum_at(t) * (w - old) for t, (w, old) in enumerate(zip(steps, before, strict=True))
    ]
    largest = max(float(np.abs(v).max()) for v in ahead)
    assert largest > 1.01 * own
    require_bounds(dataclasses.replace(settings, weight_bound=1.001 * largest), batches)
    tight = dataclasses.replace(settings, weight_bound=(largest + own) / 2)
    with pytest.raises(
        ParameterError, match=r"takes weights to .*--degree 3 --interval 8 --rates 0.5 --weight-bound 4 "
    ):
        require_bounds(tight, batches)
    # Logits that leave the sigmoid's interval take another.
    logits = max(float(np.abs(batches @ v).max()) for v in ahead)
    narrow = dataclasses.replace(tight, interval=logits / 2, weight_bound=0.01)
    refuse((lambda: require_bounds(narrow, batches), ParameterError, r"--degree 7 --interval 16 "))
    with pytest.raises(ParameterError, match=r"diverges.*--iterations"):
        require_bounds(dataclasses.replace(settings, rates=(1e6,)), batches)


def test_measures():
    labels = np.array([0, 0, 1, 1, 1])
    logits = np.array([-1.0, 0.5, 0.5, 2.0, -3.0])
    pairs = [(a > b) + 0.5 * (a == b) for a in logits[labels == 1] for b in logits[labels == 0]]
    assert logistic.area_under_curve(logits, labels) == pytest.approx(np.mean(pairs))
    assert logistic.quality(logits, labels).accuracy == 3 / 5
    assert logistic.loss(np.zeros(5), labels) == pytest.approx(np.log(2))
    assert logistic.loss(np.array([-1e4, -1e4, 1e4, 1e4, 1e4]), labels) == 0


@pytest.mark.parametrize("value", [0.1, -0.7, 1e6 / 3, 0.0])
def test_columns_of_one_value_become_0(value):
    column = np.full((1000, 1), value)
    # The mean of 1,000 times 0.1 is not 0.1, so NumPy's deviation is not 0.
    assert value != 0.1 or column.std(axis=0)[0] > 0
    other = np.linspace(-1, 1, 1000)[:, None]
    features = np.hstack([column, other])
    rows = Preparation.of(features).apply(features, 4)
    np.testing.assert_allclose(rows[:, 1], 0, atol=1e-6)
    np.testing.assert_allclose(rows[:, 2], (other[:, 0] - other.mean()) / other.std(), rtol=1e-12)
