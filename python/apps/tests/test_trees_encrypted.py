"""Packaged trees between a client and a server: exact scores, operations, and refusals."""

import json
from pathlib import Path

import numpy as np
import pytest

import hemera as hm
from hemera.errors import MismatchError, NoiseError, ParameterError
from hemera.package.encodings import TreeRows
from hemera.package.prepared import PreparedModel
from hemera.trees import Quantiser, read_model
from hemera.trees.ensemble import Ensemble, Node, random_ensemble
from hemera_apps import trees
from hemera_apps.trees import idash, paper
from hemera_apps.trees.sides import Sides, operations, packaged

pytestmark = pytest.mark.filterwarnings("ignore::hemera.errors.SecurityWarning")
FOLDER = Path(__file__).parents[2] / "tests" / "trees" / "tree_models"


def small(primes=4, degree=2048):
    """A small ring, which is not secure."""
    return hm.bfv.Parameters.from_bits(
        degree=degree, plain_modulus=12289, prime_bits=[45] * primes, special_bits=[49], security=None
    )


def drawn(samples, *sizes, features=6, levels=3, seed=1):
    """A random model with these numbers of scores, trees and levels, its bins, and rows."""
    model = random_ensemble(*sizes, feature_count=features, levels=levels, seed=seed)
    rows = np.random.default_rng(seed).integers(0, levels, (samples, features))
    return model, Quantiser.of_levels(features, levels), rows


def encoding_of(own):
    found = own.package.interface.encoding
    assert isinstance(found, TreeRows)
    return found


def score(model, quantiser, rows, **options):
    """Scores by bytes alone."""
    bins = Quantiser.of_model(model) if quantiser is None else quantiser
    own = packaged(
        model, bins, **{"samples": len(rows), "workload": "packed", "parameters": small()} | options
    )
    sides = Sides(own, device="cpu")
    sides.accept(sides.keys())
    return own, sides, asked(sides, rows)


def asked(sides, rows):
    """The scores of a request."""
    answer = sides.evaluate(sides.server.load(sides.request(rows)))
    return sides.scores(bytes(answer), len(rows))


@pytest.mark.parametrize(
    ("scores", "trees", "depth", "levels", "samples"),
    [
        (1, 1, 1, 2, 1),
        (1, 6, 1, 4, 30),
        (1, 9, 2, 3, 2000),
        (3, 40, 2, 3, 17),
        (11, 20, 2, 3, 129),
        (2, 5, 3, 3, 40),
        (5, 3, 3, 2, 7),
        (1, 4, 4, 3, 9),
        (2, 3, 1, 40, 20),
        (1, 9, 2, 70, 200),
        (3, 40, 3, 50, 11),
    ],
)
def test_scores_are_exact(scores, trees, depth, levels, samples):
    model = random_ensemble(scores, trees, depth, feature_count=12, levels=levels, seed=samples)
    quantiser = Quantiser.of_levels(12, levels)
    rows = np.random.default_rng(samples).integers(0, levels, (samples, 12))
    own, _, found = score(model, quantiser, rows, parameters=small(depth + 2 + (levels > 33)))
    assert (own.model.quantiser.digit > 1) == (levels > 33)
    wanted = own.model.scores(quantiser.bins(rows))
    np.testing.assert_array_equal(found, wanted)
    assert len(np.unique(wanted)) > 1 or samples == 1
    assert np.abs(found / own.model.scale - model.scores(rows)).max() <= (trees + 1) / 2 / own.model.scale


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.json")), ids=lambda file: file.stem)
def test_models_of_the_libraries(file, tmp_path):
    contents = json.loads(file.read_text())
    path = tmp_path / "model.json"
    path.write_text(json.dumps(contents["model"]))
    rows, margins = np.array(contents["rows"]), np.array(contents["margins"])
    model = read_model(path)
    assert np.isnan(rows).any() == ("holes" in file.stem)
    own, _, found = score(model, None, rows, parameters=small(9 if model.depth == 6 else 5))
    np.testing.assert_array_equal(found, own.model.scores(Quantiser.of_model(model).bins(rows)))
    assert np.abs(found / own.model.scale - margins).max() <= (model.trees + 1.1) / 2 / own.model.scale


