"""Which sessions stay in a device's memory: those that were used last, while there is room."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hemera.serving.session_cache import Session, SessionCache


class Kept(Session):
    """A session of so many bytes, graphs and prepared answers, until its model is replaced."""

    graphs = prepared = memory_bytes = 0  # type: ignore[assignment]
    is_current = True  # type: ignore[assignment]

    def __init__(self, size: int = 10) -> None:
        super().__init__()
        self.memory_bytes, self.graphs, self.prepared = size, 2, 3  # type: ignore[misc]

    load = run = dump = None  # type: ignore[assignment]


def never() -> Session:
    raise AssertionError("it is there")


def places(cache: SessionCache) -> str:
    return " ".join(client for client, _ in cache.places)


STEPS: dict[str, Callable[[SessionCache, str], Any]] = {
    "get": lambda cache, client: cache.get(client, "m", 1, Kept),
    "found": lambda cache, client: cache.get(client, "m", 1, never),
    "large": lambda cache, client: cache.get(client, "m", 1, lambda: Kept(30)),
    "put": lambda cache, client: cache.put(client, "m", 2, Kept()),
    "peek": lambda cache, client: cache.peek(client, "m", 1),
    "grow": lambda cache, client: setattr(cache.peek(client, "m", 1), "memory_bytes", 11),
    "drop": lambda cache, client: cache.drop(client, "m"),
}


@pytest.mark.parametrize(
    ("steps", "left"),
    [
        ("get a, get b", "a b"),  # exactly as many bytes as there may be
        ("get a, get b, get c", "b c"),
        ("get a, get b, found a, get c", "a c"),
        ("get a, get b, found b, get c", "b c"),
        ("get a, get b, put a, get c", "a c"),
        ("get a, get b, peek a, get c", "b c"),  # whoever looks has not used it
        ("get a, get b, drop a, get c", "b c"),
        ("large a", "a"),  # one stays whatever it takes
        ("get b, large a", "a"),
        ("large a, get b", "b"),
        ("get a, get b, grow b, peek b", "a b"),
        ("get a, get b, grow b, found b", "b"),  # sessions grow: looked at when one is used
        ("get a, get b, grow b, found a", "a"),
        ("get a, get b, get c, get d, found c, get e", "c e"),
    ],
)
def test_those_that_were_used_last_stay(steps: str, left: str) -> None:
    cache = SessionCache(20)
    for step in steps.split(", "):
        what, _, client = step.partition(" ")
        STEPS[what](cache, client)
    assert sorted(places(cache).split()) == left.split()
    sizes = [cache._sessions[place][1].memory_bytes for place in cache.places]
    assert (len(cache), cache.bytes) == (len(sizes), sum(sizes))
    assert (cache.graphs, cache.prepared) == (2 * len(sizes), 3 * len(sizes))


def test_a_session_is_of_its_client_model_and_keys() -> None:
    cache = SessionCache(1000)
    made = {
        (client, model): cache.get(client, model, 1, Kept) for client in ("a", "b") for model in ("m", "n")
    }
    assert len(set(map(id, made.values()))) == 4
    for (client, model), session in made.items():
        assert cache.peek(client, model, 1) is session is cache.get(client, model, 1, never)
        assert cache.peek(client, model, 2) is None
    anew = cache.get("a", "m", 2, Kept)  # other keys
    assert anew is not made["a", "m"]
    assert (cache.peek("a", "m", 1), cache.peek("a", "m", 2)) == (None, anew)
    made["b", "m"].is_current = False  # type: ignore[misc]
    assert cache.peek("b", "m", 1) is None
    assert cache.get("b", "m", 1, Kept) is not made["b", "m"]


@pytest.mark.parametrize(
    ("forget", "left"),
    [
        (lambda cache: cache.drop("a", "m"), "an bm bn"),
        (lambda cache: cache.drop("a", "m", 1), "an bm bn"),
        (lambda cache: cache.drop("a", "m", 2), "am an bm bn"),  # those of other keys came meanwhile
        (lambda cache: cache.drop("c", "m"), "am an bm bn"),
        (lambda cache: cache.drop_all("m"), "an bn"),
        (lambda cache: cache.drop_all("a"), "am an bm bn"),
        (lambda cache: cache.drop_others("a", "m"), "am"),
        (lambda cache: cache.drop_others("", ""), ""),
    ],
)
def test_those_that_are_forgotten(forget: Callable[[SessionCache], None], left: str) -> None:
    cache = SessionCache(1000)
    for client in "ab":
        for model in "mn":
            cache.get(client, model, 1, Kept)
    forget(cache)
    assert [client + model for client, model in cache.places] == left.split()


def test_what_can_not_be_made_leaves_the_others() -> None:
    cache = SessionCache(20)
    cache.get("a", "m", 1, Kept)
    with pytest.raises(AssertionError):
        cache.get("b", "m", 1, never)
    with pytest.raises(AssertionError):
        cache.get("a", "m", 2, never)
    assert cache.get("a", "m", 1, never).memory_bytes == 10
