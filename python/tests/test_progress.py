"""Progress of long work: the calls, and that an exception ends the work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hemera as hm


class CancelledError(Exception):
    """Raised by a progress function."""


def stops_at(wanted: int, calls: list[tuple[str, int, int]]) -> Callable[[str, int, int], None]:
    """Notes its calls, and ends the work at the call with this index."""

    def told(*call: Any) -> None:
        calls.append(call)
        if len(calls) > wanted:
            raise CancelledError

    return told


def require_steady(calls: list[tuple[str, int, int]], stage: str) -> int:
    """The number of all steps: calls go from 0 to it, and never back."""
    assert {call[0] for call in calls} == {stage}
    (total,) = {call[2] for call in calls}
    done = [call[1] for call in calls]
    assert done == sorted(done)
    assert done[0] == 0
    assert done[-1] == total
    return total


@pytest.mark.parametrize(
    ("asked", "count"),
    [
        ({}, 2),
        ({"rotations": [1, -2, 5]}, 5),
        ({"public_key": False, "relinearization": False, "rotations": [3]}, 1),
        ({"public_key": False}, 1),
        ({"rotations": [1, -2], "galois_level": 0}, 4),
        ({"relinearization": False, "sum_slots": 8, "galois_level": 1}, None),
        ({"public_key": False, "relinearization": False, "other": True, "galois_level": 0}, 1),
        ({"rotations": [4], "other": True, "galois_level": 0}, 4),
    ],
)
def test_keys_are_counted(party: Any, asked: dict[str, Any], count: int | None) -> None:
    """They are those of no progress, each of its level: `galois_level` makes rotation keys smaller."""
    calls: list[tuple[str, int, int]] = []
    asked = dict(asked)
    if asked.pop("other", False):
        asked["conjugation" if party.ctx.params.scheme == "ckks" else "swap_rows"] = True
    keys = party.ctx.generate_keys(party.sk, **asked, progress=lambda *call: calls.append(call))
    assert require_steady(calls, "keys") == count or count is None
    others = party.ctx.generate_keys(party.sk, **asked)
    assert keys.memory_bytes == others.memory_bytes
    if "galois_level" in asked:
        assert (
            keys.memory_bytes
            < party.ctx.generate_keys(party.sk, **asked | {"galois_level": None}).memory_bytes
        )
    for steps in asked.get("rotations", ()):
        assert keys.has_rotation(steps)
    if len(asked) == 1 and "rotations" in asked:
        ev = party.ctx.bind(keys)
        x = party.values(8)
        found = party.ctx.decrypt((ev.encrypt(x) * ev.encrypt(x)).rotate(5), party.sk)
        np.testing.assert_allclose(found[:3], x[5:8] ** 2, atol=1e-4)


def test_keys_of_a_bootstrap_are_those_of_no_progress() -> None:
    params = hm.ckks.Parameters.for_bootstrapping("test-40")
    boot = hm.circuits.Bootstrap(params, slots=16)
    ctx = hm.Context(params)
    sk = ctx.generate_secret_key()
    calls: list[tuple[str, int, int]] = []
    keys = ctx.generate_keys(sk, plan=boot, progress=lambda *call: calls.append(call))
    assert require_steady(calls, "keys") == len(boot.needed_keys) + 2
    assert len(calls) > 5
    x = np.linspace(-1, 1, 16)
    ev = ctx.bind(keys, bootstrap=boot)
    low = ev.encrypt(x).at_level(3)
    np.testing.assert_allclose(ctx.decrypt(low.bootstrap(), sk), x, atol=2**-12)


@pytest.mark.parametrize("wanted", [0, 1, 3])
def test_an_exception_ends_the_making_of_keys(ckks: Any, wanted: int) -> None:
    calls: list[tuple[str, int, int]] = []
    with pytest.raises(CancelledError):
        ckks.ctx.generate_keys(ckks.sk, rotations=range(1, 9), progress=stops_at(wanted, calls))
    assert len(calls) == wanted + 1


def test_a_local_run_tells_its_keys_then_its_operations() -> None:
    plan = hm.compile(lambda x: (x * x).sum() + x, hm.ArraySpec((8,), range=(-1, 1)))
    calls: list[tuple[str, int, int]] = []
    local = plan.local(progress=lambda *call: calls.append(call))
    assert require_steady(calls, "keys") >= 2
    calls.clear()
    x = np.linspace(-1, 1, 8)
    np.testing.assert_allclose(local(x), (x * x).sum() + x, atol=1e-3)
    assert require_steady(calls, "run") == len(plan.package._program.nodes)


@pytest.mark.parametrize("wanted", [0, 2])
def test_an_exception_ends_a_local_run_and_the_next_one_is_right(wanted: int) -> None:
    plan = hm.compile(lambda x: (x * x).sum() + x, hm.ArraySpec((8,), range=(-1, 1)))
    calls: list[tuple[str, int, int]] = []
    ends = [lambda *_: None]
    local = plan.local(progress=lambda *call: ends[0](*call))
    ends[0] = stops_at(wanted, calls)
    x = np.linspace(0, 1, 8)
    with pytest.raises(CancelledError):
        local(x)
    assert len(calls) == wanted + 1
    ends[0] = lambda *_: None
    np.testing.assert_allclose(local(x), (x * x).sum() + x, atol=1e-3)


def test_a_compilation_tells_its_stages() -> None:
    calls: list[tuple[str, int, int]] = []
    spec = hm.ArraySpec((8,), range=(-1, 1))
    plan = hm.compile(lambda x: (x * x).sum() + x, spec, progress=lambda *call: calls.append(call))
    stages = [call[0] for call in calls]
    assert stages[:2] == ["trace", "trace"]
    assert "lower" in stages
    assert stages[-1] == "package"
    assert all(0 <= done <= count for _, done, count in calls)
    assert plan.package.params == hm.compile(lambda x: (x * x).sum() + x, spec).package.params


@pytest.mark.parametrize("wanted", [0, 1, 3])
def test_an_exception_ends_a_compilation_and_the_next_one_is_told_nothing(wanted: int) -> None:
    calls: list[tuple[str, int, int]] = []
    spec = hm.ArraySpec((8,), range=(-1, 1))
    with pytest.raises(CancelledError):
        hm.compile(lambda x: (x * x).sum() + x, spec, progress=stops_at(wanted, calls))
    assert len(calls) == wanted + 1
    hm.compile(lambda x: x + 1, spec)
    assert len(calls) == wanted + 1
