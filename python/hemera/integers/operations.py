"""Operations on the digits of whole vectors, modulo 16^digits."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from math import hypot, sqrt

import numpy as np
from numpy.typing import NDArray

from hemera.integers import columns
from hemera.integers.bounded import Bounded
from hemera.integers.carries import carries, error_of_carry, normalized
from hemera.integers.engine import LEAST_READ, Engine
from hemera.integers.layout import BASE, DIGIT_BITS
from hemera.integers.lookup import Lookup, bits, lookup
from hemera.integers.margins import MOST_BIT_ERROR, MOST_DIGIT_ERROR
from hemera.integers.noise import Noise
from hemera.integers.parts import in_parts
from hemera.integers.points import LEVELS
from hemera.integers.remainders import Remainders
from hemera.objects.batches import stack
from hemera.objects.ciphertext import Ciphertext

Bitwise = Callable[[int, int], int]

_TOP = BASE - 1
_BITS = Remainders(*bits(DIGIT_BITS))
_SIGN = lookup(BASE, lambda x: x >= BASE // 2)
_SIGNS = Remainders(lambda x: x >= BASE // 2)
_MOST_BYTE = 20
"""How much larger than the least error of a digit that of a byte may be whose bits were just read."""
_CHOOSING_ERROR = MOST_BIT_ERROR / 2
"""The largest error of a condition that chooses, so that the next operation takes what it chose."""
_TRANSFORM = 4
"""How much larger the rounding of a matrix of points is than that of a product, at most."""


@in_parts
def add(engine: Engine, a: Bounded, b: Bounded, digits: int) -> Bounded:
    """a + b."""
    a, b = engine.to_add(a, b)
    return normalized(engine, a + b, digits)[0]


def difference(engine: Engine, a: Bounded, b: Bounded, digits: int) -> Bounded:
    """a + 15 - b, and one more at the lowest digit: a - b + 16^digits."""
    a, b = engine.to_add(a, b)
    s = engine.plus(a - b, engine.layout.by_digit([float(BASE)] + [float(_TOP)] * (digits - 1)))
    return replace(s, largest=2 * _TOP + 1)


@in_parts
def subtract(engine: Engine, a: Bounded, b: Bounded, digits: int) -> Bounded:
    """a - b."""
    return normalized(engine, difference(engine, a, b, digits), digits)[0]


@in_parts
def negate(engine: Engine, a: Bounded, digits: int) -> Bounded:
    """-a."""
    s = engine.plus(
        engine.ready(a, 0) * -1, engine.layout.by_digit([float(BASE)] + [float(_TOP)] * (digits - 1))
    )
    return normalized(engine, replace(s, largest=BASE), digits)[0]


def invert(engine: Engine, a: Bounded, digits: int) -> Bounded:
    """~a, for nothing."""
    s = engine.plus(a * -1, engine.layout.by_digit([float(_TOP)] * digits))
    return replace(s, largest=_TOP)


@in_parts
def less(engine: Engine, a: Bounded, b: Bounded, digits: int, signed: bool) -> Bounded:
    """Where a < b: a - b has no carry out. The sign bits of signed numbers are taken as they are: where they
    differ, unsigned numbers compare the other way."""
    a, b = engine.to_add(a, b)
    s = difference(engine, a, b, digits)
    circuit = lookup(2 * BASE, lambda x: x >= BASE, lambda x: x == _TOP)
    # What comes around to the lowest digits never comes to the highest.
    g, p = engine.tables(s, circuit, clean=True)
    if error_of_carry(g.error, p.error, digits, engine.rounding) > _CHOOSING_ERROR:
        g, p = engine.cleaned([g, p])
    carry, factor = carries(engine, g, p, digits)
    if signed:
        of_a, of_b = signs(engine, [a, b])
        carry = carry + (of_b - of_a) * factor
    return engine.inverted(engine.spread(carry, digits - 1, 1 / factor))


def signs(engine: Engine, numbers: list[Bounded]) -> list[Bounded]:
    """Whether each digit is 8 or more, of the first two numbers in one refresh where that can be."""
    a, b, *rest = numbers
    if not _SIGNS.takes(engine, a, b):
        return [sign for x in numbers for sign in _bits(engine, x, _SIGN)]
    (of_a,), (of_b,) = _SIGNS(engine, a, b)
    found = engine.cleaned_below(engine.cleaned([of_a, of_b]), MOST_BIT_ERROR)
    return found + [sign for x in rest for sign in _bits(engine, x, _SIGN)]


@in_parts
def negative(engine: Engine, a: Bounded, digits: int) -> Bounded:
    """Where a signed number is below 0."""
    (found,) = _bits(engine, a, _SIGN)
    return engine.spread(found, digits - 1)


def _bits(engine: Engine, x: Bounded, circuit: Lookup) -> list[Bounded]:
    """Tables of digits with any error that an operation leaves, as bits that products take."""
    return engine.cleaned_below(engine.tables(x, circuit, clean=True), MOST_BIT_ERROR)


@in_parts
def equal(engine: Engine, a: Bounded, b: Bounded) -> Bounded:
    """Where a = b: the product over all digits."""
    a, b = engine.to_add(a, b)
    s = replace(a - b, largest=_TOP)
    (found,) = engine.tables(s, lookup(2 * BASE, lambda x: x == 0), clean=True)
    if engine.layout.digits * found.error > _CHOOSING_ERROR:
        (found,) = engine.cleaned([found])
    step = 1
    while step < engine.layout.digits:
        found = engine.product(found, engine.moved(found, step))
        step *= 2
    return found


@in_parts
def select(engine: Engine, condition: Bounded, a: Bounded, b: Bounded) -> Bounded:
    """a where the condition holds, else b. Takes a level."""
    condition = engine.ready_bits(condition, error=_CHOOSING_ERROR)
    a, b = engine.ready_both(a, b, 1)
    found = b + engine.product(condition, replace(a - b, largest=_TOP))
    # One of the two is multiplied by 0, but for the condition's error, so that theirs do not add up.
    error = hypot(max(a.error, b.error), _TOP * condition.error, 2 * engine.rounding)
    return replace(found, largest=_TOP, error=error + condition.error * (a.error + b.error))


@in_parts
def bitwise(engine: Engine, a: Bounded, b: Bounded, of: Bitwise) -> Bounded:
    """An operation on bits, of(0, 0) = 0, digit by digit."""
    if _BITS.takes(engine, a, b):
        found = [_combined(engine, x, y, of) for x, y in zip(*_BITS(engine, a, b), strict=True)]
    else:
        circuit = lookup(BASE * BASE, *bits(DIGIT_BITS, lambda x: of(x % BASE, x // BASE)))
        a, b = engine.to_add(a, b, engine.most_error(circuit) / (BASE + 1))
        found = engine.tables(a + b * BASE, circuit, clean=False)
    return engine.cleaned_numbers(found, MOST_DIGIT_ERROR)[0]


def _combined(engine: Engine, a: Bounded, b: Bounded, of: Bitwise) -> Bounded:
    """of(a, b) of bits as they were read: x a + y b + z a b."""
    x, y = of(1, 0), of(0, 1)
    z = of(1, 1) - x - y
    both = engine.product(a, b)
    found = both * z
    for bit, factor in ((a, x), (b, y)):
        if factor:
            found = found + bit * factor
    error = max(abs(x), abs(x + z)) * a.error + max(abs(y), abs(y + z)) * b.error
    error += abs(z) * (a.error * b.error + engine.rounding)
    return Bounded(found.value, 1, error, found.risk)


def look_up(engine: Engine, index: Bounded, entries: NDArray[np.uint64], digits: int) -> Bounded:
    """entries[index] of an index in the lowest digits, one (16 entries) or two (256); the results have
    `digits` digits. Vectors share refreshes: the numbers of one stand in the places of another's digits."""
    vectors = index.value.shape[0]
    together = min(vectors, engine.layout.digits)
    circuit = _circuit(entries, DIGIT_BITS * digits)
    x = _index(engine, index, circuit, 0 if together == 1 else 1)
    numbers = _looked_up(engine, _interleaved(engine, x, together), circuit)
    rows = []
    for place in range(together):
        row = None
        for i, number in enumerate(numbers):
            digit = engine.moved(engine.masked(number, engine.layout.only(place)), i - place)
            row = digit if row is None else row + digit
        assert row is not None
        rows.append(row)
    value = _in_order([row.value for row in rows], vectors)
    return replace(rows[0], value=value, largest=_TOP, noise=Noise())


