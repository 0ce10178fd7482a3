"""Operators of ONNX by their versions: those claimed are right, by ONNX's own cases; others are refused."""

import functools
import re
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import hemera as hm
from hemera.compiler.networks import resolving
from hemera.compiler.networks.meanings import NEWEST
from hemera.compiler.networks.reader import graph_of
from hemera.compiler.networks.resolving import OPERATORS, meaning_of

from . import onnx_cases
from .onnx_cases import Case

PAGE = Path(__file__).parents[3] / "docs" / "compile-networks.md"
CHUNKS = 2
SLOW = re.compile("large_number_expanded|operator_conv$")
"""Cases that take seconds with encrypted inputs, of operators that others have: bodies of softmaxes of large
numbers, which are judged as operators, and a convolution of 20 x 16 x 50 x 40 numbers."""
MOST = 4
"""Cases of the same operators that are judged with encrypted inputs; in the clear all of them are."""
EXPANDED = re.compile(r"_expanded(_ver\d+)?$")
"""Names of cases whose network is the body of a function, as ONNX's package writes it."""


@functools.cache
def schemas():
    """The schemas of ONNX's own domain, by operator and version."""
    found = defaultdict(dict)
    for each in onnx.defs.get_all_schemas_with_history():
        if each.domain == "" and not each.deprecated:
            found[each.name][each.since_version] = each
    return found


def has_function(schema):
    return schema.has_function or schema.has_context_dependent_function


BODIES = {name for name, own in schemas().items() if any(map(has_function, own.values()))} - set(OPERATORS)
BODIES -= {"Bernoulli", "DynamicQuantizeLinear", "SequenceMap"}
"""Operators that are ONNX's functions alone; those of the second line need what is not there."""


@functools.cache
def all_cases():
    return tuple(onnx_cases.cases())


def model(nodes, shape, constants, opset):
    """A network from `x` to `y`, whose constants keep their types."""
    given = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, *shape])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "made", [x], [y], given)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


# --- The table, by ONNX's schemas. ---


WITHOUT_EFFECT = {
    *("activation_alpha", "activation_beta", "consumed_inputs", "extrapolation_value", "momentum"),
    *("ratio", "round_mode", "saturate", "seed", "sparse_value", "stash_type", "storage_order"),
    *("value_string", "value_strings"),  # these are refused
}


@pytest.mark.parametrize("operator", sorted({*OPERATORS, "EyeLike", "TopK"}))
def test_versions_and_attributes_are_those_of_the_schemas(operator):
    """All from one on to the newest that was compared; others are refused, but for ONNX's functions."""
    code = "".join(path.read_text() for path in Path(resolving.__file__).parent.glob("*.py"))
    first = min((each.since for each in OPERATORS.get(operator, ())), default=NEWEST + 1)
    for version, schema in schemas()[operator].items():
        assert (meaning_of(schema) is not None) == (first <= version <= NEWEST)
        if meaning_of(schema) is not None:
            assert {each for each in schema.attributes if f'"{each}"' not in code} <= WITHOUT_EFFECT, version
        elif not has_function(schema):
            names = ["x"] * max(1, schema.min_input)
            network = model([helper.make_node(operator, names, ["y"])], (3,), {}, version)
            way_out = rf'{operator} of ONNX {version} \(node .*replace=\{{"{operator}": function\}}'
            with pytest.raises(hm.errors.ParameterError, match=way_out):
                graph_of(network, {})


def test_what_changes_later_is_refused(monkeypatch):
    network = model([helper.make_node("Cast", ["x"], ["y"], to=TensorProto.DOUBLE)], (3,), {}, 19)
    graph_of(network, {})
    monkeypatch.setattr(resolving, "NEWEST", 18)
    with pytest.raises(hm.errors.ParameterError, match=r"Cast of ONNX 19 .*its versions 6, 9, 13 are there"):
        graph_of(network, {})


def test_versions_newer_than_the_package_are_refused():
    newest = onnx.defs.onnx_opset_version()
    node = helper.make_node("Relu", ["x"], ["y"])
    graph_of(model([node], (3,), {}, newest), {})
    with pytest.raises(hm.errors.ParameterError, match=f"ONNX {newest + 1}.*opset_version="):
        graph_of(model([node], (3,), {}, newest + 1), {})


def test_operators_that_came_later_are_refused():
    later = [helper.make_node("Trilu", ["x"], ["y"])]
    graph_of(model(later, (3,), {}, 14), {})
    with pytest.raises(hm.errors.ParameterError, match=r"Trilu of ONNX 13 .*its versions 14 are there"):
        graph_of(model(later, (3,), {}, 13), {})
    with pytest.raises(hm.errors.ParameterError, match="did you mean Relu"):
        graph_of(model([helper.make_node("ReLu", ["x"], ["y"])], (3,), {}, 20), {})


