"""`compile`: of functions, and of all that others read: arrays, tables, estimators, files, networks."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from types import FunctionType
from typing import TYPE_CHECKING, Any, Protocol, overload

from numpy.typing import ArrayLike

from hemera import _core
from hemera.compiler import compiling
from hemera.compiler.attempts import telling
from hemera.compiler.compiled import Compiled
from hemera.compiler.eager import EagerArray, compile_arrays, is_of_arrays
from hemera.compiler.options import LayoutName
from hemera.compiler.specs import ArraySpec
from hemera.compiler.tables import TableSpec, compile_table
from hemera.compiler.tables.compiled import CompiledTable
from hemera.compiler.ways_out import compile_with_ways_out
from hemera.exporting.estimators import TREE_LIBRARIES
from hemera.exporting.linear import LinearModel
from hemera.inputs.arguments import Progress
from hemera.parameters import Parameters
from hemera.trees.ensemble import Ensemble

if TYPE_CHECKING:
    from hemera.compiler.estimators.compiled import CompiledEstimator
    from hemera.compiler.estimators.trees import CompiledTrees


class _Frame(Protocol):
    """A table of pandas, Polars or Arrow."""

    @property
    def columns(self) -> Any: ...


class _Network(Protocol):
    """An `onnx.ModelProto`."""

    @property
    def graph(self) -> Any: ...

    @property
    def opset_import(self) -> Any: ...


class _Estimator(Protocol):
    """An estimator of scikit-learn, or one with the same methods."""

    def get_params(self, deep: bool = ...) -> Any: ...


# Only where samples are arrays, so that a type checker knows a function on arrays by them.
@overload
def compile(  # noqa: A001
    what: Callable[..., Any],
    *inputs: ArraySpec | ArrayLike,
    calibrate: ArrayLike | Sequence[ArrayLike] | None = None,
    scheme: str = "ckks",
    precision_bits: float | None = None,
    margin: float | None = None,
    samples: int = 1,
    layout: LayoutName = "auto",
    params: Parameters | None = None,
    openings: _core.Openings | None = None,
    security: int | None = 128,
    device: str | None = None,
    share: bool = False,
    shares: int | None = None,
    watch: bool = True,
    scales: bool = True,
    upload_limit: int | None = None,
    name: str | None = None,
    description: str = "",
    progress: Progress = None,
) -> Compiled: ...


@overload
def compile(  # noqa: A001
    what: Callable[..., Any],
    *inputs: TableSpec,
    calibrate: _Frame | Mapping[str, Any] | Sequence[_Frame | Mapping[str, Any]] | None = None,
    **options: Any,
) -> CompiledTable: ...


@overload
def compile(  # noqa: A001
    what: EagerArray | Sequence[EagerArray] | Mapping[str, EagerArray], **options: Any
) -> Compiled: ...


@overload
def compile(  # noqa: A001
    what: str | os.PathLike[str] | bytes | bytearray | memoryview | _Network, *inputs: Any, **options: Any
) -> Compiled: ...


@overload
def compile(what: LinearModel, **options: Any) -> CompiledEstimator: ...  # noqa: A001


@overload
def compile(what: Ensemble, **options: Any) -> CompiledTrees: ...  # noqa: A001


@overload
def compile(what: _Estimator, **options: Any) -> CompiledEstimator | CompiledTrees: ...  # noqa: A001


def compile(what: Any, *inputs: Any, progress: Progress = None, **options: Any) -> Any:  # noqa: A001
    """Compile a function on arrays or on a table, a fitted estimator of scikit-learn, or a network of PyTorch
    or of an ONNX file, into an encrypted program.

        plan = hm.compile(study, hm.ArraySpec((1000,), range=(0, 120)))
        model = hm.compile(make_pipeline(StandardScaler(), PCA(16), SVC()).fit(X, y), calibrate=X)
        model.local().predict(X_test)
        network = hm.compile("network.onnx", calibrate=images)  # or a torch.nn.Module

    A function is called once with an encrypted array for each input, which has the operators and methods of
    NumPy's arrays, and NumPy's functions take it. It can not depend on values. Layouts in slots, diagonals,
    rotations, levels and parameters are chosen.

    Args:
        what: a function (`hemera.compiler.options.Options` has its options), arrays of `hemera.array`, a
            fitted estimator (`hemera.compiler.estimators.compile_estimator`, of boosted trees
            `compile_trees`; both are in docs/compile-estimators.md), a `hemera.serving.LinearModel`, a
            `torch.nn.Module`, or the path, the bytes or the `onnx.ModelProto` of a network
            (`hemera.compiler.networks`, docs/compile-networks.md).
        inputs: of functions: for each argument an `ArraySpec`, or an array as an example of the shape; or a
            `TableSpec` (docs/tables.md).
        options: `calibrate=`, `precision_bits=`, `margin=`, `params=`, `security=`, `share=`,
            `shares=`, `watch=`, `name=`, `description=`; of estimators also `clip=`, `method=` and `rows=`,
            of boosted trees `quantiser=` and `samples=`; of functions and networks also `samples=` and
            `scales=`; of functions also `layout=`, and `scheme=`, "bfv" or "bgv" for exact programs on whole
            numbers, with `openings=` for those of a group; of CKKS also `upload_limit=`.
        progress: called with a stage ("trace"; "lower" for each layout that is tried; "package"), the steps
            that are done and the number of all. An exception that it raises ends the compilation.

    Returns:
        A `Compiled`; of estimators a `CompiledEstimator`, of boosted trees a `CompiledTrees`, of functions on
        tables a `CompiledTable`.

    Raises:
        TypeError: for what is neither; for a function that depends on values, or calls what encrypted arrays
            have not; for another option; for an estimator that is not compiled, with the way out.
        ParameterError: when a range is missing or no approximation has the precision; when an array would
            take more than 4,096 ciphertexts; where keys take more than `upload_limit`, with the fewest bytes
            that are found; with `share`, when the given parameters lack the room, by the bits that the
            message names, or none have it without bootstraps; with "bfv" and "bgv", for fractions, divisions
            and approximations, with the line of the function, and for too large results and look-ups.
        PrecisionError: a ParameterError, when a result can not have its bits: with those that it can have,
            and the line that costs most.
        MismatchError: when shapes do not fit.
        LevelError: when the given parameters have too few levels.
        RangeError: when results do not fit the given parameters.
        NoiseError: with "bfv" and "bgv": when the given parameters leave no noise budget, or an operation
            takes more than their bootstraps leave.

    Examples:
        >>> plan = hm.compile(lambda x: x @ np.eye(3)[::-1], hm.ArraySpec((3,), range=(0, 10)))
        >>> plan.local()([1.0, 2.0, 3.0]).round(2).tolist()
        [3.0, 2.0, 1.0]
    """
    reader = _reader_of(what, *inputs) or compiling.compile
    with telling(progress) if progress else nullcontext():
        return compile_with_ways_out(reader, what, *inputs, **options)


def _reader_of(what: Any, *inputs: Any) -> Callable[..., Any] | None:
    """The function that compiles arrays, functions on tables, a file or an object of another library, called
    as `compile`; None: there is none.

    Libraries are recognized by the module of the object's class, and never imported for it.
    """
    if [each for each in inputs if isinstance(each, TableSpec)]:
        return compile_table
    if isinstance(what, FunctionType):
        return None
    if is_of_arrays(what):
        return compile_arrays
    library = type(what).__module__.partition(".")[0]
    is_json = isinstance(what, (str, os.PathLike)) and str(what).endswith(".json")
    if library in ("sklearn", *TREE_LIBRARIES) or is_json or isinstance(what, (Ensemble, LinearModel)):
        from hemera.compiler.estimators import compile_fitted

        return compile_fitted
    if library == "onnx" or isinstance(what, (str, os.PathLike, bytes, bytearray, memoryview)):
        from hemera.compiler.networks import compile_onnx

        return compile_onnx
    if any(each.__module__ == "torch.nn.modules.module" for each in type(what).__mro__):
        from hemera.compiler.networks import compile_module

        return compile_module
    return None
