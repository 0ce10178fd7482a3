"""Bodies as they arrive: with limits on their size, on how slowly they come, and on all of them together."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from starlette.requests import Request

from hemera.serving.reasons import BUSY, LARGE_BODY, NO_NUMBER, TOO_SLOW, YOURS

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
        self._total = 0

    @property
    def taken(self) -> int:
        """The number of things that are there now."""
        return self._total

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
            if self._total > mine and self._total + count > self._limit:
                raise BUSY.refused(what=self._what)
            self._taken[client] = own + count
            self._total += count
            mine += count

        try:
            yield take
        finally:
            self._total -= mine
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
    with _Deadline(seconds) as deadline:
        async for piece in request.stream():
            count += len(piece)
            if count > limit:
                raise LARGE_BODY.refused(limit=limit)
            if piece:
                with deadline.halted():
                    await take(piece)
                deadline.put_off(len(piece) / SLOWEST)
    return count


class _Deadline:
    """Within it, the task is cancelled when a time is over, and that becomes Refused (408). One timer for a
    body: `asyncio.wait_for` would be a task for each piece."""

    def __init__(self, seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._at = self._loop.time() + seconds
        self._halted = False
        self._passed = False

    def put_off(self, seconds: float) -> None:
        """Move its time by `seconds`."""
        self._at += seconds

    @contextlib.contextmanager
    def halted(self) -> Iterator[None]:
        """Within it no time passes: the server's own work."""
        began, self._halted = self._loop.time(), True
        try:
            yield
        finally:
            self._halted = False
            self.put_off(self._loop.time() - began)

    def __enter__(self) -> _Deadline:
        task = asyncio.current_task()
        assert task is not None
        self._task: asyncio.Task[Any] = task
        self._timer = self._loop.call_at(self._at, self._look)
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._timer.cancel()
        if self._passed and isinstance(error, asyncio.CancelledError):
            if hasattr(self._task, "uncancel"):  # since Python 3.11
                self._task.uncancel()
            raise TOO_SLOW.refused() from None

    def _look(self) -> None:
        now = self._loop.time()
        if self._halted or now < self._at:
            self._timer = self._loop.call_at(max(self._at, now + 0.01), self._look)
        else:
            self._passed = True
            self._task.cancel()
