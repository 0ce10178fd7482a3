"""One request that waits to be computed, and the devices that compute."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field

from hemera.serving.session_cache import Answer, AnyInputs, Session, SessionCache


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
