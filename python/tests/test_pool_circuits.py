"""Circuits over the members of a pool: NumPy's products, with the bits of one context; and where to cut."""

import itertools
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import hemera as hm
from hemera.circuits import Bootstrap, LinearTransform, sigmoid
from hemera.pool import Cut, LinkTimes, Step, best_cut
from hemera.pool import circuits as pool_circuits
from hemera.pool.circuits import PoolBootstrap, PoolCircuit
from hemera.pool.cuts import NVLINK, PCIE, bootstrap_steps, transform_step
from hemera.pool.parts import PoolCiphertext
from hemera.times import DeviceTimes

from .conftest import make_params
from .refusals import raises, refuse

SLOTS = 16
MATRIX = np.random.default_rng(3).uniform(-1, 1, (SLOTS, SLOTS))


class Setting:
    """A pool of three members, and keys of transforms."""

    def __init__(self):
        self.params = make_params("ckks")
        self.plan = LinearTransform(MATRIX, self.params, baby_steps=4)
        self.pool = hm.Pool(self.params, ["cpu"] * 3, threads=1)
        self.sk = self.pool.generate_secret_key()
        self.ev = self.pool.bind(self.pool.generate_keys(self.sk, plan=self.plan))
        self.values = np.random.default_rng(4).uniform(-1, 1, SLOTS)

    def encrypted(self, member=0):
        """A ciphertext that lies on one member."""
        own = self.ev.evaluators[member]
        return self.ev.bind(own.encrypt(self.values, largest=1.0))


@pytest.fixture(scope="module")
def setting():
    found = Setting()
    yield found
    found.pool.close()


@pytest.mark.parametrize("members", [1, 2, 3])
@pytest.mark.parametrize("home", [0, 2])
def test_products_have_the_bits_of_one_context(setting, members, home):
    circuit = setting.pool.circuit(setting.plan, members=members)
    assert (circuit.members, circuit.plan, circuit.cut) == (members, setting.plan, None)
    x = setting.encrypted(home)
    y = circuit(x)
    assert isinstance(y, PoolCiphertext)
    assert ((y.members, y.shape), bytes(y)) == (([0], ()), bytes(setting.plan(x)))
    assert y.largest == pytest.approx(np.abs(MATRIX).sum(axis=1).max())
    np.testing.assert_allclose(setting.pool.decrypt(y, setting.sk), MATRIX @ setting.values, atol=2**-18)
    out = setting.encrypted()
    assert circuit(x, out=out) is out
    assert bytes(out) == bytes(y)
    assert repr(circuit) == f"<PoolTransform of <LinearTransform of 16 x 16 at level 3> on {members} members>"


def test_members_share_the_giant_steps(setting):
    # 16 diagonals in steps of 8: two giant steps.
    plan = LinearTransform(MATRIX, setting.params, baby_steps=8)
    assert setting.pool.circuit(plan, members=3).members == 2
    assert (
        setting.pool.circuit(LinearTransform(MATRIX, setting.params, fewest_keys=True), members=3).members
        == 1
    )
    # Encoded diagonals are shared out, too.
    before = [context.memory_used for context in setting.pool.contexts]
    circuit = setting.pool.circuit(setting.plan, members=2)
    first, second, third = (
        context.memory_used - used for context, used in zip(setting.pool.contexts, before, strict=True)
    )
    assert first == second == pytest.approx(setting.plan.plaintext_bytes / 2, rel=0.1)
    assert third == 0
    del circuit


def test_batches_in_parts_are_multiplied_where_they_are(setting):
    rows = np.random.default_rng(5).uniform(-1, 1, (5, SLOTS))
    x = setting.ev.encrypt(rows)
    y = setting.pool.circuit(setting.plan)(x)
    assert y.members == [0, 1, 2]
    np.testing.assert_allclose(setting.pool.decrypt(y, setting.sk), rows @ MATRIX.T, atol=2**-18)


