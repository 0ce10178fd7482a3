"""Bodies that come slowly, by a clock of the tests: nothing here waits; and how many may come at once."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import pytest
from starlette.requests import Request

from hemera.client.problems import Refused
from hemera.serving.admission import SLOWEST, Budget, receive, require_size


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


@pytest.mark.parametrize("pause", [9.9, 10.1])
def test_a_body_that_does_not_begin_has_its_time_too(pause: float) -> None:
    async def late(clock: Clock) -> AsyncIterator[bytes]:
        await clock.forward(pause)
        yield b"x"

    if pause < 10:
        assert run(late) == 1
    else:
        with pytest.raises(Refused, match="too slowly"):
            run(late)


@pytest.mark.parametrize("count", [1 << 20, (1 << 20) + 1])
def test_the_largest_body(count: int) -> None:
    async def pieces(_: Clock) -> AsyncIterator[bytes]:
        for at in range(0, count, 1 << 18):
            yield bytes(min(1 << 18, count - at))

    if count == 1 << 20:
        assert run(pieces) == count
    else:
        with pytest.raises(Refused, match=f"larger than the {1 << 20} bytes") as refused:
            run(pieces)
        assert (refused.value.status, refused.value.code) == (413, "too_large")


def test_a_cancellation_of_others_stays_one() -> None:
    async def cancelled(_: Clock) -> AsyncIterator[bytes]:
        yield b"x"
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        run(cancelled)


@pytest.mark.parametrize(
    ("steps", "answers"),
    [
        # What is alone is taken whatever it is, also in several pieces.
        ("a1 40, a1 1, a1 1000", "ok ok ok"),
        ("a1 500, b1 1, a1 1", "ok 503 ok"),
        ("a1 39, a2 1, a2 1, a1 1", "ok ok 429 429"),  # 40 of each client
        ("a1 40, a2 1, b1 40", "ok 429 ok"),
        ("a1 40, b1 40, c1 20, c1 1, a1 1", "ok ok ok 503 503"),  # 100 of all
        ("a1 30, a2 11, a2 10", "ok 429 ok"),  # what was refused takes nothing
        ("a1 40, b1 40, c1 21, c1 20", "ok ok 503 ok"),
        ("a1 40, end a1, a2 40, a2 1", "ok ok ok"),  # it gives all back, and a2 is alone
        ("a1 10, a2 30, end a1, a3 10, a3 1", "ok ok ok 429"),
        ("a1 40, b1 40, end b1, c1 40, d1 20, d1 1", "ok ok ok ok 503"),
        ("a1 100, b1 1, end a1, b1 1", "ok 503 ok"),
    ],
)
def test_what_there_may_be_at_once(steps: str, answers: str) -> None:
    budget = Budget(100, 40, "things")
    found: list[str] = []
    refusals: list[Refused] = []
    own: dict[str, int] = {}
    with contextlib.ExitStack() as every:
        shares: dict[str, contextlib.ExitStack] = {}
        takes: dict[str, Callable[[int], None]] = {}
        for step in steps.split(", "):
            name, _, count = step.partition(" ")
            if name == "end":
                shares[count].close()
                del own[count]
                continue
            if name not in shares:
                shares[name] = every.enter_context(contextlib.ExitStack())
                takes[name] = shares[name].enter_context(budget.share(name[0]))
            try:
                takes[name](int(count))
            except Refused as refused:
                refusals.append(refused)
                found.append(str(refused.status))
            else:
                own[name] = own.get(name, 0) + int(count)
                found.append("ok")
            assert budget.taken == sum(own.values())
    assert " ".join(found) == answers
    assert (budget.taken, budget._taken) == (0, {})
    for each in refusals:
        assert (each.code, each.retry_after) == ("busy", 1)
        assert str(each).startswith("you have" if each.status == 429 else "the server has")


@pytest.mark.parametrize(
    ("told", "size"), [("10", 10), ("0", 0), (None, 0), ("-5", 0), ("11", 413), ("x", 400), ("1e1", 400)]
)
def test_a_size_that_is_told(told: str | None, size: int) -> None:
    headers = [] if told is None else [(b"content-length", told.encode())]
    request = Request({"type": "http", "headers": headers})
    if size < 400:
        assert require_size(request, 10) == size
        return
    with pytest.raises(Refused) as refused:
        require_size(request, 10)
    assert refused.value.status == size
