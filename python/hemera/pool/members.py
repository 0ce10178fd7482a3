"""The members of a pool: a context and a thread for each device, and calls that run on several of them."""

from __future__ import annotations

import contextvars
import functools
import itertools
import os
import queue
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from hemera import _core
from hemera._noise_warning import Warnings, give_warnings, keep_warnings
from hemera._process import Lock, Process
from hemera.inputs.arguments import described
from hemera.objects.context import Context
from hemera.objects.devices import DeviceOptions
from hemera.objects.devices import devices as found_devices

T = TypeVar("T")

ALL_GPUS, ALL_CPUS = "cuda:*", "cpu:*"
NODES = Path("/sys/devices/system/node")
"""The folder in which Linux lists the processors that have memory of their own."""

_of_thread = threading.local()


@dataclass(frozen=True)
class Place:
    """Where a member computes."""

    options: DeviceOptions
    """As of `Context`."""
    processors: frozenset[int] | None = None
    """The processors that its threads are bound to; None: none."""


def nodes_of_processors(root: Path | None = None) -> list[frozenset[int]]:
    """The processors of each NUMA node that this process may run on; nodes without any are left out.

    Args:
        root: the folder of nodes; None: that of this machine.

    Raises:
        DeviceError: if the system does not list its nodes.
    """
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    nodes = []
    for folder in sorted((root or NODES).glob("node[0-9]*"), key=lambda each: int(each.name[4:])):
        text = (folder / "cpulist").read_text(encoding="ascii")
        own = frozenset(_processors_of(text) & allowed)
        if own:
            nodes.append(own)
    if not nodes:
        raise _core.DeviceError(
            f"this system does not list the processors that have memory of their own ({root or NODES}); give "
            'one member, devices="cpu"'
        )
    return nodes


def _processors_of(text: str) -> set[int]:
    """The numbers of a list of Linux: "0-3,8"."""
    found: set[int] = set()
    for part in text.strip().split(","):
        if part:
            first, _, last = part.partition("-")
            found.update(range(int(first), int(last or first) + 1))
    return found


