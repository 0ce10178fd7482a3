"""Requests are answered once, whatever happens to replicas. Here replicas live in this process, without Ray:
what Ray does with real ones is tested in test_ray_cluster."""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hemera as hm
from hemera import errors
from hemera.cli import main
from hemera.objects.devices import DeviceOptions
from hemera.ray.dispatch import Dispatcher, Limits
from hemera.ray.handles import Full, Lost
from hemera.ray.placement import choose, rendezvous
from hemera.ray.replica import KeyFiles, ModelFile, Replica, digest_of
from hemera.ray.service import RayService, limits_of
from hemera.serving import Package
from hemera.serving.client import LocalModel
from hemera.serving.problems import Refused, ServerError
from hemera.serving.scheduler import Evaluation
from hemera.serving.server import listen, make_server
from hemera.serving.service import Home
from hemera.serving.sessions import Loader
from hemera.serving.settings import Settings

from .conftest import BOUND, Running, client_of, expected, wait_until


class Fake:
    """A replica in this process, which can be held up, be silent and die."""

    def __init__(self, ranch: Ranch) -> None:
        self._ranch = ranch
        self.replica = Replica(ranch.models, ranch.settings)
        self.open = threading.Event()
        self.open.set()
        self.silent = False
        self.full = False
        self.dead = False
        self.pending: set[Future[Any]] = set()
        self.asked: list[tuple[str, tuple[Any, ...]]] = []

    def call(self, method: str, *arguments: Any) -> Future[Any]:
        self.asked.append((method, arguments))
        found: Future[Any] = Future()
        if self.dead:
            found.set_exception(Lost("dead"))
        elif self.full and method == "evaluate":
            found.set_exception(Full("full"))
        elif not (self.silent and method == "look"):
            self.pending.add(found)
            asyncio.run_coroutine_threadsafe(self._run(found, method, arguments), self._ranch.loop)
        return found

    async def _run(self, found: Future[Any], method: str, arguments: tuple[Any, ...]) -> None:
        while method == "evaluate" and not self.open.is_set():
            await asyncio.sleep(0.002)
        try:
            result = getattr(self.replica, method)(*arguments)
            if isinstance(result, Future):
                result = await asyncio.wrap_future(result)
            elif result is not None:
                result = await result
        except BaseException as error:
            result = error
        if found in self.pending:
            self.pending.discard(found)
            (found.set_exception if isinstance(result, BaseException) else found.set_result)(result)

    def numbers(self) -> list[str]:
        """Of the requests that it got."""
        return [arguments[0] for method, arguments in self.asked if method == "evaluate"]

    def die(self) -> None:
        self.dead = True
        while self.pending:
            self.pending.pop().set_exception(Lost("died"))

    def kill(self) -> None:
        self.dead = True


class Ranch:
    """Where fakes come from."""

    def __init__(self, models: dict[str, ModelFile], settings: Settings, count: int) -> None:
        self.models, self.settings, self.count = models, settings, count
        self.loop = asyncio.new_event_loop()
        self.fakes: list[Fake] = []
        self.head = True
        self.prepare: Callable[[Fake], None] = lambda _: None
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def spawn(self) -> Fake:
        fake = Fake(self)
        self.prepare(fake)
        self.fakes.append(fake)
        return fake

    def alive(self) -> bool:
        return self.head

    def close(self) -> None:
        for fake in self.fakes:
            fake.kill()
        self.loop.call_soon_threadsafe(self.loop.stop)

    @property
    def living(self) -> list[Fake]:
        return [fake for fake in self.fakes if not fake.dead]


