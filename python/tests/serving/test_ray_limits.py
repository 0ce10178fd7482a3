"""What several replicas are allowed, and when a replica is started again: by formulas of docs/scaling.md."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hemera.client.client import LocalModel
from hemera.errors import FormatError
from hemera.ray import data, dispatch
from hemera.ray.dispatch import Dispatcher, Limits
from hemera.ray.handles import Lost
from hemera.ray.replica import KeyFiles, ModelFile, digest_of
from hemera.ray.service import limits_of
from hemera.serving import Package
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


def test_a_batch_of_a_data_set_is_taken_whole(
    package: Package, local: LocalModel, keys: bytes, tmp_path: Path
) -> None:
    """Also where it has more rows than a server lets wait, or runs together."""
    package.save(tmp_path / "model")
    (tmp_path / "keys").write_bytes(keys)
    files = KeyFiles(digest_of({"keys": tmp_path / "keys"}), "Hemera", {"keys": str(tmp_path / "keys")})
    count = Settings().waiting_requests + 6
    (array,) = local.interface.encode(np.zeros((4, 8)))
    row = {"input": np.frombuffer(bytes(local.context.encrypt(array, local.secret_key)), np.uint8)}
    model = ModelFile(str(tmp_path / "model"), package.digest)
    evaluator = data.Evaluator("scores", model, files, data._settings("cpu", 1, count))
    found = evaluator._evaluate([row] * count)
    assert len(found) == count
    assert [len(each["output"]) for each in found] == [len(found[0]["output"])] * count
    # The number of the row is told.
    with pytest.raises(FormatError, match="row 2 of a batch"):
        evaluator._evaluate([row, row, {"input": row["input"][:-1]}])
    found_settings = data._settings("auto", None, 7)
    assert (found_settings.batch, found_settings.device, found_settings.threads) == (7, "auto", None)
