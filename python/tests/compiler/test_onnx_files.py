"""ONNX files: their inputs and results, domains and functions, and limits on what they make."""

import itertools
import os
import tracemalloc

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

import hemera as hm
from hemera.arrays.recorder import MOST_ELEMENTS
from hemera.compiler.networks import graph as graphs
from hemera.compiler.networks import resolving
from hemera.compiler.networks.reader import graph_of

from ..refusals import raises
from .onnx_models import I64, compiled, model, node, residual

MUTANTS = int(os.environ.get("HEMERA_ONNX_MUTANTS", "300"))

# --- Inputs and results. ---


def test_inputs_have_the_shape_of_the_file():
    network = model([node("Relu", ["x"], ["y"])], shape=("n", 3, "w"))
    compiled(network, hm.ArraySpec((3, 5), (0, 1)))
    for shape in ((2, 5), (1, 3, 5), (3,)):
        with pytest.raises(hm.errors.MismatchError, match=r"which the file has with the shape \(\?, 3, \?\)"):
            compiled(network, hm.ArraySpec(shape, (0, 1)))
    with pytest.raises(hm.errors.MismatchError, match="its first axis is that of the samples"):
        compiled(model([node("Relu", ["x"], ["y"])], shape=(3,)), hm.ArraySpec((3,), (0, 1)))


ROWS = {
    "alike": ([node("MatMul", ["x", "w"], ["y"])], {"w": np.eye(4, dtype=np.float32)[::-1].copy()}, True),
    "a softmax of rows": ([node("Softmax", ["x"], ["y"])], {}, True),
    "a softmax of samples": ([node("Softmax", ["x"], ["y"], axis=0)], {}, False),
    "a sum of samples": ([node("ReduceSum", ["x", "i"], ["y"])], {"i": I64([0])}, False),
    "differences of samples": (
        [node("ReduceMean", ["x", "i"], ["m"]), node("Sub", ["x", "m"], ["y"])],
        {"i": I64([0])},
        False,
    ),
    "numbers for each sample": ([node("Add", ["x", "w"], ["y"])], {"w": np.ones((5, 4), np.float32)}, False),
    "the first sample": ([node("Gather", ["x", "i"], ["y"])], {"i": I64([0])}, False),
    "a shape of all": ([node("Reshape", ["x", "i"], ["y"])], {"i": I64([5, 2, 2])}, False),
}


@pytest.mark.parametrize("name", list(ROWS))
def test_networks_of_several_samples_at_once(name):
    """A file with a first axis of 5: one sample is one where the others do not matter."""
    nodes, constants, taken = ROWS[name]
    network = model(nodes, constants, shape=(5, 4))
    spec = hm.ArraySpec((4,), (0, 1))
    if taken:
        x = np.array([0.1, 0.9, 0.5, 0.2], np.float32)
        (expected,) = ReferenceEvaluator(network).run(None, {"x": np.stack([x] * 5)})
        found = compiled(network, spec, precision_bits=10).evaluate_clear(x)
        np.testing.assert_allclose(found, expected[0], atol=2.0**-8)
    else:
        with pytest.raises(
            hm.errors.MismatchError, match="for 5 samples at once; export it with a free first"
        ):
            compiled(network, spec)


def test_results_that_nothing_uses_are_left_out():
    """The indices of a pool, and a node of an operator that is not there."""
    nodes = [node("MaxPool", ["x"], ["y", "indices"], kernel_shape=[2]), node("EyeLike", ["x"], ["nothing"])]
    x = np.array([[1.0, 3, 2, 0]])
    graph = graph_of(model(nodes, shape=(1, 1, 4)), {})
    assert len(graph.nodes) == 1
    np.testing.assert_array_equal(graph(x), [[3, 3, 2]])
    with pytest.raises(
        hm.errors.ParameterError, match="MaxPool 'number 0': its result 'indices' is not there"
    ):
        graph_of(model(nodes, shape=(1, 1, 4), outputs=["y", "indices"]), {})


