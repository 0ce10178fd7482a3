"""Which requests are in progress: of each client a few, while others ask."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import AsyncIterator, Callable

from hemera.serving.reasons import QUEUE_FULL, TIMEOUT

_OTHERS = 60.0
"""Seconds after a client's last request for which others leave room for its next one."""


class Admission:
    """The requests in progress, from the end of their bodies to their answers, in one event loop. A client
    that is alone has any number there. While others ask, each has a few, and its next ones wait: all stages
    of a request, the event loop, threads and devices, take requests in the order in which they come, and a
    client with many would have many before each one of another client.

    Args:
        most: requests of one client in progress, while others ask.
        waiting: of one client, requests that wait to be in progress.
        clock: seconds that only go forward.
    """

    def __init__(self, most: float, waiting: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._waiting, self._clock = most, waiting, clock
        self._begun: Counter[str] = Counter()
        """Requests of each client in progress."""
        self._queues: defaultdict[str, deque[asyncio.Future[None]]] = defaultdict(deque)
        """Requests of each client that wait."""
        self._asked: OrderedDict[str, float] = OrderedDict()
        """The time of each client's last request, the oldest first."""

    @property
    def waiting(self) -> int:
        """Requests that wait, of all clients."""
        return sum(map(len, list(self._queues.values())))

    @contextlib.asynccontextmanager
    async def turn(self, client: str, model: str, seconds: float) -> AsyncIterator[float]:
        """Within it a request is in progress: the seconds that are left of those that it may take.

        Raises:
            Refused: (429) where as many of the client wait as may; (504) when its time is over before it is
                in progress.
        """
        began = self._clock()
        self._note(client, began)
        loop = asyncio.get_running_loop()
        mine: asyncio.Future[None] = loop.create_future()
        self._queues[client].append(mine)
        self._begin(client)
        try:
            if not mine.done():
                if len(self._queues[client]) > self._waiting:
                    raise QUEUE_FULL.refused(model=model, waiting=self._waiting)
                timer = loop.call_later(seconds, _end_wait, mine, seconds)
                try:
                    await mine
                finally:
                    timer.cancel()
            yield seconds - (self._clock() - began)
        finally:
            self._end(client, mine)

    def _note(self, client: str, now: float) -> None:
        self._asked[client] = now
        self._asked.move_to_end(client)
        while now - next(iter(self._asked.values())) > _OTHERS:
            self._asked.popitem(last=False)

    def _begin(self, client: str) -> None:
        """Begin those of a client's requests that may be in progress, in their order."""
        queue = self._queues[client]
        most = self._most if len(self._asked) > 1 else math.inf
        while queue and self._begun[client] < most:
            if not (first := queue.popleft()).done():  # else its client hung up
                first.set_result(None)
                self._begun[client] += 1

    def _end(self, client: str, mine: asyncio.Future[None]) -> None:
        """A request was answered, refused, or its client hung up, in progress or before."""
        if mine.done() and not mine.cancelled() and mine.exception() is None:
            self._begun[client] -= 1
            self._begin(client)
        elif mine in self._queues[client]:
            self._queues[client].remove(mine)
        if not self._begun[client] and not self._queues[client]:
            del self._begun[client], self._queues[client]


def _end_wait(mine: asyncio.Future[None], seconds: float) -> None:
    if not mine.done():
        mine.set_exception(TIMEOUT.refused(seconds=seconds))
