"""Keys on disk: whole or not there, whatever happens."""

from __future__ import annotations

import errno
import hashlib
import itertools
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from hemera.client.problems import Refused
from hemera.serving.store import Store, Upload


def make(folder: Path, limit: int = 10_000) -> Store:
    return Store(folder / "keys", folder / "incoming", limit)


def fill(store: Store, files: dict[str, bytes], client: str = "alice", model: str = "m") -> Upload:
    upload = store.begin(client, model, 5_000)
    for name, data in files.items():
        upload.begin(name)
        upload.write(data)
        upload.end()
    return upload


def test_a_set_is_there_after_a_restart(tmp_path: Path) -> None:
    store = make(tmp_path)
    store.commit(fill(store, {"keys": b"a" * 100}, "alice", "m"), "Hemera")
    store.commit(fill(store, {"context": b"c", "galois": b"g" * 10}, "bob", "m"), "SEAL")
    again = make(tmp_path)
    found = again.find("alice", "m")
    assert found is not None
    assert found.files["keys"].read_bytes() == b"a" * 100
    other = again.find("bob", "m")
    assert other is not None
    assert (other.library, other.bytes, sorted(other.files)) == ("SEAL", 11, ["context", "galois"])
    assert again.bytes == 111
    assert again.find("carol", "m") is None
    assert again.find("alice", "other") is None


@pytest.mark.parametrize("order", list(itertools.permutations(["alice", "bob", "carol"])))
def test_numbers_go_on_after_a_restart_whoever_has_the_highest(
    tmp_path: Path, order: tuple[str, ...]
) -> None:
    store = make(tmp_path)
    known = [store.commit(fill(store, {"keys": b"k"}, client), "Hemera").generation for client in order]
    for client in order:  # each again, after a restart
        store = make(tmp_path)
        known.append(store.commit(fill(store, {"keys": client.encode()}, client), "Hemera").generation)
        assert known[-1] > max(known[:-1])
    again = make(tmp_path)
    for client in order:
        found = again.find(client, "m")
        assert found is not None
        assert found.files["keys"].read_bytes() == client.encode()


def test_the_newest_counts_and_those_before_are_removed(tmp_path: Path) -> None:
    store = make(tmp_path)
    first = store.commit(fill(store, {"keys": b"old"}, "alice", "m"), "Hemera")
    second = store.commit(fill(store, {"keys": b"new!"}, "alice", "m"), "Hemera")
    assert second.generation > first.generation
    assert second.digest != first.digest
    assert not first.files["keys"].exists()
    assert store.bytes == 4
    found = make(tmp_path).find("alice", "m")
    assert found == second


def test_what_a_kill_leaves_behind_is_removed(tmp_path: Path) -> None:
    store = make(tmp_path)
    found = store.commit(fill(store, {"keys": b"good"}, "alice", "m"), "Hemera")
    fill(store, {"keys": b"half"})  # neither committed nor discarded
    home = found.files["keys"].parents[1]
    # Killed after the next generation was in its place, but incomplete; and after it was complete.
    shutil.copytree(home / "1", home / "2")
    (home / "2" / "keys").write_bytes(b"go")
    shutil.copytree(home / "1", home / "7")
    (home / "7" / "set.json").unlink()
    (home / "not a number").mkdir()
    other = store.commit(fill(store, {"keys": b"k"}, "bob", "m"), "Hemera")  # whose one set was being removed
    (other.files["keys"].parent / "set.json").unlink()
    again = make(tmp_path)
    assert again.find("alice", "m") == found
    assert [path.name for path in home.iterdir()] == ["1"]
    assert again.find("bob", "m") is None
    assert list(other.files["keys"].parents[1].iterdir()) == []
    assert list((tmp_path / "incoming").iterdir()) == []
    shutil.copytree(home / "1", home / "3")
    newer = make(tmp_path).find("alice", "m")
    assert newer is not None
    assert newer.generation == 3
    assert [path.name for path in home.iterdir()] == ["3"]