def places_of(devices: str | Sequence[str], options: DeviceOptions) -> list[Place]:
    """The places that a pool's `devices` stand for, each with these options.

    Raises:
        DeviceError: if the system does not list its NUMA nodes.
        ParameterError: if there is no device.
        TypeError: if `devices` holds something else than names.
    """
    if isinstance(devices, str):
        return _places_of_name(devices, options)
    if not isinstance(devices, Iterable):
        raise TypeError(f'Pool takes devices like "cuda:*" or ["cuda:0", "cuda:1"], not {described(devices)}')
    names = list(devices)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f'Pool takes devices by their names, like "cuda:0", not {described(name)}')
        if name in (ALL_GPUS, ALL_CPUS, "auto"):
            raise _core.ParameterError(f"devices={name!r} stands for all of them, and alone: {names!r}")
    if not names:
        raise _core.ParameterError('a pool needs at least one device: devices="cuda:*" takes all GPUs')
    if options.threads is None and (of_cpu := names.count("cpu")) > 1:
        options = replace(options, threads=max(1, _core.available_processors() // of_cpu))
    return [Place(replace(options, device=name)) for name in names]


def _places_of_name(name: str, options: DeviceOptions) -> list[Place]:
    if name == "auto":
        name = ALL_GPUS if found_devices()[0].startswith("cuda") else "cpu"
    if name == ALL_CPUS:
        return [Place(replace(options, device="cpu"), node) for node in nodes_of_processors()]
    if name == ALL_GPUS:
        # Without a GPU the context reports why there is none.
        gpus = [each for each in found_devices() if each.startswith("cuda")] or ["cuda"]
        return [Place(replace(options, device=each)) for each in gpus]
    return [Place(replace(options, device=name))]


def bind_thread(processors: frozenset[int] | None) -> None:
    """Bind the calling thread, and those that it will start: those of contexts that it makes. None: to no
    processors."""
    if processors is not None:
        os.sched_setaffinity(0, processors)


class _Run:
    """Work on several members that one caller waits for."""

    def __init__(self, count: int) -> None:
        self.results: list[Any] = [None] * count
        self.errors: dict[int, BaseException] = {}
        """The errors, by the number of the task."""
        self.stops = False
        """Whether tasks that have not begun are left out."""
        self.interruptions = [_core.Interruption() for _ in range(count)]
        self._ended = itertools.count(1)  # next() is atomic
        self._is_over = False
        self._done = threading.Lock()
        self._done.acquire()

    def do(self, number: int, known: contextvars.Context, work: Callable[[], Any]) -> None:
        """One of the tasks, in the thread of a member."""
        if not self.stops:
            try:
                self.results[number] = self.interruptions[number].run(functools.partial(known.run, work))
            except BaseException as error:
                self.errors[number] = error
                self.stops = True
        if next(self._ended) == len(self.results):
            self._is_over = True
            self._done.release()

    def wait(self) -> None:
        """Wait until all tasks have ended, or a signal's handler raises; then it may be called again."""
        if not self._is_over:
            self._done.acquire()

    def interrupt(self) -> None:
        """Ends all tasks."""
        self.stops = True
        for interruption in self.interruptions:
            interruption.request()


_Queue = queue.SimpleQueue["tuple[_Run, int, contextvars.Context, Callable[[], Any]] | None"]
"""Tasks of a member. None ends a thread."""


def _serve(team: weakref.ref[Team], tasks: _Queue, processors: frozenset[int] | None) -> None:
    """The loop of a member's thread. It does not hold the team, which ends with the last of its values."""
    _of_thread.team = team
    bind_thread(processors)
    while (task := tasks.get()) is not None:
        run, number, known, work = task
        run.do(number, known, work)
        del task, run, known, work  # while it waits it holds no values


def _end(queues: Sequence[_Queue], in_flight: int) -> None:
    for tasks in queues:
        for _ in range(in_flight):
            tasks.put(None)


class Team:
    """The members of one pool, in order: a context each, and threads that use it.

    Args:
        places: of the members.
        make: makes the context of a place; called in the member's thread.
        in_flight: threads of each member.
    """

    def __init__(self, places: Sequence[Place], make: Callable[[Place], Context], in_flight: int = 1) -> None:
        self._process = Process()
        self._lock = Lock()
        self._closed = False
        self._queues: list[_Queue] = [queue.SimpleQueue() for _ in places]
        self._threads = [
            threading.Thread(
                target=_serve,
                name=f"hemera-{place.options.device}",
                args=(weakref.ref(self), tasks, place.processors),
                daemon=True,
            )
            for place, tasks in zip(places, self._queues, strict=True)
            for _ in range(in_flight)
        ]
        for thread in self._threads:
            thread.start()
        self._finalizer = weakref.finalize(self, _end, self._queues, in_flight)
        try:
            self.contexts: tuple[Context, ...] = tuple(
                self.run([(index, functools.partial(make, place)) for index, place in enumerate(places)])
            )
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        return len(self._queues)

    def member_of(self, context: object) -> int | None:
        """The number of the member with this context; None if none has it."""
        return next((index for index, own in enumerate(self.contexts) if own is context), None)

    def run(self, tasks: Sequence[tuple[int, Callable[[], T]]]) -> list[T]:
        """The results of work on members, in the order of the tasks. A member begins its tasks in their
        order, and does them one after the other (`in_flight` of them at a time).

        Args:
            tasks: the number of a member, and its work.

        Raises:
            DeviceError: if the pool is closed, or was made before a fork.
            ParameterError: in a thread of the pool, which would wait for itself.
            Exception: that of the first task that failed; others may not have run.
        """
        if not tasks:
            return []
        run = _Run(len(tasks))
        # What the caller knows of ranges and noise budgets (context variables) counts for the work, too.
        known = contextvars.copy_context()
        warnings: Warnings = {}
        known.run(keep_warnings, warnings)
        self._require_usable()
        with self._lock:
            self._require_open()
            for number, (index, work) in enumerate(tasks):
                self._queues[index].put((run, number, known.copy(), work))
        try:
            run.wait()
        except BaseException:
            # Ctrl-C, or whatever a handler of signals raises: nothing runs on when this returns.
            run.interrupt()
            run.wait()
            raise
        if run.errors:
            error = run.errors[min(run.errors)]
            run.errors.clear()
            try:
                raise error
            finally:
                del error  # its traceback holds this frame, and the frame the values of the call
        # They point to the caller's line, and come once.
        give_warnings(warnings)
        return run.results

    def run_on(self, index: int, work: Callable[[], T]) -> T:
        """The result of work on one member; raises as `run`."""
        return self.run([(index, work)])[0]

    def run_on_all(self, work: Callable[[int], T]) -> list[T]:
        """work(member) of every member; raises as `run`."""
        return self.run([(index, functools.partial(work, index)) for index in range(len(self))])

    def close(self) -> None:
        """Let members end what they have been given, and their threads. May be called again.

        Raises:
            ParameterError: in a thread of the pool, which would wait for itself.
        """
        if not self._process.is_this:
            return  # the threads are the parent's
        self._require_outside()
        with self._lock:
            self._closed = True
            self._finalizer()
        for thread in self._threads:
            thread.join()

    def _require_open(self) -> None:
        if self._closed:
            raise _core.DeviceError("the pool is closed; make another one")

    def _require_usable(self) -> None:
        self._require_open()
        if not self._process.is_this:
            raise _core.DeviceError(
                "the pool was made before this process was forked, and its threads are the parent's: make a "
                "pool in the child"
            )
        self._require_outside()

    def _require_outside(self) -> None:
        own = getattr(_of_thread, "team", None)
        if own is not None and own() is self:
            raise _core.ParameterError(
                "a function that runs on a member of a pool can not call the pool, which would wait for it: "
                "use the function's own arguments, which are the member's"
            )
