"""Values outside of an input's range: refused, or brought into it by the client, with a warning."""

import numpy as np
import pytest

import hemera as hm
from hemera.errors import FormatError, ParameterError, RangeWarning
from hemera.package.encodings import Arrays

from ..refusals import raises

SAMPLES = np.random.default_rng(1).uniform(-1, 1, (20, 6))
MATRIX = np.random.default_rng(2).normal(size=(6, 3)) / 2


def function(x):
    return (x @ MATRIX) ** 2


def plan_of(spec, **options):
    return hm.compile(function, spec, precision_bits=14, **options)


@pytest.mark.parametrize("samples", [1, 2])
def test_ranges_of_samples_clip(samples, tmp_path):
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


def test_declared_ranges_refuse_unless_asked_to_clip():
    far = 2 * np.ones(6)
    with pytest.raises(ParameterError, match="for values from -1"):
        plan_of(hm.ArraySpec((6,), range=(-1, 1))).evaluate_clear(far)
    with pytest.raises(ParameterError, match="for values from"):
        plan_of(hm.ArraySpec((6,), clip=False), calibrate=SAMPLES).evaluate_clear(far)
    clips = plan_of(hm.ArraySpec((6,), range=(-1, 1), clip=True))
    with pytest.warns(RangeWarning, match="6 of 6 values"):
        np.testing.assert_allclose(clips.evaluate_clear(far), function(np.ones(6)), atol=1e-6)


def test_only_the_inputs_that_clip_do():
    plan = hm.compile(
        lambda x, y: x + y,
        hm.ArraySpec((2,), range=(-1, 1), name="x"),
        hm.ArraySpec((2,), range=(-1, 1), name="y", clip=True),
    )
    ones = np.ones(2)
    with pytest.warns(RangeWarning, match="y: 2 of 2"):
        np.testing.assert_allclose(plan.evaluate_clear(0 * ones, 5 * ones), ones)
    raises(ParameterError, "x: the model is for", plan.evaluate_clear, 5 * ones, ones)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_refused(value):
    plan = plan_of(SAMPLES[0], calibrate=SAMPLES)
    raises(ParameterError, "", plan.evaluate_clear, np.array([value, 9.0, 0, 0, 0, 0]))


@pytest.mark.parametrize("low", [-0.75, -0.7, -0.5, -0.49, 0])
@pytest.mark.parametrize("high", [0.9, 0.7, 0.3, 1.1, 1.0, 0.99])
@pytest.mark.parametrize("step", [0.25, 0.3, 0.1, 1])
def test_steps_are_kept(low, high, step):
    """Values become the nearest multiples in the range, which are none beyond its ends."""
    inside = [k for k in range(-9, 12) if low - 1e-9 <= k * step <= high + 1e-9]
    plan = hm.compile(lambda x: 2 * x, hm.ArraySpec((2,), range=(low, high), step=step, clip=True))
    with pytest.warns(RangeWarning, match="2 of 2"):
        found = plan.evaluate_clear(np.array([30, -30]) * step)
    np.testing.assert_allclose(found, 2 * step * np.array([inside[-1], inside[0]]), atol=1e-9)


@pytest.mark.parametrize(("high", "step"), [(0.3, 0.1), (0.7, 0.1), (2.1, 0.7), (0.75, 0.25), (0.8, 0.25)])
def test_the_last_multiple_is_compared(high, step):
    """Sizes of results are those of draws, which come to it."""
    last = step * int(high / step + 1e-9)
    plan = hm.compile(lambda x: x > last - step / 2, hm.ArraySpec((2,), range=(0, high), step=step))
    np.testing.assert_allclose(plan.evaluate_clear([min(last, high), last - step]), [1, 0], atol=2.0**-9)


def test_ranges_without_a_multiple_of_the_step_are_refused():
    for low, high, step in ((0.1, 0.9, 0.9), (0.7, 0.75, 0.1), (-3, -3, 1), (0.2, 0.5, 0.25)):
        assert hm.ArraySpec((2,), (low, high), step=step).step == step
    for low, high, step in ((0.1, 0.89, 0.9), (0.71, 0.75, 0.1), (-2.9, -2.1, 1), (0.26, 0.49, 0.25)):
        with pytest.raises(ParameterError, match=f"ArraySpec x: no multiple of the step {step:g} lies in"):
            hm.ArraySpec((2,), (low, high), "x", step)


def test_exact_programs_refuse_to_clip():
    with pytest.raises(ParameterError, match="exact programs refuse"):
        hm.compile(lambda x: x + 1, hm.ArraySpec((2,), range=(0, 5), clip=True), scheme="bfv")


@pytest.mark.parametrize("clips", [[True, True], [1], ["yes"]])
def test_files_with_other_clips_are_refused(clips):
    encoding = plan_of(SAMPLES[0], calibrate=SAMPLES).package.interface.encoding
    assert isinstance(encoding, Arrays)
    data = encoding.to_data()
    assert Arrays.from_data(data) == encoding
    raises(FormatError, "clipped", Arrays.from_data, {**data, "clips": clips})
