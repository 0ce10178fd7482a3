"""Columns of a table in a program: arithmetic, masks and statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hemera.arrays import Array
from hemera.compiler.tables.results import Groups, Result
from hemera.errors import MismatchError, ParameterError

__all__ = ["STATISTICS", "Column", "joined"]

Weight = Any
"""None: 1 everywhere; else 0 and 1 for each row, an `Array` or a plain array."""


def joined(a: Weight, b: Weight) -> Weight:
    """The product of two weights."""
    if a is None or b is None:
        return b if a is None else a
    if a is b:
        return a
    return a * b


class Column:
    """A column, or what is computed of columns of one table, row by row.

    It has the operators of NumPy's arrays, and NumPy's functions of single elements take it. Comparisons give
    masks, by which tables are filtered. Missing values stay missing, and are left out of statistics, as
    pandas does; a comparison with one is false.
    """

    __hash__ = None  # type: ignore[assignment]
    __pandas_priority__ = 10_000

    def __init__(
        self,
        values: Any,
        *,
        name: str = "",
        present: Weight = None,
        weight: Weight = None,
        is_zeroed: bool = True,
        categories: Sequence[Any] = (),
    ) -> None:
        self._values = values
        self._name = name
        self._present = present
        self._weight = weight
        self._is_zeroed = is_zeroed
        """Whether values are 0 where they are missing."""
        self._categories = tuple(categories)

    @property
    def values(self) -> Any:
        """The rows' values; 0, or anything, where they are missing or filtered out."""
        return self._values

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<column {self._name!r} of {len(self)} rows>"

    # --- Row by row. ---

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            return NotImplemented
        return self._computed(ufunc, *inputs)

    def _computed(self, function: Any, *operands: Any) -> Column:
        present, weight, is_zeroed, name = None, None, False, ""
        given = []
        for each in operands:
            if isinstance(each, Result):
                each._no_arithmetic()
            if isinstance(each, Column):
                if each._categories:
                    raise TypeError(f"column {each._name!r} holds categories: compare it, or make it a key")
                if name and (each._weight is not weight):
                    raise MismatchError(
                        f"columns {name!r} and {each._name!r} come from tables with different filters; "
                        "filter after computing"
                    )
                weight, name = each._weight, name or each._name
                present = joined(present, each._present)
            given.append(each._values if isinstance(each, Column) else each)
        if function is np.multiply:
            is_zeroed = all(not isinstance(each, Column) or each._is_zeroed for each in operands)
        return Column(function(*given), name=name, present=present, weight=weight, is_zeroed=is_zeroed)

    def __add__(self, other: Any) -> Column:
        return self._computed(np.add, self, other)

    def __radd__(self, other: Any) -> Column:
        return self._computed(np.add, other, self)

    def __sub__(self, other: Any) -> Column:
        return self._computed(np.subtract, self, other)

    def __rsub__(self, other: Any) -> Column:
        return self._computed(np.subtract, other, self)

    def __mul__(self, other: Any) -> Column:
        return self._computed(np.multiply, self, other)

    def __rmul__(self, other: Any) -> Column:
        return self._computed(np.multiply, other, self)

    def __truediv__(self, other: Any) -> Column:
        if isinstance(other, (int, float)):
            return self._computed(np.multiply, self, 1 / other)
        return self._computed(np.divide, self, other)

    def __rtruediv__(self, other: Any) -> Column:
        return self._computed(np.divide, other, self)

    def __pow__(self, exponent: int) -> Column:
        found = self._computed(lambda x: x**exponent, self)
        found._is_zeroed = self._is_zeroed and exponent > 0
        return found

    def __neg__(self) -> Column:
        return self * -1

    def __abs__(self) -> Column:
        found = self._computed(np.absolute, self)
        found._is_zeroed = False  # an approximation
        return found

    abs = __abs__

    def fillna(self, value: float) -> Column:
        """The column with a number in place of missing values."""
        if self._present is None:
            return self
        own = self._values if self._is_zeroed else self._values * self._present
        filled = own if value == 0 else own + (1 - self._present) * value
        return Column(filled, name=self._name, weight=self._weight)

    # --- Masks: 0 and 1, without missing values. ---

    def _compared(self, function: Any, other: Any) -> Column:
        if self._categories:
            other = self._code_of(function, other)
        found = self._computed_plain(function, other)
        mask = found._values if isinstance(found._values, Array) else np.asarray(found._values, np.float64)
        return Column(joined(mask, found._present), name=self._name, weight=self._weight)

    def _computed_plain(self, function: Any, other: Any) -> Column:
        plain = Column(
            self._values,
            name=self._name,
            present=self._present,
            weight=self._weight,
            is_zeroed=self._is_zeroed,
        )
        return plain._computed(function, plain, other)

    def _code_of(self, function: Any, other: Any) -> float:
        if function not in (np.equal, np.not_equal):
            raise TypeError(f"column {self._name!r} holds categories: == and != compare them")
        if other not in self._categories:
            raise ParameterError(
                f"column {self._name!r} has no category {other!r}; it has "
                f"{', '.join(map(repr, self._categories))}"
            )
        return float(self._categories.index(other))

    def __eq__(self, other: object) -> Column:  # type: ignore[override]
        return self._compared(np.equal, other)

    def __ne__(self, other: object) -> Column:  # type: ignore[override]
        # As of pandas, a missing value differs from all.
        return ~(self == other)

    def __lt__(self, other: Any) -> Column:
        return self._compared(np.less, other)

    def __le__(self, other: Any) -> Column:
        return self._compared(np.less_equal, other)

    def __gt__(self, other: Any) -> Column:
        return self._compared(np.greater, other)

    def __ge__(self, other: Any) -> Column:
        return self._compared(np.greater_equal, other)

    def between(self, left: Any, right: Any) -> Column:
        """Whether values are from `left` to `right`, both included."""
        found: Column = (self >= left) & (self <= right)
        return found

    def isin(self, values: Sequence[Any]) -> Column:
        """Whether values are among these."""
        masks = [self == each for each in values]
        if not masks:
            raise ParameterError("isin needs a value")
        total: Column = masks[0]
        for each in masks[1:]:
            total = total + each  # at most one of them is 1
        return total

    def isna(self) -> Column:
        """Whether values are missing."""
        return ~self.notna()

    def notna(self) -> Column:
        """Whether values are there."""
        present = np.ones(len(self)) if self._present is None else self._present
        return Column(present, name=self._name, weight=self._weight)

    def __and__(self, other: Column) -> Column:
        return self * other

    def __or__(self, other: Column) -> Column:
        return self + other - self * other

    def __xor__(self, other: Column) -> Column:
        return self + other - 2 * (self * other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self) -> Column:
        return 1 - self

    def __bool__(self) -> bool:
        raise TypeError(
            "its values are encrypted when the program runs, so a program can not depend on them: filter by "
            "t[mask], and combine masks by & and |"
        )

    # --- Statistics. ---

    def sum(self) -> Any:
        """The sum, an encrypted number."""
        return self._statistic("sum", None)

    def count(self) -> Any:
        """How many values there are."""
        return self._statistic("count", None)

    def mean(self) -> Any:
        """The mean: an encrypted number where the count is public, else a `Result`."""
        return self._statistic("mean", None)

    def var(self, ddof: int = 1) -> Any:
        """The variance, with the divisor n - ddof."""
        return self._statistic("var", None, ddof)

    def std(self, ddof: int = 1) -> Any:
        """The root of `var`: a `Result`."""
        return self._statistic("std", None, ddof)

    def _statistic(self, name: str, groups: Groups | None, ddof: int = 1) -> Any:
        return STATISTICS[name](self, groups, ddof)

    def _weights(self) -> Weight:
        """1 for values that count."""
        return joined(self._weight, self._present)

    def _weighted(self, values: Any, *, is_zeroed: bool) -> Any:
        """Values, 0 where they do not count."""
        weight = self._weight if is_zeroed else self._weights()
        return values if weight is None else values * weight

    def _numbers(self) -> Column:
        if self._categories:
            raise TypeError(
                f"column {self._name!r} holds categories, which have no sums; count them by masks"
            )
        return self

    def _title(self, statistic: str) -> str:
        return f"{self._name or 'values'}.{statistic}"


def _total(values: Any, groups: Groups | None) -> Any:
    """Sums over rows: of all, or of each group."""
    return values.sum() if groups is None else groups.members @ values


def _count(column: Column, groups: Groups | None) -> Any:
    weights = column._weights()
    return _total(np.ones(len(column)) if weights is None else weights, groups)


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
    weight = np.ones(len(column)) if column._weight is None else column._weight
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
"""By name, of a column, the groups (None: all rows), and the degrees of freedom."""
