"""Compiles ONNX files."""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hemera._extras import how_to_install
from hemera.compiler import compiling
from hemera.compiler.compiled import Compiled
from hemera.compiler.networks.calls import key_of, keyed, names_of, operators_in, versions_of
from hemera.compiler.networks.graph import Graph, sample_shape
from hemera.compiler.networks.resolving import Replacements, Scope
from hemera.compiler.networks.tensors import DTYPES, KINDS, MOST_KEPT, bytes_of, is_real, text_of
from hemera.compiler.specs import ArraySpec, shape_of
from hemera.errors import Error, FileError, FormatError, MismatchError, ParameterError
from hemera.inputs.fields import SAYS_MORE

_ALIKE = 2.0**-6
"""The part of a module's largest result by which its export may differ: half precision has 11 bits."""
_COMPARED = 4
"""The samples by which a module is compared with its export."""
MOST_BYTES = 1 << 28
"""The most bytes of a file."""


def compile_onnx(what: Any, *inputs: Any, replace: Replacements | None = None, **options: Any) -> Compiled:
    """Compile a network of an ONNX file into an encrypted program.

        model = hm.compile("network.onnx", calibrate=images)
        model.local()(images[0])

    Its first axis is that of the samples; inputs and results are of one sample, without it. Nothing of the
    file is executed, and files with data in other files are refused.

    Args:
        what: a path, the file's bytes, or an `onnx.ModelProto`.
        inputs: as of functions, by the order of the network's inputs; none: of the shapes in the file. Those
            of integers and truth values have the step 1.
        replace: functions on arrays, by the name of the operator that they stand for; of other domains than
            ONNX's "domain::name".
        options: those of functions, `hemera.compiler.options.Options`. `calibrate=` gives the ranges.

    Raises:
        FileError: for a file that can not be read.
        FormatError: for one that is no network, or whose operators do not fit each other.
        ParameterError: for operators, or versions of them, that are not there, for values that take too many
            bytes, and as `compile`.
        MismatchError: for inputs of other shapes than the network's.
    """
    return _compiled(graph_of(what, replace or {}), inputs, options)


def _compiled(graph: Graph, inputs: Sequence[Any], options: dict[str, Any]) -> Compiled:
    """The program of a graph. Arguments and errors: see `compile_onnx`."""
    given = inputs or [None] * len(graph.inputs)
    if len(given) != len(graph.inputs):
        names = ", ".join(name for name, _ in graph.inputs)
        raise ParameterError(f"{graph.source}: {len(given)} inputs are given, and there are: {names}")
    specs = [_spec(graph, name, shape, own) for (name, shape), own in zip(graph.inputs, given, strict=True)]
    _require_rows(graph, specs)
    name = options.pop("name", None) or Path(graph.source).stem
    return compiling.compile(graph, *specs, name=name, **options)


def _spec(graph: Graph, name: str, shape: tuple[int | None, ...] | None, given: Any) -> ArraySpec:
    """The spec of an input of the network, as it was given."""
    if given is None:
        known = sample_shape(shape)
        if known is None:
            raise ParameterError(
                f"{graph.source}: the shape of input {name!r} is not in the file; give an example of it, or "
                "an ArraySpec, without the axis of samples"
            )
        given = ArraySpec(known)
    spec = given if isinstance(given, ArraySpec) else ArraySpec(shape_of(given))
    whole = (1, *spec.shape)
    if shape is not None and (
        len(whole) != len(shape)
        or any(own not in (None, extent) for own, extent in zip(shape[1:], whole[1:], strict=True))
    ):
        told = tuple("?" if extent is None else extent for extent in shape)
        raise MismatchError(
            f"{graph.source}: an input of shape {spec.shape} for {name!r}, which the file has with the shape "
            f"({', '.join(map(str, told))}): its first axis is that of the samples, and inputs are of one "
            "sample, without it"
        )
    kind = graph.kinds[name]
    return spec if is_real(kind) or spec.dtype is not None else dataclasses.replace(spec, dtype=DTYPES[kind])


