"""Numbers of wide ranges, judged by NumPy: comparisons where one step is a small part of the range, and slots
without elements, whose numbers must not outgrow those of elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import hemera as hm
from hemera.errors import PrecisionError

BITS = 15.5
"""The bits that results have, where 16 are asked for."""


def assert_gives(
    program: Callable[[Any], Any], spec: hm.ArraySpec, rows: Any, *, judge: Any = None, **options: Any
) -> hm.Compiled:
    plan: hm.Compiled = hm.compile(program, spec, security=None, **options)
    run = plan.local(threads=1)
    wanted = [np.asarray((judge or program)(x), np.float64) for x in rows]
    room = 2.0**-BITS * max(float(np.abs(each).max()) for each in wanted)
    for x, own in zip(rows, wanted, strict=True):
        np.testing.assert_allclose(run(x), own, rtol=0, atol=room)
    return plan


COMPARISONS: dict[str, Callable[[Any, float], Any]] = {
    "equal": np.equal,
    "greater": np.greater,
    "sign": lambda x, at: np.sign(x - at),
}


@pytest.mark.parametrize(("name", "bits"), [("equal", 28), ("equal", 34), ("greater", 36), ("sign", 28)])
def test_comparisons_next_to_equality(name: str, bits: int) -> None:
    """One step is 2^-bits of the range: noise is less, and errors of a step are none of its neighbours."""
    compare, at, most = COMPARISONS[name], 2.0**19, 2.0**bits
    x = np.array([at - 1, at, at + 1, 0, most, at, at + 2, most - 1])
    assert_gives(lambda x: compare(x, at) * 1, hm.ArraySpec((8,), (0, most), step=1), [x, x[::-1]])


def test_equality_of_two_arrays_with_cents() -> None:
    prices = np.round(np.random.default_rng(0).uniform(1, 1e6, 8), 2)
    other = prices + np.array([0, 0.01, -0.01, 0, 0.01, -0.01, 100, 0])
    spec = hm.ArraySpec((2, 8), range=(0, 1e6 + 101), step=0.01)
    rows = [np.stack([prices, other])]
    assert_gives(lambda x: (x[0] == x[1]) * 1, spec, rows, judge=lambda x: np.abs(x[0] - x[1]) < 0.005)


def test_steps_without_the_bits_are_refused() -> None:
    """Also of a mask that no draw makes true: it has a size, and so bits."""
    params = hm.ckks.Parameters.for_circuit(50, scale_bits=40, slots=8, range_bits=10, security=None)
    programs: list[Callable[[Any], Any]] = [lambda x: x == 2**20, lambda x: x > 2**20]
    for program in programs:
        hm.compile(program, hm.ArraySpec((8,), (0, 2**22), step=1), params=params)
        with pytest.raises(PrecisionError, match=r"of the 16 bits.*noise of test_wide_ranges.py"):
            hm.compile(program, hm.ArraySpec((8,), (0, 2**32), step=1), params=params)


@pytest.mark.parametrize(("count", "widest", "name"), [(3, 300, "softmax"), (5, 60, "logsumexp")])
def test_free_slots_of_exponentials(count: int, widest: float, name: str) -> None:
    """What lies beside few elements is divided by their sum, squared, divided again, and so on."""
    rows = [np.zeros(count), np.full(count, widest), np.linspace(0, widest, count)]
    plan = assert_gives(
        getattr(hm, name), hm.ArraySpec((count,), (0, widest)), rows, judge=getattr(scipy.special, name)
    )
    assert max(plan._lowered.magnitudes.values()) < 2.0**20


def test_free_slots_of_polynomials() -> None:
    """A polynomial of any number is one of what lies in slots without elements, too."""
    power = hm.circuits.Polynomial([0] * 20 + [1.0])

    def program(x: Any) -> Any:
        found = np.exp(x) / np.exp(x).sum()
        return found**20 if isinstance(x, np.ndarray) else power(found)

    samples = np.random.default_rng(0).uniform(-7.5, 0, (200, 3))
    spec = hm.ArraySpec((3,), range=(-7.5, 0))
    plan = assert_gives(program, spec, samples[:3], calibrate=samples, precision_bits=16)
    assert max(plan._lowered.magnitudes.values()) < 2.0**20


@pytest.mark.parametrize("weight", [1e-15, 1e-30, 1e-300])
def test_results_of_small_weights_have_their_bits(weight: float) -> None:
    """They are small next to what they are made of, and no rounding of it."""
    for program in (lambda x: x * weight, lambda x: x / (1 / weight), lambda x: (x * weight).sum() + x * 0):
        assert_gives(program, hm.ArraySpec((3,), (1, 5)), [np.array([1.0, 2.5, 5])])
    assert_gives(lambda x: np.clip(x, 0, 5e-324), hm.ArraySpec((3,), (1, 5)), [np.array([1.0, 2.5, 5])])
