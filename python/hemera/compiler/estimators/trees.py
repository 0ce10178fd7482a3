"""Boosted trees: by the packaged model of BFV, whose comparisons are exact."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera import bfv
from hemera.compiler.packaged import Local, Packaged
from hemera.errors import ParameterError
from hemera.exporting.estimators import is_exactly, steps_of
from hemera.exporting.trees import export_trees
from hemera.inputs.arguments import Progress
from hemera.objects.context import Context
from hemera.package.package import Package

__all__ = ["BOOSTED", "CompiledTrees", "LocalTrees", "compile_trees", "is_boosted"]

BOOSTED = (
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
)
"""Names of sklearn.ensemble."""


def is_boosted(what: Any) -> bool:
    """Whether these are boosted trees, alone or in a pipeline after bins."""
    *before, last = steps_of(what) or [None]
    if not any(is_exactly(last, "sklearn.ensemble", name) for name in BOOSTED):
        return False
    return all(is_exactly(step, "sklearn.preprocessing", "KBinsDiscretizer") for step in before)


class LocalTrees:
    """Both parties in this process: `predict` of encrypted rows."""

    def __init__(self, package: Package, *, device: str, threads: int | None, progress: Progress) -> None:
        self._local = Local(package, device=device, threads=threads, progress=progress)

    @property
    def context(self) -> Context:
        """Where it runs."""
        return self._local.context

    def predict(self, rows: Any) -> NDArray[Any]:
        """As of the estimator: labels or values of shape (rows,).

        Raises:
            MismatchError: for rows of other features.
        """
        return np.asarray(self._local(rows))[: len(rows)]

    __call__ = predict


class CompiledTrees(Packaged):
    """Compiled boosted trees: the packaged model of `hemera.serving.export_trees`. `compile` makes one.

    Scores are exact up to the steps of leaves; clients learn the thresholds of all features, or the bins of a
    KBinsDiscretizer before the trees.
    """

    methods = ("predict",)

    def evaluate_clear(self, rows: Any) -> NDArray[Any]:
        """`predict` of rows in the clear, by the compiled program."""
        return np.asarray(self._package.evaluate_clear(rows))[: len(rows)]

    def local(
        self, *, device: str = "cpu", threads: int | None = None, progress: Progress = None
    ) -> LocalTrees:
        """Both parties in this process."""
        return LocalTrees(self._package, device=device, threads=threads, progress=progress)

    def __repr__(self) -> str:
        return f"<CompiledTrees {self._package.name!r}: {self.params!r}>"


def compile_trees(
    what: Any,
    *,
    calibrate: Any = None,
    params: bfv.Parameters | None = None,
    name: str | None = None,
    description: str = "",
    **others: Any,
) -> CompiledTrees:
    """Compile boosted trees.

    Args:
        others: `watch=`, which changes nothing here: trees have nothing to watch.

    Raises:
        ParameterError: for options of programs on real numbers, and as `hemera.serving.export_trees`.
        MismatchError: where results differ from scikit-learn's.
    """
    given = [option for option, value in others.items() if value is not None and option != "watch"]
    if given:
        raise ParameterError(f"trees are exact, and take no {', '.join(given)}")
    return CompiledTrees(
        export_trees(
            what,
            name=name or type(what).__name__,
            description=description,
            calibrate=calibrate,
            parameters="auto" if params is None else params,
        )
    )