def _require_rows(graph: Graph, specs: Sequence[ArraySpec]) -> None:
    """MismatchError for a network of several samples at once, by its file, that does not do the same with
    each: two of them give other results than one after the other."""
    several = [shape[0] for _, shape in graph.inputs if shape and shape[0] not in (None, 1)]
    if not several:
        return
    random = np.random.default_rng(0)
    given = {}
    for (name, _), spec in zip(graph.inputs, specs, strict=True):
        low, high = (0, 1) if spec.range is None else spec.range
        own = random.uniform(low, high, (2, *spec.shape))
        given[name] = own if is_real(graph.kinds[name]) else np.rint(own)
    told = (
        f"{graph.source}: the network is for {several[0]} samples at once; export it with a free first axis"
    )
    try:
        both = graph.values(given)
        rows = [graph.values({name: each[at : at + 1] for name, each in given.items()}) for at in range(2)]
    except Error as error:
        raise MismatchError(f"{told} ({error})") from error
    for name, found in both.items():
        alone = [np.asarray(each[name], np.float64) for each in rows]
        if any(each.shape[:1] != (1,) for each in alone) or not _near(found, np.concatenate(alone)):
            raise MismatchError(f"{told} (the result {name!r} of a sample depends on the others)")


def _near(a: Any, b: Any) -> bool:
    return np.shape(a) == np.shape(b) and bool(np.allclose(a, b, rtol=1e-4, atol=1e-6, equal_nan=True))


def graph_of(what: Any, replace: Replacements) -> Graph:
    """The graph of a path, bytes or a model. Errors: see `compile_onnx`."""
    try:
        onnx = importlib.import_module("onnx")
    except ImportError as error:
        raise ParameterError(f"networks of ONNX need the package onnx: {how_to_install('onnx')}") from error
    source, model = _model(onnx, what)
    graph = model.graph
    if not graph.node or not graph.output:
        raise FormatError(f"{source}: no network: {len(graph.node)} operators, {len(graph.output)} results")
    if graph.sparse_initializer:
        raise FormatError(f"{source}: sparse constants, which are not there; save the network with full ones")
    if bytes_of(graph.initializer) > MOST_KEPT:
        raise FormatError(
            f"{source}: constants of {bytes_of(graph.initializer)} bytes; at most {MOST_KEPT} are taken"
        )
    constants = names_of(graph.initializer)
    inputs = {text_of(each.name): each for each in graph.input if text_of(each.name) not in constants}
    if not inputs:
        raise FormatError(f"{source}: no network: it has no input")
    kinds = {name: _kind(source, each) for name, each in inputs.items()}
    outputs = names_of(graph.output)
    _require_used(source, replace, model)
    functions = {key_of(each, each.name): each for each in model.functions}
    functions = {key: each for key, each in functions.items() if keyed(key) not in replace}
    scope = Scope(onnx, source, replace, functions, versions_of(source, model, {}), kinds)
    shapes = {name: _shape(each.type.tensor_type) for name, each in inputs.items()}
    return scope.graph(shapes, graph.node, graph.initializer, outputs).folded()


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
    except SAYS_MORE:
        raise
    except Exception as error:  # of protobuf, which has several kinds
        raise FormatError(f"{source} is no ONNX file: {error}") from error


def _kind(source: str, given: Any) -> str:
    """The type of an input."""
    number = given.type.tensor_type.elem_type or 1
    if given.type.WhichOneof("value") not in (None, "tensor_type") or number not in KINDS:
        raise FormatError(
            f"{source}: the input {given.name!r} is no array of floats, integers or truth values"
        )
    return KINDS[number]


def _shape(kind: Any) -> tuple[int | None, ...] | None:
    """The shape with the axis of samples; None: unknown."""
    if not kind.HasField("shape"):
        return None
    return tuple(int(each.dim_value) if each.dim_value > 0 else None for each in kind.shape.dim)


def _require_used(source: str, replace: Replacements, model: Any) -> None:
    """ParameterError for functions in the place of operators that the network has not."""
    nodes = [each.node for each in (model.graph, *model.functions)]
    known = sorted({key for own in nodes for key in operators_in(own)}) if replace else ()
    for name in replace:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            meant = f"; did you mean {near[0]!r}?" if near else f": it has {', '.join(known[:8])}"
            raise ParameterError(
                f"{source}: replace= has {name!r}, which is no operator of the network{meant}"
            )


def compile_module(what: Any, *inputs: Any, calibrate: Any = None, **options: Any) -> Compiled:
    """Compile a `torch.nn.Module` into an encrypted program.

        model = hm.compile(network, calibrate=images)

    `torch.onnx.export` writes it as a network of ONNX, in evaluation mode. Errors have the names that it
    gives to layers.

    Args:
        what: the module, on the CPU.
        inputs: for each argument an `ArraySpec`, or an example without an axis of samples; none: as the
            samples are.
        calibrate: as of functions.
        options: those of `compile_onnx`.

    Raises:
        ParameterError: without the packages that the export needs, or a shape of the inputs; for a module
            that can not be exported, or whose export gives other results; and as `compile_onnx`.
    """
    torch, _ = (_library(name) for name in ("torch", "onnxscript"))
    modes = [(each, each.training) for each in what.modules()]
    shapes, replace = _shapes(inputs, calibrate), options.pop("replace", None)
    examples = tuple(torch.zeros((1, *shape)) for shape in shapes)
    try:
        exported = torch.onnx.export(what.eval(), examples, dynamo=True, verbose=False).model_proto
        graph = graph_of(exported, replace or {})
        if not replace:
            _require_alike(torch, what, graph, _rows(inputs, calibrate, shapes))
    except torch.onnx.errors.OnnxExporterError as error:
        raise ParameterError(f"{type(what).__name__} can not be exported to ONNX: {error}") from error
    finally:
        for each, mode in modes:
            each.training = mode
    options.setdefault("name", type(what).__name__)
    return _compiled(graph, inputs, {**options, "calibrate": calibrate})


