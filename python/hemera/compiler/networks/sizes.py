"""The sizes of results, before they are made, by ONNX's inference of shapes."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hemera.compiler.networks.tensors import DTYPES, KINDS
from hemera.errors import FormatError
from hemera.inputs.fields import SAYS_MORE

_MOST_DATA = 1 << 7
"""The most elements of an operand by whose values shapes are inferred."""
_NUMBERS = {kind: number for number, kind in KINDS.items()}


def sizes_of(onnx: Any, schema: Any, node: Any, kinds: Sequence[str]) -> Callable[[Sequence[Any]], int]:
    """Gives the elements of a node's largest result (onnx.NodeProto) for operands, or of its largest operand
    where ONNX does not know. Raises FormatError for operands that do not fit."""
    known: dict[Any, int] = {}
    inferring = _inferring(onnx, schema)
    if inferring is None or not node.input:
        return largest

    def size_of(operands: Sequence[Any]) -> int:
        data = {
            name: np.asarray(each, DTYPES[kind])
            for name, kind, each in zip(node.input, kinds, operands, strict=True)
            if isinstance(each, (np.ndarray, np.generic)) and each.size <= _MOST_DATA and kind in DTYPES
        }
        shapes = tuple(None if each is None else each.shape for each in operands)
        key = shapes, tuple((name, each.tobytes()) for name, each in data.items())
        if key not in known:
            types = dict(zip(node.input, types_of(onnx, kinds, operands), strict=True))
            given = {name: onnx.numpy_helper.from_array(each) for name, each in data.items()}
            try:
                found = asked(onnx.shape_inference.infer_node_outputs, inferring, node, types, given)
            except FormatError:
                if inferring is schema:
                    raise
                return largest(operands)
            sizes = [_elements(each.tensor_type) for name, each in found.items() if name]
            known[key] = largest(operands) if None in sizes else max(sizes, default=1)
        return known[key]

    return size_of


def largest(operands: Sequence[Any]) -> int:
    """Elements of the largest operand."""
    return max((int(each.size) for each in operands if each is not None), default=1)


def types_of(onnx: Any, kinds: Sequence[str], operands: Sequence[Any]) -> list[Any]:
    """The types and shapes of operands (onnx.TypeProto); what is of any type as floats."""
    return [
        onnx.helper.make_tensor_type_proto(_NUMBERS.get(kind, 1), None if each is None else each.shape)
        for kind, each in zip(kinds, operands, strict=True)
    ]


def asked(function: Callable[..., Any], *arguments: Any) -> Any:
    """The answer of ONNX's package. FormatError for nodes and operands that it does not take."""
    try:
        return function(*arguments)
    except SAYS_MORE:
        raise
    except Exception as error:  # its own have no base
        raise FormatError(str(error)) from error


@functools.cache
def _inferring(onnx: Any, schema: Any) -> Any:
    """The schema that infers shapes: of the version, or the next one that does; None: there is none."""
    versions = range(schema.since_version, onnx.defs.onnx_opset_version() + 1)
    later = (onnx.defs.get_schema(schema.name, version, schema.domain) for version in versions)
    return next((each for each in later if each.has_type_and_shape_inference_function), None)


def _elements(kind: Any) -> Any:
    """The number of elements of a tensor's type; None: it is not known."""
    known = kind.HasField("shape") and all(each.HasField("dim_value") for each in kind.shape.dim)
    return math.prod(each.dim_value for each in kind.shape.dim) if known else None
