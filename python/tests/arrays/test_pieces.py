"""np.where of real numbers: two pieces of a function that meet are one function. The judge is NumPy."""

import numpy as np
import pytest

import hemera as hm


def two_kinks(x):
    y = np.where(x > 1, x, 1)
    return np.where(y < 2, y, 2)


POINTS = np.concatenate([np.linspace(-4, 4, 61), [-1e-9, 0.0, 1e-9]])
PIECES = {
    "leaky >": (lambda x: np.where(x > 0, x, 0.1 * x), 10),
    "leaky >=": (lambda x: np.where(x >= 0, x, 0.1 * x), 10),
    "leaky <": (lambda x: np.where(x < 0, 0.1 * x, x), 10),
    "leaky <=": (lambda x: np.where(x <= 0, 0.1 * x, x), 16),
    "relu": (lambda x: np.where(x > 0, x, 0), 16),
    "an opposite": (lambda x: np.where(~(x > 0), 0, x), 16),
    "two kinks": (two_kinks, 12),
    "a kink beside 0": (lambda x: np.where(x > 1.5, 3 - x, 2 * x - 1.5), 16),
    "elu": (lambda x: np.where(x > 0, x, np.exp(x) - 1), 12),
    "selu": (lambda x: 1.05 * np.where(x > 0, x, 1.67 * (np.exp(x) - 1)), 14),
    "a smooth joint": (lambda x: np.where(x > 1, x * x, 2 * x - 1), 16),
    "a computed value": (lambda x: np.where(2 * x - 1 < 0.5, 0, 2 * x - 1.5), 16),
    "three lines": (lambda x: np.where(x < -1, x, np.where(x < 2, -1, 2 * x - 5)), 14),
    "lines about 0": (lambda x: np.where(x > 1, x - 1, np.where(x < -1, x + 1, 0 * x)), 12),
    "a select": (lambda x: np.select([x < 0, x < 1, x < 2], [-x, 0, x - 1], 3 - x), 12),
    "a band": (lambda x: np.where((x > 0) & (x < 1), x, np.where(x >= 1, 1, 0)), 12),
    "a comparison of lines": (lambda x: np.where(np.maximum(x, 1) > 2, x, np.minimum(x, 2)), 12),
    "huber": (lambda x: np.where(np.abs(x) < 1, x**2 / 2, np.abs(x) - 0.5), 16),
    "bisquare": (lambda x: np.where(np.abs(x) < 2, (1 - (x / 2) ** 2) ** 2, 0), 14),
    "a triangle": (lambda x: np.where(np.abs(x) < 1, 1 - np.abs(x), 0), 10),
    "a parabola cut off": (lambda x: np.where(x**2 > 4, x**2 - 4, 0), 10),
    "a parabola and lines": (lambda x: np.where(x < -1, -x, np.where(x < 2, x**2, 6 - x)), 12),
    "a touch that meets": (lambda x: np.where(np.abs(x - 1) > 0, x, 1), 16),
    "a square that meets": (lambda x: np.where(x * x > 0, x, 0), 16),
    "a touch that is none": (lambda x: np.where(np.abs(x) >= 0, x, 5), 16),
    "two touches": (lambda x: np.where(x > 0, x, np.where(x < 0, -x, 0)), 12),
    "beyond the range": (lambda x: np.where(np.tanh(x) > 20, x, np.tanh(x)), 12),
}


@pytest.mark.parametrize("name", list(PIECES))
def test_pieces_that_meet_are_one_function(name):
    function, bits = PIECES[name]
    plan = hm.compile(function, hm.ArraySpec(POINTS.shape, range=(-4, 4)), precision_bits=bits)
    wanted = function(POINTS)
    atol = 2.0 ** (0.5 - bits) * np.abs(wanted).max()  # bits are promised for draws
    np.testing.assert_allclose(plan.evaluate_clear(POINTS), wanted, rtol=0, atol=atol)