def test_results_that_depend_on_no_input_are_refused():
    nodes = [node("Relu", ["x"], ["y"]), node("Shape", ["x"], ["z"])]
    network = model(nodes, outputs=["y", "z"])
    np.testing.assert_array_equal(graph_of(network, {})(np.zeros(4))["z"], [1, 4])
    with pytest.raises(hm.errors.ParameterError, match="the result 'z' is the same for all inputs"):
        compiled(network, hm.ArraySpec((4,), (0, 1)))


def test_values_are_made_once():
    nodes = [node("Relu", ["x"], ["a"]), node("Neg", ["x"], ["a"]), node("Identity", ["a"], ["y"])]
    raises(hm.errors.FormatError, "makes 'a', which is there already", lambda: graph_of(model(nodes), {}))


# --- Domains and functions of the file. ---


def function(name, inputs, outputs, nodes, **options):
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)]
    return helper.make_function("own", name, inputs, outputs, list(nodes), opsets, **options)


def scaled():
    """alpha * max(a, b), where alpha is 3 if the call has none."""
    refers = node("Constant", [], ["c"])
    refers.attribute.append(
        onnx.AttributeProto(name="value_float", ref_attr_name="alpha", type=onnx.AttributeProto.FLOAT)
    )
    nodes = [refers, node("Max", ["a", "b"], ["m"]), node("Mul", ["m", "c"], ["r"])]
    defaults = [helper.make_attribute("alpha", 3.0)]
    return function("Scaled", ["a", "b"], ["r"], nodes, attribute_protos=defaults)


def nested():
    """Calls of functions, one of which calls the other; shapes and indices that are computed of constants."""
    twice = function(
        "Twice",
        ["a"],
        ["r", "s"],
        [
            node("Scaled", ["a", "a"], ["m"], domain="own", alpha=2.0),
            node("Neg", ["m"], ["s"]),
            node("Identity", ["m"], ["r"]),
        ],
    )
    nodes = [
        node("Twice", ["x"], ["m", "n"], domain="own"),
        node("Scaled", ["m", "n"], ["k"], domain="own"),
        node("Add", ["k", "m"], ["a"]),
        node("Cast", ["ratios"], ["whole"], to=onnx.TensorProto.INT64),
        node("Div", ["whole", "parts"], ["counts"]),
        node("Tile", ["a", "counts"], ["b"]),
        node("Range", ["first", "last", "step"], ["places"]),
        node("Gather", ["b", "places"], ["y"], axis=1),
    ]
    constants = {
        "ratios": np.float32([3.7, 5.5]),
        "parts": I64([3, 2]),
        "first": I64(0),
        "last": I64(7),
        "step": I64(2),
    }
    return model(nodes, constants, functions=[scaled(), twice])


def test_functions_of_the_file_are_inlined():
    x = np.array([-1.0, 0, 0.5, 2])
    whole = 3 * np.maximum(2 * x, -2 * x) + 2 * x
    expected = np.tile(whole, 2)[:7:2]
    np.testing.assert_allclose(graph_of(nested(), {})(x), expected)
    plan = compiled(nested(), hm.ArraySpec((4,), (-1, 2)), precision_bits=10)
    np.testing.assert_allclose(plan.evaluate_clear(x), expected, atol=2.0**-6)


