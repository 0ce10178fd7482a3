"""Bins, integer models, layouts and the generated genome, all in the clear."""

import dataclasses

import numpy as np
import pytest

from hemera.errors import FormatError, MismatchError, ParameterError
from hemera.trees import Quantiser
from hemera.trees.ensemble import Ensemble, Node, predicted, random_ensemble
from hemera.trees.layout import Layout
from hemera.trees.parameters import parameters_for
from hemera.trees.quantise import MAX_EDGES, quantise
from hemera_apps.trees import genome
from hemera_apps.trees.paper import PaperLayout


def ensemble_of(*trees, features=2):
    return Ensemble.of([trees], [0.25], feature_count=features, single=False, classes=0)


def test_shallow_leaves_fill_up():
    right = Node(feature=0, threshold=2.0, left=Node(5.0), right=Node(7.0))
    tree = Node(feature=1, threshold=3.0, left=Node(value=1.0), right=right)
    model = ensemble_of(tree, Node(value=10.0))
    assert model.depth == 2
    rows = np.array([[0.0, 2.9], [1.9, 3.0], [2.0, 3.0]])
    np.testing.assert_array_equal(model.scores(rows)[:, 0], [11.25, 15.25, 17.25])
    # What the model lacks compares a feature that a client knows of anyway.
    assert model.features[0, 0].tolist() == [1, 1, 0]


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("scores", [1, 4])
def test_integer_scores_are_near_the_model(depth, scores):
    model = random_ensemble(scores, 7, depth, feature_count=9, levels=5, seed=depth)
    quantiser = Quantiser.of_levels(9, 5)
    rows = np.random.default_rng(2).integers(0, 5, (50, 9))
    integers = quantise(model, quantiser, 16)
    found = integers.scores(quantiser.bins(rows))
    assert found.dtype == np.int64
    assert np.abs(found).max() <= integers.bound < 1 << 14
    # As fine as fits, and no finer.
    assert 2 * integers.bound + 8 >= 1 << 14
    error = np.abs(found / integers.scale - model.scores(rows)).max()
    assert 0 < error <= (7 + 1) / 2 / integers.scale


def test_model_of_bins_is_one_of_values():
    random = np.random.default_rng(4)
    rows = random.normal(size=(300, 6))
    quantiser = Quantiser.of_quantiles(rows, 5)
    assert quantiser.planes == 4
    on_bins = random_ensemble(3, 6, 2, feature_count=6, levels=5, seed=1)
    on_values = quantiser.of_values(on_bins)
    np.testing.assert_array_equal(on_values.scores(rows), on_bins.scores(quantiser.bins(rows)))
    integers = quantise(on_values, quantiser)
    np.testing.assert_array_equal(
        predicted(integers.scores(quantiser.bins(rows)), 3), predicted(on_values.scores(rows), 3)
    )


def test_bins_of_a_model_are_exact_on_its_thresholds():
    random = np.random.default_rng(5)
    model = random_ensemble(2, 5, 3, feature_count=4, levels=2, seed=2)
    thresholds = random.normal(size=model.thresholds.shape)
    model = Ensemble(model.features, thresholds, model.leaves, model.base, 4, True, 2)
    with pytest.raises(ParameterError, match=r"inside of a bin.*of_values"):
        quantise(model, Quantiser.of_quantiles(random.normal(size=(100, 4)), 4))
    # Single precision: thresholds that no value of the rows can equal are fine too.
    quantiser = Quantiser.of_model(model)
    rows = random.normal(size=(200, 4))
    rows[:5] = model.thresholds[0, :, :4].astype(np.float32)
    integers = quantise(model, quantiser)
    error = np.abs(integers.scores(quantiser.bins(rows)) / integers.scale - model.scores(rows))
    assert error.max() <= 5 / integers.scale