def _require_alike(torch: Any, module: Any, graph: Graph, samples: Sequence[Any]) -> None:
    """ParameterError where the exported network of a module gives other results than the module itself, or
    the module gives a sample other results beside others."""
    singles = []
    for at in range(len(samples[0])):
        rows = [each[at : at + 1] for each in samples]
        singles.append(_results(torch, module, rows))
        found = graph.values({name: row for (name, _), row in zip(graph.inputs, rows, strict=False)})
        for (name, own), wanted in zip(found.items(), singles[-1], strict=False):
            if not _is_alike(own, wanted):
                raise ParameterError(
                    f"{type(module).__name__}: torch.onnx.export wrote a network whose result {name!r} is "
                    f"not the module's: the export leaves a setting out, or the module draws at random. "
                    "Write the step of this result in another way"
                )
    try:
        together = _results(torch, module, samples)
    except Exception:  # whatever a module that is of one sample raises
        return
    for name, *alone, own in zip(graph.outputs, *singles, together, strict=False):
        is_of_samples = alone[0].shape[:1] == (1,) and own.shape == (len(alone), *alone[0].shape[1:])
        if is_of_samples and not _is_alike(np.concatenate(alone), own):
            raise ParameterError(
                f"{type(module).__name__}: the result {name!r} of a sample depends on the samples beside it, "
                "as of a mean over the first axis. Compile a function on arrays of all samples"
            )


def _is_alike(own: Any, wanted: Any) -> bool:
    """Whether results are equal but for roundings."""
    room = _ALIKE * float(np.nan_to_num(np.abs(wanted)).max(initial=0.0))
    return np.shape(own) == wanted.shape and np.allclose(own, wanted, rtol=0, atol=room, equal_nan=True)


def _results(torch: Any, module: Any, rows: Sequence[Any]) -> list[Any]:
    """The results of a module, in the order in which an export has them."""
    with torch.no_grad():
        found = module(*(torch.as_tensor(row) for row in rows))
    return [each.double().numpy() for each in _tensors(torch, found)]


def _tensors(torch: Any, result: Any) -> list[Any]:
    """The tensors of a module's result, in the order in which an export has them."""
    if isinstance(result, torch.Tensor):
        return [result]
    listed = result.values() if isinstance(result, Mapping) else result
    return [] if result is None else [each for own in listed for each in _tensors(torch, own)]


def _rows(inputs: Sequence[Any], calibrate: Any, shapes: Sequence[tuple[int, ...]]) -> list[Any]:
    """Some samples of each input: of those that are given, or drawn from its range. One alone may be 0, or
    have equal elements, of which other functions make the same."""
    if calibrate is not None:
        samples = calibrate if isinstance(calibrate, (list, tuple)) else [calibrate]
        last = max(0, min(map(len, samples)) - 1)
        places = np.unique(np.linspace(0, last, _COMPARED).astype(int))
        return [np.asarray(each, np.float32)[places] for each in samples]
    random, found = np.random.default_rng(0), []
    for given, shape in zip(inputs, shapes, strict=True):
        low, high = getattr(given, "range", None) or (0.0, 1.0)
        drawn, step = random.uniform(low, high, (_COMPARED, *shape)), getattr(given, "step", None)
        found.append((drawn if step is None else np.rint(drawn / step) * step).astype(np.float32))
    return found


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ParameterError(
            f"modules of PyTorch need the package {name}: {how_to_install('torch')}"
        ) from error


def _shapes(inputs: Sequence[Any], calibrate: Any) -> list[tuple[int, ...]]:
    """The shape of one sample of each input."""
    if inputs:
        return [shape_of(each) for each in inputs]
    if calibrate is None:
        raise ParameterError("a module needs the shapes of its inputs: give calibrate=, or examples")
    samples = calibrate if isinstance(calibrate, (list, tuple)) else [calibrate]
    return [np.shape(each)[1:] for each in samples]
