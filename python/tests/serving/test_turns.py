"""The order of clients, and how long a batch is, by a clock that moves with what is computed alone."""

import math
import random
from types import SimpleNamespace

import pytest

from hemera.serving.evaluation import Device, Evaluation, Pace, Turns
from hemera.serving.metrics import Metrics
from hemera.serving.scheduler import Scheduler
from hemera.serving.session_cache import Session, SessionCache

from .conftest import BOUND

LINEAR = lambda count: 0.3 * count  # noqa: E731
FLAT = lambda count: 0.3 + 0.003 * count  # noqa: E731


class Costly(Session):
    """A session whose evaluations take time on a clock of their own. A request's file is its evaluations."""

    memory_bytes = 1

    def __init__(self, bench, client):
        super().__init__()
        self._bench, self._client = bench, client

    def load(self, files):
        return self._inputs(int(files["input"]))

    def _inputs(self, count):
        def divided(first):
            return self._inputs(first), self._inputs(count - first)

        return SimpleNamespace(values=count, count=count, single=True, fit=lambda _: True, divided=divided)

    def run(self, requests):
        self._bench.run(self._client, sum(requests))
        return list(requests)

    def join(self, parts):
        return sum(parts)

    def dump(self, outputs, single):
        assert single
        return {"output": str(outputs).encode()}


class Bench:
    """A scheduler of one device, whose clock is the time of what it computes.

    Args:
        cost: seconds of a batch, by its evaluations.
        seconds: that a batch may take.
    """

    def __init__(self, cost, seconds):
        self.now, self._cost = 0.0, cost
        self.ran = []
        self.ended = {}
        self.later = {}
        """What comes when so many batches have begun."""
        device = Device(lambda client, _: Costly(self, client), lambda *_: None, SessionCache(1 << 30))
        self.scheduler = Scheduler(
            [device], waiting=64, batch=32, metrics=Metrics(), seconds=seconds, clock=lambda: self.now
        )

    def run(self, client, count):
        self.ran.append((client, count))
        self.later.pop(len(self.ran), lambda: None)()
        self.now += self._cost(count)
        self.ended[client] = self.now

    def ask(self, client, count=1, model="m"):
        request = Evaluation(client, model, {"input": str(count).encode()})
        self.scheduler.submit(request)
        return request


@pytest.mark.parametrize(
    ("cost", "seconds", "flood", "at", "ratio"),
    [
        (LINEAR, 0.05, [1] * 24, 9, 3.0),
        (LINEAR, 0.05, [32] * 6, 9, 3.0),  # requests of many evaluations
        (LINEAR, 0.05, [1, 7, 32, 2] * 6, 9, 3.0),
        (FLAT, 0.05, [1] * 24, 3, 3.0),
        (FLAT, 0.05, [32] * 24, 9, 3.0),
        (LINEAR, 1.2, [1] * 24, 5, 5.0),  # 1.2 seconds are four evaluations
        (LINEAR, math.inf, [1] * 24, 1, 25.0),  # as without a limit
    ],
)
def test_a_quiet_client_beside_a_flood(cost, seconds, flood, at, ratio):
    """It comes when a batch of the other one has just begun, and waits for this batch alone."""
    bench = Bench(cost, seconds)
    came = []
    requests = [bench.ask("flood", count) for count in flood]
    asked = []

    def come():
        came.append(bench.now)
        asked.append(bench.ask("quiet"))

    bench.later = {at: come}
    bench.scheduler.start()
    for request, count in zip(requests, flood, strict=True):
        assert request.answer.result(BOUND) == {"output": str(count).encode()}  # of all of its parts
    assert asked[0].answer.result(BOUND) == {"output": b"1"}
    bench.scheduler.stop()
    assert bench.ran[at] == ("quiet", 1)  # the next batch
    assert bench.ended["quiet"] - came[0] <= ratio * cost(1) + 1e-9
    if ratio > 3:  # and the limit is what holds it
        assert bench.ended["quiet"] - came[0] == pytest.approx(ratio * cost(1))
    if cost is FLAT:  # whose batches are as large as ever
        assert max(count for _, count in bench.ran) == min(32, sum(flood) - 3)


