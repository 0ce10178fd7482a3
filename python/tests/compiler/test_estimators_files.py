"""What a packaged estimator tells its clients: read as written, and refused where it is damaged."""

import copy
import json
import random

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

import hemera as hm
from hemera.errors import FormatError, MismatchError
from hemera.package.encodings import Table, encoding_from_data
from hemera.package.finishing import Apply, Columns, Label, Method, Neighbours, Parts
from hemera.package.specs import Labels

from ..refusals import raises

ROWS, TARGETS = load_iris(return_X_y=True)
MODELS = {
    "votes": VotingClassifier([("a", LogisticRegression()), ("b", LogisticRegression(C=0.1))], voting="soft"),
    "hard votes": VotingClassifier([("a", LogisticRegression()), ("b", BernoulliNB(binarize=None))]),
    "neighbours": KNeighborsClassifier(3, weights="distance"),
    "thresholds": BernoulliNB(binarize=3.0),
    "pairs": SVC(kernel="linear"),
}


@pytest.fixture(scope="module", params=MODELS)
def data(request):
    model = MODELS[request.param].fit(np.clip(ROWS, 0, 1) if request.param == "hard votes" else ROWS, TARGETS)
    rows = np.clip(ROWS, 0, 1) if request.param == "hard votes" else ROWS
    plan = hm.compile(model, calibrate=rows, rows=8, security=None)
    found = plan.package.interface.encoding
    assert isinstance(found, Table)
    return json.loads(json.dumps(found.to_data()))


def test_an_encoding_is_read_as_it_was_written(data):
    table = encoding_from_data(data, (), ())
    assert isinstance(table, Table)
    assert json.loads(json.dumps(table.to_data())) == data
    random_scores = np.random.default_rng(3).normal(size=(2, 1 << 12))
    for name, method in table.methods.items():
        assert method.to_data() in [own for _, own in data["methods"]]
        assert len(table.read([random_scores], name, 9)) == 9


def _places(value, path=()):
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, each in inner for place in _places(each, (*path, key)))]


def _changed(data, choose):
    """The data with one place changed to something else."""
    found = copy.deepcopy(data)
    *path, last = choose.choice([place for place in _places(data) if place])
    inner = found
    for key in path:
        inner = inner[key]
    others = [None, -1, 0, 1, 7, 2**40, 1e300, float("nan"), "", "softmax", "pair-votes", [], {}, [[1]], True]
    if choose.random() < 0.2 and isinstance(inner, dict):
        del inner[last]
    else:
        inner[last] = choose.choice(others)
    return found


def test_damaged_encodings_are_typed_errors(data):
    choose = random.Random(30)
    scores = np.random.default_rng(3).normal(size=(1, 1 << 12))
    refused = 0
    for _ in range(400):
        changed = _changed(data, choose)
        try:
            table = encoding_from_data(changed, (), ())
        except (hm.errors.Error, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            refused += 1  # `Interface.from_dict` makes a FormatError of each
            continue
        assert isinstance(table, Table)
        for name in table.methods:
            try:
                with np.errstate(all="ignore"):
                    table.read([scores[:, ::1]] * table.output.count, name, 3)
            except hm.errors.Error:
                refused += 1
    assert refused > 100


@pytest.mark.parametrize(
    "steps",
    [
        [{"kind": "apply", "name": "__import__"}],
        [{"kind": "apply", "name": "softmax"}] * 17,
        [{"kind": "columns", "start": 2, "stop": 2}],
        [{"kind": "neighbours", "targets": [[0], [3]], "count": 1, "weighted": False, "classes": 2}],
        [{"kind": "neighbours", "targets": [[0], [1]], "count": 3, "weighted": False, "classes": 2}],
        [{"kind": "parts", "join": "least", "parts": [[0, 1, []]], "weights": [1], "classes": 0}],
        [{"kind": "parts", "join": "mean", "parts": [[0, 1, []]], "weights": [0], "classes": 0}],
        [{"kind": "unknown"}],
    ],
)
def test_steps_of_other_kinds(steps):
    raises(hm.errors.Error, "", Method.from_data, {"steps": steps, "type": "float64", "shape": []})


def test_nested_parts_have_a_limit():
    steps = []
    for _ in range(50):
        steps = [{"kind": "parts", "join": "mean", "parts": [[0, 1, steps]], "weights": [1], "classes": 0}]
    raises(FormatError, "at most", Method.from_data, {"steps": steps, "type": "float64", "shape": []})


def test_steps_that_do_not_fit_the_scores():
    scores = np.zeros((2, 3))
    for steps in (
        (Columns(0, 4),),
        (Apply("argmax"), Apply("pair-votes")),
        (Columns(0, 2), Apply("pair-scores")),
        (Neighbours(np.zeros((2, 1)), 1, False),),
        (Parts("majority", ((0, 3, (Apply("argmin"),)),), (1.0,), 0), Apply("softmax")),
        (Apply("softmax"), Columns(0, 2)),
    ):
        with pytest.raises(MismatchError):
            Method(steps, "float64", (3,))(scores)


def test_neighbours_with_and_without_a_distance_of_zero():
    targets = np.array([[0.0], [1.0], [1.0]])
    far = np.array([[4.0, 1.0, 9.0], [0.0, 1.0, 4.0], [-1e-9, 1.0, 1e-9]])
    shares = Neighbours(targets, 2, True, 2)(far)
    # Weights 1/2 and 1; a distance of 0 alone counts.
    np.testing.assert_allclose(shares[0], [1 / 3, 2 / 3])
    np.testing.assert_allclose(shares[1], [1, 0])
    assert shares[2, 0] == 1
    means = Neighbours(targets * 6, 2, False)(far)
    np.testing.assert_allclose(means.ravel(), [3, 3, 3])


def test_pairs_are_voted_as_one_against_one():
    # Pairs (0, 1), (0, 2), (1, 2): above 0 for the second class.
    scores = np.array([[-1.0, -1.0, 5.0], [1.0, -3.0, -0.5]])
    assert Apply("pair-votes")(scores).tolist() == [0, 1]
    sums = np.array([[2.0, -6.0, 4.0], [2.0, 1.5, -3.5]])
    votes = np.array([[2, 0, 1], [1, 2, 0]])
    np.testing.assert_allclose(Apply("pair-scores")(scores), votes + sums / (3 * (np.abs(sums) + 1)))


@pytest.mark.parametrize("number", [-1, 2])
def test_classes_beyond_the_labels_are_refused(number):
    """-1 would be the last label, or a vote for the last class, in NumPy's indexing."""
    labels = Label(Labels.of(["a", "b"]))
    assert labels(np.array([0, 1, 1])).tolist() == ["a", "b", "b"]
    votes = Parts("majority", ((0, 1, ()), (1, 2, ())), (1.0, 2.0), 2)
    assert votes(np.array([[0.0, 1.0], [1.0, 0.0]])).tolist() == [1, 0]
    for step, values in ((labels, [1, number]), (votes, [[0.0, 1.0], [0.0, float(number)]])):
        raises(MismatchError, f"class {number}, and 2 classes", step, np.array(values))