def test_plans_are_for_members():
    params = make_params("ckks")
    matrix = np.eye(4)
    refuse((lambda: LinearTransform(matrix, params, members=-1), hm.errors.ParameterError, "not be negative"))
    refuse((lambda: LinearTransform(matrix, params, members=0), hm.errors.ParameterError, "no member"))


def test_mistakes_are_told(setting):
    circuit = setting.pool.circuit(setting.plan)
    x = setting.encrypted()
    refuse((lambda: circuit(x.parts[0]), TypeError, "bind"))
    with pytest.raises(TypeError, match="LinearTransform"):
        setting.pool.circuit(sigmoid((-1, 1)))
    for members in (0, 4):
        raises(hm.errors.ParameterError, "has 3", setting.pool.circuit, setting.plan, members=members)
    stranger = hm.ckks.Parameters.for_circuit(depth=2, slots=SLOTS)
    with hm.Pool(setting.params, ["cpu"] * 2, threads=1) as other:
        refuse((lambda: other.circuit(setting.plan)(x), hm.errors.MismatchError, "another pool"))
        with pytest.raises(hm.errors.MismatchError, match="parameters"):
            other.circuit(LinearTransform(MATRIX, stranger))
    keyless = setting.pool.bind(setting.pool.generate_keys(setting.sk))
    refuse((lambda: circuit(keyless.bind(x)), hm.errors.MissingKeyError, "rotation"))
    raises(hm.errors.LevelError, "", lambda: circuit(setting.ev.at_level(x, 0)))
    with pytest.raises(hm.errors.MismatchError, match="12 values"):
        circuit(setting.ev.bind(setting.ev.evaluators[0].encrypt(setting.values[:12])))
    with pytest.raises(hm.errors.MismatchError, match="16"):
        circuit(setting.ev.bind(setting.ev.evaluators[0].encrypt(setting.values[:8])))
    assert bytes(circuit(x)) == bytes(setting.plan(x))  # errors leave nothing behind


def test_an_error_of_a_member_waits_for_the_others(setting, monkeypatch):
    circuit = setting.pool.circuit(setting.plan)
    x = setting.encrypted()

    def impatient(team):
        def each(_, work):
            team.run([(0, lambda: work(0))])
            raise KeyboardInterrupt

        return each

    monkeypatch.setattr(pool_circuits, "each_of", impatient)
    refuse((lambda: circuit(x), KeyboardInterrupt, None))
    monkeypatch.undo()
    assert bytes(circuit(x)) == bytes(setting.plan(x))


def test_slow_links_leave_a_circuit_on_one_member_and_fast_ones_share_it():
    steps = [
        Step("matrix", {1: 3e-3, 2: 1.7e-3, 4: 1e-3}, 1e-4, input_bytes=2**24, sum_bytes=2**25),
        Step("halves", {1: 2e-3, 2: 1e-3}, input_bytes=2**24, sum_bytes=2**23, ends_on_one=True),
    ]
    fast, slow = (best_cut(steps, links, 4) for links in (NVLINK, LinkTimes(1e9, 1e-3)))
    assert (fast.members, slow.members) == ((4, 2), (1, 1))
    assert slow.seconds == slow.alone == pytest.approx(5.1e-3)
    assert fast.seconds < 0.6 * fast.alone
    assert best_cut(steps, NVLINK, 3).members == (2, 2)
    assert best_cut(steps, NVLINK, 1).members == (1, 1)
    told = f"{1e3 * fast.seconds:.3g} ms, {fast.seconds / 5.1e-3:.2f} of the 5.1 ms of one member"
    assert fast.report().splitlines() == ["matrix: 4", "halves: 2", told]
    assert slow.report().endswith("5.1 ms, 1.00 of the 5.1 ms of one member")
    assert (fast.most, slow.most, Cut((), 0.0, 0.0).most) == (4, 1, 1)


