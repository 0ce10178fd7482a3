"""Requests of several replicas are answered as by one machine, once, whoever comes and goes; tenants stay
where their keys are."""

import threading
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from hemera.client.problems import Refused
from hemera.objects.devices import DeviceOptions
from hemera.ray import placement as module
from hemera.ray.placement import Placement, choose, rendezvous
from hemera.ray.service import limits_of
from hemera.serving.evaluation import Evaluation
from hemera.serving.sessions import Loader
from hemera.serving.settings import Settings

from .conftest import BOUND, wait_until
from .replicas import ROWS, refusal


def test_answers_are_those_of_one_machine(bench):
    """Bit for bit, also where requests run as a batch."""
    ours = bench(2, clients=["alice"])
    files_of_keys = {"keys": Path(ours.keys["alice"].files["keys"])}
    session = Loader(DeviceOptions("cpu", 1)).load(ours.package, "Hemera", files_of_keys)
    ours.first("alice").open.clear()
    files = [ours.file("alice", ROWS * scale) for scale in (1, 0.5, 0.25)]
    asked = [Evaluation("alice", "scores", {"input": data}) for data in files]
    for each in asked:
        ours.dispatcher.submit(each)
    ours.first("alice").open.set()
    for data, each in zip(files, asked, strict=True):
        inputs = session.load({"input": data})
        alone = session.dump(session.run([inputs.values])[0], inputs.single)
        assert each.answer.result(BOUND) == alone
        assert each.keys == ours.keys["alice"].digest
        assert each.batch >= 1


def test_requests_of_one_client_meet_and_run_as_a_batch(bench):
    ours = bench(3, batch=32, clients=["alice"])
    first = ours.first("alice")
    gate = threading.Event()
    first.replica._scheduler.call(gate.wait)
    asked = [ours.ask("alice", ROWS) for _ in range(8)]
    wait_until(lambda: first.replica._scheduler.waiting == 8)
    gate.set()
    for each in asked:
        ours.check(each, ROWS)
    assert [each.batch for each in asked] == [8] * 8
    assert len(first.numbers()) == 8


def test_queues_have_ends(bench):
    ours = bench(2, {"client_requests": 3, "replica_requests": 4, "step": 2})
    for client in ("alice", "bob", "carol"):
        ours.add(client)
    with pytest.raises(Refused, match="no replica") as none:
        ours.ask("alice", ROWS)
    assert (none.value.status, none.value.code, none.value.headers["Retry-After"]) == (503, "no_replica", "5")
    ours.start()
    for fake in ours.ranch.fakes:
        fake.open.clear()
    asked = [ours.ask("alice", ROWS) for _ in range(3)]
    with pytest.raises(Refused, match="3 of your requests") as full:
        ours.ask("alice", ROWS)
    assert (full.value.status, full.value.code) == (429, "queue_full")
    asked += [ours.ask("bob", ROWS) for _ in range(3)] + [ours.ask("carol", ROWS) for _ in range(2)]
    with pytest.raises(Refused, match="as many requests") as busy:
        ours.ask("carol", ROWS)
    assert (busy.value.status, busy.value.code, busy.value.headers["Retry-After"]) == (503, "busy", "1")
    wait_until(lambda: sum(len(fake.numbers()) for fake in ours.ranch.fakes) == 8)
    assert {len(fake.numbers()) for fake in ours.ranch.fakes} == {4}
    for fake in ours.ranch.fakes:
        fake.open.set()
    for each in asked:
        ours.check(each, ROWS)
    ours.check(ours.ask("alice", ROWS), ROWS)  # and there is room again


@pytest.mark.parametrize("settings", [{}, {"batch": 4}, {"waiting_requests": 8}, {"batch": 1}])
def test_one_client_can_ask_for_all_replicas(settings):
    """Its limits of requests allow it, before any of them refuses."""
    limits = limits_of(Settings(**settings), 10)
    waiting = dict.fromkeys(range(10), 0)
    held = []
    for _ in range(limits.client_requests):
        found = choose(range(10), waiting, held, (), step=limits.step, limit=limits.replica_requests)
        assert found is not None
        waiting[found] += 1
        held = [name for name, count in waiting.items() if count]
    assert min(waiting.values()) > 0
    assert limits.step <= 4 * Settings(**settings).batch