class Bench:
    """A dispatcher, its replicas, and clients with their keys in files."""

    def __init__(
        self, package: Package, folder: Path, count: int, limits: dict[str, Any], **settings: Any
    ) -> None:
        self.package, self.folder = package, folder
        path = folder / "model"
        package.save(path)
        chosen = Settings(**{"device": "cpu", "threads": 1, **settings})
        self.ranch = Ranch({"scores": ModelFile(str(path), package.digest)}, chosen, count)
        self.locals: dict[str, LocalModel] = {}
        self.keys: dict[str, KeyFiles] = {}
        self.failed = threading.Event()
        quick = {"look_seconds": 0.02, "patience": 30.0, "start_seconds": BOUND}
        self.dispatcher = Dispatcher(
            self.ranch, self._keys, Limits(**{**quick, **limits}), failed=self.failed.set
        )

    def start(self) -> None:
        self.dispatcher.start()
        assert self.dispatcher.wait()
        wait_until(lambda: len(self.dispatcher._replicas) == self.ranch.count)

    def _keys(self, client: str, model: str, gone: KeyFiles | None) -> KeyFiles:
        found = self.keys.get(client)
        if found is None or (gone is not None and found.digest == gone.digest):
            raise Refused(409, "no_keys", f"no keys for {model}")
        return found

    def add(self, client: str) -> None:
        local = LocalModel(self.package.interface, security=None)
        path = self.folder / f"{client}.keys"
        path.write_bytes(local.generate_keys())
        self.locals[client] = local
        self.keys[client] = KeyFiles(digest_of({"keys": path}), "Hemera", {"keys": str(path)})

    def file(self, client: str, rows: Any) -> bytes:
        local = self.locals[client]
        (array,) = local.interface.encode(np.asarray(rows))
        return bytes(local.context.encrypt(array, local.secret_key))

    def ask(self, client: str, rows: Any) -> Evaluation:
        request = Evaluation(client, "scores", {"input": self.file(client, rows)})
        self.dispatcher.submit(request)
        return request

    def check(self, request: Evaluation, rows: Any) -> None:
        local = self.locals[request.client]
        found = local.interface.decode(local.decrypt(request.answer.result(BOUND)))
        np.testing.assert_allclose(found[: len(rows)], expected(rows), atol=1e-6)

    def first(self, client: str) -> Fake:
        """The replica that gets a client's first request."""
        name = rendezvous(self.keys[client].digest, list(self.dispatcher._replicas))[0]
        found = self.dispatcher._replicas[name].handle
        assert isinstance(found, Fake)
        return found


