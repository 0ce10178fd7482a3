"""Comparisons of encrypted scores with encrypted thresholds beside NumPy's."""

import numpy as np
import pytest

from hemera.errors import RangeError
from hemera.search import Client, Index, Settings, Threshold
from hemera.search.comparisons.layout import Layout

from ..refusals import raises
from .threshold_cases import DIMS, MARGIN, cosines, floats, require_right

pytestmark = pytest.mark.usefixtures("small_rings")


@pytest.mark.parametrize("threshold", [0.2, -0.3])
def test_the_mask_is_numpys_beyond_the_margin(world, threshold):
    found = world.client.decrypt(world.ask(world.client.query(world.x, threshold)))
    require_right(found, np.arange(50), world.scores - threshold)
    assert found.payloads is None
    assert 0 < len(found) < 50


def test_counts_of_several_thresholds(world):
    layout = world.client.settings.program.layout
    thresholds = np.linspace(-0.9, 0.9, layout.copies + 3)  # a second ciphertext of thresholds
    answer = world.ask(world.client.query(world.x, thresholds, "count"))
    counts = world.client.decrypt(answer)
    assert counts.shape == thresholds.shape
    above = (world.scores[None] > thresholds[:, None] + MARGIN).sum(axis=1)
    near = (np.abs(world.scores[None] - thresholds[:, None]) <= MARGIN).sum(axis=1)
    assert (counts > above - 0.01).all()
    assert (counts < above + near + 0.01).all()
    sure = near == 0
    assert sure.any()
    assert np.abs(counts[sure] - above[sure]).max() < 1e-3
    single = world.client.decrypt(world.ask(world.client.query(world.x, 0.1, "count")))
    assert single.shape == ()


def test_answers_of_counts_have_nothing_else(clear):
    query = clear.client.query(clear.x, np.linspace(-0.5, 0.5, 7), "count")
    answer = clear.ask(query)
    unpacked = clear.client.settings.program.unpack_answer(answer, clear.client._context)
    slots = clear.client._context.decrypt(unpacked.results[0], clear.client.secret_key)
    others = slots.reshape(-1, clear.client.settings.program.rows)[:, 1:]
    assert np.abs(others).max() < 1e-4


def test_payloads_of_matches(world):
    answer = world.ask(world.client.query(world.x, 0.3, "payloads"))
    found = world.client.decrypt(answer)
    require_right(found, np.arange(50), world.scores - 0.3)
    assert found.payloads is not None
    assert found.payloads.shape == (len(found), 3)
    sure = ~np.isin(found.ids, found.doubtful)
    assert sure.sum() > 5
    assert np.array_equal(np.rint(found.payloads[sure]), world.payloads[found.ids[sure]])


def test_a_row_at_the_threshold_is_told_to_be_doubtful(world):
    place = int(np.argsort(world.scores)[30])
    found = world.client.decrypt(world.ask(world.client.query(world.x, world.scores[place])))
    assert place in found.doubtful


@pytest.mark.parametrize(("k", "thresholds"), [(1, None), (4, 5), (50, None), (80, None)])
def test_top_has_the_best_rows(clear, k, thresholds):
    asked = []

    def ask(query):
        asked.append(query)
        return clear.ask(query)

    found = clear.client.top(clear.x, k, ask, thresholds=thresholds, payloads=k == 4)
    order = np.argsort(-clear.scores)
    assert np.isin(order[:k], found.ids).all()
    least = clear.scores[order[min(k, 50) - 1]]
    assert (clear.scores[found.ids] > least - 3 * MARGIN).all()
    assert (found.payloads is not None) == (k == 4)
    # Rounds of counts as the settings have them, whatever the scores are, and one for the mask.
    assert len(asked) == (3 if thresholds == 5 else 2)


