"""Bodies that come slowly, by a clock of the tests: nothing here waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import pytest
from starlette.requests import Request

from hemera.client.problems import Refused
from hemera.serving.bodies import SLOWEST, receive


class Stream:
    """A request whose body is what a function sends."""

    def __init__(self, send: Callable[[], AsyncIterator[bytes]]) -> None:
        self.stream = send


def run(send: Callable[[Clock], AsyncIterator[bytes]], working: float = 0.0) -> int:
    """The bytes that were received, in 10 seconds and what they earn; each piece takes the server so long."""
    loop = asyncio.new_event_loop()
    clock = Clock()
    loop.time = clock  # type: ignore[method-assign]

    async def take(_: bytes) -> None:
        await clock.forward(working)

    request: Any = Stream(lambda: send(clock))
    try:
        return loop.run_until_complete(receive(cast(Request, request), take, limit=1 << 20, seconds=10.0))
    finally:
        loop.close()


class Clock:
    """Goes forward when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    async def forward(self, seconds: float) -> None:
        self.now += seconds
        for _ in range(3):  # what is due by now runs
            await asyncio.sleep(0)


async def two_pieces(clock: Clock, pause: float) -> AsyncIterator[bytes]:
    yield bytes(SLOWEST)
    await clock.forward(pause)
    yield bytes(SLOWEST)


def test_a_body_has_its_time_and_what_its_bytes_earn() -> None:
    assert run(lambda clock: two_pieces(clock, 10.9)) == 2 * SLOWEST
    with pytest.raises(Refused, match="too slowly") as refused:
        run(lambda clock: two_pieces(clock, 11.1))
    assert refused.value.status == 408


def test_the_servers_own_work_is_not_the_clients_time() -> None:
    assert run(lambda clock: two_pieces(clock, 10.9), working=100.0) == 2 * SLOWEST
    with pytest.raises(Refused, match="too slowly"):
        run(lambda clock: two_pieces(clock, 11.1), working=100.0)


def test_a_cancellation_of_others_stays_one() -> None:
    async def cancelled(_: Clock) -> AsyncIterator[bytes]:
        yield b"x"
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        run(cancelled)
