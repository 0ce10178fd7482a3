"""Requests that wait together run together, clients take turns, and nobody's failure is another's."""

import functools
import random
from types import SimpleNamespace

import numpy as np
import pytest

from hemera import errors
from hemera.client.problems import Refused, refusal_of
from hemera.objects.devices import DeviceOptions
from hemera.package.local_model import LocalModel
from hemera.serving.evaluation import Device, Evaluation
from hemera.serving.metrics import Metrics
from hemera.serving.scheduler import Scheduler
from hemera.serving.session_cache import Session, SessionCache
from hemera.serving.sessions import Loader

from ..refusals import raises
from .conftest import BOUND, expected


class Bench:
    """A scheduler that begins when it is told to, and the keys of some clients."""

    def __init__(self, package, folder, **limits):
        self.package = package
        self.folder = folder
        self.loader = Loader(DeviceOptions("cpu", 1))
        self.locals = {}
        self.sessions = {}
        self.cache = SessionCache(1 << 30)
        self.ran = []
        metrics = Metrics()
        self.scheduler = Scheduler(
            [Device(self._session, lambda client, _: self.sessions.get(client), self.cache)],
            metrics=metrics,
            **{"waiting": 64, "batch": 32, **limits},
        )

    def add(self, client):
        local = LocalModel(self.package.interface, security=None)
        path = self.folder / client
        path.write_bytes(local.generate_keys())
        self.locals[client] = local
        session = self.loader.load(self.package, "Hemera", {"keys": path})
        run = session.run

        def noted(requests):
            self.ran.append((client, len(requests)))
            return run(requests)

        session.run = noted
        self.sessions[client] = session

    def _session(self, client, model):
        session = self.sessions.get(client)
        if session is None:
            raise Refused(409, "no_keys", f"no keys for {model}")
        return session

    def ask(self, client, rows, level=None):
        local = self.locals[client]
        (array,) = local.interface.encode(np.asarray(rows))
        x = local.context.encrypt(local.context.encode(array, level=level), local.secret_key)
        request = Evaluation(client, "scores", {"input": bytes(x)})
        self.scheduler.submit(request)
        return request

    def read(self, request):
        local = self.locals[request.client]
        return local.interface.decode(local.decrypt(request.answer.result(BOUND)))


@pytest.fixture
def bench(package, tmp_path):
    made = []

    def make(**limits):
        made.append(Bench(package, tmp_path, **limits))
        made[-1].add("alice")
        made[-1].add("bob")
        return made[-1]

    yield make
    for each in made:
        each.scheduler.stop()


def rows(seed, *shape):
    return np.random.default_rng(seed).uniform(-1, 1, (*shape, 8))


def test_what_waits_together_is_one_batch(bench):
    b = bench()
    asked = [(b.ask(client, rows(at)), rows(at)) for at, client in enumerate(["alice", "bob", "alice"] * 3)]
    b.scheduler.start()
    for request, values in asked:
        np.testing.assert_allclose(b.read(request), expected(values), atol=1e-6)
        assert request.batch == (6 if request.client == "alice" else 3)
    assert b.ran == [("alice", 6), ("bob", 3)]


def test_shapes_come_back_as_they_went(bench):
    b = bench()
    asked = [(b.ask("alice", rows(9, *shape)), shape) for shape in [(), (1,), (4,), ()]]
    b.scheduler.start()
    for request, shape in asked:
        found = b.read(request)
        assert found.shape == (*shape, 3)
        np.testing.assert_allclose(found, expected(rows(9, *shape)), atol=1e-6)
    assert b.ran == [("alice", 4)]


