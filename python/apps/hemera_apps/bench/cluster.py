"""Replicas on many hosts, simulated: tenants, placements of their requests, and eviction of their keys."""

from __future__ import annotations

import heapq
import itertools
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hemera.ray.placement import choose, rendezvous

GB = 10**9
_LIMIT = 128
"""Requests that a replica may have; beyond it they are refused."""


@dataclass(frozen=True)
class Setup:
    """The settings of a simulation. Sizes in bytes, times in seconds.

    A batch of b requests of one tenant takes `fixed + each * b`: the defaults are the least-squares line
    through ResNet-20 with ReLU on an H200, 1, 4 and 16 images at once (bench/results/networks-h200.json).
    """

    hosts: int = 100
    gpus: int = 8
    """The GPUs of each host."""
    memory: float = 120 * GB
    """Memory for keys, of the 141 GB of a GPU; the rest is for weights and workspace."""
    tenants: int = 1000
    least_bytes: float = 1 * GB
    most_bytes: float = 7 * GB
    """The bytes of a tenant's keys lie evenly between the two."""
    exponent: float = 1.0
    """The exponent of Zipf's law of the requests."""
    rate: float = 1700.0
    """Requests a second."""
    seconds: float = 120.0
    """Seconds in which requests arrive; those of the first fifth are not counted."""
    network: float = 3 * GB
    """Bytes a second from shared storage, of one host: its loads wait for each other."""
    local: float = 20 * GB
    """Bytes a second from the host's memory, where the file is there already."""
    host_memory: float = 1000 * GB
    """Memory for files of keys, of each host."""
    batch: int = 16
    fixed: float = 0.197
    each: float = 0.0343
    limit: int = _LIMIT


class Keys:
    """Keys in one memory, with the order in which they make room.

    Args:
        room: bytes.
        rule: "lru", the least recently used; "lfu", the least often used; "greedy-dual", the smallest number
            of uses for each byte, with age (GreedyDual-Size with frequency).
        dropped: told of each tenant that made room.
    """

    def __init__(self, room: float, rule: str, dropped: Callable[[int], None] = lambda _: None) -> None:
        self._room, self._rule, self._dropped = room, rule, dropped
        self._held: OrderedDict[int, float] = OrderedDict()
        self._uses: dict[int, int] = {}
        self._worth: dict[int, float] = {}
        self._age = 0.0
        self._taken = 0.0

    def __contains__(self, tenant: int) -> bool:
        return tenant in self._held

    def use(self, tenant: int, size: float) -> bool:
        """Whether a tenant's keys were there; they are from now on."""
        found = tenant in self._held
        if not found:
            while self._held and self._taken + size > self._room:
                self._drop()
            self._held[tenant] = size
            self._taken += size
        self._held.move_to_end(tenant)
        self._uses[tenant] = self._uses.get(tenant, 0) + 1
        self._worth[tenant] = self._age + self._uses[tenant] / size
        return found

    def _drop(self) -> None:
        if self._rule == "lru":
            tenant = next(iter(self._held))
        elif self._rule == "lfu":
            tenant = min(self._held, key=self._uses.__getitem__)
        else:
            tenant = min(self._held, key=self._worth.__getitem__)
            self._age = self._worth[tenant]
            del self._uses[tenant]
        self._taken -= self._held.pop(tenant)
        self._dropped(tenant)


EVICTIONS = ("lru", "lfu", "greedy-dual")


class _Gpu:
    """A replica: requests by tenant, which take turns, and keys."""

    def __init__(self, setup: Setup, rule: str, dropped: Callable[[int], None]) -> None:
        self.keys = Keys(setup.memory, rule, dropped)
        self.queues: OrderedDict[int, deque[float]] = OrderedDict()
        self.free = True


