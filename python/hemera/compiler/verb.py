"""`compile`: of functions, and of what `hemera.compiler.readers` know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from hemera.compiler import compiled
from hemera.compiler.compiled import Compiled
from hemera.compiler.readers import reader_of

__all__ = ["compile"]


@overload
def compile(what: Callable[..., Any], *inputs: Any, **options: Any) -> Compiled: ...  # noqa: A001


@overload
def compile(what: Any, *inputs: Any, **options: Any) -> Any: ...  # noqa: A001


def compile(what: Any, *inputs: Any, **options: Any) -> Any:  # noqa: A001
    """Compile a function on arrays or on a table, a fitted estimator of scikit-learn, or a network of PyTorch
    or of an ONNX file, into an encrypted program.

        plan = hm.compile(study, hm.ArraySpec((1000,), range=(0, 120)))
        model = hm.compile(make_pipeline(StandardScaler(), PCA(16), SVC()).fit(X, y), calibrate=X)
        model.local().predict(X_test)
        network = hm.compile("network.onnx", calibrate=images)  # or a torch.nn.Module

    Args:
        what: a function (`hemera.compiler.compiled.compile` has its options), arrays of `hemera.array`, a
            fitted estimator (`hemera.compiler.estimators.compile_estimator`, of boosted trees
            `compile_trees`; both are in docs/compile-estimators.md), a `torch.nn.Module`, or the path, the
            bytes or the `onnx.ModelProto` of a network (`hemera.compiler.networks`,
            docs/compile-networks.md).
        inputs: of functions: for each argument an `ArraySpec`, or an array as an example of the shape; or a
            `TableSpec` (docs/tables.md).
        options: `calibrate=`, `precision_bits=`, `margin=`, `params=`, `security=`, `share=`,
            `shares=`, `name=`, `description=`; of estimators also `rows=`; of functions and networks also
            `samples=`; of functions also `layout=`, and `scheme=`, "bfv" or "bgv" for exact programs on whole
            numbers.

    Returns:
        A `Compiled`; of estimators a `CompiledEstimator`, of boosted trees a `CompiledTrees`, of functions on
        tables a `CompiledTable`.

    Raises:
        TypeError: for what is neither; for a function that depends on values; for an estimator that is not
            compiled, with the way out.
        ParameterError, MismatchError, LevelError: as the two functions say.

    Examples:
        >>> plan = hm.compile(lambda x: x @ np.eye(3)[::-1], hm.ArraySpec((3,), range=(0, 10)))
        >>> plan.local()([1.0, 2.0, 3.0]).round(2).tolist()
        [3.0, 2.0, 1.0]
    """
    reader = reader_of(what, *inputs)
    return (compiled.compile if reader is None else reader)(what, *inputs, **options)
