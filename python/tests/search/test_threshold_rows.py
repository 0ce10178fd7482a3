"""Rows of indexes with thresholds that come and go, and their files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hemera.errors import FormatError, MismatchError, ParameterError
from hemera.search import Client, Index, Threshold, Top

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
    with pytest.raises(ParameterError, match="no row 17"):
        index.remove([17])
    index.remove(kept)
    assert len(index) == 0
    with pytest.raises(MismatchError, match="no row"):
        index.query(client.query(world.x, 0.5), keys)


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
    with pytest.raises(ParameterError, match="a row 121 already"):
        index.add(clear.vectors[:1], ids=[121])


def test_encrypted_rows_have_ids(encrypted: World) -> None:
    client = encrypted.client
    rows, numbers = encrypted.vectors[:5], encrypted.payloads[:5]
    index = Index(client.encrypt(rows, payloads=numbers, ids=[5, 3, 8, 1, 40]))
    assert index.add(client.encrypt(rows, payloads=numbers)).tolist() == [41, 42, 43, 44, 45]
    with pytest.raises(ParameterError, match="a row 8 already"):
        index.add(client.encrypt(rows[:1], payloads=numbers[:1], ids=[8]))
    found = client.decrypt(index.query(client.query(encrypted.x, -0.9), client.keys))
    relative = encrypted.scores[:5] + 0.9
    require_right(found, np.array([5, 3, 8, 1, 40, 41, 42, 43, 44, 45]), np.tile(relative, 2))


def test_files(world: World, tmp_path: Path) -> None:
    path = saved(world.index, tmp_path / "index")
    loaded = Index.load(path)
    assert loaded.settings == world.index.settings
    assert loaded.version == world.index.version
    assert loaded.ids.tolist() == world.index.ids.tolist()
    found = world.client.decrypt(
        loaded.query(world.client.query(world.x, 0.2, "payloads"), world.client.keys)
    )
    require_right(found, np.arange(50), world.scores - 0.2)
    data = path.read_bytes()
    broken = bytearray(data)
    broken[len(data) // 2] ^= 1
    for damaged in (bytes(broken), data[:-1], data[:100], b""):
        with pytest.raises(FormatError):
            Index.load(damaged)


def test_a_client_comes_back_with_its_key(world: World, tmp_path: Path) -> None:
    world.client.secret_key.save(tmp_path / "key")
    again = Client(bytes(world.client.settings), tmp_path / "key")
    found = again.decrypt(world.ask(again.query(world.x, 0.2)))
    require_right(found, np.arange(50), world.scores - 0.2)


def test_files_are_recognised(clear: World, encrypted: World, tmp_path: Path) -> None:
    top = Index(clear.vectors[:5], answers=Top(margin=2.0**-2), ids=[4, 3, 2, 1, 0])
    top.add(clear.vectors[5:7])
    for index in (clear.index, encrypted.index, top):
        again = Index.load(saved(index, tmp_path / "index"), threads=1)
        assert again.settings == index.settings
        assert again.version == index.version
        assert again.ids.tolist() == index.ids.tolist()
        assert again.expected_error == index.expected_error
        assert repr(again) == repr(index)
    assert again.add(clear.vectors[7:8]).tolist() == [7]  # as the index that was saved
