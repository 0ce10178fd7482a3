"""The memory and the time of a context's keys, before they are made."""

from __future__ import annotations

import logging
import re

import pytest

import hemera as hm
from hemera.integers import needs


@pytest.mark.parametrize("bits", [8, 64])
def test_memory_is_that_of_the_keys(bits: int) -> None:
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


def test_the_time_is_that_of_all_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of the test shows how long one key takes."""
    ints = hm.integers.Context(8, preset="test-exact", device="ledger")
    clock = iter([100.0, 103.0])
    monkeypatch.setattr(needs.time, "perf_counter", lambda: next(clock))
    one = ints._ckks.generate_keys(ints.secret_key, rotations=[1], relinearization=False).memory_bytes
    found = ints.needs()
    assert found.seconds == pytest.approx(3 * found.key_bytes / one)


def test_the_preset_that_is_secure_tells_gigabytes() -> None:
    """docs/integers.md has these numbers, measured: 17.3 GB with the process."""
    found = hm.integers.Context(64, device="ledger").needs()
    assert 8.7e9 < found.key_bytes < 8.9e9
    assert 16.4e9 < found.peak_bytes < 16.7e9
    assert re.fullmatch(r"keys of 8\.8 GB, 16\.5 GB while they are made, in about \d+ s", str(found))


@pytest.mark.fact_of_the_cpu("memory of the machine")
def test_keys_without_room_are_refused_before_memory_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_the_log_has_it(caplog: pytest.LogCaptureFixture) -> None:
    ints = hm.integers.Context(8, preset="test-exact", device="cpu")
    with caplog.at_level(logging.INFO, logger="hemera.integers"):
        assert ints.keys.has_relinearization
    assert re.search(r"making keys of \d+ MB, \d+ MB while they are made, in about \d+ s", caplog.text)