@pytest.mark.parametrize(
    ("members", "tried"), [(1, [1]), (2, [1, 2]), (3, [1, 2, 3]), (4, [1, 2, 4]), (7, [1, 2, 4, 7])]
)
def test_all_members_are_tried_and_powers_of_two(members, tried):
    params = hm.ckks.Parameters.from_bits(
        degree=1024, prime_bits=[50, 40], special_bits=[50], scale_bits=40, security=None
    )
    plan = LinearTransform.from_diagonals(dict.fromkeys(range(64), 1.0), params, slots=512, baby_steps=8)
    step = transform_step(plan, DeviceTimes.find("nvidia-h200"), members, name="own")
    assert (step.name, sorted(step.seconds)) == ("own", tried)


def test_times_of_exchanges():
    links = LinkTimes(1e6, 0.5)
    assert links.copy(10**6) == 1.5
    assert links.broadcast(10**6, 1) == links.all_reduce(10**6, 1) == 0
    assert links.broadcast(10**6, 2) == 1.5
    # Three others: a third to each of them takes a second, and two thirds come from the other two.
    assert links.broadcast(10**6, 4) == pytest.approx((3 + 6) * 0.5 + 1 + 2 / 3)
    # Each of two reads the other's array; of four, three quarters come in, and three quarters go out.
    assert links.all_reduce(10**6, 2) == pytest.approx(0.5 + 1)
    assert links.all_reduce(10**6, 4) == pytest.approx((12 + 12) * 0.5 + 1.5)
    for wrong in ((0, 0), (1, -1), (float("nan"), 0)):
        raises(hm.errors.ParameterError, "links", LinkTimes, *wrong)


def test_times_of_exchanges_are_near_those_measured():
    file = Path(__file__).parents[2] / "bench" / "results" / "pool-h200-x4.json"
    rows = [row for row in json.loads(file.read_text(encoding="utf-8"))["rows"] if "bytes" in row]
    assert [(row["measurement"], row["members"]) for row in rows] == [
        (name, members) for members in (2, 4) for name in ("all-reduce", "broadcast")
    ]
    for row in rows:
        formula = NVLINK.all_reduce if row["measurement"] == "all-reduce" else NVLINK.broadcast
        assert formula(row["bytes"], row["members"]) == pytest.approx(1 / row["per_second"], rel=0.1)


@pytest.mark.parametrize("seed", range(20))
def test_a_cut_is_the_fastest_of_all(seed):
    random = np.random.default_rng(seed)
    steps = []
    for number in range(4):
        alone = random.uniform(1, 9)
        steps.append(
            Step(
                str(number),
                {1: alone, 2: alone * random.uniform(0.5, 1), 4: alone * random.uniform(0.3, 1)},
                random.uniform(0, 1),
                input_bytes=int(random.integers(1, 4)),
                sum_bytes=int(random.integers(0, 4)),
                ends_on_one=bool(random.integers(0, 2)),
            )
        )
    links = LinkTimes(random.uniform(0.5, 50), random.uniform(0, 0.5))

    def time_of(counts):
        # Step by step, as the circuit runs.
        total, holders = 0.0, 1
        for step, count in zip(steps, counts, strict=True):
            if count > holders:
                total += links.broadcast(step.input_bytes, count - holders + 1)
            total += step.seconds[count] + step.finish
            if count > 1:
                transfers = 1 if count == 2 else 2 * count * (count - 1)
                moved = 2 * step.sum_bytes * (count - 1) / count
                total += transfers * links.seconds + moved / links.bytes_per_second
            holders = 1 if step.ends_on_one else count
        return total

    times = {counts: time_of(counts) for counts in itertools.product((1, 2, 4), repeat=4)}
    cut = best_cut(steps, links, 4)
    assert cut.seconds == pytest.approx(min(times.values()))
    assert times[cut.members] == pytest.approx(cut.seconds)
    assert cut.alone == pytest.approx(times[1, 1, 1, 1])


