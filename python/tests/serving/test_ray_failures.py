"""Requests are answered once, whatever happens to replicas and to the head."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hemera.client.problems import Refused
from hemera.ray.replica import ModelFile, Replica
from hemera.serving import Package
from hemera.serving.evaluation import Evaluation
from hemera.serving.settings import Settings

from ..refusals import raises
from .conftest import BOUND, wait_until
from .replicas import ROWS, Bench, refusal


def test_a_replica_dies_in_the_middle(bench: Callable[..., Bench]) -> None:
    ours = bench(2, clients=["alice"])
    first = ours.first("alice")
    first.open.clear()
    asked = [ours.ask("alice", ROWS * scale) for scale in (1, 0.5, 0.25)]
    settled: list[Evaluation] = []
    for each in asked:
        each.answer.add_done_callback(lambda _, each=each: settled.append(each))  # type: ignore[misc]
    wait_until(lambda: len(first.numbers()) == 3)
    first.die()
    for each, scale in zip(asked, (1, 0.5, 0.25), strict=True):
        ours.check(each, ROWS * scale)
    assert sorted(map(id, settled)) == sorted(map(id, asked))  # each once
    wait_until(lambda: len(ours.ranch.living) == 2)  # replaced
    (other,) = [fake for fake in ours.ranch.fakes[:2] if fake is not first]
    assert sorted(other.numbers()) == sorted(first.numbers())  # under the same numbers
    assert ours.dispatcher.replaced == 1
    assert ours.dispatcher.waiting == 0
    wait_until(lambda: ours.first("alice") not in (first, other))  # the tenant returns to the new one's name


def test_a_late_answer_of_a_replica_that_was_given_up_counts_no_more(bench: Callable[..., Bench]) -> None:
    ours = bench(2, {"patience": 0.2}, clients=["alice"])
    first = ours.first("alice")
    (other,) = [fake for fake in ours.ranch.fakes if fake is not first]
    other.open.clear()
    first.open.clear()
    first.silent = True  # as a process that was stopped: its requests stay there
    asked = ours.ask("alice", ROWS)
    wait_until(lambda: len(first.numbers()) == 1)
    wait_until(lambda: first.dead and len(other.numbers()) == 1)  # given up and killed
    done: list[int] = []
    asked.answer.add_done_callback(lambda _: done.append(1))
    (late,) = first.pending
    first.open.set()
    late.result(BOUND)
    assert not asked.answer.done()
    other.open.set()
    ours.check(asked, ROWS)
    assert done == [1]


def test_a_request_that_kills_replicas_ends(bench: Callable[..., Bench]) -> None:
    ours = bench(3)
    ours.ranch.prepare = lambda fake: fake.open.clear()
    ours.start()
    ours.add("alice")
    asked = ours.ask("alice", ROWS)
    for killed in range(1, 4):
        wait_until(lambda: any(fake.numbers() for fake in ours.ranch.living) or asked.answer.done())
        assert not asked.answer.done()
        next(fake for fake in ours.ranch.living if fake.numbers()).die()
        wait_until(lambda killed=killed: ours.dispatcher.replaced == killed)  # type: ignore[misc]
    assert refusal(asked) == (503, "replica_lost")
    assert ours.dispatcher.waiting == 0


def test_requests_wait_for_a_replica_that_takes_the_place(bench: Callable[..., Bench]) -> None:
    ours = bench(1, clients=["alice"])
    (only,) = ours.ranch.fakes
    only.open.clear()
    asked = ours.ask("alice", ROWS)
    wait_until(lambda: len(only.numbers()) == 1)
    only.die()
    ours.check(asked, ROWS)
    assert len(ours.ranch.fakes) == 2


def test_the_head_is_lost(bench: Callable[..., Bench]) -> None:
    """Replicas that are there go on; after a while the server ends, with an answer for whoever waits."""
    ours = bench(2, {"head_seconds": 0.5}, clients=["alice"])
    ours.ranch.head = False
    ours.check(ours.ask("alice", ROWS), ROWS)
    victim = ours.ranch.fakes[0]
    for fake in ours.ranch.fakes:
        fake.open.clear()
    victim.die()
    asked = ours.ask("alice", ROWS)
    assert ours.failed.wait(BOUND)
    assert refusal(asked) == (503, "cluster_lost")
    assert len(ours.ranch.fakes) == 2  # nobody starts others
    raises(Refused, "stops", ours.ask, "alice", ROWS)
    assert not ours.dispatcher.alive


def test_a_head_that_comes_back(bench: Callable[..., Bench]) -> None:
    ours = bench(2, {"head_seconds": BOUND}, clients=["alice"])
    ours.ranch.head = False
    ours.ranch.fakes[0].die()
    wait_until(lambda: ours.dispatcher.replaced == 1)
    assert len(ours.ranch.fakes) == 2
    ours.ranch.head = True
    wait_until(lambda: len(ours.ranch.living) == 2)
    assert not ours.failed.is_set()
    ours.check(ours.ask("alice", ROWS), ROWS)


def test_a_stop_answers(bench: Callable[..., Bench]) -> None:
    ours = bench(1, clients=["alice"])
    ours.ranch.fakes[0].open.clear()
    asked = ours.ask("alice", ROWS)
    ours.dispatcher.stop()
    assert refusal(asked) == (503, "stopping")
    for call in (lambda: ours.ask("alice", ROWS), lambda: ours.dispatcher.call(lambda: None)):
        raises(Refused, "stops", call)


def test_a_model_that_was_replaced(package: Package, tmp_path: Path) -> None:
    path = tmp_path / "model"
    package.save(path)
    with pytest.raises(Exception, match="was replaced"):
        Replica({"scores": ModelFile(str(path), "0" * 64)}, Settings(device="cpu", threads=1))
