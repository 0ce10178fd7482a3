"""Who reads what `compile` is given, where that is no function."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from hemera.compiler.eager import compile_arrays, is_of_arrays
from hemera.compiler.tables import TableSpec, compile_table
from hemera.exporting.estimators import TREE_LIBRARIES

__all__ = ["reader_of"]


def reader_of(what: Any, *inputs: Any) -> Callable[..., Any] | None:
    """The function that compiles arrays, functions on tables, a file or an object of another library, called
    as `compile`; None: there is none.

    Libraries are told by the module of the object's class, and never imported for it.

    Raises:
        TypeError: for boosted trees of other libraries than scikit-learn, with the way out.
    """
    if is_of_arrays(what):
        return compile_arrays
    if any(isinstance(each, TableSpec) for each in inputs):
        return compile_table
    library = type(what).__module__.partition(".")[0]
    if library == "sklearn":
        from hemera.compiler.estimators import compile_fitted

        return compile_fitted
    if library == "onnx" or isinstance(what, (str, os.PathLike, bytes, bytearray, memoryview)):
        from hemera.compiler.networks import compile_onnx

        return compile_onnx
    if any(each.__module__ == "torch.nn.modules.module" for each in type(what).__mro__):
        from hemera.compiler.networks import compile_module

        return compile_module
    if library in TREE_LIBRARIES:
        raise TypeError(
            f"{type(what).__name__} of {library} is not compiled to CKKS, where comparisons are not exact: "
            "hm.serving.export_trees(model, name=..., calibrate=rows) packages boosted trees exactly, in BFV"
        )
    return None