def test_limits_refuse_and_leave_nothing(tmp_path: Path) -> None:
    store = make(tmp_path, limit=7_000)
    store.commit(fill(store, {"keys": b"a" * 4_000}, "alice", "m"), "Hemera")
    upload = store.begin("alice", "m", 5_000)
    upload.begin("keys")
    upload.write(b"b" * 2_500)
    other = store.begin("alice", "m", 5_000)  # what arrives counts, too
    other.begin("keys")
    with pytest.raises(Refused, match="no room for more") as refused:
        other.write(b"c" * 600)
    assert refused.value.status == 507
    other.discard()
    with pytest.raises(Refused, match="may have 5000 bytes") as refused:
        upload.write(b"b" * 2_501)
    assert refused.value.status == 413
    upload.discard()
    upload.discard()
    assert list((tmp_path / "incoming").iterdir()) == []
    with pytest.raises(Refused, match="no room"):
        store.require_room(store.begin("bob", "m", 5_000), 3_001)
    store.require_room(store.begin("bob", "m", 5_000), 3_000)
    assert store.bytes == 4_000
    assert make(tmp_path).bytes == 4_000


@pytest.mark.parametrize("name", ["context", "galois"])
def test_a_set_is_there_with_all_its_files(tmp_path: Path, name: str) -> None:
    store = make(tmp_path)
    found = store.commit(fill(store, {"context": b"c", "galois": b"g"}), "SEAL")
    assert found.describe() == {"library": "SEAL", "digest": found.digest, "bytes": 2}
    assert found.digest == hashlib.sha256(b"7:contextc6:galoisg").hexdigest()
    assert found.is_there()
    found.files[name].unlink()
    assert not found.is_there()
    assert store.find("alice", "m") == found  # until it is forgotten
    store.forget(replace(found, generation=found.generation + 1))  # that of others
    assert store.sets() == [found]
    store.forget(found)
    assert (store.find("alice", "m"), store.sets(), len(store)) == (None, [], 0)


def test_what_was_removed_beside_the_server_makes_room(tmp_path: Path) -> None:
    store = make(tmp_path, limit=100)
    store.commit(fill(store, {"keys": b"a" * 90}, "alice", "m"), "Hemera")
    shutil.rmtree(tmp_path / "keys" / "alice")
    store.commit(fill(store, {"keys": b"b" * 90}, "bob", "m"), "Hemera")
    assert store.bytes == 90
    assert store.find("alice", "m") is None


def test_removing_makes_room(tmp_path: Path) -> None:
    store = make(tmp_path, limit=100)
    store.commit(fill(store, {"keys": b"a" * 90}, "alice", "m"), "Hemera")
    assert store.remove("alice", "m")
    assert not store.remove("alice", "m")
    assert store.bytes == 0
    store.commit(fill(store, {"keys": b"b" * 90}, "bob", "m"), "Hemera")
    assert [found.client for found in make(tmp_path)._sets.values()] == ["bob"]


def test_no_generation_comes_again(tmp_path: Path) -> None:
    """A session of keys that were removed is not taken for one of keys that came later."""
    store = make(tmp_path)
    first = store.commit(fill(store, {"keys": b"a"}, "alice", "m"), "Hemera")
    store.remove("alice", "m")
    second = store.commit(fill(store, {"keys": b"b"}, "alice", "m"), "Hemera")
    assert second.generation > first.generation
    third = make(tmp_path)
    upload = fill(third, {"keys": b"c"})
    assert third.commit(upload, "Hemera").generation > second.generation


@pytest.mark.parametrize("when", ["write", "sync", "rename"])
def test_a_full_disk_leaves_no_half_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str) -> None:
    store = make(tmp_path)
    before = store.commit(fill(store, {"keys": b"before"}, "alice", "m"), "Hemera")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    upload = store.begin("alice", "m", 5_000)
    upload.begin("keys")
    upload.write(b"after")
    with monkeypatch.context() as patch:
        patch.setattr(
            *{"write": (os, "fsync"), "sync": (os, "fsync"), "rename": (Path, "rename")}[when], full
        )
        if when != "write":
            patch.undo()
            upload.end()
            patch.setattr(*{"sync": (os, "fsync"), "rename": (Path, "rename")}[when], full)
        with pytest.raises(Refused, match="disk is full") as refused:
            upload.end() if when == "write" else store.commit(upload, "Hemera")
    assert refused.value.status == 507
    upload.discard()
    assert list((tmp_path / "incoming").iterdir()) == []
    for each in (store, make(tmp_path)):
        assert each.find("alice", "m") == before
        assert each.bytes == 6


def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    """/dev/full in the place of the file: the system's own error."""
    store = make(tmp_path)
    upload = store.begin("alice", "m", 5_000)
    upload.begin("keys")
    assert upload._file is not None
    upload._file.close()
    upload._file = Path("/dev/full").open("wb")  # noqa: SIM115
    upload.write(b"x" * 4_000)  # stays in the program's buffer
    with pytest.raises(Refused, match="disk is full"):
        upload.end()
    upload.discard()
    assert store.bytes == 0