def test_a_full_store_is_an_answer(bench):
    ours = bench(1, clients=["alice"])
    ours.ranch.fakes[0].full = True
    assert refusal(ours.ask("alice", ROWS)) == (503, "busy")
    ours.ranch.fakes[0].full = False
    ours.check(ours.ask("alice", ROWS), ROWS)


def test_a_slow_replica_gets_less(bench):
    ours = bench(2, {"step": 2}, clients=["alice"])
    slow = ours.first("alice")
    ours.check(ours.ask("alice", ROWS), ROWS)
    slow.open.clear()
    stuck = [ours.ask("alice", ROWS) for _ in range(2)]
    for _ in range(6):  # none waits behind those
        ours.check(ours.ask("alice", ROWS), ROWS)
    assert len(slow.numbers()) == 3
    slow.open.set()
    for each in stuck:
        ours.check(each, ROWS)


def test_a_tenant_loads_at_one_replica_at_a_time(bench):
    ours = bench(3, {"step": 2}, clients=["alice"])
    first = ours.first("alice")
    for fake in ours.ranch.fakes:
        fake.open.clear()
    asked = [ours.ask("alice", ROWS) for _ in range(5)]
    wait_until(lambda: len(first.numbers()) == 5)
    first.open.set()
    for each in asked:
        ours.check(each, ROWS)
    first.open.clear()
    asked = [ours.ask("alice", ROWS) for _ in range(6)]
    wait_until(lambda: sum(len(fake.numbers()) for fake in ours.ranch.fakes) == 11)
    assert sorted(len(fake.numbers()) for fake in ours.ranch.fakes) == [0, 3, 8]
    for fake in ours.ranch.fakes:
        fake.open.set()
    for each in asked:
        ours.check(each, ROWS)


def test_the_same_number_is_computed_once(bench):
    ours = bench(1, clients=["alice"])
    (fake,) = ours.ranch.fakes
    gate = threading.Event()
    fake.replica._scheduler.call(gate.wait)
    files = {"input": np.frombuffer(ours.file("alice", ROWS), np.uint8)}
    twice = [fake.call("evaluate", "one", "scores", ours.keys["alice"], files) for _ in range(2)]
    wait_until(lambda: fake.replica._scheduler.waiting == 1)
    gate.set()
    one, other = (each.result(BOUND).result() for each in twice)
    assert one == other
    assert fake.replica.computed == 1


def test_who_leaves_takes_no_room(bench):
    ours = bench(1, {"client_requests": 1}, clients=["alice"])
    (fake,) = ours.ranch.fakes
    gate = threading.Event()
    fake.replica._scheduler.call(gate.wait)
    asked = ours.ask("alice", ROWS)
    wait_until(lambda: fake.replica._scheduler.waiting == 1)
    assert asked.answer.cancel()
    wait_until(lambda: not fake.replica._running)
    assert ours.dispatcher.waiting == 0
    again = ours.ask("alice", ROWS)
    gate.set()
    ours.check(again, ROWS)
    assert fake.replica.computed == 1


def test_wrong_requests_are_refused_as_by_one_machine(bench):
    ours = bench(1, clients=["alice"])
    for data, wanted in (
        (b"rubbish", (422, "format")),
        (bytes(ours.locals["alice"].secret_key), (422, "secret_key")),
        (bytes(ours.locals["alice"].context.params), (422, "mismatch")),
    ):
        request = Evaluation("alice", "scores", {"input": data})
        ours.dispatcher.submit(request)
        assert refusal(request) == wanted
    ours.check(ours.ask("alice", ROWS), ROWS)


NAMES = [f"replica-{at}" for at in range(8)]
TENANTS = [f"tenant-{at}" for at in range(4000)]


