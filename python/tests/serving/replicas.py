"""Replicas in this process, without Ray: what Ray does with real ones is tested in test_ray_cluster."""

import asyncio
import threading
from concurrent.futures import Future

import numpy as np

from hemera.client.problems import Refused
from hemera.package.local_model import LocalModel
from hemera.ray.dispatch import Dispatcher, Limits
from hemera.ray.handles import Full, Lost
from hemera.ray.placement import rendezvous
from hemera.ray.replica import KeyFiles, ModelFile, Replica, digest_of
from hemera.serving.evaluation import Evaluation
from hemera.serving.settings import Settings

from .conftest import BOUND, expected, wait_until


class Fake:
    """A replica in this process, which can be held up, be silent and die."""

    def __init__(self, ranch):
        self._ranch = ranch
        self.replica = Replica(ranch.models, ranch.settings)
        self.open = threading.Event()
        self.open.set()
        self.silent = False
        self.full = False
        self.dead = False
        self.pending = set()
        self.asked = []

    def call(self, method, *arguments):
        self.asked.append((method, arguments))
        found = Future()
        if self.dead:
            found.set_exception(Lost("dead"))
        elif self.full and method == "evaluate":
            found.set_exception(Full("full"))
        elif not (self.silent and method == "look"):
            self.pending.add(found)
            asyncio.run_coroutine_threadsafe(self._run(found, method, arguments), self._ranch.loop)
        return found

    async def _run(self, found, method, arguments):
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

    def numbers(self):
        """Numbers of the requests that it got."""
        return [arguments[0] for method, arguments in self.asked if method == "evaluate"]

    def die(self):
        self.dead = True
        while self.pending:
            self.pending.pop().set_exception(Lost("died"))

    def kill(self):
        self.dead = True


class Ranch:
    """Where fakes come from."""

    def __init__(self, models, settings, count):
        self.models, self.settings, self.count = models, settings, count
        self.loop = asyncio.new_event_loop()
        self.fakes = []
        self.head = True
        self.prepare = lambda _: None
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def spawn(self):
        fake = Fake(self)
        self.prepare(fake)
        self.fakes.append(fake)
        return fake

    def alive(self):
        return self.head

    def close(self):
        for fake in self.fakes:
            fake.kill()
        self.loop.call_soon_threadsafe(self.loop.stop)

    @property
    def living(self):
        return [fake for fake in self.fakes if not fake.dead]


class Bench:
    """A dispatcher, its replicas, and clients with their keys in files."""

    def __init__(self, package, folder, count, limits, **settings):
        self.package, self.folder = package, folder
        path = folder / "model"
        package.save(path)
        chosen = Settings(**{"device": "cpu", "threads": 1, "batch_seconds": 300.0, **settings})
        self.ranch = Ranch({"scores": ModelFile(str(path), package.digest)}, chosen, count)
        self.locals = {}
        self.keys = {}
        self.failed = threading.Event()
        quick = {"look_seconds": 0.02, "patience": 30.0, "start_seconds": BOUND}
        self.dispatcher = Dispatcher(
            self.ranch, self._keys, Limits(**{**quick, **limits}), failed=self.failed.set
        )

    def start(self):
        self.dispatcher.start()
        assert self.dispatcher.wait()
        wait_until(lambda: len(self.dispatcher._replicas) == self.ranch.count)

    def _keys(self, client, model, gone):
        found = self.keys.get(client)
        if found is None or (gone is not None and found.digest == gone.digest):
            raise Refused(409, "no_keys", f"no keys for {model}")
        return found

    def add(self, client):
        local = LocalModel(self.package.interface, security=None)
        path = self.folder / f"{client}.keys"
        path.write_bytes(local.generate_keys())
        self.locals[client] = local
        self.keys[client] = KeyFiles(digest_of({"keys": path}), "Hemera", {"keys": str(path)})

    def file(self, client, rows):
        local = self.locals[client]
        (array,) = local.interface.encode(np.asarray(rows))
        return bytes(local.context.encrypt(array, local.secret_key))

    def ask(self, client, rows):
        request = Evaluation(client, "scores", {"input": self.file(client, rows)})
        self.dispatcher.submit(request)
        return request

    def check(self, request, rows):
        local = self.locals[request.client]
        found = local.interface.decode(local.decrypt(request.answer.result(BOUND)))
        np.testing.assert_allclose(found[: len(rows)], expected(rows), atol=1e-6)

    def first(self, client):
        """The replica that gets a client's first request."""
        name = rendezvous(self.keys[client].digest, list(self.dispatcher._replicas))[0]
        found = self.dispatcher._replicas[name].handle
        assert isinstance(found, Fake)
        return found


ROWS = np.random.default_rng(11).uniform(-1, 1, (4, 8))


def refusal(request):
    error = request.answer.exception(BOUND)
    assert isinstance(error, Refused)
    return int(error.status), error.code
