"""The first k rows by encrypted comparisons of all pairs, beside NumPy's ranking."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from hemera.errors import ParameterError
from hemera.search import Client, Index, Settings, Top
from hemera.search.comparisons.rows import PairedRows

from ..refusals import raises

pytestmark = pytest.mark.usefixtures("small_rings")

MARGIN = 2.0**-2
DIMS = 4


def at_cosines(cosines, x, seed=0):
    """Vectors of several norms with these cosines with x."""
    random = np.random.default_rng(seed)
    unit = x / np.linalg.norm(x)
    others = random.normal(size=(len(cosines), len(x)))
    others -= np.outer(others @ unit, unit)
    others /= np.linalg.norm(others, axis=1, keepdims=True)
    c = np.array(cosines)[:, None]
    return np.asarray((c * unit + np.sqrt(1 - c**2) * others) * random.uniform(0.5, 2, (len(cosines), 1)))


def require_first(found, ids, scores, k, margin):
    """Rows that are surely first are there, those that are surely not are not, others may be; rows that are
    told to be doubtful are those of no sure rank."""
    ahead = (scores[None] > scores[:, None] + margin).sum(axis=1)
    near = (np.abs(scores[None] - scores[:, None]) <= margin).sum(axis=1) - 1
    sure, never = ahead + near < k, ahead >= k
    got = np.isin(ids, found.ids)
    assert got[sure].all()
    assert not got[never].any()
    assert not (sure | never)[np.isin(ids, found.doubtful)].any()


X = np.array([1.0, -2.0, 0.5, 1.5])
COSINES = [0.35, -0.95, 0.99, -0.3, 0.68, 0.02]


class Ranked:
    """An index with room for more rows, and its client."""

    def __init__(self):
        self.vectors = at_cosines(COSINES, X)
        self.numbers = np.arange(6)[:, None] * [10, 1]
        self.index = Index(
            self.vectors, answers=Top(margin=MARGIN, rows=8), payloads=self.numbers, ids=[5, 4, 3, 2, 1, 0]
        )
        self.client = Client(bytes(self.index.settings))
        self.keys = self.index.load_keys(self.client.keys)

    def ask(self, k, *, payloads=False):
        return self.client.decrypt(
            self.index.query(self.client.query(X, want="payloads" if payloads else "mask", k=k), self.keys)
        )


@pytest.fixture(scope="module")
def world(small_rings):  # noqa: ARG001
    return Ranked()


@pytest.mark.parametrize("metric", ["cosine", "dot", "l2"])
@pytest.mark.parametrize("rows", [4, 256])
def test_pairs_of_slots_are_differences_of_scores(metric, rows):
    """In the clear: one block of some pairs, and several blocks."""
    bound = 1.0 if metric == "cosine" else 3.0
    program = Settings(DIMS, metric, Top(MARGIN, bound, rows=rows)).program
    layout = program.layout
    random = np.random.default_rng(rows)
    count = rows - 1
    vectors = random.uniform(-1, 1, (count, DIMS))
    clear = SimpleNamespace(encode=lambda numbers, level: numbers)  # noqa: ARG005
    stored = PairedRows(program, clear)
    stored.add(np.arange(count), stored.read(vectors, None, None))
    assert stored.blocks_count * layout.rows == rows**2
    asked = program.asked(X)
    if metric == "l2":
        scores = -((vectors - X) ** 2).sum(axis=1)
        scale = 3 * (2 * np.linalg.norm(X) + 3)
    else:
        norms = np.linalg.norm(vectors, axis=1) if metric == "cosine" else 3
        scores, scale = vectors @ X / norms, np.linalg.norm(X)
    found = []
    for block in stored._blocks:
        factors = [np.roll(asked.slots[0], -step) for step in range(layout.steps)] + list(asked.slots[1:])
        total = sum(a * b for a, b in zip(factors, block.columns, strict=True))
        parts = sum(np.roll(total, -part * layout.rows) for part in range(layout.parts)) + block.bias
        copies = np.asarray(parts).reshape(-1, layout.rows)
        assert np.allclose(copies, copies[0])
        found.append(copies[0])
    pairs = np.concatenate(found).reshape(rows, rows)
    expected = np.full((rows, rows), -1.0)
    expected[:count, :count] = (scores[None] - scores[:, None]) / scale / 2
    np.fill_diagonal(expected, -1)
    assert np.allclose(pairs[:count], expected[:count])
    assert np.abs(pairs).max() <= 1 + 1e-9


@pytest.mark.parametrize("k", [1, 3, 5, 6, 100])
def test_the_first_rows_are_numpys(world, k):
    found = world.ask(k)
    order = np.argsort(-np.array(COSINES))
    assert sorted(found.ids.tolist()) == sorted((5 - order[:k]).tolist())
    assert len(found.doubtful) == 0
    assert found.payloads is None


def test_payloads_of_the_first_rows(world):
    found = world.ask(2, payloads=True)
    assert found.ids.tolist() == [3, 1]
    assert found.payloads is not None
    assert np.abs(found.payloads - world.numbers[[2, 4]]).max() < 0.01


def test_answers_have_nothing_but_the_first_rows(world):
    query = world.client.query(X, k=2)
    answer = world.client.settings.program.unpack_answer(
        world.index.query(query, world.keys), world.client._context
    )
    slots = world.client._context.decrypt(answer.results[0], world.client.secret_key)
    others = slots.reshape(-1, world.client.settings.program.rows)[:, 1:]
    assert np.abs(others).max() < 1e-4


def test_ties_within_the_margin():
    """Equal rows, and others as near as the margin, are shared."""
    cosines = [0.9, 0.5, 0.5, 0.42, -0.2, -0.9]
    vectors = at_cosines(cosines, X, 3)
    vectors[2] = vectors[1]
    index = Index(vectors, answers=Top(margin=MARGIN))
    client = Client(index.settings)
    keys = index.load_keys(client.keys)
    for k in (1, 2, 4):
        found = client.decrypt(index.query(client.query(X, k=k), keys))
        require_first(found, np.arange(6), np.array(cosines), k, MARGIN)


def test_random_rows_of_other_metrics():
    random = np.random.default_rng(12)
    vectors = random.normal(size=(8, DIMS)) * 2
    for metric in ("dot", "l2"):
        index = Index(vectors, metric, answers=Top(margin=MARGIN))
        client = Client(index.settings)
        bound, norm = np.linalg.norm(vectors, axis=1).max(), np.linalg.norm(X)
        if metric == "dot":
            scores = vectors @ X / (bound * norm)
        else:
            scores = -((vectors - X) ** 2).sum(axis=1) / (bound * (2 * norm + bound))
        found = client.decrypt(index.query(client.query(X, k=3), client.keys))
        require_first(found, np.arange(8), scores, 3, MARGIN)


def test_rows_come_and_go(world, tmp_path):
    world.index.save(tmp_path / "index")
    index, client = Index.load(tmp_path / "index"), world.client
    index.remove([3, 4])
    assert index.ids.tolist() == [5, 2, 1, 0]
    assert index.add(at_cosines([0.97, -0.6], X, 5), payloads=[[7, 7], [8, 8]]).tolist() == [6, 7]
    found = client.decrypt(index.query(client.query(X, want="payloads", k=2), client.keys))
    assert found.ids.tolist() == [1, 6]
    assert found.payloads is not None
    assert np.abs(found.payloads - [[40, 4], [7, 7]]).max() < 0.01
    raises(ParameterError, "make it with Top", index.add, at_cosines([0.1] * 3, X), payloads=np.zeros((3, 2)))


def test_arguments(world):
    other = Index(world.vectors, answers=Top(margin=MARGIN, rows=8))
    for options, told in (
        ({"k": 0}, "k must be"),
        ({}, "ranks its rows"),
        ({"k": 2, "threshold": 0.5}, "ranks its rows"),
        ({"k": 2, "want": "count"}, "wants one of mask, payloads"),
        ({"k": 2, "want": "payloads"}, "no payloads"),
        ({"k": 2, "prepared": True}, "for scores"),
    ):
        raises(ParameterError, told, Client(other.settings).query, X, **options)
    raises(ParameterError, "above thresholds", world.client.top, X, 2, lambda query: query)
    raises(ParameterError, "with thresholds", Index, np.ones((2000, 4)), answers=Top())
    raises(ParameterError, "no room", Index, world.vectors, answers=Top(rows=3))
    raises(ParameterError, "in the clear", Client.owning, world.vectors, answers=Top())
    raises(ParameterError, "", Settings, DIMS, "cosine", dataclasses.replace(other.settings.answers, rows=12))