@pytest.fixture
def bench(package: Package, tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    made: list[Bench] = []

    def make(count: int = 2, limits: dict[str, Any] | None = None, **settings: Any) -> Bench:
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(Bench(package, folder, count, limits or {}, **settings))
        return made[-1]

    yield make
    for each in made:
        each.dispatcher.stop()


ROWS = np.random.default_rng(11).uniform(-1, 1, (4, 8))


def refusal(request: Evaluation) -> tuple[int, str]:
    error = request.answer.exception(BOUND)
    assert isinstance(error, Refused)
    return int(error.status), error.code


def test_answers_are_those_of_one_machine(bench: Callable[..., Bench]) -> None:
    """Bit for bit, also where requests run as a batch."""
    ours = bench(2)
    ours.start()
    ours.add("alice")
    files_of_keys = {"keys": Path(ours.keys["alice"].files["keys"])}
    session = Loader(DeviceOptions("cpu", 1)).load(ours.package, "Hemera", files_of_keys)
    ours.first("alice").open.clear()
    files = [ours.file("alice", ROWS * scale) for scale in (1, 0.5, 0.25)]
    asked = [Evaluation("alice", "scores", {"input": data}) for data in files]
    for each in asked:
        ours.dispatcher.submit(each)
    ours.first("alice").open.set()
    for data, each in zip(files, asked, strict=True):
        inputs = session.load({"input": data})
        alone = session.dump(session.run([inputs.values])[0], inputs.single)
        assert each.answer.result(BOUND) == alone
        assert each.keys == ours.keys["alice"].digest
        assert each.batch >= 1


def test_keys_never_travel(bench: Callable[..., Bench]) -> None:
    ours = bench(1)
    ours.start()
    ours.add("alice")
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


def test_requests_of_one_client_meet_and_run_as_a_batch(bench: Callable[..., Bench]) -> None:
    ours = bench(3, batch=32)
    ours.start()
    ours.add("alice")
    first = ours.first("alice")
    gate = threading.Event()
    first.replica._scheduler.call(gate.wait)
    asked = [ours.ask("alice", ROWS) for _ in range(8)]
    wait_until(lambda: first.replica._scheduler.waiting == 8)
    gate.set()
    for each in asked:
        ours.check(each, ROWS)
    assert [each.batch for each in asked] == [8] * 8
    assert len(first.numbers()) == 8


def test_a_replica_dies_in_the_middle(bench: Callable[..., Bench]) -> None:
    ours = bench(2)
    ours.start()
    ours.add("alice")
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
    ours = bench(2, {"patience": 0.2})
    ours.start()
    ours.add("alice")
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
    ours = bench(1)
    ours.start()
    ours.add("alice")
    (only,) = ours.ranch.fakes
    only.open.clear()
    asked = ours.ask("alice", ROWS)
    wait_until(lambda: len(only.numbers()) == 1)
    only.die()
    ours.check(asked, ROWS)
    assert len(ours.ranch.fakes) == 2


def test_queues_have_ends(bench: Callable[..., Bench]) -> None:
    ours = bench(2, {"client_requests": 3, "replica_requests": 4, "step": 2})
    for client in ("alice", "bob", "carol"):
        ours.add(client)
    with pytest.raises(Refused, match="no replica") as none:
        ours.ask("alice", ROWS)
    assert (none.value.status, none.value.code, none.value.headers["Retry-After"]) == (503, "no_replica", "5")
    ours.start()
    for fake in ours.ranch.fakes:
        fake.open.clear()
    asked = [ours.ask("alice", ROWS) for _ in range(3)]
    with pytest.raises(Refused, match="3 of your requests") as full:
        ours.ask("alice", ROWS)
    assert (full.value.status, full.value.code) == (429, "queue_full")
    asked += [ours.ask("bob", ROWS) for _ in range(3)] + [ours.ask("carol", ROWS) for _ in range(2)]
    with pytest.raises(Refused, match="as many requests") as busy:
        ours.ask("carol", ROWS)
    assert (busy.value.status, busy.value.code, busy.value.headers["Retry-After"]) == (503, "busy", "1")
    wait_until(lambda: sum(len(fake.numbers()) for fake in ours.ranch.fakes) == 8)
    assert {len(fake.numbers()) for fake in ours.ranch.fakes} == {4}
    for fake in ours.ranch.fakes:
        fake.open.set()
    for each in asked:
        ours.check(each, ROWS)
    ours.check(ours.ask("alice", ROWS), ROWS)  # and there is room again


@pytest.mark.parametrize("settings", [{}, {"batch": 4}, {"waiting_requests": 8}, {"batch": 1}])
def test_one_client_can_ask_for_all_replicas(settings: dict[str, Any]) -> None:
    """By its limits of requests, before any of them refuses."""
    limits = limits_of(Settings(**settings), 10)
    waiting = dict.fromkeys(range(10), 0)
    held: list[int] = []
    for _ in range(limits.client_requests):
        found = choose(range(10), waiting, held, (), step=limits.step, limit=limits.replica_requests)
        assert found is not None
        waiting[found] += 1
        held = [name for name, count in waiting.items() if count]
    assert min(waiting.values()) > 0
    assert limits.step <= 4 * Settings(**settings).batch


def test_a_full_store_is_an_answer(bench: Callable[..., Bench]) -> None:
    ours = bench(1)
    ours.start()
    ours.add("alice")
    ours.ranch.fakes[0].full = True
    assert refusal(ours.ask("alice", ROWS)) == (503, "busy")
    ours.ranch.fakes[0].full = False
    ours.check(ours.ask("alice", ROWS), ROWS)


def test_a_slow_replica_gets_less(bench: Callable[..., Bench]) -> None:
    ours = bench(2, {"step": 2})
    ours.start()
    ours.add("alice")
    slow = ours.first("alice")
    ours.check(ours.ask("alice", ROWS), ROWS)
    slow.open.clear()
    stuck = [ours.ask("alice", ROWS) for _ in range(2)]
    for _ in range(6):  # none waits behind those
        ours.check(ours.ask("alice", ROWS), ROWS)
    assert len(slow.numbers()) == 3
    slow.open.set()
    for each in stuck:
        ours.check(each, ROWS)


def test_a_tenant_loads_at_one_replica_at_a_time(bench: Callable[..., Bench]) -> None:
    ours = bench(3, {"step": 2})
    ours.start()
    ours.add("alice")
    first = ours.first("alice")
    for fake in ours.ranch.fakes:
        fake.open.clear()
    asked = [ours.ask("alice", ROWS) for _ in range(5)]
    wait_until(lambda: len(first.numbers()) == 5)
    first.open.set()
    for each in asked:
        ours.check(each, ROWS)
    first.open.clear()
    asked = [ours.ask("alice", ROWS) for _ in range(6)]
    wait_until(lambda: sum(len(fake.numbers()) for fake in ours.ranch.fakes) == 11)
    assert sorted(len(fake.numbers()) for fake in ours.ranch.fakes) == [0, 3, 8]
    for fake in ours.ranch.fakes:
        fake.open.set()
    for each in asked:
        ours.check(each, ROWS)


def test_the_same_number_is_computed_once(bench: Callable[..., Bench]) -> None:
    ours = bench(1)
    ours.start()
    ours.add("alice")
    (fake,) = ours.ranch.fakes
    gate = threading.Event()
    fake.replica._scheduler.call(gate.wait)
    files = {"input": np.frombuffer(ours.file("alice", ROWS), np.uint8)}
    twice = [fake.call("evaluate", "one", "scores", ours.keys["alice"], files) for _ in range(2)]
    wait_until(lambda: fake.replica._scheduler.waiting == 1)
    gate.set()
    one, other = (each.result(BOUND).result() for each in twice)
    assert one == other
    assert fake.replica.computed == 1


def test_who_leaves_takes_no_room(bench: Callable[..., Bench]) -> None:
    ours = bench(1, {"client_requests": 1})
    ours.start()
    ours.add("alice")
    (fake,) = ours.ranch.fakes
    gate = threading.Event()
    fake.replica._scheduler.call(gate.wait)
    asked = ours.ask("alice", ROWS)
    wait_until(lambda: fake.replica._scheduler.waiting == 1)
    assert asked.answer.cancel()
    wait_until(lambda: not fake.replica._running)
    assert ours.dispatcher.waiting == 0
    again = ours.ask("alice", ROWS)
    gate.set()
    ours.check(again, ROWS)
    assert fake.replica.computed == 1


def test_keys_that_were_replaced_meanwhile(bench: Callable[..., Bench]) -> None:
    ours = bench(1)
    ours.start()
    ours.add("alice")
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
    ours = bench(1)
    ours.start()
    ours.add("alice")
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
    ours = bench(2)
    ours.start()
    ours.add("alice")
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
    ours = bench(2, {"step": 1})
    ours.start()
    ours.add("alice")
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


def test_wrong_requests_are_refused_as_by_one_machine(bench: Callable[..., Bench]) -> None:
    ours = bench(1)
    ours.start()
    ours.add("alice")
    for data, wanted in (
        (b"rubbish", (422, "format")),
        (bytes(ours.locals["alice"].secret_key), (422, "secret_key")),
        (bytes(ours.locals["alice"].context.params), (422, "mismatch")),
    ):
        request = Evaluation("alice", "scores", {"input": data})
        ours.dispatcher.submit(request)
        assert refusal(request) == wanted
    ours.check(ours.ask("alice", ROWS), ROWS)


def test_the_head_is_lost(bench: Callable[..., Bench]) -> None:
    """Replicas that are there go on; after a while the server ends, with an answer for whoever waits."""
    ours = bench(2, {"head_seconds": 0.5})
    ours.start()
    ours.add("alice")
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
    with pytest.raises(Refused, match="stops"):
        ours.ask("alice", ROWS)
    assert not ours.dispatcher.alive


def test_a_head_that_comes_back(bench: Callable[..., Bench]) -> None:
    ours = bench(2, {"head_seconds": BOUND})
    ours.start()
    ours.add("alice")
    ours.ranch.head = False
    ours.ranch.fakes[0].die()
    wait_until(lambda: ours.dispatcher.replaced == 1)
    assert len(ours.ranch.fakes) == 2
    ours.ranch.head = True
    wait_until(lambda: len(ours.ranch.living) == 2)
    assert not ours.failed.is_set()
    ours.check(ours.ask("alice", ROWS), ROWS)


def test_a_stop_answers(bench: Callable[..., Bench]) -> None:
    ours = bench(1)
    ours.start()
    ours.add("alice")
    ours.ranch.fakes[0].open.clear()
    asked = ours.ask("alice", ROWS)
    ours.dispatcher.stop()
    assert refusal(asked) == (503, "stopping")
    for call in (lambda: ours.ask("alice", ROWS), lambda: ours.dispatcher.call(lambda: None)):
        with pytest.raises(Refused, match="stops"):
            call()


def test_a_model_that_was_replaced(package: Package, tmp_path: Path) -> None:
    path = tmp_path / "model"
    package.save(path)
    with pytest.raises(Exception, match="was replaced"):
        Replica({"scores": ModelFile(str(path), "0" * 64)}, Settings(device="cpu", threads=1))


@pytest.fixture
def site(home: Home, package: Package) -> Iterator[tuple[Running, Ranch]]:
    """A server for the folder, whose replicas are fakes."""
    settings = Settings(device="cpu", threads=1)
    ranch = Ranch({"scores": ModelFile(str(home.model_file("scores")), package.digest)}, settings, 2)
    service = RayService(home, settings, ranch, Limits(look_seconds=0.02, start_seconds=BOUND))
    with running(service) as url:
        yield Running(service, url), ranch


@contextlib.contextmanager
def running(service: RayService) -> Iterator[str]:
    listener = listen("127.0.0.1", 0)
    server = make_server(service, listener)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        wait_until(lambda: server.started or not thread.is_alive())
        assert server.started
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(BOUND)


def test_the_server(site: tuple[Running, Ranch], home: Home, local: LocalModel) -> None:
    """Uploads, requests and what operators see, over HTTP."""
    server, ranch = site
    token = home.clients.add("alice")
    with client_of(server.url, token, patience=0) as client:
        for rows in (ROWS, ROWS / 2):
            np.testing.assert_allclose(client.predict("scores", rows), expected(rows), atol=1e-6)
        assert sorted(len(fake.numbers()) for fake in ranch.fakes) == [0, 2]
        next(fake for fake in ranch.fakes if fake.numbers()).die()
        np.testing.assert_allclose(client.predict("scores", ROWS), expected(ROWS), atol=1e-6)
    with server.http(token) as http:
        secret = http.put("/v1/models/scores/keys", content=bytes(local.secret_key))
        assert (secret.status_code, secret.json()["error"]["code"]) == (422, "secret_key")
        wrong = http.put("/v1/models/scores/keys", content=local.generate_keys()[:-5])
        assert (wrong.status_code, wrong.json()["error"]["code"]) == (422, "format")
        health = http.get("/health").json()
        assert (health["status"], health["device"]) == ("ok", "cpu")
    wait_until(lambda: server.metric("hemera_replaced_replicas") == 1)
    wait_until(lambda: server.metric("hemera_loaded_key_sets") >= 1)
    assert server.metric("hemera_loaded_key_bytes") > 0
    wait_until(lambda: server.metric("hemera_batch_requests_count", model="scores") >= 1)
    assert list(home.incoming.iterdir()) == []


def test_a_removed_client(site: tuple[Running, Ranch], home: Home) -> None:
    server, _ = site
    token = home.clients.add("alice")
    with client_of(server.url, token, patience=0) as client:
        client.predict("scores", ROWS)
        owner = next(iter(server.service.store.sets())).client
        home.remove_client("alice")
        assert not (home.keys / owner).exists()
        with pytest.raises(ServerError) as refused:
            client.predict("scores", ROWS)
    assert refused.value.code == "unknown_token"


def test_no_replica_is_no_health(site: tuple[Running, Ranch], home: Home) -> None:
    server, ranch = site
    ranch.head = False
    for fake in ranch.living:
        fake.die()
    wait_until(lambda: not server.service.scheduler.alive)
    with server.http(home.clients.add("alice")) as http:
        answer = http.get("/health")
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "10")
    ranch.head = True
    wait_until(lambda: server.service.scheduler.alive)


def test_without_ray(monkeypatch: pytest.MonkeyPatch, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(errors.ParameterError, match=r"pip install .*ray\[data\].*'\.\[ray\]'"):
        hm.ray.map_batches("model", "requests", keys="keys")
    assert main(["serve", str(home.root), "--ray"]) == 1
    assert "ray[data]" in capsys.readouterr().err
    assert main(["serve", str(home.root), "--replicas", "2"]) == 1
    assert "--replicas needs --ray" in capsys.readouterr().err
