"""Networks of ONNX that are made for tests."""

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import hemera as hm

__all__ = ["I64", "Nodes", "compiled", "model", "node", "residual"]

I64 = np.int64
Nodes = Sequence[onnx.NodeProto]
node = helper.make_node


def model(
    nodes, constants=None, *, shape=(1, 4), kind=TensorProto.FLOAT, outputs=("y",), opset=21, **options
):
    """A network from `x`, whose constants keep their types."""
    given = [numpy_helper.from_array(np.asarray(each), name) for name, each in (constants or {}).items()]
    x = helper.make_tensor_value_info("x", kind, shape)
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("own", 1)]
    whole = helper.make_graph(list(nodes), "made", [x], results, given)
    return helper.make_model(whole, opset_imports=opsets, ir_version=10, **options)


def compiled(network, *specs, **options):
    """The plan, without a level of security."""
    return hm.compile(network, *specs, **{"security": None, **options})


def residual():
    """A block with batch normalisation and a stride, joined with its input by a sum and by concatenation."""
    nodes = [
        node("Conv", ["x", "w1"], ["a"], strides=[2, 2], pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["a", "s", "b", "m", "v"], ["c"]),
        node("Relu", ["c"], ["d"]),
        node("Dropout", ["d"], ["d2"]),
        node("Conv", ["d2", "w2"], ["e"], pads=[1, 1, 1, 1]),
        node("Conv", ["x", "w3"], ["f"], strides=[2, 2]),
        node("Add", ["e", "f"], ["g"]),
        node("Concat", ["g", "d"], ["h"], axis=1),
        node("GlobalAveragePool", ["h"], ["i"]),
        node("Flatten", ["i"], ["j"]),
        node("Gemm", ["j", "w4", "b4"], ["y"], transB=1),
    ]
    random = np.random.default_rng(9)
    constants = {
        "w1": random.normal(size=(3, 2, 3, 3)) / 4,
        "s": np.array([1.0, 0.5, 2]),
        "b": np.array([0.1, 0.2, 0.3]),
        "m": np.array([0.0, 0.1, -0.1]),
        "v": np.array([1.0, 0.5, 2]),
        "w2": random.normal(size=(3, 3, 3, 3)) / 5,
        "w3": random.normal(size=(3, 2, 1, 1)),
        "w4": random.normal(size=(4, 6)),
        "b4": random.normal(size=4),
    }
    typed = {name: each.astype(np.float32) for name, each in constants.items()}
    return model(nodes, typed, shape=["batch", 2, 8, 8])