def test_cuts_need_members_and_times():
    refuse((lambda: best_cut([], NVLINK, 0), hm.errors.ParameterError, "at least one"))
    refuse((lambda: best_cut([Step("half", {2: 1.0})], NVLINK, 2), hm.errors.ParameterError, "'half'"))
    assert best_cut([], NVLINK, 2) == Cut((), 0.0, 0.0)


def test_work_of_a_transform_by_members():
    """N = 2^16 with 28 and 8 primes, 64 diagonals, by the table of an H200."""
    params = hm.ckks.Parameters.from_bits(
        degree=65536,
        prime_bits=[50, *[49] * 27],
        special_bits=[*[47] * 4, *[46] * 4],
        scale_bits=49,
        digits=4,
    )
    diagonals = dict.fromkeys(range(64), 1.0)
    times = DeviceTimes.find("nvidia-h200")
    plan = LinearTransform.from_diagonals(diagonals, params, slots=2**15, baby_steps=8)
    step = transform_step(plan, times, 4)
    assert sorted(step.seconds) == [1, 2, 4]
    assert step.seconds[1] > step.seconds[2] > step.seconds[4] > step.seconds[1] / 4
    # Two polynomials over the level's primes, and over the special ones as well.
    assert (step.input_bytes, step.sum_bytes) == (2 * 28 * 65536 * 8, 2 * 36 * 65536 * 8)
    # Four H200 take 1.50 ms, two 1.37: the transfers begin one after the other.
    assert best_cut([step], NVLINK, 4).members == (2,)
    assert best_cut([step], LinkTimes(NVLINK.bytes_per_second, 0), 4).members == (4,)
    assert best_cut([step], LinkTimes(1e9, 1e-3), 4).members == (1,)
    assert best_cut([step], PCIE, 4).seconds > best_cut([step], NVLINK, 4).seconds


def test_the_number_of_members_is_found(setting, monkeypatch):
    table = DeviceTimes.find("nvidia-h200")
    monkeypatch.setattr(DeviceTimes, "find", lambda _: table)
    slow = setting.pool.circuit(setting.plan, links=LinkTimes(1.0, 1.0))
    fast = setting.pool.circuit(setting.plan, links=LinkTimes(1e15, 0))
    assert slow.members == 1 < fast.members
    assert slow.cut is not None
    assert slow.cut.seconds == slow.cut.alone
    assert fast.cut is not None
    assert fast.cut.seconds < fast.cut.alone
    x = setting.encrypted()
    assert bytes(slow(x)) == bytes(fast(x)) == bytes(setting.plan(x))

    def none(_):
        raise hm.errors.DeviceError("no table")

    monkeypatch.setattr(DeviceTimes, "find", none)
    every = setting.pool.circuit(setting.plan)
    assert (every.members, every.cut) == (3, None)
    assert isinstance(every, PoolCircuit)


@pytest.fixture(scope="module")
def bootstraps():
    params = hm.ckks.Parameters.for_bootstrapping("test-40")
    plan = Bootstrap(params, 16)
    with hm.Pool(params, ["cpu"] * 2, threads=1) as pool:
        sk = pool.generate_secret_key()
        yield pool, sk, pool.bind(pool.generate_keys(sk, plan=plan)), plan


def test_bootstraps_have_the_bits_of_one_context(bootstraps):
    pool, sk, ev, plan = bootstraps
    values = np.random.default_rng(7).uniform(-1, 1, (3, plan.slots))
    rows = ev.at_level(ev.encrypt(values, largest=1.0), plan.input_level)
    x = rows[2]
    assert x.members == [1]
    circuit = pool.circuit(plan, members=2)
    assert isinstance(circuit, PoolBootstrap)
    assert (circuit.plan, circuit.members) == (plan, 2)
    y = circuit(x)
    assert isinstance(y, PoolCiphertext)
    assert (y.members, bytes(y), y.level) == ([0], bytes(plan(x)), plan.result_level)
    np.testing.assert_allclose(pool.decrypt(y, sk), values[2], atol=2**-12)
    assert bytes(pool.circuit(plan, members=1)(x)) == bytes(y)
    np.testing.assert_allclose(
        pool.decrypt(circuit(rows), sk), values, atol=2**-12
    )  # each part by its member


