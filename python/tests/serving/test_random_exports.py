"""Models and rows drawn at random: bins, linear models and trees are NumPy's, and their libraries'."""

import warnings

import numpy as np
import pytest

import hemera as hm
from hemera import errors, serving
from hemera.trees import Quantiser
from hemera.trees.ensemble import LOWEST

from ..refusals import raises
from .estimator_cases import SMALL

pytestmark = pytest.mark.filterwarnings("ignore::hemera.errors.HemeraWarning", "ignore::UserWarning")


def drawn(rng, rows, features):
    """Columns of other sizes and places: constant, of few values, of integers, some with missing values."""
    columns = [
        rng.normal(size=rows) * 10.0 ** rng.integers(-3, 4),
        np.full(rows, rng.choice([0.0, -7.0, 1e-9])),
        rng.integers(0, 3, rows) - 1.0,
        rng.permutation(rows) + 100.0,
    ]
    found = np.stack([columns[rng.integers(4)] for _ in range(features)], axis=1)
    for at in np.flatnonzero(rng.random(features) < 0.4):
        found[rng.random(rows) < rng.choice([0.05, 0.7]), at] = np.nan
        found[rng.integers(rows), at] = 1.0
    return found


@pytest.mark.parametrize("seed", range(15))
def test_bins_are_those_of_each_column_alone(seed):
    rng = np.random.default_rng(seed)
    rows, bins = drawn(rng, int(rng.integers(1, 40)), int(rng.integers(1, 7))), int(rng.integers(2, 9))
    quantiser = Quantiser.of_quantiles(rows, bins)
    others = np.where(np.isnan(rows), 0, rows + rng.choice([0, 0, -1, 1], rows.shape))
    for at, column in enumerate(rows.T):
        known = column[~np.isnan(column)]
        edges = {float(np.quantile(known, each / bins)) for each in range(1, bins)}
        edges |= {LOWEST} if len(known) < len(column) else set()
        assert quantiser.edges[at].tolist() == pytest.approx(sorted(edges), rel=1e-12)
        own = sorted(quantiser.edges[at].tolist())
        wanted = [sum(edge <= value for edge in own) for value in others[:, at]]
        assert quantiser.bins(others)[:, at].tolist() == wanted
        told = [np.nan if np.isnan(value) else sum(edge <= value for edge in own) for value in column]
        np.testing.assert_array_equal(quantiser.binned(rows)[:, at], told)
    assert Quantiser.from_data(quantiser.to_data()).to_data() == quantiser.to_data()
    for end in (np.inf, -np.inf):
        wrong = rows.copy()
        wrong[-1, -1] = end
        for call in (
            lambda wrong=wrong: Quantiser.of_quantiles(wrong, bins),
            lambda wrong=wrong: quantiser.bins(wrong),
        ):
            raises(errors.ParameterError, "infinite", call)
    for shape in ((0, 2), (2, 0), (3,), (2, 2, 2)):
        raises(errors.MismatchError, "rows of shape", Quantiser.of_quantiles, np.ones(shape), bins)


@pytest.mark.parametrize("seed", range(15))
def test_linear_models_are_numpys(seed):
    """Within limits, which may be equal, in ranges of rows with constant columns, in declared ones."""
    rng = np.random.default_rng(seed)
    features, scores = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    weights, intercept = rng.normal(size=(scores, features)), rng.normal(size=scores)
    mean, deviation = rng.normal(size=features) * 5, 10.0 ** rng.integers(-2, 3, features)
    low = rng.integers(-3, 3, features).astype(float)
    high = low + rng.choice([0.0, 0.0, 1.0, 5.0], features)
    rows = np.nan_to_num(drawn(rng, 20, features), nan=2.0)
    given = {"mean": mean, "deviation": deviation}
    clipped = {}
    match seed % 3:
        case 0:
            given |= {"low": low, "high": high}
        case 1:
            rows[:10, -1] = -7.0  # and others after it
            clipped["calibrate"] = rows[:10]
            least, most = rows[:10].min(axis=0), rows[:10].max(axis=0)
            width = np.where(most > least, most - least, np.maximum(abs(least), 1))
            low, high = (least + most) / 2 - width, (least + most) / 2 + width
        case 2:
            clip = rng.uniform(0.5, 3, features if seed % 2 else ())
            clipped["clip"] = clip
            low, high = mean - clip * deviation, mean + clip * deviation
    model = serving.LinearModel.of(weights, intercept, **given)
    package = serving.Package.load(bytes(hm.compile(model, **SMALL, **clipped).package))
    inside = (np.clip(rows, low, high) - mean) / deviation
    wanted = inside @ weights.T + intercept
    wanted = wanted if scores > 1 else wanted[:, 0]
    size = np.abs(inside).max() * np.abs(weights).sum() + np.abs(intercept).max()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = package.evaluate_clear(rows)
    np.testing.assert_allclose(found, wanted, atol=1e-9 * size)
    beyond = ((rows < low - 1e-9 * abs(low)) | (rows > high + 1e-9 * abs(high))).any(axis=1).sum()
    text = [str(each.message) for each in told if issubclass(each.category, errors.HemeraWarning)]
    assert any(f"{beyond} of 20 rows" in each for each in text) == bool(beyond and seed % 3)


MODELS = [
    ("xgboost", "XGB{}", {}),
    ("lightgbm", "LGBM{}", {"min_child_samples": 1, "verbose": -1}),
    ("sklearn.ensemble", "HistGradientBoosting{}", {"min_samples_leaf": 1}),
]


@pytest.mark.parametrize("seed", range(12))
def test_trees_are_their_librarys(seed):
    """One tree, one feature or several, two classes or three, missing values in some columns."""
    rng = np.random.default_rng(seed)
    rows = drawn(rng, 60, int(rng.integers(1, 5)))
    library, name, options = MODELS[seed % 3]
    classes = int(rng.choice([0, 2, 3]))
    count, depth = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    targets = np.nan_to_num(rows).sum(axis=1) / (1 + np.nanmax(abs(rows)))
    targets = rng.permutation(np.arange(len(rows)) % classes) if classes else targets
    make = getattr(pytest.importorskip(library), name.format("Classifier" if classes else "Regressor"))
    model = make(**options, max_depth=depth, **{"max_iter" if library[0] == "s" else "n_estimators": count})
    model.fit(rows, targets)
    package = serving.Package.load(bytes(hm.compile(model, name="t", calibrate=rows).package))
    others = np.where(rng.random(rows.shape) < 0.5, rows, rng.permuted(rows, axis=0))
    found, expected = package.evaluate_clear(others), model.predict(others)
    if classes:
        assert (found != expected).sum() <= 1  # of equal scores, but for the steps of leaves
    else:
        np.testing.assert_allclose(found, expected, atol=2e-2 * max(1, np.abs(targets).max()))