def test_integral_features_take_thresholds_between_integers():
    quantiser = Quantiser.of_levels(1, 3)
    thresholds = (0.5, 1.0, 1.5, 2.0, 2.5, np.inf)
    assert [quantiser.split(0, threshold) for threshold in thresholds] == [1, 1, 2, 2, 0, 0]
    with pytest.raises(ParameterError, match="inside of a bin"):
        quantiser.split(0, 0.0)
    with pytest.raises(ParameterError, match="have fractions"):
        quantiser.bins(np.array([[0.5]]))


@pytest.mark.parametrize("bins", [1, MAX_EDGES + 2])
def test_number_of_bins(bins, refuse):
    refuse((lambda: Quantiser.of_quantiles(np.zeros((5, 1)), bins), ParameterError, f"not {bins}"))


def test_too_many_thresholds():
    trees = [
        Node(feature=1, threshold=float(at), left=Node(), right=Node(value=1.0))
        for at in range(MAX_EDGES + 1)
    ]
    with pytest.raises(ParameterError, match=rf"feature 1 with {MAX_EDGES + 1} thresholds.*of_quantiles"):
        Quantiser.of_model(ensemble_of(*trees))
    # The most in two digits: 0 to 31 each.
    assert Quantiser.of_model(ensemble_of(*trees[1:])).planes == 31 + 31
    # As many as ever in one.
    assert Quantiser.of_model(ensemble_of(*trees[:32])).planes == 32
    assert Quantiser.of_model(ensemble_of(*trees[:33])).planes == 5 + 5


@pytest.mark.parametrize(("edges", "depth"), [(1, 1), (8, 5), (9, 5), (32, 4), (33, 1), (255, 6), (1023, 2)])
def test_bits_tell_each_bin_from_the_others(edges, depth):
    quantiser = Quantiser((np.arange(1.0, edges + 1), np.arange(1.0))).for_depth(depth)
    bits = np.stack(quantiser.bits(np.arange(edges + 1)), axis=1)
    assert (bits.shape, len(np.unique(bits, axis=0))) == ((edges + 1, quantiser.planes), edges + 1)
    # One digit: the lower ones, and all of them, are set. Two: each digit's.
    upper, lower = divmod(edges, quantiser.digit)
    top = bits[-1].tolist()
    assert top == [1] * upper + [int(c <= lower) for c in range(1, quantiser.digit)]
    assert (quantiser.digit > 1) == (edges > (8 if depth > 4 else 32))


def test_missing_values_have_a_bin_or_a_bit(refuse):
    """Feature 0 takes them left, 1 right, 2 to the bin of 0, 3 to both sides, 4 to itself alone."""
    split = [
        (0, 1.0, False), (0, 2.0, False), (1, 1.0, True), (1, 2.0, True), (2, -1.0, True), (2, 1.0, False),
        (3, 1.0, False), (3, 1.0, True), (4, np.inf, True),
    ]  # fmt: skip
    trees = [
        Node(feature=f, threshold=at, left=Node(), right=Node(value=2.0**index), missing_right=side)
        for index, (f, at, side) in enumerate(split)
    ]
    model = Ensemble.of([trees], [0.0], feature_count=5, single=False, classes=0)
    quantiser = Quantiser.of_model(model)
    assert (quantiser.missing, quantiser.planes) == ((0, 2, 1, -1, -1), 2 + 1)
    rows = np.full((2, 5), np.nan)
    rows[1] = 1.0
    integers = quantise(model, quantiser)
    assert integers.scale >= 1
    wanted = [sum(2**index for index, (_, _, side) in enumerate(split) if side), 1 + 4 + 16 + 32 + 64 + 128]
    np.testing.assert_array_equal(model.scores(rows)[:, 0], wanted)
    np.testing.assert_array_equal(integers.scores(quantiser.bins(rows))[:, 0] / integers.scale, wanted)
    other = dataclasses.replace(quantiser, missing=(0, 2, 0, -1, -1))
    refuse((lambda: quantise(model, other), ParameterError, "other bins than the model"))
    with pytest.raises(ParameterError, match="the model takes none"):
        quantise(dataclasses.replace(model, missing=None), quantiser)
    assert quantise(model, dataclasses.replace(quantiser, missing=None)).quantiser.planes == 2