def test_functions_that_do_not_fit_are_refused(monkeypatch):
    calls = function("Calls", ["a"], ["r"], [node("Calls", ["a"], ["r"], domain="own")])
    with pytest.raises(hm.errors.FormatError, match="a function that calls itself"):
        graph_of(model([node("Calls", ["x"], ["y"], domain="own")], functions=[calls]), {})
    with pytest.raises(hm.errors.FormatError, match="own::Scaled 'number 0': operands that do not fit"):
        graph_of(model([node("Scaled", ["x", "x", "x"], ["y"], domain="own")], functions=[scaled()]), {})
    chain = [function("F0", ["a"], ["r"], [node("Neg", ["a"], ["r"])])]
    for at in range(1, 33):
        chain.append(function(f"F{at}", ["a"], ["r"], [node(f"F{at - 1}", ["a"], ["r"], domain="own")]))
    deepest = model([node("F31", ["x"], ["y"], domain="own")], functions=chain)
    np.testing.assert_array_equal(graph_of(deepest, {})(np.ones(4)), -np.ones(4))
    with pytest.raises(hm.errors.FormatError, match=r"F0 .*a function that calls itself, or is too deep"):
        graph_of(model([node("F32", ["x"], ["y"], domain="own")], functions=chain), {})
    # Each calls the one before twice: 2^20 nodes in a file of twenty functions.
    several = [function("F0", ["a"], ["r"], [node("Neg", ["a"], ["r"])])]
    for at in range(1, 21):
        own = [node(f"F{at - 1}", ["a"], ["m"], domain="own"), node(f"F{at - 1}", ["m"], ["r"], domain="own")]
        several.append(function(f"F{at}", ["a"], ["r"], own))
    assert resolving.MOST_NODES == 1 << 16
    monkeypatch.setattr(resolving, "MOST_NODES", 64)
    x = np.array([1.0, 2, 3, 4])
    last = model([node("F6", ["x"], ["y"], domain="own")], functions=several)
    np.testing.assert_array_equal(graph_of(last, {})(x), x)
    for name in ("F7", "F20"):
        with pytest.raises(hm.errors.FormatError, match="more than 64 operators"):
            graph_of(model([node(name, ["x"], ["y"], domain="own")], functions=several), {})


def test_operators_of_other_domains_are_not_those_of_onnx():
    network = model([node("Relu", ["x"], ["y"], domain="own")])
    with pytest.raises(
        hm.errors.ParameterError,
        match=r"Relu of own 1 \(node 'number 0'; .*replace=\{\"own::Relu\": function\}",
    ):
        graph_of(network, {})
    with pytest.raises(
        hm.errors.ParameterError, match=r"'Relu', which is no operator.*did you mean 'own::Relu'"
    ):
        graph_of(network, {"Relu": lambda x: x})
    x = np.array([-1.0, 0, 1, 2])
    np.testing.assert_array_equal(graph_of(network, {"own::Relu": lambda x: 2 * x})(x), 2 * x)
    np.testing.assert_array_equal(
        graph_of(model([node("Relu", ["x"], ["y"], domain="ai.onnx")]), {})(x), np.maximum(x, 0)
    )
    unknown = model([node("Relu", ["x"], ["y"], domain="other")])
    raises(hm.errors.ParameterError, r"Relu of other \(node", graph_of, unknown, {})
    without = model([node("Relu", ["x"], ["y"])])
    del without.opset_import[:]
    raises(hm.errors.FormatError, "does not say the version of operators", graph_of, without, {})


def test_a_function_of_the_file_can_be_replaced():
    x = np.array([-1.0, 0, 0.5, 2])
    found = graph_of(nested(), {"own::Twice": lambda x: (x, -x)})(x)
    np.testing.assert_allclose(found, np.tile(3 * np.abs(x) + x, 2)[:7:2])
    with pytest.raises(hm.errors.FormatError, match="own::Twice 'number 0': 1 results of the given function"):
        graph_of(nested(), {"own::Twice": lambda x: x})(x)


def test_replacements_of_what_is_not_there_are_refused():
    network = model([node("Relu", ["x"], ["y"])])
    with pytest.raises(hm.errors.ParameterError, match=r"'relu', which is no operator.*did you mean 'Relu'"):
        graph_of(network, {"relu": lambda x: x})
    with pytest.raises(
        hm.errors.ParameterError, match="'Softsign', which is no operator of the network: it has Relu"
    ):
        graph_of(network, {"Softsign": lambda x: x})
    network.opset_import.add(domain="ai.onnx", version=6)
    raises(hm.errors.FormatError, "two versions of operators of one domain", graph_of, network, {})


