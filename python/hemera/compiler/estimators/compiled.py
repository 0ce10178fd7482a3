"""Compiled estimators: rows of a table in, results as scikit-learn has them out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.compiler.agreement import Agreement, agreement
from hemera.compiler.compiled import Compiled
from hemera.compiler.packaged import Local
from hemera.inputs.arguments import Progress
from hemera.package.encodings import Arrays, Table
from hemera.package.package import Package

Results = NDArray[Any]

_AT_ONCE = 8
"""Chunks of rows that are encrypted together."""


class LocalEstimator(Local):
    """Both parties in this process: the estimator's own methods, of encrypted rows.

    It has those of `predict`, `predict_proba`, `predict_log_proba`, `predict_joint_log_proba`,
    `decision_function` and `transform` that the compiled estimator has. Each takes any number of rows, as the
    estimator does (a table of pandas with its columns too), and gives results of its types and shapes. Rows
    beyond the calibrated range are clipped, with a warning.

    Raises:
        MismatchError: for rows of other features.
        ParameterError: for missing or infinite values.
    """

    def __init__(self, arrays: Package, table: Table, **options: Any) -> None:
        super().__init__(arrays, **options)
        self._table = table

    def __call__(self, *inputs: Any) -> Results:
        """The results of the first method."""
        return self._results(None, *inputs)

    def scores(self, rows: Any) -> NDArray[np.float64]:
        """The outputs that clients decrypt, of shape (rows, scores)."""
        chunks = self._table.prepared(rows)
        told = self.tell_outside(chunks, len(rows))
        parts = [self.decrypted(chunks[at : at + _AT_ONCE]) for at in range(0, len(chunks), _AT_ONCE)]
        joined = [np.concatenate(each) for each in zip(*parts, strict=True)]
        with told:
            scores = np.asarray(self._package.interface.decode(joined, len(rows)), np.float64)
        return scores.reshape(-1, scores.shape[-1])[: len(rows)]

    def _results(self, method: str | None, rows: Any) -> Results:
        return self._table.method(method)(self.scores(rows))

    def __getattr__(self, name: str) -> Callable[[Any], Results]:
        table = self.__dict__.get("_table")
        if table is None or name not in table.methods:
            known = "" if table is None else f"; it has {', '.join(table.methods)}"
            raise AttributeError(f"the compiled estimator has no {name}{known}")
        return lambda rows: self._results(name, rows)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._table.methods]


class CompiledEstimator(Compiled):
    """A compiled estimator: a `Compiled` whose clients give rows of a table. `compile_estimator` makes one.

    Its packaged model reads the results of its first method: `predict`, of transformers `transform`.
    """

    def __init__(self, plan: Compiled, table: Table) -> None:
        inner = plan.package
        interface = replace(inner.interface, encoding=table)
        outer = Package(interface, inner.program)
        super().__init__(replace(plan.made, found=replace(plan.made.found, model=outer)))
        encoding = inner.interface.encoding
        assert isinstance(encoding, Arrays)
        self._arrays = inner.with_encoding(replace(encoding, rows=table.rows))
        self._table = table

    @property
    def rows(self) -> int:
        """How many each run takes."""
        return self._table.rows

    @property
    def methods(self) -> tuple[str, ...]:
        """The estimator's methods that it has; clients of a packaged model read the first one's results."""
        return tuple(self._table.methods)

    @property
    def approximation_error(self) -> float:
        """The most that a score may differ from the estimator's own, in the clear and within the calibrated
        ranges: a bound. Encryption adds the noise of the parameters."""
        return max(float(own.max()) for own in self._program.error_bounds())

    def local(self, *, device: str = "cpu", threads: int | None = None, progress: Progress = None) -> Any:
        """Both parties in this process: a `LocalEstimator`."""
        options = {"device": device, "threads": threads, "progress": progress}
        return LocalEstimator(self._arrays, self._table, watch=self._watch, **options)

    def check(self, *samples: Any, encrypted: int = 1, threads: int | None = None) -> Agreement:
        """The scores of the compiled program next to the exact ones.

        Args:
            samples: rows of shape (rows, features).
            encrypted: how many runs of them are encrypted too, in this process.
            threads: of the encrypted runs.

        Raises:
            MismatchError: for rows of other features.
            ParameterError: for missing or infinite values.
        """
        (rows,) = samples
        run = Local(self._arrays, threads=threads) if encrypted else None
        return agreement(self._function, self._program, run, [self._table.prepared(rows)], encrypted)

    def evaluate_clear(self, *inputs: Any, method: str | None = None) -> Any:
        """The results of the compiled program for rows in the clear, approximations and all.

        Args:
            inputs: the rows.
            method: whose results; None: the first of `methods`. ParameterError for one that it has not.
        """
        (rows,) = inputs
        return self._table.method(method)(self.scores(rows))

    def scores(self, rows: Any, *, exact: bool = False) -> NDArray[np.float64]:
        """What clients would decrypt of rows, in the clear: of shape (rows, scores).

        Args:
            rows: of shape (rows, features).
            exact: with exact functions in place of approximations.
        """
        chunks = self._table.prepared(rows)
        if exact:
            flat = chunks.reshape(-1, chunks.shape[-1])
            return np.asarray(self._function(flat), np.float64)[: len(rows)]
        scores = np.asarray(self._arrays.evaluate_clear(chunks, count=len(rows)), np.float64)
        return scores.reshape(-1, scores.shape[-1])[: len(rows)]

    def clear(self, *inputs: Any, method: str | None = None) -> Any:
        """The results with exact functions in place of approximations: see `evaluate_clear`."""
        (rows,) = inputs
        return self._table.method(method)(self.scores(rows, exact=True))
