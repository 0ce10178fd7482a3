"""Passes of `hm.compile`: each leaves results as NumPy has them, or is told as a fault."""

import dataclasses
import math

import numpy as np
import pytest

import hemera as hm
from hemera.arrays.chains import FusingRecorder
from hemera.arrays.recorder import Recorder
from hemera.arrays.tensor import TensorProgram
from hemera.compiler import passes
from hemera.compiler.attempts import TooDeepError
from hemera.compiler.parameter_search import Search
from hemera.compiler.passes import ARRAYS, LEVELS, SLOTS, OnArrays, OnSlots, Stage, traced

RNG = np.random.default_rng(2027)
WEIGHTS = RNG.normal(size=(6, 4))


def quadratic(x):
    return (x * (0.5 * x + 1) @ WEIGHTS).T.sum(0) - x[:, 1] * 3


def whole(x):
    return (x @ np.arange(24).reshape(6, 4)).sum(0) + x[0, :4] * x[1, 2:]


def on_arrays(function, recorder, **options):
    specs = [hm.ArraySpec((5, 6), range=(-3, 900), name="x")]
    return OnArrays(traced(function, specs, recorder).program, specs, **options)


CASES = [
    (quadratic, FusingRecorder(precision_bits=12), {}),
    (quadratic, FusingRecorder(precision_bits=12), {"scales": True}),
    (whole, Recorder(precision_bits=math.inf), {"scheme": "bfv"}),
]


@pytest.mark.parametrize(("function", "recorder", "options"), CASES)
def test_each_pass_on_arrays_leaves_results(function, recorder, options):
    at, x = on_arrays(function, recorder, **options), RNG.integers(-3, 900, (7, 5, 6))
    wanted = np.stack([function(each) for each in x])
    for each in ARRAYS.passes:
        at = each(at)
        given, factor, number = x, 1.0, 0.0
        if at.scaled is not None:
            ((inner, middle),), ((factor, number),) = at.scaled.inputs, at.scaled.outputs
            given = (x - middle) / inner
        (found,) = at.program.evaluate_clear([given])
        np.testing.assert_allclose(found * factor + number, wanted, rtol=1e-12, atol=1e-6)
    assert at.unfolded is not None
    assert len(at.program.nodes) < len(at.unfolded.nodes)


@pytest.mark.parametrize("halves", [False, True])
def test_each_pass_on_slots_leaves_results(halves):
    """Slot k of sample s is slot k * samples + s; half of the samples may be imaginary."""
    x = RNG.uniform(-3, 900, (4, 5, 6))
    at = ARRAYS.run(on_arrays(quadratic, FusingRecorder(precision_bits=12)))
    search = Search(at.program, 1, 12, None, "cpu-avx512-16")
    steps = search._on_slots(None)
    cut = steps.cut
    layouts = tuple(step.layout for step in steps.steps if step.layout is not None)
    slots = OnSlots(cut, layouts, steps.slots, 4, halves)
    for count, each in ((1, passes.lower), (2 if halves else 4, passes.samples)):
        slots = each(slots)
        packed = np.stack([layouts[0].pack(own, steps.slots) for own in x[:count]], axis=-1)
        (found,) = slots.steps.program.evaluate_clear([packed.reshape(1, -1)])
        result = np.moveaxis(found.reshape(-1, count), 1, 0)
        results = layouts[cut.program.outputs[0][1]].unpack(result)
        np.testing.assert_allclose(results, [quadratic(own) for own in x[:count]], rtol=1e-9)
    slots = passes.imaginary_parts(slots)
    assert slots.steps.in_parts == halves
    if halves:
        both = packed + 1j * np.stack([layouts[0].pack(own, steps.slots) for own in x[2:]], axis=-1)
        (found,) = slots.steps.program.evaluate_clear([both.reshape(1, -1)])
        rest = layouts[cut.program.outputs[0][1]].unpack(np.moveaxis(found.imag.reshape(-1, 2), 1, 0))
        np.testing.assert_allclose(rest, [quadratic(own) for own in x[2:]], rtol=1e-9)


def broken(program, **changed):
    last = dataclasses.replace(program.nodes[-1], **changed)
    return TensorProgram([*program.nodes[:-1], last], program.outputs)


ARRAY_FAULTS = [
    ("takes what comes after it", lambda own: broken(own, operands=(len(own.nodes) - 1,))),
    ("has the range", lambda own: broken(own, range=(1.0, 0.5))),
    ("results are named", lambda own: TensorProgram(own.nodes, [])),
    ("results are named", lambda own: TensorProgram(own.nodes, [("a", 0), ("a", 1)])),
    ("a result is no node", lambda own: TensorProgram(own.nodes, [("a", len(own.nodes))])),
]
SLOT_FAULTS = [
    ("inputs, results and steps", lambda own: dataclasses.replace(own, steps=own.steps[:-1])),
    ("no power of two", lambda own: dataclasses.replace(own, slots=own.slots - 1)),
    ("different slots", lambda own: dataclasses.replace(own, slots=2 * own.slots)),
    ("a size is of no value", lambda own: dataclasses.replace(own, magnitudes={10**6: 1.0})),
    ("a size is no number", lambda own: dataclasses.replace(own, magnitudes={0: math.nan})),
]


def test_faults_of_passes_are_told():
    program = on_arrays(quadratic, FusingRecorder(precision_bits=12)).program
    at = OnArrays(program, ())
    passes.require_arrays(at)
    for words, change in ARRAY_FAULTS:
        changed = dataclasses.replace(at, program=change(program))
        stage = Stage[OnArrays]("arrays", (lambda _, changed=changed: changed,), passes.require_arrays)
        with pytest.raises(AssertionError, match=words):
            stage.run(at)
    plan = hm.compile(lambda x: x * x, hm.ArraySpec((4,), (0, 1)))
    good = OnSlots(plan._lowered.cut, lowered=plan._lowered)
    passes.require_slots(good)
    for words, fault in SLOT_FAULTS:
        with pytest.raises(AssertionError, match=words):
            passes.require_slots(dataclasses.replace(good, lowered=fault(plan._lowered)))


def test_levels_that_there_are_not_are_a_refusal():
    plan = hm.compile(lambda x: x * x * x, hm.ArraySpec((4,), (0, 1)))
    few = hm.ckks.Parameters.for_circuit(plan.depth - 1, slots=4, security=None)
    enough = hm.ckks.Parameters.for_circuit(plan.depth, slots=4, security=None)
    at = OnSlots(plan._lowered.cut, params=enough, lowered=plan._lowered)
    assert LEVELS.run(at).steps is plan._lowered
    with pytest.raises(TooDeepError):
        LEVELS.run(dataclasses.replace(at, params=few))


def test_a_stage_checks_each_pass():
    checked = []
    stage = Stage[int]("numbers", (lambda at: at + 1, lambda at: at * 10), checked.append)
    assert (stage.run(2), checked) == (30, [3, 30])
    assert SLOTS.passes == (passes.lower, passes.samples, passes.imaginary_parts)
