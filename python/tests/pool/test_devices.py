"""The devices of a pool's members."""

import os
import threading
from pathlib import Path

import numpy as np
import pytest

import hemera as hm
from hemera.objects.devices import DeviceOptions
from hemera.pool import members as pool_members

from ..conftest import make_params
from ..refusals import raises
from .setting import make, same

GPUS = [name for name in hm.devices() if name.startswith("cuda")]


@pytest.mark.fact_of_the_cpu("names of devices")
def test_devices_of_a_pool():
    params = make_params("ckks")
    with hm.Pool(params, ["cpu", "cpu"]) as pool:
        assert (pool.devices, pool.device, len(pool)) == (("cpu", "cpu"), "cpu,cpu", 2)
        assert pool.contexts[0] is not pool.contexts[1]
        assert all(context.params == params for context in pool.contexts)
        assert pool.memory_limit is None
        before = pool.memory_used
        sk = pool.replicate(pool.generate_secret_key())
        assert pool.memory_used >= before + 2 * 1024 * 8
        assert (pool.params, pool.multiplier, pool.storage) == (params, "ntt", "eight-byte")
        assert "cpu,cpu" in repr(pool)
        assert pool.description.count("cpu (") == 2
        assert "Context" in pool._repr_html_()
        pool.synchronize()
        assert pool.on("cpu") is pool.contexts[0]
        del sk
    with hm.Pool(params, ["cpu", "cpu"], threads=1, memory_limit=1 << 20, multiplier="schoolbook") as pool:
        assert pool.memory_limit == 2 << 20
        assert pool.multiplier == "schoolbook"
        assert all("1 thread" in context.description for context in pool.contexts)
        with pytest.raises(hm.errors.OutOfMemoryError):
            pool.generate_keys(pool.generate_secret_key(), rotations=range(1, 60))
    raises(hm.errors.ParameterError, "at least one", hm.Pool, params, [])
    raises(hm.errors.ParameterError, "alone", hm.Pool, params, ["cuda:*", "cpu"])
    raises(hm.errors.DeviceError, "", hm.Pool, params, ["cpu", "cuda:99"])
    raises(TypeError, "by their names", hm.Pool, params, ["cpu", 3])
    raises(TypeError, "devices like", hm.Pool, params, 3)


def test_all_gpus_or_the_reason_why_there_are_none():
    params = make_params("ckks")
    if GPUS:
        with hm.Pool(params, "cuda:*") as pool:
            assert list(pool.devices) == GPUS
    else:
        with pytest.raises(hm.errors.DeviceError) as of_pool:
            hm.Pool(params, "cuda:*")
        with pytest.raises(hm.errors.DeviceError) as of_context:
            hm.Context(params, "cuda")
        assert str(of_pool.value) == str(of_context.value)
        with hm.Pool(params) as pool:
            assert pool.devices == ("cpu",)


@pytest.mark.fact_of_the_cpu("names of devices")
def test_members_know_each_other_by_their_devices():
    with hm.Pool(make_params("ckks"), ["cpu", "ledger", "cpu"], threads=1) as pool:
        first, counting, last = pool.contexts
        assert [context._family["ledger"] for context in pool.contexts] == [counting] * 3
        assert (first.on("cpu"), counting.on("cpu"), last.on("cpu")) == (first, last, last)


