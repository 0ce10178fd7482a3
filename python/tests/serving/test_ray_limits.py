"""What several replicas are allowed, and when a replica is started again: by formulas of docs/scaling.md."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

from hemera.ray import dispatch
from hemera.ray.dispatch import Dispatcher, Limits
from hemera.ray.handles import Lost
from hemera.ray.service import limits_of
from hemera.serving.settings import Settings


@pytest.mark.parametrize(
    ("queue", "batch", "replicas", "client", "replica", "step"),
    [
        (64, 32, 1, 64, 128, 64),  # four batches are more than the queue
        (64, 4, 3, 192, 128, 16),
        (16, 4, 2, 32, 32, 16),
        (15, 4, 2, 30, 30, 15),
        (1, 1, 10, 10, 2, 1),
    ],
)
def test_limits_of_several_replicas(
    queue: int, batch: int, replicas: int, client: int, replica: int, step: int
) -> None:
    found = limits_of(Settings(waiting_requests=queue, batch=batch), replicas)
    assert found == Limits(client_requests=client, replica_requests=replica, step=step)


class Herd:
    """Replicas that come up, or do not, when the test says so."""

    count = 1

    def __init__(self) -> None:
        self.calls: list[Future[Any]] = []
        self.killed = 0

    def spawn(self) -> Any:
        return SimpleNamespace(call=self._call, kill=self._kill)

    def _call(self, method: str) -> Future[Any]:
        assert method == "ready"
        self.calls.append(Future())
        return self.calls[-1]

    def _kill(self) -> None:
        self.killed += 1

    def alive(self) -> bool:
        return True

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("lives", "waits"),
    [
        ("fffffff", [1, 2, 4, 8, 16, 30, 30]),  # it does not come up: twice as long each time, to 30 s
        ("d", [0]),  # it was up and died: at once
        ("dfff", [0, 2, 4, 8]),
        ("ffdf", [1, 2, 0, 2]),  # having come up, it begins anew
        ("ffffffdd", [1, 2, 4, 8, 16, 30, 0, 0]),
    ],
)
def test_a_replica_is_started_again_after_a_while(
    monkeypatch: pytest.MonkeyPatch, lives: str, waits: list[float]
) -> None:
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(dispatch, "time", SimpleNamespace(monotonic=lambda: clock.now))
    herd = Herd()
    ours = Dispatcher(herd, lambda *_: None, Limits())  # type: ignore[arg-type, return-value]
    ours._start("replica-0")
    for number, (life, wait) in enumerate(zip(lives, waits, strict=True)):
        if life == "d":
            herd.calls[-1].set_result({"device": f"cpu {number}"})
            assert ours.alive
            assert ours.device == f"cpu {number}"
            ours._lose(ours._replicas["replica-0"], "it died")
        else:
            herd.calls[-1].set_exception(Lost("no room"))
        assert not ours.alive
        assert (ours.replaced, herd.killed, len(herd.calls)) == (number + 1, number + 1, number + 1)
        if wait:
            clock.now += wait - 0.01
            ours._start_dead()
            assert len(herd.calls) == number + 1
            clock.now += 0.01
        ours._start_dead()
        assert len(herd.calls) == number + 2
    ours.stop()