def test_one_bad_request_harms_no_other(bench):
    b = bench()
    good = b.ask("alice", rows(1))
    rubbish = Evaluation("alice", "scores", {"input": b"rubbish"})
    other_name = Evaluation("alice", "scores", {"x": b"", "y": b""})
    low = b.ask("alice", rows(2), level=0)  # no level for the model
    secret = Evaluation("alice", "scores", {"input": bytes(b.locals["alice"].secret_key)})
    for request in (rubbish, other_name, secret):
        b.scheduler.submit(request)
    last = b.ask("alice", rows(3))
    b.scheduler.start()
    np.testing.assert_allclose(b.read(good), expected(rows(1)), atol=1e-6)
    np.testing.assert_allclose(b.read(last), expected(rows(3)), atol=1e-6)
    raises(errors.FormatError, "", rubbish.answer.result, BOUND)
    raises(errors.MismatchError, "takes the inputs input", other_name.answer.result, BOUND)
    raises(errors.LevelError, "", low.answer.result, BOUND)
    raises(Refused, "secret key", secret.answer.result, BOUND)
    assert good.batch == 2


def test_a_stop_answers_what_waits(bench):
    b = bench()
    waiting = b.ask("alice", rows(1))
    call = b.scheduler.call(lambda: 1)
    b.scheduler.stop()
    for future in (waiting.answer, call):
        raises(Refused, "stops", future.result, BOUND)
    raises(Refused, "stops", b.ask, "alice", rows(1))
    assert not b.scheduler.alive


def test_errors_of_a_session_are_answers(bench):
    b = bench()
    request = b.ask("alice", rows(1))
    del b.sessions["alice"]
    b.scheduler.start()
    raises(Refused, "no keys", request.answer.result, BOUND)
    assert b.scheduler.alive


def test_inputs_are_for_the_keys_that_count_when_they_run(bench):
    """A client that replaces its keys while a request waits: nothing is left of the session before."""
    b = bench()
    before = b.sessions["alice"]
    request = b.ask("alice", rows(1))
    sent = request.files
    assert request.loading is not None
    assert request.loading[0] is before
    request.loading[1].result(BOUND)
    b.add("alice")  # another secret key, and another session
    loaded = []
    after = b.sessions["alice"]
    load = after.load
    after.load = lambda files: (loaded.append(files), load(files))[1]
    b.scheduler.start()
    request.answer.result(BOUND)
    assert loaded == [sent]
    assert (request.files, request.loading) == ({}, None)  # whose answer is there
    again = b.ask("alice", rows(2))
    np.testing.assert_allclose(b.read(again), expected(rows(2)), atol=1e-6)


class Told(Session):
    """A session without keys. A request's file, as "a2x", tells its client, evaluations and form; the answer
    which ran together."""

    memory_bytes = 1

    def __init__(self, client):
        super().__init__()
        self.digest = f"keys of {client}"

    def load(self, files):
        file = files["input"].decode()

        def fit(other):
            return other.values[2:].removesuffix("bad") == file[2:].removesuffix("bad")

        return SimpleNamespace(values=file, count=int(file[1]), single=True, fit=fit)

    def run(self, requests):
        if any(each.endswith("bad") for each in requests):
            raise errors.NoiseError("bad")
        return ["+".join(requests).encode()] * len(requests)

    def dump(self, outputs, single):
        assert single
        return {"output": outputs}


def plain_scheduler(devices, ready=lambda *_: None, **limits):
    sessions = {client: Told(client) for client in "abc"}
    own = [
        Device(lambda client, _: sessions[client], functools.partial(ready, number), SessionCache(1 << 30))
        for number in range(devices)
    ]
    return Scheduler(own, metrics=Metrics(), **{"waiting": 9, "batch": 4, **limits})


