"""A server on several devices: requests go to their client's keys, and keys to where the load wants them."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from hemera import errors
from hemera.cli import main
from hemera.commands import serve
from hemera.objects.devices import DeviceOptions
from hemera.package.local_model import LocalModel
from hemera.serving.evaluation import Device, Evaluation
from hemera.serving.metrics import Metrics
from hemera.serving.scheduler import Scheduler
from hemera.serving.service import Service
from hemera.serving.session_cache import SessionCache
from hemera.serving.sessions import Loader
from hemera.serving.settings import Settings

from ..refusals import raises
from .conftest import BOUND, client_of, expected, require_scores, serving, wait_until


def rows(seed, *shape):
    return np.random.default_rng(seed).uniform(-1, 1, (*shape, 8))


class Bench:
    """A scheduler of two devices, whose evaluations wait until they may go on, and one client's files."""

    def __init__(self, package, folder, batch):
        self.package, self.folder = package, folder
        self.loaders = [Loader(DeviceOptions("cpu", 1)), Loader(DeviceOptions("cpu", 1))]
        self.caches = [SessionCache(1 << 30), SessionCache(1 << 30)]
        self.locals = {}
        self.loaded = []
        """Device, client, and whether the keys came from another device."""
        self.ran = []
        self.entered = threading.Semaphore(0)
        self.go = threading.Semaphore(0)
        self.loads = threading.Event()
        """Whether keys may be loaded."""
        self.loads.set()
        self.scheduler = Scheduler(
            [
                Device(
                    lambda client, _, at=at: self._session(at, client),
                    lambda client, _, at=at: self.caches[at].peek(client, "scores", 1),
                    self.caches[at],
                )
                for at in range(2)
            ],
            waiting=64,
            batch=batch,
            metrics=Metrics(),
        )

    def add(self, client, *devices):
        """A client, whose keys are on these devices already."""
        self.locals[client] = LocalModel(self.package.interface, security=None)
        (self.folder / client).write_bytes(self.locals[client].generate_keys())
        for device in devices:
            self._session(device, client)
        self.loaded.clear()

    def _session(self, device, client):
        def make():
            other = self.caches[1 - device].peek(client, "scores", 1)
            copied = None if other is None else other.copied_to(self.loaders[device])
            self.loaded.append((device, client, copied is not None))
            assert self.loads.wait(BOUND)
            session = copied or self.loaders[device].load(
                self.package, "Hemera", {"keys": self.folder / client}
            )
            run = session.run

            def held(requests):
                self.ran.append((device, client, len(requests)))
                self.entered.release()
                assert self.go.acquire(timeout=BOUND)
                return run(requests)

            session.run = held
            return session

        return self.caches[device].get(client, "scores", 1, make)

    def ask(self, client, seed):
        local = self.locals[client]
        request = Evaluation(client, "scores", local.encrypt(local.interface.encode(rows(seed))))
        self.scheduler.submit(request)
        return request

    def check(self, request, seed):
        local = self.locals[request.client]
        found = local.interface.decode(local.decrypt(request.answer.result(BOUND)))
        np.testing.assert_allclose(found, expected(rows(seed)), atol=1e-6)

    def runs(self, count):
        """Until so many more evaluations have begun."""
        for _ in range(count):
            assert self.entered.acquire(timeout=BOUND)

    def let(self, count):
        self.go.release(count)


@pytest.fixture
def bench(package, tmp_path):
    made = []

    def make(batch=2):
        made.append(Bench(package, tmp_path, batch))
        return made[-1]

    yield make
    for each in made:
        each.loads.set()
        each.let(100)
        each.scheduler.stop()


def test_requests_go_where_the_keys_are(bench):
    """Also while the other device idles, as long as no more wait than run together."""
    b = bench()
    b.add("alice", 1)
    b.add("bob", 0)
    b.scheduler.start()
    first, other = b.ask("alice", 1), b.ask("bob", 2)
    b.runs(2)  # at the same time
    assert sorted(b.ran) == [(0, "bob", 1), (1, "alice", 1)]
    b.let(1)
    b.let(1)
    b.check(other, 2)
    b.check(first, 1)
    third = b.ask("alice", 3)
    b.runs(1)
    more = [b.ask("alice", seed) for seed in (4, 5)]  # as many as run together: they wait for their device
    b.let(2)
    b.check(third, 3)
    for seed, request in zip((4, 5), more, strict=True):
        b.check(request, seed)
    assert b.ran[2:] == [(1, "alice", 1), (1, "alice", 2)]
    assert b.loaded == []


def test_keys_go_to_an_idle_device_when_more_wait_than_run_together(bench):
    b = bench()
    b.add("alice", 0)
    b.scheduler.start()
    asked = {1: b.ask("alice", 1)}
    b.runs(1)
    for seed in (2, 3):
        asked[seed] = b.ask("alice", seed)
    assert b.loaded == []
    asked[4] = b.ask("alice", 4)  # the third that waits
    b.runs(1)
    assert b.loaded == [(1, "alice", True)]  # a copy of the first device's
    assert b.ran == [(0, "alice", 1), (1, "alice", 2)]
    b.let(100)
    for seed, request in asked.items():
        b.check(request, seed)
    assert len({request.keys for request in asked.values()}) == 1
    # From now on it has them.
    wait_until(lambda: b.scheduler.waiting == 0)
    assert all(cache.peek("alice", "scores", 1) is not None for cache in b.caches)
    b.check(b.ask("alice", 5), 5)
    assert len(b.loaded) == 1


