"""Requests in progress, and bodies that come slowly or at once: by a clock of the test's own."""

import asyncio
import contextlib
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import numpy as np
import pytest
from starlette.requests import Request

from hemera.client.problems import Refused
from hemera.serving.admission import SLOWEST, Admission, Budget, receive, require_size

from ..refusals import raises
from .clock import Clock
from .conftest import BOUND, serving, wait_until
from .indexes.index_cases import held
from .server_requests import EVALUATE, KEYS, request_of


async def settle():
    """Let all that can go on do so."""
    for _ in range(10):
        await asyncio.sleep(0)


class Door:
    """An admission, and the requests that came to it: `begun` are in progress."""

    def __init__(self, most=2, waiting=64):
        self.now = 0.0
        self.admission = Admission(most, waiting, clock=lambda: self.now)
        self.begun = []
        self.left = []
        self._ends = {}
        self._tasks = {}

    async def come(self, *names, seconds=300.0):
        """Requests of clients; a request's name begins with its client's."""
        for name in names:
            self._ends[name] = asyncio.Event()
            self._tasks[name] = asyncio.ensure_future(self._ask(name, seconds))
        await settle()

    async def _ask(self, name, seconds):
        async with self.admission.turn(name[0], "m", seconds) as left:
            self.begun.append(name)
            self.left.append(left)
            await self._ends[name].wait()

    async def end(self, *names):
        for name in names:
            self._ends[name].set()
            await self._tasks[name]
        await settle()

    async def hang_up(self, name):
        self._tasks[name].cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._tasks[name]
        await settle()

    async def refusal(self, name):
        with pytest.raises(Refused) as refused:
            await self._tasks[name]
        return refused.value.status, refused.value.code


def test_a_client_alone_has_all_in_progress():
    async def run():
        door = Door()
        await door.come(*(f"a{at}" for at in range(100)))
        assert len(door.begun) == 100
        assert door.admission.waiting == 0

    asyncio.run(run())


def test_beside_others_each_has_a_few():
    """One that ends, in progress or not, is followed by the oldest that waits; another client's is at once in
    progress; and 60 s after the other one's last request the first one is alone again."""

    async def run():
        door = Door()
        await door.come("a1", "a2", "a3", "b1")
        assert door.begun == ["a1", "a2", "a3", "b1"]
        await door.come("a4", "a5", "a6", "b2", "b3")
        assert door.begun[4:] == ["b2"]
        assert door.admission.waiting == 4
        await door.end("a1")  # two are left
        assert door.begun[5:] == []
        await door.end("a3")
        assert door.begun[5:] == ["a4"]
        await door.hang_up("a5")
        await door.end("a2")
        assert door.begun[6:] == ["a6"]
        await door.hang_up("a4")
        door.now = 60.0
        await door.come("a7", "a8")
        assert door.begun[7:] == ["a7"]
        door.now = 60.1
        await door.come("a9")
        assert sorted(door.begun[8:]) == ["a8", "a9"]
        await door.end("a6", "a7", "a8", "a9", "b1", "b2", "b3")
        assert door.admission.waiting == 0
        assert not door.admission._begun
        assert not door.admission._queues

    asyncio.run(run())


def test_refusals():
    """The last that waits, the first that may not; and the end of a request's time before it begins."""

    async def run():
        door = Door(most=1, waiting=2)
        await door.come("b1", "a1", "a2", "a3", "a4")
        assert await door.refusal("a4") == (429, "queue_full")
        assert door.admission.waiting == 2
        await door.come("b2", seconds=0.01)
        assert await door.refusal("b2") == (504, "timeout")
        door.now = 7.0
        await door.end("a1")
        assert (door.begun, door.left) == (["b1", "a1", "a2"], [300.0, 300.0, 293.0])
        await door.end("a2", "a3", "b1")

    asyncio.run(run())


