"""Look-ups in tables: interpolation, depth and numbers of products."""

import numpy as np
import pytest

import hemera as hm
from hemera.compiler.look_ups import interpolated

from .exact_cases import Spec, assert_exact, products


@pytest.mark.parametrize("step", [1, 3, -2 % 97])
def test_interpolation(step):
    values = np.random.default_rng(1).integers(-40, 40, (17, 3))
    found = interpolated(values, step, 97)
    assert np.abs(found).max() <= 48
    for at in range(17):
        powers = [pow(step * at, power, 97) for power in range(17)]
        assert [(powers @ found[:, kind] - values[at, kind]) % 97 for kind in range(3)] == [0, 0, 0]


def test_look_ups_take_the_least_depth_and_few_products():
    rng = np.random.default_rng(5)
    for points in (3, 4, 5, 8, 9, 16, 33, 64):
        table = rng.integers(-99, 100, points)
        plan = assert_exact(
            lambda x, table=table: table[x] if isinstance(x, np.ndarray) else np.choose(x, table),
            Spec((3,), (0, points - 1)),
        )
        assert plan.depth <= (points - 1).bit_length(), points
        assert products(plan) <= 3 * points**0.5, points


def test_tables_of_like_ranges_are_one():
    """Elements from 0 to 4 and from -1 to 3: six points in all take the products of five."""
    plan = assert_exact(lambda x: x[:, None] == np.arange(2), Spec((3,), (0, 4)))
    assert "dot arrays" not in plan.package.program.operations
    apart = assert_exact(lambda x: x[:, None] == np.arange(5), Spec((3,), (0, 4)))
    assert "dot arrays" in apart.package.program.operations


def test_equal_powers_are_computed_once():
    one = hm.compile(lambda x: x == 3, Spec((5,), (0, 15)), scheme="bfv", security=None)
    two = hm.compile(lambda x: [x == 3, x == 5, x > 9], Spec((5,), (0, 15)), scheme="bfv", security=None)
    assert products(two) < 3 * products(one)


def test_sums_of_look_ups_need_no_mask():
    """Slots without elements look up a 0."""
    plan = assert_exact(lambda x: (x >= 2).sum(), Spec((5,), (0, 6)))
    assert "map rows" not in plan.package.program.operations
