"""Statistics of columns (`hemera.compiler.tables.columns`): what is computed encrypted, and what clients make
of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np

from hemera.arrays import Array
from hemera.compiler.tables.results import Groups, Result
from hemera.compiler.tables.weights import Weight, joined

__all__ = ["STATISTICS", "Statistics", "require_numbers"]


class Statistics(ABC):
    """The base of columns and groups, which have statistics by name. Those of columns are encrypted numbers,
    where clients finish nothing."""

    @abstractmethod
    def _statistic(self, name: str, ddof: int = 1) -> Any:
        """The statistic of this name."""

    def sum(self) -> Any:
        """The sum."""
        return self._statistic("sum")

    def count(self) -> Any:
        """How many values there are."""
        return self._statistic("count")

    def mean(self) -> Any:
        """The mean; NaN without values. Of a column with a public count it is an encrypted number."""
        return self._statistic("mean")

    def var(self, ddof: int = 1) -> Any:
        """The variance, with the divisor n - ddof."""
        return self._statistic("var", ddof)

    def std(self, ddof: int = 1) -> Any:
        """The root of `var`: a `Result`."""
        return self._statistic("std", ddof)


def require_numbers(column: Any) -> Any:
    """TypeError for a column that has no sums."""
    if column.categories or getattr(column.values, "dtype", np.dtype(float)).kind not in "biuf":
        raise TypeError(f"column {column.name!r} holds categories, which have no sums; count them by masks")
    return column


def _counted(column: Any) -> Weight:
    """True for values that count."""
    return joined(column.weight, column.present)


def _weighted(column: Any, values: Any, *, is_zeroed: bool) -> Any:
    """Values of the rows, 0 where they do not count."""
    weight = column.weight if is_zeroed else _counted(column)
    return values if weight is None else values * weight


def _total(values: Any, groups: Groups | None) -> Any:
    """Sums over rows: of all, or of each group."""
    return values.sum() if groups is None else groups.members @ values


def _count(column: Any, weights: Weight, groups: Groups | None) -> Any:
    return _total(np.ones(column.rows) if weights is None else weights, groups)


def _result(
    column: Any, name: str, groups: Groups | None, finish: Any, kind: type = float, **parts: Any
) -> Result:
    """A statistic of parts; those that are public are no output of the program."""
    encrypted = {key: value for key, value in parts.items() if isinstance(value, Array)}
    title = f"{column.name or 'values'}.{name}"
    return Result(title, encrypted, lambda found: finish(**{**parts, **found}), groups, kind)


def _sum(column: Any, groups: Groups | None, _: int) -> Any:
    own = require_numbers(column)
    total = _total(_weighted(own, own.values, is_zeroed=own.is_zeroed), groups)
    return total if groups is None else _result(own, "sum", groups, lambda s: s, s=total)


def _count_of(column: Any, groups: Groups | None, _: int) -> Any:
    return _result(column, "count", groups, lambda n: n, int, n=_count(column, _counted(column), groups))


def _size(column: Any, groups: Groups | None, _: int) -> Any:
    return _result(column, "size", groups, lambda n: n, int, n=_count(column, column.weight, groups))


def _mean(column: Any, groups: Groups | None, _: int) -> Any:
    own = require_numbers(column)
    total = _total(_weighted(own, own.values, is_zeroed=own.is_zeroed), groups)
    count = _count(own, _counted(own), groups)
    if groups is None and not isinstance(count, Array) and count > 0:
        return total * (1 / count)
    return _result(own, "mean", groups, _quotient, s=total, n=count)


def _quotient(s: Any, n: Any) -> Any:
    count = np.rint(n)
    return np.where(count > 0, s / np.where(count > 0, count, 1), np.nan)


def _var(column: Any, groups: Groups | None, ddof: int) -> Any:
    """Variances by sums of values and of their squares, around the middle of their range, and counts."""
    own, weights = require_numbers(column), _counted(column)
    values, middle = own.values, 0.0
    if isinstance(values, Array):
        if groups is None and weights is None:
            return values.var(ddof=ddof)
        middle = sum(values.range) / 2
    centred = _weighted(own, values - middle, is_zeroed=own.is_zeroed and middle == 0)
    squares = centred * (values - middle if isinstance(weights, Array) else centred)
    parts = {"s": _total(centred, groups), "q": _total(squares, groups), "n": _count(own, weights, groups)}
    return _result(own, "var", groups, lambda s, q, n: _variance(s, q, n, ddof), **parts)


def _variance(s: Any, q: Any, n: Any, ddof: int) -> Any:
    count = np.rint(n)
    fits = count > ddof
    spread = (q - s * s / np.where(count > 0, count, 1)) / np.where(fits, count - ddof, 1)
    return np.where(fits, np.maximum(spread, 0), np.nan)


def _std(column: Any, groups: Groups | None, ddof: int) -> Any:
    found = _var(column, groups, ddof)
    if isinstance(found, Array):
        found = _result(column, "std", None, lambda v: np.maximum(v, 0), v=found)
    name, _, _ = found.name.rpartition(".")
    return replace(found, name=f"{name}.std", finish=lambda parts: np.sqrt(found.finish(parts)))


STATISTICS = {
    "sum": _sum,
    "count": _count_of,
    "size": _size,
    "mean": _mean,
    "var": _var,
    "std": _std,
}
"""Statistics of a column by name, with the groups (None: all rows) and the degrees of freedom."""
