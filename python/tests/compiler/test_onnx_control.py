"""If, Loop and Scan of ONNX files, by conditions and counts that are known when a network is compiled."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import hemera as hm
from hemera.compiler.networks import graph as graphs
from hemera.compiler.networks import resolving
from hemera.compiler.networks.reader import graph_of

from .onnx_models import I64, compiled, model, node

F32 = np.float32


def graph(nodes, inputs, outputs, kinds="", **constants):
    """A graph of an attribute; `kinds`: a letter for each input (f, i, b)."""
    types = {"f": TensorProto.FLOAT, "i": TensorProto.INT64, "b": TensorProto.BOOL}
    given = [
        helper.make_tensor_value_info(name, types[kind], None)
        for name, kind in zip(inputs.split(), kinds, strict=True)
    ]
    made = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs.split()]
    tensors = [numpy_helper.from_array(np.asarray(each), name) for name, each in constants.items()]
    return helper.make_graph(list(nodes), "inner", given, made, tensors)


def inner_if():
    """More than two rows: (x + 1) k, or else, with a choice in it, x - 1 or x - k."""
    nested = [
        helper.make_node(
            "If",
            ["no"],
            ["r"],
            then_branch=graph([node("Sub", ["x", "one"], ["r"])], "", "r", one=F32(1)),
            else_branch=graph([node("Sub", ["x", "k"], ["r"])], "", "r"),
        )
    ]
    many = [node("Add", ["x", "one"], ["a"]), node("Mul", ["a", "k"], ["r"])]
    return [
        node("Shape", ["x"], ["n"], start=1, end=2),
        node("Greater", ["n", "two"], ["more"]),
        helper.make_node(
            "If",
            ["more"],
            ["y"],
            then_branch=graph(many, "", "r", one=F32(1)),
            else_branch=graph(nested, "", "r"),
        ),
    ]


@pytest.mark.parametrize("rows", [2, 3])
def test_a_branch_by_a_condition_on_shapes(rows):
    constants = {"two": I64([2]), "no": np.array(False), "k": F32(3)}
    x = np.random.default_rng(2).uniform(-1, 1, (9, rows))
    network = model(inner_if(), constants, shape=(1, rows))
    expected = (x[0] + 1) * 3 if rows == 3 else x[0] - 3
    np.testing.assert_allclose(graph_of(network, {})(x[0]), expected, atol=1e-6)
    plan = compiled(network, calibrate=x, precision_bits=12)
    np.testing.assert_allclose(plan.evaluate_clear(x[0]), expected, atol=2.0**-9)


def test_a_branch_by_an_encrypted_condition_is_refused():
    nodes = [node("ReduceSum", ["x"], ["s"], keepdims=0), node("Greater", ["s", "k"], ["more"])]
    branch = graph([node("Neg", ["x"], ["r"])], "", "r")
    nodes.append(helper.make_node("If", ["more"], ["y"], then_branch=branch, else_branch=branch))
    network = model(nodes, {"k": F32(1)})
    np.testing.assert_array_equal(graph_of(network, {})(np.ones(4)), -np.ones(4))
    with pytest.raises(hm.errors.ParameterError, match="If 'number 2': the condition of If must be plain"):
        compiled(network, hm.ArraySpec((4,), (0, 1), step=1))


def loop(count, condition, goes_on="c"):
    """s = s k + i x, from s = x on, and all s in turn."""
    body = graph(
        [
            node("Cast", ["i"], ["j"], to=TensorProto.FLOAT),
            node("Mul", ["x", "j"], ["a"]),
            node("Mul", ["s", "k"], ["b"]),
            node("Add", ["a", "b"], ["t"]),
            node("Less", ["i", "last"], ["early"]),
            node("Identity", ["c"], ["always"]),
            node("Identity", ["t"], ["each"]),
        ],
        "i c s",
        f"{'always' if goes_on == 'c' else goes_on} t each",
        "ibf",
        last=I64(1),
    )
    constants = {"k": F32(0.5)}
    given = {"count": count, "go": condition}
    constants.update((name, each) for name, each in given.items() if each is not None)
    operands = [name if each is not None else "" for name, each in given.items()]
    nodes = [helper.make_node("Loop", [*operands, "x"], ["y", "all"], body=body)]
    return model([*nodes, node("ReduceSum", ["all"], ["z"])], constants, outputs=["y", "z"])


@pytest.mark.parametrize(
    ("count", "condition", "goes_on", "steps"),
    [(3, None, "c", 3), (3, True, "early", 2), (None, True, "early", 2), (1, True, "c", 1)],
)
def test_loops_are_unrolled(count, condition, goes_on, steps):
    network = loop(
        None if count is None else I64(count), None if condition is None else np.array(condition), goes_on
    )
    x = np.random.default_rng(3).uniform(-1, 1, (20, 4))
    found, state = [], x[0]
    for at in range(steps):
        state = state * 0.5 + at * x[0]
        found.append(state)
    plain = graph_of(network, {})(x[0])
    plan = compiled(network, calibrate=x, precision_bits=12).evaluate_clear(x[0])
    for own, atol in ((plain, 1e-6), (plan, 2.0**-8)):
        np.testing.assert_allclose(own["y"], state, atol=atol)
        np.testing.assert_allclose(np.ravel(own["z"]), [np.sum(found)], atol=4 * atol)


def test_loops_have_at_most_so_many_steps(monkeypatch):
    assert graphs.MOST_STEPS == 4096
    monkeypatch.setattr(graphs, "MOST_STEPS", 5)
    assert graph_of(loop(I64(5), None), {})(np.ones(4))["y"].shape == (4,)
    for count, condition in ((I64(6), None), (None, np.array(True))):
        with pytest.raises(hm.errors.ParameterError, match="Loop 'number 0': more than 5 steps of loops"):
            graph_of(loop(count, condition), {})(np.ones(4))


def scan(**attributes):
    """Running sums of rows of x and u, and twice the rows of x."""
    body = graph(
        [
            node("Add", ["s", "a"], ["m"]),
            node("Add", ["m", "b"], ["t"]),
            node("Add", ["a", "a"], ["d"]),
            node("Identity", ["t"], ["e"]),
        ],
        "s a b",
        "t d e",
        "fff",
    )
    nodes = [
        node("Squeeze", ["x", "zero"], ["m"]),
        helper.make_node(
            "Scan", ["s0", "m", "u"], ["y", "d", "e"], body=body, num_scan_inputs=2, **attributes
        ),
        node("MatMul", ["d", "e"], ["z"]),
    ]
    constants = {"s0": np.zeros(3, F32), "u": np.arange(9, dtype=F32).reshape(3, 3) / 8, "zero": I64([0])}
    return model(nodes, constants, shape=(1, 3, 3), outputs=["y", "z"])


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"scan_input_axes": [1, 0]},
        {"scan_input_directions": [1, 0], "scan_output_directions": [0, 1], "scan_output_axes": [1, 0]},
    ],
)
def test_scans_are_unrolled(attributes):
    network = scan(**attributes)
    x = np.random.default_rng(3).uniform(-1, 1, (20, 3, 3))
    u = np.arange(9.0).reshape(3, 3) / 8
    of_x, *_ = *attributes.get("scan_input_axes", [0]), 0
    rows = np.moveaxis(x[0], of_x, 0)[:: -1 if "scan_input_directions" in attributes else 1]
    sums, twice = np.cumsum(rows + u, axis=0), 2 * rows
    if "scan_output_axes" in attributes:
        sums, twice = sums[::-1], twice.T
    y, z = np.sum(rows + u, axis=0), twice @ sums
    plain = graph_of(network, {})(x[0])
    plan = compiled(network, calibrate=x, precision_bits=12).evaluate_clear(x[0])
    for own, atol in ((plain, 1e-5), (plan, 2.0**-8)):
        np.testing.assert_allclose(own["y"], y, atol=atol)
        np.testing.assert_allclose(own["z"], z, atol=4 * atol)


def test_operands_that_a_call_leaves_out_are_left_out_in_its_function():
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)]
    clip = graph([node("Clip", ["a", "l", "h"], ["r"])], "", "r")
    choice = helper.make_node("If", ["c"], ["r"], then_branch=clip, else_branch=clip)
    inner = helper.make_function("own", "In", ["a", "l", "h", "c"], ["r"], [choice], opsets)
    call = node("In", ["a", "l", "h", "c"], ["r"], domain="own")
    outer = helper.make_function("own", "Out", ["a", "l", "h", "c"], ["r"], [call], opsets)
    calls = [node("Out", ["x", "", "one", "yes"], ["y"], domain="own")]
    network = model(calls, {"one": F32(1), "yes": np.array(True)}, functions=[inner, outer])
    np.testing.assert_array_equal(graph_of(network, {})(np.arange(-1.0, 3)), [-1, 0, 1, 1])


BROKEN = {
    "before it is there": (
        graph([node("Neg", ["a"], ["r"]), node("Neg", ["x"], ["a"])], "", "r"),
        "takes 'a'",
    ),
    "made twice": (graph([node("Neg", ["x"], ["r"])] * 2, "", "r"), "makes 'r', which"),
    "nowhere": (graph([node("Neg", ["q"], ["r"])], "", "r"), "takes 'q', which is not there"),
    "no result": (graph([node("Neg", ["x"], ["r"])], "", "q"), "takes 'q', which is not there"),
    "too few results": (graph([node("Neg", ["x"], ["r"])], "", ""), r"of .*'float'\], \[\]\], which"),
    "other types": (graph([node("Shape", ["x"], ["r"])], "", "r"), r"of .*'float'\], \['int64'\]\], which"),
    "no operator": (graph([node("EyeLike", ["x"], ["r"])], "", "r"), "0': its graph: no operators EyeLike"),
}


@pytest.mark.parametrize("name", list(BROKEN))
def test_graphs_that_do_not_fit_are_refused(name):
    branch, message = BROKEN[name]
    other = graph([node("Neg", ["x"], ["r"])], "", "r")
    choice = helper.make_node("If", ["yes"], ["y"], then_branch=branch, else_branch=other)
    with pytest.raises((hm.errors.FormatError, hm.errors.ParameterError), match=message):
        graph_of(model([choice, node("Neg", ["x"], ["z"])], {"yes": np.array(True)}), {})


def test_operators_of_graphs_count_with_those_around(monkeypatch):
    branch = graph([node("Neg", ["x"], ["a"]), node("Neg", ["a"], ["r"])], "", "r")
    choice = helper.make_node("If", ["yes"], ["a"], then_branch=branch, else_branch=branch)
    network = model([choice, node("Neg", ["a"], ["y"])], {"yes": np.array(True)})
    monkeypatch.setattr(resolving, "MOST_NODES", 6)
    graph_of(network, {})
    monkeypatch.setattr(resolving, "MOST_NODES", 5)
    with pytest.raises(hm.errors.FormatError, match="more than 5 operators"):
        graph_of(network, {})
