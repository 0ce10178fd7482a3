"""Types of ONNX's numbers: of constants, and of encrypted values."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto
from onnx.reference import ReferenceEvaluator

import hemera as hm
from hemera.compiler.networks.reader import graph_of
from hemera.compiler.networks.tensors import array_of

from .onnx_models import I64, compiled, model, node


def folded(nodes, constants, **options):
    """The constant `y` of nodes without inputs, and ONNX's own."""
    network = model([*nodes, node("Identity", ["x"], ["z"])], constants, outputs=["y", "z"], **options)
    graph = graph_of(network, {})
    (expected, _) = ReferenceEvaluator(network).run(None, {"x": np.zeros((1, 4), np.float32)})
    return graph.constants["y"], expected


# --- Constants in their types. ---

I8, I32, U8 = np.int8, np.int32, np.uint8
SEVEN = np.array([7, -7, 7, -7, 6, 0, -1])
TWO = np.array([2, 2, -2, -2, 3, 5, 2])
FOLDED = {
    "sum that wraps": ("Add", [np.array([2**31 - 1, 5], I32), np.array([1, -7], I32)], I32([-(2**31), -2])),
    "difference that wraps": ("Sub", [np.array([3, 5], U8), np.array([5, 3], U8)], U8([254, 2])),
    "product that wraps": ("Mul", [np.array([2**33], I64), np.array([2**33 + 1], I64)], I64([2**33])),
    "negative of the least": ("Neg", [np.array([-128, 127], I8)], I8([-128, -127])),
    "quotients": ("Div", [SEVEN.astype(I64), TWO.astype(I64)], I64([3, -3, -3, 3, 2, 0, 0])),
    "quotients of bytes": ("Div", [np.array([255, 7], U8), np.array([2, 8], U8)], U8([127, 0])),
    "large quotient": ("Div", [np.array([2**62 + 1], I64), np.array([1], I64)], I64([2**62 + 1])),
    "power": ("Pow", [np.array([3, -2], I64), np.array([2, 3], I64)], I64([9, -8])),
    "power of floats": ("Pow", [np.float32([2, 4]), np.array([3, 2], I64)], np.float32([8, 16])),
    "sum over axes": ("ReduceSum", [np.array([[2**31 - 1, 2]], I32), np.array([1], I64)], I32([[1 - 2**31]])),
    "mean over axes": ("ReduceMean", [np.array([[-7, 2, 1]], I64), np.array([1], I64)], I64([[-1]])),
    "product of matrices": ("MatMul", [np.array([[2**31 - 1, 1]], I32), I32([[2], [3]])], I32([[1]])),
    "large ends": ("Clip", [np.array([2**53 + 1], I64), np.array(2**53 + 1, I64)], I64([2**53 + 1])),
    "ends the wrong way round": ("Clip", [I64([1, 9]), np.array(5, I64), np.array(3, I64)], I64([3, 3])),
    "range": ("Range", [np.array(10, I64), np.array(3, I64), np.array(-3, I64)], I64([10, 7, 4])),
    "range of floats": ("Range", [np.float32(0), np.float32(1.2), np.float32(0.5)], np.float32([0, 0.5, 1])),
    "and": ("And", [np.array([True, True]), np.array([True, False])], np.array([True, False])),
    "comparison": ("Greater", [np.array([2**53 + 1], I64), np.array([2**53], I64)], np.array([True])),
    "like": ("CastLike", [np.float32([2.7, -2.7]), np.array([0], I8)], I8([2, -2])),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FOLDED))
def test_constants_are_computed_in_their_types(name):
    operator, operands, expected = FOLDED[name]
    names = [f"c{at}" for at in range(len(operands))]
    found, judged = folded([node(operator, names, ["y"])], dict(zip(names, operands, strict=True)))
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    if operator not in ("Clip", "ReduceMean"):  # of which the reference is another
        assert judged.dtype == expected.dtype
        np.testing.assert_array_equal(judged, expected)