def _circuit(entries: NDArray[np.uint64], count: int) -> Lookup:
    """The tables of `count` bits of the entries."""
    words = [int(entry) for entry in entries]
    return lookup(len(entries), *bits(count, lambda s: words[s]))


def _index(engine: Engine, index: Bounded, circuit: Lookup, levels: int) -> Bounded:
    """An index of tables, one digit or two, as a number in the lowest places."""
    is_wide = circuit.period > BASE
    most = engine.most_error(circuit) / ((BASE + 1) if is_wide else 1)
    index = engine.ready(index, levels, min(most, MOST_DIGIT_ERROR))
    return index + engine.moved(index, -1) * BASE if is_wide else index


def bits_at(engine: Engine, index: Bounded, entries: NDArray[np.uint64], count: int) -> list[Bounded]:
    """`count` bits of the entries of `look_up`, the lowest first, each at all digits of its value."""
    x = _index(engine, index, _circuit(entries, count), 1)
    return _bits_read(engine, engine.spread(x, 0), entries, count)


def bits_at_bits(
    engine: Engine, index: Sequence[Bounded], entries: NDArray[np.uint64], count: int
) -> list[Bounded]:
    """The same of indices whose bits are given: their sum stands at all digits already."""
    x, most = engine.number(index), engine.most_error(_circuit(entries, count))
    if x.error > most or engine.level(x) < engine.lowest:
        x = engine.number([engine.ready_bits(bit, 0, engine.least) for bit in index])
    return _bits_read(engine, x, entries, count)


