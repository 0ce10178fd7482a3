"""Indexes with thresholds: places in slots, rows that come and go, and messages that are refused."""

import dataclasses

import numpy as np
import pytest

from hemera.errors import MismatchError, ParameterError, RangeError
from hemera.search import Client, Index, Settings, Threshold, wire
from hemera.search.comparisons.layout import Layout
from hemera.search.messages import name_of, pack_ciphertexts

from ..refusals import raises
from .threshold_cases import DIMS, MARGIN, floats, payloads_of, require_right

pytestmark = pytest.mark.usefixtures("small_rings")


def test_queries_of_other_levels(clear):
    """A server answers by the levels of its settings alone."""
    settings, client = clear.client.settings, clear.client
    ones, top = np.full(settings.params.max_slots, 0.1), settings.program.top
    fresh = {
        level: client._context.encrypt(client._context.encode(ones[None], level=level), client.secret_key)
        for level in range(top - 3, top + 1)
    }
    for x, thresholds in (
        (settings.program.top - 1, settings.program.top - 1),
        (settings.program.top, settings.program.top - 2),
    ):
        header = {"settings": settings.digest, "want": "mask", "thresholds": 1}
        query = wire.pack("threshold query", header, *pack_ciphertexts([fresh[x], fresh[thresholds]]))
        raises(MismatchError, "at level", clear.ask, query)


def test_an_answer_with_other_results_is_refused(clear):
    mask, count = clear.client.query(clear.x, 0.2), clear.client.query(clear.x, 0.2, "count")
    header, body = wire.unpack("threshold answer", clear.ask(count))
    header["query"] = name_of(mask)
    with pytest.raises(MismatchError, match="the count of a query for the mask"):
        clear.client.decrypt(wire.pack("threshold answer", header, body))


def test_rows_of_another_owner(encrypted):
    other = Client.owning(
        floats(20), answers=Threshold(margin=MARGIN, payload_bound=500), payloads=payloads_of(20)
    )
    raises(MismatchError, "", encrypted.index.add, other.encrypt(floats(3), payloads=payloads_of(3)))
    raises(ParameterError, "key of its owner", Client, encrypted.client.settings)


def test_arguments(clear):
    client, x = clear.client, clear.x
    raises(MismatchError, "6 numbers", client.query, x[:-1], 0.5)
    raises(ParameterError, "zeros", client.query, x * 0, 0.5)
    for threshold in (1.5, np.nan):
        raises(RangeError, "", client.query, x, threshold)
    raises(RangeError, "", client.query, x * np.inf, 0.5)
    raises(ParameterError, "thresholds", client.query, x, [0.1, 0.2])
    raises(ParameterError, "wants one of", client.query, x, 0.1, "scores")
    with pytest.raises(ParameterError, match="ranks scores, and this answer"):
        client.decrypt(clear.ask(client.query(x, 0.1)), 3)
    for options in ({"k": 3}, {}):
        raises(ParameterError, "compares scores with a threshold", client.query, x, **options)
    raises(ParameterError, "1 or more; 0 takes all", Index, floats(4), answers=Threshold(rows=-1))
    for wrong in (Threshold, "threshold", 0.5):
        raises(TypeError, r"Threshold or Top", Index, floats(4), answers=wrong)
    for rows in (3.5, "4"):
        raises(TypeError, "rows", Index, floats(4), answers=Threshold(rows=rows))
    assert Index(floats(4), answers=Threshold(rows=9)).settings.program.rows == 16
    raises(ParameterError, "are of scores", Index, floats(4), answers=Threshold(), exact=True)
    raises(ParameterError, "k must be", client.top, x, 0, clear.ask)
    plain = Client(Index(floats(4), answers=Threshold(margin=MARGIN)).settings)
    raises(ParameterError, "no payloads", plain.query, x, 0.1, "payloads")
    assert isinstance(clear.index, Index)
    raises(MismatchError, "", clear.index.add, floats(2))
    raises(RangeError, "payload_bound=", clear.index.add, floats(2), payloads=payloads_of(2) * 0 + 501)
    raises(ParameterError, "in the clear", client.encrypt, floats(2), payloads=payloads_of(2))
    settings = client.settings
    for changed in ({"margin": 2.0**-12}, {"rows": 12}, {"rows": 4}, {"payload": -1}):
        raises(ParameterError, "", Settings, DIMS, "cosine", dataclasses.replace(settings.answers, **changed))
    raises(ParameterError, "", dataclasses.replace, settings, dims=0)


