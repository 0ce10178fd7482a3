"""Progress of long work: the calls, and that an exception ends the work."""

import numpy as np
import pytest

import hemera as hm

from .refusals import refuse


class CancelledError(Exception):
    """Raised by a progress function."""


def stops_at(wanted, calls):
    """Notes its calls, and ends the work at the call with this index."""

    def told(*call):
        calls.append(call)
        if len(calls) > wanted:
            raise CancelledError

    return told


def require_steady(calls, stage):
    """The number of all steps: calls go from 0 to it, and never back."""
    assert {call[0] for call in calls} == {stage}
    (total,) = {call[2] for call in calls}
    done = [call[1] for call in calls]
    assert (done, done[0], done[-1]) == (sorted(done), 0, total)
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
def test_keys_are_counted(party, asked, count):
    """They are those of no progress, each of its level: `galois_level` makes rotation keys smaller."""
    calls = []
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


@pytest.mark.parametrize("wanted", [0, 1, 3])
def test_an_exception_ends_the_making_of_keys(ckks, wanted):
    calls = []
    with pytest.raises(CancelledError):
        ckks.ctx.generate_keys(ckks.sk, rotations=range(1, 9), progress=stops_at(wanted, calls))
    assert len(calls) == wanted + 1


def test_a_local_run_tells_its_keys_then_its_operations():
    plan = hm.compile(lambda x: (x * x).sum() + x, hm.ArraySpec((8,), range=(-1, 1)))
    calls = []
    local = plan.local(progress=lambda *call: calls.append(call))
    assert require_steady(calls, "keys") >= 2
    calls.clear()
    x = np.linspace(-1, 1, 8)
    np.testing.assert_allclose(local(x), (x * x).sum() + x, atol=1e-3)
    assert require_steady(calls, "run") == len(plan.package._program.nodes)


@pytest.mark.parametrize("wanted", [0, 2])
def test_an_exception_ends_a_local_run_and_the_next_one_is_right(wanted):
    plan = hm.compile(lambda x: (x * x).sum() + x, hm.ArraySpec((8,), range=(-1, 1)))
    calls = []
    ends = [lambda *_: None]
    local = plan.local(progress=lambda *call: ends[0](*call))
    ends[0] = stops_at(wanted, calls)
    x = np.linspace(0, 1, 8)
    refuse((lambda: local(x), CancelledError, None))
    assert len(calls) == wanted + 1
    ends[0] = lambda *_: None
    np.testing.assert_allclose(local(x), (x * x).sum() + x, atol=1e-3)


def test_a_compilation_tells_its_stages():
    calls = []
    spec = hm.ArraySpec((8,), range=(-1, 1))
    plan = hm.compile(lambda x: (x * x).sum() + x, spec, progress=lambda *call: calls.append(call))
    stages = [call[0] for call in calls]
    assert stages[:2] == ["trace", "trace"]
    assert "lower" in stages
    assert stages[-1] == "package"
    assert all(0 <= done <= count for _, done, count in calls)
    assert plan.package.params == hm.compile(lambda x: (x * x).sum() + x, spec).package.params


@pytest.mark.parametrize("wanted", [0, 1, 3])
def test_an_exception_ends_a_compilation_and_the_next_one_is_told_nothing(wanted):
    calls = []
    spec = hm.ArraySpec((8,), range=(-1, 1))
    with pytest.raises(CancelledError):
        hm.compile(lambda x: (x * x).sum() + x, spec, progress=stops_at(wanted, calls))
    assert len(calls) == wanted + 1
    hm.compile(lambda x: x + 1, spec)
    assert len(calls) == wanted + 1