@in_parts
def _bits_read(engine: Engine, x: Bounded, entries: NDArray[np.uint64], count: int) -> list[Bounded]:
    """The bits at numbers that stand at all digits. As bytes of them are to be read again, after further
    operations, they are cleaned until roundings alone are left."""
    circuit = _circuit(entries, count)
    found = engine.tables(replace(x, largest=len(entries) - 1), circuit, clean=True)
    return engine.cleaned_below(found, _MOST_BYTE * engine.least, 2 * DIGIT_BITS)


def from_bits(engine: Engine, rows: Sequence[Bounded]) -> Bounded:
    """The integers with these bits, the lowest first. Takes a level."""
    digits = [
        engine.masked(engine.number(rows[i : i + DIGIT_BITS]), engine.layout.only(i // DIGIT_BITS))
        for i in range(0, len(rows), DIGIT_BITS)
    ]
    return _side_by_side(engine, digits)


def from_bytes(engine: Engine, rows: Sequence[Bounded]) -> Bounded:
    """The integers with these bytes, the lowest first."""
    ready = [rows[0], *(engine.to_add(rows[0], row)[1] for row in rows[1:])]
    ready[0] = engine.to_add(rows[0], ready[-1])[0]
    return _side_by_side(engine, [engine.moved(row, 2 * i) for i, row in enumerate(ready)])


def _side_by_side(engine: Engine, terms: Sequence[Bounded]) -> Bounded:
    """The sum of numbers of which one at most is not 0 in each slot."""
    total = reduce(operator.add, terms)
    error = hypot(max(term.error for term in terms), sqrt(len(terms)) * engine.rounding)
    return replace(total, largest=_TOP, error=error)


@in_parts
def _looked_up(engine: Engine, index: Bounded, circuit: Lookup) -> list[Bounded]:
    """The digits of a table's entries."""
    return engine.cleaned_numbers(engine.tables(index, circuit, clean=False), MOST_DIGIT_ERROR)


def _interleaved(engine: Engine, x: Bounded, together: int) -> Bounded:
    """The numbers in the lowest places of vectors, `together` vectors in one: those of vector k are in place
    k modulo `together`."""
    if together == 1:
        return x
    missing = -x.value.shape[0] % together
    if missing:  # what fills the last one up is not read
        x = x[[*range(x.value.shape[0]), *range(missing)]]
    x = engine.masked(x, engine.layout.only(0))
    total = x[slice(0, None, together)]
    for place in range(1, together):
        other = engine.moved(x[slice(place, None, together)], place)
        total = replace(total + other, largest=x.largest, error=hypot(total.error, other.error))
    return total


def _in_order(rows: list[Ciphertext], vectors: int) -> Ciphertext:
    """The first vectors of the rows in turn."""
    if len(rows) == 1:
        return rows[0]
    return stack([rows[k % len(rows)][k // len(rows)] for k in range(vectors)])


@in_parts
def shift(engine: Engine, a: Bounded, amount: int, digits: int, signed: bool) -> Bounded:
    """a << amount, or a >> -amount: arithmetic where numbers are signed."""
    if amount == 0:
        return a
    places, by = divmod(amount, DIGIT_BITS)
    low = engine.tables(engine.ready(a, 0), lookup(BASE, *bits(DIGIT_BITS)), clean=True)
    total = None
    for extra in (0, 1):
        # The part of each digit that stays at its place, and the one that goes on to the next.
        parts = [
            bit * 2 ** (i + by - DIGIT_BITS * extra)
            for i, bit in enumerate(low)
            if 0 <= i + by - DIGIT_BITS * extra < DIGIT_BITS
        ]
        move = places + extra
        kept = [1.0 if 0 <= i + move < digits else 0.0 for i in range(digits)]
        if not parts or not any(kept):
            continue
        part = parts[0]
        for other in parts[1:]:
            part = part + other
        part = engine.moved(engine.masked(part, engine.layout.by_digit(kept)), move)
        total = part if total is None else total + part
    if total is None:  # all digits are gone
        total = engine.masked(low[0], engine.layout.by_digit([]))
    if signed and amount < 0:
        width = DIGIT_BITS * digits
        ones = (1 << width) - (1 << (width - min(-amount, width)))
        filled = [float(ones >> (DIGIT_BITS * i) & _TOP) for i in range(digits)]
        sign = engine.spread(low[DIGIT_BITS - 1], digits - 1)
        total = total + engine.masked(sign, engine.layout.by_digit(filled))
    return replace(total, largest=_TOP)


@in_parts
def extend(engine: Engine, a: Bounded, digits: int, wider: int) -> Bounded:
    """Signed numbers of more digits: 15 in the new ones of numbers below 0."""
    new = [0.0] * digits + [float(_TOP)] * (wider - digits)
    a = engine.ready(a, 1)
    return replace(a + engine.masked(negative(engine, a, digits), engine.layout.by_digit(new)), largest=_TOP)


def _product_bounds(digits: int) -> list[int]:
    """Bounds of the columns of a product."""
    return [_TOP * _TOP * (i + 1) for i in range(digits)]


def product_levels(digits: int) -> int:
    """The levels of the operands of a product."""
    return LEVELS + columns.levels(_product_bounds(digits), digits, LEAST_READ)


@in_parts
def multiply(engine: Engine, a: Bounded, b: Bounded, digits: int) -> Bounded:
    """a * b: polynomials of their digits, multiplied at points; columns are the product's coefficients."""
    bounds = _product_bounds(digits)
    # Values at points are up to 15 digits, and have the roundings of a transform.
    rounding = (2 * _TOP * digits + 1) * _TRANSFORM * engine.rounding
    most = sqrt(columns.most_error(digits) ** 2 - rounding**2) / (_TOP * sqrt(2 * digits))
    levels = product_levels(digits)
    is_square = a is b
    a = engine.ready(a, levels, most)
    b = a if is_square else engine.ready(b, levels, most)
    forward, back = engine.points.transforms(digits, engine.lowest + levels)
    if is_square:
        at_a = at_b = forward(a.value)
    else:
        at_a, at_b = forward(a.value), forward(b.value)
    half = back(at_a * at_b)
    error = hypot(sqrt(digits) * _TOP * hypot(a.error, b.error), rounding)
    s = Bounded(half + half.conjugate(), bounds[-1], error, a.risk | b.risk)
    return columns.carried(engine, s, bounds, digits)


@in_parts
def overflowing(
    engine: Engine, a: Bounded, b: Bounded, digits: int, *, subtracts: bool, signed: bool
) -> tuple[Bounded, Bounded]:
    """a + b or a - b, and where it wrapped around."""
    a, b = engine.to_add(a, b)
    s = difference(engine, a, b, digits) if subtracts else a + b
    found, carries = normalized(engine, s, digits)
    out = engine.ready_bits(carries.once(engine), 2)  # without one a difference borrows
    if not signed:
        wrapped = engine.spread(out, digits - 1)
        return found, engine.inverted(wrapped) if subtracts else wrapped
    # As unsigned numbers, a + b = found + 2^bits out. With signs s each signed number is 2^bits s less, so
    # that the exact sum is found and 2^bits (out + s_found - s_a - s_b) more: 0, or it wrapped around.
    of_a, of_b, of_found = signs(engine, [a, b, found])
    beyond = out + of_found - of_a + of_b * (1 if subtracts else -1)
    beyond = replace(engine.plus(beyond, np.full(engine.layout.slots, -float(subtracts))), largest=1)
    square = engine.product(beyond, beyond)
    square = replace(square, error=2 * beyond.error + beyond.error**2 + engine.rounding)
    return found, engine.spread(square, digits - 1)
