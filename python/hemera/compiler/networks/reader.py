"""From an ONNX file to a compiled program."""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera._extras import how_to_install
from hemera.arrays.recorder import MOST_ELEMENTS
from hemera.compiler import compiled
from hemera.compiler.compiled import Compiled
from hemera.compiler.networks.graph import Graph, Node
from hemera.errors import FileError, FormatError, ParameterError

__all__ = ["compile_onnx", "graph_of"]

MOST_BYTES = 1 << 28
"""Of a file."""
_MOST_NODES = 1 << 16
_MOST_AXES = 16
_WIDTHS = {1: 4, 2: 1, 3: 1, 4: 2, 5: 2, 6: 4, 7: 8, 9: 1, 10: 2, 11: 8, 12: 4, 13: 8, 16: 2}
"""Bytes of a number by its kind (onnx.TensorProto.DataType): floats, integers and truth values."""
_ATTRIBUTES = {1: "f", 2: "i", 3: "s", 4: "t", 6: "floats", 7: "ints"}
"""The field of an attribute by its kind (onnx.AttributeProto.AttributeType)."""


def compile_onnx(
    what: Any,
    *inputs: Any,
    replace: Mapping[str, Callable[..., Any]] | None = None,
    **options: Any,
) -> Compiled:
    """Compile a network of an ONNX file into an encrypted program.

        model = hm.compile("network.onnx", calibrate=images)
        model.local()(images[0])

    Its first axis is that of the samples; inputs and results are of one sample, without it. Nothing of the
    file is executed, and files with data in other files are refused.

    Args:
        what: a path, the file's bytes, or an `onnx.ModelProto`.
        inputs: as of functions, by the order of the network's inputs; none: of the shapes in the file.
        replace: functions on arrays, by the name of the operator that they stand for.
        options: those of `hemera.compiler.compiled.compile`. `calibrate=` gives the ranges.

    Raises:
        FileError: for a file that can not be read.
        FormatError: for one that is no network, or whose operators do not fit each other.
        ParameterError: for operators that are not there, and as `compile`.
        MismatchError: for inputs of other shapes than the network's.
    """
    graph = graph_of(what, replace or {})
    graph.require_known()
    given = inputs or [np.zeros(_known_shape(graph, name, shape)) for name, shape in graph.inputs]
    if len(given) != len(graph.inputs):
        names = ", ".join(name for name, _ in graph.inputs)
        raise ParameterError(f"{graph.source}: {len(given)} inputs are given, and there are: {names}")
    name = options.pop("name", None) or Path(graph.source).stem
    return compiled.compile(graph, *given, name=name, **options)


def _known_shape(graph: Graph, name: str, shape: tuple[int, ...] | None) -> tuple[int, ...]:
    if shape is None:
        raise ParameterError(
            f"{graph.source}: the shape of input {name!r} is not in the file; give an example of it, or an "
            "ArraySpec, without the axis of samples"
        )
    return shape


def graph_of(what: Any, replace: Mapping[str, Callable[..., Any]]) -> Graph:
    """The graph of a path, bytes or a model. Errors: see `compile_onnx`."""
    try:
        onnx = importlib.import_module("onnx")
    except ImportError as error:
        raise ParameterError(f"networks of ONNX need the package onnx: {how_to_install('onnx')}") from error
    source, model = _model(onnx, what)
    graph = model.graph
    if len(graph.node) > _MOST_NODES or not graph.node or not graph.output:
        raise FormatError(f"{source}: no network: {len(graph.node)} operators, {len(graph.output)} results")
    constants = {each.name: _array(onnx, source, each) for each in graph.initializer}
    inputs = tuple(
        (each.name, _sample_shape(each.type.tensor_type))
        for each in graph.input
        if each.name not in constants
    )
    if not inputs:
        raise FormatError(f"{source}: no network: it has no input")
    nodes = tuple(_node(onnx, source, each, at) for at, each in enumerate(graph.node))
    found = Graph(source, inputs, tuple(each.name for each in graph.output), nodes, constants, dict(replace))
    _require_order(found)
    return found


