"""The packed circuit at every split of bins of one and of two digits, bins by NumPy's digitize, layouts at
their ends, and classes."""

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor

import hemera as hm
from hemera.errors import MismatchError, ParameterError
from hemera.trees import Ensemble, Quantiser, read_model
from hemera.trees.ensemble import Node, predicted, random_ensemble
from hemera.trees.layout import Layout
from hemera.trees.packed import packed_scores
from hemera.trees.parameters import parameters_for
from hemera.trees.quantise import quantise

from ..refusals import raises

PARAMS = hm.bfv.Parameters.from_bits(
    degree=1024, plain_modulus=12289, prime_bits=[45] * 5, special_bits=[49], security=None
)
CONTEXT = hm.Context(PARAMS, "cpu")
SECRET = CONTEXT.generate_secret_key()
EVALUATOR = CONTEXT.bind(CONTEXT.generate_keys(SECRET, sum_slots=True))


def encrypted_scores(model, quantiser, rows):
    """Scores by the circuit, in the model's own unit."""
    integers = quantise(model, quantiser, 12)
    scores, trees, _ = model.features.shape
    layout = Layout.choose(PARAMS.degree, scores, trees, len(rows), model.depth)
    bins = quantiser.bins(rows)
    planes = [
        layout.pack(bit)
        for node in integers.nodes
        for bit in quantiser.bits(bins[:, integers.features[:, :, node]])
    ]
    asked = [EVALUATOR.encrypt(plane[group]) for group in range(layout.groups) for plane in planes]
    found = packed_scores(EVALUATOR, integers, layout, asked)
    return layout.unpack(CONTEXT.decrypt(found, SECRET)) / integers.scale


def splits(count, at):
    """1 at this split or above it; below a tree with another split, so that it is a product."""
    last = Node(threshold=float(at), left=Node(0.0), right=Node(1.0))
    return last if count == 1 else Node(threshold=float(at % 8 + 1), left=last, right=splits(count - 1, at))


@pytest.mark.parametrize("digit", [1, 2, 3, 8])
@pytest.mark.parametrize("depth", [1, 2])
def test_a_node_splits_at_every_bin(digit, depth):
    """Alone in its circuit: no other tree has bits in its planes."""
    quantiser = Quantiser((np.arange(1.0, 9),), integral=True, digit=digit)
    rows = np.arange(9)
    for at in range(1, 9):
        model = Ensemble.of([[splits(depth, at)]], [0.5], feature_count=1, single=False, classes=0)
        found = encrypted_scores(model, quantiser, rows[:, None])
        np.testing.assert_array_equal(found[:, 0], 0.5 + (rows >= at))


def test_trees_of_several_groups_and_scores():
    """More trees than a ciphertext has lanes: by Python's sums of comparisons."""
    trees = [
        [Node(threshold=float(at), left=Node(1.0), right=Node(2.0 * at)) for at in own]
        for own in ([1, 2, 3, 4, 5] * 3, [4, 2] * 6 + [1, 5])
    ]
    model = Ensemble.of(trees, [0.0, -3.0], feature_count=1, single=False, classes=2)
    rows = np.arange(6)
    samples = np.tile(rows, 60)  # few lanes
    wanted = [
        [
            base + sum(2 * tree.threshold if x >= tree.threshold else 1 for tree in own)
            for own, base in zip(trees, (0, -3), strict=True)
        ]
        for x in rows
    ]
    layout = Layout.choose(PARAMS.degree, 2, 15, len(samples), 1)
    assert layout.groups > 1
    found = encrypted_scores(model, Quantiser.of_levels(1, 6), samples[:, None])
    np.testing.assert_array_equal(found, np.tile(np.array(wanted), (60, 1)))


@pytest.mark.parametrize("samples", [1, 3])
def test_as_many_scores_as_a_row_has_slots(samples):
    layout = Layout.choose(8, 4, 2, samples, 1)
    assert (layout.lanes, layout.width, layout.chunks, layout.rotations) == (1, 1, samples, [])
    numbers = np.arange(samples * 4 * 2).reshape(samples, 4, 2)
    slots = layout.pack(numbers).reshape(samples, 2, 4)  # two rows, of a tree each
    np.testing.assert_array_equal(slots, numbers.transpose(0, 2, 1))
    raises(ParameterError, "5 scores need a degree of at least 10, not 8", Layout.choose, 8, 5, 2, samples, 1)
    raises(ParameterError, "at least one sample", Layout.choose, 8, 4, 2, 0, 1)


@pytest.mark.parametrize("library", ["lightgbm", "sklearn.ensemble"])
def test_classes_of_equal_scores_are_the_librarys(library):
    """Rows of which as many are of one class as of the other: a score of 0."""
    found = pytest.importorskip(library)
    few = {"n_estimators": 1, "n_jobs": 1}
    kind, options = {"xgboost": ("XGBClassifier", few), "lightgbm": ("LGBMClassifier", few)}.get(
        library, ("HistGradientBoostingClassifier", {"max_iter": 1})
    )
    fitted = getattr(found, kind)(**options)
    rows = np.zeros((4, 1))
    fitted.fit(rows, [0, 1, 0, 1])
    assert fitted.predict(rows).tolist() == predicted(np.zeros((4, 1)), 2).tolist() == [0] * 4


