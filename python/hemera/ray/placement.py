"""The replica of a request, by rendezvous hashing. Tenants with more requests have more replicas."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

K = TypeVar("K")

_ORDERS = 4096
"""Tenants whose order of replicas is remembered."""


def rendezvous(tenant: str, replicas: Collection[str]) -> list[str]:
    """The replicas in the order in which a tenant takes them: by a hash of both names. Where a replica comes
    or goes, no tenant's order of the others changes."""
    return sorted(replicas, key=lambda name: (_weight(tenant, name), name))


def choose(
    order: Sequence[K],
    waiting: Mapping[K, int],
    holders: Collection[K],
    loading: Collection[K],
    *,
    step: int,
    limit: int,
) -> K | None:
    """The replica for a tenant's next request.

    Of those that hold its keys the one at which fewest requests wait, if they are fewer than `step`. Else the
    first replica of the order with fewer requests than that: a tenant has as many replicas as its load asks
    for. It loads its keys at one replica at a time: while one loads, requests wait where they are. A load
    takes as long as many requests, so loads that follow from loads would leave no time for requests.

    Args:
        order: the tenant's replicas, by `rendezvous`.
        waiting: requests that each replica has not answered.
        holders: replicas that hold the tenant's keys; of two with as many requests the first one is taken.
        loading: replicas that load them.
        step: requests from which on another replica is asked.
        limit: requests that a replica may have.

    Returns:
        The replica; None where all have as many requests as they may.
    """
    for some in (holders, loading):
        best = min(some, key=waiting.__getitem__, default=None)
        if best is not None and waiting[best] < step:
            return best
    if not loading:
        for name in order:
            if waiting[name] < step:
                return name
    for some in ([*holders, *loading], order):
        best = min(some, key=waiting.__getitem__, default=None)
        if best is not None and waiting[best] < limit:
            return best
    return None


class Placement:
    """`choose` for the replicas that are there, with the orders of the last tenants remembered.

    Args:
        step, limit: as of `choose`.
    """

    def __init__(self, *, step: int, limit: int) -> None:
        self._step = step
        self._limit = limit
        self._orders: OrderedDict[tuple[str, frozenset[str]], list[str]] = OrderedDict()

    def choose(
        self, tenant: str, waiting: Mapping[str, int], holders: Collection[str], loading: Collection[str]
    ) -> str | None:
        """The replica for a request of a tenant; None where all of `waiting` are full, or none is there."""
        place = (tenant, frozenset(waiting))
        order = self._orders.get(place)
        if order is None:
            order = self._orders[place] = rendezvous(tenant, waiting)
            if len(self._orders) > _ORDERS:
                self._orders.popitem(last=False)
        else:
            self._orders.move_to_end(place)
        held = [name for name in order if name in holders]
        coming = [name for name in order if name in loading and name not in holders]
        return choose(order, waiting, held, coming, step=self._step, limit=self._limit)


def _weight(tenant: str, replica: str) -> int:
    mixed = hashlib.blake2b(f"{len(tenant)}:{tenant}{replica}".encode(), digest_size=8)
    return int.from_bytes(mixed.digest(), "little")
