"""Several clients of indexes that compare scores, and what servers ask of these indexes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hemera.errors import FormatError, MismatchError
from hemera.search import Client, Index, Threshold, Top
from hemera.search.comparisons import circuit

from ..refusals import raises
from .threshold_cases import MARGIN, floats, payloads_of, require_right

pytestmark = pytest.mark.usefixtures("small_rings")


def test_messages_of_several_clients(clear):
    """Each is answered by its own keys, as if it came alone."""
    other = Client(clear.index.settings)
    queries = [
        clear.client.query(clear.x, 0.2),
        other.query(-clear.x, 0.1),
        clear.client.query(clear.x, -0.3),
    ]
    keys = [clear.keys, other.keys, clear.client.keys]
    answers = clear.index.query_many(list(zip(queries, keys, strict=True)))
    for client, answer, relative in zip(
        (clear.client, other, clear.client),
        answers,
        (clear.scores - 0.2, -clear.scores - 0.1, clear.scores + 0.3),
        strict=True,
    ):
        require_right(client.decrypt(answer), np.arange(50), relative)
    assert clear.index.query_many([]) == []
    good = (clear.client.query(clear.x, 0.2), clear.keys)
    raises(FormatError, "", clear.index.query_many, [good, (good[0][:-1], clear.keys)])


@pytest.mark.parametrize(("kind", "at_once"), [("clear", 3), ("clear", 100), ("encrypted", 3), ("top", 3)])
def test_messages_of_one_client_are_compared_together(kind, at_once, request, monkeypatch):
    """Blocks, thresholds and messages of one client make batches; answers have the bits of single ones."""
    index: Any
    client: Any
    if kind == "top":  # 40 rows are four blocks of pairs
        index = Index(floats(40, seed=5), answers=Top(margin=2.0**-2), payloads=payloads_of(40))
        client, other = Client(index.settings), Client(index.settings)
        queries = [client.query(floats(1)[0], k=3), client.query(floats(1, seed=1)[0], want="payloads", k=7)]
        compared = [index._rows.blocks_count] * 2
    else:
        world = request.getfixturevalue(kind)
        index, client = world.index, world.client
        levels = np.linspace(-0.9, 0.9, client.settings.program.layout.copies + 1)
        queries = [
            client.query(world.x, 0.2),
            client.query(world.x, levels, "count"),
            client.query(-world.x, 0.1, "payloads"),
        ]
        blocks = index._rows.blocks_count
        compared = [blocks, 2 * blocks, blocks]
        assert blocks > 1
        key = client._context.generate_secret_key()
        other = Client(index.settings, bytes(key))
    keys, others = index.load_keys(client.keys), index.load_keys(other.keys)
    expected = [index.query(query, keys) for query in queries]
    together = {circuit._BATCH_BYTES: at_once, circuit._ROTATED_BYTES: 2}
    monkeypatch.setattr(circuit, "_together", lambda _, most, __: together[most])
    depths, step = [], index.settings.program.step

    def watched(x):
        depths.append(x.shape[0])
        return step(x)

    monkeypatch.setattr(index.settings.program, "step", watched)
    asked = [(query, keys) for query in queries]
    found = index.query_many([asked[0], (queries[0], others), *asked[1:]])
    assert found[:1] + found[2:] == expected
    assert found[1] not in expected
    batches = []
    for count in (sum(compared), compared[0]):  # of the client, and of the other one
        batches += [min(at_once, count - first) for first in range(0, count, at_once)]
    assert depths == batches


def test_distances_of_several_queries(monkeypatch):
    """Queries for distances have a second ciphertext, of squared norms, each its own."""
    vectors = floats(20, seed=8)
    index = Index(vectors, "l2", answers=Threshold(margin=MARGIN))
    client = Client(index.settings)
    keys = index.load_keys(client.keys)
    x = floats(3, seed=9) * np.array([[0.5], [1.0], [2.0]])
    distances = ((x[:, None] - vectors) ** 2).sum(axis=2)
    levels = np.median(distances, axis=1)
    monkeypatch.setattr(circuit, "_together", lambda *_: 3)
    sent = [(client.query(each, level), keys) for each, level in zip(x, levels, strict=True)]
    largest = np.linalg.norm(vectors, axis=1).max()
    for at, answer in enumerate(index.query_many(sent)):
        units = largest * (2 * np.linalg.norm(x[at]) + largest)
        require_right(client.decrypt(answer), np.arange(20), (levels[at] - distances[at]) / units)


def test_batches_are_for_gpus():
    for device, expected in (("cpu", 1), ("ledger", 9)):
        ev = SimpleNamespace(context=SimpleNamespace(device=device))
        assert circuit._together(ev, 99, 11) == expected
        assert circuit._together(ev, 10, 11) == 1


def test_sizes_that_servers_reckon_with(clear, encrypted):
    top = Index(clear.vectors[:5], answers=Top(margin=2.0**-2), payloads=clear.payloads[:5])
    ranking = Client(top.settings)
    copies = clear.client.settings.program.layout.copies
    levels = np.zeros(copies + 1)
    for index, client, query, count in (
        (clear.index, clear.client, clear.client.query(clear.x, 0.1), 1),
        (clear.index, clear.client, clear.client.query(clear.x, 0.1, "payloads"), 1),
        (clear.index, clear.client, clear.client.query(clear.x, levels[1:], "count"), 1),
        (clear.index, clear.client, clear.client.query(clear.x, levels, "count"), 2),
        (encrypted.index, encrypted.client, encrypted.client.query(clear.x, 0.1, "payloads"), 1),
        (top, ranking, ranking.query(clear.x, want="payloads", k=2), 1),
    ):
        assert index.settings.program.count(query) == count
        assert len(index.query(query, client.keys)) <= index.answer_bytes(count) + 600
    with pytest.raises(MismatchError, match="other settings"):
        Index(clear.vectors, answers=Threshold(margin=MARGIN / 2)).settings.program.count(
            clear.client.query(clear.x, 0.1)
        )
