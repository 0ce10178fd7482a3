"""Keys that are used most for each byte stay, and old uses count less and less."""

from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import Any

import pytest

from hemera.ray.worth import WorthCache

from ..refusals import raises

SIZES = {"a": 6, "b": 2, "c": 2, "d": 4}


def use(cache: WorthCache, names: str) -> list[str]:
    """Uses keys one after the other: those that had to be loaded."""
    loaded: list[str] = []

    def make(name: str) -> Any:
        loaded.append(name)
        return SimpleNamespace(memory_bytes=SIZES[name], is_current=True)

    for name in names:
        assert cache.get(name, "model", 0, lambda name=name: make(name)).memory_bytes == SIZES[name]  # type: ignore[misc]
    return loaded


def held(cache: WorthCache) -> set[str]:
    return {name for name, _ in cache.places}


@pytest.mark.parametrize(
    ("uses", "left"),
    [
        ("aabbbbcca", "bcd"),  # 3 / 6, 4 / 2, 2 / 2: a goes, although it was used last
        ("aaaaaaabbbbc", "bd"),  # 7 / 6, 4 / 2, 1 / 2: c goes, which is not enough, then a
        ("abc", "bcd"),
    ],
)
def test_the_least_uses_for_each_byte_go(uses: str, left: str) -> None:
    cache = WorthCache(10)
    use(cache, uses)
    assert use(cache, "d") == ["d"]
    assert held(cache) == set(left)
    assert cache.bytes == sum(SIZES[name] for name in left)


def test_what_was_popular_once_does_not_stay_for_ever() -> None:
    """b had 20 uses, 10 for each byte. Of a and d, which have no room beside each other, one goes each time
    and leaves its worth to the other, so that after some rounds b is worth less."""
    cache = WorthCache(8)
    use(cache, "b" * 20)
    rounds = 0
    while "b" in held(cache):
        use(cache, "ad")
        rounds += 1
        assert rounds < 200
    assert rounds > 5


@pytest.mark.parametrize(
    ("of_d", "of_b", "left"), [(3, 1, "cd"), (3, 2, "bc"), (5, 1, "cd"), (5, 2, "cd"), (5, 3, "bc")]
)
def test_keys_that_made_room_come_back_as_new_ones(of_d: int, of_b: int, left: str) -> None:
    """b had 20 uses and made room. Those since it came back count alone: 1 / 2 each, and 1 / 4 each of d."""
    cache = WorthCache(6)
    assert use(cache, "b" * 20 + "a" + "d" * of_d + "b" * of_b + "c") == ["b", "a", "d", "b", "c"]
    assert held(cache) == set(left)


def test_one_stays_whatever_it_takes() -> None:
    cache = WorthCache(1)
    assert use(cache, "aabab") == ["a", "b", "a", "b"]
    assert held(cache) == {"b"}


def memory_of(cache: WorthCache) -> int:
    """The bytes of the cache itself, with its counts."""
    return len(pickle.dumps([own for own in vars(cache).values() if isinstance(own, dict)]))


@pytest.mark.parametrize(
    ("drop", "left"),
    [
        (lambda cache: cache.drop("a", "model"), "b"),
        (lambda cache: cache.drop("a", "model", 0), "b"),
        (lambda cache: cache.drop("a", "model", 1), "ab"),
        (lambda cache: cache.drop("c", "model"), "ab"),
        (lambda cache: cache.drop_others("b", "model"), "b"),
        (lambda cache: cache.drop_all("model"), ""),
        (lambda cache: cache.drop_all("other"), "ab"),
    ],
)
def test_dropped_keys_leave_room_and_no_counts(drop: Any, left: str) -> None:
    """As in a cache that never had them; those that come back are new."""
    cache, other = WorthCache(10), WorthCache(10)
    use(cache, "aab")
    use(other, {"": "", "b": "b", "ab": "aab"}[left])
    drop(cache)
    assert held(cache) == set(left)
    assert memory_of(cache) == memory_of(other)
    assert use(cache, "ac") == [name for name in "ac" if name not in left]


def test_keys_that_can_not_be_loaded_leave_no_counts() -> None:
    cache = WorthCache(10)
    empty = memory_of(cache)

    def fails() -> Any:
        raise MemoryError

    raises(MemoryError, "", cache.get, "a", "model", 0, fails)
    assert memory_of(cache) == empty


def test_the_age_grows_by_no_more_than_the_worth_of_new_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each key of one use has 1 / 8 above the age: after 14 of them the age is below the 4 / 2 of b.
    once = "ABCDEFGHIJKLMN"
    for name in once:
        monkeypatch.setitem(SIZES, name, 8)
    cache = WorthCache(10)
    use(cache, "bbbb")
    assert use(cache, once) == list(once)
    assert held(cache) == {"b", once[-1]}