@pytest.mark.parametrize("given", [None, 1.0])
@pytest.mark.parametrize("bound", [None, 4.0])
def test_the_magnitude_of_bind_is_that_of_its_plan(bootstraps, bound, given):
    """As of one context: 4 for the plan of bind alone, where the call gives none, and without a warning."""
    pool, _, undeclared, plan = bootstraps
    ev = pool.bind(undeclared.keys, bootstrap=plan, magnitude=bound)
    rows = ev.at_level(ev.encrypt(np.full((3, 16), 0.5)), plan.input_level)
    for own in (plan, Bootstrap(pool.params, 16)):
        circuit = pool.circuit(own, members=2, magnitude=given)
        known = given or (bound if own is plan else None)
        for x in (rows[2], rows):
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                y = circuit(x)
                count = len(told)
                expected = undeclared.bootstrap(x, own, magnitude=known)
            assert bytes(y) == bytes(expected)
            assert count == len(told) - count == (known is None)


def test_values_without_levels_are_bootstrapped_first(bootstraps):
    pool, sk, _, boot = bootstraps
    matrix = np.random.default_rng(9).uniform(-1, 1, (16, 16)) / 16
    plan = LinearTransform(matrix, pool.params, level=boot.result_level)
    keys = pool.generate_keys(sk, plan=[boot, plan])
    ev = pool.bind(keys, bootstrap=boot, automatic=True, magnitude=1.0)
    values = np.linspace(-1, 1, 16)
    x = ev.at_level(ev.encrypt(values), boot.input_level)
    y = pool.circuit(plan, members=2)(x)
    assert (y.level, bytes(y)) == (boot.result_level - 1, bytes(plan(x)))
    np.testing.assert_allclose(pool.decrypt(y, sk), matrix @ values, atol=2**-12)


def test_each_step_of_a_bootstrap_has_its_members(bootstraps, monkeypatch):
    pool, _, ev, plan = bootstraps
    table = DeviceTimes.find("nvidia-h200")
    monkeypatch.setattr(DeviceTimes, "find", lambda _: table)
    x = ev.at_level(ev.encrypt(np.linspace(-1, 1, plan.slots), largest=1.0), plan.input_level)
    slow = pool.circuit(plan, links=LinkTimes(1.0, 1.0))
    fast = pool.circuit(plan, links=LinkTimes(1e15, 0))
    assert slow.cut is not None
    assert set(slow.cut.members) == {1}
    assert fast.cut is not None
    assert set(fast.cut.members) == {1, 2}
    assert fast.cut.names.count("EvalMod") == fast.cut.names.count("ModRaise") == 1
    assert bytes(slow(x)) == bytes(fast(x)) == bytes(plan(x))
    # The core is given the numbers.
    monkeypatch.setattr(pool_circuits, "best_cut", lambda *_: Cut((1, 2), 1.0, 1.0, ("one", "two")))
    refuse((lambda: pool.circuit(plan), hm.errors.ParameterError, "8 steps with 2 counts"))


def test_steps_of_a_bootstrap_take_the_time_of_the_whole():
    """n16-40 by the table of an H200, where 9.2 ms were measured. Its goal on fast links is a third less."""
    params = hm.ckks.Parameters.for_bootstrapping("n16-40")
    plan = Bootstrap(params)
    times = DeviceTimes.find("nvidia-h200")
    steps = bootstrap_steps(plan, times, 4, graph=True)
    whole = times.seconds(plan._native.cost, graph=True)
    assert best_cut(steps, NVLINK, 1).seconds == pytest.approx(whole, rel=0.02)
    assert best_cut(steps, NVLINK, 2).seconds < 0.85 * whole
    assert best_cut(steps, LinkTimes(1e9, 1e-3), 4).members == (1,) * len(steps)
