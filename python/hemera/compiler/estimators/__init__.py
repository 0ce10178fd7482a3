"""Fitted estimators of scikit-learn as encrypted programs. scikit-learn is imported by estimators alone."""

from typing import Any

from hemera.compiler.estimators.compiled import CompiledEstimator, LocalEstimator
from hemera.compiler.estimators.compiling import compile_estimator
from hemera.compiler.estimators.trees import CompiledTrees, LocalTrees, compile_trees, is_boosted

__all__ = [
    "CompiledEstimator",
    "CompiledTrees",
    "LocalEstimator",
    "LocalTrees",
    "compile_estimator",
    "compile_fitted",
    "compile_trees",
]


def compile_fitted(what: Any, *inputs: Any, **options: Any) -> CompiledEstimator | CompiledTrees:
    """Compile an estimator: boosted trees by `compile_trees`, others by `compile_estimator`."""
    if is_boosted(what) and not inputs:
        return compile_trees(what, **options)
    return compile_estimator(what, *inputs, **options)
