"""Requests on their way to replicas and back: each is answered once, also when replicas die."""

from __future__ import annotations

import functools
import logging
import threading
import time
import uuid
import weakref
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from hemera.client.problems import Refused
from hemera.ray.handles import Full, Handle, Lost
from hemera.ray.placement import Placement
from hemera.ray.replica import Answered, KeyFiles
from hemera.serving.evaluation import Evaluation
from hemera.serving.logs import log
from hemera.serving.reasons import BUSY, CLUSTER_LOST, NO_REPLICA, QUEUE_FULL, REPLICA_LOST, STOPPING

_SENDERS = 4
"""Threads that give large requests to replicas, and those of dead ones to others."""
_LARGE = 1 << 20
"""Bytes of a request whose copy takes longer than another thread would."""
_MOST_DEATHS = 3
"""Replicas that may die with one request: perhaps by it."""
_SLOWEST_START = 30.0
"""Seconds between two starts of a replica that does not come up, at most."""


class Spawner(Protocol):
    """The source of replicas."""

    count: int

    def spawn(self) -> Handle:
        """A new replica, which may not run yet."""

    def alive(self) -> bool:
        """Whether replicas can be started."""

    def close(self) -> None:
        """End all of them."""


@dataclass(frozen=True)
class Limits:
    """Limits of the requests and the supervision. Times in seconds."""

    client_requests: int = 64
    """Requests of one client and model that are not answered."""
    replica_requests: int = 128
    """Requests at one replica that are not answered."""
    step: int = 64
    """The number of requests at a replica from which on a tenant gets another replica: docs/scaling.md."""
    look_seconds: float = 1.0
    """The time between two looks at each replica."""
    patience: float = 30.0
    """The time after which a replica that answers no look is replaced."""
    head_seconds: float = 40.0
    """The time that the cluster's head may be away while replicas go on; Ray ends its processes after 60."""
    start_seconds: float = 120.0
    """The time in which the first replica has to come up."""


@dataclass(eq=False)
class _Request:
    """A request that is not answered."""

    evaluation: Evaluation
    keys: KeyFiles
    number: str = field(default_factory=lambda: uuid.uuid4().hex)
    replica: _Replica | None = None
    """The replica that has the request; None: none has it."""
    deaths: int = 0


@dataclass(eq=False)
class _Replica:
    """One life of a replica."""

    name: str
    handle: Handle
    ready: bool = False
    requests: dict[str, _Request] = field(default_factory=dict)
    held: set[str] = field(default_factory=set)
    """Digests of the keys that the replica has."""
    loading: set[str] = field(default_factory=set)
    """Digests of the keys that it loads for a request or a check which it has not answered."""
    held_bytes: int = 0
    asked: float | None = None
    """The time of a look that it has not answered; None: it has answered all."""

    def ask_for(self, digest: str) -> None:
        """Note that the replica will load these keys, unless it has them."""
        if digest not in self.held:
            self.loading.add(digest)

    def answered_for(self, digest: str) -> None:
        """Note that the replica has loaded these keys, if they could be loaded."""
        self.loading.discard(digest)
        self.held.add(digest)