@pytest.mark.parametrize(
    ("asked", "ran"),
    [
        # One of each client in turn; each with those that it ran with.
        ("a1 a1 b1 c1", "a1+b1+c1+a1 a1+b1+c1+a1 a1+b1+c1+a1 a1+b1+c1+a1"),
        ("a1 a1 a1 a1 b1", "a1+b1+a1+a1 a1+b1+a1+a1 a1+b1+a1+a1 a1 a1+b1+a1+a1"),
        ("a3 b1 c1", "a3+b1 a3+b1 c1"),  # 4 evaluations together
        ("a3 b2 c1", "a3+c1 b2 a3+c1"),
        ("a4 b4", "a4 b4"),
        ("a5 b1", "too_many b1"),
        ("a1x b1y c1x", "a1x+c1x b1y a1x+c1x"),  # of one form
        ("a1 b1bad c1", "a1 noise c1"),
        ("a1bad b1bad", "noise noise"),
        ("a1 b1 a1bad", "a1 b1 noise"),
    ],
)
def test_requests_of_several_clients_run_together(asked, ran):
    scheduler = plain_scheduler(1)
    requests = [Evaluation(each[0], "m", {"input": each.encode()}, joins=True) for each in asked.split()]
    for request in requests:
        scheduler.submit(request)
    assert scheduler.waiting == len(requests)
    scheduler.start()
    found = []
    for request in requests:
        refused = request.answer.exception(BOUND)
        found.append(
            request.answer.result(BOUND)["output"].decode() if refused is None else refusal_of(refused).code
        )
        assert request.batch == (0 if refused else len(found[-1].split("+")))
        assert request.keys == ("" if refused else f"keys of {request.client}")
    scheduler.stop()
    assert " ".join(found) == ran


@pytest.mark.parametrize("waiting", [2, 3])  # as many as run together, and one more
@pytest.mark.parametrize(
    ("holders", "busy", "first", "more"),
    [
        ("", "", "012", "012"),
        ("0", "", "0", "0"),
        ("0", "0", "0", "012"),
        ("0", "1", "0", "0"),
        ("01", "0", "01", "01"),  # another one that has the keys is idle
        ("01", "01", "01", "012"),
        ("012", "012", "012", "012"),
    ],
)
def test_which_devices_may_take_what_waits(waiting, holders, busy, first, more):
    scheduler = plain_scheduler(3, lambda number, *_: Told("a") if str(number) in holders else None, batch=2)
    for _ in range(waiting):
        scheduler.submit(Evaluation("a", "m", {"input": b"a1"}))
    for number in busy:
        scheduler._states[int(number)].busy = True
    found = [str(number) for number in range(3) if scheduler._may_take(number, ("a", "m"))]
    assert "".join(found) == (more if waiting > 2 else first)
    scheduler._states[2].place = ("a", "m")  # where they run now, the keys are
    assert scheduler._may_take(2, ("a", "m"))
    best = scheduler._best_session("a", "m")
    assert (best is None) == (not holders)
    scheduler.stop()


@pytest.mark.parametrize("seed", range(8))
def test_any_requests_in_any_order(seed):
    """Who is refused, by the requests that wait; then what ran together: of one client, model and form."""
    rng = random.Random(seed)
    batch = rng.choice([1, 2, 4])
    scheduler = plain_scheduler(rng.choice([1, 2]), waiting=3, batch=batch)
    queues = {}
    for _ in range(60):
        place = rng.choice("abc"), rng.choice("mn")
        own = queues.setdefault(place, [])
        if own and rng.random() < 0.2:
            own.pop(rng.randrange(len(own))).answer.cancel()
            continue
        file = f"{place[0]}{rng.randint(1, batch + 1)}{rng.choice('xy')}"
        request = Evaluation(*place, {"input": file.encode()})
        if len(own) < 3:
            scheduler.submit(request)
            own.append(request)
        else:
            with pytest.raises(Refused, match="3 of your requests") as full:
                scheduler.submit(request)
            assert (full.value.status, full.value.headers["Retry-After"]) == (429, "1")
    sent = {id(each): each.files["input"].decode() for own in queues.values() for each in own}
    scheduler.start()
    for own in queues.values():
        for request in own:
            file = sent[id(request)]
            refused = request.answer.exception(BOUND)
            assert (refused is not None and refusal_of(refused).code == "too_many") == (int(file[1]) > batch)
            if refused is None:
                ran = request.answer.result(BOUND)["output"].decode().split("+")
                assert request.batch == len(ran)
                assert file in ran
                assert {(each[0], each[2]) for each in ran} == {(file[0], file[2])}
                assert sum(int(each[1]) for each in ran) <= batch
    scheduler.stop()
    assert scheduler.waiting == 0
