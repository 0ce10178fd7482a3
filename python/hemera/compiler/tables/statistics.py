"""Statistics of columns (`hemera.compiler.tables.columns`): what is computed encrypted, and what clients make
of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from hemera.arrays import Array
from hemera.arrays.recorded import kind_of, of_kind
from hemera.compiler.tables.results import Groups, Result

Weight = Any
"""None: true everywhere; else truth values for each row, an `Array` or a plain array."""


def joined(a: Weight, b: Weight) -> Weight:
    """Whether two weights are both true."""
    if a is None or b is None:
        return b if a is None else a
    return a if a is b else np.bitwise_and(a, b)


def as_truths(values: Any) -> Any:
    """0 and 1, encrypted or plain, as truth values."""
    return of_kind(values, "b") if isinstance(values, Array) else np.asarray(values).astype(np.bool_)


def length(rows: int, weight: Weight) -> int:
    """How many of the rows are left. TypeError where that is encrypted."""
    if weight is None:
        return rows
    if isinstance(weight, Array):
        raise TypeError(
            "how many rows encrypted filters leave is encrypted: count() of the table, or of a column, is it"
        )
    return int(np.count_nonzero(weight))


def _named(name: str, told: str) -> Callable[[Any], Any]:
    """The method for a statistic."""

    def method(self: Any) -> Any:
        return self._statistic(name)

    method.__name__, method.__qualname__, method.__doc__ = name, name, told
    return method


class Statistics(ABC):
    """The base of columns and groups, which have statistics by name. Those of columns are encrypted numbers,
    where clients finish nothing."""

    @abstractmethod
    def _statistic(self, name: str, ddof: int | None = None) -> Any:
        """The statistic of this name; ddof: None: as the library has it whose values these are."""

    sum = _named("sum", "The sum.")
    count = _named("count", "How many values there are.")
    mean = _named("mean", "The mean; NaN without values. Of a column with a public count it is encrypted.")
    max = _named("max", "The largest value; NaN without values.")
    min = _named("min", "The smallest value; NaN without values.")
    prod = _named("prod", "The product.")
    median = _named("median", "The median, of rows of which none is missing or filtered by encrypted masks.")
    any = _named("any", "Whether a value is not 0.")
    all = _named("all", "Whether no value is 0.")
    nunique = _named("nunique", "How many categories, or truth values, there are.")

    def var(self, ddof: int | None = None) -> Any:
        """The variance, with the divisor n - ddof; None: 1 as of pandas, and 0 of arrays that NumPy gives, as
        `numpy.where` does."""
        return self._statistic("var", ddof)

    def std(self, ddof: int | None = None) -> Any:
        """The root of `var`: a `Result`."""
        return self._statistic("std", ddof)


METHODS: dict[Any, str] = {
    **{np.add: "sum", np.multiply: "prod", np.maximum: "max", np.minimum: "min"},
    **{np.logical_and: "all", np.logical_or: "any", np.amax: "max", np.amin: "min"},
    **{
        getattr(np, name): name
        for name in ("sum", "prod", "max", "min", "all", "any", "mean", "median", "var", "std", "cumsum")
    },
}
"""Methods of columns by functions of NumPy, and by those whose `reduce` they are."""


def of_numpy(name: str, a: Any, axis: Any = None, ddof: int = 0, **others: Any) -> Any:
    """A statistic by a function of NumPy, whose variances have the divisor n - 0.

    Raises:
        TypeError: for other axes than that of the rows, and other options.
    """
    if axis not in (None, 0) or others:
        raise TypeError(f"np.{name} of a column takes no {', '.join(others) or 'axis but 0, of the rows'}")
    if name == "median":  # which is no method of columns that NumPy would call
        a = replace(a, is_array=True)
    return a._statistic(name, ddof) if name in STATISTICS else getattr(a, name)()


def require_numbers(column: Any) -> Any:
    """TypeError for a column that has no sums."""
    if column.categories or getattr(column.elements, "dtype", np.dtype(float)).kind not in "biuf":
        raise TypeError(f"column {column.name!r} holds categories, which have no sums; count them by masks")
    return column


def _counted(column: Any) -> Weight:
    """True for values that count."""
    return joined(column.weight, column.present)


def _weighted(column: Any, values: Any, *, is_zeroed: bool) -> Any:
    """Values of the rows, 0 where they do not count."""
    weight = column.weight if is_zeroed else _counted(column)
    return values if weight is None else values * weight


def zeroed(column: Any) -> Any:
    """The numbers of a column, 0 where they do not count."""
    own = require_numbers(column)
    return _weighted(own, own.elements, is_zeroed=own.is_zeroed)


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
    total = _total(zeroed(column), groups)
    return total if groups is None else _result(column, "sum", groups, lambda s: s, s=total)


def _count_of(column: Any, groups: Groups | None, _: int) -> Any:
    return _result(column, "count", groups, lambda n: n, int, n=_count(column, _counted(column), groups))


def _size(column: Any, groups: Groups | None, _: int) -> Any:
    return _result(column, "size", groups, lambda n: n, int, n=_count(column, column.weight, groups))


def _mean(column: Any, groups: Groups | None, _: int) -> Any:
    total = _total(zeroed(column), groups)
    count = _count(column, _counted(column), groups)
    if groups is None and not isinstance(count, Array) and count > 0:
        return total * (1 / count)
    return _result(column, "mean", groups, _quotient, s=total, n=count)


def _quotient(s: Any, n: Any) -> Any:
    count = np.rint(n)
    return np.where(count > 0, s / np.where(count > 0, count, 1), np.nan)


def _var(column: Any, groups: Groups | None, ddof: int) -> Any:
    """Variances by sums of values and of their squares, around the middle of their range, and counts."""
    own, weights = require_numbers(column), _counted(column)
    values, middle = own.elements, 0.0
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

    def root(parts: Mapping[str, Any]) -> Any:
        return np.sqrt(found.finish(parts))

    return replace(found, name=f"{name}.std", finish=root, is_root=True)


def _by_numpy(name: str, stands_in: Any, kind: type = float) -> Any:
    """The statistic of a function of NumPy.

    Args:
        stands_in: gives the value in place of rows that do not count, of the values; None: see `_of_rows`.
        kind: bool: of whether values are not 0.
    """

    def statistic(column: Any, groups: Groups | None, _: int) -> Any:
        own, counted = require_numbers(column), _counted(column)
        is_truth = kind_of(own.elements) == "b"
        values = own.elements if kind is float or is_truth else np.not_equal(own.elements, 0)
        missing = stands_in and stands_in(values)
        if stands_in and kind_of(values) in "bi":
            missing = bool(np.rint(missing)) if is_truth else int(missing)
        parts = {"m": _of_rows(name, values, counted, missing, groups)}
        if name in ("max", "min") and counted is not None:
            parts["n"] = _count(own, counted, groups)
        elif groups is None:
            return parts["m"]
        is_extreme = is_truth and name in ("max", "min")
        return _result(own, name, groups, _where_any, bool if is_extreme else kind, **parts)

    return statistic


def _where_any(m: Any, n: Any = 1) -> Any:
    some = np.rint(n) > 0
    return m if np.all(some) else np.where(some, m, np.nan)


def _end(side: int) -> Any:
    """An end of the range of values."""
    return lambda values: (values.range if isinstance(values, Array) else (values.min(), values.max()))[side]


def _of_rows(name: str, values: Any, counted: Weight, missing: Any, groups: Groups | None) -> Any:
    """A function of NumPy of the rows that count, of all or of each group.

    Args:
        missing: stands for other rows where these are not public; None: nothing does.
    """
    members = np.ones((1, len(values))) if groups is None else groups.members
    public = counted if isinstance(counted, np.ndarray) else True
    rows: list[Any] = [np.flatnonzero(each * public) for each in members]
    if (counted is not None and counted is not public) or not all(map(len, rows)):
        if missing is None:
            raise TypeError(
                f"{name} is of rows that are public: none is missing, or filtered out by an encrypted mask"
            )
        values = np.where(counted, values, missing)
        rows = [np.flatnonzero(each) for each in members]
    found = [getattr(np, name)(values[each]) for each in rows]
    return found[0] if groups is None else np.stack(found)


def _nunique(column: Any, groups: Groups | None, _: int) -> Any:
    counts = counts_of_values(column, groups)[1]
    return _result(column, "nunique", groups, lambda n: np.count_nonzero(np.rint(n), axis=-1), int, n=counts)


def of_array(column: Any, name: str, statistic: Any) -> Result:
    """A statistic of an array of NumPy, in which missing values are NaN: it is NaN then, and NaN is true."""
    lost = _count(column, column.weight, None) - _count(column, _counted(column), None)
    is_truth, parts = name in ("any", "all"), getattr(statistic, "parts", {"own": statistic})

    def finish(lost: Any, **values: Any) -> Any:
        own = statistic.finish(values) if isinstance(statistic, Result) else values["own"]
        some = np.rint(lost) > 0
        return np.where(some, 1.0 if name == "any" else own, own) if is_truth else np.where(some, np.nan, own)

    return _result(column, name, None, finish, bool if is_truth else float, lost=lost, **parts)


def counts_of_values(column: Any, groups: Groups | None = None) -> tuple[list[Any], Any]:
    """The categories, or truth values, and how often each is there. TypeError for numbers."""
    values, labels = column.elements, list(column.categories)
    if column.is_public and not labels:
        labels, values = (each.tolist() for each in np.unique(values, return_inverse=True))
    elif not labels and kind_of(values) == "b":
        labels, values = [False, True], values * 1
    elif not labels:
        raise TypeError(
            f"column {column.name!r} holds numbers, whose values are not listed: (column == value).sum() "
            "counts one"
        )
    is_each = as_truths(np.reshape(values, (-1, 1)) == np.arange(len(labels)))
    counted = _counted(column)
    if counted is not None:
        is_each = np.bitwise_and(is_each, np.reshape(counted, (-1, 1)))
    return labels, np.sum(is_each, 0) if groups is None else groups.members @ is_each


STATISTICS: dict[str, Callable[[Any, Groups | None, int], Any]] = {
    "sum": _sum,
    "count": _count_of,
    "size": _size,
    "mean": _mean,
    "var": _var,
    "std": _std,
    "max": _by_numpy("max", _end(0)),
    "min": _by_numpy("min", _end(1)),
    "prod": _by_numpy("prod", lambda _: 1),
    "median": _by_numpy("median", None),
    "any": _by_numpy("any", lambda _: False, bool),
    "all": _by_numpy("all", lambda _: True, bool),
    "nunique": _nunique,
}
"""Statistics of a column by name, with the groups (None: all rows) and the degrees of freedom."""
