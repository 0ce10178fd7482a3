"""Shapes, ranges and examples of inputs as NumPy takes them, and values outside of a range: refused, or
brought into it by the client, with a warning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hemera as hm
from hemera.errors import FormatError, MismatchError, ParameterError, RangeWarning
from hemera.package.encodings import Arrays

SHAPES: list[Any] = [5, (5,), [2, 3], (), np.int64(4), (np.int32(2), 1), 0]


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_are_numpys(shape: Any) -> None:
    spec = hm.ArraySpec(shape, range=(0, 1))
    assert spec.shape == np.zeros(shape).shape
    assert all(type(extent) is int for extent in spec.shape)
    assert spec == hm.ArraySpec(np.zeros(shape).shape, range=(0, 1))


@pytest.mark.parametrize("shape", [5.0, "5", (2.5,), ((2,),), (3, -1)])
def test_other_shapes_are_refused(shape: Any) -> None:
    with pytest.raises((TypeError, ValueError)) as numpys:
        np.zeros(shape)
    words = "a shape is a tuple of whole numbers, or one|has a negative extent"
    with pytest.raises(numpys.type, match=words):
        hm.ArraySpec(shape, range=(0, 1))


def test_reversed_ranges_are_refused_when_they_are_given() -> None:
    assert hm.ArraySpec((5,), (1, 1)).range == (1, 1)
    with pytest.raises(ParameterError, match=r"ArraySpec ages: a range from 1 to 0\.99 is reversed"):
        hm.ArraySpec((5,), (1, 0.99), name="ages")
    for ends in [(0, np.inf), (np.nan, 1), (-np.inf, 0)]:
        with pytest.raises(ParameterError, match="finite"):
            hm.ArraySpec((5,), ends)
    with pytest.raises(ParameterError, match="beyond all doubles"):
        hm.ArraySpec((5,), (0, 10**400))
    for wrong in [5, (1,), (1, 2, 3), ("a", "b"), ("0", "1"), "01", (0, 1j), (None, 1)]:
        with pytest.raises(TypeError, match="a range is a pair of numbers"):
            hm.ArraySpec((5,), wrong)  # type: ignore[arg-type]


def test_a_tuple_is_no_example() -> None:
    """np.shape((5,)) is (1,): the program would be for one number."""
    with pytest.raises(TypeError, match=r"ArraySpec\(\(5,\), range=\(low, high\)\) for its shape"):
        hm.compile(lambda x: x, (5,))
    with pytest.raises(TypeError, match="an ArraySpec or an example array"):
        hm.compile(lambda x: x, (2, 3), calibrate=np.zeros((4, 2)))
    samples = np.arange(8.0).reshape(4, 2)
    plans = [hm.compile(lambda x: x, given, calibrate=samples) for given in (samples[0], [0.0, 1.0])]
    assert [plan.outputs for plan in plans] == [{"output": (2,)}] * 2


@pytest.mark.parametrize(
    ("samples", "margin", "wanted"),
    [
        ((-1, 3), 0.5, (-3, 5)),
        # From 0 on a range keeps its sign: with it the input is a divisor, or under a root.
        ((-4, 0), 0.25, (-5, 0)),
        ((-4, -(2.0**-40)), 0, (-4, -(2.0**-40))),
        ((-4, 2.0**-40), 0.25, (-5 - 2.0**-42, 1 + 2.0**-40 + 2.0**-42)),
        ((0, 4), 0.5, (0, 6)),
        ((0, 0), 0.5, (0, 2.0**-11)),
        ((1, 3), 0.5, (1 / 3**0.5 / 1.5, 4)),
        ((2, 2), 0.5, (2 - 2.0**-11, 2 + 2.0**-11)),
    ],
)
def test_ranges_of_samples_are_widened_by_the_margin(samples: Any, margin: float, wanted: Any) -> None:
    """As many times nearer to 0 as samples differ, to the power of the margin."""
    rows = np.array([samples, samples[::-1]], np.float64)
    plan = hm.compile(lambda x: x * 1.5, np.zeros(2), calibrate=rows, margin=margin, security=None)
    (spec,) = plan.inputs
    assert spec.range == pytest.approx(wanted, rel=1e-12)
    assert spec.clip
    given = hm.compile(lambda x: x * 1.5, hm.ArraySpec((2,), (-9, 9)), calibrate=rows, security=None)
    assert (given.inputs[0].range, given.inputs[0].clip) == ((-9, 9), False)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("least", [0.0, 2.0])
def test_functions_of_one_sign_take_samples_of_it(sign: int, least: float) -> None:
    """Roots, logarithms and quotients of x and of -x: with 0 only the root has all values."""
    rows = sign * np.random.default_rng(7).uniform(least, 9.0, (40, 2))
    rows[0] = sign * least
    functions = [np.sqrt] if least == 0 else [np.sqrt, np.log, lambda x: 1 / x]
    for function in functions:
        plan = hm.compile(
            lambda x, function=function: function(sign * x),
            np.zeros(2),
            calibrate=rows,
            precision_bits=6,
            security=None,
        )
        found = plan.clear(rows)
        np.testing.assert_allclose(found, function(sign * rows), atol=4 * 2.0**-6)
        assert sign * sum(plan.inputs[0].range) > 0


KINDS: list[tuple[Any, str | None, float | None, Any]] = [
    (None, None, None, (-3, 3)),
    (np.bool_, "b", 1, (0, 1)),
    (np.int8, "i", 1, (-3, 3)),
    (np.uint16, "i", 1, (-3, 3)),
    (np.float32, "f", None, (-3, 3)),
]


@pytest.mark.parametrize(("dtype", "kind", "step", "ends"), KINDS)
def test_steps_and_ranges_follow_from_types(dtype: Any, kind: Any, step: Any, ends: Any) -> None:
    spec = hm.ArraySpec((2,), None if dtype is np.bool_ else ends, dtype=dtype)
    assert (spec.kind, spec.step, spec.range) == (kind, step, ends)
    own = hm.ArraySpec((2,), None if dtype is np.bool_ else ends, step=1, dtype=dtype)
    assert own.step == 1
    for wrong in ({"range": (0, 2)}, {"step": 0.5}):
        if dtype is np.bool_:
            with pytest.raises(ParameterError, match=r"truth values have the range \(0, 1\) and the step 1"):
                hm.ArraySpec((2,), dtype=dtype, **wrong)
        else:
            hm.ArraySpec((2,), dtype=dtype, **wrong)
    with pytest.raises(
        ParameterError, match="dtype=complex64: inputs are truth values, whole numbers or real"
    ):
        hm.ArraySpec((2,), (0, 1), dtype=np.complex64)


def test_results_are_named_by_what_a_function_returns() -> None:
    def outputs(function: Any) -> list[str]:
        return list(hm.compile(function, hm.ArraySpec((2,), (0, 1)), security=None).outputs)

    assert outputs(lambda x: x * 2) == outputs(lambda x: [x * 2]) == outputs(lambda x: (x * 2,)) == ["output"]
    assert outputs(lambda x: (x * 2, x.sum())) == ["output0", "output1"]
    assert outputs(lambda x: {"b": x * 2, 1: x.sum()}) == ["b", "1"]
    with pytest.raises(MismatchError, match="two results of one name: '1'"):
        outputs(lambda x: {1: x, "1": x.sum()})
    for nothing in ({}, (), None, 2.0, {"a": 3.0}, [np.ones(2)]):
        with pytest.raises(
            TypeError, match=r"the function returns .*return arrays that come of its arguments"
        ):
            hm.compile(lambda _, found=nothing: found, hm.ArraySpec((2,), (0, 1)))


SAMPLES = np.random.default_rng(1).uniform(-1, 1, (20, 6))
MATRIX = np.random.default_rng(2).normal(size=(6, 3)) / 2


def function(x: Any) -> Any:
    return (x @ MATRIX) ** 2


def plan_of(spec: Any, **options: Any) -> hm.Compiled:
    return hm.compile(function, spec, precision_bits=14, **options)


@pytest.mark.parametrize("samples", [1, 2])
def test_ranges_of_samples_clip(samples: int, tmp_path: Path) -> None:
    plan = plan_of(SAMPLES[0], calibrate=SAMPLES, samples=samples)
    (spec,) = plan.inputs
    assert spec.clip
    assert spec.range is not None
    far = np.array([0.5, 3.0, -0.25, -7.0, 0.0, 1.0])
    given = far if samples == 1 else far[np.newaxis]
    wanted = function(np.clip(far, *spec.range))
    plan.save(tmp_path / "model")
    loaded = hm.serving.Package.load(tmp_path / "model")
    for run in (plan.local(threads=1), plan.evaluate_clear, loaded.evaluate_clear):
        with pytest.warns(RangeWarning, match=r"x: 2 of 6 values, from -7\.0 to 3\.0, are outside"):
            found = run(given)
        np.testing.assert_allclose(np.reshape(found, 3), wanted, rtol=0, atol=2.0**-12)
    # Inside, there is nothing to warn of; pytest would fail.
    np.testing.assert_allclose(
        np.reshape(plan.evaluate_clear(SAMPLES[1] if samples == 1 else SAMPLES[1:2]), 3),
        function(SAMPLES[1]),
        atol=1e-6,
    )


def test_declared_ranges_refuse_unless_asked_to_clip() -> None:
    far = 2 * np.ones(6)
    with pytest.raises(ParameterError, match="for values from -1"):
        plan_of(hm.ArraySpec((6,), range=(-1, 1))).evaluate_clear(far)
    with pytest.raises(ParameterError, match="for values from"):
        plan_of(hm.ArraySpec((6,), clip=False), calibrate=SAMPLES).evaluate_clear(far)
    clips = plan_of(hm.ArraySpec((6,), range=(-1, 1), clip=True))
    with pytest.warns(RangeWarning, match="6 of 6 values"):
        np.testing.assert_allclose(clips.evaluate_clear(far), function(np.ones(6)), atol=1e-6)


def test_only_the_inputs_that_clip_do() -> None:
    plan = hm.compile(
        lambda x, y: x + y,
        hm.ArraySpec((2,), range=(-1, 1), name="x"),
        hm.ArraySpec((2,), range=(-1, 1), name="y", clip=True),
    )
    ones = np.ones(2)
    with pytest.warns(RangeWarning, match="y: 2 of 2"):
        np.testing.assert_allclose(plan.evaluate_clear(0 * ones, 5 * ones), ones)
    with pytest.raises(ParameterError, match="x: the model is for"):
        plan.evaluate_clear(5 * ones, ones)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_refused(value: float) -> None:
    plan = plan_of(SAMPLES[0], calibrate=SAMPLES)
    with pytest.raises(ParameterError):
        plan.evaluate_clear(np.array([value, 9.0, 0, 0, 0, 0]))


@pytest.mark.parametrize(
    ("low", "high", "step"),
    [
        (-0.75, 0.7, 0.25),
        (-0.7, 0.7, 0.1),
        (-0.5, 0.9, 0.3),
        (-0.49, 0.99, 0.1),
        (0, 1.1, 1),
        (-0.75, 0.3, 0.1),
    ],
)
def test_steps_are_kept(low: float, high: float, step: float) -> None:
    """Values become the nearest multiples in the range, which are none beyond its ends."""
    inside = [k for k in range(-9, 12) if low - 1e-9 <= k * step <= high + 1e-9]
    plan = hm.compile(lambda x: 2 * x, hm.ArraySpec((2,), range=(low, high), step=step, clip=True))
    with pytest.warns(RangeWarning, match="2 of 2"):
        found = plan.evaluate_clear(np.array([30, -30]) * step)
    np.testing.assert_allclose(found, 2 * step * np.array([inside[-1], inside[0]]), atol=1e-9)


@pytest.mark.parametrize(("high", "step"), [(0.3, 0.1), (2.1, 0.7), (0.8, 0.25)])
def test_the_last_multiple_is_compared(high: float, step: float) -> None:
    """Sizes of results are those of draws, which come to it."""
    last = step * int(high / step + 1e-9)
    plan = hm.compile(lambda x: x > last - step / 2, hm.ArraySpec((2,), range=(0, high), step=step))
    np.testing.assert_allclose(plan.evaluate_clear([min(last, high), last - step]), [1, 0], atol=2.0**-9)


def test_ranges_without_a_multiple_of_the_step_are_refused() -> None:
    for low, high, step in ((0.1, 0.9, 0.9), (0.7, 0.75, 0.1), (-3, -3, 1), (0.2, 0.5, 0.25)):
        assert hm.ArraySpec((2,), (low, high), step=step).step == step
    for low, high, step in ((0.1, 0.89, 0.9), (0.71, 0.75, 0.1), (-2.9, -2.1, 1), (0.26, 0.49, 0.25)):
        with pytest.raises(ParameterError, match=f"ArraySpec x: no multiple of the step {step:g} lies in"):
            hm.ArraySpec((2,), (low, high), "x", step)


def test_exact_programs_refuse_to_clip() -> None:
    with pytest.raises(ParameterError, match="exact programs refuse"):
        hm.compile(lambda x: x + 1, hm.ArraySpec((2,), range=(0, 5), clip=True), scheme="bfv")


@pytest.mark.parametrize("clips", [[True, True], [1], ["yes"]])
def test_files_with_other_clips_are_refused(clips: list[Any]) -> None:
    encoding = plan_of(SAMPLES[0], calibrate=SAMPLES).package.interface.encoding
    assert isinstance(encoding, Arrays)
    data = encoding.to_data()
    assert Arrays.from_data(data) == encoding
    with pytest.raises(FormatError, match="clipped"):
        Arrays.from_data({**data, "clips": clips})
