"""Worst-case bounds of noise, operation by operation: the judge is the rule's own formula, by hand.

A value has a unit when it is encrypted and takes one more where it is used; a result takes one more.
"""

import math

import numpy as np
import pytest

import hemera as hm
from hemera.package.error_bounds import noise_bounds
from hemera.program import operations as op
from hemera.program.program import Program
from hemera.program.values import Form

PARAMS = hm.ckks.Parameters.for_circuit(8, scale_bits=45, slots=64, range_bits=22, security=None)
UNIT = hm.Context(PARAMS, "ledger", threads=1).noise_bound(depth=0, largest=1)
ROUNDED = 4 * math.sqrt(PARAMS.degree) / 2 / PARAMS._native.scale / UNIT
"""Units by the rounding of encoded numbers."""
USED = 2.0
"""Units of an input where it is used."""
NUMBERS, PLACES = [0, 1, 5], np.arange(64)
MATRIX = np.zeros((64, 64))
for number in NUMBERS:
    MATRIX[PLACES, (PLACES + number) % 64] = np.random.default_rng(number).uniform(-3, 3, 64)
MATRIX[3, 4], MATRIX[7, 7], MATRIX[2, 7], MATRIX[2, 3] = 50, 20, -30, 5
"""Its largest column is none that turned diagonals have elsewhere."""
DIAGONALS = np.array([MATRIX[PLACES, (PLACES + number) % 64] for number in NUMBERS])
MAP, PLUS, TIMES, THOUSANDFOLD = (
    op.Map.of(NUMBERS, DIAGONALS),
    op.Add(),
    op.Multiply(),
    op.MultiplyNumber(-1e3),
)
ROOT = float(math.sqrt(np.abs(MATRIX).sum(0).max() * np.abs(MATRIX).sum(1).max()))
TURNS = float(np.abs(DIAGONALS).max(axis=1).sum())
NOISY = 1000 * USED + ROUNDED + 2
"""Units of a thousand times an input of 1, where it is used."""

BOUNDS = {
    "sum": ([(PLUS, 0, 1)], [3, 5], {}, 2 * USED),
    "difference": ([(op.Subtract(), 0, 1)], [3, 5], {}, 2 * USED),
    "negated": ([(op.Negate(), 0)], [3], {}, USED + 1),
    "turned": ([(op.Rotate(3), 0)], [3], {}, USED + 1),
    "number added": ([(op.AddNumber(-7.0), 0)], [3], {}, USED + ROUNDED),
    "times a number": ([(op.MultiplyNumber(-7.5), 0)], [3], {}, 7.5 * USED + 3 * ROUNDED + 1),
    "times an array": ([(op.MultiplyArray(PLACES - 40.0), 0)], [3], {}, 40 * USED + 3 * ROUNDED + 1),
    "product": ([(TIMES, 0, 1)], [3, 5], {}, (3 + 5) * USED + 2),
    "square": ([(op.Power(2), 0)], [3], {}, 2 * 3 * USED + 2),
    "map": ([(MAP, 0)], [2], {}, ROOT * USED + TURNS + 2 * 3 * ROUNDED),
    "exact by noisy": ([(THOUSANDFOLD, 1), (TIMES, 0, 2)], [50, 1], {2: 0.01}, 50 * NOISY + 0.01 * USED + 2),
    "noisy by exact": ([(THOUSANDFOLD, 1), (TIMES, 2, 0)], [50, 1], {2: 0.01}, 50 * NOISY + 0.01 * USED + 2),
    # What an operation makes of magnitudes is that by which a product multiplies the other one's error.
    "after a sum": ([(PLUS, 0, 1), (TIMES, 2, 0)], [3, 5], {}, 8 * USED + 3 * (2 * USED + 1) + 2),
    "after a number": (
        [(op.AddNumber(-10.0), 0), (TIMES, 2, 1)],
        [3, 5],
        {},
        13 * USED + 5 * (3 + ROUNDED) + 2,
    ),
    "after a factor": ([(THOUSANDFOLD, 0), (TIMES, 2, 1)], [1, 5], {}, 1000 * USED + 5 * NOISY + 2),
    "after a product": ([(TIMES, 0, 1), (TIMES, 2, 1)], [30, 5], {}, 150 * USED + 5 * (35 * USED + 3) + 2),
    "less is known": ([(TIMES, 0, 1), (TIMES, 2, 1)], [30, 5], {2: 7.0}, 7 * USED + 5 * (35 * USED + 3) + 2),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds_are_those_of_the_rules(name):
    steps, inputs, known, wanted = BOUNDS[name]
    program = Program("ckks", [Form(64)] * len(inputs))
    *_, last = (program.add(operation, *operands) for operation, *operands in steps)
    program.give(0)
    program.give(last)
    first, found = (each / UNIT for each in noise_bounds(program, PARAMS, inputs, known))
    assert first == pytest.approx(USED)
    # A map's rotations by giant steps, of which there are one to three, take a unit each, and its rescale.
    more = 4.5 if name == "map" else 1e-3
    assert wanted - 1e-6 <= found - 1 <= wanted + more + 1e-6 * wanted


@pytest.mark.parametrize(
    "function", [hm.circuits.maximum(bits=6, largest=4), hm.circuits.tanh((-2, 2), bits=8)], ids=str
)
def test_functions_multiply_errors_by_their_slopes(function):
    """Twice the slope of the plan's model, and for two values of one error the root of 2 of it."""
    params = hm.ckks.Parameters.for_circuit(16, scale_bits=45, slots=64, range_bits=22, security=None)
    unit = hm.Context(params, "ledger", threads=1).noise_bound(depth=0, largest=1)
    count = len(function.intervals)
    program = Program("ckks", [Form(64)] * count)
    noisy = [program.add(THOUSANDFOLD, at) for at in range(count)]
    program.give(program.add(op.OfNamedFunction(function.name, function.recipe), *noisy))
    known = dict.fromkeys(noisy, function.intervals[0][1])
    (found,) = noise_bounds(program, params, [1.0] * count, known)
    level = program.levels(params)[count]
    slope = max(1.0, function.plan(params, level=level, slots=64).expected_error(1.0)[1])
    wanted = 2 * slope * math.sqrt(count) * (1000 * USED + 2)
    assert wanted * 0.95 <= found / unit <= wanted * 1.05 + 2000
