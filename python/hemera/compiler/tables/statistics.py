"""Statistics of columns: what is computed encrypted, and what clients make of it."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from hemera.arrays import Array
from hemera.compiler.tables.results import Groups, Result
from hemera.compiler.tables.weights import Weight

__all__ = ["STATISTICS"]


class Column(Protocol):
    """What statistics take of a column: `hemera.compiler.tables.columns.Column`."""

    _values: Any
    _weight: Weight
    _is_zeroed: bool

    @property
    def _rows(self) -> int: ...

    def _weights(self) -> Weight: ...

    def _weighted(self, values: Any, *, is_zeroed: bool) -> Any: ...

    def _numbers(self) -> Column: ...

    def _title(self, statistic: str) -> str: ...


def _total(values: Any, groups: Groups | None) -> Any:
    """Sums over rows: of all, or of each group."""
    return values.sum() if groups is None else groups.members @ values


def _count(column: Column, groups: Groups | None) -> Any:
    weights = column._weights()
    return _total(np.ones(column._rows) if weights is None else weights, groups)


def _is_encrypted(value: Any) -> bool:
    return isinstance(value, Array)


def _result(
    column: Column, name: str, groups: Groups | None, finish: Any, kind: type = float, **parts: Any
) -> Result:
    """A statistic of parts; those that are public are no output of the program."""
    public = {key: value for key, value in parts.items() if not _is_encrypted(value)}
    encrypted = {key: value for key, value in parts.items() if _is_encrypted(value)}
    return Result(column._title(name), encrypted, lambda found: finish(**{**public, **found}), groups, kind)


def _sum(column: Column, groups: Groups | None, _: int) -> Any:
    own = column._numbers()
    total = _total(own._weighted(own._values, is_zeroed=own._is_zeroed), groups)
    return total if groups is None else _result(own, "sum", groups, lambda s: s, s=total)


def _count_of(column: Column, groups: Groups | None, _: int) -> Any:
    return _result(column, "count", groups, lambda n: n, int, n=_count(column, groups))


def _size(column: Column, groups: Groups | None, _: int) -> Any:
    weight = np.ones(column._rows) if column._weight is None else column._weight
    return _result(column, "size", groups, lambda n: n, int, n=_total(weight, groups))


def _mean(column: Column, groups: Groups | None, _: int) -> Any:
    own = column._numbers()
    total = _total(own._weighted(own._values, is_zeroed=own._is_zeroed), groups)
    count = _count(own, groups)
    if groups is None and not _is_encrypted(count) and count > 0:
        return total * (1 / count)
    return _result(own, "mean", groups, _quotient, s=total, n=count)


def _quotient(s: Any, n: Any) -> Any:
    count = np.rint(n)
    return np.where(count > 0, s / np.where(count > 0, count, 1), np.nan)


def _squares(column: Column, groups: Groups | None) -> dict[str, Any]:
    """Sums of values and of their squares around the middle of their range, and the count."""
    own = column._numbers()
    values = own._values
    middle = 0.0
    if isinstance(values, Array):
        low, high = values.range
        middle = (low + high) / 2
    centred = own._weighted(values - middle, is_zeroed=own._is_zeroed and middle == 0)
    weights = own._weights()
    squares = (
        centred * centred if weights is None or not _is_encrypted(weights) else centred * (values - middle)
    )
    return {"s": _total(centred, groups), "q": _total(squares, groups), "n": _count(own, groups)}


def _variance(s: Any, q: Any, n: Any, ddof: int) -> Any:
    count = np.rint(n)
    fits = count > ddof
    spread = (q - s * s / np.where(count > 0, count, 1)) / np.where(fits, count - ddof, 1)
    return np.where(fits, np.maximum(spread, 0), np.nan)


def _var(column: Column, groups: Groups | None, ddof: int) -> Any:
    own = column._numbers()
    if groups is None and own._weights() is None and isinstance(own._values, Array):
        return own._values.var(ddof=ddof)
    parts = _squares(own, groups)
    return _result(own, "var", groups, lambda s, q, n: _variance(s, q, n, ddof), **parts)


def _std(column: Column, groups: Groups | None, ddof: int) -> Any:
    own = column._numbers()
    if groups is None and own._weights() is None and isinstance(own._values, Array):
        spread = own._values.var(ddof=ddof)
        return _result(own, "std", None, lambda v: np.sqrt(np.maximum(v, 0)), v=spread)
    parts = _squares(own, groups)
    return _result(own, "std", groups, lambda s, q, n: np.sqrt(_variance(s, q, n, ddof)), **parts)


STATISTICS = {
    "sum": _sum,
    "count": _count_of,
    "size": _size,
    "mean": _mean,
    "var": _var,
    "std": _std,
}
"""Statistics of a column by name, with the groups (None: all rows) and the degrees of freedom."""