class Cluster:
    """The state that a placement sees: orders of replicas by tenant, and requests by replica."""

    def __init__(self, setup: Setup, seed: int, rule: str) -> None:
        self.setup = setup
        self.random = np.random.default_rng(seed)
        self.count = setup.hosts * setup.gpus
        self.holders: list[dict[int, None]] = [{} for _ in range(setup.tenants)]
        """The replicas that have a tenant's keys, by tenant."""
        self.loading: list[dict[int, None]] = [{} for _ in range(setup.tenants)]
        """The replicas that load a tenant's keys, or will, by tenant."""
        self.gpus = [
            _Gpu(setup, rule, lambda tenant, at=at: self.holders[tenant].pop(at, None))  # type: ignore[misc]
            for at in range(self.count)
        ]
        self.waiting: dict[int, int] = dict.fromkeys(range(self.count), 0)
        self._orders: dict[int, list[int]] = {}
        self._draws: list[int] = []

    def order(self, tenant: int) -> list[int]:
        """The replicas of a tenant, by rendezvous hashing."""
        if tenant not in self._orders:
            names = rendezvous(str(tenant), [str(at) for at in range(self.count)])
            self._orders[tenant] = [int(name) for name in names]
        return self._orders[tenant]

    def draw(self, below: int) -> int:
        """A random number."""
        if not self._draws:
            self._draws = self.random.integers(0, 1 << 40, 4096).tolist()
        return self._draws.pop() % below


Placing = Callable[[Cluster, int], "int | None"]


def _random(cluster: Cluster, tenant: int) -> int:  # noqa: ARG001  # as the others
    return cluster.draw(cluster.count)


def _of_first(count: int) -> Placing:
    """A random one of a tenant's first replicas."""
    return lambda cluster, tenant: cluster.order(tenant)[cluster.draw(min(count, cluster.count))]


def _two_choices(count: int) -> Placing:
    """Draw two of a tenant's first replicas, and take the one at which fewer requests wait."""

    def place(cluster: Cluster, tenant: int) -> int:
        order = cluster.order(tenant)
        most = min(count, cluster.count)
        one, other = order[cluster.draw(most)], order[cluster.draw(most)]
        return one if cluster.waiting[one] <= cluster.waiting[other] else other

    return place


def _two_holders(step: int) -> Placing:
    """Draw two replicas that hold or load the keys, and take the one at which fewer requests wait; where both
    are busy, the first of the order that is not."""

    def place(cluster: Cluster, tenant: int) -> int | None:
        held, waiting = [*cluster.holders[tenant], *cluster.loading[tenant]], cluster.waiting
        if held:
            one, other = held[cluster.draw(len(held))], held[cluster.draw(len(held))]
            best = one if waiting[one] <= waiting[other] else other
            if waiting[best] < step:
                return best
        order = cluster.order(tenant)
        return next((at for at in order if waiting[at] < step), order[0])

    return place


def _by_load(step: int) -> Placing:
    """`hemera.ray.placement.choose`, what the server does."""
    return lambda cluster, tenant: choose(
        cluster.order(tenant),
        cluster.waiting,
        cluster.holders[tenant],
        cluster.loading[tenant],
        step=step,
        limit=cluster.setup.limit,
    )


PLACEMENTS: dict[str, Placing] = {
    "random": _random,
    "hash": _of_first(1),
    "rendezvous, 2 replicas": _of_first(2),
    "rendezvous, 8 replicas": _of_first(8),
    "rendezvous, 64 replicas": _of_first(64),
    "two choices of 64 replicas": _two_choices(64),
    "two choices of holders, from 16": _two_holders(16),
    "two choices of holders, from 64": _two_holders(64),
    "by load, from 8": _by_load(8),
    "by load, from 16": _by_load(16),
    "by load, from 32": _by_load(32),
    "by load, from 64": _by_load(64),
}
"""The last ones ask another replica from this many requests on."""
DEFAULT = "by load, from 64"
"""The server's bound: four batches."""


@dataclass(frozen=True)
class Result:
    """The results of one simulation; times in seconds."""

    requests: int
    refused: int
    p50: float
    p99: float
    mean_wait: float
    """The wait of a request before its batch begins."""
    loads: int
    """Keys that were loaded into a GPU's memory."""
    loads_per_second: float
    computing: float
    """Share of the replicas' time."""
    loading: float
    """The same."""
    mean_batch: float
    replicas_of_first: int
    """Replicas that had the keys of the most frequent tenant at the end."""


def zipf(count: int, exponent: float) -> NDArray[np.float64]:
    """The tenants' shares of the requests."""
    weights = np.arange(1, count + 1, dtype=np.float64) ** -exponent
    return np.asarray(weights / weights.sum())


