"""Which sessions stay in a device's memory after any calls in any order, judged by a dictionary."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from hemera.serving.session_cache import Session, SessionCache

from ..refusals import raises

Place = tuple[str, str]


class Kept(Session):
    """A session of so many bytes, graphs and prepared answers, until its model is replaced."""

    graphs = prepared = memory_bytes = 0  # type: ignore[assignment]
    is_current = True  # type: ignore[assignment]

    def __init__(self, size: int = 10) -> None:
        super().__init__()
        self.memory_bytes, self.graphs, self.prepared = size, 2, 3  # type: ignore[misc]

    load = run = dump = None  # type: ignore[assignment]


class Judge:
    """What a cache keeps: places with the generation of their keys, those that were used last at the end."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.kept: dict[Place, tuple[int, Kept]] = {}

    def found(self, place: Place, generation: int) -> Kept | None:
        own, session = self.kept.get(place, (0, None))
        return session if session is not None and own == generation and session.is_current else None

    def make(self, model: str) -> None:
        """Room for one as large as the last one of the model."""
        own = [session.memory_bytes for (_, name), (_, session) in self.kept.items() if name == model]
        self._forget_beyond(self.limit - (own[-1] if own else 0), 0)

    def use(self, place: Place, generation: int, session: Kept) -> None:
        self.kept.pop(place, None)
        self.kept[place] = generation, session
        self._forget_beyond(self.limit, 1)

    def _forget_beyond(self, limit: int, fewest: int) -> None:
        while len(self.kept) > fewest and sum(own.memory_bytes for _, own in self.kept.values()) > limit:
            del self.kept[next(iter(self.kept))]

    def forget(self, gone: Callable[[Place, int], bool]) -> None:
        self.kept = {place: own for place, own in self.kept.items() if not gone(place, own[0])}


def never() -> Session:
    raise AssertionError("it can not be made")


@pytest.mark.parametrize("seed", range(20))
def test_any_calls_in_any_order(seed: int) -> None:
    rng = random.Random(seed)
    cache, judge = SessionCache(limit=30), Judge(30)
    for _ in range(400):
        place, generation, size = (
            (rng.choice("abc"), rng.choice("mn")),
            rng.randint(1, 2),
            rng.choice([5, 10, 15, 31]),
        )
        client, model = place
        made, known = Kept(size), judge.found(place, generation)
        match rng.choice(
            ["get", "get", "put", "peek", "drop", "of keys", "all", "others", "grow", "replace", "fail"]
        ):
            case "get":
                if known is None:
                    judge.make(model)
                assert cache.get(client, model, generation, lambda made=made: made) is (known or made)  # type: ignore[misc]
                judge.use(place, generation, known or made)
            case "fail" if known is None:
                raises(AssertionError, "", cache.get, client, model, generation, never)
                judge.make(model)
            case "put":
                cache.put(client, model, generation, made)
                judge.use(place, generation, made)
            case "peek":
                assert cache.peek(client, model, generation) is known
            case "drop":
                cache.drop(client, model)
                judge.forget(lambda each, _, place=place: each == place)  # type: ignore[misc]
            case "of keys":
                cache.drop(client, model, generation)
                judge.forget(lambda each, own, gone=(place, generation): (each, own) == gone)  # type: ignore[misc]
            case "all":
                cache.drop_all(model)
                judge.forget(lambda each, _, model=model: each[1] == model)  # type: ignore[misc]
            case "others" if rng.random() < 0.3:
                cache.drop_others(client, model)
                judge.forget(lambda each, _, place=place: each != place)  # type: ignore[misc]
            case "grow" if known is not None:
                known.memory_bytes += 3  # type: ignore[misc]
            case "replace" if known is not None:
                known.is_current = False  # type: ignore[misc]
        assert cache.places == list(judge.kept)
        sizes = [own.memory_bytes for _, own in judge.kept.values()]
        assert (cache.bytes, len(cache)) == (sum(sizes), len(sizes))
        assert (cache.graphs, cache.prepared) == (2 * len(sizes), 3 * len(sizes))