T = TensorProto
CASTS = [
    (np.float32([2.7, -1.2, 0.5, 3.9, -0.9]), T.INT32, I32([2, -1, 0, 3, 0])),
    (np.float32([127.9, -128.9]), T.INT8, I8([127, -128])),
    (np.float64([2**63 - 1024, -(2**63)]), T.INT64, I64([2**63 - 1024, -(2**63)])),
    (np.float32([255.5, -0.5]), T.UINT8, U8([255, 0])),
    (np.array([200, -200, 300], np.int16), T.INT8, I8([-56, 56, 44])),
    (np.array([-1], I64), T.UINT8, U8([255])),
    (np.float32([0.0, -0.0, 0.25, -3]), T.BOOL, np.array([False, False, True, True])),
    (np.array([256, 0], I32), T.BOOL, np.array([True, False])),
    (np.array([True, False]), T.FLOAT, np.float32([1, 0])),
    (np.array([True, False]), T.INT64, I64([1, 0])),
    (np.float32([1 / 3, 65519.0, 1e6, -1e6]), T.FLOAT16, np.float16([1 / 3, 65504, np.inf, -np.inf])),
    (np.float64([1 / 3]), T.FLOAT, np.float32([1 / 3])),
    # bfloat16 has 8 bits, ties to even: 1 + 2^-8 is in the middle of 1 and 1 + 2^-7.
    (np.float32([1 + 2**-8, 1 + 3 * 2**-8, 3.14159265]), T.BFLOAT16, np.float32([1, 1 + 2**-6, 3.140625])),
    (np.array([2**24 + 1], I32), T.FLOAT, np.float32([2**24])),
]


@pytest.mark.parametrize("at", range(len(CASTS)))
def test_constants_are_cast_by_the_rules_of_onnx(at):
    given, to, expected = CASTS[at]
    found, _ = folded([node("Cast", ["c"], ["y"], to=to)], {"c": given})
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"value_int": 2**40 + 1}, np.array(2**40 + 1, I64)),
        ({"value_ints": [2**40 + 1, -3]}, I64([2**40 + 1, -3])),
        ({"value_float": 0.1}, np.float32(0.1)),
        ({"value_floats": [0.1, 2]}, np.float32([0.1, 2])),
        ({"value": onnx.numpy_helper.from_array(U8([3, 255]))}, U8([3, 255])),
    ],
    ids=lambda each: next(iter(each)) if isinstance(each, dict) else "",
)
def test_constants_have_the_types_of_their_attributes(given, expected):
    found, judged = folded([node("Constant", [], ["c"], **given), node("Identity", ["c"], ["y"])], {})
    assert found.dtype == judged.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("given", "to"),
    [(128.0, T.INT8), (-129.0, T.INT8), (256.0, T.UINT8), (-1.0, T.UINT8), (2.0**63, T.INT64)],
)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_casts_that_onnx_leaves_open_are_refused(given, to, kind):
    """Next to `CASTS`, where the last numbers that are taken stand; what is no number, too."""
    for value in (given, np.nan, np.inf):
        with pytest.raises(hm.errors.ParameterError, match=r"made, Cast 'number 0'.*which ONNX leaves open"):
            graph_of(model([node("Cast", ["c"], ["y"], to=to)], {"c": kind([value])}), {})


def test_integers_divided_by_zero_are_refused():
    with pytest.raises(hm.errors.ParameterError, match="Div 'number 0': integers are divided by 0"):
        graph_of(model([node("Div", ["c", "d"], ["y"])], {"c": I64([1, 2]), "d": I64([1, 0])}), {})


def test_shapes_are_computed_in_integers():
    """(7 // 2) * 2 = 6 of 7 columns."""
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "last"], ["w"]),
        node("Div", ["w", "two"], ["h"]),
        node("Mul", ["h", "two"], ["e"]),
        node("Slice", ["x", "zero", "e", "one"], ["y"]),
    ]
    constants = {"last": I64([1]), "two": I64([2]), "zero": I64([0]), "one": I64([1])}
    x = np.arange(7.0)
    graph = graph_of(model(nodes, constants, shape=(1, 7)), {})
    np.testing.assert_array_equal(graph(x), x[:6])
    plan = hm.compile(model(nodes, constants, shape=(1, 7)), hm.ArraySpec((7,), (0, 6)), security=None)
    np.testing.assert_allclose(plan.evaluate_clear(x), x[:6], atol=1e-6)


