"""Carries of sums, and how often digits and carries are cleaned for them."""

from dataclasses import replace

import numpy as np
import pytest

import hemera as hm
from hemera.integers.bounded import Bounded
from hemera.integers.carries import carries, cleanings, error_of_carries, normalized
from hemera.integers.engine import Engine
from hemera.integers.lookup import lookup
from hemera.integers.margins import MOST_BIT_ERROR, MOST_DIGIT_ERROR, MOST_LEFT
from hemera.integers.operations import add, less, multiply, select
from hemera.integers.points import Points
from hemera.integers.refreshes import refreshes

from .setting import context


@pytest.mark.parametrize("digits", [2, 4, 8, 16])
@pytest.mark.parametrize("sigma", [0, 2.0**-14])
def test_carries_are_those_of_a_sum_by_hand(digits, sigma):
    ints, rng = context(4 * digits), np.random.default_rng(digits)
    engine = ints._engine
    shape = (3, engine.layout.digits, engine.layout.values)
    # Most digits pass a carry on, so that some come through all of them.
    g = rng.random(shape) < 0.1
    p = ~g & (rng.random(shape) < 0.9)
    p[:, 0] = False
    g[:, 0, :9], p[:, 1:, :9], g[:, 1:, :9] = True, True, False
    bits = []
    for each in (g, p):
        slots = each.reshape(3, -1) + rng.normal(0, sigma, (3, engine.layout.slots))
        x = engine.evaluator.encrypt(slots)
        bits.append(Bounded(x, 1, max(sigma, engine.fresh)))
    found = carries(engine, *bits, digits)
    expected = np.zeros(shape)
    carry = np.zeros((3, engine.layout.values), bool)
    for k in range(digits):
        carry = g[:, k] | (p[:, k] & carry)
        expected[:, k] = carry
    assert expected[:, -1, :9].all()
    assert found.factor == found.value.largest == {2: 1, 4: 4, 8: 16, 16: 256}[digits]
    for x, factor in ((found.value, found.factor), (found.once(engine), 1)):
        slots = ints._ckks.decrypt(x.value, ints._secret, dtype=float)
        error = slots - factor * expected.reshape(3, -1)
        assert np.abs(error).max() < factor / 4
        assert error.std() < x.error < 64 * factor * max(sigma, 2**-22)


def test_the_cheapest_cleanings_that_leave_room_are_chosen():
    asked = []

    def error(of_digits, of_carries):
        def found(often, carries_often):
            asked.append((often, carries_often))
            return of_digits[often] + of_carries[carries_often]

        return found

    room = MOST_DIGIT_ERROR / 2
    none = {0: 0.0, 1: 0.0, 2: 0.0}
    assert cleanings(error(none | {0: room}, none)) == (0, 0)
    assert cleanings(error(none | {0: np.nextafter(room, 1)}, none)) == (1, 1)
    assert cleanings(error(none, none | {0: 1.0})) == (0, 1)
    assert cleanings(error(none, {0: 1.0, 1: 1.0, 2: room})) == (0, 2)
    assert cleanings(error(none | {0: 1.0}, {0: 1.0, 1: 1.0, 2: room})) == (1, 2)
    assert cleanings(error({0: 1.0, 1: 1.0, 2: room}, none)) == (2, 2)
    # Where no way leaves digits that sums take, one that leaves digits which are refreshed will do.
    left = dict.fromkeys(range(3), MOST_LEFT / 2)
    assert cleanings(error(left, none)) == (0, 0)
    assert cleanings(error(left, none | {0: 1.0}), most=1) == (0, 1)
    assert cleanings(error(dict.fromkeys(range(3), 1.0), none), most=1) == (1, 1)
    assert all(max(way) <= 1 for way in asked[-8:])


@pytest.mark.parametrize("digits", [2, 4, 16])
def test_digits_stay_at_the_level_of_their_carries_and_are_read_below(digits):
    ints, rng = context(4 * digits), np.random.default_rng(digits)
    engine = ints._engine
    sums = rng.integers(0, 31, (2, engine.layout.digits, engine.layout.values))
    sums[:, :, :5] = 15
    sums[:, 0, :5] = [[15, 16, 30, 14, 31]]  # a carry through all digits, none, one from 31
    values = [
        sum(int(s) << 4 * k for k, s in enumerate(column))
        for column in sums.transpose(0, 2, 1).reshape(-1, digits)
    ]
    expected = np.array([[v >> 4 * k & 15 for k in range(digits)] for v in values])
    fresh = engine.evaluator.encrypt(sums.reshape(2, -1).astype(float))
    s = Bounded(fresh, 31, engine.fresh)

    def added(level):
        before = engine.work.tables
        found = normalized(engine, replace(s, value=fresh.at_level(level)), digits)[0]
        slots = ints._ckks.decrypt(found.value, ints._secret, dtype=float)
        by_value = slots.reshape(2, digits, -1).transpose(0, 2, 1).reshape(-1, digits)
        np.testing.assert_array_equal(np.rint(by_value), expected)
        assert np.abs(by_value - expected).std() < found.error < MOST_DIGIT_ERROR / 2
        return found, engine.work.tables - before

    high, tables = added(fresh.level)
    assert tables == 2
    level = engine.level(high)
    # The lowest level at which they stay; below it the digits are a third table, and no level is lost.
    kept, tables = added(level)
    assert (engine.level(kept), tables) == (level, 2)
    read, tables = added(level - 1)
    assert (engine.level(read), tables) == (level, 3)


