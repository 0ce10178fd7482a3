"""Many threads: one context from all of them, many contexts at once, and the interpreter free meanwhile."""

import functools
import gc
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import hemera as hm

from .conftest import make_params


def test_one_evaluator_from_many_threads(party):
    a = party.values(2, 16)
    x = party.ev.encrypt(a)
    expected = bytes((x * x).rotate(1) + 1)

    def work(_):
        return bytes((x * x).rotate(1) + 1)

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(work, range(16))) == {expected}


def test_many_contexts_at_once():
    def work(scheme):
        ctx = hm.Context(make_params(scheme), "cpu", threads=1)
        sk = ctx.generate_secret_key()
        x = ctx.bind(ctx.generate_keys(sk)).encrypt([1, 2, 3, 4])
        return bool(np.allclose(ctx.decrypt(x * x, sk), [1, 4, 9, 16], atol=2**-18))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, ["ckks", "bfv", "bgv"] * 4))


@pytest.mark.fact_of_the_cpu("threads")
def test_number_of_threads_changes_no_bit(party):
    data, keys = bytes(party.ev.encrypt(party.values(3, 16))), bytes(party.ev.keys)
    results = set()
    for threads in (1, 2, 3):
        ctx = hm.Context(make_params(party.scheme), "cpu", threads=threads)
        assert f"{threads} thread" in ctx.description
        x = ctx.bind(ctx.load(keys)).load(data)
        results.add(bytes((x * x + x.rotate(2)).shrink()))
    assert len(results) == 1


@pytest.mark.fact_of_the_cpu("threads")
def test_other_threads_run_during_the_work():
    """While one thread generates keys, another one must get the interpreter many times."""
    ctx = hm.Context(hm.ckks.Parameters.for_circuit(4), "cpu", threads=1)
    sk = ctx.generate_secret_key()
    done = threading.Event()

    def work():
        ctx.generate_keys(sk, rotations=range(1, 9))
        done.set()

    worker = threading.Thread(target=work)
    worker.start()
    turns = 0
    while not done.is_set():
        turns += 1
        time.sleep(0.0005)
    worker.join()
    assert turns > 5


CALLS = {
    "encode": lambda ev, _, a: functools.partial(ev.encode, np.tile(a, (16, 1))),
    "decode": lambda ev, _, a: functools.partial(ev.context.decode, ev.encode(np.tile(a, (16, 1)))),
    "encrypt": lambda ev, _, a: functools.partial(ev.encrypt, ev.encode(a)),
    "encrypt symmetrically": lambda ev, sk, a: functools.partial(ev.context.encrypt, ev.encode(a), sk),
    "decrypt": lambda ev, sk, a: functools.partial(ev.context.decrypt, ev.encrypt(a), sk),
    "multiply": lambda ev, _, a: functools.partial(ev.multiply, x := ev.encrypt(a), x),
    "rotate": lambda ev, _, a: functools.partial(ev.rotate, ev.encrypt(a), 1),
    "gather": lambda ev, _, a: functools.partial(ev.encrypt(a)._gather, np.arange(4096) % len(a)),
    "save": lambda ev, _, a: functools.partial(bytes, ev.encrypt(a)),
    "load": lambda ev, _, a: functools.partial(ev.load, bytes(ev.encrypt(a))),
    "copy to another context": lambda ev, *_: functools.partial(
        ev.keys.to, hm.Context(ev.context.params, "cpu", threads=1)
    ),
}


@pytest.fixture(scope="module", params=["ckks", "bfv"])
def long_calls(request):
    """Keys and rows of values, for calls of some milliseconds on one thread."""
    ctx = hm.Context(make_params(request.param), "cpu", threads=1)
    sk = ctx.generate_secret_key()
    rows = np.ones((256, ctx.params.max_slots))
    ev = ctx.bind(ctx.generate_keys(sk, rotations=range(1, 200)))
    return ev, sk, rows if request.param == "ckks" else rows.astype(np.int64)


@pytest.mark.parametrize("name", CALLS)
def test_other_threads_run_in_the_middle_of_a_call(long_calls, name):
    """Threads of a pool's members compute at the same time only if each call lets go of the interpreter."""
    call = CALLS[name](*long_calls)
    turns, done = 0, threading.Event()

    def count():
        nonlocal turns
        while not done.is_set():
            turns += 1
            time.sleep(0.0001)

    counting = threading.Thread(target=count)
    counting.start()
    most, end = 0, time.monotonic() + 20
    while most < 5 and time.monotonic() < end:
        before = turns
        call()
        most = max(most, turns - before)
    done.set()
    counting.join()
    assert most >= 5


@pytest.mark.fact_of_the_cpu("threads")
def test_a_context_goes_with_the_last_of_its_objects(party):
    ctx = hm.Context(party.ctx.params, "cpu")
    sk = ctx.generate_secret_key()
    x = ctx.encrypt(party.values(16), sk)
    x = (ctx.load(bytes(x)).to("cpu") + 1) * 2
    ctx.decode(ctx.encode(party.values(16)))
    gone = weakref.ref(ctx)
    gc.disable()
    try:
        # Keys of a large ring are gigabytes: they can not wait for the garbage collector.
        del ctx, sk
        assert gone() is not None
        del x
        assert gone() is None
    finally:
        gc.enable()