def test_scikit_learn_on_bins():
    data, target = pytest.importorskip("sklearn.datasets").load_digits(return_X_y=True)
    boosting = pytest.importorskip("sklearn.ensemble").GradientBoostingClassifier
    quantiser = Quantiser.of_quantiles(data[:400], 3)
    fitted = boosting(n_estimators=6, max_depth=2, random_state=0)
    fitted.fit(quantiser.bins(data[:400]), target[:400])
    model = quantiser.of_values(read_model(fitted))
    rows = data[400:500]
    own, _, found = score(model, quantiser, rows)
    np.testing.assert_array_equal(found, own.model.scores(quantiser.bins(rows)))
    decided = fitted.decision_function(quantiser.bins(rows))
    assert np.abs(found / own.model.scale - decided).max() <= 7 / 2 / own.model.scale
    assert np.mean(found.argmax(axis=1) == fitted.predict(quantiser.bins(rows))) > 0.95


@pytest.mark.parametrize("holes", [False, True])
def test_deep_histograms_of_scikit_learn(holes):
    """Trees of depth 6 with bins in two digits; with missing values a bit for these."""
    data, target = pytest.importorskip("sklearn.datasets").load_breast_cancer(return_X_y=True)
    if holes:
        data[np.random.default_rng(3).random(data.shape) < 0.2] = np.nan
    boosting = pytest.importorskip("sklearn.ensemble").HistGradientBoostingClassifier
    fitted = boosting(max_iter=12, max_depth=6, random_state=0).fit(data, target)
    model, rows = read_model(fitted), data[::9]
    own, _, found = score(model, None, rows, parameters=small(9))
    assert model.depth == 6
    assert own.model.quantiser.digit > 1
    error = found[:, 0] / own.model.scale - fitted.decision_function(rows)
    assert np.abs(error).max() <= 13.1 / 2 / own.model.scale
    np.testing.assert_array_equal(fitted.classes_[(found[:, 0] > 0).astype(int)], fitted.predict(rows))
    # Places where no tree compares take no ciphertext.
    assert encoding_of(own).features.shape[2] == len(own.model.nodes) < 63


def test_bins_of_the_users_with_missing_values():
    """A model trained on bins, where some features miss values; the quantiser has the bins of these."""
    data, target = pytest.importorskip("sklearn.datasets").load_wine(return_X_y=True)
    data[np.random.default_rng(3).random(data.shape) < 0.2] = np.nan
    boosting = pytest.importorskip("sklearn.ensemble").HistGradientBoostingClassifier
    quantiser = Quantiser.of_quantiles(data, 6)
    fitted = boosting(max_iter=8, max_depth=2).fit(quantiser.binned(data), target)
    model = quantiser.of_values(read_model(fitted))
    own, _, found = score(model, quantiser.with_missing_of(model), data[:50], parameters=small(5))
    decided = fitted.decision_function(quantiser.binned(data[:50]))
    assert np.abs(found / own.model.scale - decided).max() <= 9.1 / 2 / own.model.scale
    with pytest.raises(ParameterError, match="with_missing_of"):
        score(model, quantiser, data[:50], parameters=small(5))


def test_nodes_that_missing_values_alone_leave_to_the_right():
    """Trees that separate missing values from all others, at a place where no tree compares values."""
    inner = Node(feature=0, threshold=np.inf, left=Node(2.0), right=Node(5.0), missing_right=True)
    root = Node(feature=1, threshold=0.0, left=Node(1.0), right=inner, missing_right=False)
    model = Ensemble.of([[root, root]], [0.5], feature_count=2, single=False, classes=0)
    rows = np.array([[7.0, -1.0], [7.0, 1.0], [np.nan, 1.0], [np.nan, np.nan]])
    own, _, found = score(model, None, rows)
    assert own.model.nodes.tolist() == [0, 2]
    np.testing.assert_array_equal(found[:, 0] / own.model.scale, [2.5, 4.5, 10.5, 2.5])


