"""What several replicas are allowed, and when a replica is started again: by formulas of docs/scaling.md."""

from concurrent.futures import Future
from types import SimpleNamespace

import numpy as np
import pytest

from hemera.errors import FormatError, OutOfMemoryError
from hemera.ray import data, dispatch, service
from hemera.ray.dispatch import Dispatcher, Limits
from hemera.ray.handles import Full, Lost
from hemera.ray.replica import Answered, KeyFiles, ModelFile, Replica, digest_of
from hemera.ray.requests import _compute
from hemera.ray.service import RayService, limits_of
from hemera.serving.evaluation import Evaluation
from hemera.serving.home import Home
from hemera.serving.settings import Settings

from ..refusals import raises


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
def test_limits_of_several_replicas(queue, batch, replicas, client, replica, step):
    found = limits_of(Settings(waiting_requests=queue, batch=batch), replicas)
    assert found == Limits(client_requests=client, replica_requests=replica, step=step)


class Herd:
    """Replicas that come up, or do not, when the test says so."""

    count = 1

    def __init__(self):
        self.calls = []
        self.asked = []
        self.killed = 0

    def spawn(self):
        return SimpleNamespace(call=self._call, kill=self._kill)

    def _call(self, method, *arguments):
        self.asked.append((method, *arguments))
        self.calls.append(Future())
        return self.calls[-1]

    def _kill(self):
        self.killed += 1

    def alive(self):
        return True

    def close(self):
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
def test_a_replica_is_started_again_after_a_while(monkeypatch, lives, waits):
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(dispatch, "time", SimpleNamespace(monotonic=lambda: clock.now))
    herd = Herd()
    ours = Dispatcher(herd, lambda *_: None, Limits())
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


def test_a_batch_of_a_data_set_is_taken_whole(package, local, keys, tmp_path):
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
    raises(FormatError, "row 2 of a batch", evaluator._evaluate, [row, row, {"input": row["input"][:-1]}])
    found_settings = data._settings("auto", None, 7)
    assert (found_settings.batch, found_settings.device, found_settings.threads) == (7, "auto", None)


def looks(count, monkeypatch, **named):
    """A dispatcher of some replicas that are up, and its clock."""
    clock = SimpleNamespace(now=50.0)
    monkeypatch.setattr(dispatch, "time", SimpleNamespace(monotonic=lambda: clock.now))
    herd = Herd()
    keys = KeyFiles("digest", "Hemera", {})
    ours = Dispatcher(herd, lambda *_: keys, Limits(patience=30.0), **named)
    for at in range(count):
        ours._start(f"replica-{at}")
        herd.calls[-1].set_result({"device": "cpu"})
    herd.calls.clear()
    herd.asked.clear()
    return ours, herd, clock


def test_what_replicas_tell_is_added_up(monkeypatch):
    ran = []
    ours, herd, clock = looks(2, monkeypatch, ran=lambda *batch: ran.append(batch))
    assert ours.held == (0, 0)
    for number in (1, 2):
        ours._look()
        assert herd.asked == [("look",)] * 2 * number
        batches = [[("scores", 2, 0.5), ("scores", 1, 0.25)], [("other", 3, 1.0)]]
        for at, call in enumerate(herd.calls[-2:]):
            held = {"held": ["a", "b"][: at + 1], "held_bytes": 7 * number + at}
            call.set_result({"batches": batches[at], **held})
        assert ran == [*batches[0], *batches[1]] * number
        assert ours.held == (3, 14 * number + 1)
        clock.now += 1000  # each has answered, however long ago
    ours.stop()


@pytest.mark.parametrize(("silence", "killed"), [(29.9, 0), (30.0, 0), (30.1, 1)])
def test_a_silent_replica_is_replaced(monkeypatch, silence, killed):
    ours, herd, clock = looks(2, monkeypatch)
    ours._look()
    herd.calls[1].set_result({"batches": [], "held": [], "held_bytes": 0})
    clock.now += silence
    ours._look()
    assert herd.killed == ours.replaced == killed
    assert len(herd.asked) == 3  # a silent one is not asked again
    ours.stop()