def test_classes_of_scores():
    assert predicted(np.array([[-1e-9], [0], [1e-9]]), 2).tolist() == [0, 0, 1]
    assert predicted(np.array([[1, 1, 0], [0, 1, 1], [0, -1, 1]]), 3).tolist() == [0, 1, 2]
    raises(ParameterError, "no classes", predicted, np.zeros((1, 1)), 0)


@pytest.mark.parametrize("fraction", [0.0, 0.5])
@pytest.mark.parametrize("largest", [1, 1000, 1022, 1023, 1024, 2046, 2**17, 2**18, 2**20])
def test_a_modulus_holds_scores_in_fine_steps(largest, fraction):
    """Whole leaves in steps of 1 at least, others of 1 / 256: of the usual 20 bits where these have them."""
    tree = Node(threshold=1.0, left=Node(-float(largest)), right=Node(largest - fraction))
    model = Ensemble.of([[tree]], [0.0], feature_count=1, single=False, classes=0)
    quantiser = Quantiser.of_levels(1, 2)
    params = parameters_for("auto", model, quantiser)
    bits = params.plain_modulus.bit_length()
    assert quantise(model, quantiser, bits).scale >= (256 if fraction else 1)
    assert (bits == 20) == (largest * (256 if fraction else 1) < 2**18)


@pytest.mark.parametrize("unit", [1.0, 1e-6, 1e-13])
def test_values_have_their_bits_in_any_unit(unit):
    rows = np.random.default_rng(0).normal(size=(60, 2))
    judge = GradientBoostingRegressor(n_estimators=5, max_depth=2).fit(rows, unit * rows.sum(axis=1))
    wanted, trees = judge.predict(rows), read_model(judge)
    bins = Quantiser.of_model(trees)
    integers = quantise(trees, bins)
    found = integers.scores(bins.bins(rows))[:, 0] / integers.scale
    np.testing.assert_allclose(found, wanted, rtol=0, atol=2.0**-13 * np.abs(wanted).max())
    judge.fit(rows, 1e-15 * rows.sum(axis=1))
    raises(ParameterError, "train it on targets in another unit", lambda: quantise(read_model(judge), bins))


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("digit", [1, 3])
def test_parameters_are_of_the_products_one_after_the_other(depth, digit):
    """A comparison and the tree's products; one more for bins of two digits."""
    model = random_ensemble(1, 2, depth, feature_count=1, levels=9, seed=1)
    found = parameters_for("auto", model, Quantiser((np.arange(1.0, 9),), digit=digit))
    wanted = hm.bfv.Parameters.for_circuit(depth + (digit > 1), plain_bits=20, slots=2)
    assert found == wanted
    assert parameters_for(found, model, Quantiser.of_levels(1, 9)) is found
    few = hm.bfv.Parameters.for_circuit(1, plain_modulus=17)
    with pytest.raises(MismatchError, match=rf"have {few.max_slots} slots, and trees take all {few.degree}"):
        parameters_for(few, model, Quantiser.of_levels(1, 9))
    with pytest.raises(ParameterError, match=r"parameters are named auto, .*, not '8192'"):
        parameters_for("8192", model, Quantiser.of_levels(1, 9))


def stump(threshold, *, feature_count=1, **options):
    """1 where feature 0 is at the threshold or above, else 0."""
    tree = Node(threshold=threshold, left=Node(0.0), right=Node(1.0), **options)
    return Ensemble.of([[tree]], [0.0], feature_count=feature_count, single=False, classes=0)


@pytest.mark.parametrize("below", [0.0, 0.5])  # xgboost compares with whole bins, others in the middle
@pytest.mark.parametrize("split", [1, 2, 3, 4])
def test_a_model_of_bins_is_one_of_values_at_every_split(split, below):
    edges = np.array([-1.5, 0.0, 2.0])
    rows = np.array([-9.0, -1.5, -1.0, 0.0, 1.0, 2.0, 9.0])
    wanted = np.digitize(rows, edges) >= split  # 4: no bin goes right
    model = Quantiser((edges,)).of_values(stump(split - below))
    np.testing.assert_array_equal(model.scores(rows[:, None])[:, 0], wanted)


def test_models_that_are_none_of_these_bins():
    quantiser = Quantiser((np.array([1.0]),))
    with pytest.raises(ParameterError, match="bin of feature 0 with 0, below all of them"):
        quantiser.of_values(stump(0.0))
    with pytest.raises(MismatchError, match="model has 2 features, and the quantiser 1"):
        quantiser.of_values(stump(1.0, feature_count=2))
