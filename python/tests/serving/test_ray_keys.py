"""Keys of clients at replicas: they stay in files, are checked, replaced, and make room."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from hemera.client.problems import Refused
from hemera.ray.replica import KeyFiles, digest_of
from hemera.serving.evaluation import Evaluation

from .conftest import BOUND, wait_until
from .replicas import ROWS, Bench, refusal


def test_keys_never_travel(bench: Callable[..., Bench]) -> None:
    ours = bench(1, clients=["alice"])
    request = ours.ask("alice", ROWS)
    ours.check(request, ROWS)
    ours.dispatcher.check("scores", ours.keys["alice"])
    told = dict(ours.ranch.fakes[0].asked)
    number, model, keys, files = told["evaluate"]
    assert (type(number), model, keys) == (str, "scores", ours.keys["alice"])
    assert list(files) == ["input"]
    assert not files["input"].flags.writeable
    assert len(pickle.dumps(told["check"])) < 1000 < Path(keys.files["keys"]).stat().st_size
    assert len(pickle.dumps((number, model, keys))) < 1000


def test_keys_that_were_replaced_meanwhile(bench: Callable[..., Bench]) -> None:
    ours = bench(1, clients=["alice"])
    ours.ranch.fakes[0].open.clear()
    asked = ours.ask("alice", ROWS)
    removed = ours.ask("alice", ROWS)
    old = ours.keys["alice"]
    moved = ours.folder / "other.keys"
    Path(old.files["keys"]).rename(moved)
    ours.keys["alice"] = KeyFiles("0" * 64, old.library, {"keys": str(moved)})  # other keys, by what is told
    ours.ranch.fakes[0].open.set()
    assert refusal(asked) == (422, "format")  # and their content is not what was told
    removed.answer.exception(BOUND)
    ours.keys["bob"] = KeyFiles("1" * 64, old.library, {"keys": str(ours.folder / "gone")})
    request = Evaluation("bob", "scores", {"input": b""})
    ours.locals["bob"] = ours.locals["alice"]
    ours.dispatcher.submit(Evaluation("bob", "scores", {"input": ours.file("bob", ROWS)}))
    request = ours.ask("bob", ROWS)
    assert refusal(request) == (409, "no_keys")


def test_replaced_keys_are_used(bench: Callable[..., Bench]) -> None:
    """A request whose keys were replaced while it waited is computed with the new ones, and says so."""
    ours = bench(1, clients=["alice"])
    ours.ranch.fakes[0].open.clear()
    asked = ours.ask("alice", ROWS)
    old = ours.keys["alice"]
    local = ours.locals["alice"]
    moved = ours.folder / "new.keys"
    moved.write_bytes(bytes(local.interface.generate_keys(local.context, local.secret_key)))
    Path(old.files["keys"]).unlink()
    ours.keys["alice"] = KeyFiles(digest_of({"keys": moved}), "Hemera", {"keys": str(moved)})
    ours.ranch.fakes[0].open.set()
    ours.check(asked, ROWS)
    assert asked.keys == ours.keys["alice"].digest != old.digest


def test_keys_make_room_by_bytes(bench: Callable[..., Bench]) -> None:
    ours = bench(1, loaded_key_bytes=1)
    ours.start()
    for client in ("alice", "bob"):
        ours.add(client)
        ours.check(ours.ask(client, ROWS), ROWS)
    wait_until(lambda: ours.dispatcher.held[0] == 1)  # the last one stays, whatever it takes
    ours.check(ours.ask("alice", ROWS), ROWS)
    assert ours.ranch.fakes[0].replica._cache.places == [(ours.keys["alice"].digest, "scores")]


def test_upload_checks(bench: Callable[..., Bench]) -> None:
    ours = bench(2, clients=["alice"])
    first = ours.first("alice")
    ours.dispatcher.check("scores", ours.keys["alice"])
    assert first.replica._cache.places == [
        (ours.keys["alice"].digest, "scores")
    ]  # there for the first request
    path = ours.folder / "alice.keys"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    damaged = KeyFiles(digest_of({"keys": path}), "Hemera", {"keys": str(path)})
    with pytest.raises(Refused) as refused:
        ours.dispatcher.check("scores", damaged)
    assert (refused.value.status, refused.value.code) == (422, "format")
    first.die()
    ours.add("bob")
    ours.dispatcher.check("scores", ours.keys["bob"])


def test_requests_wait_for_keys_that_are_checked(bench: Callable[..., Bench]) -> None:
    """A replica that loads keys for a check gets their requests, also when others have less to do."""
    ours = bench(2, {"step": 1}, clients=["alice"])
    first = ours.first("alice")
    others = (f"other{at}" for at in range(50))
    for other in others:
        ours.add(other)
        if ours.first(other) is first:
            break
    gate = threading.Event()
    first.replica._scheduler.call(gate.wait)
    checking = threading.Thread(target=ours.dispatcher.check, args=("scores", ours.keys["alice"]))
    checking.start()
    wait_until(lambda: "check" in dict(first.asked))
    asked = [ours.ask(client, ROWS) for client in (other, "alice", "alice")]
    wait_until(lambda: len(first.numbers()) == 3)
    gate.set()
    checking.join(BOUND)
    for each in asked:
        ours.check(each, ROWS)
