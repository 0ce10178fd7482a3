"""After any operation any other is possible, at the parameters that are secure.

Chains are counted, on the device "ledger": errors and levels are those of a run, and nothing is computed.
`CHAINS` in the environment takes more of them: 1,000 of each type take an hour."""

import math
import os
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import hemera as hm
from hemera.integers.lookup import Lookup, largest_error
from hemera.integers.margins import MOST_LEFT

from ..refusals import raises
from .steps import BINARY, FURTHER, UNARY, step_of

CHAINS = int(os.environ.get("CHAINS", "4"))
STEPS = 30
TYPES = ["int8", "uint16", "int32", "uint64"]


@cache
def counted(bits):
    """No keys of n16-exact are made: they are counted."""
    return hm.integers.Context(bits, preset="n16-exact", device="ledger")


def chain(ints, dtype, seed):
    rng = np.random.default_rng(seed)
    held = [ints.encrypt(np.arange(12, dtype=dtype), levels=int(rng.choice([0, 1, 4, 16]))) for _ in range(3)]
    trail = []
    for _ in range(STEPS):
        name, (_, of_hemera), operands = step_of(rng, BINARY, UNARY + FURTHER)
        result = int(rng.integers(3))
        trail.append(f"{result} = {name} of {operands}")
        try:
            found = of_hemera(*(held[k] for k in operands))
        except (hm.errors.NoiseError, hm.errors.LevelError) as error:
            raise AssertionError(f"{dtype}, chain {seed}: {trail}") from error
        assert 0 < found.error <= MOST_LEFT, trail
        assert found.levels >= 0, trail
        held[result] = found


@pytest.mark.parametrize("name", TYPES)
def test_chains_are_never_refused(name):
    dtype = np.dtype(name)
    for seed in range(CHAINS):
        # int8 by amounts of uint8 is int16 in between.
        chain(counted(max(16 if name == "int8" else 8, 8 * dtype.itemsize)), dtype, seed)