@pytest.mark.parametrize("ends", [(-1, -9, -1), (2, -1, 2), (-9, 9, 1), (9, -9, -3), (-9, -9, -1), (1, 1, 1)])
def test_slices_bring_their_ends_inside(ends):
    """As ONNX's page has it: start and end plus the extent where they are negative, then clamped."""
    start, end, step = ends
    extent, x = 4, np.arange(4.0)
    low, high = (start + extent if start < 0 else start), (end + extent if end < 0 else end)
    if step > 0:
        low, high = min(max(low, 0), extent), min(max(high, 0), extent)
    else:
        low, high = min(max(low, 0), extent - 1), min(max(high, -1), extent - 1)
    expected = x[np.arange(low, high, step)]
    constants = {"a": I64([start]), "b": I64([end]), "c": I64([1]), "d": I64([step])}
    graph = graph_of(model([node("Slice", ["x", "a", "b", "c", "d"], ["y"])], constants), {})
    np.testing.assert_array_equal(graph.values({"x": x[None]})["y"][0], expected)


# --- Encrypted values in their types. ---


def cast_and_back(to):
    return model([node("Cast", ["x"], ["a"], to=to), node("Cast", ["a"], ["y"], to=T.FLOAT)])


def test_encrypted_values_without_a_step_are_not_cast_to_integers():
    for to in (T.INT64, T.INT8, T.BOOL):
        with pytest.raises(
            hm.errors.ParameterError, match=r"Cast 'number 0'.*hm\.ArraySpec\(shape, range=, step=\)"
        ):
            compiled(cast_and_back(to), hm.ArraySpec((4,), (0, 3)))
    with pytest.raises(hm.errors.ParameterError, match="too many of them"):
        compiled(cast_and_back(T.INT64), hm.ArraySpec((4,), (0, 30), step=0.25))


@pytest.mark.parametrize(("to", "step"), [(T.INT64, 1), (T.INT64, 0.5), (T.BOOL, 1), (T.FLOAT16, None)])
def test_encrypted_values_with_a_step_are_cast(to, step):
    x = np.array([-1.5, 0, 0.5, 1.5]) if step == 0.5 else np.array([-2.0, 0, 1, 3])
    plan = compiled(cast_and_back(to), hm.ArraySpec((4,), (x.min(), x.max()), step=step))
    (expected,) = ReferenceEvaluator(cast_and_back(to)).run(None, {"x": x[None].astype(np.float32)})
    np.testing.assert_allclose(plan.evaluate_clear(x), expected[0], atol=2.0**-10)


def test_encrypted_values_stay_in_their_type():
    """127 is the last of int8, and 128 would wrap around; so for halves, and for a sum."""
    compiled(cast_and_back(T.INT8), hm.ArraySpec((4,), (-128, 127), step=1))
    for ends in ((-128, 128), (-129, 127)):
        with pytest.raises(hm.errors.RangeError, match="are cast to int8, from -128 to 127"):
            compiled(cast_and_back(T.INT8), hm.ArraySpec((4,), ends, step=1))
    compiled(cast_and_back(T.FLOAT16), hm.ArraySpec((4,), (-65504, 65504)))
    for ends in ((0, 65505), (-65505, 0)):
        with pytest.raises(hm.errors.RangeError, match="float16, which ends at 65504"):
            compiled(cast_and_back(T.FLOAT16), hm.ArraySpec((4,), ends))
    network = model([node("Add", ["x", "c"], ["y"])], {"c": U8([5])}, kind=T.UINT8)
    compiled(network, hm.ArraySpec((4,), (0, 250)))
    with pytest.raises(
        hm.errors.RangeError, match=r"made, Add 'number 0'.*from 5 to 256, and uint8 is from 0 to 255"
    ):
        compiled(network, hm.ArraySpec((4,), (0, 251)))


def test_encrypted_integers_are_not_divided():
    for operator in ("Div", "Pow"):
        network = model([node(operator, ["x", "c"], ["y"])], {"c": I64([2])}, kind=T.INT64)
        with pytest.raises(
            hm.errors.ParameterError, match=f"{operator} 'number 0'.*of int64, and it takes real"
        ):
            compiled(network, hm.ArraySpec((4,), (0, 9)))
        np.testing.assert_array_equal(
            graph_of(network, {})(np.array([7.0, 6, 1, 0])), [[3, 3, 0, 0], [49, 36, 1, 0]][operator == "Pow"]
        )
    with pytest.raises(hm.errors.ParameterError, match="takes int64, and not fractions"):
        graph_of(network, {})(np.array([7.5, 6, 1, 0]))