REFUSED = {
    "a jump": lambda x: np.where(x > 1, x, x - 0.25),
    "a small jump": lambda x: np.where(x > 1, x, x - 0.01),
    "two values": lambda x: np.where(x > 1, 1, -1),
    "a mask": lambda x: (x > 0) * 1,
    "a count": lambda x: (x > 0).sum(),
    "a mask of masks": lambda x: (x > 0) & (x < 1),
    "a narrow band": lambda x: np.where((x > 1) & (x < 1.0001), 4, 0),
    "a narrow band inside": lambda x: np.where(x > 1, np.where(x < 1.0001, 4, 0), 0),
    "a narrow band of a square": lambda x: np.where((x * x > 1) & (x * x < 1.0001), 4, x),
    "a band beside lines": lambda x: np.where((x > 1) & (x < 1.0001), 4, np.where(x > 0, x, 0)),
    "a narrow band in a line": lambda x: np.where(x > 0, np.where((x > 1) & (x < 1.0001), 4, x), 0),
    "a narrow band in a square": lambda x: np.where(x > 0, np.where((x > 1) & (x < 1.0001), 4, x * x), 0),
    "a band that no step meets": lambda x: np.where((x**2 > 1) & (x < 1.0000001) & (x > 0), 4, x**2),
    "parabolas apart": lambda x: np.where(np.abs(x) < 1, x**2, x**2 + 0.01),
    "one value": lambda x: np.where(np.abs(x - 1) > 0, x, 4),
    "one value of a square": lambda x: np.where(x * x > 0, x, 5),
    "one value of a parabola": lambda x: np.where(x * x - 2 * x + 1 > 0, x, 4),
    "one value of a number": lambda x: np.where(x * x <= 0, 5.0, 3.0),
    "one value between lines": lambda x: np.where(x > 0, x, np.where(x < 0, -x, 7)),
    "one value of two masks": lambda x: np.where((x >= 1) & (x <= 1), 9, x),
    "a value next to one value": lambda x: np.where(x * x > 1e-9, x, 5),
    "pieces of another value": lambda x: np.where(x[:2] > 0, x[2:4], 0),
    "equality": lambda x: np.where(x == 0, 1.0, x),
    "two arrays": lambda x: np.where(x[:2] > x[2:4], x[:2], x[2:4]),
    "a number for each element": lambda x: np.where(x > np.arange(len(POINTS)), x, x),
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_what_jumps_needs_a_step(name):
    with pytest.raises(TypeError, match="multiples of a known step"):
        hm.compile(REFUSED[name], hm.ArraySpec(POINTS.shape, range=(-4, 4)), precision_bits=16)


def test_pieces_of_integers_are_integers():
    x, spec = np.arange(-5, 6), hm.ArraySpec((11,), range=(-5, 5), dtype=int)
    found = hm.compile(lambda x: np.where(np.abs(x) > 2, np.abs(x), 2), spec).evaluate_clear(x)
    assert (found.dtype, found.tolist()) == (np.int64, np.maximum(np.abs(x), 2).tolist())


def test_a_comparison_that_no_result_needs_is_no_error():
    def program(x):
        np.where(x > 1, 1, -1)
        return x + 1

    plan = hm.compile(program, hm.ArraySpec((3,), range=(-4, 4)))
    np.testing.assert_allclose(plan.evaluate_clear([1.0, 2, 3]), [2, 3, 4], atol=2.0**-14)


def test_choices_of_steps_have_a_step():
    """Also with 0, which is a multiple of any: they can be compared."""
    mask, x = np.arange(8) % 2 == 0, np.arange(-3.0, 5)
    specs = [hm.ArraySpec((8,), dtype=bool), hm.ArraySpec((8,), range=(-3, 4), step=1)]
    for other in (0, 0.0, 2, np.arange(8.0)):

        def function(mask, x, other=other):
            return np.where(mask, x, other) > 1

        plan = hm.compile(function, *specs)
        np.testing.assert_allclose(plan.evaluate_clear(mask, x), function(mask, x), atol=1e-4)


@pytest.mark.parametrize("least", [1.0, 0.99])
def test_maxima_of_ranges_that_do_not_meet_take_no_function(least):
    x, y = np.linspace(0, 1, 5), np.linspace(3, least, 5)
    specs = [hm.ArraySpec((5,), range=(0, 1)), hm.ArraySpec((5,), range=(least, 3))]
    plan = hm.compile(lambda x, y: [np.maximum(x, y) + x, np.minimum(x, y)], *specs)
    most, least_of = plan.evaluate_clear(x, y).values()
    np.testing.assert_allclose(most, np.maximum(x, y) + x, atol=1e-3)
    np.testing.assert_allclose(least_of, np.minimum(x, y), atol=1e-3)
    assert (plan.depth < 3) == (least == 1)