def simulate(setup: Setup, place: Placing, rule: str = "lru", seed: int = 1) -> Result:
    """Simulate requests that arrive by a Poisson process: events in the order of their times."""
    rng = np.random.default_rng(seed)
    sizes = rng.uniform(setup.least_bytes, setup.most_bytes, setup.tenants).tolist()
    total = int(setup.rate * setup.seconds)
    times = np.cumsum(rng.exponential(1 / setup.rate, total)).tolist()
    tenants = rng.choice(setup.tenants, total, p=zipf(setup.tenants, setup.exponent)).tolist()
    cluster = Cluster(setup, seed, rule)
    files = [Keys(setup.host_memory, "lru") for _ in range(setup.hosts)]
    link = [0.0] * setup.hosts
    for tenant in reversed(range(setup.tenants)):
        at = cluster.order(tenant)[0]
        files[at // setup.gpus].use(tenant, sizes[tenant])
        cluster.gpus[at].keys.use(tenant, sizes[tenant])
        cluster.holders[tenant][at] = None
    begin = setup.seconds / 5
    latencies: list[float] = []
    waits: list[float] = []
    refused = loads = batches = served = 0
    computing = loading = 0.0
    ends: list[tuple[float, int, int, int, list[float]]] = []
    number = itertools.count()

    def start(at: int, now: float) -> None:
        nonlocal loads, batches, served, computing, loading
        gpu = cluster.gpus[at]
        tenant, queue = gpu.queues.popitem(last=False)
        taken = [queue.popleft() for _ in range(min(setup.batch, len(queue)))]
        if queue:
            gpu.queues[tenant] = queue
        ready = now
        if not gpu.keys.use(tenant, sizes[tenant]):
            cluster.loading[tenant][at] = None
            host = at // setup.gpus
            if not files[host].use(tenant, sizes[tenant]):
                ready = link[host] = max(now, link[host]) + sizes[tenant] / setup.network
            ready += sizes[tenant] / setup.local
            if now >= begin:
                loads += 1
        taking = setup.fixed + setup.each * len(taken)
        if now >= begin:
            batches += 1
            served += len(taken)
            computing += taking
            loading += ready - now
            waits.extend(ready - came for came in taken)
        gpu.free = False
        heapq.heappush(ends, (ready + taking, next(number), at, tenant, taken))

    def finish(until: float) -> None:
        while ends and ends[0][0] <= until:
            now, _, at, tenant, taken = heapq.heappop(ends)
            gpu = cluster.gpus[at]
            cluster.loading[tenant].pop(at, None)
            if tenant in gpu.keys:
                cluster.holders[tenant][at] = None
            gpu.free = True
            cluster.waiting[at] -= len(taken)
            latencies.extend(now - came for came in taken if came >= begin)
            if gpu.queues:
                start(at, now)

    for now, tenant in zip(times, tenants, strict=True):
        finish(now)
        chosen = place(cluster, tenant)
        if chosen is None or cluster.waiting[chosen] >= setup.limit:
            refused += now >= begin
            continue
        at = chosen
        gpu = cluster.gpus[at]
        cluster.waiting[at] += 1
        if at not in cluster.holders[tenant]:
            cluster.loading[tenant][at] = None
        gpu.queues.setdefault(tenant, deque()).append(now)
        if gpu.free:
            start(at, now)
    # Rates are of the time of arrivals; what is under way is answered all the same.
    span = times[-1] - begin
    replicas_of_first = sum(0 in gpu.keys for gpu in cluster.gpus)
    rates = {
        "loads": loads,
        "loads_per_second": loads / span,
        "computing": computing / span / cluster.count,
        "loading": loading / span / cluster.count,
        "mean_batch": served / max(batches, 1),
    }
    finish(float("inf"))
    p50, p99 = np.quantile(latencies, [0.5, 0.99]).tolist() if latencies else (0.0, 0.0)
    return Result(
        requests=len(latencies),
        refused=refused,
        p50=p50,
        p99=p99,
        mean_wait=float(np.mean(waits)) if waits else 0.0,
        replicas_of_first=replicas_of_first,
        **rates,
    )
