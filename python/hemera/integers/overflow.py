"""Sums and differences with whether they wrapped around."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hemera.integers import operations
from hemera.integers.bounded import Bounded
from hemera.integers.carries import normalized
from hemera.integers.engine import Engine
from hemera.integers.parts import in_parts


@in_parts
def overflowing(
    engine: Engine, a: Bounded, b: Bounded, digits: int, *, subtracts: bool, signed: bool
) -> tuple[Bounded, Bounded]:
    """a + b or a - b, and where it wrapped around."""
    a, b = engine.to_add(a, b)
    s = operations.difference(engine, a, b, digits) if subtracts else a + b
    found, carries = normalized(engine, s, digits)
    out = engine.ready_bits(carries.once(engine), 2)  # without one a difference borrows
    if not signed:
        wrapped = engine.spread(out, digits - 1)
        return found, engine.inverted(wrapped) if subtracts else wrapped
    # As unsigned numbers, a + b = found + 2^bits out. With signs s each signed number is 2^bits s less, so
    # that the exact sum is found and 2^bits (out + s_found - s_a - s_b) more: 0, or it wrapped around.
    of_a, of_b, of_found = operations.signs(engine, [a, b, found])
    beyond = out + of_found - of_a + of_b * (1 if subtracts else -1)
    beyond = replace(engine.plus(beyond, np.full(engine.layout.slots, -float(subtracts))), largest=1)
    square = engine.product(beyond, beyond)
    square = replace(square, error=2 * beyond.error + beyond.error**2 + engine.rounding)
    return found, engine.spread(square, digits - 1)
