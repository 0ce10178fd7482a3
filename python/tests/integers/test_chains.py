"""Long chains of random operations, beside NumPy's.

`STEPS` in the environment makes them longer: 1,000 take some minutes. `CHAINS` takes more of them."""

from __future__ import annotations

import os

import numpy as np
import pytest

import hemera as hm
from hemera.integers.bounded import Bounded
from hemera.integers.engine import Engine
from hemera.integers.margins import MOST_DIGIT_ERROR, MOST_LEFT
from hemera.integers.operations import add, less, select
from hemera.integers.points import Points
from hemera.integers.refreshes import refreshes

from .setting import context, operands
from .steps import BINARY, FURTHER, RELOADED, UNARY, step_of


@pytest.mark.parametrize(("name", "bits", "steps"), [("uint8", 8, 10), ("int16", 64, 4), ("int32", 32, 4)])
@pytest.mark.parametrize("seed", range(int(os.environ.get("CHAINS", "1"))))
def test_chains_have_no_end(name: str, bits: int, steps: int, seed: int) -> None:
    steps = int(os.environ.get("STEPS", steps))
    ints, dtype = context(bits), np.dtype(name)
    rng = np.random.default_rng([steps, seed])
    clear = [operands(ints, dtype, seed)[0] for seed in range(3)]
    held = [ints.encrypt(a) for a in clear]
    for step in range(steps):
        operation, (of_numpy, of_hemera), chosen = step_of(rng, BINARY, [*UNARY, *FURTHER, RELOADED])
        with np.errstate(over="ignore"):
            expected = of_numpy(*(clear[k] for k in chosen))
        found = of_hemera(*(held[k] for k in chosen))
        np.testing.assert_array_equal(ints.decrypt(found), expected, f"step {step}, {operation}")
        assert found.dtype == expected.dtype == dtype
        assert found.failure_log2 < -100
        assert 0 < found.error <= MOST_LEFT
        result = int(rng.integers(3))
        clear[result], held[result] = expected, found
        if step % 20 == 10:  # values that operations made alike
            clear[result] = operands(ints, dtype, step)[1]
            held[result] = found * 0 + clear[result]


@pytest.mark.parametrize("preset", ["test-exact", "n16-exact"])
@pytest.mark.parametrize("bits", [8, 64])
def test_sums_of_sums_take_one_refresh_each(preset: str, bits: int) -> None:
    # Counted: the errors of n16-exact are larger.
    params = hm.ckks.Parameters.for_bootstrapping(preset)
    layout, *plans = refreshes(params, None, bits // 4)
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
