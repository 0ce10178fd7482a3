"""Rows of indexes with thresholds that come and go, and their files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hemera.errors import MismatchError, ParameterError
from hemera.search import Client, Index, Threshold

from ..refusals import raises
from .threshold_cases import MARGIN, World, require_right

pytestmark = pytest.mark.usefixtures("small_rings")


def changed(world: World, path: Path) -> None:
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


def saved(index: Index, path: Path) -> Path:
    index.save(path)
    return path


def test_removed_rows(world: World, tmp_path: Path) -> None:
    changed(world, tmp_path / "index")


def test_answers_have_nothing_of_removed_rows(clear: World, tmp_path: Path) -> None:
    index = Index.load(saved(clear.index, tmp_path / "index"))
    best = int(np.argmax(clear.scores))
    index.remove([best])
    answer = index.query(clear.client.query(clear.x, 0.5, "payloads"), clear.client.keys)
    unpacked = clear.client.settings.program.unpack_answer(answer, clear.client._context)
    for result in unpacked.results:
        slots = clear.client._context.decrypt(result, clear.client.secret_key)
        block, row = divmod(best, index.settings.program.rows)
        assert np.abs(slots[block].reshape(-1, index.settings.program.rows)[:, row]).max() < 1e-4


def test_added_rows_fill_blocks_and_have_ids(clear: World) -> None:
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
