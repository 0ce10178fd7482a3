"""Who computes when, and on which device: requests that wait for one client and model run as one batch,
clients take turns. Queries of several clients for one index run as one batch, too."""

from __future__ import annotations

import functools
import logging
import threading
import time
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from hemera.client.problems import refusal_of
from hemera.errors import Error, OutOfMemoryError
from hemera.serving.logs import log
from hemera.serving.metrics import Metrics
from hemera.serving.reasons import MODEL_CHANGED, QUEUE_FULL, STOPPING, TOO_MANY
from hemera.serving.session_cache import Answer, AnyInputs, Session, SessionCache

T = TypeVar("T")

_FILE_THREADS = 4
"""Threads that read requests and write answers at the same time as the computation."""


@dataclass
class Evaluation:
    """One request that waits."""

    client: str
    model: str
    files: Mapping[str, bytes]
    digest: str | None = None
    """The digest of the model that it was admitted for."""
    joins: bool = False
    """Whether it runs as one batch with other clients' requests for the same name."""
    arrived: float = field(default_factory=time.monotonic)
    answer: Future[Answer] = field(default_factory=Future)
    loading: tuple[Session, Future[AnyInputs]] | None = None
    """Its inputs on their way into the device's memory, where the session was there when it came."""
    batch: int = 0
    """Requests that it ran with, itself included."""
    keys: str = ""
    """Digest of the keys that it ran with."""

    def __post_init__(self) -> None:
        # A future keeps its callbacks, so this one must not hold the request that has the future: requests
        # would stay in memory, with the keys of their sessions, until cycles are collected.
        mine = weakref.ref(self)

        def let_go(answer: Future[Answer]) -> None:
            if (request := mine()) is not None:
                request._let_go(answer.cancelled())

        self.answer.add_done_callback(let_go)

    def _let_go(self, cancelled: bool) -> None:
        """Whoever has an answer, or hung up, leaves nothing in memory, also while the request is in its
        queue."""
        if cancelled and self.loading is not None:
            self.loading[1].cancel()
        self.loading, self.files = None, {}


@dataclass(frozen=True)
class _Loaded:
    """A request that can run."""

    request: Evaluation
    session: Session
    inputs: AnyInputs


@dataclass(frozen=True, eq=False)
class Device:
    """A device that computes, in a thread of its own."""

    session: Callable[[str, str], Session]
    """Gives the session of a client and model; called in the computing thread."""
    ready: Callable[[str, str], Session | None]
    """Gives it without waiting, or None: then inputs are loaded beside the computation."""
    cache: SessionCache
    """The cache of these sessions, which makes room when the device has none."""
    begin: Callable[[], None] = lambda: None
    """The first work of the computing thread."""


@dataclass
class _State:
    """A device thread's present and waiting work. Guarded by the scheduler's lock."""

    calls: deque[tuple[Callable[[], Any], Future[Any]]] = field(default_factory=deque)
    busy: bool = False
    place: tuple[str, str] | None = None
    """The client and model whose requests run."""


class Scheduling(Protocol):
    """The part that takes requests, and computes them here or elsewhere."""

    @property
    def alive(self) -> bool:
        """Whether requests are computed."""

    @property
    def waiting(self) -> int:
        """Requests that wait."""

    def start(self) -> None:
        """Begin to compute."""

    def submit(self, request: Evaluation) -> None:
        """Take a request. Refused (429, 503) where there is no room."""

    def call(self, function: Callable[[], Any], device: int = 0) -> Future[Any]:
        """Run a function beside the requests, for a device of this process. Refused (503) on a stop."""

    def stop(self) -> None:
        """Refuse what waits. May be called again."""


