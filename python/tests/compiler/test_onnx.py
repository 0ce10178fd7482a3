"""Networks of ONNX files: their results are those of ONNX's own reference implementation."""

import itertools

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import hemera as hm
from hemera.compiler.networks.reader import graph_of

from ..beside import printed
from ..refusals import raises, refuse_each
from .onnx_models import residual

RNG = np.random.default_rng(9)


def node(operator, inputs, output, **attributes):
    return helper.make_node(operator, inputs.split(" ") if inputs else [], output.split(" "), **attributes)


def model(nodes, shape, constants=None, outputs=("y",), opset=20):
    """A network from `x` of the shape, with its axis of samples."""
    initializers = [
        numpy_helper.from_array(
            np.asarray(value, np.int64 if np.asarray(value).dtype.kind == "i" else np.float32), name
        )
        for name, value in (constants or {}).items()
    ]
    return helper.make_model(
        helper.make_graph(
            list(nodes),
            "made",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
            initializers,
        ),
        opset_imports=[helper.make_opsetid("", opset)],
    )


def reference(network, sample):
    """The result of one sample, without its axis where the result has it."""
    (found,) = ReferenceEvaluator(network).run(None, {"x": sample[None].astype(np.float32)})
    result = np.asarray(found, np.float64)
    return result[0] if result.ndim and result.shape[0] == 1 else result


IMAGE = (2, 6, 6)
WEIGHTS = RNG.normal(size=(4, 2, 3, 3))
# What ONNX's own cases, which test_onnx_versions.py tries, are not: several operators in a row.
SINGLE = {
    "conv": ([node("Conv", "x w b", "y")], IMAGE, {"w": WEIGHTS, "b": RNG.normal(size=4)}),
    "einsum": ([node("Einsum", "x w", "y", equation="bij,jk->bik")], (3, 5), {"w": RNG.normal(size=(5, 4))}),
    "moves": (
        [
            node("Transpose", "x", "a", perm=[0, 2, 3, 1]),
            node("Reshape", "a s", "b"),
            node("Unsqueeze", "b one", "c"),
            node("Squeeze", "c one", "d"),
            node("Split", "d", "e f", axis=2, num_outputs=2),
            node("Concat", "f e d", "g", axis=2),
            node("Slice", "g from to at by", "h"),
            node("Gather", "h i", "k", axis=1),
            node("Pad", "k pads", "y"),
        ],
        (2, 4, 6),
        {
            "s": [0, -1, 4],
            "one": [1],
            "from": [0, -1],
            "to": [9, -9],
            "at": [1, 2],
            "by": [2, -2],
            "i": [1, 0, 2],
            "pads": [0, 1, 0, 0, 0, 2],
        },
    ),
    "shapes": (
        [
            node("Shape", "x", "s"),
            node("Gather", "s zero", "n"),
            node("Concat", "n rest", "t", axis=0),
            node("Reshape", "x t", "a"),
            node(
                "ConstantOfShape", "three", "z", value=helper.make_tensor("v", TensorProto.FLOAT, [1], [2.0])
            ),
            node("Expand", "a e", "b"),
            node("Mul", "b z", "y"),
        ],
        (2, 3),
        {"zero": [0], "rest": [3, 2], "three": [2], "e": [1, 3, 2]},
    ),
}


def compiled(network, samples, **options):
    found = hm.compile(network, calibrate=samples, **{"precision_bits": 12, "security": None, **options})
    assert isinstance(found, hm.compiler.Compiled)
    return found


def assert_agrees(network, samples):
    """The graph in the clear, and the compiled program in the clear, are the reference's."""
    graph = graph_of(network, {})
    expected = np.stack([reference(network, each) for each in samples[:3]])
    for sample, own in zip(samples, expected, strict=False):
        np.testing.assert_allclose(graph(sample), own, rtol=1e-5, atol=1e-5)
    plan = compiled(network, samples)
    found = np.stack([plan.evaluate_clear(each) for each in samples[:3]])
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, atol=2**-9 * max(1.0, float(np.abs(expected).max())))
    return plan


