"""The simulation of many replicas, judged by what queueing theory knows of single ones."""

import json
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from scipy import optimize

from hemera.cli import main
from hemera_apps.bench.cluster import DEFAULT, EVICTIONS, PLACEMENTS, Keys, Setup, simulate, zipf

ONE = Setup(hosts=1, gpus=1, tenants=1, batch=1, fixed=1.0, each=0.0, limit=10**6, seconds=200_000.0)
"""One replica, one tenant, no batches, a second for each request."""


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_one_replica_is_an_m_d_1_queue(load):
    """Pollaczek and Khinchine: the mean wait is load / (2 (1 - load)) of a service."""
    found = simulate(Setup(**{**vars(ONE), "rate": load}), PLACEMENTS["hash"])
    assert found.mean_wait == pytest.approx(load / (2 * (1 - load)), rel=0.05)
    assert found.computing == pytest.approx(load, rel=0.02)
    assert (found.refused, found.loads, found.mean_batch) == (0, 0, 1)


def test_random_replicas_are_m_d_1_queues_of_their_own():
    setup = Setup(**{**vars(ONE), "gpus": 4, "rate": 4 * 0.6, "seconds": 50_000.0})
    found = simulate(setup, PLACEMENTS["random"])
    assert found.mean_wait == pytest.approx(0.6 / (2 * 0.4), rel=0.05)
    assert simulate(setup, PLACEMENTS["two choices of 64 replicas"]).mean_wait < 0.7 * found.mean_wait


def test_batches_take_what_waits():
    """Full batches: batch / (fixed + each * batch) requests a second."""
    full = {"batch": 4, "fixed": 1.0, "each": 0.25, "limit": 8, "rate": 10, "seconds": 5e3}
    setup = Setup(**{**vars(ONE), **full})
    found = simulate(setup, PLACEMENTS["hash"])
    assert found.mean_batch == pytest.approx(4, rel=1e-3)
    answered = 1 - found.refused / (found.refused + found.requests)
    assert answered * setup.rate == pytest.approx(4 / 2, rel=0.03)


def test_least_recently_used_keys_hit_as_che_says():
    """Che: a tenant's keys are there with 1 - exp(-rate t), where t fills the memory. Requests
    are rare enough that none waits for another."""
    tenants, room = 200, 40
    rates = zipf(tenants, 1.0)
    time = optimize.brentq(lambda t: np.sum(1 - np.exp(-rates * t)) - room, 1e-3, 1e6)
    hit = float(np.sum(rates * (1 - np.exp(-rates * time))))
    setup = Setup(
        **{
            **vars(ONE),
            "tenants": tenants,
            "least_bytes": 1.0,
            "most_bytes": 1.0 + 1e-12,
            "memory": room + 0.5,
            "rate": 0.02,
            "seconds": 4_000_000.0,
            "fixed": 1e-3,
            "network": 1e9,
            "local": 1e9,
        }
    )
    found = simulate(setup, PLACEMENTS["hash"])
    assert 1 - found.loads / found.requests == pytest.approx(hit, abs=0.01)
    often = simulate(setup, PLACEMENTS["hash"], "lfu")
    # What is asked for independently is kept best by its number of uses: the 40 most frequent.
    assert 1 - often.loads / often.requests == pytest.approx(float(np.sum(rates[:room])), abs=0.02)


@pytest.mark.parametrize(("rule", "left"), [("lru", {0, 3}), ("lfu", {1, 3}), ("greedy-dual", {1, 2, 3})])
def test_who_makes_room(rule, left):
    dropped = []
    keys = Keys(10, rule, dropped.append)
    for tenant, size, times in ((0, 6, 2), (1, 2, 4), (2, 2, 2), (0, 6, 1)):
        for _ in range(times):
            keys.use(tenant, size)
    assert not keys.use(3, 4)
    assert {tenant for tenant in range(4) if tenant in keys} == left
    assert sorted(dropped) == sorted({0, 1, 2} - left)


def test_the_network_of_a_host_is_shared():
    """Loads wait for each other on their host: two GPUs that load all the time get half of it each."""
    sizes = {"tenants": 1000, "exponent": 0.0, "memory": 1.0, "host_memory": 1.0}
    speeds = {"network": 1.0, "local": 1e12, "fixed": 0.0, "each": 1e-9, "rate": 10.0, "seconds": 2000.0}
    same = {"least_bytes": 1.0, "most_bytes": 1.0 + 1e-12, "gpus": 2}
    setup = Setup(**{**vars(ONE), **sizes, **speeds, **same})
    found = simulate(setup, PLACEMENTS["random"])
    assert found.loads_per_second == pytest.approx(1.0, rel=0.02)
    local = simulate(Setup(**{**vars(setup), "network": 1e12, "local": 1.0}), PLACEMENTS["random"])
    assert local.loads_per_second == pytest.approx(2.0, rel=0.02)


@pytest.mark.parametrize(("uses", "left"), [(1, {"b", "e"}), (4, {"c", "e"}), (9, {"c", "e"})])
def test_keys_that_made_room_come_back_as_new_ones(uses, left):
    """b had 20 uses before it made room: 1 / 2 above the age counts, next to 1 / 4 for each use of c."""
    keys = Keys(6, "greedy-dual")
    for name, size in [("b", 2)] * 20 + [("d", 6), ("b", 2)] + [("c", 4)] * uses + [("e", 2)]:
        keys.use(name, size)
    assert {name for name in "bcde" if name in keys} == left


@pytest.mark.parametrize("limit", [10**6, 3])
def test_the_first_fifth_of_the_requests_is_not_counted(limit):
    setup = replace(ONE, seconds=500.0, rate=2.0, limit=limit)
    found = simulate(setup, PLACEMENTS["hash"], seed=3)
    random = np.random.default_rng(3)
    random.uniform(size=setup.tenants)  # the sizes of keys come first
    times = np.cumsum(random.exponential(1 / setup.rate, int(setup.rate * setup.seconds)))
    assert found.requests + found.refused == np.count_nonzero(times >= 100)
    assert (found.refused > 0) == (limit == 3)


def test_the_seed_decides():
    small = Setup(hosts=2, gpus=2, tenants=50, rate=20.0, seconds=30.0)
    assert simulate(small, PLACEMENTS[DEFAULT], seed=3) == simulate(small, PLACEMENTS[DEFAULT], seed=3)
    assert simulate(small, PLACEMENTS[DEFAULT], seed=3) != simulate(small, PLACEMENTS[DEFAULT], seed=4)
    assert set(EVICTIONS) == {"lru", "lfu", "greedy-dual"}


def test_the_command_and_its_figure(tmp_path):
    results, figure = tmp_path / "a.json", tmp_path / "a.svg"
    words = ["bench", "scaling", "--tiny", "--json", str(results)]
    drawn = find_spec("matplotlib") is not None
    assert main([*words, "--plot", str(figure)] if drawn else words) == 0
    found = json.loads(results.read_text(encoding="utf-8"))
    assert {row["placement"] for row in found["rows"] if row["kind"] == "placement"} == set(PLACEMENTS)
    assert {row["eviction"] for row in found["rows"]} == set(EVICTIONS)
    if drawn:
        text = figure.read_text(encoding="utf-8")
        assert all(f">{name}<" in text for name in PLACEMENTS)
    else:
        pytest.skip("matplotlib is not installed, so no figure was drawn (extra 'bench')")
