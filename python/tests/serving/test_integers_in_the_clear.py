"""Integers of BFV and BGV in the clear: words where results fit, and Python's integers where they do not."""

import numpy as np
import pytest

from hemera.program import operations as op
from hemera.program.program import Program
from hemera.program.values import Form

WORDS = {
    "add": (op.Add(), lambda x, y: x + y),
    "subtract": (op.Subtract(), lambda x, y: x - y),
    "negate": (op.Negate(), lambda x: -x),
    "multiply": (op.Multiply(), lambda x, y: x * y),
    "power": (op.Power(5), lambda x: x**5),
    "dot": (op.Dot(), lambda a, b, c, d: a * c + b * d),
    "add number": (op.AddNumber(-(1 << 62)), lambda x: x - (1 << 62)),
    "multiply by number": (op.MultiplyNumber(3037000499), lambda x: x * 3037000499),
    "add array": (
        op.AddArray(np.array([-(1 << 63), 1])),
        lambda x: x + np.array([-(1 << 63), 1, 0, 0], object),
    ),
    "multiply by array": (
        op.MultiplyArray(np.array([3, -(1 << 63)])),
        lambda x: x * np.array([3, -(1 << 63), 0, 0], object),
    ),
    "dot arrays": (
        op.DotArrays((np.array([-(1 << 31), 0]), np.array([1]))),
        lambda x, y: x * np.array([-(1 << 31), 0, 0, 0], object) + y,
    ),
    "rotate rows": (op.RotateRows(1), lambda x: x[[1, 0, 3, 2]]),
    "swap rows": (op.SwapRows(), lambda x: x[[2, 3, 0, 1]]),
    "sum": (op.Sum(), lambda x: np.full(4, sum(x))),
    "bootstrap": (op.ExactBootstraps(1), lambda x: x),
}


# The largest product of two fits a word, or does not; the largest sum of two, or of four.
@pytest.mark.parametrize(
    "modulus", [17, 3037000500, 3037000501, 1 << 61, (1 << 61) + 1, 1 << 62, (1 << 62) + 1]
)
@pytest.mark.parametrize("name", WORDS)
def test_integers_in_the_clear_are_pythons(name, modulus):
    operation, formula = WORDS[name]
    count = operation.operands or (4 if name == "dot" else 2)
    program = Program("bfv", [Form(4)] * count)
    program.give(program.add(operation, *range(count)))
    ends = np.array([-1, modulus // 2, -2, modulus - 1], object)
    xs = [np.roll(ends, at) for at in range(count)]
    (found,) = program.evaluate_clear([x.astype(np.int64) for x in xs], modulus)
    wanted = [int(each) % modulus for each in formula(*(x % modulus for x in xs))]
    assert [each % modulus for each in found.tolist()] == wanted
    assert all(-(modulus - 1) // 2 <= each <= modulus // 2 for each in found.tolist())
    assert found.dtype == np.int64