@pytest.mark.parametrize("name", list(SINGLE))
def test_operators_are_the_references(name):
    nodes, shape, constants = SINGLE[name]
    assert_agrees(model(nodes, [1, *shape], constants), RNG.uniform(-1, 1, (12, *shape)))


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("operator", ["Conv", "MaxPool", "AveragePool"])
def test_same_pads_are_those_of_the_standard_s_formula(operator, auto_pad):
    """The reference gets them as `pads`: its own are not the standard's for all strides and dilations."""
    names, constants = ("x w", {"w": WEIGHTS}) if operator == "Conv" else ("x", {})
    for step, jump, extent in itertools.product((1, 2, 3), (1, 2, 3), (6, 7)):
        whole = max(0, (-(-extent // step) - 1) * step + 2 * jump + 1 - extent)
        before = whole // 2 if auto_pad == "SAME_UPPER" else -(-whole // 2)
        pads = [before, before, whole - before, whole - before]
        window = {"kernel_shape": [3, 3], "strides": [step] * 2, "dilations": [jump] * 2}
        shape, x = (1, 2, extent, extent), RNG.uniform(-1, 1, (2, extent, extent))
        judge = model([node(operator, names, "y", pads=pads, **window)], shape, constants)
        own = graph_of(model([node(operator, names, "y", auto_pad=auto_pad, **window)], shape, constants), {})
        np.testing.assert_allclose(own(x), reference(judge, x), atol=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_a_softmax_has_the_bits_of_its_program(seed):
    """12, relative to the largest result, though it divides by sums that are some powers of two."""
    network = model([node("Softmax", "x", "y")], ["n", 6])
    samples = np.random.default_rng(seed).uniform(-3, 3, (20, 6))
    expected = np.stack([reference(network, each) for each in samples])
    plan = compiled(network, samples)
    found = np.stack([plan.evaluate_clear(each) for each in samples])
    assert np.abs(found - expected).max() <= 2.0**-12 * expected.max()


def test_extremes_and_constants():
    nodes = [
        node("Constant", "", "one", value_float=1.0),
        node("Identity", "one", "c"),
        node("Max", "x c x", "a"),
        node("Min", "a x", "b"),
        node("Swish", "b", "y"),
    ]
    network = model(nodes, [1, 4], opset=24)
    samples = RNG.uniform(-2, 2, (20, 4))
    plan = compiled(network, samples)
    expected = samples[0] / (1 + np.exp(-samples[0]))
    np.testing.assert_allclose(plan.evaluate_clear(samples[0]), expected, atol=2**-9)


def test_a_residual_block_encrypted(tmp_path):
    network = residual()
    path = tmp_path / "block.onnx"
    onnx.save(network, path)
    images = RNG.uniform(-1, 1, (20, 2, 8, 8))
    plan = hm.compile(str(path), calibrate=images, precision_bits=9, security=None)
    assert plan.package.name == "block"
    expected = reference(network, images[0])
    np.testing.assert_allclose(
        plan.local(threads=2)(images[0]), expected, atol=2**-7 * np.abs(expected).max()
    )
    # Normalisation, dropout, the sum with the shortcut, the mean and the scores are parts of other maps.
    assert sum(type(each.operation).__name__ == "Affine" for each in plan._program.nodes) <= 3
    several = hm.compile(str(path), calibrate=images, precision_bits=9, samples=4, security=None)
    expected = np.stack([reference(network, each) for each in images[:6]])
    found = several.local(threads=2)(images[:6])
    np.testing.assert_allclose(found, expected, atol=2**-7 * np.abs(expected).max())
    agreement = plan.check(images[:4], encrypted=0)
    assert "block" in repr(plan)
    assert agreement is not None


def test_a_mixer_and_a_depthwise_block():
    mixer = [
        node("LayerNormalization", "x s", "a", epsilon=0.1),
        node("Transpose", "a", "b", perm=[0, 2, 1]),
        node("MatMul", "b w1", "c"),
        node("Gelu", "c", "d"),
        node("Transpose", "d", "e", perm=[0, 2, 1]),
        node("Add", "e x", "y"),
    ]
    constants = {"s": np.ones(6), "w1": RNG.normal(size=(4, 4)) / 3}
    assert_agrees(model(mixer, [1, 4, 6], constants), RNG.uniform(-1, 1, (20, 4, 6)))
    depthwise = [
        node("Conv", "x w", "a", group=3, pads=[1, 1, 1, 1]),
        node("Clip", "a low high", "b"),
        node("Conv", "b w2", "y"),
    ]
    weights = {"w": RNG.normal(size=(3, 1, 3, 3)), "w2": RNG.normal(size=(5, 3, 1, 1))}
    constants = {**weights, "low": 0.0, "high": 6.0}
    assert_agrees(model(depthwise, [1, 3, 5, 5], constants), RNG.uniform(-3, 3, (20, 3, 5, 5)))


def test_several_inputs_and_results():
    nodes = [node("Add", "x z", "y"), node("Mul", "x z", "w")]
    network = model(nodes, [1, 3], outputs=["y", "w"])
    network.graph.input.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, [1, 3]))
    x, z = RNG.uniform(-1, 1, (2, 9, 3))
    plan = hm.compile(network, calibrate=[x, z], security=None)
    found = plan.evaluate_clear(x[0], z[0])
    np.testing.assert_allclose(found["y"], x[0] + z[0], atol=1e-9)
    np.testing.assert_allclose(found["w"], x[0] * z[0], atol=1e-9)


def test_replaced_operators():
    network = model([node("EyeLike", "x", "y")], [1, 4])
    with pytest.raises(
        hm.errors.ParameterError, match=r'no operators EyeLike.*replace=\{"EyeLike": function\}'
    ):
        compiled(network, np.ones((2, 4)))
    samples = RNG.uniform(-1, 1, (9, 4))
    plan = compiled(network, samples, replace={"EyeLike": lambda x: 0.6 * x + 0.3 * x * x})
    np.testing.assert_allclose(
        plan.evaluate_clear(samples[0]), 0.6 * samples[0] + 0.3 * samples[0] ** 2, atol=1e-9
    )


FUNCTIONS = {
    "Celu": ([node("Celu", "x", "y", alpha=0.5)], (6,), {}),
    "HardSwish": ([node("HardSwish", "x", "y")], (6,), {}),
    "Elu": ([node("Elu", "x", "y", alpha=0.7)], (6,), {}),
    "Gelu": ([node("Gelu", "x", "y", approximate="tanh")], (6,), {}),
    "causal attention": ([node("Attention", "x x x", "y", is_causal=1)], (1, 3, 2), {}),
    "attention after a product": (
        [
            node("MatMul", "x w", "a"),
            node("Attention", "a x x m", "y", q_num_heads=2, kv_num_heads=1, scale=0.5),
        ],
        (3, 2),
        {"w": np.array([[1.0, 0, -1, 2], [0.5, 1, 0, -1]]), "m": np.array([[0, -np.inf, 1]] * 3)},
    ),
}


@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_operators_without_a_meaning_are_the_functions_that_onnx_gives(name):
    nodes, shape, constants = FUNCTIONS[name]
    assert_agrees(model(nodes, [1, *shape], constants, opset=23), RNG.uniform(-2, 2, (40, *shape)))


def test_what_a_function_of_onnx_needs_is_refused_by_both_names():
    network = model([node("DynamicQuantizeLinear", "x", "y s z")], [1, 4])
    with pytest.raises(
        hm.errors.ParameterError,
        match=r"made, DynamicQuantizeLinear 'number 0': its function: no operators Quantize",
    ):
        compiled(network, RNG.uniform(-1, 1, (9, 4)))


def test_errors_name_the_operator():
    network = model([helper.make_node("Log", ["x"], ["y"], name="/head/Log")], [1, 4])
    with pytest.raises(hm.errors.RangeError, match="made, Log '/head/Log': log of values from -"):
        compiled(network, RNG.uniform(-1, 1, (9, 4)))
    network = model([node("MatMul", "x w", "y")], [1, 4], {"w": np.ones((3, 2))})
    raises(hm.Error, "MatMul 'number 0'", compiled, network, np.ones((2, 4)))
    with pytest.raises(hm.errors.ParameterError, match="shape of input 'x' is not in the file"):
        compiled(model([node("Relu", "x", "y")], [1, "width"]), np.ones((2, 4)))
    with pytest.raises(hm.errors.FormatError, match="takes 'z', which is not there"):
        compiled(model([node("Add", "x z", "y")], [1, 4]), np.ones((2, 4)))


def test_files_that_are_no_networks(tmp_path):
    raises(hm.errors.FileError, "missing", lambda: hm.compile(str(tmp_path / "missing.onnx")))
    refuse_each(hm.compile, (b"", b"not a network", bytes(100)), hm.errors.FormatError)
    network = model([node("MatMul", "x w", "y")], [1, 4], {"w": np.ones((4, 2))})
    outside = onnx.ModelProto.FromString(network.SerializeToString())
    tensor = outside.graph.initializer[0]
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="/etc/passwd")
    raises(hm.errors.FormatError, "in another file", hm.compile, outside)
    short = onnx.ModelProto.FromString(network.SerializeToString())
    short.graph.initializer[0].dims[0] = 1 << 40
    raises(hm.errors.FormatError, "no such array", hm.compile, short)
    short.graph.initializer[0].dims[0] = 5
    raises(hm.errors.FormatError, "other bytes", hm.compile, short)


def test_onnx_is_imported_for_networks_alone():
    script = "import sys, hemera, hemera.compiler; hemera.compile; assert 'onnx' not in sys.modules"
    printed(script)