def test_an_operator_of_onnx_can_be_replaced():
    network = model([node("Relu", ["x"], ["a"]), node("Add", ["a", "x"], ["y"])])
    x = np.array([-1.0, 0, 1, 2])
    np.testing.assert_array_equal(graph_of(network, {"Relu": lambda x: 5 * x})(x), 6 * x)


@pytest.mark.parametrize("outputs", [["y"], ["", "y"], ["y", ""], ["", "y", ""], ["", "", "y"]])
def test_a_replacement_gives_results_up_to_the_last_that_is_used(outputs):
    used, x, network = 1 + outputs.index("y"), np.arange(4.0), model([node("Split", ["x"], outputs)])

    def made(count):
        return graph_of(network, {"Split": lambda x: [x + at for at in range(count)]})(x)

    for enough in (used, used + 1):
        np.testing.assert_array_equal(made(enough), x + used - 1)
    with pytest.raises(hm.errors.FormatError, match=f"{used - 1} results of the given .* {used} are used"):
        made(used - 1)


# --- Limits. ---

MADE = {
    "ConstantOfShape": ([node("ConstantOfShape", ["s"], ["y"])], {"s": I64([100000, 100000])}, 10**10),
    "Expand": ([node("Expand", ["o", "s"], ["y"])], {"o": np.float32([1]), "s": I64([1 << 34])}, 1 << 34),
    "Tile": ([node("Tile", ["o", "s"], ["y"])], {"o": np.float32([1, 2]), "s": I64([1 << 30])}, 1 << 31),
    "Pad": ([node("Pad", ["o", "s"], ["y"])], {"o": np.float32([1]), "s": I64([0, 1 << 31])}, (1 << 31) + 1),
    "Range": (
        [node("Range", ["a", "b", "c"], ["y"])],
        {"a": I64(0), "b": I64(1 << 40), "c": I64(1)},
        1 << 40,
    ),
    "MatMul": (
        [node("MatMul", ["a", "b"], ["y"])],
        {"a": np.ones((60000, 1), np.int32), "b": np.ones((1, 60000), np.int32)},
        36 * 10**8,
    ),
    "Gemm": (
        [node("Gemm", ["a", "b"], ["y"], transA=1)],
        {"a": np.ones((1, 60000), np.float32), "b": np.ones((1, 60000), np.float32)},
        36 * 10**8,
    ),
    "Einsum": (
        [node("Einsum", ["a", "b"], ["y"], equation="i,j->ij")],
        {"a": np.ones(60000, np.float32), "b": np.ones(60000, np.float32)},
        36 * 10**8,
    ),
    "Gather": (
        [node("Gather", ["a", "i"], ["y"])],
        {"a": np.ones((1, 60000), np.float32), "i": np.zeros(60000, I64)},
        36 * 10**8,
    ),
    "Add": (
        [node("Add", ["a", "b"], ["y"])],
        {"a": np.ones((1, 60000), np.float32), "b": np.ones((60000, 1), np.float32)},
        36 * 10**8,
    ),
    "Where": (
        [node("Where", ["c", "a", "b"], ["y"])],
        {"c": np.ones((3, 1, 1), np.bool_), "a": np.ones((1, 9000), I64), "b": np.ones((9000, 1), I64)},
        3 * 81 * 10**6,
    ),
}


@pytest.mark.parametrize("name", list(MADE))
def test_large_constants_are_refused_before_they_are_made(name):
    nodes, constants, count = MADE[name]
    network = model(nodes, constants)
    tracemalloc.start()
    try:
        with pytest.raises(hm.errors.ParameterError, match=f"{name} 'number 0'") as caught:
            graph_of(network, {})
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert f"{8 * count} bytes" in str(caught.value)
    assert peak < 16 * (network.ByteSize() + (1 << 16))