@pytest.mark.parametrize("error", [2.0**-12, 2.0**-10])
@pytest.mark.parametrize("masked", [False, True])
def test_bits_become_numbers_by_products_that_are_relinearized_together(error, masked):
    ints, rng = context(8), np.random.default_rng(1)
    engine = ints._engine
    exact = rng.integers(0, 2, (8, 2, engine.layout.slots))
    slots = exact + rng.normal(0, error, exact.shape)
    bits = [Bounded(engine.evaluator.encrypt(each), 1, error) for each in slots]
    mask = (np.arange(engine.layout.slots) % 3 > 0).astype(float)
    masks = dict.fromkeys(range(4, 8), mask) if masked else None
    low, high = engine.cleaned_numbers(bits, masks=masks)
    cleaned = 3 * slots**2 - 2 * slots**3  # J. H. Cheon, D. Kim, D. Kim, 2019/1234
    for number, part, times in ((low, cleaned[:4], 1.0), (high, cleaned[4:], mask if masked else 1.0)):
        found = ints._ckks.decrypt(number.value, ints._secret, dtype=float)
        wanted = np.tensordot(2.0 ** np.arange(4), part, 1) * times
        np.testing.assert_allclose(found, wanted, atol=2**-15)
        assert np.abs(found - np.rint(found)).std() < number.error
        assert (number.largest, engine.level(number)) == (15, engine.level(bits[0]) - 2)
    # With a bound on the error they are cleaned as often as it takes.
    (again, _) = engine.cleaned_numbers(bits, MOST_DIGIT_ERROR, masks=masks)
    assert again.error <= MOST_DIGIT_ERROR
    assert (engine.level(again) == engine.level(low)) == (low.error <= MOST_DIGIT_ERROR)


def test_errors_grow_as_is_told():
    """docs/integers-algorithm.md."""
    assert lookup(32, lambda s: s % 16).slopes == pytest.approx(10, rel=0.01)
    assert error_of_carries(0, 1, 1, 16, 0) == pytest.approx(330, rel=0.01)


@pytest.mark.parametrize(
    ("operation", "most", "told"),
    [
        (add, MOST_DIGIT_ERROR / 2, 96),
        (lambda e, a, b, digits: less(e, a, b, digits, signed=False), MOST_BIT_ERROR / 2, 102),
        (multiply, MOST_LEFT / 2, 254),
    ],
    ids=["+", "<", "*"],
)
def test_operations_of_64_bits_switch_keys_as_often_as_is_told(operation, most, told):
    """docs/decisions/nested-exponentials.md: counted for fresh ciphertexts at n16-exact. The next operation
    takes the result as it is; that of a product is refreshed."""
    counted = counted_at_the_secure_preset(16, 2, lambda engine, a, b: operation(engine, a, b, 16), most)
    assert counted.operations["mod_ups"] == told


@pytest.mark.parametrize("digits", [2, 4, 8, 16])
@pytest.mark.parametrize("chooses", [False, True])
def test_sums_of_sums_take_a_refresh_each_at_the_secure_preset(digits, chooses):
    """A comparison takes one more, and a choice none."""
    taken = []

    def sums(engine, a, b):
        taken.clear()
        for step in range(8):
            before = engine.work.refreshes
            condition = less(engine, a, b, digits, signed=False) if chooses and step % 2 else None
            a = add(engine, a, a if step % 2 else b, digits)
            if condition is not None:
                a = select(engine, condition, a, b)
            assert a.error <= MOST_DIGIT_ERROR
            taken.append(engine.work.refreshes - before)
        return a

    counted_at_the_secure_preset(digits, 1, sums, MOST_DIGIT_ERROR)
    assert taken == [1, 1 + chooses] * 4


def counted_at_the_secure_preset(digits, vectors, program, most):
    params = hm.ckks.Parameters.for_bootstrapping("n16-exact")
    layout, *plans = refreshes(params, None, digits)

    def run(x, y):
        engine = Engine(x.evaluator, layout, *plans, Points(params, layout))
        found = program(engine, *(Bounded(value, 15, engine.fresh) for value in (x, y)))
        assert found.error <= most
        return found.value

    return hm.cost(run, (vectors, layout.slots), (vectors, layout.slots), params=params)
