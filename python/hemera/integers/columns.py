"""Columns: digits of any size, as those of sums and products, brought to digits from 0 to 15."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import hypot, inf

import numpy as np
from numpy.typing import NDArray

from hemera import _core
from hemera.integers.bounded import Bounded
from hemera.integers.carries import carried_in, carries, cleanings, error_of_carries, normalized
from hemera.integers.engine import Engine, Exponential
from hemera.integers.layout import BASE, DIGIT_BITS
from hemera.integers.lookup import bits, lookup
from hemera.integers.margins import cleaned_error, left_of, number_error
from hemera.integers.split import Split, split

LARGEST = 1 << 17
"""Columns up to this are read with an error that tables take: one grows with the numbers."""
_MOST_LOW_ERROR = 2.0**-21
"""Bits of a digit that stays as it is are cleaned twice if they would have more after once."""
_TOP = BASE - 1
_MOST_ABOVE = 2
"""The most that a column of the last carries has above its lowest digit."""
_MOST = _MOST_ABOVE * BASE + _TOP
_MOST_OF_ONE = (_MOST - _TOP + 1) * BASE - 1
_MOST_OF_TWO = (_MOST - 2 * _TOP + 1) * BASE**2 - 1
"""The most of columns of which the lowest digit, or the two lowest ones, are taken off for that."""


def most_error(digits: int) -> float:
    """The largest deviation of columns of `digits` digits that `carried` takes, for digits with an error up
    to `margins.MOST_LEFT`."""
    return float(2.0**-15.5 if digits == 2 else 2.0**-14.25)


def levels(bounds: Sequence[int], digits: int, most_read: float) -> int:
    """The levels of columns up to these bounds that `carried` takes: no less than those of smaller ones.
    `most_read`: the engine's."""
    if digits == 2:
        return len(_moves(bounds, most_read)) + 1
    return len(_passes(bounds[:digits])) - 1


def carried(engine: Engine, s: Bounded, bounds: Sequence[int], digits: int) -> Bounded:
    """Columns up to these bounds as digits from 0 to 15, modulo 16^digits.

    Two digits are one number modulo 256, which a refresh reads. With more, the part of columns above 15 moves
    to the next ones, until it is 2 at most; then carries go through all digits at once.

    Raises:
        LevelError: if the columns have not the levels that this takes: whoever makes them sees to that.
    """
    needed, left = levels(bounds, digits, engine.most_read), engine.level(s) - engine.lowest
    if left < needed:
        raise _core.LevelError(
            f"integers: columns up to {max(bounds)} take {needed} levels, and {left} are left"
        )
    if digits == 2:
        for largest in _moves(bounds, engine.most_read):
            s = _moved_up(engine, replace(s, largest=largest), digits)
        return _read_two(engine, s)
    passes = _passes(bounds[:digits])
    for bound in passes[:-1]:
        s = replace(s, largest=max(bound))
        s = _both_moved_up(engine, s, digits) if _needs_two(bound) else _moved_up(engine, s, digits)
    s = replace(s, largest=max(passes[-1]))
    if s.largest <= _TOP:
        return s
    if max(passes[-1][:-1]) <= 2 * _TOP and passes[-1][-1] <= 2 * BASE - 1:
        return normalized(engine, s, digits)[0]
    return _normalized(engine, s, digits)


def _moves(bounds: Sequence[int], most_read: float) -> list[int]:
    """Bounds of two columns before what they have above 15 moves up, until they are read as one number."""
    found, bound = [], max(bounds[:2])
    while bound * (BASE + 1) > most_read:
        found.append(bound)
        bound = _TOP + bound // BASE
    return found


def _needs_two(bounds: Sequence[int]) -> bool:
    """Whether to read the two lowest digits of columns, after which none has more than 47, as the second one
    has no level for another step."""
    return _MOST_OF_ONE < max(bounds) <= _MOST_OF_TWO


