"""What clients make of scores, and how many results may be shown."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from scipy import special
from sklearn.multiclass import OneVsOneClassifier
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import LinearSVC

import hemera as hm
from hemera import errors
from hemera.errors import FormatError, MismatchError, ParameterError
from hemera.inputs.fields import damaged
from hemera.package.finishing import Apply, Columns, Label, Method, Neighbours, Parts, finished, undecided
from hemera.package.local_model import LocalModel
from hemera.package.sharing import Sharing, Shown
from hemera.package.specs import READINGS, Labels, class_numbers, read_as

from ..refusals import raises

CLIENT = Path(__file__).resolve().parents[3] / "clients" / "javascript"
SCORES = np.array([[0.0, 1.5, -2.0], [-0.0, 0.0, 0.0], [40.0, -40.0, 800.0], [-800.0, -900.0, -1000.0]])
EACH = special.expit(SCORES)
BY_HAND = {
    "values": SCORES,
    "sigmoid": EACH,
    "sign": [[0, 1, 0], [0, 0, 0], [1, 0, 1], [0, 0, 0]],  # a score of 0 is of the first class
    "softmax": special.softmax(SCORES, axis=1),
    "argmax": [1, 0, 2, 0],
    "argmin": [2, 0, 1, 2],
    "exp": [[1, np.exp(1.5), np.exp(-2.0)], [1, 1, 1], [np.exp(40), np.exp(-40), np.inf], [0, 0, 0]],
    "clipped": [[0.5, 1, 0], [0.5, 0.5, 0.5], [1, 0, 1], [0, 0, 0]],
    "truth": [[0, 1, 0], [0, 0, 0], [1, 0, 1], [0, 0, 0]],
    "integer": [[0, 2, -2], [0, 0, 0], [40, -40, 800], [-800, -900, -1000]],
    "negative": -SCORES,
    "not-negative": [[1, 1, 0], [1, 1, 1], [1, 0, 1], [0, 0, 0]],
    "root": [[0, 1.5**0.5, 0], [0, 0, 0], [40**0.5, 0, 800**0.5], [0, 0, 0]],
    "log-softmax": special.log_softmax(SCORES, axis=1),
    "difference": [[1.5], [0], [-80], [-100]],
    "both": np.concatenate([1 - SCORES, SCORES], axis=1),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_functions_of_scores(name):
    found = Apply(name)(SCORES)
    np.testing.assert_allclose(found, BY_HAND[name], rtol=1e-13, atol=1e-300)
    if name in READINGS:
        np.testing.assert_array_equal(read_as(SCORES, name, None), found)


def test_truth_values_and_integers_are_the_nearest_and_stay_floats_where_one_is_missing():
    near = np.array([0.499, 0.501, 1.004, -0.3, 2.9998, -1.7])
    for name, wanted in (
        ("truth", [False, True, True, False, True, False]),
        ("integer", [0, 1, 1, 0, 3, -2]),
    ):
        found = READINGS[name](near)
        assert (found.dtype, found.tolist()) == (np.asarray(wanted).dtype, wanted)
        assert READINGS[name](near[0]).dtype == found.dtype  # without axes
        missing = READINGS[name](np.append(near, np.nan))
        np.testing.assert_array_equal(missing, [*wanted, np.nan])
        assert missing.dtype == np.float64
    large = np.array([2**53 + 1, -(2**60) - 1])
    assert READINGS["integer"](large).tolist() == large.tolist()


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node on this machine (package nodejs)")
def test_readings_in_javascript_are_the_same():
    rows = np.append(SCORES[:2], [[0.499, 2.9998, -1.7]], axis=0)
    answers = [{"y": rows.ravel().tolist()}]
    script = f"""
        import {{ Model }} from {json.dumps((CLIENT / "served.mjs").as_uri())};
        const found = {{}};
        for (const read of {json.dumps(list(READINGS))}) {{
          const output = {{ name: 'y', shape: [3], low: null, high: null, watched: '', read, labels: null }};
          const maps = {{ unwatched: [], outputs: [output] }};
          found[read] = Model.prototype.read.call({{ maps }}, {json.dumps(answers)}, 3).results.y;
        }}
        console.log(JSON.stringify(found));"""
    command = ["node", "--input-type=module", "-e", script]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    for name, read in READINGS.items():
        wanted = read(rows)
        assert found[name]["shape"] == list(wanted.shape)
        own = np.array(found[name]["values"])
        assert wanted.dtype.kind == "f" or own.dtype.kind == wanted.dtype.kind
        np.testing.assert_allclose(own, wanted.ravel(), rtol=1e-13)


def test_one_against_rest_has_sums_of_one_also_where_all_are_nothing():
    found = READINGS["one-against-rest"](SCORES)
    np.testing.assert_allclose(found[:3], EACH[:3] / EACH[:3].sum(axis=1, keepdims=True), rtol=1e-13)
    np.testing.assert_array_equal(found[3], np.full(3, 1 / 3))


def test_pairs_of_classes_are_as_scikit_learns():
    rows = np.random.default_rng(5).normal(size=(200, 3))
    model = OneVsOneClassifier(LinearSVC()).fit(rows, np.digitize(rows[:, 0] + rows[:, 1], [-1, 0, 1]))
    scores = np.stack([each.decision_function(rows) for each in model.estimators_], axis=1)
    np.testing.assert_allclose(Apply("pair-scores")(scores), model.decision_function(rows))
    np.testing.assert_array_equal(Apply("pair-scores")(scores).argmax(axis=1), model.predict(rows))
    # Pairs (0, 1), (0, 2), (1, 2): a score above 0 is for the second class, and 0 for the first.
    assert Apply("pair-votes")(np.array([[0.0, 1, 1], [1, 0, -1], [0, 0, 0]])).tolist() == [2, 1, 0]
    for count in (1, 3, 6, 10):
        assert Apply("pair-votes")(np.zeros((1, count))).tolist() == [0]
    for count in (2, 4, 5):
        with pytest.raises(MismatchError, match=f"{count} scores are not those of all pairs"):
            Apply("pair-votes")(np.zeros((1, count)))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("count", [1, 2, 5, 12])
def test_neighbours_are_as_scikit_learns(weighted, count):
    """Rows that are neighbours themselves are at distance 0, and these alone count then."""
    random = np.random.default_rng(6)
    points = random.integers(0, 50, (12, 2)).astype(float)
    points[7] = points[3]
    rows = np.concatenate([points[2:5], random.uniform(0, 50, (9, 2))])
    distances = ((rows[:, None] - points[None]) ** 2).sum(axis=2)
    options = {"n_neighbors": count, "weights": "distance" if weighted else "uniform"}
    targets = random.normal(size=(12, 2))
    found = Neighbours(targets, count, weighted)(distances)
    wanted = KNeighborsRegressor(algorithm="brute", **options).fit(points, targets).predict(rows)
    classes = np.arange(12) % 3
    shares = Neighbours(classes[:, None].astype(float), count, weighted, 3)(distances)
    judge = KNeighborsClassifier(algorithm="brute", **options).fit(points, classes)
    untied = ~Neighbours(np.arange(12.0)[:, None], count, weighted).tied(distances, 1e-6)
    assert untied.sum() >= 9
    np.testing.assert_allclose(found[untied], wanted[untied])
    np.testing.assert_allclose(shares[untied], judge.predict_proba(rows)[untied])
    raises(MismatchError, "11 distances to 12", Neighbours(targets, count, weighted), distances[:, 1:])


@pytest.mark.parametrize(
    ("distances", "count", "tied"),
    [
        ([1, 2, 3], 2, False),
        ([1, 2, 2], 2, True),
        ([2, 2, 3], 2, False),  # both are near
        ([1, 2, 2 + 1e-9], 2, True),
        ([1, 2, 2 + 1e-8], 2, False),
        ([1, 1, 1], 3, False),  # all of them
        ([1, 1, 1], 2, True),
    ],
)
def test_neighbours_of_which_either_may_count(distances, count, tied):
    for targets, expected in (([1, 2, 3], tied), ([5, 5, 5], False)):
        step = Neighbours(np.array(targets, float)[:, None], count, False)
        found = undecided(
            (Parts("mean", ((0, 3, (step,)),), (1.0,)),), np.array([distances, [1, 5, 9]]), 5e-9
        )
        assert found.tolist() == [expected, False]


def test_parts_are_joined_by_their_weights():
    scores = np.array([[1.0, 3.0, 1.0, 0.0, 2.0], [0.0, 3.0, 5.0, 1.0, 0.0]])
    ways = (0, 2, ()), (2, 4, (Apply("negative"),)), (3, 5, ())
    means = finished(scores, [Parts("mean", ways, (1.0, 2.0, 5.0))])
    judge = np.average([scores[:, :2], -scores[:, 2:4], scores[:, 3:]], axis=0, weights=[1, 2, 5])
    np.testing.assert_allclose(means, judge)
    votes = tuple((start, stop, (Apply("argmax"),)) for start, stop, _ in ways)  # 1, 0, 1 and 1, 0, 0
    for given, chosen in (("111", [1, 0]), ("131", [0, 0]), ("311", [1, 1]), ("121", [0, 0])):
        weights = tuple(map(float, given))
        assert Parts("majority", votes, weights, 2)(scores).tolist() == chosen
    assert Parts("stack", votes, (9.0, 1.0, 1.0))(scores).tolist() == [[1, 0, 1], [1, 0, 0]]
    raises(MismatchError, "columns up to 6 of 5", Columns(4, 6), scores)
    assert Columns(4, 5)(scores).tolist() == [[2.0], [0.0]]


@pytest.mark.parametrize("kind", ["bool", "int8", "uint64", "float32", "float64", "str", "object"])
def test_labels_have_their_type_and_their_numbers(kind):
    given = np.array(
        {"str": ["no", "ja"], "object": [None, 3]}.get(kind, [0, 1]), {"str": str}.get(kind, kind)
    )
    labels = Labels.of(given)
    assert (labels.kind, len(labels)) == (kind, 2)
    again = Labels.from_data(labels.to_data())
    for numbers in ([1, 0, 0], [], [1]):
        found = Label(again)(np.array(numbers, float))
        assert (found.dtype, found.tolist()) == (given.dtype, given[np.array(numbers, int)].tolist())
    for wrong in (-1, 2):
        raises(MismatchError, f"class {wrong}, and 2 classes", class_numbers, np.array([0, wrong, 5]), 2)
    assert read_as(np.array([[0.0], [1e-9]]), "sign", again)[:, 0].tolist() == given.tolist()
    raises(ParameterError, "train the model on such labels", Labels.of, np.array([1j, 2]))
    raises(FormatError, "do not fit their type uint8", Labels.from_data, {"kind": "uint8", "values": [256]})


@pytest.mark.parametrize(("kind", "shape"), [("int64", ()), ("float32", (2,)), ("bool", (2,)), ("str", ())])
def test_methods_give_the_shape_and_type_of_their_library(kind, shape):
    label = Label(Labels.of(["a", "b"]))
    steps = (Apply("argmax"), *([label] if kind == "str" else [])) if shape == () else ()
    method = Method.from_data(Method(steps, kind, shape).to_data())
    found = method(np.array([[0.0, 1.0], [3.0, 2.0], [0.0, 0.0]]))
    assert (found.shape, found.dtype.kind) == ((3, *shape), np.dtype(kind).kind)
    assert method(np.zeros((0, 2))).shape == (0, *shape)
    raises(MismatchError, "", Method(steps, kind, (3,)), np.zeros((2, 2)))


NEIGHBOURS = {"kind": "neighbours", "targets": [[0.0], [2.0]], "count": 2, "weighted": True, "classes": 3}
PARTS = {"kind": "parts", "join": "mean", "parts": [[0, 1, []], [1, 2, []]], "weights": [1, 0], "classes": 0}
LABELS = {"kind": "label", "labels": {"kind": "str", "values": ["a", "b"]}}


@pytest.mark.parametrize("step", [NEIGHBOURS, PARTS, LABELS], ids=lambda step: step["kind"])
@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("neighbours", {"targets": [0.0, 2.0]}),
        ("neighbours", {"targets": [[0.0], [np.nan]]}),
        ("neighbours", {"targets": [[]]}),
        ("neighbours", {"targets": [[0.0], [3.0]]}),  # classes 0 to 2
        ("neighbours", {"targets": [[-1.0], [2.0]]}),
        ("neighbours", {"targets": [[0.0, 1.0], [2.0, 0.0]]}),
        ("neighbours", {"count": 0}),
        ("neighbours", {"count": 3}),
        ("parts", {"weights": [1]}),
        ("parts", {"weights": [0, 0]}),
        ("parts", {"join": "median"}),
        ("parts", {"parts": []}),
        ("parts", {"parts": [[0, 0, []], [1, 2, []]]}),
        ("parts", {"parts": [[0, 1, [PARTS] * 17], [1, 2, []]]}),
        ("label", {"labels": {"kind": "str", "values": ["a", 1]}}),
        ("label", {"labels": {"kind": "int8", "values": [1, "a"]}}),
        ("label", {"labels": {"kind": "object", "values": ["a", []]}}),
        ("label", {"labels": {"kind": "str", "values": []}}),
        ("label", {"labels": {"kind": "text", "values": ["a"]}}),
        ("label", {"labels": {"kind": "int64", "values": ["a", "b"]}}),
        ("label", {"labels": {"kind": "str", "values": [1, 2]}}),
        ("label", {"labels": {"kind": "uint8", "values": [1, 300]}}),
        ("label", {"labels": {"kind": "U999999999", "values": ["a", "b"]}}),
        ("label", {"labels": {"kind": "int64"}}),
        ("label", {"labels": 3}),
        ("label", {"kind": "eval"}),
        ("", {}),
    ],
)
def test_steps_of_files_that_others_made(step, kind, changes):
    def method(own, kind="float64", shape=()):
        with damaged("a method"):
            return Method.from_data({"steps": [own], "type": kind, "shape": shape})

    assert method(step).to_data() == {"steps": [step], "type": "float64", "shape": []}
    if step["kind"] == kind:
        raises(FormatError, "", method, {**step, **changes})
    for wrong in ({"kind": "complex64"}, {"shape": (2, 2)}, {"shape": (0,)}):
        raises(FormatError, "", method, step, **wrong)


def shared(factor, scale_bits=40):
    params = hm.ckks.Parameters.for_circuit(2, scale_bits=scale_bits, slots=4, security=None, degree=1024)
    return hm.compile(lambda x: x * factor, hm.ArraySpec((4,), range=(0, 1)), params=params).package


@pytest.mark.parametrize("in_folder", [False, True])
def test_a_model_that_takes_anothers_place_counts_on(tmp_path, in_folder):
    """With the same parameters the secret key stays, and what was shown under it counts."""
    folder = tmp_path if in_folder else None

    def side(package, before=None):
        return LocalModel(
            package.interface, folder=folder, security=None, before=before, digest=package.digest
        )

    def show(local):
        local._shown.add(1, 3)

    first, second, other = shared(1.0), shared(2.0), shared(1.0, scale_bits=35)
    local = side(first)
    show(local)
    show(local)
    later = side(second, local)
    assert (later.secret_key, later.context) == (local.secret_key, local.context)
    assert (later.digest, later.interface) == (second.digest, second.interface)
    show(later)
    for each in (local, later, *([side(first)] if in_folder else [])):
        raises(errors.SecurityError, "3 results of this secret key were shown", show, each)
    anew = side(other, later)  # other parameters: another key
    assert bytes(anew.secret_key) != bytes(later.secret_key)
    assert anew.context.params == other.params
    show(anew)
    fresh = side(first)
    assert (bytes(fresh.secret_key) == bytes(local.secret_key)) == in_folder


@pytest.mark.parametrize(("before", "more"), [(0, 1), (0, 5), (3, 2), (4, 1)])
def test_results_are_shown_up_to_their_number(tmp_path, before, more):
    """The last one that is taken and the first that is not; what is refused does not count."""
    ways = [Shown, lambda: Shown(tmp_path / f"shown-{before}-{more}.json")]
    for make in ways:
        shown = make()
        if before:
            shown.add(before, 5)
        beyond = 6 - before
        with pytest.raises(
            errors.SecurityError, match=f"{before} results .*, and {beyond} more would exceed the 5"
        ):
            shown.add(beyond, 5)
        shown.add(more, 5)
        left = 5 - before - more
        raises(errors.SecurityError, "", shown.add, left + 1, 5)
        if left:
            shown.add(left, 5)
    assert Shown(tmp_path / "other.json").add(5, 5) is None


def test_bounds_of_a_file_are_one_for_each_output():
    sharing = Sharing((1.0, 2.0), 20, 7)
    assert Sharing.from_data(sharing.to_data(), 2) == sharing
    for outputs in (1, 3):
        with pytest.raises(errors.FormatError, match=f"2 noise bounds, and the model has {outputs}"):
            Sharing.from_data(sharing.to_data(), outputs)
