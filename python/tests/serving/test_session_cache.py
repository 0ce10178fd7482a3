"""Which sessions stay in a device's memory: used most for each byte, by dictionaries and after any calls."""

import pickle
import random
from types import SimpleNamespace

import pytest

from hemera.ray.worth import WorthCache
from hemera.serving.session_cache import Session, SessionCache

from ..refusals import raises


class Kept(Session):
    """A session of so many bytes, graphs and prepared answers, until its model is replaced."""

    graphs = prepared = memory_bytes = 0
    is_current = True

    def __init__(self, size=10):
        super().__init__()
        self.memory_bytes, self.graphs, self.prepared = size, 2, 3

    load = run = dump = None


class Judge:
    """What a cache keeps: places with the generation of their keys, those that were used last at the end."""

    def __init__(self, limit):
        self.limit = limit
        self.kept = {}

    def found(self, place, generation):
        own, session = self.kept.get(place, (0, None))
        return session if session is not None and own == generation and session.is_current else None

    def make(self, model):
        """Room for one as large as the last one of the model."""
        own = [session.memory_bytes for (_, name), (_, session) in self.kept.items() if name == model]
        self._forget_beyond(self.limit - (own[-1] if own else 0), 0)

    def use(self, place, generation, session):
        self.kept.pop(place, None)
        self.kept[place] = generation, session
        self._forget_beyond(self.limit, 1)

    def _forget_beyond(self, limit, fewest):
        while len(self.kept) > fewest and sum(own.memory_bytes for _, own in self.kept.values()) > limit:
            del self.kept[next(iter(self.kept))]

    def forget(self, gone):
        self.kept = {place: own for place, own in self.kept.items() if not gone(place, own[0])}


def never():
    raise AssertionError("it can not be made")


@pytest.mark.parametrize("seed", range(20))
def test_any_calls_in_any_order(seed):
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
                assert cache.get(client, model, generation, lambda made=made: made) is (known or made)
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
                judge.forget(lambda each, _, place=place: each == place)
            case "of keys":
                cache.drop(client, model, generation)
                judge.forget(lambda each, own, gone=(place, generation): (each, own) == gone)
            case "all":
                cache.drop_all(model)
                judge.forget(lambda each, _, model=model: each[1] == model)
            case "others" if rng.random() < 0.3:
                cache.drop_others(client, model)
                judge.forget(lambda each, _, place=place: each != place)
            case "grow" if known is not None:
                known.memory_bytes += 3
            case "replace" if known is not None:
                known.is_current = False
        assert cache.places == list(judge.kept)
        sizes = [own.memory_bytes for _, own in judge.kept.values()]
        assert (cache.bytes, len(cache)) == (sum(sizes), len(sizes))
        assert (cache.graphs, cache.prepared) == (2 * len(sizes), 3 * len(sizes))


SIZES = {"a": 6, "b": 2, "c": 2, "d": 4}


def use(cache, names):
    """Uses keys one after the other: those that had to be loaded."""
    loaded = []

    def make(name):
        loaded.append(name)
        return SimpleNamespace(memory_bytes=SIZES[name], is_current=True)

    for name in names:
        assert cache.get(name, "model", 0, lambda name=name: make(name)).memory_bytes == SIZES[name]
    return loaded


def held(cache):
    return {name for name, _ in cache.places}


@pytest.mark.parametrize(
    ("uses", "left"),
    [
        ("aabbbbcca", "bcd"),  # 3 / 6, 4 / 2, 2 / 2: a goes, although it was used last
        ("aaaaaaabbbbc", "bd"),  # 7 / 6, 4 / 2, 1 / 2: c goes, which is not enough, then a
        ("abc", "bcd"),
    ],
)
def test_the_least_uses_for_each_byte_go(uses, left):
    cache = WorthCache(10)
    use(cache, uses)
    assert use(cache, "d") == ["d"]
    assert held(cache) == set(left)
    assert cache.bytes == sum(SIZES[name] for name in left)


def test_what_was_popular_once_does_not_stay_for_ever():
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
def test_keys_that_made_room_come_back_as_new_ones(of_d, of_b, left):
    """b had 20 uses and made room. Those since it came back count alone: 1 / 2 each, and 1 / 4 each of d."""
    cache = WorthCache(6)
    assert use(cache, "b" * 20 + "a" + "d" * of_d + "b" * of_b + "c") == ["b", "a", "d", "b", "c"]
    assert held(cache) == set(left)


def test_one_stays_whatever_it_takes():
    cache = WorthCache(1)
    assert use(cache, "aabab") == ["a", "b", "a", "b"]
    assert held(cache) == {"b"}


def memory_of(cache):
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
def test_dropped_keys_leave_room_and_no_counts(drop, left):
    """As in a cache that never had them; those that come back are new."""
    cache, other = WorthCache(10), WorthCache(10)
    use(cache, "aab")
    use(other, {"": "", "b": "b", "ab": "aab"}[left])
    drop(cache)
    assert held(cache) == set(left)
    assert memory_of(cache) == memory_of(other)
    assert use(cache, "ac") == [name for name in "ac" if name not in left]


def test_keys_that_can_not_be_loaded_leave_no_counts():
    cache = WorthCache(10)
    empty = memory_of(cache)

    def fails():
        raise MemoryError

    raises(MemoryError, "", cache.get, "a", "model", 0, fails)
    assert memory_of(cache) == empty


def test_the_age_grows_by_no_more_than_the_worth_of_new_keys(monkeypatch):
    # Each key of one use has 1 / 8 above the age: after 14 of them the age is below the 4 / 2 of b.
    once = "ABCDEFGHIJKLMN"
    for name in once:
        monkeypatch.setitem(SIZES, name, 8)
    cache = WorthCache(10)
    use(cache, "bbbb")
    assert use(cache, once) == list(once)
    assert held(cache) == {"b", once[-1]}
