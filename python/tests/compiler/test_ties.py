"""Maxima of equal values, whose signs are chains of steep polynomials, by NumPy with complex noise."""

import numpy as np
import pytest
from numpy.polynomial import chebyshev

import hemera as hm
from hemera import circuits
from hemera.circuits.functions import stages_of
from hemera.compiler.compiling import compile as compiled_once
from hemera.program.operations.circuits import MOST_NOISE

from ..refusals import raises


@pytest.mark.parametrize(
    "function",
    [circuits.maximum(bits=20), circuits.relu(bits=20), circuits.abs(bits=20)],
    ids=lambda f: f.name,
)
def test_noise_of_both_parts_is_bounded_up_to_the_most_and_grows_above_it(function):
    rng, nodes = np.random.default_rng(1), np.cos(np.pi * (np.arange(64) + 0.5) / 64)
    stages = [next(iter(functions.values())) for _, functions in stages_of(function).values()]
    signs = [each for each in stages if len(each.intervals) == 1 and each.depth > 1]
    chain = [chebyshev.chebinterpolate(stage.evaluate_clear, len(nodes) - 1) for stage in signs]

    def largest(noise):
        width = 2.0 if function.name == "maximum" else 1.0
        parts = rng.normal(0, noise / width, (2, 200_000))
        sign = parts[0] + 1j * parts[1]
        with np.errstate(all="ignore"):
            for each in chain:
                sign = chebyshev.chebval(sign, np.where(np.abs(each) > 1e-13, each, 0.0))
        return float(np.nan_to_num(np.abs(sign), nan=np.inf).max())

    most = MOST_NOISE[function.name] * function.error
    assert largest(most) < 1
    assert largest(6 * most) > 10


def test_chained_maxima_of_equal_values_are_right_or_refused():
    """At 46 bits one of 8 slots was 2e-6 for 0, and another run ended with values beyond all bounds."""

    def ordered(x):
        return np.sort(x[:3])

    plan = hm.compile(ordered, hm.ArraySpec((6,), range=(0, 1)), precision_bits=43, security=None)
    found = np.asarray(plan.local(threads=1)(np.zeros(6)))
    assert np.abs(found).max() < 2.0**-42
    raises(
        hm.errors.PrecisionError,
        "of the 46 bits",
        compiled_once,
        ordered,
        hm.ArraySpec((6,), range=(0, 1)),
        precision_bits=46,
        security=None,
    )
