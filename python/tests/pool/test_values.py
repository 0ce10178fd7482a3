"""Values of a pool next to those of one context: copies, results in place, files, and how results are cut."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hemera import _core
from hemera.objects.devices import DeviceOptions
from hemera.pool.members import places_of

from .setting import Setting, same

COPIES: dict[str, Callable[[Setting, Any], Any]] = {
    "copy": lambda _, x: x.copy(),
    "to its pool": lambda setting, x: x.to(setting.pool),
    "to its evaluator": lambda setting, x: x.to(setting.ev),
    "to the first member": lambda setting, x: x.to(setting.pool.contexts[0]),
    "to the last member": lambda setting, x: x.to(setting.pool.contexts[-1]),
    "all of it": lambda _, x: x[:],
    "loaded": lambda setting, x: setting.pool.load(bytes(x)),
    "of a part": lambda setting, x: x.parts[0].to(setting.pool),
}


WITH_KEYS = ("copy", "to its evaluator", "all of it")


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("name", COPIES)
def test_a_copy_changes_alone(ckks: Setting, name: str, count: int) -> None:
    x = ckks.ev.encrypt(ckks.values(count))
    first = bytes(x)
    made = COPIES[name](ckks, x)
    assert made is not x
    assert made.evaluator.has_keys == (name in WITH_KEYS)
    before = bytes(made)
    made += 1
    assert bytes(made) != before
    assert bytes(x) == first
    again = COPIES[name](ckks, x)
    x += 1
    assert bytes(again) == before


IN_PLACE: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add": lambda ev, x, out: ev.add(x, x, out=out),
    "subtract": lambda ev, x, out: ev.subtract(x, 1, out=out),
    "multiply": lambda ev, x, out: ev.multiply(x, 0.5, out=out),
    "square": lambda ev, x, out: ev.square(x, out=out),
    "rotate": lambda ev, x, out: ev.rotate(x, 1, out=out),
    "sum over the batch": lambda ev, x, out: ev.sum(x, axis=0, out=out),
    "sum of slots": lambda ev, x, out: ev.sum(x, out=out),
    "mean over the batch": lambda ev, x, out: ev.mean(x, axis=0, out=out),
    "dot": lambda ev, x, out: ev.dot([x], [x], out=out),
    "at_level": lambda ev, x, out: ev.at_level(x, 1, out=out),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_results_in_place_belong_to_the_evaluator_that_made_them(ckks: Setting, name: str) -> None:
    """As those of one context: what comes next with operators has its keys."""
    x, one_x = ckks.pair(ckks.values(3))
    other = ckks.pool.bind(ckks.ev.keys, relinearization="lazy")
    for ev, given in ((other, x), (other.evaluators[0], one_x)):
        out = given.copy()
        assert out.evaluator is not ev
        assert IN_PLACE[name](ev, given, out) is out
        assert out.evaluator is ev
    same(IN_PLACE[name](other, x, x.copy()), IN_PLACE[name](other.evaluators[0], one_x, one_x.copy()))


@pytest.mark.parametrize("compression", [0, 1, 9])
def test_files_are_those_of_one_context(ckks: Setting, tmp_path: Path, compression: int) -> None:
    x, one = ckks.pair(ckks.values(3))
    x, one = x - x, one - one  # zeros, which are packed; others are not
    expected = bytes(one.to_bytes(compression=compression))
    x.save(tmp_path / "x", compression=compression)
    assert (tmp_path / "x").read_bytes() == x.to_bytes(compression=compression) == expected
    assert (expected == bytes(one)) == (compression == 0)
    same(ckks.pool.load(tmp_path / "x"), one)


def test_the_first_operand_with_most_axes_decides_on_the_cut(ckks: Setting) -> None:
    whole = list(range(len(ckks.pool)))
    cut, wide = ckks.ev.encrypt(ckks.values(3)), ckks.ev.encrypt(ckks.values(3, 3))
    together = ckks.ev.multiply_rows([[1, 0, 0], [0, 1, 0], [0, 0, 1]], cut)
    together = together.rescale() if together.level > cut.level else together
    assert (cut.members, wide.members, together.members) == (whole, whole, [0])
    for operation in (ckks.ev.add, ckks.ev.subtract, ckks.ev.multiply):
        assert operation(together, cut).members == [0]
        assert operation(cut, together).members == whole
        assert operation(together, wide).members == whole
        assert operation(wide, together).members == whole
    assert ckks.ev.add_many([together, cut, cut]).members == [0]
    assert ckks.ev.add_many([cut, together, together]).members == whole
    ckks.check(together + cut, 2 * ckks.values(3))
    ckks.check(cut + together, 2 * ckks.values(3))
    ckks.check(together + wide, ckks.values(3) + ckks.values(3, 3))


@pytest.mark.parametrize("available", [1, 7, 8])
@pytest.mark.parametrize(
    "names", [["cpu"], ["cpu", "cpu"], ["cpu", "cuda:0"], ["cuda:0", "cpu", "cpu", "cpu"], ["cuda:0"] * 2]
)
def test_members_on_the_cpu_share_the_processors(
    monkeypatch: pytest.MonkeyPatch, names: list[str], available: int
) -> None:
    """Members on GPUs take none of them. A number that was given is each member's."""
    monkeypatch.setattr(_core, "available_processors", lambda: available)
    on_cpu = names.count("cpu")
    shared = max(1, available // on_cpu) if on_cpu > 1 else None  # None: all
    found = places_of(names, DeviceOptions())
    assert [place.options.device for place in found] == names
    assert [place.options.threads for place in found] == [shared] * len(names)
    assert all(place.processors is None for place in found)
    assert {place.options.threads for place in places_of(names, DeviceOptions(threads=3))} == {3}