def test_top_of_separated_rows_has_k():
    axes = np.eye(DIMS)
    x = axes[0]
    angles = np.array([0.98, 0.97, 0.4, 0.39, -0.2, -0.8])
    rows = angles[:, None] * axes[0] + np.sqrt(1 - angles**2)[:, None] * axes[1]
    index = Index(rows, answers=Threshold(margin=MARGIN), ids=[9, 8, 7, 6, 5, 4])
    client = Client(index.settings)
    keys = index.load_keys(client.keys)
    for k, expected in ((2, [9, 8]), (4, [9, 8, 7, 6])):
        found = client.top(x, k, lambda query: index.query(query, keys))
        assert found.ids.tolist() == expected


def test_inner_products():
    vectors, x = floats(20, seed=8) * 4, floats(1, seed=9)[0] * 3
    index = Index(vectors, "dot", answers=Threshold(margin=MARGIN))
    client = Client(index.settings)
    bound = np.linalg.norm(vectors, axis=1).max()
    assert np.isclose(index.settings.program.row_bound, bound)
    found = client.decrypt(index.query(client.query(x, 11.0), client.keys))
    require_right(found, np.arange(20), (vectors @ x - 11) / (bound * np.linalg.norm(x)))
    raises(RangeError, "row_bound=", index.add, vectors * 1.1)


@pytest.mark.parametrize("metric", ["dot", "l2"])
def test_thresholds_beyond_all_scores(metric):
    """A row in the direction of the query, or against it, has the last score that there can be."""
    rows = floats(20)
    x = rows[np.argmax(np.linalg.norm(rows, axis=1))] * (1 if metric == "dot" else -1)
    index = Index(rows, metric, answers=Threshold(margin=MARGIN))
    client = Client(index.settings)
    scores = rows @ x if metric == "dot" else ((rows - x) ** 2).sum(axis=1)
    for level in (1.01 * scores.max(), 1e6, -1e6):
        found = client.decrypt(index.query(client.query(x, level), client.keys))
        wanted = scores > level if metric == "dot" else scores < level
        assert found.ids.tolist() == np.flatnonzero(wanted).tolist()
        assert not len(found.doubtful)
        counts = client.decrypt(index.query(client.query(x, [level, 2 * level], "count"), client.keys))
        np.testing.assert_allclose(counts, wanted.sum(), atol=2.0**-10)
    client.query(x, [scores.max(), scores.min()], "count")  # rounded to a little more than the last one
    raises(RangeError, "beyond all scores; ask for them by", client.query, x, [1e6, scores[0]], "count")


@pytest.mark.parametrize("encrypted", [False, True])
@pytest.mark.parametrize("rows", [4, 20])
def test_squared_distances(encrypted, rows):
    vectors, x = floats(rows, seed=8) * 4, floats(1, seed=9)[0] * 3
    if encrypted:
        client = Client.owning(vectors, "l2", answers=Threshold(margin=2.0**-5))
        index = Index(client.encrypt(vectors))
    else:
        index = Index(vectors, "l2", answers=Threshold(margin=2.0**-5))
        client = Client(index.settings)
    distances = ((vectors - x) ** 2).sum(axis=1)
    bound = np.linalg.norm(vectors, axis=1).max()
    threshold = float(np.median(distances))
    found = client.decrypt(index.query(client.query(x, threshold), client.keys))
    relative = (threshold - distances) / (bound * (2 * np.linalg.norm(x) + bound))
    require_right(found, np.arange(rows), relative, 2.0**-5)
    assert len(found) < rows


def test_a_block_that_fills_the_slots():
    """One copy of rows, and a second block: rotations by all entries."""
    dims, slots = 4, Settings(4, "cosine", Threshold(MARGIN, rows=4)).params.max_slots
    rows = slots + 50
    vectors, x = floats(rows, dims, 10), floats(1, dims, 11)[0]
    index = Index(vectors, answers=Threshold(margin=MARGIN))
    assert index.settings.program.layout == Layout(slots, slots, dims)
    client = Client(index.settings)
    keys = index.load_keys(client.keys)
    relative = cosines(vectors, x) - 0.4
    require_right(client.decrypt(index.query(client.query(x, 0.4), keys)), np.arange(rows), relative)
    count = client.decrypt(index.query(client.query(x, 0.4, "count"), keys))
    assert (relative > MARGIN).sum() < count < (relative > -MARGIN).sum()