@pytest.mark.parametrize(("name", "bits"), [("uint8", 64), ("int16", 32)])
def test_chains_of_narrow_types_are_never_refused(name, bits):
    """In a context of wider ones."""
    for seed in range(CHAINS // 2):
        chain(counted(bits), np.dtype(name), seed)


ERRORS = [-9, -10.5, -13.5, -14, -14.1, -16, -18, -20, -20.5, -22]


@pytest.mark.parametrize("levels", [0, 16])
@pytest.mark.parametrize("name", ["uint8", "int64"])
def test_operations_take_what_operations_leave(name, levels):
    """Operands of any error up to the largest: errors decide on refreshes, and some are at their edges."""
    dtype = np.dtype(name)
    ints = counted(8 * dtype.itemsize)
    for error in ERRORS:
        x, y = (ints.encrypt(np.arange(12, dtype=dtype), levels=levels) for _ in range(2))
        for each in (x, y):
            each._held = replace(each._held, error=2.0**error)
        true = x == y
        true._held = replace(true._held, error=2.0**error)
        operations = [f for _, f in BINARY] + [f for _, f in UNARY + FURTHER]
        for k, f in enumerate(operations):
            found = f(x, y) if k < len(BINARY) else f(x)
            assert 0 < found.error <= MOST_LEFT, (error, k)
            assert found.levels >= 0
        for bits in (true & true, true | true, ~true, true ^ (x < y)):
            assert 0 < bits.error <= MOST_LEFT
        for whole in (np.where(true, x, y), true.sum(), x.sum(), divmod(x, 3)[1]):
            assert 0 < whole.error <= MOST_LEFT
        assert x.refresh().error < 2.0**-20


def test_what_can_not_be_read_is_refused():
    """A digit beyond the largest error, which no operation leaves, is refreshed if it can be, or refused."""
    engine = counted(8)._engine
    x = counted(8).encrypt(np.arange(5, dtype=np.uint8))._held
    within = replace(x, error=MOST_LEFT)
    assert engine.left(within) is within
    beyond = replace(x, error=1.1 * MOST_LEFT)
    assert engine.left(beyond).error < 2.0**-20
    raises(hm.errors.NoiseError, "73 are needed", engine.left, replace(x, error=1.5 * MOST_LEFT))
    columns = replace(x, error=1.5 * MOST_LEFT, largest=16)
    assert engine.left(columns) is columns


@pytest.mark.parametrize("bits", [8, 64])
@pytest.mark.parametrize("count", [128, 129, 2000, 40000])
def test_sums_of_any_length_are_read(bits, count):
    """Columns of 15 times as much: what a refresh reads has an error that grows with them."""
    ints = counted(bits)
    x = ints.encrypt(np.zeros(count, f"u{bits // 8}"))
    for of in (x, x * x, x == x):
        found = of.sum()
        assert 0 < found.error <= MOST_LEFT
        assert (found + found).error <= MOST_LEFT


@pytest.mark.parametrize("bits", [8, 64])
def test_refreshed_arrays_are_alike(bits):
    """So that a graph takes them, whatever led to them."""
    ints = counted(bits)
    x = ints.encrypt(np.arange(5, dtype=f"u{bits // 8}"))
    for error in ERRORS:
        for levels in (0, 16):
            y = x.shrink(levels)
            y._held = replace(y._held, error=2.0**error)
            found = y.refresh()
            assert (found.error, found.levels) == (ints._engine.least, 8), (error, levels)
    assert x.refresh().refresh().error == ints._engine.least


@pytest.mark.parametrize("bits", [8, 64])
def test_sums_and_comparisons_need_no_levels(bits):
    """docs/integers.md: levels=0 is enough for one; products take `product_levels`."""
    ints = counted(bits)
    dtype = f"u{bits // 8}"
    x, y = (ints.encrypt(np.arange(ints.values + 1, dtype=dtype), levels=0) for _ in range(2))
    for f in (
        lambda: x + y,
        lambda: x - y,
        lambda: -x,
        lambda: x < y,
        lambda: x == y,
        lambda: x & y,
        lambda: x << 3,
    ):
        before = ints.work.refreshes
        f()
        assert ints.work.refreshes == before + 2  # vectors, of one bootstrap
    for levels, more in ((ints.product_levels, 0), (ints.product_levels - 1, 4)):
        x, y = (ints.encrypt(np.arange(ints.values + 1, dtype=dtype), levels=levels) for _ in range(2))
        before = ints.work.refreshes
        x * y
        assert ints.work.refreshes == before + (2 if bits == 8 else 4) + more


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_sums_and_quotients_have_their_levels(bits):
    """Operands have any level: columns state how many levels they take, and are refused with fewer."""
    ints = counted(bits)
    for levels in range(1, 6):
        # A vector and a value more take as many carries as two vectors.
        for count in (ints.values, ints.values + 1):
            x = ints.encrypt(np.zeros(count, np.uint8), levels=levels)
            assert x.sum(dtype=f"i{bits // 8}").levels >= 0
            assert (x == x).sum().levels >= 0
        x = ints.encrypt(np.zeros(5, f"u{bits // 8}"), levels=levels)
        for divisor in (3, 10, 17, 2044 % 2**bits, 2 ** (bits // 2) + 1, 2 ** (bits - 1) - 1, 2**bits - 2):
            for found in divmod(x, divisor):
                assert found.levels >= 0


def test_sums_take_a_refresh_more_where_their_digits_grow():
    """128 values of 8 bits are a number up to 128 * 255, which a bootstrap reads well enough modulo 256; more
    values count as 256."""
    ints = counted(8)
    assert 128 * 255 <= ints._engine.most_read < 256 * 255
    for count, refreshes in ((128, 1), (129, 2)):
        x = ints.encrypt(np.zeros(count, np.uint8))
        before = ints.work.refreshes
        x.sum()
        assert ints.work.refreshes == before + refreshes


@pytest.mark.parametrize("larger", ["left", "right"])
def test_choices_have_the_larger_error(larger):
    """One of the two values counts, and 15 times the condition's error."""
    ints = counted(8)
    x, y = (ints.encrypt(np.arange(5, dtype=np.uint8)) for _ in range(2))
    true = x == y
    true._held = replace(true._held, error=2.0**-20)
    worse = x if larger == "left" else y
    worse._held = replace(worse._held, error=2.0**-15)
    assert np.where(true, x, y).error == pytest.approx(math.hypot(2**-15, 15 * 2**-20), rel=1e-3)


@pytest.mark.parametrize("period", [16, 256])
def test_the_largest_error_of_a_table(period):
    """The formula of errors, backwards: for slopes, curvatures and what is not of the number."""
    rng = np.random.default_rng(period)
    for largest, radial, rounding in (
        (1e-3, 1e-9, 1e-9),
        (0.05, 1e-9, 1e-9),
        (1e-3, 3e-6, 1e-9),
        (1e-3, 1e-9, 3e-5),
    ):
        circuit = Lookup(rng.integers(0, 2, (3, period)))
        most = largest_error([circuit], largest, radial, rounding)
        assert max(circuit.errors(most, radial, rounding)) == pytest.approx(largest)
    assert largest_error([Lookup(np.zeros((1, 16)))], 1e-3, 1e-9, 1e-9) == math.inf