def _model(onnx: Any, what: Any) -> tuple[str, Any]:
    """The name and the model."""
    if isinstance(what, onnx.ModelProto):
        return what.graph.name or "network", what
    source, content = "network", what
    if isinstance(what, (str, os.PathLike)):
        source = os.fspath(what)
        try:
            if Path(what).stat().st_size > MOST_BYTES:
                raise FormatError(f"{source}: larger than {MOST_BYTES >> 20} MiB")
            content = Path(what).read_bytes()
        except OSError as error:
            raise FileError(f"{source}: {error.strerror or error}") from error
    if len(content) > MOST_BYTES:
        raise FormatError(f"{source}: larger than {MOST_BYTES >> 20} MiB")
    try:
        return source, onnx.ModelProto.FromString(bytes(content))
    except Exception as error:  # of protobuf, which has several kinds
        raise FormatError(f"{source} is no ONNX file: {error}") from error


def _sample_shape(kind: Any) -> tuple[int, ...] | None:
    """Without the first axis; None where an extent is unknown."""
    extents = [int(each.dim_value) for each in kind.shape.dim][1:]
    if not kind.HasField("shape") or not kind.shape.dim or any(extent < 1 for extent in extents):
        return None
    return tuple(extents) if math.prod(extents) <= MOST_ELEMENTS else None


def _array(onnx: Any, source: str, tensor: Any) -> NDArray[Any]:
    """A tensor of numbers as an array of float64, or of int64."""
    count = math.prod(tensor.dims)
    width = _WIDTHS.get(tensor.data_type)
    if tensor.data_location == onnx.TensorProto.EXTERNAL or tensor.external_data:
        raise FormatError(f"{source}: {tensor.name!r} is in another file; save the network as one file")
    kind = f"{tensor.name!r} of kind {tensor.data_type} and shape {list(tensor.dims)}"
    if width is None or len(tensor.dims) > _MOST_AXES or not 0 <= count <= MOST_ELEMENTS:
        raise FormatError(f"{source}: {kind}: there is no such array")
    if any(extent < 0 for extent in tensor.dims) or (
        tensor.HasField("raw_data") and len(tensor.raw_data) != count * width
    ):
        raise FormatError(f"{source}: {kind} has other bytes")
    try:
        found = np.asarray(onnx.numpy_helper.to_array(tensor))
        with np.errstate(all="ignore"):
            plain = found.astype(np.int64 if found.dtype.kind in "biu" else np.float64)
    except Exception as error:  # whatever a damaged tensor brings about
        raise FormatError(f"{source}: {tensor.name!r}: {error}") from error
    if plain.size != count or not np.isfinite(plain).all():
        raise FormatError(f"{source}: {tensor.name!r} has numbers that are not finite, or too few")
    return plain


def _node(onnx: Any, source: str, node: Any, number: int) -> Node:
    attributes: dict[str, Any] = {}
    for each in node.attribute:
        kind = _ATTRIBUTES.get(each.type)
        if kind is None:
            continue  # graphs and sparse tensors, of operators that are not there
        value = getattr(each, kind)
        if kind == "t":
            value = _array(onnx, source, value)
        elif kind == "s":
            value = value.decode("utf-8", "replace")
        elif kind in ("floats", "ints"):
            value = list(value)
        attributes[each.name] = value
    name = node.name or f"number {number}"
    return Node(node.op_type, name, tuple(node.input), tuple(node.output), attributes)


def _require_order(graph: Graph) -> None:
    """FormatError for values that are used before they are there."""
    known = {name for name, _ in graph.inputs} | set(graph.constants)
    for node in graph.nodes:
        lost = [name for name in node.inputs if name and name not in known]
        if lost:
            raise FormatError(
                f"{graph.source}: {node.operator} {node.name!r} takes {lost[0]!r}, which is not there"
            )
        known.update(node.outputs)
    lost = [name for name in graph.outputs if name not in known]
    if lost:
        raise FormatError(f"{graph.source}: the result {lost[0]!r} is not there")
