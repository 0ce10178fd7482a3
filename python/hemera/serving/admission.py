"""What a client may have at once: requests in progress, bytes, uploads, rates; and bodies as they arrive."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import anyio
from starlette.requests import Request

from hemera.serving.reasons import BUSY, LARGE_BODY, NO_NUMBER, QUEUE_FULL, RATE, TIMEOUT, TOO_SLOW, YOURS
from hemera.serving.settings import Settings

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
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues[client].append(mine)
        self._begin(client)
        try:
            if not mine.done():
                if len(self._queues[client]) > self._waiting:
                    raise QUEUE_FULL.refused(model=model, waiting=self._waiting)
                with anyio.move_on_after(seconds) as scope:
                    await mine
                if scope.cancelled_caught:
                    raise TIMEOUT.refused(seconds=seconds)
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
        if mine.done() and not mine.cancelled():
            self._begun[client] -= 1
            self._begin(client)
        elif mine in self._queues[client]:
            self._queues[client].remove(mine)
        if not self._begun[client] and not self._queues[client]:
            del self._begun[client], self._queues[client]


class _Bucket:
    """Fills at a rate up to a capacity. What is taken may leave it below zero, and is waited for later: so a
    body larger than the capacity, or of untold size, is taken too, and no more comes than the rate allows."""

    def __init__(self, rate: float, capacity: float, now: float) -> None:
        self._rate, self._capacity = rate, capacity
        self._level, self._at = capacity, now

    def wait(self, least: float, now: float) -> float:
        """Seconds until it holds as much."""
        self._level = min(self._capacity, self._level + (now - self._at) * self._rate)
        self._at = now
        return max(0.0, (least - self._level) / self._rate)

    def take(self, count: float) -> None:
        self._level -= count


class Rates:
    """The requests and bytes that each client may send in a second, on average, in one event loop.

    Args:
        settings: the rates, infinite where as many may come as do, and the seconds that a client may save up.
        refused: called with "requests" or "bytes" when a client is refused.
        clock: seconds that only go forward.
    """

    def __init__(
        self, settings: Settings, refused: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rates = {"requests": settings.requests_per_second, "bytes": settings.bytes_per_second}
        self._burst, self._refused, self._clock = settings.burst_seconds, refused, clock
        self._buckets: dict[tuple[str, str], _Bucket] = {}

    def request(self, client: str) -> None:
        """Count a request. Refused (429) when the client has sent as many as it may."""
        if (bucket := self._require(client, "requests", 1.0)) is not None:
            bucket.take(1.0)

    def body(self, client: str, told: int) -> Callable[[int], None]:
        """Begin a body of a declared size, or 0: the function counts the bytes that come, of which those
        beyond the size count anew. Refused (429) while what came before is more than the client may send."""
        bucket = self._require(client, "bytes", 0.0)
        if bucket is None:
            return lambda _: None
        bucket.take(told)
        left = told

        def came(count: int) -> None:
            nonlocal left
            left -= count
            if left < 0:
                bucket.take(-left)
                left = 0

        return came

    def _require(self, client: str, what: str, least: float) -> _Bucket | None:
        rate = self._rates[what]
        if math.isinf(rate):
            return None
        now = self._clock()
        bucket = self._buckets.get((client, what))
        if bucket is None:
            # One request may come however low the rate is.
            bucket = self._buckets[client, what] = _Bucket(rate, max(1.0, rate * self._burst), now)
        wait = bucket.wait(least, now)
        if wait > 0:
            self._refused(what)
            raise RATE.refused(after=math.ceil(wait), rate=rate, what=what, wait=wait)
        return bucket


SLOWEST = 16 << 10
"""Bytes a second."""


class Budget:
    """A number of things that may be there at once, of all clients and of each, in one event loop.

    Args:
        limit: of all clients.
        each: of one client.
        what: the things, for people.
    """

    def __init__(self, limit: int, each: int, what: str) -> None:
        self._limit, self._each, self._what = limit, each, what
        self._taken: dict[str, int] = {}
        self.taken = 0
        """The number of things that are there now."""

    @contextlib.contextmanager
    def share(self, client: str) -> Iterator[Callable[[int], None]]:
        """Within it, the function takes a number more for a client, or raises Refused: (429) where the client
        has as many as it may, (503) where all have. What is alone is taken whatever it is. The end gives all
        back."""
        mine = 0

        def take(count: int) -> None:
            nonlocal mine
            own = self._taken.get(client, 0)
            if own > mine and own + count > self._each:
                raise YOURS.refused(what=self._what)
            if self.taken > mine and self.taken + count > self._limit:
                raise BUSY.refused(what=self._what)
            self._taken[client] = own + count
            self.taken += count
            mine += count

        try:
            yield take
        finally:
            self.taken -= mine
            left = self._taken.get(client, 0) - mine
            if left:
                self._taken[client] = left
            else:
                self._taken.pop(client, None)


def require_size(request: Request, limit: int) -> int:
    """The size that a request declares for its body, 0 where it does not.

    Raises:
        Refused: (413) when it is above the limit.
    """
    try:
        size = max(int(request.headers.get("content-length", "0")), 0)
    except ValueError:
        raise NO_NUMBER.refused() from None
    if size > limit:
        raise LARGE_BODY.refused(limit=limit)
    return size


async def receive(
    request: Request, take: Callable[[bytes], Awaitable[None]], *, limit: int, seconds: float
) -> int:
    """Give the pieces of a request's body to a function as they arrive.

    Args:
        request: whose body was not read.
        take: called with each piece.
        limit: bytes that the body may have.
        seconds: how long it may be behind `SLOWEST`.

    Returns:
        The body's bytes.

    Raises:
        Refused: (413) when there are more bytes than the limit; (408) when they come too slowly.
        ClientDisconnect: when the client hung up.
    """
    count = 0
    with anyio.move_on_after(seconds) as scope:
        async for piece in request.stream():
            count += len(piece)
            if count > limit:
                raise LARGE_BODY.refused(limit=limit)
            if piece:
                # The server's own work takes none of the client's time.
                began, left, scope.deadline = anyio.current_time(), scope.deadline, math.inf
                await take(piece)
                scope.deadline = left + anyio.current_time() - began + len(piece) / SLOWEST
        return count
    raise TOO_SLOW.refused()
