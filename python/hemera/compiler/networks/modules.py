"""Compiles modules of PyTorch, by its own export to ONNX."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from hemera._extras import how_to_install
from hemera.compiler.compiled import Compiled
from hemera.compiler.networks.reader import compile_onnx
from hemera.compiler.specs import shape_of
from hemera.errors import ParameterError

__all__ = ["compile_module"]


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
            that can not be exported; and as `compile_onnx`.
    """
    torch, _ = (_library(name) for name in ("torch", "onnxscript"))
    modes = [(each, each.training) for each in what.modules()]
    examples = tuple(torch.zeros((1, *shape)) for shape in _shapes(inputs, calibrate))
    try:
        exported = torch.onnx.export(what.eval(), examples, dynamo=True, verbose=False).model_proto
    except torch.onnx.errors.OnnxExporterError as error:
        raise ParameterError(f"{type(what).__name__} can not be exported to ONNX: {error}") from error
    finally:
        for each, mode in modes:
            each.training = mode
    options.setdefault("name", type(what).__name__)
    return compile_onnx(exported, *inputs, calibrate=calibrate, **options)


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
