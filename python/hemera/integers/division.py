"""Quotients and remainders by clear divisors: products with a reciprocal.

T. Granlund and P. L. Montgomery, "Division by invariant integers using multiplication", 1994: a reciprocal
with enough digits gives the whole quotient. Here columns of the product that are too low to matter are left
out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count
from math import hypot, sqrt

import numpy as np

from hemera.integers import columns, operations
from hemera.integers.bounded import Bounded
from hemera.integers.engine import Engine
from hemera.integers.layout import BASE, DIGIT_BITS
from hemera.integers.lookup import bits, lookup
from hemera.integers.margins import MOST_LEFT
from hemera.integers.parts import in_parts

_TOP = BASE - 1


def _digits(number: int) -> list[int]:
    """The digits of a number, the lowest first; at least one."""
    return [number >> k & _TOP for k in range(0, max(number.bit_length(), 1), DIGIT_BITS)]


@dataclass(frozen=True)
class Reciprocal:
    """Columns sum_i weights[c][i] n_i + added[c] of the digits n_i of a number n, whose sum times 16^c is at
    least 16^fraction n / d, and less by 16^fraction / d than the next one: its whole part is the quotient."""

    weights: list[list[int]]
    added: list[int]
    fraction: int

    @property
    def bounds(self) -> list[int]:
        """Bounds of the columns."""
        return [_TOP * sum(row) + own for row, own in zip(self.weights, self.added, strict=True)]


@lru_cache(maxsize=64)
def reciprocal(divisor: int, digits: int) -> Reciprocal:
    """The reciprocal of a divisor above 1, for numbers of some digits."""
    for fraction in count(1):
        # With 16^(fraction + digits) / d, whose product with n has as many places below the columns.
        m = _digits(BASE ** (fraction + digits) // divisor)
        lost = sum(
            _TOP * m[t] * BASE ** (i + t) for i in range(digits) for t in range(min(digits - i, len(m)))
        )
        added = -(-(lost + BASE**digits - 1) // BASE**digits)
        if added * divisor < BASE**fraction:
            break
    width = fraction + len(_digits((BASE**digits - 1) // divisor))
    weights = [
        [m[c + digits - i] if 0 <= c + digits - i < len(m) else 0 for i in range(digits)]
        for c in range(width)
    ]
    own = _digits(added)
    return Reciprocal(weights, own + [0] * (width - len(own)), fraction)


def _columns(
    engine: Engine, a: Bounded, weights: Sequence[Sequence[int]], added: Sequence[int], bound: int
) -> Bounded:
    """Weighted sums of the digits of each value, one at each place."""
    layout, total, turned = engine.layout, None, a
    for step in range(layout.digits):  # the digits of each value, moved up by `step` places
        row = [0.0] * layout.digits
        for c, own in enumerate(weights):
            digit = (c - step) % layout.digits
            row[c] = float(own[digit]) if digit < len(own) else 0.0
        turned = engine.moved(turned, 1) if step else a
        if any(row):
            part = turned.value * layout.by_digit(row)
            total = part if total is None else total + part
    assert total is not None
    size = max(sqrt(sum(x * x for x in row)) for row in weights)
    error = hypot(size * turned.error, sqrt(layout.digits) * engine.rounding)
    found = Bounded(total, bound, error, a.risk)
    return replace(engine.plus(found, layout.by_digit([float(x) for x in added])), largest=bound)


def _operand(engine: Engine, a: Bounded, levels: int) -> Bounded:
    """Digits with an error that `_columns` take, and levels for them and more."""
    return engine.ready(a, 1 + levels, _most_added(engine) / (_TOP * sqrt(engine.layout.digits)))


def _most_added(engine: Engine) -> float:
    """The most that each of two terms adds to the error of columns."""
    return columns.most_error(engine.layout.digits) / 2


def quotient(engine: Engine, a: Bounded, divisor: int, digits: int) -> Bounded:
    """a // divisor of numbers from 0 on."""
    if divisor & (divisor - 1) == 0:
        return operations.shift(engine, engine.ready(a, 1), 1 - divisor.bit_length(), digits, signed=False)
    plan = reciprocal(divisor, digits)
    windows = _windows(plan, engine.layout.digits)
    levels = [columns.levels(each.bounds, each.places, engine.most_read) for each in windows]
    a = _operand(engine, a, max(levels))
    first, before, found = 0, 0, a
    kept: list[float] = []
    for window, needed in zip(windows, levels, strict=True):
        own = slice(first, first + window.own)
        s = _columns(engine, a, plan.weights[own], plan.added[own], max(window.bounds))
        if first:
            spill = engine.ready(found, 1 + needed, _most_added(engine))
            moved = engine.moved(engine.masked(spill, engine.layout.by_digit(kept)), -before)
            s = replace(s + moved, largest=max(window.bounds))
        found = columns.carried(engine, s, window.bounds, window.places)
        kept = [0.0] * window.own + [1.0] * (window.places - window.own)
        first, before = first + window.own, window.own
    below = plan.fraction - (first - before)
    kept = [0.0] * below + [1.0] * (before - below)
    found = engine.ready(found, 1, MOST_LEFT / 2)
    return replace(engine.moved(engine.masked(found, engine.layout.by_digit(kept)), -below), largest=_TOP)


@dataclass(frozen=True)
class _Window:
    """Columns of a reciprocal that are carried at once."""

    own: int
    """Their number."""
    places: int
    """The digits of their sum: those above them go into the next window."""
    bounds: list[int]
    """Bounds of the columns at these places, with the carries of the window before."""


