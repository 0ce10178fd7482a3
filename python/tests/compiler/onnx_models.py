"""Networks of ONNX that are made for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import hemera as hm

__all__ = ["I64", "Nodes", "compiled", "model", "node"]

I64 = np.int64
Nodes = Sequence[onnx.NodeProto]
node = helper.make_node


def model(
    nodes: Nodes,
    constants: dict[str, Any] | None = None,
    *,
    shape: Sequence[int | str] = (1, 4),
    kind: int = TensorProto.FLOAT,
    outputs: Sequence[str] = ("y",),
    opset: int = 21,
    **options: Any,
) -> onnx.ModelProto:
    """A network from `x`, whose constants keep their types."""
    given = [numpy_helper.from_array(np.asarray(each), name) for name, each in (constants or {}).items()]
    x = helper.make_tensor_value_info("x", kind, shape)
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("own", 1)]
    whole = helper.make_graph(list(nodes), "made", [x], results, given)
    return helper.make_model(whole, opset_imports=opsets, ir_version=10, **options)


def compiled(network: onnx.ModelProto, *specs: Any, **options: Any) -> Any:
    """The plan, without a level of security."""
    return hm.compile(network, *specs, **{"security": None, **options})