class Scheduler:
    """A thread for each device, and the requests that wait for them.

    Requests run on a device that holds their client's keys. Where none does, any device loads them. Where
    those that do are busy, and more requests wait than run together, an idle device takes the keys, too.

    Args:
        devices: those that compute.
        waiting: requests of one client and model that may wait.
        batch: largest number of evaluations that run together.
        metrics: what is counted.
    """

    def __init__(
        self,
        devices: Sequence[Device],
        *,
        waiting: int,
        batch: int,
        metrics: Metrics,
    ) -> None:
        self._devices = tuple(devices)
        self._waiting = waiting
        self._batch = batch
        self._metrics = metrics
        self._wake = threading.Condition()
        self._queues: OrderedDict[tuple[str, str], deque[Evaluation]] = OrderedDict()
        self._states = [_State() for _ in self._devices]
        self._stopped = False
        self._files = ThreadPoolExecutor(_FILE_THREADS, thread_name_prefix="hemera-files")
        self._threads = [
            threading.Thread(target=self._work, args=(number,), name="hemera-device", daemon=True)
            for number in range(len(self._devices))
        ]

    def start(self) -> None:
        """Begin to compute; what was submitted before waits until now."""
        for thread in self._threads:
            thread.start()

    @property
    def alive(self) -> bool:
        """Whether requests are computed, on all devices."""
        return all(thread.is_alive() for thread in self._threads) and not self._stopped

    @property
    def waiting(self) -> int:
        """Requests that wait."""
        with self._wake:
            return sum(map(len, self._queues.values()))

    def submit(self, request: Evaluation) -> None:
        """Put a request into its queue. Whoever no longer wants the answer cancels it.

        Raises:
            Refused: (429) when as many wait as may; (503) when the server stops.
        """
        with self._wake:
            self._require_running()
            queue = self._queues.setdefault((request.client, request.model), deque())
            # A request that nobody waits for any more takes no room.
            while queue and queue[0].answer.cancelled():
                queue.popleft()
            if len(queue) >= self._waiting:
                queue_alive = deque(each for each in queue if not each.answer.cancelled())
                self._queues[request.client, request.model] = queue = queue_alive
            if len(queue) >= self._waiting:
                raise QUEUE_FULL.refused(model=request.model, waiting=len(queue))
            session = self._best_session(request.client, request.model)
            if session is not None:
                request.loading = (session, self._files.submit(session.load, request.files))
            queue.append(request)
            self._wake.notify_all()

    def call(self, function: Callable[[], Any], device: int = 0) -> Future[Any]:
        """Run a function in the computing thread of a device, before the requests that wait. Refused (503) on
        a stop."""
        future: Future[Any] = Future()
        with self._wake:
            self._require_running()
            self._states[device].calls.append((function, future))
            self._wake.notify_all()
        return future

    def stop(self) -> None:
        """Refuse what waits, and wait for what runs. May be called again."""
        with self._wake:
            self._stopped = True
            futures = [each.answer for queue in self._queues.values() for each in queue]
            for state in self._states:
                futures += [future for _, future in state.calls]
                state.calls.clear()
            self._queues.clear()
            self._wake.notify_all()
        for future in futures:
            if future.set_running_or_notify_cancel():
                future.set_exception(STOPPING.refused())
        for thread in self._threads:
            if thread.is_alive():
                thread.join()
        self._files.shutdown(wait=True)

    def _require_running(self) -> None:
        if self._stopped:
            raise STOPPING.refused()

    def _best_session(self, client: str, model: str) -> Session | None:
        """The session of a device that holds one: an idle device, if there is one."""
        found = [
            (state.busy, number, session)
            for number, (device, state) in enumerate(zip(self._devices, self._states, strict=True))
            if (session := device.ready(client, model)) is not None
        ]
        return min(found, key=lambda each: each[:2])[2] if found else None

    def _work(self, number: int) -> None:
        self._devices[number].begin()
        while (step := self._next(number)) is not None:
            try:
                step()
            except Exception as error:  # of this code: requests got theirs
                log("failure", level=logging.ERROR, error=error)
            del step  # while it waits it holds no requests, and no keys

    def _next(self, number: int) -> Callable[[], None] | None:
        """The next work of a device, when there is something; None: nothing any more."""
        state = self._states[number]
        with self._wake:
            state.busy, state.place = False, None
            while not (self._stopped or state.calls):
                place = next((each for each in self._queues if self._may_take(number, each)), None)
                if place is not None:
                    state.busy, state.place = True, place
                    taken = self._take(place)
                    self._wake.notify_all()  # others may take what is left
                    return functools.partial(self._evaluate, self._devices[number], taken)
                self._wake.wait()
            if self._stopped:
                return None
            state.busy = True
            self._wake.notify_all()  # others may take what waits for this device
            return functools.partial(_settle, *state.calls.popleft())

    def _may_take(self, number: int, place: tuple[str, str]) -> bool:
        """Whether an idle device may run requests of a client and model."""
        holders = [
            other
            for other, device in enumerate(self._devices)
            if self._states[other].place == place or device.ready(*place) is not None
        ]
        if not holders or number in holders:
            return True
        return len(self._queues[place]) > self._batch and all(self._states[each].busy for each in holders)

    def _take(self, place: tuple[str, str]) -> list[Evaluation]:
        """The oldest requests of a client and model; where they join others, one of each client in turn."""
        places = [place]
        if self._queues[place] and self._queues[place][0].joins:
            places += [other for other in self._queues if other[1] == place[1] and other != place]
        queues = {each: self._queues.pop(each) for each in places}
        taken: list[Evaluation] = []
        while any(queues.values()) and len(taken) < self._batch:
            for queue in queues.values():
                if queue and len(taken) < self._batch:
                    request = queue.popleft()
                    if request.answer.set_running_or_notify_cancel():
                        taken.append(request)
        for each, queue in queues.items():
            if queue:  # to the end of the line
                self._queues[each] = queue
        return taken

    def _evaluate(self, device: Device, requests: list[Evaluation]) -> None:
        loading: list[tuple[Evaluation, Session, Future[AnyInputs]]] = []
        sessions: dict[str, Session | BaseException] = {}
        for request in requests:  # of one model
            if request.client not in sessions:
                find = functools.partial(device.session, request.client, request.model)
                sessions[request.client] = _result_or_error(find)
            session = sessions[request.client]
            if isinstance(session, BaseException):
                request.answer.set_exception(session)
            elif request.digest not in (None, session.model_digest):
                changed = MODEL_CHANGED.refused(name=request.model, digest=session.model_digest)
                request.answer.set_exception(changed)
            else:
                loading.append((request, session, self._loaded(request, session)))
        groups: list[list[_Loaded]] = []
        for request, session, future in loading:
            error = future.exception()
            if error is not None:
                request.answer.set_exception(error)
                continue
            inputs = future.result()
            if inputs.count > self._batch:
                request.answer.set_exception(TOO_MANY.refused(most=self._batch))
                continue
            loaded = _Loaded(request, session, inputs)
            for group in groups:
                room = self._batch - sum(each.inputs.count for each in group)
                if inputs.count <= room and group[0].inputs.fit(inputs):
                    group.append(loaded)
                    break
            else:
                groups.append([loaded])
        for group in groups:
            self._run(device, group)

    def _loaded(self, request: Evaluation, session: Session) -> Future[AnyInputs]:
        """The inputs of a request for this session, and for no other that the client had when it came."""
        if request.loading is not None and request.loading[0] is session:
            return request.loading[1]
        return self._files.submit(session.load, request.files)

    def _run(self, device: Device, group: list[_Loaded]) -> None:
        """Run a batch; where it fails, its requests one by one, so that each has its own answer or error."""
        began = time.monotonic()
        first = group[0].request
        values = [each.inputs.values for each in group]
        outputs = _result_or_error(functools.partial(group[0].session.run, values))
        if isinstance(outputs, BaseException):
            error = outputs
            if isinstance(error, OutOfMemoryError):
                device.cache.drop_others(first.client, first.model)
            if len(group) > 1 and isinstance(error, Error):
                for each in group:
                    self._run(device, [each])
            else:
                for each in group:
                    each.request.answer.set_exception(error)
            return
        self._metrics.ran(first.model, len(group), time.monotonic() - began)
        for each, found in zip(group, outputs, strict=True):
            each.request.batch, each.request.keys = len(group), each.session.digest
            self._files.submit(_finish, each, found)


def _finish(loaded: _Loaded, outputs: Any) -> None:
    dump = functools.partial(loaded.session.dump, outputs, loaded.inputs.single)
    _settle_running(dump, loaded.request.answer)


def _settle(function: Callable[[], Any], future: Future[Any]) -> None:
    if future.set_running_or_notify_cancel():
        _settle_running(function, future)


def _settle_running(function: Callable[[], Any], future: Future[Any]) -> None:
    result = _result_or_error(function)
    if isinstance(result, BaseException):
        future.set_exception(result)
    else:
        future.set_result(result)


def _result_or_error(function: Callable[[], T]) -> T | BaseException:
    """The result or the error of a function. What a client did wrong has no traceback: its frames have
    requests among their locals, and a request its answer, the error. That cycle would keep the keys of
    sessions in memory until cycles are collected."""
    try:
        return function()
    except BaseException as error:
        is_failure = refusal_of(error).code == "internal"  # whose traceback goes into the log
        return error if is_failure else error.with_traceback(None)