def _windows(plan: Reciprocal, room: int) -> list[_Window]:
    """All columns, from the lowest, in vectors with room for `room` digits each."""
    found, bounds, below, over = [], plan.bounds, plan.fraction, 0
    while bounds:
        bounds = [bound + (_TOP if k < over else 0) for k, bound in enumerate(bounds)]
        own = len(bounds) if len(bounds) <= room else min(_own_columns(bounds, room), below)
        places = own if own == len(bounds) else len(_digits(_largest(bounds[:own])))
        found.append(_Window(own, places, [*bounds[:own], *[0] * (places - own)]))
        bounds, below, over = bounds[own:], below - own, places - own
    return found


def _largest(bounds: Sequence[int]) -> int:
    """The largest number with these columns."""
    return sum(bound * BASE**k for k, bound in enumerate(bounds))


def _own_columns(bounds: Sequence[int], room: int) -> int:
    """The most columns that fit into a vector with all that is above them."""
    return max(own for own in range(1, room) if len(_digits(_largest(bounds[:own]))) <= room)


@in_parts
def remainder(engine: Engine, a: Bounded, q: Bounded, divisor: int, digits: int) -> Bounded:
    """a - q divisor modulo 16^digits; what is known to be from 0 to divisor - 1 needs its digits alone."""
    width = max(2, len(_digits(divisor - 1))) if divisor > 0 else digits
    width = min(width, digits)
    w = [-divisor >> k * DIGIT_BITS & _TOP for k in range(width)]
    weights = [[w[k - i] if k >= i else 0 for i in range(width)] for k in range(width)]
    bounds = [_TOP * (sum(row) + 1) for row in weights]
    levels = columns.levels(bounds, width, engine.most_read)
    q, a = _operand(engine, q, levels), engine.ready(a, 1 + levels, _most_added(engine))
    s = _columns(engine, q, weights, [], max(bounds))
    own = engine.masked(a, engine.layout.by_digit([1.0] * width))
    return columns.carried(engine, replace(s + own, largest=max(bounds)), bounds, width)


@in_parts
def low_bits(engine: Engine, a: Bounded, amount: int) -> Bounded:
    """a modulo 2^amount."""
    whole, rest = divmod(amount, DIGIT_BITS)
    a = engine.ready(a, 1)
    total = engine.masked(a, engine.layout.by_digit([1.0] * whole))
    if rest:
        found = engine.tables(a, lookup(BASE, *bits(rest)), clean=False)
        total = total + engine.masked(engine.cleaned_numbers(found)[0], engine.layout.only(whole))
    return replace(total, largest=_TOP)


def complemented(engine: Engine, a: Bounded, condition: Bounded, digits: int) -> Bounded:
    """~a where the condition holds. Takes a level."""
    a = engine.ready(a, 1)
    turn = engine.plus(a * -2, engine.layout.by_digit([float(_TOP)] * digits))
    found = a + engine.product(engine.ready_bits(condition), replace(turn, largest=_TOP))
    return replace(found, largest=_TOP)


@in_parts
def floor_quotient(engine: Engine, a: Bounded, divisor: int, digits: int, signed: bool) -> Bounded:
    """a // divisor, rounded down: with n or ~n as a number from 0 on, ~(~n // d) is n // d of n below 0."""
    if divisor == 1:
        return a
    if not signed:
        return quotient(engine, a, divisor, digits)
    if divisor > 0 and divisor & (divisor - 1) == 0:
        return operations.shift(engine, engine.ready(a, 1), 1 - divisor.bit_length(), digits, signed=True)
    a = engine.ready(a, 1)
    if divisor > 0:
        below = operations.negative(engine, a, digits)
    else:  # -a, which the least number is as well, as a number from 0 on
        negated = engine.ready(operations.negate(engine, a, digits), 1)
        before, after = operations.signs(engine, [a, negated])
        below = engine.product(after, engine.inverted(before))
        below, a = engine.spread(replace(below, largest=1), digits - 1), negated
    found = complemented(engine, a, below, digits)
    if divisor != -1:
        found = quotient(engine, found, abs(divisor), digits)
    return complemented(engine, found, below, digits)


def divided(
    engine: Engine,
    a: Bounded,
    divisor: int,
    digits: int,
    *,
    signed: bool,
    with_quotient: bool,
    with_remainder: bool,
) -> list[Bounded]:
    """a // divisor and a % divisor, as NumPy has them; where one is not asked for, its place may have the
    other. The divisor is not 0.

    Numbers of 8 bits are looked up; remainders by powers of two are low bits.
    """
    if digits == 2:
        numbers = np.arange(BASE * BASE)
        if signed:
            numbers = (numbers + BASE * BASE // 2) % (BASE * BASE) - BASE * BASE // 2
        tables = [numbers // divisor] * with_quotient + [numbers % divisor] * with_remainder
        return [operations.look_up(engine, a, (each & 255).astype(np.uint64), 2) for each in tables]
    is_power = divisor > 0 and divisor & (divisor - 1) == 0
    found = []
    if with_quotient or not is_power:
        found.append(floor_quotient(engine, a, divisor, digits, signed))
    if with_remainder:
        by_power = is_power and low_bits(engine, a, divisor.bit_length() - 1)
        found.append(by_power or remainder(engine, a, found[0], divisor, digits))
    return found