def test_tenants_are_spread_evenly():
    for place in (0, 1, 7):
        counts = Counter(rendezvous(tenant, NAMES)[place] for tenant in TENANTS)
        assert stats.chisquare([counts[name] for name in NAMES]).pvalue > 1e-3


def test_second_choices_are_spread_too():
    """The tenants of a replica that dies go to all others, not to one."""
    orders = [rendezvous(tenant, NAMES) for tenant in TENANTS]
    counts = Counter(order[1] for order in orders if order[0] == "replica-3")
    assert stats.chisquare([counts[name] for name in NAMES if name != "replica-3"]).pvalue > 1e-3


def test_whoever_comes_or_goes_moves_no_other_tenant():
    for tenant in TENANTS[:500]:
        order = rendezvous(tenant, NAMES)
        assert rendezvous(tenant, NAMES[::-1]) == order
        assert rendezvous(tenant, NAMES[1:]) == [name for name in order if name != NAMES[0]]


@pytest.mark.parametrize(
    ("waiting", "holders", "loading", "wanted"),
    [
        ("000", "", "", "a"),  # nobody has the keys: the first of the order
        ("000", "c", "", "c"),  # who has them
        ("302", "ac", "", "c"),  # of these the one with the fewest
        ("202", "ac", "", "a"),  # the first, where as few wait
        ("450", "ab", "", "c"),  # all of them busy: the first other one
        ("004", "c", "", "a"),
        ("040", "", "b", "b"),  # busy, but it loads: no other one loads at the same time
        ("020", "", "b", "b"),
        ("350", "ba", "c", "a"),  # who has them, before who loads them
        ("450", "ba", "c", "c"),
        ("760", "b", "a", "b"),  # of its own the one with the fewest
        ("455", "a", "", "a"),  # everybody busy: its own
        ("645", "a", "", "a"),
        ("845", "a", "", "b"),  # where there is room
        ("888", "a", "", None),
        ("887", "", "", "c"),
    ],
)
def test_the_choice(waiting, holders, loading, wanted):
    counts = dict(zip("abc", map(int, waiting), strict=True))
    assert choose("abc", counts, holders, loading, step=4, limit=8) == wanted


def test_no_replicas():
    assert choose([], {}, (), (), step=1, limit=1) is None
    assert Placement(step=1, limit=1).choose("tenant", {}, (), ()) is None


def test_orders_are_remembered_for_the_replicas_that_are_there():
    placement = Placement(step=1, limit=9)
    for tenant in TENANTS[:50]:
        order = rendezvous(tenant, NAMES)
        idle = dict.fromkeys(NAMES, 0)
        assert placement.choose(tenant, idle, (), ()) == order[0]
        assert placement.choose(tenant, {**idle, order[0]: 1}, (), ()) == order[1]
        without = {name: 0 for name in NAMES if name != order[0]}
        assert placement.choose(tenant, without, (), ()) == order[1]
        assert placement.choose(tenant, idle, (), ()) == order[0]


def test_a_replica_that_holds_the_keys_does_not_count_as_loading():
    """It may have told so before it answered for the load."""
    placement = Placement(step=4, limit=8)
    order = rendezvous("tenant", ["a", "b"])
    for loading in (set(), {order[0]}):
        assert placement.choose("tenant", {order[0]: 5, order[1]: 0}, {order[0]}, loading) == order[1]


def test_the_orders_of_the_last_tenants_are_remembered(monkeypatch):
    asked = []

    def note(tenant, replicas):
        asked.append(tenant)
        return rendezvous(tenant, replicas)

    monkeypatch.setattr(module, "rendezvous", note)
    monkeypatch.setattr(module, "_ORDERS", 2)
    placement = Placement(step=1, limit=9)
    for tenant in "ababacabba":  # c drops b, which was used before a
        placement.choose(tenant, {"x": 0, "y": 0}, (), ())
    assert "".join(asked) == "abcb"
