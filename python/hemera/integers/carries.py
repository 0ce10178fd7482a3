"""Carries of sums: all digits at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import hypot

from hemera.integers.bounded import Bounded, pair
from hemera.integers.engine import Engine
from hemera.integers.layout import BASE, DIGIT_BITS
from hemera.integers.lookup import bits, lookup
from hemera.integers.margins import MOST_DIGIT_ERROR


def carries(engine: Engine, g: Bounded, p: Bounded, digits: int) -> Bounded:
    """The carry out of each digit: 1 where a carry comes into being (g), or comes in and goes on (p). By
    P. M. Kogge and H. S. Stone (1973), in log2(digits) levels. p must be 0 at the lowest digit: then what
    comes around from the highest one meets a 0."""
    step = 1
    while step < digits:
        is_last = 2 * step >= digits
        both = None if is_last else pair(g, p)
        if both is not None:
            vectors = g.value.shape[0]
            turned = engine.moved(both, step)
            products = engine.product(replace(p[[*range(vectors)] * 2], largest=1), turned)
            g = g + products[slice(0, vectors)]
            p = products[slice(vectors, 2 * vectors)]
        else:
            g = g + engine.product(p, engine.moved(g, step))
            p = p if is_last else engine.product(p, engine.moved(p, step))
        g = replace(g, largest=1)
        step *= 2
    return g


def normalized(engine: Engine, s: Bounded, digits: int) -> tuple[Bounded, Bounded]:
    """Digits from 0 to 30 (31 at the lowest) as digits from 0 to 15, modulo 16^digits; and the carry out
    of each."""
    circuit = lookup(
        2 * BASE, *bits(DIGIT_BITS, lambda x: x % BASE), lambda x: x >= BASE, lambda x: x == BASE - 1
    )
    higher = engine.layout.by_digit([0.0] + [1.0] * (digits - 1))
    z = engine.exponential(s, circuit.period)

    def too_large(errors: Sequence[float]) -> bool:
        *raw, made, taken = errors
        own = sum(error * (1 << i) for i, error in enumerate(raw))
        return error_of_carries(own, made, taken, digits) > MOST_DIGIT_ERROR

    clean = too_large(circuit.errors(z.error, z.radial, engine.rounding))
    found = engine.read(z, circuit, clean=clean, masks={DIGIT_BITS + 1: higher})
    if clean and too_large([each.error for each in found]):
        found = engine.cleaned(found)
    *low, g, p = found
    out = carries(engine, g, p, digits)
    # One more, or 16 less where a 15 becomes 16; nothing comes into the lowest digit.
    into = engine.plus(p * -BASE, higher)
    into = replace(into, largest=BASE - 1)
    total = engine.number(low) + engine.product(into, engine.moved(out, 1))
    return replace(total, largest=BASE - 1), out


def error_of_carry(g: float, p: float, digits: int) -> float:
    """The deviation of the last carry (`carries`) of g and p with these ones."""
    out, step = g, 1
    while step < digits:
        out, p, step = out + hypot(p, out), hypot(p, p), 2 * step
    return out


def error_of_carries(own: float, g: float, p: float, digits: int) -> float:
    """The deviation of digits after their carries, with `own` before."""
    return own + hypot((BASE - 1) * error_of_carry(g, p, digits), BASE * p)