# --- Old versions, by formulas. ---

X = np.arange(24.0).reshape(2, 3, 4) / 8 - 1


def softmax(x, axis):
    powers = np.exp(x - x.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def of(*channels):
    return np.array(channels)[:, None, None]


B, PADDED = np.array([1.0, -10, 100]), np.pad(X, [(0, 0), (0, 2), (1, 0)], constant_values=5)
I64 = np.int64
OLD = {
    # The axis of samples is there: axis 1 of the file is axis 0 of X.
    "Softmax 11, default": (11, [("Softmax", "x", {})], {}, softmax(X.reshape(-1), 0).reshape(X.shape)),
    "Softmax 12, axis 2": (
        12,
        [("Softmax", "x", {"axis": 2})],
        {},
        softmax(X.reshape(2, 12), 1).reshape(X.shape),
    ),
    "Softmax 1": (1, [("Softmax", "x", {"axis": 1})], {}, softmax(X.reshape(-1), 0).reshape(X.shape)),
    "Softmax 13, default": (13, [("Softmax", "x", {})], {}, softmax(X, -1)),
    "Softmax 13, axis 1": (13, [("Softmax", "x", {"axis": 1})], {}, softmax(X, 0)),
    "Add 6, axis": (6, [("Add", "x b", {"broadcast": 1, "axis": 2})], {"b": B}, X + B[:, None]),
    "Add 1, axis": (1, [("Add", "x b", {"broadcast": 1, "axis": 2})], {"b": B}, X + B[:, None]),
    "Sub 6, last axes": (6, [("Sub", "x b", {"broadcast": 1})], {"b": X[0]}, X - X[0]),
    "Mul 6, scalar": (6, [("Mul", "x b", {"broadcast": 1})], {"b": 3.0}, X * 3),
    "Div 6, same": (6, [("Div", "x b", {})], {"b": X[None] + 9}, X / (X + 9)),
    "Pow 1, axis": (1, [("Pow", "x b", {"broadcast": 1})], {"b": 2.0}, X**2),
    "Add 7": (7, [("Add", "x b", {})], {"b": B[:, None]}, X + B[:, None]),
    "Clip 6": (6, [("Clip", "x", {"min": -0.5, "max": 0.75})], {}, np.clip(X, -0.5, 0.75)),
    "Clip 6, one end": (6, [("Clip", "x", {"max": 0.75})], {}, np.minimum(X, 0.75)),
    "Clip 11": (11, [("Clip", "x l h", {})], {"l": -0.5, "h": 0.75}, np.clip(X, -0.5, 0.75)),
    "Sum 8": (8, [("Sum", "x b", {})], {"b": B[:, None]}, X + B[:, None]),
    "Max 6": (6, [("Max", "x b", {})], {"b": 0 * X[None]}, np.maximum(X, 0)),
    "Reshape 1": (1, [("Reshape", "x", {"shape": [0, 6, -1]})], {}, X.reshape(6, 4)),
    "Reshape 5": (5, [("Reshape", "x s", {})], {"s": np.array([0, 6, -1])}, X.reshape(6, 4)),
    "Squeeze 11": (11, [("Unsqueeze", "x", {"axes": [1]}), ("Squeeze", "a", {"axes": [1]})], {}, X),
    "ReduceSum 11": (11, [("ReduceSum", "x", {"axes": [2], "keepdims": 0})], {}, X.sum(1)),
    "ReduceMean 13": (13, [("ReduceMean", "x", {"axes": [-1]})], {}, X.mean(-1, keepdims=True)),
    "ReduceMax 1": (1, [("ReduceMax", "x", {"axes": [3]})], {}, X.max(-1, keepdims=True)),
    "ReduceMin 13, all": (13, [("ReduceMin", "x", {"keepdims": 1})], {}, X.min(keepdims=True)),
    "Slice 1": (1, [("Slice", "x", {"starts": [1], "ends": [9], "axes": [2]})], {}, X[:, 1:]),
    "Split 2": (2, [("Split", "x", {"axis": 2, "split": [1, 2]}), ("Neg", "a", {})], {}, -X[:, :1]),
    "Pad 2": (2, [("Pad", "x", {"pads": [0, 0, 0, 1, 0, 0, 2, 0], "value": 5.0})], {}, PADDED),
    "Flatten 9": (9, [("Flatten", "x", {"axis": 2})], {}, X.reshape(2, 12)),
    "Flatten 11, -1": (11, [("Flatten", "x", {"axis": -1})], {}, X.reshape(6, 4)),
    "Flatten 13, -2": (13, [("Flatten", "x", {"axis": -2})], {}, X.reshape(2, 12)),
    "Flatten 13, 0": (13, [("Flatten", "x", {"axis": 0})], {}, X.reshape(24)),
    "Concat 1": (1, [("Concat", "x x", {})], {}, np.concatenate([X, X])),
    "LeakyRelu 1": (
        1,
        [("LeakyRelu", "x", {"alpha": 0.5, "consumed_inputs": [0]})],
        {},
        np.where(X > 0, X, X / 2),
    ),
    "HardSigmoid 6": (6, [("HardSigmoid", "x", {})], {}, np.clip(0.2 * X + 0.5, 0, 1)),
    "Dropout 7": (7, [("Dropout", "x", {"ratio": 0.5})], {}, X),
    "Dropout 6": (6, [("Dropout", "x", {"is_test": 1})], {}, X),
    "BatchNormalization 6": (
        6,
        [("BatchNormalization", "x s b m v", {"is_test": 1, "epsilon": 0.5})],
        {"s": [1.0, 2], "b": [0.5, -1], "m": [0.1, 0.2], "v": [0.5, 2]},
        (X - of(0.1, 0.2)) / np.sqrt(of(1.0, 2.5)) * of(1.0, 2) + of(0.5, -1),
    ),
    "Swish 24": (24, [("Swish", "x", {"alpha": 2.0})], {}, X / (1 + np.exp(-2 * X))),
    "Identity 1": (1, [("Identity", "x", {})], {}, X),
}


@pytest.mark.parametrize("name", list(OLD))
def test_versions_by_formulas(name):
    opset, nodes, constants, expected = OLD[name]
    names = ["x", "a", "y"] if len(nodes) > 1 else ["x", "y"]
    made = []
    for at, (operator, inputs, attributes) in enumerate(nodes):
        outputs = [names[at + 1], "rest"] if operator == "Split" else [names[at + 1]]
        made.append(helper.make_node(operator, inputs.split(), outputs, **attributes))
    typed = {
        key: np.asarray(each, I64 if np.asarray(each).dtype.kind == "i" else np.float32)
        for key, each in constants.items()
    }
    network = model(made, X.shape, typed, opset)
    if opset >= onnx.defs.onnx_opset_version():
        pytest.skip("the installed package is older")
    np.testing.assert_allclose(graph_of(network, {})(X), expected, atol=1e-6)
    spec = hm.ArraySpec(X.shape, (-1, 2))
    plan = hm.compile(network, spec, calibrate=[X[None]], precision_bits=10, security=None)
    np.testing.assert_allclose(plan.evaluate_clear(X), expected, atol=2.0**-8 * np.abs(expected).max())


REFUSED = {
    "training": (14, "BatchNormalization", "x s s s s", {"training_mode": 1}, "export it for inference"),
    "training of old": (6, "BatchNormalization", "x s s s s", {}, "export it for inference"),
    "no channels": (7, "BatchNormalization", "x s s s s", {"spatial": 0}, "not of channels"),
    "dropout in training": (13, "Dropout", "x one yes", {}, "export it for inference"),
    "old dropout in training": (6, "Dropout", "x", {}, "export it for inference"),
    "unknown attribute": (13, "Relu", "x", {"alpha": 1.0}, "'alpha', which it has not in this version"),
    "attribute of another version": (13, "Add", "x one", {"axis": 1}, "'axis', which it has not in this"),
    "attribute of another type": (13, "Softmax", "x", {"axis": 1.0}, "'axis' is of another type"),
    "attribute left out": (13, "Concat", "x x", {}, "'axis' is left out"),
    "unlike shapes": (6, "Add", "x one", {}, "from version 8 on they broadcast"),
    "beyond the first": (6, "Add", "x s", {"broadcast": 1, "axis": 3}, "from axis 3 on"),
    "too many operands": (13, "Relu", "x x", {}, "2 operands; it takes 1 to 1"),
    "operand left out": (13, "MatMul", " x", {}, "'A' is left out"),
    "types": (13, "Add", "x whole", {}, r"tensor\(float\) and tensor\(int64\)"),
    "condition": (16, "Where", "whole x x", {}, "'condition' of int64, which it does not take"),
    "several results": (12, "MaxPool", "x", {"kernel_shape": [1]}, "'second' is not there"),
    "too many results": (13, "Cast", "x", {"to": TensorProto.FLOAT}, "2 results; it has 1 to 1"),
    "type of a cast": (19, "Cast", "x", {"to": TensorProto.FLOAT8E5M2}, "a cast to the type 19"),
    "auto_pad": (11, "MaxPool", "x", {"kernel_shape": [1], "auto_pad": "ALL"}, "auto_pad='ALL'"),
    "mode": (19, "Pad", "x pads", {"mode": "mirror"}, "there are constant, reflect, edge, wrap"),
    "attribute of a function": (20, "Gelu", "x", {"alpha": 1.0}, "'alpha', which it has not in this version"),
    "operands of a function": (23, "Attention", "x s s", {}, "axis 2 is out of bounds"),
    "uneven": (13, "Split", "x", {"axis": 2}, "an axis of 3 is not split into 2 parts"),
    "strings": (13, "Constant", "", {"value_string": "a"}, r"a Constant with \['value_string'\]"),
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_what_is_not_known_is_refused(name):
    opset, operator, inputs, attributes, message = REFUSED[name]
    constants = {
        "s": np.ones(2, np.float32),
        "one": np.float32(0.5),
        "yes": np.array(True),
        "whole": np.ones((1, 2, 3), I64),
        "pads": np.zeros(6, I64),
    }
    outputs = ["y", "second"] if name in ("several results", "too many results", "uneven") else ["y"]
    made = [helper.make_node(operator, inputs.split(" ") if inputs else [], outputs, **attributes)]
    takes_second = len(outputs) > 1 and name != "too many results"
    if takes_second:
        made.append(helper.make_node("Identity", ["second"], ["z"]))
    network = model(made, (2, 3), constants, opset)
    if takes_second:
        network.graph.output.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, None))
    with pytest.raises((hm.errors.ParameterError, hm.errors.FormatError, hm.errors.MismatchError)) as caught:
        graph_of(network, {})(np.ones((2, 3)))
    assert re.search(message, str(caught.value)), caught.value
    assert f"made, {operator} 'number 0'" in str(caught.value)


