"""Carries of sums, and how often digits and carries are cleaned for them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import hemera as hm
from hemera.integers.bounded import Bounded
from hemera.integers.carries import carries, cleanings, error_of_carries
from hemera.integers.engine import Engine
from hemera.integers.lookup import lookup
from hemera.integers.margins import MOST_BIT_ERROR, MOST_DIGIT_ERROR, MOST_LEFT
from hemera.integers.operations import add, less, multiply, select
from hemera.integers.points import Points
from hemera.integers.refreshes import refreshes
from hemera.integers.report import Operation

from .setting import context


@pytest.mark.parametrize("digits", [2, 4, 8, 16])
@pytest.mark.parametrize("sigma", [0, 2.0**-14])
def test_carries_are_those_of_a_sum_by_hand(digits: int, sigma: float) -> None:
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


def test_the_cheapest_cleanings_that_leave_room_are_chosen() -> None:
    asked = []

    def error(of_digits: dict[int, float], of_carries: dict[int, float]):  # type: ignore[no-untyped-def]
        def found(often: int, carries_often: int) -> float:
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


def test_errors_grow_as_is_told() -> None:
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
def test_operations_of_64_bits_switch_keys_as_often_as_is_told(
    operation: Operation, most: float, told: int
) -> None:
    """docs/decisions/nested-exponentials.md: counted for fresh ciphertexts at n16-exact. The next operation
    takes the result as it is; that of a product is refreshed."""
    counted = counted_at_the_secure_preset(16, 2, lambda engine, a, b: operation(engine, a, b, 16), most)
    assert counted.operations["mod_ups"] == told


@pytest.mark.parametrize("digits", [2, 4, 8, 16])
@pytest.mark.parametrize("chooses", [False, True])
def test_sums_of_sums_take_a_refresh_each_at_the_secure_preset(digits: int, chooses: bool) -> None:
    """A comparison takes one more, and a choice none."""
    taken: list[int] = []

    def sums(engine: Engine, a: Bounded, b: Bounded) -> Bounded:
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


def counted_at_the_secure_preset(
    digits: int, vectors: int, program: Callable[[Engine, Bounded, Bounded], Bounded], most: float
) -> hm.Cost:
    params = hm.ckks.Parameters.for_bootstrapping("n16-exact")
    layout, *plans = refreshes(params, None, digits)

    def run(x: hm.Ciphertext, y: hm.Ciphertext) -> hm.Ciphertext:
        engine = Engine(x.evaluator, layout, *plans, Points(params, layout))
        found = program(engine, *(Bounded(value, 15, engine.fresh) for value in (x, y)))
        assert found.error <= most
        return found.value

    return hm.cost(run, (vectors, layout.slots), (vectors, layout.slots), params=params)
