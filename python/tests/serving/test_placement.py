"""Tenants stay where their keys are, and have the more replicas the more of their requests wait."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import pytest
from scipy import stats

from hemera.ray import placement as module
from hemera.ray.placement import Placement, choose, rendezvous

NAMES = [f"replica-{at}" for at in range(8)]
TENANTS = [f"tenant-{at}" for at in range(4000)]


def test_tenants_are_spread_evenly() -> None:
    for place in (0, 1, 7):
        counts = Counter(rendezvous(tenant, NAMES)[place] for tenant in TENANTS)
        assert stats.chisquare([counts[name] for name in NAMES]).pvalue > 1e-3


def test_second_choices_are_spread_too() -> None:
    """The tenants of a replica that dies go to all others, not to one."""
    orders = [rendezvous(tenant, NAMES) for tenant in TENANTS]
    counts = Counter(order[1] for order in orders if order[0] == "replica-3")
    assert stats.chisquare([counts[name] for name in NAMES if name != "replica-3"]).pvalue > 1e-3


def test_whoever_comes_or_goes_moves_no_other_tenant() -> None:
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
def test_the_choice(waiting: str, holders: str, loading: str, wanted: str | None) -> None:
    counts = dict(zip("abc", map(int, waiting), strict=True))
    assert choose("abc", counts, holders, loading, step=4, limit=8) == wanted


def test_no_replicas() -> None:
    assert choose([], {}, (), (), step=1, limit=1) is None
    assert Placement(step=1, limit=1).choose("tenant", {}, (), ()) is None


def test_orders_are_remembered_for_the_replicas_that_are_there() -> None:
    placement = Placement(step=1, limit=9)
    for tenant in TENANTS[:50]:
        order = rendezvous(tenant, NAMES)
        idle = dict.fromkeys(NAMES, 0)
        assert placement.choose(tenant, idle, (), ()) == order[0]
        assert placement.choose(tenant, {**idle, order[0]: 1}, (), ()) == order[1]
        without = {name: 0 for name in NAMES if name != order[0]}
        assert placement.choose(tenant, without, (), ()) == order[1]
        assert placement.choose(tenant, idle, (), ()) == order[0]


def test_a_replica_that_holds_the_keys_does_not_count_as_loading() -> None:
    """It may have told so before it answered for the load."""
    placement = Placement(step=4, limit=8)
    order = rendezvous("tenant", ["a", "b"])
    for loading in (set(), {order[0]}):
        assert placement.choose("tenant", {order[0]: 5, order[1]: 0}, {order[0]}, loading) == order[1]


def test_the_orders_of_the_last_tenants_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def note(tenant: str, replicas: Collection[str]) -> list[str]:
        asked.append(tenant)
        return rendezvous(tenant, replicas)

    monkeypatch.setattr(module, "rendezvous", note)
    monkeypatch.setattr(module, "_ORDERS", 2)
    placement = Placement(step=1, limit=9)
    for tenant in "ababacabba":  # c drops b, which was used before a
        placement.choose(tenant, {"x": 0, "y": 0}, (), ())
    assert "".join(asked) == "abcb"
