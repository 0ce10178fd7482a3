"""Requests that wait, and the batches in which devices compute them, each client in its turn."""

from __future__ import annotations

import collections
import functools
import math
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hemera.client.problems import refusal_of
from hemera.errors import Error, OutOfMemoryError
from hemera.serving.metrics import Metrics
from hemera.serving.reasons import MODEL_CHANGED, TOO_MANY
from hemera.serving.session_cache import Answer, AnyInputs, Session, SessionCache

_NEW = 0.25
"""The weight of a new time among those before."""


class Turns:
    """The order of clients by the time that devices spent on them: start-time fair queueing (Goyal, Vin and
    Cheng, SIGCOMM 1996). A client that comes goes before those that have had more since it was there, and
    saves up nothing while it is away."""

    def __init__(self) -> None:
        self._spent: dict[str, float] = {}
        self._now = 0.0
        """The start of the last turn, in seconds of the devices' time."""

    def come(self, client: str) -> None:
        """A client that had nothing that waits has now."""
        self._spent[client] = max(self.spent(client), self._now)

    def spent(self, client: str) -> float:
        """Seconds by which clients are ordered: the least is next."""
        return self._spent.get(client, self._now)

    def begin(self, client: str) -> None:
        """It is a client's turn."""
        self._now = max(self._now, self.spent(client))

    def charge(self, client: str, seconds: float) -> None:
        """A device spent seconds on a client."""
        self._spent[client] = self.spent(client) + seconds


