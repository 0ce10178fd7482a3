"""Shifts by encrypted amounts, in two refreshes: the amounts' bits, and shifts within digits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from hemera.integers.bounded import Bounded, pair
from hemera.integers.engine import Engine
from hemera.integers.layout import BASE, DIGIT_BITS
from hemera.integers.lookup import Lookup, bits, lookup
from hemera.integers.margins import MOST_DIGIT_ERROR
from hemera.integers.parts import in_parts

_TOP = BASE - 1
_BY_BITS = 2
"""The bits of an amount that say the shift in a digit, by 0 to 3 bits. Bits above are whole digits."""
_BIT_ERROR = 2.0**-21
"""The error of an amount's bits and of signs, which stand beside digits in one table: 64 times."""


@in_parts
def shift_by(
    engine: Engine, a: Bounded, amount: Bounded, digits: int, *, left: bool, signed: bool
) -> Bounded:
    """a << amount or a >> amount of amounts from 0 to 255: by all bits and more as NumPy, to 0 or, where
    numbers are signed and go to the right, to 0 and -1."""
    a, amount = engine.to_add(a, amount)
    keeps_sign = signed and not left
    low, over, sign = _bits(engine, a, amount, digits, with_sign=keeps_sign)
    by = engine.spread(engine.number(low[:_BY_BITS]), 0)
    places = _places(engine, low, digits)
    kept = engine.inverted(engine.spread(over, 1))
    if DIGIT_BITS * digits < BASE:  # amounts from 8 to 15 are too large as well
        kept = replace(engine.product(kept, engine.inverted(engine.spread(low[3], 0))), largest=1)
    index = a + by * BASE
    if sign is not None:
        sign = engine.masked(engine.spread(sign, digits - 1), engine.layout.by_digit([1.0] * digits))
        index = index + sign * (BASE << _BY_BITS)
    x = _within_digits(engine, index, digits, left=left, signed=keeps_sign)
    for k, place in enumerate(places):
        x = _moved(engine, x, place, kept if k == 0 else None, 1 << k, digits, left=left)
    return x if sign is None else _inverted(engine, x, sign)


def _bits(
    engine: Engine, a: Bounded, amount: Bounded, digits: int, *, with_sign: bool
) -> tuple[list[Bounded], Bounded, Bounded | None]:
    """The bits of the amounts' digits, whether the higher digit is too large, and the top bits of a's."""
    least = max(1, DIGIT_BITS * digits // BASE)
    circuit = lookup(BASE, *bits(DIGIT_BITS), lambda s: s >= least)
    both = pair(amount, a) if with_sign else None
    if both is None:
        *low, over = _cleaned(engine, amount, circuit)
        if not with_sign:
            return low, over, None
        (sign,) = _cleaned(engine, a, lookup(BASE, lambda s: s >= BASE // 2))
        return low, over, sign
    vectors = amount.value.shape[0]
    found = _cleaned(engine, both, circuit)
    *low, over = (each[slice(0, vectors)] for each in found)
    return low, over, found[DIGIT_BITS - 1][slice(vectors, 2 * vectors)]


def _cleaned(engine: Engine, x: Bounded, circuit: Lookup) -> list[Bounded]:
    return engine.cleaned_below(engine.tables(x, circuit, clean=True), _BIT_ERROR)


def _places(engine: Engine, low: list[Bounded], digits: int) -> list[Bounded]:
    """The bits that move whole digits, by 1, 2, 4, ... of them, at all digits."""
    count = digits.bit_length() - 1
    return [engine.spread(low[k % DIGIT_BITS], k // DIGIT_BITS) for k in range(_BY_BITS, _BY_BITS + count)]


def _within_digits(engine: Engine, index: Bounded, digits: int, *, left: bool, signed: bool) -> Bounded:
    """Digits d shifted by 0 to 3 bits, of d + 16 amounts; and of numbers below 0, which have 64 more, their
    complement."""

    def part(of: Callable[[int, int], int]) -> Callable[[int], int]:
        def shifted(s: int) -> int:
            digit, by, is_below = s % BASE, s // BASE % (1 << _BY_BITS), s >= BASE << _BY_BITS
            return of(_TOP - digit if is_below else digit, by) & _TOP

        return shifted

    if left:  # the part that goes to the next digit is below 8
        own, other, lowest = part(lambda d, by: d << by), part(lambda d, by: d >> (DIGIT_BITS - by)), 0
        mask = [1.0] * (digits - 1)
    else:  # and here it is even
        own, other, lowest = part(lambda d, by: d >> by), part(lambda d, by: d << (DIGIT_BITS - by)), 1
        mask = [0.0] + [1.0] * (digits - 1)
    period = (BASE << _BY_BITS) * (2 if signed else 1)
    circuit = lookup(period, *bits(DIGIT_BITS, own), *bits(DIGIT_BITS - 1, lambda s: other(s) >> lowest))
    goes = engine.layout.by_digit(mask)
    masks = {DIGIT_BITS + i: goes for i in range(DIGIT_BITS - 1)}
    found = engine.tables(index, circuit, clean=False)
    own_digit, others = engine.cleaned_numbers(found, MOST_DIGIT_ERROR, masks=masks)
    moved = engine.moved(others * (1 << lowest), 1 if left else -1)
    return replace(own_digit + moved, largest=_TOP)


def _moved(
    engine: Engine,
    x: Bounded,
    condition: Bounded,
    kept: Bounded | None,
    places: int,
    digits: int,
    *,
    left: bool,
) -> Bounded:
    """x moved by some digits where the condition holds; 0 where it is not to be kept."""
    targets = range(digits)
    mask = [1.0 if 0 <= i + (-places if left else places) < digits else 0.0 for i in targets]
    goes = engine.masked(condition, engine.layout.by_digit(mask))
    stays = engine.inverted(condition)
    if kept is not None:
        goes, stays = engine.product(goes, kept), engine.product(stays, kept)
    moved = engine.moved(x, places if left else -places)
    total = engine.product(goes, moved) + engine.product(stays, x)
    # One of the two conditions is 0, so that the errors of x do not add up.
    error = moved.error + _TOP * (goes.error + stays.error) + 2 * engine.rounding
    return replace(total, largest=_TOP, error=error)


def _inverted(engine: Engine, x: Bounded, sign: Bounded) -> Bounded:
    """15 - x where the sign is 1."""
    turn = engine.plus(x * -2, np.full(engine.layout.slots, float(_TOP)))
    total = x + engine.product(sign, replace(turn, largest=_TOP))
    return replace(total, largest=_TOP, error=x.error + _TOP * sign.error + 2 * engine.rounding)
