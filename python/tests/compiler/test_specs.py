"""Shapes, ranges and examples of inputs: as NumPy takes shapes, and refused where they can not be meant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hemera as hm
from hemera.errors import MismatchError, ParameterError

from ..refusals import raises

SHAPES: list[Any] = [5, (5,), [2, 3], (), np.int64(4), (np.int32(2), 1), 0]


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_are_numpys(shape: Any) -> None:
    spec = hm.ArraySpec(shape, range=(0, 1))
    assert spec.shape == np.zeros(shape).shape
    assert all(type(extent) is int for extent in spec.shape)
    assert spec == hm.ArraySpec(np.zeros(shape).shape, range=(0, 1))


@pytest.mark.parametrize("shape", [5.0, "5", (2.5,), ((2,),)])
def test_other_shapes_are_refused(shape: Any) -> None:
    raises(TypeError, "", np.zeros, shape)
    raises(TypeError, "a shape is a tuple of whole numbers, or one", hm.ArraySpec, shape, range=(0, 1))


def test_negative_extents_are_refused() -> None:
    raises(ValueError, "negative", np.zeros, (3, -1))
    raises(ParameterError, r"shape \(3, -1\) has a negative extent", hm.ArraySpec, (3, -1))


@pytest.mark.parametrize("scheme", ["ckks", "bfv"])
def test_inputs_without_elements_are_refused(scheme: str) -> None:
    for shape in ((0,), (3, 0), (0, 3)):
        with pytest.raises(ParameterError, match=r"input 'x' of shape \(.*\) has no elements"):
            hm.compile(lambda x: x + 1, hm.ArraySpec(shape, (0, 1)), scheme=scheme)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint16"])
def test_ranges_are_those_that_types_can_hold(dtype: str) -> None:
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    assert hm.ArraySpec((2,), (low, high), dtype=dtype).range == (low, high)
    for ends in ((low - 1, high), (low, high + 1)):
        with pytest.raises(ParameterError, match=f"dtype={dtype} has numbers from {low} to {high}"):
            hm.ArraySpec((2,), ends, dtype=dtype)


def test_ranges_are_any_pairs() -> None:
    for ends in (np.array([0, 4]), [0, 4], (np.int64(0), np.float32(4))):
        assert hm.ArraySpec((2,), ends) == hm.ArraySpec((2,), (0, 4))
        assert hm.array([1.0, 2.0], range=ends).range == (0, 4)


def test_reversed_ranges_are_refused_when_they_are_given() -> None:
    assert hm.ArraySpec((5,), (1, 1)).range == (1, 1)
    with pytest.raises(ParameterError, match=r"ArraySpec ages: a range from 1 to 0\.99 is reversed"):
        hm.ArraySpec((5,), (1, 0.99), name="ages")
    for ends in [(0, np.inf), (np.nan, 1), (-np.inf, 0)]:
        raises(ParameterError, "finite", hm.ArraySpec, (5,), ends)
    raises(ParameterError, "beyond all doubles", hm.ArraySpec, (5,), (0, 10**400))
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
        ((-1, 3), 0, (-1, 3)),
        # From 0 on a range keeps its sign: with it the input is a divisor, or under a root.
        ((-4, 0), 0.25, (-5, 0)),
        ((-4, -(2.0**-40)), 0, (-4, -(2.0**-40))),
        ((-4, 2.0**-40), 0.25, (-5 - 2.0**-42, 1 + 2.0**-40 + 2.0**-42)),
        ((-3, -1), 0.5, (-4, -1 / 3**0.5 / 1.5)),
        ((-2, -2), 0.5, (-2 - 2.0**-11, -2 + 2.0**-11)),
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
    (np.uint16, "i", 1, (0, 3)),
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


@pytest.mark.parametrize(
    ("ends", "step", "taken"),
    [
        ((1, 1), 1, True),
        ((0.9, 1), 1, True),
        ((1.1, 1.9), 1, False),
        ((-0.4, 0.4), 1, True),
        ((3, 5), 2, True),
    ],
)
def test_a_multiple_of_the_step_lies_in_the_range(ends: Any, step: float, taken: bool) -> None:
    if taken:
        assert hm.ArraySpec((2,), ends, step=step).step == step
    else:
        with pytest.raises(
            ParameterError, match=r"ArraySpec: no multiple of the step 1 lies in \(1.1, 1.9\)"
        ):
            hm.ArraySpec((2,), ends, step=step)


def test_names_of_other_parameters_are_refused() -> None:
    def left(income: Any, debt: Any) -> Any:
        return income - 2 * debt

    income, debt = np.array([[5, 6], [1, 2]])
    for scheme in ("ckks", "bfv"):
        plans = [
            hm.compile(left, *(hm.ArraySpec(2, (0, 9), each) for each in names), scheme=scheme, security=None)
            for names in (("", ""), ("", "debt"), ("of a month", "debt"))
        ]
        for plan in plans:
            name = plan.inputs[0].name
            assert name == ("of a month" if plan is plans[2] else "income")
            found = plan.evaluate_clear({"debt": debt, name: income})
            np.testing.assert_allclose(found, left(income, debt))
        for names in (("debt", "income"), ("debt", ""), ("", "income")):
            specs = [hm.ArraySpec(2, (0, 9), each) for each in names]
            told = "the function's parameters are income, debt: give inputs in their order"
            raises(ParameterError, told, hm.compile, left, *specs, scheme=scheme)
    inputs = [hm.serving.InputSpec(each, 2) for each in ("debt", "income")]
    raises(ParameterError, told, hm.serving.export, left, inputs=inputs, name="left")
    whole = dict.fromkeys(("debt", "income"), np.zeros(2, np.uint8))
    raises(ParameterError, told, hm.serving.export_integers, left, inputs=whole, name="left")


def test_results_are_named_by_what_a_function_returns() -> None:
    def outputs(function: Any) -> list[str]:
        return list(hm.compile(function, hm.ArraySpec((2,), (0, 1)), security=None).outputs)

    assert outputs(lambda x: x * 2) == outputs(lambda x: [x * 2]) == outputs(lambda x: (x * 2,)) == ["output"]
    assert outputs(lambda x: (x * 2, x.sum())) == ["output0", "output1"]
    assert outputs(lambda x: {"b": x * 2, 1: x.sum()}) == ["b", "1"]
    raises(MismatchError, "two results of one name: '1'", lambda: outputs(lambda x: {1: x, "1": x.sum()}))
    for nothing in ({}, (), None, 2.0, {"a": 3.0}, [np.ones(2)]):
        with pytest.raises(
            TypeError, match=r"the function returns .*return arrays that come of its arguments"
        ):
            hm.compile(lambda _, found=nothing: found, hm.ArraySpec((2,), (0, 1)))