def test_the_order_of_a_queue():
    """Clients have turns by their time: `a` has 30 evaluations in two models, `b` six, `c` comes late."""
    bench = Bench(lambda count: count / 4, 0.5)
    requests = [bench.ask("a", 10, model) for model in "mnm"] + [bench.ask("b", 3), bench.ask("b", 3)]
    bench.later = {6: lambda: requests.append(bench.ask("c", 2))}
    bench.scheduler.start()
    for request in requests:  # also the one that comes meanwhile
        request.answer.result(BOUND)
    bench.scheduler.stop()
    ran = " ".join(client * count for client, count in bench.ran)
    # The rest of m: of its first request, and the second one; then n, whose time is not known yet.
    assert ran == "a bb aa b aa bb cc aa b" + " aa a" + 5 * " aa" + " a" + 4 * " aa" + " a"
    assert sum(count for client, count in bench.ran if client == "a") == 30


def test_requests_that_are_given_up_between_their_parts_of_a_turn():
    """Requests of which nothing has run are not computed any more; one that has begun is."""
    bench = Bench(LINEAR, 0.05)
    requests = [bench.ask("a", count) for count in (1, 2, 2, 2)]
    given_up = []
    bench.later = {2: lambda: given_up.extend(each.answer.cancel() for each in (requests[1], requests[3]))}
    bench.scheduler.start()
    assert requests[2].answer.result(BOUND) == {"output": b"2"}
    bench.scheduler.stop()
    assert given_up == [False, True]
    assert requests[1].answer.result(BOUND) == {"output": b"2"}
    assert sum(count for _, count in bench.ran) == 5


@pytest.mark.parametrize("seed", range(6))
def test_clients_that_always_wait_get_the_same_time(seed):
    """Within the longest batch of each, at any time (Goyal, Vin and Cheng, theorem 1)."""
    rng, turns = random.Random(seed), Turns()
    had = dict.fromkeys("abc", 0.0)
    longest = dict.fromkeys("abc", 0.0)
    late = Turns()
    for client in had:
        turns.come(client)
    for _ in range(300):
        client = min(had, key=turns.spent)
        turns.begin(client)
        seconds = rng.choice([0.01, 0.3, 5.0 * rng.random()])
        longest[client] = max(longest[client], seconds)
        turns.charge(client, seconds)
        had[client] += seconds
        for one, other in ("ab", "bc", "ca"):
            assert abs(had[one] - had[other]) <= longest[one] + longest[other] + 1e-9
    # Whoever comes now is next after what has had its turn, and has saved up nothing.
    turns.come("new")
    assert turns.spent("new") <= min(map(turns.spent, had))
    assert turns.spent("new") >= min(map(turns.spent, had)) - max(longest.values())
    assert late.spent("nobody") == 0


@pytest.mark.parametrize(
    ("seconds", "ran", "most"),
    [
        (0.05, "", 1),
        (math.inf, "", None),
        (math.inf, "1:9", None),
        (0.05, "1:0.3", 2),
        (0.05, "1:0.3 2:0.6 2:0.6", 2),
        (0.7, "1:0.3", 2),
        (0.9, "1:0.3", 3),
        (0.05, "1:0.001", 50),
        (0.05, "4:0.4", 2),  # a first batch of four: 0.1 each
        (0.05, "1:0.3 2:0.4", 4),  # the second one takes a third
        (0.05, "1:0.3 2:0.4 2:0.3", 5),
        (0.05, "1:0.3 2:0.3", None),
        (0.05, "1:9 1:0.3", 2),  # the first run took longer than later ones
        (0.05, "1:0.3 2:3 2:3 2:3", 2),  # never less than two
        (0.05, "1:0.3 1:0.1", 2),
    ],
)
def test_how_many_evaluations_a_batch_has(seconds, ran, most):
    pace = Pace(seconds)
    for each in ran.split():
        count, _, took = each.partition(":")
        pace.ran(int(count), float(took))
    assert pace.most == most
