"""Long chains of random operations, beside NumPy's.

`STEPS` in the environment makes them longer: 1,000 take some minutes."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hemera as hm
from hemera.circuits import Bootstrap
from hemera.integers.bounded import Bounded
from hemera.integers.engine import MOST_DIGIT_ERROR, Engine
from hemera.integers.layout import Layout
from hemera.integers.operations import add, less, select
from hemera.integers.points import Points

from .setting import context, operands

Step = tuple[Callable[..., Any], Callable[..., Any]]
"""A function of NumPy's arrays, and the same of encrypted ones."""

BINARY: list[Step] = [
    (f, f) for f in (operator.add, operator.sub, operator.mul, operator.and_, operator.or_, operator.xor)
] + [
    (np.minimum, hm.integers.minimum),
    (np.maximum, hm.integers.maximum),
    (lambda a, b: np.where(a < b, b, a - b), lambda a, b: hm.integers.where(a < b, b, a - b)),
    (
        lambda a, b: np.where((a == b) | (a > b), a, ~b),
        lambda a, b: hm.integers.where((a == b) | (a > b), a, ~b),
    ),
    (lambda a, b: (a >= b).astype(a.dtype), lambda a, b: hm.integers.where(a >= b, 1, a * 0)),
    (lambda a, b: np.concatenate([b[7:], a[:7]]), lambda a, b: hm.integers.concatenate([b[7:], a[:7]])),
    (lambda a, b: a + b[5], lambda a, b: a + b[5]),
    (lambda a, b: a << (b.astype(np.uint8) & 31), lambda a, b: a << (b.astype(np.uint8) & 31)),
    (lambda a, b: a >> (b.astype(np.uint8) & 31), lambda a, b: a >> (b.astype(np.uint8) & 31)),
    (lambda a, b: a - b.sum(dtype=a.dtype), lambda a, b: a - b.sum(dtype=a.dtype)),
    (lambda a, b: a - b, lambda a, b: hm.integers.overflowing_sub(a, b)[0]),
]
UNARY: list[Step] = [
    (f, f)
    for f in (lambda x: x << 3, lambda x: x >> 5, abs, operator.invert, operator.neg, lambda x: x[::-1])
] + [
    (lambda x: x.astype("u1").astype(x.dtype), lambda x: x.astype("u1").astype(x.dtype)),
    (lambda x: np.arange(255, -1, -1)[x.astype("u1")].astype(x.dtype), lambda x: _turned(x)),
    (lambda x: x, lambda x: x.context.load(bytes(x))),
]


def _turned(x: hm.integers.Integers) -> hm.integers.Integers:
    return hm.integers.Table(np.arange(255, -1, -1, dtype=np.uint8))[x.astype(np.uint8)].astype(x.dtype)


@pytest.mark.parametrize(("name", "bits", "steps"), [("uint8", 8, 30), ("int16", 64, 10), ("int32", 32, 10)])
def test_chains_have_no_end(name: str, bits: int, steps: int) -> None:
    steps = int(os.environ.get("STEPS", steps))
    ints, dtype = context(bits), np.dtype(name)
    rng = np.random.default_rng(steps)
    clear = [operands(ints, dtype, seed)[0] for seed in range(3)]
    held = [ints.encrypt(a) for a in clear]
    for step in range(steps):
        i, j, result = rng.integers(0, 3, 3)
        chosen = int(rng.integers(len(BINARY) + len(UNARY)))
        with np.errstate(over="ignore"):
            if chosen < len(UNARY):
                of_numpy, of_hemera = UNARY[chosen]
                expected, found = of_numpy(clear[i]), of_hemera(held[i])
            else:
                of_numpy, of_hemera = BINARY[chosen - len(UNARY)]
                expected, found = of_numpy(clear[i], clear[j]), of_hemera(held[i], held[j])
        np.testing.assert_array_equal(ints.decrypt(found), expected, f"step {step}, operation {chosen}")
        assert found.dtype == expected.dtype == dtype
        assert found.failure_log2 < -100
        clear[result], held[result] = expected, found
        if step % 20 == 10:  # values that operations made alike
            clear[result] = operands(ints, dtype, step)[1]
            held[result] = found * 0 + clear[result]


@pytest.mark.parametrize("preset", ["test-exact", "n16-exact"])
@pytest.mark.parametrize("bits", [8, 64])
def test_sums_of_sums_take_one_refresh_each(preset: str, bits: int) -> None:
    # Counted: the errors of n16-exact are larger.
    params = hm.ckks.Parameters.for_bootstrapping(preset)
    layout = Layout(params.max_slots, bits // 4)
    plans = Bootstrap(params), Bootstrap(params, real=True)
    taken: list[int] = []

    def run(x: hm.Ciphertext, y: hm.Ciphertext) -> hm.Ciphertext:
        engine = Engine(x.evaluator, layout, *plans, Points(params, layout))
        a, b = (Bounded(value, 15, engine.fresh) for value in (x, y))
        for step in range(8):
            before = engine.work.refreshes
            condition = less(engine, a, b, layout.digits, signed=False) if step % 2 else None
            a = engine.ready(add(engine, a, a if step < 6 else b, layout.digits)[0], 1)
            if condition is not None:
                a = engine.ready(select(engine, condition, a, b), 1)
            assert a.error < MOST_DIGIT_ERROR
            taken.append(engine.work.refreshes - before)
        return a.value

    hm.cost(run, (1, layout.slots), (1, layout.slots), params=params)
    # One, with a comparison two; choices take none. Sums of 64 bits add up errors that are cleaned at times.
    more = int(bits == 64)
    assert set(taken[1::2]) <= {2, 2 + more}
    assert set(taken[::2]) <= {1, 1 + more * (preset == "test-exact")}
    assert sum(taken) <= len(taken) * 3 // 2 + 4 * more