def test_the_published_model_and_samples():
    """Each score as the numbers of the published circuit give it, and 81 of the 99 classes right."""
    folder = Path(trees.__file__).parent / "idash_2020"
    with np.load(folder / "table.npz") as file:
        values, labels, numbers = file["values"], file["labels"], file["trees"].tolist()
    rows, kinds = idash.samples()
    np.testing.assert_array_equal(kinds, labels)
    wanted = []
    for sample in values.tolist():
        scores = [0] * 11
        for tree, (y1, y2, y3, *leaves) in enumerate(numbers):
            x1, x2, x3 = sample[3 * tree : 3 * tree + 3]
            # The paper's comparison: x < 1 where y is 1, else x < 2.
            goes_left = x1 < 2 - y1
            side = leaves[0 if x2 < 2 - y2 else 1] if goes_left else leaves[2 if x3 < 2 - y3 else 3]
            scores[tree // 128] += side
        wanted.append(scores)
    assert np.sum(np.argmax(wanted, axis=1) == labels) == 81
    quantiser = Quantiser.of_levels(rows.shape[1], idash.LEVELS)
    own, _, found = score(idash.model(), quantiser, rows, parameters="auto")
    assert own.package.params.plain_modulus.bit_length() == 20
    np.testing.assert_array_equal(found / own.model.scale, wanted)
    own, _, found = score(idash.model(), quantiser, rows[:3], workload="paper", parameters="8192-218")
    np.testing.assert_array_equal(found / own.model.scale, wanted[:3])
    assert operations(own.package.program, 3) == {key: 3 * count for key, count in paper.PER_SAMPLE.items()}
    assert "MIT License" in (folder / "LICENSE").read_text()


@pytest.mark.parametrize("depth", [1, 2])
def test_secure_parameters_have_room_for_two_digits(depth):
    model, quantiser, rows = drawn(40, 2, 30, depth, features=20, levels=60, seed=8)
    own, _, found = score(model, quantiser, rows, parameters="auto")
    assert own.package.params.security_bits >= 128
    assert own.model.quantiser.digit == 8
    assert np.abs(found / own.model.scale - model.scores(rows)).max() <= 31 / 2 / own.model.scale


@pytest.mark.parametrize("name", ["8192-218", "16384-430"])
def test_the_papers_circuit(name):
    model, quantiser, rows = drawn(2, 11, 128, 2, features=300)
    own, _, found = score(model, quantiser, rows, parameters=name, workload="paper")
    np.testing.assert_array_equal(found, own.model.scores(rows))
    assert operations(own.package.program, 2) == {key: 2 * count for key, count in paper.PER_SAMPLE.items()}
    degree, bits = map(int, name.split("-"))
    assert (own.package.params.degree, round(own.package.params.log_modulus)) == (degree, bits)
    assert own.package.params.security == (">=128" if bits in (214, 430) else ">=128 (2018 table)")


def test_the_papers_circuit_in_batches():
    model, quantiser, rows = drawn(37, 2, 5, 2)
    own, _, found = score(model, quantiser, rows, workload="paper", parameters=small(5))
    np.testing.assert_array_equal(found, own.model.scores(rows))
    wanted = paper.PER_SAMPLE | {"rotations": 3, "additions": 16}  # eight slots a score
    assert operations(own.package.program, 37) == {key: 37 * count for key, count in wanted.items()}


def test_operations_of_the_packed_circuit():
    model, quantiser, rows = drawn(17, 3, 40, 2, features=12, seed=3)
    own, _, _ = score(model, quantiser, rows)
    layout = encoding_of(own).layout
    assert (layout.lanes, layout.groups, layout.chunks) == (16, 2, 1)
    # A group: a product; plain ones for the root's two planes, the difference's four and the left node's two.
    assert operations(own.package.program, 1) == {
        "multiplications": 2,
        "plain_multiplications": 16,
        # 1 + 3 and a constant a group, 3 of linear terms, 1 of products, their sum, the lanes', the rows',
        # the base.
        "additions": 2 * (1 + 3 + 1) + 3 + 1 + 1 + 4 + 1 + 1,
        "subtractions": 0,
        "rotations": 4 + 1,
        "relinearizations": 1,
    }


def test_each_operation_is_counted_once():
    plain = np.arange(2048)

    def every(x):
        total = hm.serving.dot([x, x, x], [x, x, x]) + hm.serving.dot([x] * 4, [plain] * 4)
        total = (total - x * (x + 1)) + (plain - (x * plain)) + 3 * x
        return (total + 1).rotate(1) + (-total + plain).swap_rows()

    counted = hm.serving.export(every, inputs=2048, name="every", params=small())
    assert operations(counted.program, 5) == {
        "multiplications": 5 * (3 + 1),
        "plain_multiplications": 5 * (4 + 1 + 1),
        "additions": 5 * (2 + 3 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1),
        "subtractions": 5 * (1 + 1 + 1),
        "rotations": 5 * 2,
        "relinearizations": 5 * (1 + 1),
    }


@pytest.mark.parametrize("workload", ["packed", "paper"])
def test_captured_as_on_a_gpu(workload, monkeypatch):
    """A request after the first goes through one graph, with the same scores."""
    model, quantiser, rows = drawn(37, 2, 5, 2)
    own, sides, found = score(model, quantiser, rows, workload=workload, parameters=small(5))
    np.testing.assert_array_equal(found, own.model.scores(rows))
    monkeypatch.setattr(PreparedModel, "captures", True)
    np.testing.assert_array_equal(asked(sides, rows), found)
    monkeypatch.setattr(PreparedModel, "run", None)
    monkeypatch.setattr(PreparedModel, "capture", None)
    np.testing.assert_array_equal(asked(sides, rows), found)
    monkeypatch.undo()
    # Another client has other keys, and no graph.
    sides.secret_key = sides.client.generate_secret_key()
    sides.accept(sides.keys())
    np.testing.assert_array_equal(asked(sides, rows), found)


def test_no_slot_tells_a_part_of_a_sum():
    """The client sees final scores, or the score of an empty sample, in every slot of its answer."""
    model, quantiser, rows = drawn(17, 3, 40, 2, features=12, seed=3)
    own, sides, found = score(model, quantiser, rows)
    answer = sides.evaluate(sides.server.load(sides.request(rows))).to(sides.client)
    slots = sides.client.decrypt(answer, sides.secret_key)
    allowed = {0, *found.ravel().tolist(), *own.model.scores(np.zeros((1, 12), int)).ravel().tolist()}
    assert set(slots.ravel().tolist()) <= allowed


def test_descriptions_tell_neither_splits_nor_leaves():
    model = random_ensemble(2, 5, 2, feature_count=6, levels=3, seed=1)
    other = Ensemble(model.features, 3 - model.thresholds, -model.leaves, model.base, 6, False, 2)
    quantiser = Quantiser.of_levels(6, 3)
    first, second = (
        packaged(own, quantiser, samples=4, workload="packed", parameters=small()).package.interface
        for own in (model, other)
    )
    assert first.describe() == second.describe()
    assert first.describe()["encoding"]["features"] == model.features.tolist()


def test_constant_models():
    """Trees without a comparison, and leaves that are alike."""
    model, quantiser, rows = drawn(5, 2, 3, 2, features=4)
    flat = np.full_like(model.leaves, 0.5)
    never = np.full_like(model.thresholds, np.inf)
    roots = model.thresholds.copy()
    roots[:, :, 1:] = np.inf
    for thresholds, leaves in ((model.thresholds, flat), (never, model.leaves), (roots, model.leaves)):
        other = Ensemble(model.features, thresholds, leaves, model.base, 4, False, 2)
        own, _, found = score(other, quantiser, rows)
        np.testing.assert_array_equal(found, own.model.scores(rows))


def test_requests_of_fewer_samples_of_more_and_of_others(refuse):
    model, quantiser, rows = drawn(700, 1, 600, 2)
    own, sides, found = score(model, quantiser, rows)
    layout = encoding_of(own).layout
    assert layout.width < 700
    np.testing.assert_array_equal(found, own.model.scores(rows))
    for count in (1, layout.width, layout.width + 1):
        np.testing.assert_array_equal(asked(sides, rows[:count]), own.model.scores(rows[:count]))
    for wrong in (np.zeros((2, 7)), np.zeros((0, 6))):
        with pytest.raises(MismatchError, match="6 features"):
            sides.request(wrong)
    refuse((lambda: sides.request(np.full((1, 6), np.nan)), ParameterError, "missing"))
    other = sides.client.encrypt(np.zeros((2, 2048), int), sides.secret_key)
    refuse((lambda: sides.evaluate(other.to(sides.server)), MismatchError, "shape"))


@pytest.mark.filterwarnings("ignore::hemera.errors.NoiseWarning")
def test_parameters_that_do_not_fit():
    model = random_ensemble(1, 5, 3, feature_count=6, levels=3, seed=1)
    quantiser = Quantiser.of_levels(6, 3)
    with pytest.raises(ParameterError, match="named auto, 8192-218"):
        score(model, quantiser, np.zeros((1, 6)), parameters="8193")
    unslotted = hm.bfv.Parameters.from_bits(
        degree=1024, plain_modulus=1 << 20, prime_bits=[45] * 3, special_bits=[45], security=None
    )
    with pytest.raises(MismatchError, match="have no slots"):
        score(model, quantiser, np.zeros((1, 6)), parameters=unslotted)
    with pytest.raises(NoiseError, match="larger ones"):
        score(model, quantiser, np.zeros((1, 6)), parameters=small(2))
