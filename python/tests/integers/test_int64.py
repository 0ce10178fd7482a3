"""int64 beside NumPy's: each operation on all pairs of edges, neighbours and random numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hemera as hm

from .setting import check, context, operands

INT64 = np.dtype(np.int64)
LIMITS = np.iinfo(np.int64)
EDGES = [LIMITS.min, LIMITS.min + 1, -(2**32), -17, -16, -1, 0, 1, 15, 16, 2**31, LIMITS.max - 1, LIMITS.max]


def numbers(shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Random ones; a third are edges."""
    rng = np.random.default_rng(seed)
    found = rng.integers(LIMITS.min, LIMITS.max, shape, INT64, endpoint=True)
    return np.where(rng.integers(3, size=shape) == 0, rng.choice(np.array(EDGES), shape), found)


# -7 is in test_division.py.
@pytest.mark.parametrize("divisor", [LIMITS.min, -(2**32), -1, 1, 10, 2**40, 10**18 + 9, LIMITS.max])
def test_division(divisor: int) -> None:
    ints = context(64)
    near = [q * divisor + step for q in (-3, -1, 0, 1, 3) for step in (-1, 0, 1)]
    inside = [each for each in near if LIMITS.min <= each <= LIMITS.max]
    a = np.concatenate([np.array(EDGES + inside), numbers((50,), 1)])
    x = ints.encrypt(a)
    with np.errstate(over="ignore"):
        quotient, remainder = divmod(a, np.int64(divisor))
    # Python's integers, too: the quotient of the least number by -1 alone wraps around.
    exact = [(int(each) // divisor + 2**63) % 2**64 - 2**63 for each in a]
    assert quotient.tolist() == exact
    assert remainder.tolist() == [int(each) % divisor for each in a]
    found = divmod(x, divisor)
    check(found[0], quotient, ints)
    check(found[1], remainder, ints)


@pytest.mark.parametrize(
    "f",
    [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne],
    ids=lambda f: f.__name__,
)
def test_comparisons_with_clear_numbers(f: Callable[[Any, Any], Any]) -> None:
    ints = context(64)
    a = np.concatenate([np.array(EDGES), numbers((40,), 2)])
    x = ints.encrypt(a)
    for edge in (LIMITS.min, -1, LIMITS.max):
        check(f(x, edge), f(a, edge), ints)
    check(f(x, a[::-1]), f(a, a[::-1]), ints)


def test_choices_of_all_pairs_of_edges() -> None:
    ints = context(64)
    a, b = (each.ravel() for each in np.meshgrid(EDGES, EDGES))
    x, y = ints.encrypt(a), ints.encrypt(b)
    check(np.minimum(x, y), np.minimum(a, b), ints)
    check(np.maximum(x, y), np.maximum(a, b), ints)
    check(np.where(x < y, x, 0), np.where(a < b, a, 0), ints)
    with np.errstate(over="ignore"):
        check(abs(x), abs(a), ints)
        check(abs(x - y), abs(a - b), ints)
    check(~x, ~a, ints)


def test_overflows() -> None:
    ints = context(64)
    a, b = operands(ints, INT64, 3)
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    for overflowing, f in (
        (hm.integers.overflowing_add, operator.add),
        (hm.integers.overflowing_sub, operator.sub),
    ):
        found, wrapped = overflowing(ints.encrypt(a), ints.encrypt(b))
        with np.errstate(over="ignore"):
            check(found, f(a, b), ints)
        exact = [f(left, right) for left, right in pairs]
        check(wrapped, np.array([not LIMITS.min <= each <= LIMITS.max for each in exact]), ints)


@pytest.mark.parametrize(
    ("shape", "axis"),
    [((100,), None), ((3, 50), 0), ((3, 50), 1), ((2, 3, 20), (0, -1)), ((2, 64), 0)],
    ids=str,
)
def test_sums(shape: tuple[int, ...], axis: Any) -> None:
    ints, a = context(64), numbers(shape, 5)
    with np.errstate(over="ignore"):
        check(ints.encrypt(a).sum(axis), a.sum(axis), ints)
    check((ints.encrypt(a) < 0).sum(axis), (a < 0).sum(axis), ints)


def test_sums_of_the_largest_and_of_the_least() -> None:
    ints = context(64)
    for edge in (LIMITS.min, LIMITS.max, -1):
        a = np.full((3, 70), edge, INT64)
        check(ints.encrypt(a).sum(), a.sum(), ints)


def test_operations_in_a_row() -> None:
    ints = context(64)
    a, b = operands(ints, INT64, 9)
    x, y = ints.encrypt(a), ints.encrypt(b)
    functions: list[Callable[[Any, Any], Any]] = [
        operator.mul,
        operator.sub,
        lambda p, _: abs(p),
        operator.xor,
        lambda p, _: p >> 5,
        lambda p, _: p // -10,
    ]
    for step, f in enumerate(functions):
        x = np.where(x < y, f(x, y), x)
        with np.errstate(over="ignore"):
            a = np.where(a < b, f(a, b), a)
        if step % 2:
            x, y, a, b = y, x, b, a
        np.testing.assert_array_equal(ints.decrypt(x), a)
        np.testing.assert_array_equal(ints.decrypt(y), b)
