"""Functions that are deeper than a bootstrap leaves levels, with bootstraps in them. NumPy judges."""

import dataclasses

import numpy as np
import pytest

import hemera as hm
from hemera.compiler.attempts import TooDeepError
from hemera.program import operations as op
from hemera.program.program import Program

from .compile_cases import deep

SPEC = hm.ArraySpec((5,), range=(0, 1000))


def rows():
    """Numbers all over the range, neighbours, equal ones, and both ends."""
    random = np.random.default_rng(0)
    inside = random.uniform(0, 1000, 5)
    return [
        inside,
        np.round(inside / 400) * 400,
        500 + random.uniform(-1, 1, 5) * 2.0**-8,
        np.full(5, 1000.0),
    ]


def assert_gives(plan, program, inputs):
    """With the 16 bits that are asked for, of the largest result."""
    wanted = [np.asarray(program(x)) for x in inputs]
    room = 2.0**-15.5 * max(float(np.abs(each).max()) for each in wanted)
    run = plan.local(threads=1)
    for x, own in zip(inputs, wanted, strict=True):
        np.testing.assert_allclose(run(x), own, rtol=0, atol=room)


def stages_in(program):
    """The stages of functions in a program."""
    functions = (each.operation for each in program.nodes if isinstance(each.operation, op.OfNamedFunction))
    return [each.stage for each in functions if each.stage]


@pytest.mark.parametrize(
    "program",
    [
        lambda x: np.sort(x)[-3:],
        lambda x: np.percentile(x, [25, 50, 75]),
        lambda x: np.clip(x, 100, 200) - np.abs(x - 300),
    ],
    ids=["largest", "percentiles", "clip and abs"],
)
def test_reals_of_wide_ranges(program):
    plan = hm.compile(program, SPEC, params=deep())
    assert stages_in(plan._lowered.program)
    assert plan.expected_bits() >= 14.5
    assert_gives(plan, program, rows())


def test_functions_stay_whole_where_they_fit():
    """At the last number of levels that a function fits, and at the first that it does not."""
    spec = hm.ArraySpec((4,), range=(-100, 100))

    def program(x):
        return np.abs(x * x / 100 - 50)

    def compiled(levels):
        params = hm.ckks.Parameters.for_bootstrapping("test-40", levels=levels)
        plan = hm.compile(program, spec, params=params)
        assert_gives(plan, program, [np.array([-100.0, 100, 0, 70.7])])
        return plan

    (depth,) = (
        each.operation.depth
        for each in compiled(30)._lowered.program.nodes
        if isinstance(each.operation, op.OfNamedFunction)
    )
    assert stages_in(compiled(depth)._lowered.program) == []
    assert len(stages_in(compiled(depth - 1)._lowered.program)) > 1


def test_several_tiles_and_files():
    """Tiles of an array have their bootstraps at the same places; a file has the stages."""
    slots = deep().max_slots
    spec = hm.ArraySpec((2 * slots,), range=(-1000, 1000))
    plan = hm.compile(np.abs, spec, params=deep())
    numbers = [number for number, _ in stages_in(plan._lowered.program)]
    assert sorted(numbers) == sorted(2 * list(set(numbers)))
    x = np.random.default_rng(1).uniform(-1000, 1000, 2 * slots)
    assert_gives(plan, np.abs, [x])
    loaded = hm.serving.Package.load(bytes(plan.package))
    np.testing.assert_allclose(loaded.evaluate_clear(x), np.abs(x), rtol=0, atol=2.0**-6)


def test_stages_that_there_are_not():
    whole = op.OfNamedFunction("maximum", {"bits": 16.0, "largest": 1.0})
    for stage in ((0, 2), (1, 99), (99, 2), (1,), (1, 2, 3), (-1, 2), ("1", 2)):
        program = Program("ckks", hm.compile(np.abs, SPEC)._lowered.program.inputs)
        with pytest.raises((hm.Error, TypeError, ValueError)):
            program.add(dataclasses.replace(whole, stage=stage), 0)


def test_steps_stay_whole():
    """Equal values are in the middle of a step, where a bootstrap's noise would be another one."""
    with pytest.raises(TooDeepError, match=r"step \d+ \(function\) takes"):
        hm.compile(lambda x: (x > 300) * 1, hm.ArraySpec((9,), (0, 2.0**34), step=1), params=deep())