def _passes(bounds: Sequence[int]) -> list[list[int]]:
    """Bounds before each step of `carried`, and in the end."""
    found = [list(bounds)]
    while max(found[-1]) > _MOST:
        last = found[-1]
        if _needs_two(last):
            high = [
                min(bound // BASE, _TOP) + two // BASE**2
                for bound, two in zip(last[:-1], [0, *last[:-2]], strict=True)
            ]
        else:
            high = [bound // BASE for bound in last[:-1]]
        found.append([min(own, _TOP) + above for own, above in zip(last, [0, *high], strict=True)])
    return found


def _moved_up(engine: Engine, s: Bounded, digits: int) -> Bounded:
    """The carry above the lowest digit, at the next column."""
    low = engine.refreshed(s)
    higher = engine.layout.by_digit([1 / BASE] * (digits - 1))
    return low + engine.moved(engine.masked(s - low, higher), 1)


def _both_moved_up(engine: Engine, s: Bounded, digits: int) -> Bounded:
    """The second digit at the next column, and what is above it at the one after that."""
    layout = engine.layout
    low, second = _two_digits(engine, s, layout.by_digit([1.0] * (digits - 1)), _MOST_LOW_ERROR)
    rest = engine.masked(s - low - second * BASE, layout.by_digit([1 / BASE**2] * (digits - 2)))
    return low + engine.moved(second, 1) + engine.moved(rest, 2)


def _two_digits(
    engine: Engine, s: Bounded, kept: NDArray[np.float64], most: float = inf
) -> tuple[Bounded, Bounded]:
    """The lowest digit and the second one, which is multiplied by a vector of 0 and 1; both are cleaned, the
    lowest twice where its bits would have more error than this."""
    circuit = lookup(BASE, *bits(DIGIT_BITS))
    low, above = split(BASE * BASE, circuit)(engine, engine.exponential(s, BASE * BASE))
    second = engine.read(above, circuit, clean=False)
    level = engine.level(second[0])
    (upper,) = engine.cleaned_numbers(second, masks=dict.fromkeys(range(DIGIT_BITS), kept))
    # As low as can be, where primes are few.
    twice = max(cleaned_error(bit.error, engine.rounding) for bit in low) > most
    low = [replace(bit, value=bit.value.at_level(level + 2 * twice)) for bit in low]
    return engine.number_after(low, 2 if twice else 1), upper


def _read_two(engine: Engine, s: Bounded) -> Bounded:
    """Two columns, as one number modulo 256."""
    layout = engine.layout
    second = engine.moved(engine.masked(s, layout.only(1, BASE)), -1)
    both = engine.masked(s, layout.only(0)) + second
    # Both digits are 0 but in the lowest place.
    low, second = _two_digits(engine, both, np.ones(layout.slots))
    return replace(low + engine.moved(second, 1), largest=_TOP)


def _normalized(engine: Engine, s: Bounded, digits: int) -> Bounded:
    """Columns up to 47 = 16 * 2 + 15. With r = s mod 16 and q from 0 to 2 of the column below, r + q is from
    0 to 17: it is 16 or more where q >= 1 and r = 15, or q = 2 and r = 14; and 15 where q + r = 15."""
    layout = engine.layout
    higher = layout.by_digit([0.0] + [1.0] * (digits - 1))
    lower = layout.by_digit([1.0] * (digits - 1))
    z = engine.exponential(s, 4 * BASE)

    def error(often: int, carries_often: int) -> float:
        own, *of_carries = _errors(engine, z, often)
        makes, takes = left_of(of_carries, carries_often, engine.rounding)
        return error_of_carries(own + BASE * makes, makes, takes, digits, engine.rounding)

    often, carries_often = cleanings(error, most=1)
    (*low, top, second, third), above = _last(in_bits=often > 0)(engine, z, kept=lower)
    one, two = (engine.moved(each, 1) for each in _above(above, lower))
    makes = engine.products([one, two], [top, second])
    takes = engine.masked(top, higher) + engine.products([one, two], [second - top, third - second])
    (makes,), (takes,) = (engine.cleaned_often([each], carries_often) for each in (makes, takes))
    makes, takes = replace(makes, largest=1), replace(takes, largest=1)
    out = carries(engine, makes, takes, digits)
    digit = engine.number_after(low, often) + one + two - makes * BASE
    return replace(digit + carried_in(engine, out, takes, digits), largest=_TOP)


_FACTOR = -(1 + 1j) / 4


def _above(z: Exponential, kept: NDArray[np.float64]) -> tuple[Bounded, Bounded]:
    """[q >= 1] and [q = 2] of i^q -(1 + i) / 4, as q is not 3: 1/2 + 2 Re z, and 1/2 + 2 Im z."""
    conjugate = z.value.conjugate()
    error = 2 * abs(_FACTOR) * z.radial
    return (
        Bounded((z.value + conjugate) + kept / 2, 1, error, z.risk),
        Bounded((z.value - conjugate) * -1j + kept / 2, 1, error, z.risk),
    )


def _last(*, in_bits: bool) -> Split:
    """The lowest digit, or its bits, and where it is 15, 14 and 13."""
    number = bits(DIGIT_BITS) if in_bits else [float]
    equal = [lambda r: r == _TOP, lambda r: r == _TOP - 1, lambda r: r == _TOP - 2]
    return split(4 * BASE, lookup(BASE, *number, *equal), _FACTOR)


def _errors(engine: Engine, z: Exponential, often: int) -> tuple[float, float, float]:
    """The deviations of digits before their carries, whose bits are cleaned this often, of carries that come
    into being, and of those that go on."""
    read = _last(in_bits=often > 0)
    *number, top, second, third = read.errors(z, engine.rounding)
    own = number_error(left_of(number, often, engine.rounding))
    above = 2 * abs(_FACTOR) * read.rest(z, engine.rounding)
    makes = hypot(above, top) + hypot(above, second)
    takes = top + hypot(2 * above, second + top) + hypot(2 * above, third + second)
    return own + 2 * above, makes, takes
