"""Keys that chains of operations need, and the lifetime of contexts."""

import gc
import logging
import os
import re
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

import hemera as hm
from hemera.integers import needs
from hemera.integers.margins import MOST_LEFT

from .setting import context, operands
from .steps import BINARY, FURTHER, RELOADED, UNARY, step_of


@pytest.mark.parametrize("bits", [8, 64])
def test_memory_is_that_of_the_keys(bits):
    ints = hm.integers.Context(bits, preset="test-exact", device="cpu")
    found = ints.needs()
    before = ints._ckks._native.memory_used
    ints._ckks._native.reset_memory_peak()
    assert ints.keys.memory_bytes == found.key_bytes
    own = ints._ckks._native.memory_peak - before
    assert 0.97 * found.peak_bytes < own < 1.03 * found.peak_bytes
    assert found.peak_bytes > found.key_bytes
    assert hm.integers.Context(bits, keys=ints.keys).needs() == needs.Needs(
        found.key_bytes, found.key_bytes, 0
    )


def test_the_time_is_that_of_all_keys(monkeypatch):
    """The clock of the test shows how long one key takes."""
    ints = hm.integers.Context(8, preset="test-exact", device="ledger")
    clock = iter([100.0, 103.0])
    monkeypatch.setattr(needs, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    one = ints._ckks.generate_keys(ints.secret_key, rotations=[1], relinearization=False).memory_bytes
    found = ints.needs()
    assert found.seconds == pytest.approx(3 * found.key_bytes / one)


def test_the_preset_that_is_secure_tells_gigabytes():
    """docs/integers.md has these numbers, and 0.8 GB of the process besides."""
    found = hm.integers.Context(64, device="ledger").needs()
    assert 8.0e9 < found.key_bytes < 8.2e9
    assert 14.8e9 < found.peak_bytes < 15.0e9
    assert re.fullmatch(r"keys of 8\.1 GB, 14\.9 GB while they are made, in about \d+ s", str(found))


@pytest.mark.fact_of_the_cpu("memory of the machine")
def test_keys_without_room_are_refused_before_memory_is_taken(monkeypatch):
    peak = hm.integers.Context(8, preset="test-exact", device="ledger").needs().peak_bytes
    for limit, is_refused in ((peak - 1, True), (peak, False)):
        ints = hm.integers.Context(8, preset="test-exact", device="cpu", memory_limit=limit)
        before = ints._ckks._native.memory_used
        monkeypatch.setattr("hemera.Context.generate_keys", lambda *_, **__: "made")
        if is_refused:
            with pytest.raises(hm.errors.OutOfMemoryError, match=rf"and {peak} .*'cpu' has {limit} for them"):
                _ = ints.keys
        else:
            assert ints.keys == "made"
        assert ints._ckks._native.memory_used == before
    monkeypatch.setattr(needs, "memory_bytes", lambda: 2**20)
    with pytest.raises(hm.errors.OutOfMemoryError, match="'cpu' has 1048576 for them"):
        _ = hm.integers.Context(8, preset="test-exact", device="cpu").keys


def test_the_log_has_it(caplog):
    ints = hm.integers.Context(8, preset="test-exact", device="cpu")
    with caplog.at_level(logging.INFO, logger="hemera.integers"):
        assert ints.keys.has_relinearization
    assert re.search(r"making keys of \d+ MB, \d+ MB while they are made, in about \d+ s", caplog.text)


@pytest.mark.parametrize(("name", "bits", "steps"), [("uint8", 8, 10), ("int16", 64, 4), ("int32", 32, 4)])
@pytest.mark.parametrize("seed", range(int(os.environ.get("CHAINS", "1"))))
def test_chains_have_no_end(name, bits, steps, seed):
    steps = int(os.environ.get("STEPS", steps))
    ints, dtype = context(bits), np.dtype(name)
    rng = np.random.default_rng([steps, seed])
    clear = [operands(ints, dtype, seed)[0] for seed in range(3)]
    held = [ints.encrypt(a) for a in clear]
    for step in range(steps):
        operation, (of_numpy, of_hemera), chosen = step_of(rng, BINARY, [*UNARY, *FURTHER, RELOADED])
        with np.errstate(over="ignore"):
            expected = of_numpy(*(clear[k] for k in chosen))
        found = of_hemera(*(held[k] for k in chosen))
        np.testing.assert_array_equal(ints.decrypt(found), expected, f"step {step}, {operation}")
        assert found.dtype == expected.dtype == dtype
        assert found.failure_log2 < -100
        assert 0 < found.error <= MOST_LEFT
        result = int(rng.integers(3))
        clear[result], held[result] = expected, found
        if step % 20 == 10:  # values that operations made alike
            clear[result] = operands(ints, dtype, step)[1]
            held[result] = found * 0 + clear[result]


def test_a_dropped_context_is_gone_at_once():
    ints = hm.integers.Context(8, preset="test-exact")
    a = ints.encrypt(np.array([200, 3, 7], np.uint8))
    # Tables, products and their plans, of which some are kept for all contexts.
    np.testing.assert_array_equal(ints.decrypt(a * a), np.array([64, 9, 49], np.uint8))
    np.testing.assert_array_equal(ints.decrypt(a < 7), [False, True, False])
    held = [weakref.ref(each) for each in (ints, ints._ckks, ints._engine)]  # other contexts may share plans
    gc.collect()
    gc.disable()
    try:
        del ints
        assert held[0]() is not None  # the values need it
        del a
        assert [each() for each in held] == [None] * len(held)
    finally:
        gc.enable()