def test_keys_that_are_being_loaded_are_not_loaded_by_another_device(bench):
    b = bench()
    b.add("alice")
    b.add("bob", 1)
    b.scheduler.start()
    asked = [b.ask("bob", 1)]
    b.runs(1)
    b.loads.clear()
    asked.append(b.ask("alice", 2))  # the first device is free
    wait_until(lambda: b.loaded == [(0, "alice", False)])
    asked += [b.ask("alice", 3), b.ask("bob", 4)]
    b.let(1)
    b.runs(1)  # the second device leaves alice's request, which came first
    assert b.ran == [(1, "bob", 1), (1, "bob", 1)]
    assert len(b.loaded) == 1
    b.loads.set()
    b.let(100)
    for seed, request in enumerate(asked, 1):
        b.check(request, seed)


def test_an_idle_device_learns_that_a_holder_has_become_busy(bench):
    """In whichever order the two wake up, both compute."""
    b = bench()
    b.add("alice", 0)
    b.scheduler.start()
    for _ in range(12):
        with b.scheduler._wake:  # nobody begins before all wait
            asked = [b.ask("alice", seed) for seed in range(5)]
        b.runs(2)
        assert {device for device, _, _ in b.ran[-2:]} == {0, 1}
        b.let(5)
        for seed, request in enumerate(asked):
            b.check(request, seed)
        wait_until(lambda: not any(state.busy for state in b.scheduler._states))
        while b.entered.acquire(blocking=False):
            pass
        while b.go.acquire(blocking=False):
            pass
        b.caches[1].drop("alice", "scores")


def test_calls_go_to_their_device_and_a_stop_answers_all(bench):
    b = bench()
    b.scheduler.start()
    names = [b.scheduler.call(threading.get_ident, device).result(BOUND) for device in (0, 1, 1)]
    assert names[0] != names[1] == names[2]
    assert b.scheduler.alive
    b.scheduler.stop()
    assert not b.scheduler.alive
    raises(Exception, "stops", b.scheduler.call, threading.get_ident, 1)


@pytest.mark.fact_of_the_cpu("names of devices")
def test_clients_of_a_server_on_two_devices(home, monkeypatch):
    """Over HTTP: keys are spread by bytes, answered by both, and leave both."""
    with serving(home, device="cpu,cpu", batch=2) as server:
        service = server.service
        assert service.device == "cpu,cpu"
        tokens = {name: home.clients.add(name) for name in ("alice", "bob")}
        for name, token in tokens.items():
            with client_of(server.url, token, folder=home.root / name) as client:
                require_scores(client, rows(1, 2))
        assert [len(cache) for cache in service.caches] == [1, 1]
        assert server.metric("hemera_loaded_key_sets") == 2
        assert server.metric("hemera_loaded_key_bytes") == sum(cache.bytes for cache in service.caches)

        # So much at once that the other device takes the keys, too.
        owner = service.clients.of_token(tokens["alice"]) or ""
        stopped = threading.Event()
        generation = service.keys(owner, "scores").generation
        held = [at for at, cache in enumerate(service.caches) if cache.peek(owner, "scores", generation)]
        service.scheduler.call(lambda: stopped.wait(BOUND), held[0])
        loads = []
        load = Loader.load
        monkeypatch.setattr(Loader, "load", lambda *given: (loads.append(given), load(*given))[1])

        def ask(seed):
            with client_of(server.url, tokens["alice"], folder=home.root / "alice") as client:
                require_scores(client, rows(seed))

        with ThreadPoolExecutor(4) as threads:
            answers = [threads.submit(ask, seed) for seed in range(4)]
            for answer in answers:
                answer.result(BOUND)  # the device of its keys does nothing
        stopped.set()
        assert all(cache.peek(owner, "scores", generation) for cache in service.caches)
        assert not loads  # a copy from device to device

        # Keys sent anew are on one device, those before on none.
        assert server.metric("hemera_loaded_key_sets") == 3
        with client_of(server.url, tokens["alice"], folder=home.root / "other") as client:
            client.predict("scores", rows(3))
        assert server.metric("hemera_loaded_key_sets") == 2
        generation = service.keys(owner, "scores").generation
        for device in range(2):
            service.scheduler.call(
                lambda device=device: service._session(device, owner, "scores"), device
            ).result(BOUND)
        assert server.metric("hemera_loaded_key_sets") == 3
        service.remove_keys(owner, "scores")
        assert not any(cache.peek(owner, "scores", generation) for cache in service.caches)
        for name in tokens:
            home.remove_client(name)
        service.sweep()
        assert server.metric("hemera_loaded_key_sets") == 0


@pytest.mark.parametrize("device", ["cpu", "cpu,cpu"])
@pytest.mark.fact_of_the_cpu("names of devices")
def test_contexts_have_all_options_of_the_server(home, device):
    service = Service(home, Settings(device=device, threads=1, keys="host"))
    (model,) = service.models.values()
    for loader in service._loaders:
        assert loader.context(model.package)._options == DeviceOptions("cpu", 1, keys="host")
    for wrong in ({"storage": "four-byte"}, {"keys": "disk"}):
        raises(errors.ParameterError, r"must be one of", Settings, **wrong)


def test_the_command_passes_the_options_on(home, monkeypatch):
    given = []

    def note(configuration, **_):
        assert configuration.port == 8000
        given.append(configuration)
        return 0

    monkeypatch.setattr(serve, "serve_home", note)
    words = ["serve", str(home.root), "--device", "cpu", "--threads", "2"]
    assert main([*words, "--storage", "packed", "--key-place", "host"]) == 0
    assert given[-1].options == DeviceOptions("cpu", 2, storage="packed", keys="host")
    assert main(words) == 0
    assert given[-1].options == DeviceOptions("cpu", 2)