class Dispatcher:
    """The part of a server in place of a `Scheduler` where replicas compute.

    Args:
        spawner: of the replicas.
        keys: gives the keys of a client and model; Refused where there are none. With the keys that were
            found to be gone: those in their place.
        limits: of requests and times.
        ran: called after each batch, with its model, requests and seconds.
        failed: called once, when the cluster is lost for good.
    """

    def __init__(
        self,
        spawner: Spawner,
        keys: Callable[[str, str, KeyFiles | None], KeyFiles],
        limits: Limits,
        *,
        ran: Callable[[str, int, float], None] = lambda *_: None,
        failed: Callable[[], None] = lambda: None,
    ) -> None:
        self._spawner = spawner
        self._keys = keys
        self._limits = limits
        self._ran = ran
        self._failed = failed
        self._placement = Placement(step=limits.step, limit=limits.replica_requests)
        self._lock = threading.RLock()
        self._replicas: dict[str, _Replica] = {}
        self._dead: dict[str, float] = {}
        """Replicas to be started again, and when."""
        self._fails: Counter[str] = Counter()
        self._requests: dict[str, _Request] = {}
        self._parked: dict[str, _Request] = {}
        """Requests whose replica died, and that have no other one yet."""
        self._counts: Counter[tuple[str, str]] = Counter()
        self._stop = threading.Event()
        self._up = threading.Event()
        self._all_up = threading.Event()
        self._lost_since: float | None = None
        self.device = ""
        """The device of the replicas."""
        self.replaced = 0
        """Replicas that took the place of others."""
        self._senders = ThreadPoolExecutor(_SENDERS, thread_name_prefix="hemera-send")
        self._calls = ThreadPoolExecutor(_SENDERS, thread_name_prefix="hemera-call")
        self._watcher = threading.Thread(target=self._watch, name="hemera-replicas", daemon=True)

    # --- As of Scheduling. ---

    def start(self) -> None:
        """Start the replicas; `wait` waits for them."""
        with self._lock:
            for at in range(self._spawner.count):
                self._start(f"replica-{at}")
        self._watcher.start()

    def wait(self) -> bool:
        """Wait for the replicas to come up: whether one has. With one, the others have half of the time."""
        end = time.monotonic() + self._limits.start_seconds
        self._all_up.wait(self._limits.start_seconds / 2)
        return self._up.wait(max(0.0, end - time.monotonic()))

    @property
    def alive(self) -> bool:
        """Whether requests are computed."""
        with self._lock:
            return not self._stop.is_set() and any(each.ready for each in self._replicas.values())

    @property
    def waiting(self) -> int:
        """Requests that are not answered."""
        with self._lock:
            return len(self._requests)

    @property
    def held(self) -> tuple[int, int]:
        """Sets of keys in the devices' memories, and their bytes, when it was last looked."""
        with self._lock:
            found = self._replicas.values()
            return sum(len(each.held) for each in found), sum(each.held_bytes for each in found)

    def submit(self, request: Evaluation) -> None:
        """Send a request to a replica.

        Raises:
            Refused: (429) when as many of the client wait as may; (503) when no replica has room, or the
                server stops; (409) without keys.
        """
        keys = self._keys(request.client, request.model, None)
        with self._lock:
            if self._stop.is_set():
                raise STOPPING.refused()
            place = (request.client, request.model)
            if self._counts[place] >= self._limits.client_requests:
                raise QUEUE_FULL.refused(model=request.model, waiting=self._counts[place])
            mine = _Request(request, keys)
            replica = self._choose(mine)
            if replica is None:
                is_ready = any(each.ready for each in self._replicas.values())
                raise BUSY.refused(what="requests") if is_ready else NO_REPLICA.refused()
            self._requests[mine.number] = mine
            self._counts[place] += 1
            self._assign(mine, replica)
        # A future keeps its callbacks, so this one must not hold the request that has the future. The request
        # is there until its answer is.
        held = weakref.ref(mine)
        request.answer.add_done_callback(lambda _: self._end(held()))
        if sum(map(len, request.files.values())) > _LARGE:
            self._senders.submit(self._send, mine, replica)
        else:
            self._send(mine, replica)

    def call(self, function: Callable[[], Any], device: int = 0) -> Future[Any]:  # noqa: ARG002
        """Run a function in a thread of its own; this process has no device."""
        if self._stop.is_set():
            raise STOPPING.refused()
        return self._calls.submit(function)

    def stop(self) -> None:
        """Refuse the requests that are not answered, and end the replicas. May be called again."""
        self._stop.set()
        self._refuse_all(STOPPING.refused())
        with self._lock:
            self._replicas.clear()
        self._senders.shutdown(wait=False)
        self._calls.shutdown(wait=False)
        if self._watcher.is_alive() and threading.current_thread() is not self._watcher:
            self._watcher.join()
        self._spawner.close()

    # --- Keys. ---

    def check(self, model: str, keys: KeyFiles) -> None:
        """Have keys loaded by the replica that will get their first request. Refused, also (503) where
        replicas die again and again."""
        for _ in range(_MOST_DEATHS):
            with self._lock:
                replica = self._placed(keys.digest)
                if replica is None:
                    raise BUSY.refused(what="requests") if self.alive else NO_REPLICA.refused()
                replica.ask_for(keys.digest)
            try:
                answered: Answered = replica.handle.call("check", model, keys).result()
            except Lost as error:
                self._lose(replica, str(error))
                continue
            with self._lock:
                replica.answered_for(keys.digest)
            answered.require()
            return
        raise REPLICA_LOST.refused(replicas=_MOST_DEATHS)

    # --- Requests. ---

    def _placed(self, digest: str) -> _Replica | None:
        waiting = {name: len(each.requests) for name, each in self._replicas.items() if each.ready}
        holders = {name for name in waiting if digest in self._replicas[name].held}
        loading = {name for name in waiting if digest in self._replicas[name].loading}
        name = self._placement.choose(digest, waiting, holders, loading)
        return None if name is None else self._replicas[name]

    def _choose(self, request: _Request) -> _Replica | None:
        return self._placed(request.keys.digest)

    def _assign(self, request: _Request, replica: _Replica) -> None:
        request.replica = replica
        replica.requests[request.number] = request
        replica.ask_for(request.keys.digest)

    def _send(self, request: _Request, replica: _Replica) -> None:
        files = request.evaluation.files
        if request.replica is not replica or not files:
            return  # the client has left, or the replica is dead
        buffers = {name: np.frombuffer(data, np.uint8) for name, data in files.items()}
        future = replica.handle.call(
            "evaluate", request.number, request.evaluation.model, request.keys, buffers
        )
        future.add_done_callback(functools.partial(self._came, request, replica))

    def _came(self, request: _Request, replica: _Replica, future: Future[Answered]) -> None:
        """An answer, or none, of a replica; in a thread of its handle."""
        try:
            error = future.exception()
            with self._lock:
                if request.replica is not replica:
                    return  # it is done again elsewhere, and this one counts no more
                replica.requests.pop(request.number, None)
                request.replica = None
                replica.answered_for(request.keys.digest)
            if isinstance(error, Lost):
                self._lose(replica, str(error))
                self._again(request)
            elif isinstance(error, Full):
                self._settle(request, BUSY.refused(what="requests"))
            elif error is not None:
                log("failure", level=logging.ERROR, error=error, replica=replica.name)
                self._settle(request, error)
            else:
                self._take(request, replica, future.result())
        except BaseException as own:  # of this code, and nobody else would see it
            log("failure", level=logging.ERROR, error=own)
            self._settle(request, own)

    def _take(self, request: _Request, replica: _Replica, answered: Answered) -> None:
        evaluation = request.evaluation
        if answered.gone:
            # If the client sent others, or was removed: Refused then.
            keys = self._keys(evaluation.client, evaluation.model, request.keys)
            if keys.digest != request.keys.digest:
                request.keys = keys
                self._again(request)
                return
        if answered.refused is not None and answered.refused[1] == "internal":
            log("failure", level=logging.ERROR, replica=replica.name, why=answered.refused[2])
            status, code, _, after = answered.refused
            self._settle(request, Refused(status, code, "the server failed; its log says why", after))
            return
        try:
            files = answered.result()
        except Refused as refused:
            self._settle(request, refused)
            return
        evaluation.batch, evaluation.keys = answered.batch, request.keys.digest
        self._settle(request, files)

    def _again(self, request: _Request) -> None:
        """A request whose replica has not answered goes to another one, or waits for one."""
        request.deaths += 1
        if request.deaths >= _MOST_DEATHS:
            self._settle(request, REPLICA_LOST.refused(replicas=_MOST_DEATHS))
            return
        with self._lock:
            if request.number not in self._requests:
                return
            replica = self._choose(request)
            if replica is None:
                self._parked[request.number] = request
            else:
                self._assign(request, replica)
                self._senders.submit(self._send, request, replica)

    def _settle(self, request: _Request, result: dict[str, bytes] | BaseException) -> None:
        """Give a request its answer: the first one counts."""
        with self._lock:
            if self._requests.pop(request.number, None) is None:
                return
            self._parked.pop(request.number, None)
        answer = request.evaluation.answer
        if not answer.set_running_or_notify_cancel():
            return
        if isinstance(result, BaseException):
            answer.set_exception(result)
        else:
            answer.set_result(result)

    def _end(self, request: _Request | None) -> None:
        """A request was answered, or nobody waits for it any more."""
        assert request is not None
        with self._lock:
            self._requests.pop(request.number, None)
            self._parked.pop(request.number, None)
            place = (request.evaluation.client, request.evaluation.model)
            self._counts[place] -= 1
            if not self._counts[place]:
                del self._counts[place]
            replica, request.replica = request.replica, None
            if replica is not None:
                replica.requests.pop(request.number, None)
        if replica is not None and request.evaluation.answer.cancelled():
            replica.handle.call("forget", request.number)

    def _refuse_all(self, refused: Refused) -> None:
        with self._lock:
            left = list(self._requests.values())
        for request in left:
            self._settle(request, refused)

    # --- Replicas. ---

    def _start(self, name: str) -> None:
        """A replica of this name, in place of one before it. With the lock."""
        replica = self._replicas[name] = _Replica(name, self._spawner.spawn())
        replica.handle.call("ready").add_done_callback(functools.partial(self._came_up, replica))

    def _came_up(self, replica: _Replica, future: Future[dict[str, Any]]) -> None:
        error = future.exception()
        if error is not None:
            self._lose(replica, str(error))
            return
        with self._lock:
            if self._replicas.get(replica.name) is not replica:
                return
            replica.ready = True
            self._fails[replica.name] = 0
            self.device = future.result()["device"]
            parked, self._parked = list(self._parked.values()), {}
            for request in parked:
                found = self._choose(request)
                if found is None:
                    self._parked[request.number] = request
                else:
                    self._assign(request, found)
                    self._senders.submit(self._send, request, found)
            all_up = len(self._replicas) == self._spawner.count and all(
                each.ready for each in self._replicas.values()
            )
        log("replica", replica=replica.name, **future.result())
        self._up.set()
        if all_up:
            self._all_up.set()

    def _lose(self, replica: _Replica, why: str) -> None:
        """A replica is gone, or taken to be: another one takes its place, and its requests are done again."""
        with self._lock:
            if self._replicas.get(replica.name) is not replica or self._stop.is_set():
                return
            del self._replicas[replica.name]
            was_ready, replica.ready = replica.ready, False
            wait = 0.0 if was_ready else min(2.0 ** self._fails[replica.name], _SLOWEST_START)
            self._fails[replica.name] += 1
            self._dead[replica.name] = time.monotonic() + wait
            left, replica.requests = list(replica.requests.values()), {}
            for request in left:
                request.replica = None
            self.replaced += 1
        log("lost", level=logging.WARNING, replica=replica.name, requests=len(left), why=why[:500])
        replica.handle.kill()
        for request in left:
            self._again(request)

    def _watch(self) -> None:
        while not self._stop.wait(self._limits.look_seconds):
            try:
                if self._head_is_there():
                    self._start_dead()
                self._look()
            except Exception as error:
                log("failure", level=logging.ERROR, error=error)

    def _head_is_there(self) -> bool:
        """Whether replicas can be started. When they could not for too long, the server ends."""
        if self._spawner.alive():
            self._lost_since = None
            return True
        now = time.monotonic()
        if self._lost_since is None:
            self._lost_since = now
            log("head", level=logging.WARNING, why="the cluster's head, or its last node, is gone")
        if now - self._lost_since > self._limits.head_seconds and not self._stop.is_set():
            log("head", level=logging.ERROR, why="the cluster is lost; the server ends")
            self._stop.set()
            self._refuse_all(CLUSTER_LOST.refused())
            self._failed()
        return False

    def _start_dead(self) -> None:
        now = time.monotonic()
        with self._lock:
            for name in [name for name, at in self._dead.items() if at <= now]:
                del self._dead[name]
                self._start(name)

    def _look(self) -> None:
        now = time.monotonic()
        with self._lock:
            ready = [each for each in self._replicas.values() if each.ready]
        for replica in ready:
            if replica.asked is None:
                replica.asked = now
                replica.handle.call("look").add_done_callback(functools.partial(self._told, replica))
            elif now - replica.asked > self._limits.patience:
                self._lose(replica, f"it has not said how it is for {self._limits.patience:g} seconds")

    def _told(self, replica: _Replica, future: Future[dict[str, Any]]) -> None:
        error = future.exception()
        if error is not None:
            if isinstance(error, Lost):
                self._lose(replica, str(error))
            return
        found = future.result()
        for batch in found["batches"]:
            self._ran(*batch)
        with self._lock:
            replica.asked = None
            replica.held = set(found["held"])
            replica.held_bytes = found["held_bytes"]