class Pace:
    """The time of batches of one model on one device, as one evaluation and each further one take it, by the
    batches that ran. Before the first one, one evaluation runs alone.

    Args:
        seconds: that a batch may take. It may take twice as long as one evaluation, too.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._first = 0.0
        """Seconds of one evaluation; 0: none has run."""
        self._each: float | None = None
        """Seconds of each further one; None: as many, until several have run."""

    @property
    def most(self) -> int | None:
        """Evaluations that a batch may have; None: any number."""
        each = self._first if self._each is None else self._each
        if math.isinf(self._seconds) or (self._first and not each):
            return None
        if not self._first:
            return 1
        # Where each takes as long as the first, two are exactly in time.
        room = max(self._seconds, 2 * self._first) - self._first
        return 1 + math.floor(room / each * (1 + 1e-9))

    def ran(self, count: int, seconds: float) -> None:
        """A batch of `count` evaluations took a time."""
        if not self._first or seconds < self._first / 2:
            # The first run of a model takes longer than later ones: it encodes numbers, and loads kernels.
            self._first, self._each = seconds / count, None
        elif count == 1:
            self._first += _NEW * (seconds - self._first)
        else:
            self._first = min(self._first, seconds)
            further = (seconds - self._first) / (count - 1)
            self._each = further if self._each is None else self._each + _NEW * (further - self._each)
        if self._each is not None:
            self._each = min(self._each, self._first)


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

    def fail(self, error: BaseException) -> None:
        """The error is its answer, unless it has one, or nobody waits for it."""
        answer = self.answer
        if not answer.done() and (answer.running() or answer.set_running_or_notify_cancel()):
            answer.set_exception(error)

    def _let_go(self, cancelled: bool) -> None:
        """Whoever has an answer, or hung up, leaves nothing in memory, also while the request is in its
        queue."""
        if cancelled and self.loading is not None:
            self.loading[1].cancel()
        self.loading, self.files = None, {}


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


T = TypeVar("T")


@dataclass(eq=False)
class _Loaded:
    """A request that can run, in one part or more."""

    request: Evaluation
    session: Session
    single: bool
    parts: int = 1
    outputs: list[Any] = field(default_factory=list)
    """The outputs of the parts that have run."""

    def begin(self) -> bool:
        """Whether it is to run: somebody waits for it, and no part of it has failed."""
        answer = self.request.answer
        return answer.running() or (not answer.done() and answer.set_running_or_notify_cancel())

    def dump(self) -> None:
        """Makes the answer of the outputs of all parts."""
        outputs = self.session.join(self.outputs)
        settle_running(functools.partial(self.session.dump, outputs, self.single), self.request.answer)


@dataclass(frozen=True, eq=False)
class _Part:
    """Evaluations of one request that run together."""

    of: _Loaded
    inputs: AnyInputs


@dataclass(eq=False)
class Batches:
    """The batches of taken requests, each a step."""

    device: Device
    requests: Sequence[Evaluation]
    """Requests of one model whose inputs were not taken yet."""
    pace: Pace
    most: int
    """The largest number of evaluations that run together."""
    files: Executor
    """Threads that read requests and write answers."""
    metrics: Metrics
    clock: Callable[[], float]
    left: deque[_Part] = field(default_factory=deque)
    """What is to run."""

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to run."""
        return not self.left and not self.requests

    def step(self) -> Mapping[str, int]:
        """Runs a batch: the number of its evaluations, by client."""
        if self.requests:
            self._load()
        counts: collections.Counter[str] = collections.Counter()
        if group := self._group():
            for part in group:
                counts[part.of.request.client] += part.inputs.count
            self._run(group)
        return counts

    def _load(self) -> None:
        """Have the inputs of all requests loaded."""
        loading: list[tuple[Evaluation, Session, Future[AnyInputs]]] = []
        sessions: dict[str, Session | BaseException] = {}
        requests, self.requests = self.requests, []
        for request in requests:
            if request.client not in sessions:
                find = functools.partial(self.device.session, request.client, request.model)
                sessions[request.client] = result_or_error(find)
            session = sessions[request.client]
            if isinstance(session, BaseException):
                request.fail(session)
            elif request.digest not in (None, session.model_digest):
                request.fail(MODEL_CHANGED.refused(name=request.model, digest=session.model_digest))
            else:
                loading.append((request, session, self._loaded(request, session)))
        for request, session, future in loading:
            inputs = result_or_error(future.result)
            if isinstance(inputs, BaseException):
                request.fail(inputs)
            elif inputs.count > self.most:
                request.fail(TOO_MANY.refused(most=self.most))
            else:
                self.left.append(_Part(_Loaded(request, session, inputs.single), inputs))

    def _loaded(self, request: Evaluation, session: Session) -> Future[AnyInputs]:
        """The inputs of a request for this session, and for no other that the client had when it came."""
        loading = request.loading  # which a client that hangs up takes away
        if loading is not None and loading[0] is session:
            return loading[1]
        return self.files.submit(session.load, request.files)

    def _group(self) -> list[_Part]:
        """The next parts that run as one batch."""
        most = min(self.most, self.pace.most or self.most)
        while self.left:
            first = self.left.popleft()
            if not first.of.begin():
                continue
            if first.inputs.count > most:
                first, *others = (_Part(first.of, inputs) for inputs in first.inputs.divided(most))
                first.of.parts += len(others)
                self.left.extendleft(others)
            group, room = [first], most - first.inputs.count
            for part in list(self.left):
                if part.inputs.count <= room and first.inputs.fit(part.inputs):
                    self.left.remove(part)
                    if part.of.begin():
                        group.append(part)
                        room -= part.inputs.count
            return group
        return []

    def _run(self, group: list[_Part]) -> None:
        """Run a batch; where it fails, its requests one by one, so that each has its own answer or error."""
        began = self.clock()
        first = group[0].of
        values = [part.inputs.values for part in group]
        outputs = result_or_error(functools.partial(first.session.run, values))
        if isinstance(outputs, BaseException):
            if isinstance(outputs, OutOfMemoryError):
                self.device.cache.drop_others(first.request.client, first.request.model)
            if len(group) > 1 and isinstance(outputs, Error):
                for part in group:
                    self._run([part])
            else:
                for part in group:
                    part.of.request.fail(outputs)
            return
        seconds = self.clock() - began
        self.pace.ran(sum(part.inputs.count for part in group), seconds)
        self.metrics.ran(first.request.model, len(group), seconds)
        for part, found in zip(group, outputs, strict=True):
            part.of.outputs.append(found)
            request = part.of.request
            request.batch, request.keys = max(request.batch, len(group)), part.of.session.digest
            if len(part.of.outputs) == part.of.parts:
                self.files.submit(part.of.dump)


def settle_running(function: Callable[[], T], future: Future[T]) -> None:
    """The result of a function, or its error, is that of a future that runs."""
    result = result_or_error(function)
    if isinstance(result, BaseException):
        future.set_exception(result)
    else:
        future.set_result(result)


def result_or_error(function: Callable[[], T]) -> T | BaseException:
    """The result or the error of a function. What a client did wrong has no traceback: its frames have
    requests among their locals, and a request its answer, the error. That cycle would keep the keys of
    sessions in memory until cycles are collected."""
    try:
        return function()
    except BaseException as error:
        is_failure = refusal_of(error).code == "internal"  # whose traceback goes into the log
        return error if is_failure else error.with_traceback(None)
