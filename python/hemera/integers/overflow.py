"""Sums and differences with whether they wrapped around."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hemera.integers import operations
from hemera.integers.bounded import Bounded
from hemera.integers.engine import Engine, pair
from hemera.integers.layout import BASE
from hemera.integers.lookup import lookup


def overflowing(
    engine: Engine, a: Bounded, b: Bounded, digits: int, *, subtracts: bool, signed: bool
) -> tuple[Bounded, Bounded]:
    """a + b or a - b, and where it wrapped around."""
    of = operations.difference if subtracts else _sum
    found, carries = engine.normalized(of(engine, a, b, digits), digits)
    out = engine.ready_bits(carries, 2)  # without one a difference borrows
    if not signed:
        wrapped = engine.spread(out, digits - 1)
        return found, _not(engine, wrapped) if subtracts else wrapped
    # As unsigned numbers, a + b = found + 2^bits out. With signs s each signed number is 2^bits s less, so
    # that the exact sum is found and 2^bits (out + s_found - s_a - s_b) more: 0, or it wrapped around.
    of_a, of_b, of_found = _signs(engine, [a, b, found])
    beyond = out + of_found - of_a + of_b * (1 if subtracts else -1)
    beyond = replace(engine.plus(beyond, np.full(engine.layout.slots, -float(subtracts))), largest=1)
    square = engine.product(beyond, beyond)
    square = replace(square, error=2 * beyond.error + beyond.error**2 + engine.rounding)
    return found, engine.spread(square, digits - 1)


def _sum(_: Engine, a: Bounded, b: Bounded, digits: int) -> Bounded:
    del digits
    return a + b


def _not(engine: Engine, bit: Bounded) -> Bounded:
    return replace(engine.plus(bit * -1, np.ones(engine.layout.slots)), largest=1)


def _signs(engine: Engine, numbers: list[Bounded]) -> list[Bounded]:
    """Whether each digit is 8 or more, of all numbers in one refresh where that can be."""
    circuit = lookup(BASE, lambda s: s >= BASE // 2)
    joined: Bounded | None = numbers[0]
    for x in numbers[1:]:
        joined = None if joined is None else pair(joined, x)
    if joined is None:
        return [engine.tables(x, circuit, clean=True)[0] for x in numbers]
    (found,) = engine.tables(joined, circuit, clean=True)
    vectors = numbers[0].value.shape[0]
    return [found[slice(i * vectors, (i + 1) * vectors)] for i in range(len(numbers))]