def test_the_last_array_that_is_taken(monkeypatch):
    """At a smaller limit: results of exactly so many elements, and one more; of constants and of inputs."""
    monkeypatch.setattr(graphs, "MOST_ELEMENTS", 64)

    def of(count):
        nodes = [
            node("ConstantOfShape", ["s"], ["c"]),
            node("ReduceSum", ["c"], ["d"]),
            node("Add", ["x", "d"], ["y"]),
        ]
        return graph_of(model(nodes, {"s": I64([count])}), {})

    assert of(64)(np.zeros(4)).shape == (4,)
    raises(hm.errors.ParameterError, "an array of 65 elements, 520 bytes; at most 64", of, 65)
    for count, taken in ((16, True), (17, False)):
        graph = graph_of(model([node("Tile", ["x", "r"], ["y"])], {"r": I64([1, count])}), {})
        if taken:
            assert graph(np.zeros(4)).shape == (64,)
        else:
            raises(hm.errors.ParameterError, "Tile 'number 0': an array of 68 elements", graph, np.zeros(4))
    assert MOST_ELEMENTS == 1 << 22


def test_all_constants_together_have_a_limit(monkeypatch):
    """Each of the results is counted in the bytes of its type, next to the constants of the file."""
    nodes = [
        node("ConstantOfShape", ["s"], ["a"]),
        node("Identity", ["a"], ["b"]),
        node("Add", ["x", "b"], ["y"]),
    ]
    network = model(nodes, {"s": I64([4])})
    kept = 8 + 16 + 16  # an integer of 64 bits, and twice four floats of 32
    monkeypatch.setattr(graphs, "MOST_KEPT", kept)
    graph_of(network, {})
    monkeypatch.setattr(graphs, "MOST_KEPT", kept - 1)
    with pytest.raises(
        hm.errors.ParameterError, match=r"Identity 'number 1': constants take 40 bytes.*at most 39"
    ):
        graph_of(network, {})


def test_all_values_of_a_sample_have_a_limit(monkeypatch):
    """2^20 elements, or 64 times those of inputs and constants: a chain that doubles ends there."""
    names = ["x", *(f"c{at}" for at in range(39)), "y"]
    chain = [node("Concat", [a, a], [b], axis=1) for a, b in itertools.pairwise(names)]
    graph = graph_of(model(chain), {})
    with pytest.raises(
        hm.errors.ParameterError, match=r"Concat 'number 17': .* 2097144 elements, 16777152 bytes"
    ):
        graph(np.zeros(4))
    monkeypatch.setattr(graphs, "_LEAST_MADE", 8)
    with pytest.raises(
        hm.errors.ParameterError, match=r"Concat 'number 5'.*504 elements.*of 4 in.*at most 256"
    ):
        graph(np.zeros(4))
    for count, taken in ((5, True), (6, False)):
        own = [node("Concat", [a, a], [b], axis=1) for a, b in itertools.pairwise(names[: count + 1])]
        own.append(node("ReduceSum", [names[count]], ["y"]))
        found = graph_of(model(own), {})
        # 8 + 16 + 32 + 64 + 128 elements, and the sum: 249 of 256, and 505.
        if taken:
            assert found(np.ones(4)).size == 1
        else:
            raises(hm.errors.ParameterError, "at most 256 are made", found, np.ones(4))
    with pytest.raises(hm.errors.ParameterError, match="at most 256 are made"):
        compiled(model(chain), hm.ArraySpec((4,), (0, 1)))


@pytest.mark.parametrize("made", [residual, nested])
def test_mutated_files_are_refused_or_read(made, with_changed_bytes):
    """Nothing but Hemera's errors comes of damaged files, and no array larger than the limit."""
    content = made().SerializeToString()
    rng = np.random.default_rng(int(os.environ.get("HEMERA_ONNX_SEED", "1")))
    refused = 0
    for _ in range(MUTANTS):
        mutant = with_changed_bytes(content, rng)
        try:
            graph = graph_of(bytes(mutant), {})
            with np.errstate(all="ignore"):
                graph(np.zeros((2, 8, 8) if made is residual else 4))
        except hm.Error:
            refused += 1
    assert 0 < refused < MUTANTS