@pytest.mark.skipif(not GPUS, reason="there is no GPU")
@pytest.mark.parametrize("scheme", ["ckks", "bfv"])
def test_gpus_have_the_bits_of_the_cpu(scheme):
    """On all GPUs, or twice on one; with graphs, and with copies while members record and compute."""
    one = make(scheme, 1)
    cpu = one.one
    with hm.Pool(one.pool.params, GPUS if len(GPUS) > 1 else GPUS * 2, in_flight=3) as pool:
        ev = pool.bind(pool.load(bytes(cpu.keys)))
        sk = pool.replicate(pool.load(bytes(one.sk)))
        a, b = one.values(5), one.values(5, seed=2)
        one_x, one_y = cpu.encrypt(a), cpu.encrypt(b)
        x, y = one_x.to(ev), one_y.to(ev)
        expected = (one_x * one_y).rotate(1) + one_x
        same((x * y).rotate(1) + x, expected)
        same(x.sum(axis=0), one_x.sum(axis=0))
        same((x * y)[::-1], (one_x * one_y)[::-1])

        stop = threading.Event()
        copied = []

        def copy_on():
            while not stop.is_set():
                copied[:] = [x.parts[0].to(pool.contexts[1]), x.parts[1].to(pool.contexts[0])]

        copying = threading.Thread(target=copy_on)
        copying.start()
        try:
            for _ in range(5):
                graph = ev.capture(lambda x, y: (x * y).rotate(1) + x, x, y)
                assert graph.is_recorded
                same(graph(x, y), expected)
                same((x * y).rotate(1) + x, expected)
        finally:
            stop.set()
            copying.join()
        for part, copy in zip(x.parts, copied, strict=False):
            assert bytes(copy) == bytes(part)

        def there_and_back(evaluator, rows):
            z = evaluator.encrypt(rows)
            return evaluator.context.decrypt(z * z, sk.to(evaluator.context))

        many = one.values(64)
        np.testing.assert_allclose(ev.map(there_and_back, many, batch=4), many * many, atol=2**-18)
        assert pool.memory_limit is not None
        if len(GPUS) > 1:
            assert pool.contexts[1].on(GPUS[0]) is pool.contexts[0]
            assert x.parts[0].to(GPUS[1]).context is pool.contexts[1]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processors are bound on Linux alone")
@pytest.mark.fact_of_the_cpu("nodes of the CPU")
def test_members_of_the_cpu_are_bound_to_their_node(tmp_path, monkeypatch):
    allowed = sorted(os.sched_getaffinity(0))
    nodes = [allowed[:1], allowed[1:]] if len(allowed) > 1 else [allowed]
    for number, cpus in enumerate(nodes):
        folder = tmp_path / f"node{number}"
        folder.mkdir()
        (folder / "cpulist").write_text(",".join(map(str, cpus)) + "\n")
    far = tmp_path / "node10"  # of another process: it has no processor here
    far.mkdir()
    (far / "cpulist").write_text("100000-100003\n")
    (tmp_path / "possible").write_text("0-1")
    monkeypatch.setattr(pool_members, "NODES", tmp_path)
    assert pool_members.nodes_of_processors() == [frozenset(cpus) for cpus in nodes]
    before = {int(task.name) for task in Path("/proc/self/task").iterdir()}
    with hm.Pool(make_params("ckks"), "cpu:*", threads=2) as pool:
        assert pool.devices == ("cpu",) * len(nodes)
        own = {int(task.name) for task in Path("/proc/self/task").iterdir()} - before
        bound = [frozenset(os.sched_getaffinity(thread)) for thread in own]
        for cpus in nodes:
            # The member's thread, and the second thread of its context.
            assert bound.count(frozenset(cpus)) >= 2
        assert set(bound) <= {frozenset(cpus) for cpus in nodes}
        sk = pool.generate_secret_key()
        a = np.ones((3, 4))
        np.testing.assert_allclose(pool.decrypt(pool.encrypt(a, sk), sk), a, atol=2**-18)
    assert set(os.sched_getaffinity(0)) == set(allowed)  # the caller is bound to none
    monkeypatch.setattr(pool_members, "NODES", tmp_path / "missing")
    raises(hm.errors.DeviceError, "does not list", hm.Pool, make_params("ckks"), "cpu:*")


@pytest.mark.parametrize("numbers", [(2, 10), (10, 9), (0, 1, 2, 9, 10, 11, 99, 100), (20, 3, 100)], ids=str)
def test_nodes_are_in_the_order_of_their_numbers(numbers, tmp_path, monkeypatch):
    """Node n has processors 2n and 2n + 1, of which this process has all but the last one."""
    for number in numbers:
        (tmp_path / f"node{number}").mkdir()
        (tmp_path / f"node{number}" / "cpulist").write_text(f"{2 * number}-{2 * number + 1}\n")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(2 * max(numbers) + 1)), raising=False)
    expected = [frozenset({2 * n, 2 * n + 1}) for n in sorted(numbers)]
    expected[-1] -= {2 * max(numbers) + 1}
    assert pool_members.nodes_of_processors(tmp_path) == expected
    monkeypatch.setattr(pool_members, "NODES", tmp_path)
    places = pool_members.places_of("cpu:*", DeviceOptions("cpu"))
    assert [place.processors for place in places] == expected


def test_lists_of_processors():
    assert pool_members._processors_of("0-3,8,10-11\n") == {0, 1, 2, 3, 8, 10, 11}
    assert pool_members._processors_of("\n") == set()