def test_the_page_lists_exactly_the_operators():
    table = PAGE.read_text().partition("## Operators")[2].partition("What is not known")[0]
    listed = [
        name
        for row in table.splitlines()
        if row.startswith("| `")
        for name in re.findall(r"`(\w+)`", row.split("|")[1])
    ]
    assert sorted(listed) == sorted({*OPERATORS, *BODIES})


# --- ONNX's own cases. ---


def told(verdicts):
    return {name: each.told for name, each in verdicts.items() if each.found == "wrong"}


def test_cases_in_the_clear():
    verdicts = {each.name: onnx_cases.judged(each, encrypted=False) for each in all_cases()}
    assert told(verdicts) == {}
    counts = Counter(each.found for each in verdicts.values())
    version, total, right = re.search(
        r"onnx ([\d.]+) .*?([\d,]+) cases.*?in the clear\s*\|\s*([\d,]+)", PAGE.read_text(), re.S
    ).groups()
    if version == onnx.__version__:
        assert (len(verdicts), counts["right"]) == (int(total.replace(",", "")), int(right.replace(",", "")))
    shown = {name for each in all_cases() if verdicts[each.name].found == "right" for name in each.operators}
    assert {*OPERATORS, *BODIES} - shown <= {"ConstantOfShape"}


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_cases_of_encrypted_inputs(chunk):
    """The recorded programs in the clear; of a function, which is its body, not the body again."""
    functions = {each.name for each in all_cases() if each.operators & BODIES}
    known = [
        each
        for each in all_cases()
        if each.operators <= {*OPERATORS, *BODIES}
        and EXPANDED.sub("", each.name) not in functions - {each.name}
    ]
    seen, few = Counter[frozenset[str]](), list[Case]()
    for each in (case for case in known if not SLOW.search(case.name)):
        seen[frozenset(each.operators)] += 1
        if seen[frozenset(each.operators)] <= MOST:
            few.append(each)
    own = few[chunk::CHUNKS]
    verdicts = {each.name: onnx_cases.judged(each, encrypted=True) for each in own}
    assert told(verdicts) == {}
    assert sum(each.found == "right" for each in verdicts.values()) > len(own) / 2


def test_a_wrong_result_is_wrong():
    """The judge finds a result that is one rounding of bfloat16 away, and one of another type."""
    network, x = model([helper.make_node("Relu", ["x"], ["y"])], X.shape, {}, 14), X[None].astype(np.float32)
    expected = np.maximum(x, 0)
    near = expected + np.float32(2.0**-8 * expected.max())
    for found, result in (("right", expected), ("wrong", near), ("wrong", expected.reshape(-1))):
        case = Case("relu", network, [x], [result], 1e-3, 1e-7)
        for encrypted in (True, False):
            assert onnx_cases.judged(case, encrypted=encrypted).found == found