@pytest.mark.parametrize("leaves", [False, True])
def test_only_who_leaves_is_forgotten(monkeypatch, leaves):
    ours, herd, _ = looks(1, monkeypatch)
    request = Evaluation("alice", "scores", {"input": b"x"})
    ours.submit(request)
    ((method, number, *_),) = herd.asked
    assert method == "evaluate"
    if leaves:
        assert request.answer.cancel()
    else:
        herd.calls[0].set_result(Answered({"output": np.zeros(1, np.uint8)}, 5))
        assert request.answer.result(0) == {"output": b"\0"}
        assert (request.batch, request.keys) == (5, "digest")
    assert herd.asked[1:] == ([("forget", number)] if leaves else [])
    assert ours.waiting == 0
    ours.stop()


def test_an_answer_without_memory_is_a_refusal():
    sent = []

    def send(message, files):
        sent.append((message, files))
        if len(sent) == 1:
            raise Full("no room")

    done = Future()
    replica = SimpleNamespace(evaluate=lambda *_: done)
    channel = SimpleNamespace(send=send)
    _compute(replica, lambda: channel, ["evaluate", "7", "scores", "digest", "Hemera", {}], {})
    done.set_result(Answered({"output": np.zeros(1, np.uint8)}, 3))
    assert sent[0][0] == ["7", 3, None, False]
    (number, batch, refused, gone), files = sent[1]
    assert (number, batch, refused[:2], gone, files) == ("7", 0, (500, "internal"), False, {})


def test_a_replica_without_memory_drops_other_keys(package, tmp_path):
    package.save(tmp_path / "model")
    (tmp_path / "keys").write_bytes(b"keys")
    files = KeyFiles(digest_of({"keys": tmp_path / "keys"}), "Hemera", {"keys": str(tmp_path / "keys")})
    model = ModelFile(str(tmp_path / "model"), package.digest)
    replica = Replica({"scores": model}, Settings(device="cpu", threads=1))
    held = SimpleNamespace(memory_bytes=1, is_current=True)
    replica._cache.get("other", "scores", 0, lambda: held)
    places = []

    def load(*_):
        places.append(list(replica._cache.places))
        if len(places) == 1:
            raise OutOfMemoryError("full")
        return SimpleNamespace(memory_bytes=2)

    replica._loader = SimpleNamespace(load=load)
    assert replica._load(package, files).digest == files.digest
    assert places == [[("other", "scores")], []]


@pytest.mark.parametrize(
    ("gone", "is_there", "forgotten"),
    [(None, False, 0), ("a", True, 0), ("a", False, 1), ("b", True, 0), ("b", False, 0)],
)
def test_keys_whose_files_are_gone_are_forgotten(gone, is_there, forgotten):
    """Others that came in their place meanwhile are not."""
    own = object.__new__(RayService)
    forgets = []
    found = SimpleNamespace(digest="a", library="Hemera", files={}, is_there=lambda: is_there)
    own.keys = lambda *_: found
    own.store = SimpleNamespace(forget=forgets.append)
    lost = None if gone is None else KeyFiles(gone, "Hemera", {})
    assert own._key_files("alice", "scores", lost).digest == "a"
    assert forgets == [found] * forgotten


def test_replicas_take_all_that_the_server_lets_through(monkeypatch, tmp_path):
    """Here it is the server that refuses."""
    asked = []
    monkeypatch.setattr(
        service, "Cluster", lambda *given, **named: asked.append((*given, named)) or SimpleNamespace(count=3)
    )
    monkeypatch.setattr(service, "RayService", lambda *given: given)
    settings = Settings(waiting_requests=9, batch=2)
    found = service.on_cluster(Home(tmp_path), settings, address="auto", replicas=3)
    ((address, models, own, named),) = asked
    assert (address, models, named, own.waiting_requests) == ("auto", {}, {"replicas": 3}, 18)
    assert found[1] is settings
    assert found[3] == limits_of(settings, 3)
