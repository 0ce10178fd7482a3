"""Requests that were taken together, on their way through a device: one batch at each turn."""

from __future__ import annotations

import collections
import functools
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hemera.client.problems import refusal_of
from hemera.errors import Error, OutOfMemoryError
from hemera.serving.evaluation import Device, Evaluation
from hemera.serving.metrics import Metrics
from hemera.serving.reasons import MODEL_CHANGED, TOO_MANY
from hemera.serving.session_cache import AnyInputs, Session
from hemera.serving.turns import Pace

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


class Batches:
    """The batches of taken requests, each a step.

    Args:
        device: that computes them.
        requests: of one model.
        pace: of this model on this device.
        most: largest number of evaluations that run together.
        files: threads that read requests and write answers.
        metrics: what is counted.
        clock: seconds that only go forward.
    """

    def __init__(
        self,
        device: Device,
        requests: Sequence[Evaluation],
        pace: Pace,
        *,
        most: int,
        files: Executor,
        metrics: Metrics,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._device, self._requests = device, list(requests)
        self._pace, self._most = pace, most
        self._files, self._metrics, self._clock = files, metrics, clock
        self._left: deque[_Part] = deque()

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to run."""
        return not self._left and not self._requests

    def step(self) -> Mapping[str, int]:
        """Runs a batch: the number of its evaluations, by client."""
        if self._requests:
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
        requests, self._requests = self._requests, []
        for request in requests:
            if request.client not in sessions:
                find = functools.partial(self._device.session, request.client, request.model)
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
            elif inputs.count > self._most:
                request.fail(TOO_MANY.refused(most=self._most))
            else:
                self._left.append(_Part(_Loaded(request, session, inputs.single), inputs))

    def _loaded(self, request: Evaluation, session: Session) -> Future[AnyInputs]:
        """The inputs of a request for this session, and for no other that the client had when it came."""
        loading = request.loading  # which a client that hangs up takes away
        if loading is not None and loading[0] is session:
            return loading[1]
        return self._files.submit(session.load, request.files)

    def _group(self) -> list[_Part]:
        """The next parts that run as one batch."""
        most = min(self._most, self._pace.most or self._most)
        while self._left:
            first = self._left.popleft()
            if not first.of.begin():
                continue
            if first.inputs.count > most:
                first, *others = (_Part(first.of, inputs) for inputs in first.inputs.divided(most))
                first.of.parts += len(others)
                self._left.extendleft(others)
            group, room = [first], most - first.inputs.count
            for part in list(self._left):
                if part.inputs.count <= room and first.inputs.fit(part.inputs):
                    self._left.remove(part)
                    if part.of.begin():
                        group.append(part)
                        room -= part.inputs.count
            return group
        return []

    def _run(self, group: list[_Part]) -> None:
        """Run a batch; where it fails, its requests one by one, so that each has its own answer or error."""
        began = self._clock()
        first = group[0].of
        values = [part.inputs.values for part in group]
        outputs = result_or_error(functools.partial(first.session.run, values))
        if isinstance(outputs, BaseException):
            if isinstance(outputs, OutOfMemoryError):
                self._device.cache.drop_others(first.request.client, first.request.model)
            if len(group) > 1 and isinstance(outputs, Error):
                for part in group:
                    self._run([part])
            else:
                for part in group:
                    part.of.request.fail(outputs)
            return
        seconds = self._clock() - began
        self._pace.ran(sum(part.inputs.count for part in group), seconds)
        self._metrics.ran(first.request.model, len(group), seconds)
        for part, found in zip(group, outputs, strict=True):
            part.of.outputs.append(found)
            request = part.of.request
            request.batch, request.keys = max(request.batch, len(group)), part.of.session.digest
            if len(part.of.outputs) == part.of.parts:
                self._files.submit(part.of.dump)


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