def changed(world, path):
    """Removes rows, some of two blocks and all of another, and compares an answer."""
    index, client = Index.load(saved(world.index, path)), world.client
    keys = index.load_keys(client.keys)
    gone = [3, 17, *range(20, 36), 49] if not index.settings.owner else [3, 17, 49]
    version = index.version
    index.remove(gone)
    kept = np.setdiff1d(np.arange(50), gone)
    assert index.version == version + 1
    assert index.ids.tolist() == kept.tolist()
    found = client.decrypt(index.query(client.query(world.x, -0.5), keys))
    require_right(found, kept, world.scores[kept] + 0.5)
    # Zeros in the places of rows score 0, above this threshold, and do not count.
    count = client.decrypt(index.query(client.query(world.x, -0.5, "count"), keys))
    assert count < (world.scores[kept] > -0.5 - MARGIN).sum() + 0.01
    assert count > (world.scores[kept] > -0.5 + MARGIN).sum() - 0.01
    raises(ParameterError, "no row 17", index.remove, [17])
    index.remove(kept)
    assert len(index) == 0
    raises(MismatchError, "no row", index.query, client.query(world.x, 0.5), keys)


def saved(index, path):
    index.save(path)
    return path


def test_removed_rows(world, tmp_path):
    changed(world, tmp_path / "index")


def test_answers_have_nothing_of_removed_rows(clear, tmp_path):
    index = Index.load(saved(clear.index, tmp_path / "index"))
    best = int(np.argmax(clear.scores))
    index.remove([best])
    answer = index.query(clear.client.query(clear.x, 0.5, "payloads"), clear.client.keys)
    unpacked = clear.client.settings.program.unpack_answer(answer, clear.client._context)
    for result in unpacked.results:
        slots = clear.client._context.decrypt(result, clear.client.secret_key)
        block, row = divmod(best, index.settings.program.rows)
        assert np.abs(slots[block].reshape(-1, index.settings.program.rows)[:, row]).max() < 1e-4


def test_added_rows_fill_blocks_and_have_ids(clear):
    index = Index(clear.vectors[:20], answers=Threshold(margin=MARGIN), ids=np.arange(100, 120))
    assert index.add(clear.vectors[20:25]).tolist() == [120, 121, 122, 123, 124]
    assert index.add(clear.vectors[25:], ids=np.arange(25, 50)).tolist() == list(range(25, 50))
    ids = np.concatenate([np.arange(100, 125), np.arange(25, 50)])
    assert index.ids.tolist() == ids.tolist()
    assert index._rows.blocks_count == 2
    client = Client(index.settings)
    found = client.decrypt(index.query(client.query(clear.x, 0.1), client.keys))
    require_right(found, ids, clear.scores - 0.1)
    raises(ParameterError, "a row 121 already", index.add, clear.vectors[:1], ids=[121])


@pytest.mark.parametrize(
    ("slots", "rows", "dims"),
    [(64, 64, 8), (64, 64, 64), (64, 32, 7), (64, 16, 16), (64, 8, 8), (64, 4, 3), (64, 2, 1), (64, 16, 3)],
)
def test_columns_and_rotations_give_the_scores(slots, rows, dims):
    layout = Layout(slots, rows, dims)
    random = np.random.default_rng(4)
    vectors, x = random.normal(size=(rows, dims)), random.normal(size=dims)
    query, columns = layout.of_query(x), layout.of_rows(vectors)
    assert sorted({a + b for a in layout.giants for b in layout.babies}) == list(range(layout.steps))
    total = sum(np.roll(query, -step) * column for step, column in enumerate(columns))
    scores = sum(np.roll(total, -part * rows) for part in range(layout.parts))
    assert np.allclose(scores, np.tile(vectors @ x, slots // rows))
    assert layout.steps * min(slots // rows, layout.width) == layout.width


def test_thresholds_and_payloads_lie_in_copies():
    layout = Layout(32, 8, 5)
    assert np.array_equal(layout.of_thresholds(np.array([0.5])), np.full((1, 32), 0.5))
    several = layout.of_thresholds(np.arange(6.0))
    assert several.shape == (2, 32)
    assert several.reshape(-1, 8)[:6].tolist() == np.repeat(np.arange(6.0), 8).reshape(6, 8).tolist()
    numbers = np.arange(35).reshape(7, 5)
    slots = layout.of_numbers(numbers)
    assert slots.shape == (2, 32)
    assert np.array_equal(layout.numbers_of(slots, 5)[:7], numbers)
    assert not layout.numbers_of(slots, 5)[7:].any()