def test_one_that_hangs_up_as_its_turn_comes():
    async def run():
        door = Door(most=1)
        await door.come("b1", "a1", "a2", "a3")
        door._ends["a1"].set()
        await asyncio.sleep(0)  # a1 ends, and a2 may begin, which it does not know yet
        await door.hang_up("a2")
        await door.end("a1")
        assert door.begun == ["b1", "a1", "a3"]
        await door.end("a3", "b1")

    asyncio.run(run())


def test_a_server_has_few_of_each_client_in_progress(home, local, keys):
    """Two of the one that asks most are with the device when the other one comes; all get their answers."""
    alice, bob = home.clients.add("alice"), home.clients.add("bob")
    body = request_of(local, np.ones(8))
    with serving(home) as server, server.http(alice) as many, server.http(bob) as one:
        for http in (many, one):
            assert http.put(KEYS, content=keys).status_code == 201
            assert http.post(EVALUATE, content=body).status_code == 200
        with ThreadPoolExecutor(6) as pool:
            with held(server):
                sent = [pool.submit(many.post, EVALUATE, content=body) for _ in range(5)]
                wait_until(lambda: server.metric("hemera_waiting_requests") == 5)
                assert (server.service.scheduler.waiting, server.service.admission.waiting) == (2, 3)
                sent.append(pool.submit(one.post, EVALUATE, content=body))
                wait_until(lambda: server.service.scheduler.waiting == 3)
            answers = [each.result(BOUND) for each in sent]
        assert [each.status_code for each in answers] == [200] * 6
        assert {int(each.headers["Hemera-Batch"]) for each in answers} <= {1, 2}
        assert server.metric("hemera_waiting_requests") == 0


class Stream:
    """A request whose body is what a function sends."""

    def __init__(self, send):
        self.stream = send


def run(send, working=0.0):
    """The bytes that were received, in 10 seconds and what they earn; each piece takes the server so long."""
    loop = asyncio.new_event_loop()
    clock = Clock()
    loop.time = clock

    async def take(_):
        await clock.forward(working)

    request = Stream(lambda: send(clock))
    try:
        return loop.run_until_complete(receive(cast(Request, request), take, limit=1 << 20, seconds=10.0))
    finally:
        loop.close()


@pytest.mark.parametrize(
    ("pieces", "pause", "working", "status"),
    [
        # Ten seconds, and one for each SLOWEST bytes; the server's own work is not the client's time.
        ([SLOWEST, SLOWEST], 10.9, 0.0, 0),
        ([SLOWEST, SLOWEST], 11.1, 0.0, 408),
        ([SLOWEST, SLOWEST], 10.9, 100.0, 0),
        ([SLOWEST, SLOWEST], 11.1, 100.0, 408),
        ([0, 1], 9.9, 0.0, 0),  # one that does not begin
        ([0, 1], 10.1, 0.0, 408),
        ([1 << 18] * 4, 0.0, 0.0, 0),  # the largest
        ([1 << 18] * 4 + [1], 0.0, 0.0, 413),
    ],
)
def test_a_body_has_its_time_and_its_size(pieces, pause, working, status):
    async def send(clock):
        for at, size in enumerate(pieces):
            if at == 1:
                await clock.forward(pause)
            if size:
                yield bytes(size)

    if not status:
        assert run(send, working) == sum(pieces)
        return
    told = {408: "too slowly", 413: f"larger than the {1 << 20} bytes"}[status]
    with pytest.raises(Refused, match=told) as refused:
        run(send, working)
    assert refused.value.status == status


def test_a_cancellation_of_others_stays_one():
    async def cancelled(_):
        yield b"x"
        raise asyncio.CancelledError

    raises(asyncio.CancelledError, "", run, cancelled)


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
def test_what_there_may_be_at_once(steps, answers):
    budget = Budget(100, 40, "things")
    found = []
    refusals = []
    own = {}
    with contextlib.ExitStack() as every:
        shares = {}
        takes = {}
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
def test_a_size_that_is_told(told, size):
    headers = [] if told is None else [(b"content-length", told.encode())]
    request = Request({"type": "http", "headers": headers})
    if size < 400:
        assert require_size(request, 10) == size
        return
    with pytest.raises(Refused) as refused:
        require_size(request, 10)
    assert refused.value.status == size