def test_a_number_to_an_encrypted_power():
    network = model([node("Pow", ["c", "x"], ["y"])], {"c": np.float32([2])})
    x = np.array([-1.0, 0, 0.5, 3])
    np.testing.assert_allclose(graph_of(network, {})(x), 2**x)
    plan = compiled(network, hm.ArraySpec((4,), (-1, 3)), precision_bits=12)
    np.testing.assert_allclose(plan.evaluate_clear(x), 2**x, atol=8 * 2.0**-12)


def truths():
    nodes = [
        node("Greater", ["x", "one"], ["a"]),
        node("Less", ["x", "three"], ["b"]),
        node("Equal", ["x", "two"], ["c"]),
        node("And", ["a", "b"], ["d"]),
        node("Xor", ["d", "c"], ["e"]),
        node("Or", ["e", "no"], ["f"]),
        node("Not", ["f"], ["g"]),
        node("Where", ["g", "x", "ten"], ["h"]),
        node("GreaterOrEqual", ["x", "two"], ["i"]),
        node("LessOrEqual", ["x", "two"], ["j"]),
        node("Where", ["i", "h", "zero"], ["k"]),
        node("Cast", ["j"], ["l"], to=T.FLOAT),
        node("Add", ["k", "l"], ["y"]),
    ]
    names = {"zero": 0, "one": 1, "two": 2, "three": 3, "ten": 10}
    constants = {name: np.float32(each) for name, each in names.items()}
    return model(nodes, {**constants, "no": np.array([False, True, False, False])})


def test_truth_values():
    x = np.array([0.0, 1, 2, 3])
    (expected,) = ReferenceEvaluator(truths()).run(None, {"x": x[None].astype(np.float32)})
    np.testing.assert_array_equal(graph_of(truths(), {})(x), expected[0])
    plan = compiled(truths(), hm.ArraySpec((4,), (0, 3), step=1))
    np.testing.assert_allclose(plan.evaluate_clear(x), expected[0], atol=2.0**-8)


def test_truth_values_are_no_numbers():
    """ONNX adds none; encrypted inputs of truth values have their range and step."""
    two = [node("Greater", ["x", "c"], ["a"]), node("Add", ["a", "a"], ["y"])]
    with pytest.raises(hm.errors.FormatError, match="Add 'number 1': an operand 'A' of bool"):
        graph_of(model(two, {"c": np.float32(1)}), {})
    network = model([node("Not", ["x"], ["y"])], kind=T.BOOL)
    plan = compiled(network)
    assert plan.inputs[0].range == (0, 1)
    x = np.array([1.0, 0, 0, 1])
    np.testing.assert_allclose(plan.evaluate_clear(x), 1 - x, atol=1e-6)
    one = model(
        [node("Where", ["x", "c", "d"], ["y"])], {"c": np.float32(5), "d": np.float32(2)}, kind=T.BOOL
    )
    np.testing.assert_allclose(compiled(one).evaluate_clear(x), np.where(x, 5, 2), atol=1e-6)


def test_what_is_not_finite_is_refused_next_to_encrypted_values():
    for value, where in ((np.inf, "Add 'number 0'"), (-np.inf, "its results"), (np.nan, "Add 'number 0'")):
        network = model([node("Add", ["x", "mask"], ["y"])], {"mask": np.float32([0, 0, value, 0])})
        with pytest.raises(hm.errors.ParameterError, match=f"made, {where}: infinite numbers, or what is no"):
            compiled(network, hm.ArraySpec((4,), (0, 1)))
    # Where nothing encrypted meets it, it is a number.
    nodes = [node("Exp", ["mask"], ["m"]), node("Mul", ["x", "m"], ["y"])]
    network = model(nodes, {"mask": np.float32([0, 0, -np.inf, 0])})
    plan = compiled(network, hm.ArraySpec((4,), (0, 1)))
    np.testing.assert_allclose(plan.evaluate_clear(np.ones(4)), [1, 1, 0, 1], atol=1e-9)


@pytest.mark.parametrize(("axes", "taken"), [(16, True), (17, False)])
def test_arrays_have_at_most_16_axes(axes, taken):
    tensor = onnx.helper.make_tensor("c", TensorProto.FLOAT, [1] * axes, [2.5])
    if taken:
        assert array_of(onnx, "file", tensor).shape == (1,) * axes
    else:
        with pytest.raises(
            hm.errors.FormatError, match=r"file: 'c' of type float and shape .* no such array"
        ):
            array_of(onnx, "file", tensor)
