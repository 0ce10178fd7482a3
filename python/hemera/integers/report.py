"""The costs of a context's operations, by its plan and by counting, before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from operator import and_

import numpy as np

from hemera.circuits import Bootstrap
from hemera.ckks import Parameters
from hemera.integers import operations
from hemera.integers.bounded import Bounded
from hemera.integers.engine import Engine
from hemera.integers.layout import BASE, DIGIT_BITS, Layout
from hemera.integers.needs import Needs, counted
from hemera.integers.points import Points
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.cost import cost

_ENTRIES = np.arange(256, dtype=np.uint64)
Operation = Callable[[Engine, Bounded, Bounded, int], Bounded]

_OPERATIONS: tuple[tuple[str, Operation], ...] = (
    ("a + b, a - b, -a", operations.add),
    ("a < b, <=, >, >=", lambda e, a, b, d: operations.less(e, a, b, d, False)),
    ("a == b, !=", lambda e, a, b, _: operations.equal(e, a, b)),
    ("a & b, |, ^", lambda e, a, b, _: operations.bitwise(e, a, b, and_)),
    ("a << k, >>", lambda e, a, _, d: operations.shift(e, a, 3, d, False)),
    ("a * b", operations.multiply),
    ("a table of 256 entries", lambda e, a, *_: operations.look_up(e, a, _ENTRIES, 2)),
)


def report(params: Parameters, layout: Layout, whole: Bootstrap, real: Bootstrap, device: str | None) -> str:
    """The values of a ciphertext, and the refreshes, the probability of failure and the time of each
    operation on fresh operands: of as many ciphertexts as a refresh takes."""
    rows = []
    for name, operation in _OPERATIONS:
        refreshes, failure, seconds = _counted(params, layout, whole, real, operation, device)
        words = "1 refresh" if refreshes == 1 else f"{refreshes} refreshes"
        time = "" if seconds is None else f", about {1000 * seconds:.1f} ms"
        rows.append(f"  {name}: {words}{time}, fails with a probability of 2^{failure:.1f}")
    mean, worst = whole.expected_precision()
    on = "" if device is None else f" (counted with the times of operations on {device})"
    return "\n".join(
        (
            f"integers of {layout.digits * DIGIT_BITS} bits: {layout.digits} digits of base 16, "
            f"{layout.values} values in a ciphertext",
            f"{whole.levels_left} levels after a refresh; exponentials of {mean:.1f} bits, {worst:.1f} in "
            "the worst slot",
            Needs(*counted(params, layout), 0.0).memory,
            f"of each operation, for {'one ciphertext' if whole.real else 'two ciphertexts at once'}{on}:",
            *rows,
            "  minimum, maximum: as a < b; ~a, where, booleans, astype to fewer bits: no refresh",
            "  signed comparisons, abs, signed astype to more bits: one refresh more, of the signs",
            "operands with too few levels, or too large an error, take one refresh each before",
        )
    )


def _counted(
    params: Parameters,
    layout: Layout,
    whole: Bootstrap,
    real: Bootstrap,
    operation: Operation,
    device: str | None,
) -> tuple[int, float, float | None]:
    """The refreshes, log2 of a bound on the probability of failure and the seconds of a run that computes
    nothing."""
    together = 1 if whole.real else 2
    refreshes, failure = 0, 0.0

    def run(x: Ciphertext, y: Ciphertext) -> Ciphertext:
        nonlocal refreshes, failure
        engine = Engine(x.evaluator, layout, whole, real, Points(params, layout))
        a, b = (Bounded(value, BASE - 1, engine.fresh) for value in (x, y))
        found = operation(engine, a, b, layout.digits)
        refreshes, failure = -(-engine.work.refreshes // together), found.risk.log2
        return found.value

    shape = (together, layout.slots)
    counted = cost(run, shape, shape, params=params, device=device)
    return refreshes, failure, counted.seconds
