"""Who computes when, and on which device: requests that wait for one client and model run as one batch,
and clients have turns by the time that they had. Queries of several clients for one index run together."""

from __future__ import annotations

import functools
import logging
import math
import threading
import time
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

from hemera.serving.evaluation import Batches, Device, Evaluation, Pace, Turns, settle_running
from hemera.serving.logs import log
from hemera.serving.metrics import Metrics
from hemera.serving.reasons import QUEUE_FULL, STOPPING
from hemera.serving.session_cache import Session

_FILE_THREADS = 4
"""Threads that read requests and write answers at the same time as the computation."""


@dataclass
class _State:
    """A device thread's present and waiting work. Guarded by the scheduler's lock."""

    calls: deque[tuple[Callable[[], Any], Future[Any]]] = field(default_factory=deque)
    begun: dict[tuple[str, str], Batches] = field(default_factory=dict)
    """Requests of which some batches have run, by the client and model whose turn it was."""
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
        seconds: that a batch may take, unless one of two evaluations takes longer: then others have their
            turn.
        clock: seconds that only go forward.
    """

    def __init__(
        self,
        devices: Sequence[Device],
        *,
        waiting: int,
        batch: int,
        metrics: Metrics,
        seconds: float = math.inf,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._devices = tuple(devices)
        self._waiting = waiting
        self._batch = batch
        self._metrics = metrics
        self._clock = clock
        self._turns = Turns()
        self._paces: defaultdict[tuple[int, str], Pace] = defaultdict(lambda: Pace(seconds))
        """The pace of each device and model."""
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
            self._turns.come(request.client)
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
            while not state.calls:
                waiting = [each for each in self._queues if self._may_take(number, each)]
                places = [*state.begun, *waiting]
                if places:
                    state.busy, state.place = True, min(places, key=lambda each: self._turns.spent(each[0]))
                    self._turns.begin(state.place[0])
                    work = state.begun.pop(state.place, None) or self._take(number, state.place)
                    self._wake.notify_all()  # others may take what is left
                    return functools.partial(self._turn, number, state.place, work)
                if self._stopped:
                    return None
                self._wake.wait()
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

    def _take(self, number: int, place: tuple[str, str]) -> Batches:
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
                    if not request.answer.cancelled():
                        taken.append(request)
        for each, queue in queues.items():
            if queue:  # to the end of the line
                self._queues[each] = queue
        return Batches(
            self._devices[number],
            taken,
            self._paces[number, place[1]],
            most=self._batch,
            files=self._files,
            metrics=self._metrics,
            clock=self._clock,
        )

    def _turn(self, number: int, place: tuple[str, str], work: Batches) -> None:
        """Run a batch of a client and model on a device; what is left has its turn later."""
        began, counts = self._clock(), None
        try:
            counts = work.step()
        finally:
            seconds, shares = self._clock() - began, counts or {place[0]: 1}
            with self._wake:
                for client, count in shares.items():
                    self._turns.charge(client, seconds * count / sum(shares.values()))
                if counts is not None and not work.is_done:
                    self._states[number].begun[place] = work


def _settle(function: Callable[[], Any], future: Future[Any]) -> None:
    if future.set_running_or_notify_cancel():
        settle_running(function, future)