def test_thresholds_below_and_above_all_values():
    """Values go right below -inf and left below inf; missing values go the way of their node."""
    below = Node(feature=0, threshold=-np.inf, left=Node(), right=Node(1.0), missing_right=False)
    above = Node(feature=0, threshold=np.inf, left=Node(), right=Node(2.0), missing_right=True)
    model = Ensemble.of([[below, above]], [0.0], feature_count=1, single=False, classes=0)
    quantiser = Quantiser.from_data(Quantiser.of_model(model).to_data())
    rows = np.array([[-1e300], [1e300], [np.nan]])
    integers = quantise(model, quantiser)
    np.testing.assert_array_equal(model.scores(rows), [[1], [1], [2]])
    np.testing.assert_array_equal(integers.scores(quantiser.bins(rows)) / integers.scale, [[1], [1], [2]])


def test_binned_for_training_with_missing_values(refuse):
    rows = np.array([[1.0, np.nan], [2.0, 5.0], [3.0, 6.0], [4.0, 7.0]])
    quantiser = Quantiser.of_quantiles(rows, 2)
    # An edge below all values separates them from missing ones.
    np.testing.assert_array_equal(quantiser.binned(rows), [[0, np.nan], [0, 1], [1, 2], [1, 2]])
    refuse((lambda: quantiser.bins(rows), ParameterError, "missing"))
    with pytest.raises(ParameterError, match="feature 1 has no value in any row"):
        Quantiser.of_quantiles(np.array([[1.0, np.nan], [2.0, np.nan]]), 2)
    tree = Node(feature=1, threshold=0.5, left=Node(), right=Node(value=1.0), missing_right=False)
    model = quantiser.of_values(ensemble_of(tree))
    np.testing.assert_array_equal(model.scores(rows)[:, 0], [0.25, 1.25, 1.25, 1.25])
    scoring = quantiser.with_missing_of(model)
    np.testing.assert_array_equal(
        quantise(model, scoring).scores(scoring.bins(rows)) > 2**17, [[0], [1], [1], [1]]
    )


def test_quantisers_that_are_refused():
    good = Quantiser((np.array([1.0, 2.0]), np.array([])), missing=(2, -1)).to_data()
    assert Quantiser.from_data(good).to_data() == good
    old = {name: good[name] for name in ("edges", "single", "integral")}
    assert Quantiser.from_data(old).digit == 1
    assert Quantiser.from_data(old).missing is None
    for change in (
        *({"edges": []}, {"edges": [[2.0, 1.0], []]}, {"edges": [[1.0, np.inf], []]}),
        *({"edges": [list(range(MAX_EDGES + 1)), []]}, {"digit": 0}, {"digit": 3}, {"digit": 1.0}),
        *({"missing": [2]}, {"missing": [3, 0]}, {"missing": [-2, 0]}, {"missing": [0.0, 0]}),
    ):
        with pytest.raises(FormatError):
            Quantiser.from_data(good | change)


def test_wrong_features_and_leaves(refuse):
    model = random_ensemble(1, 3, 1, feature_count=4, levels=3, seed=0)
    with pytest.raises(MismatchError, match="4 features, and the quantiser 5"):
        quantise(model, Quantiser.of_levels(5, 3))
    with pytest.raises(MismatchError, match="4 features, and the quantiser 5"):
        Quantiser.of_levels(5, 3).of_values(model)
    refuse((lambda: Quantiser.of_levels(4, 3).bins(np.zeros((2, 3))), MismatchError, r"give \(rows, 4\)"))
    huge = Ensemble(model.features, model.thresholds, 1e9 * model.leaves, model.base, 4, False, 2)
    with pytest.raises(
        ParameterError, match=r"too large for a plaintext modulus of 20 bits; take .*--parameters auto"
    ):
        quantise(huge, Quantiser.of_levels(4, 3))
    # The parameters that the message names hold them, in steps as fine as others.
    params = parameters_for("auto", huge, Quantiser.of_levels(4, 3))
    assert quantise(huge, Quantiser.of_levels(4, 3), params.plain_modulus.bit_length()).scale >= 1 << 10


