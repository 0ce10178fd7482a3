"""Values of a pool next to those of one context: copies, results in place, files, and how results are cut."""

from types import SimpleNamespace

import pytest

import hemera as hm
from hemera import _core
from hemera.objects.devices import DeviceOptions
from hemera.pool.evaluator import PoolEvaluator, PoolGraph
from hemera.pool.members import places_of

from ..refusals import refuse_each
from .setting import same

COPIES = {
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
def test_a_copy_changes_alone(ckks, name, count):
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


IN_PLACE = {
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
def test_results_in_place_belong_to_the_evaluator_that_made_them(ckks, name):
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
def test_files_are_those_of_one_context(ckks, tmp_path, compression):
    x, one = ckks.pair(ckks.values(3))
    x, one = x - x, one - one  # zeros, which are packed; others are not
    expected = bytes(one.to_bytes(compression=compression))
    x.save(tmp_path / "x", compression=compression)
    assert (tmp_path / "x").read_bytes() == x.to_bytes(compression=compression) == expected
    assert (expected == bytes(one)) == (compression == 0)
    same(ckks.pool.load(tmp_path / "x"), one)


def test_the_first_operand_with_most_axes_decides_on_the_cut(ckks):
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
def test_members_on_the_cpu_share_the_processors(monkeypatch, names, available):
    """Members on GPUs take none of them. A number that was given is each member's."""
    monkeypatch.setattr(_core, "available_processors", lambda: available)
    on_cpu = names.count("cpu")
    shared = max(1, available // on_cpu) if on_cpu > 1 else None  # None: all
    found = places_of(names, DeviceOptions())
    assert [place.options.device for place in found] == names
    assert [place.options.threads for place in found] == [shared] * len(names)
    assert all(place.processors is None for place in found)
    assert {place.options.threads for place in places_of(names, DeviceOptions(threads=3))} == {3}


@pytest.mark.fact_of_the_cpu("bytes of its memory pool")
def test_numbers_of_a_pool_are_those_of_all_members(ckks, monkeypatch):
    pool, count = ckks.pool, len(ckks.pool)
    before = pool.memory_used
    kept = [context.generate_secret_key() for context in pool.contexts]
    size = hm.Context(pool.params, "cpu", threads=1)
    held = size.generate_secret_key()
    assert pool.memory_used == before + count * size.memory_used
    assert held.context.memory_used > 0
    del kept
    assert pool.memory_used == before
    x, one = ckks.pair(ckks.values(2 * count + 1))
    assert x.memory_bytes == one.memory_bytes
    own = [SimpleNamespace(bootstraps=at + 1, is_recorded=at > 0, memory_bytes=10**at) for at in range(count)]
    members = own
    ev = PoolEvaluator(pool, ckks.ev._team, members, ckks.ev.keys)
    assert ev.bootstraps == sum(range(count + 1))
    for graphs, recorded in ((own, False), (own[1:], True)):
        graph = object.__new__(PoolGraph)
        graph._graphs = graphs
        assert graph.is_recorded == recorded
        assert graph.memory_bytes == sum(each.memory_bytes for each in graphs)
    devices = ("cpu", "cuda:0", "cuda:1", "cuda:0")
    contexts = [SimpleNamespace(device=name, memory_limit=None, host_memory_used=5) for name in devices]
    monkeypatch.setattr(hm.Pool, "contexts", property(lambda _: tuple(contexts)))
    for name, place in {"cpu": 0, "cuda": 1, "cuda:0": 1, "cuda:1": 2}.items():
        assert pool.on(name) is contexts[place]
    refuse_each(pool.on, ("cuda:2", "cuda:00"), hm.errors.DeviceError, "no member")
    assert (pool.host_memory_used, pool.memory_limit, pool.device) == (20, None, "cpu,cuda:0,cuda:1,cuda:0")
    for at, context in enumerate(contexts):
        context.memory_limit = 1 << at
        assert pool.memory_limit == (15 if at == 3 else None)


OPTIONS = {
    "a bound": lambda place, sk, keys, a: [
        made.largest
        for made in (
            place.encrypt(a, sk, largest=3.0),
            place.encrypt(a, keys, largest=3.0),
            place.bind(keys).encrypt(a, largest=3.0),
            place.encrypt(place.encode(a, largest=3.0), sk),
        )
    ],
    "a level": lambda place, *given: [place.encode(given[2], level=level).level for level in (0, 1)],
    "a scale": lambda place, *given: place.encode(given[2], scale=2.0**20).scale,
    "levels of keys": lambda place, sk, *_: [
        place.generate_keys(sk, relinearization=False, rotations=[1], galois_level=level).memory_bytes
        for level in (0, 1, None)
    ],
    "levels of switching keys": lambda place, sk, *_: [
        len(bytes(place.generate_switching_key(sk, place.generate_secret_key(), level=level)))
        for level in (0, 1, None)
    ],
    "kinds of keys": lambda place, sk, *_: [
        (made.has_public_key, made.has_relinearization, len(made.galois_elements))
        for made in (
            place.generate_keys(sk, public_key=False),
            place.generate_keys(sk, relinearization=False),
            place.generate_keys(sk, sum_slots=True),
            place.generate_keys(sk, sum_slots=4),
            place.generate_keys(sk, conjugation=True, rotations=[1, 3]),
        )
    ],
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options_of_a_pool_are_those_of_a_context(ckks, name):
    a = ckks.values(3)
    of_pool = OPTIONS[name](ckks.pool, ckks.sk, ckks.ev.keys, a)
    assert of_pool == OPTIONS[name](ckks.pool.contexts[0], ckks.sk, ckks.one.keys, a)
    assert len({str(each) for each in of_pool}) > 1 if "level" in name else of_pool
