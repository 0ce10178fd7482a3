"""Carries of sums: all digits at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import hypot
from typing import NamedTuple

from hemera.integers.bounded import Bounded
from hemera.integers.engine import Engine
from hemera.integers.layout import BASE, DIGIT_BITS
from hemera.integers.lookup import bits, lookup
from hemera.integers.margins import MOST_DIGIT_ERROR, MOST_LEFT, left_of, number_error


class Carries(NamedTuple):
    """The carry out of each digit."""

    value: Bounded
    """The carries, each `factor` times."""
    factor: int
    """A power of two."""

    def once(self, engine: Engine) -> Bounded:
        """The carries themselves. Takes a level, where they stand there several times."""
        if self.factor == 1:
            return self.value
        return engine.times(self.value, 1 / self.factor)


def carries(engine: Engine, g: Bounded, p: Bounded, digits: int) -> Carries:
    """The carry out of each digit: 1 where a carry comes into being (g), or comes in and goes on (p). By
    P. M. Kogge and H. S. Stone (1973), in log2(digits) levels. p must be 0 at the lowest digit: then what
    comes around from the highest one meets a 0.

    Both stand in one vector, as g + i p. A step adds the product of p with that vector, turned: g + p g' and
    p p'. The sum with the conjugate, and the difference, are g and p again, twice: so the factor grows."""
    made, taken = g.value, p.value
    both = made if digits == 2 else made + taken * 1j
    for step, factor, times in _steps(digits):
        if step > 1:
            conjugate = both.conjugate()
            made, taken = both + conjugate, conjugate - both
            taken *= 1j
        if 2 * step == digits:
            both, factor = made, times
        both = (made * factor if factor > 1 else made) + taken * both.rotate(-step * engine.layout.values)
    grown = factor * times
    error = error_of_carry(g.error, p.error, digits, engine.rounding)
    return Carries(Bounded(both, grown, grown * error, g.risk | p.risk), grown)


def _steps(digits: int) -> Iterator[tuple[int, int, int]]:
    """The steps of `carries`: how far vectors turn, and the factors of g + i p, and of g and p."""
    step, factor = 1, 1
    while step < digits:
        times = factor if step == 1 else 2 * factor
        yield step, factor, times
        step, factor = 2 * step, factor * times


def normalized(engine: Engine, s: Bounded, digits: int) -> tuple[Bounded, Carries]:
    """Digits from 0 to 30 (31 at the lowest) as digits from 0 to 15, modulo 16^digits; and the carry out
    of each. Digits at the carries' level or a higher one are not read: they stay, less 16 times that."""
    # 31 goes on as 15 does: at the lowest digit, where nothing comes in.
    made, taken = (lambda x: x >= BASE), (lambda x: x % BASE == BASE - 1)
    alone = lookup(2 * BASE, made, taken)
    whole = lookup(2 * BASE, lambda x: x % BASE, made, taken)
    in_bits = lookup(2 * BASE, *bits(DIGIT_BITS, lambda x: x % BASE), made, taken)
    higher = engine.layout.by_digit([0.0] + [1.0] * (digits - 1))
    z = engine.exponential(s, 2 * BASE)
    below = engine.level(Bounded(z.value, 1, 0.0)) - alone.depth - digits.bit_length()

    def stays(often: int, carries_often: int) -> bool:
        # A mask takes a level, but for nothing in a cleaning.
        return not often and engine.level(s) >= below - (2 * carries_often or 1)

    def error(often: int, carries_often: int) -> float:
        *number, g, p = (in_bits if often else whole).errors(z.error, z.radial, engine.rounding)
        g, p = left_of([g, p], carries_often, engine.rounding)
        if stays(often, carries_often):
            return error_of_kept(s.error, g, p, digits, engine.rounding)
        own = number_error(left_of(number, often, engine.rounding))
        return error_of_carries(own, g, p, digits, engine.rounding)

    often, carries_often = cleanings(error)
    is_kept = stays(often, carries_often)
    circuit = alone if is_kept else in_bits if often else whole
    *low, g, p = engine.read(z, circuit, clean=False)
    g, p = engine.cleaned_often([g, p], carries_often, {1: higher})
    out = carries(engine, g, p, digits)
    if is_kept:
        found = _kept(engine, s, out, digits)
    else:
        found = engine.number_after(low, often) + carried_in(engine, out, p, digits)
    return replace(found, largest=BASE - 1), out


def _kept(engine: Engine, s: Bounded, out: Carries, digits: int) -> Bounded:
    """Digits less 16 times the carries out of them, plus those of the digits below."""
    one = 1 / out.factor
    into = engine.masked(out.value, engine.layout.by_digit([one] * (digits - 1)))
    return s + engine.times(out.value, -BASE * one) + engine.moved(into, 1)


def carried_in(engine: Engine, out: Carries, p: Bounded, digits: int) -> Bounded:
    """The changes of digits by the carries of those below: one more, or 16 less where a 15 becomes 16 (p);
    nothing comes into the lowest digit."""
    one = 1 / out.factor
    into = engine.plus(engine.times(p, -BASE * one), engine.layout.by_digit([0.0] + [one] * (digits - 1)))
    return engine.product(replace(into, largest=(BASE - 1) * one), engine.moved(out.value, 1))


_WAYS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
"""Numbers of cleanings of a digit, whose bits they take, and of its carries, the cheapest first."""


def cleanings(error: Callable[[int, int], float], most: int = 2) -> tuple[int, int]:
    """The cheapest numbers of cleanings that leave digits which sums take; or, if there are none, digits that
    an operation may leave.

    Args:
        error: the deviation of a digit after cleanings of its bits, none or more, and of its carries.
        most: the largest number of cleanings that there are levels for.
    """
    ways = [way for way in _WAYS if max(way) <= most]
    for largest in (MOST_DIGIT_ERROR, MOST_LEFT):
        for way in ways:
            # Half of it is for the errors that the next operation adds.
            if error(*way) <= largest / 2:
                return way
    return ways[-1]


def error_of_carry(g: float, p: float, digits: int, rounding: float) -> float:
    """The deviation of the last carry (`carries`) of g and p with these ones. `rounding`: the deviation that
    a product adds, or a key switch."""
    for step, factor, times in _steps(digits):
        turned = rounding / factor
        if step > 1:
            g, p = hypot(g, turned), hypot(p, turned)
        added = rounding / (factor * times)
        g, p = g + hypot(p, g, turned, added), hypot(p, p, turned, added)
    return g


def error_of_carries(own: float, g: float, p: float, digits: int, rounding: float) -> float:
    """The deviation of digits after their carries, with `own` before."""
    *_, (_, _, times) = _steps(digits)
    carry = error_of_carry(g, p, digits, rounding)
    return own + hypot((BASE - 1) * carry, BASE * p, times**2 * rounding if times > 1 else 0.0, rounding)


def error_of_kept(own: float, g: float, p: float, digits: int, rounding: float) -> float:
    """The deviation of digits that are not read, with `own` before, after their carries."""
    return own + (BASE + 1) * error_of_carry(g, p, digits, rounding) + 3 * rounding