@pytest.mark.parametrize(
    ("degree", "scores", "trees", "samples", "depth"),
    [
        (1024, 1, 1, 1, 1),
        (1024, 1, 40, 700, 2),
        (1024, 3, 17, 50, 2),
        (2048, 11, 5, 258, 3),
        (8192, 11, 128, 258, 2),
    ],
)
def test_layout(degree, scores, trees, samples, depth):
    """Every tree of every sample has one slot, and the rotations add them up everywhere at once."""
    layout = Layout.choose(degree, scores, trees, samples, depth)
    random = np.random.default_rng(1)
    weights = random.integers(-9, 9, (scores, trees))
    bits = random.integers(0, 2, (samples, scores, trees))
    packed, spread = layout.pack(bits), layout.spread(weights)
    assert (packed.shape, packed.sum()) == ((layout.groups, layout.chunks, degree), bits.sum())
    total = (packed * spread[:, None]).sum(axis=0).reshape(layout.chunks, 2, -1)
    for steps in layout.rotations:
        total = total + np.roll(total, -steps, axis=-1)
    total = total + total[:, ::-1]
    wanted = (bits * weights).sum(axis=2)
    np.testing.assert_array_equal(layout.unpack(total.reshape(layout.chunks, degree)), wanted)
    lanes = total.reshape(layout.chunks, 2 * layout.lanes, layout.lane_slots)
    # No slot has a part of a sum: all lanes are alike.
    assert np.array_equal(lanes, np.broadcast_to(lanes[:, :1], lanes.shape))
    assert not lanes[:, :, scores * layout.width :].any()
    constants = layout.constants(np.arange(1, scores + 1))
    np.testing.assert_array_equal(
        layout.unpack(np.tile(constants, (layout.chunks, 1))), np.tile(np.arange(1, scores + 1), (samples, 1))
    )


def test_layouts_that_do_not_fit(refuse):
    with pytest.raises(ParameterError, match="degree of at least 2400"):
        Layout.choose(1024, 1200, 1, 1, 1)
    deep = quantise(random_ensemble(2, 3, 3, feature_count=4, levels=3, seed=0), Quantiser.of_levels(4, 3))
    refuse((lambda: PaperLayout.choose(1024, deep), ParameterError, "not depth 3 on 3 values"))
    wide = quantise(random_ensemble(9, 70, 2, feature_count=4, levels=3, seed=0), Quantiser.of_levels(4, 3))
    with pytest.raises(ParameterError, match="9 scores of 128 trees need more than the 512 slots"):
        PaperLayout.choose(1024, wide)


def test_genome(refuse):
    table, labels = genome.generate(400, 128, seed=3)
    again, _ = genome.generate(400, 128, seed=3)
    other, _ = genome.generate(400, 128, seed=4)
    assert table.shape == (400, 256)
    assert np.array_equal(table, again)
    assert not np.array_equal(table, other)
    assert (set(np.unique(table)), set(labels)) == ({0, 1, 2}, set(range(11)))
    assert 0.6 < (table == 0).mean() < 0.98
    # Copy numbers change in segments: neighbours are alike far more often than distant genes.
    numbers = table[:, 128:]
    near = np.mean((numbers[:, 1:] != 0) & (numbers[:, 1:] == numbers[:, :-1]))
    far = np.mean((numbers[:, 64:] != 0) & (numbers[:, 64:] == numbers[:, :-64]))
    assert near > 3 * far
    refuse((lambda: genome.generate(10, 32, seed=0), ParameterError, "64 genes or more"))
