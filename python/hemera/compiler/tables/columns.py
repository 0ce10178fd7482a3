"""Columns of tables in a program: rows with pandas' methods."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hemera.arrays import Array
from hemera.arrays.recorded import kind_of
from hemera.compiler.tables.frames import refuse_series
from hemera.compiler.tables.functions import RULES, require_mask
from hemera.compiler.tables.missing import missing
from hemera.compiler.tables.results import Groups, Result
from hemera.compiler.tables.rows import Rows, category_of, code_of, computed, operands_of, whole
from hemera.compiler.tables.statistics import (
    STATISTICS,
    Statistics,
    Weight,
    counts_of_values,
    joined,
    of_array,
    zeroed,
)
from hemera.errors import MismatchError, ParameterError
from hemera.inputs.operators import Operators
from hemera.inputs.plain import is_missing

_NUMBERS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
_NAMED = {*_NUMBERS, *(f"r{name}" for name in _NUMBERS), "eq", "ne", "lt", "le", "gt", "ge"}
"""Operators that are methods, too, as of pandas."""


@dataclass(eq=False, repr=False)
class Column(Rows, Statistics):
    """A column, or what is computed of columns of one table, row by row. Comparisons give masks, by which
    tables are filtered; statistics leave missing values and filtered rows out."""

    _rules = RULES

    def __repr__(self) -> str:
        return f"<column {self.name!r} of {self.rows} rows{'' if self.weight is None else ', filtered'}>"

    def __getattr__(self, name: str) -> Any:
        if name in _NAMED:
            return getattr(self, f"__{name}__")
        raise missing("a column", name, self)

    # --- Row by row. ---

    abs, div, rdiv = Operators.__abs__, Operators.__truediv__, Operators.__rtruediv__

    @property
    def values(self) -> Any:
        """The array of a whole column, without missing values or filters. TypeError for others."""
        return whole("values", self)

    def clip(self, lower: Any = None, upper: Any = None) -> Column:
        """As `numpy.clip`."""
        found: Column = self._applied(np.clip, self, lower, upper)
        return found

    def round(self, decimals: int = 0) -> Column:
        """As `numpy.round`, of multiples of a step."""
        found: Column = self._applied(np.round, self, decimals)
        return found

    def where(self, cond: Any, other: Any = None) -> Column:
        """The values where a mask is true; elsewhere others of the column's kind, or none."""
        mask = require_mask(cond)
        if other is not None:
            self._require_kind(other)
            found: Column = self._applied(np.where, mask, self, other)
            return replace(found, name=self.name, is_array=self.is_array)
        kept, public = operands_of(mask, self)[0][0], self.is_public and getattr(mask, "is_public", True)
        return replace(self._with(self.elements, joined(self.present, kept)), is_public=public)

    def mask(self, cond: Any, other: Any = None) -> Column:
        """The values where a mask is false; elsewhere others, or none."""
        return self.where(~require_mask(cond), other)

    def astype(self, dtype: Any) -> Column:
        """The column as of another type: truth values as 0 and 1. See `Array.astype` for errors."""
        wanted = np.dtype(dtype)
        if self.present is not None and wanted.kind != "f":
            raise TypeError(f"column {self.name!r}: missing values can not be of {wanted}; fillna first")
        found: Column = computed(lambda x: x.astype(wanted), self, keeps_zero=True)
        return replace(found, is_nullable=False)

    def fillna(self, value: Any) -> Column:
        """The column with values in place of missing ones: a number, a truth value or a category of it, or
        those of another column."""
        if self.present is None:
            return self
        if self.categories:
            value = code_of(self, category_of(self, value))
        else:
            self._require_kind(value)
        if isinstance(value, (Column, Array)) or np.ndim(value):
            return self._with(self.elements).where(self.notna(), value)
        if self._kind == "b":
            filled = joined(self.elements, self.present)
            filled = filled | ~self.present if value else filled
        else:
            own = self.elements if self.is_zeroed else self.elements * self.present
            filled = own if value == 0 else own + (1 - self.present) * value
        return replace(self, elements=filled, present=None, is_zeroed=True, is_of_table=False)

    def _require_kind(self, value: Any) -> None:
        if (self._kind == "b") != (kind_of(value) == "b"):
            raise TypeError(f"column {self.name!r} of {self.dtype} takes such values, not {value!r}")

    def shift(self, periods: int = 1) -> Column:
        """The values of earlier rows; none of the first ones. TypeError for filtered rows."""
        values, at = whole("shift", self._with(self.elements)), np.arange(self.rows)
        there = (at >= periods) & (at < self.rows + periods)
        kept = None if self.present is None else np.roll(self.present, periods)
        return self._with(np.roll(values, periods), joined(kept, there))

    def diff(self, periods: int = 1) -> Column:
        """The differences to earlier rows: see `shift`."""
        return self - self.shift(periods)

    def quantile(self, q: float = 0.5) -> Any:
        """The quantile between rows, of which none is missing or filtered out."""
        return np.quantile(self, q)

    def cumsum(self) -> Column:
        """The sums of the rows so far, of those that are left and not missing."""
        if self.is_array and self.present is not None:
            raise TypeError("np.cumsum of an array with missing values is NaN from there on: fillna first")
        return self._with(np.cumsum(zeroed(self)), self.present)

    def __getitem__(self, item: Any) -> Column:
        """The rows where a mask is true."""
        return replace(self, weight=joined(self.weight, filter_of(item, self.weight, self.rows)[0]))

    def dropna(self) -> Column:
        """The rows that are not missing."""
        return self[self.notna()]

    def _in_place(self, found: Any, sign: str) -> Column:
        """What `c += x` makes of c, under all its names. TypeError for columns of tables."""
        if found is NotImplemented:
            return found  # type: ignore[no-any-return]
        if self.is_of_table:
            raise TypeError(
                f"{sign}= would change column {self.name!r}: write c = c {sign} x, and "
                "t.assign(name=c) has it in a table"
            )
        vars(self).update(vars(found))
        return self

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError(
            "columns do not change in place: np.where(mask, a, b) selects row by row, and "
            "t.assign(name=column) has it in a table"
        )

    # --- Masks: truth values, none of them missing. ---

    def between(self, left: Any, right: Any, inclusive: str = "both") -> Column:
        """Whether values are from `left` to `right`; `inclusive`: "both" of the ends, "left", "right" or
        "neither" one."""
        if inclusive not in ("both", "left", "right", "neither"):
            raise ParameterError(f"inclusive is 'both', 'left', 'right' or 'neither', not {inclusive!r}")
        above = self >= left if inclusive in ("both", "left") else self > left
        below = self <= right if inclusive in ("both", "right") else self < right
        found: Column = above & below
        return found

    def isin(self, values: Sequence[Any]) -> Column:
        """Whether values are among these. NaN, NA, NaT and None stand for missing ones as pandas takes them
        by the type of the column; None among numbers is refused. TypeError for a text alone."""
        if isinstance(values, (str, bytes)):
            raise TypeError(f"isin takes a list of values, not {values!r}: column == {values!r} is of one")
        listed = list(values)
        known = [each for each in listed if each is not None and not is_missing(each) and each == each]
        lost = [each for each in listed if each is None or is_missing(each) or each != each]
        of_missing = any(map(self._stands_for_missing, lost))
        if self.categories:
            known = [
                code_of(self, each if isinstance(each, str) else category_of(self, each)) for each in known
            ]
        elif not self.is_public:
            if any(each is None for each in listed):
                raise TypeError(f"column {self.name!r}: None is no number; np.nan stands for missing ones")
            known = [each for each in known if isinstance(each, (int, float, np.generic))]
        if not known:
            return self.isna() & of_missing
        found = self._of_truths(np.isin(self.elements, known), self.present)
        return found | self.isna() if of_missing else found

    def _stands_for_missing(self, value: Any) -> bool:
        """Whether a value that is none is a missing one of the column's type."""
        kind = type(value).__name__
        if self.categories:
            is_time = self.order == "values" and isinstance(self.categories[0], datetime.datetime)
            return not is_time or kind == "NaTType"
        return kind == "NAType" if self.is_nullable else isinstance(value, (float, np.floating))

    isnull, notnull = Rows.isna, Rows.notna

    def __bool__(self) -> bool:
        raise TypeError(
            "its values are encrypted when the program runs, so a program can not depend on them: filter by "
            "t[mask], and combine masks by & and |"
        )

    def __iter__(self) -> Any:
        raise TypeError("the values of a column are encrypted: loops over rows have none of them")

    # --- Statistics. ---

    def _statistic(self, name: str, ddof: int | None = None) -> Any:
        own = int(not self.is_array) if ddof is None else ddof
        found = STATISTICS[name](self, None, own)
        return of_array(self, name, found) if self.is_array and self.present is not None else found

    def value_counts(self, normalize: bool = False) -> Result:
        """How often each category, or truth value, is there: the most frequent first, those that are not
        there left out. TypeError for numbers."""
        labels, counts = counts_of_values(self)
        groups = Groups((self.name,), tuple(labels), np.eye(len(labels), dtype=np.int64), self.is_of_pandas)
        parts = {"n": counts} if isinstance(counts, Array) else {}

        def finish(found: Mapping[str, Any]) -> Any:
            n = np.rint(found.get("n", counts))
            return n / (n.sum() or np.nan) if normalize else n

        name = "proportion" if normalize else "count"
        kind = float if normalize else int
        order: Any = "counts" if self.order == "values" else "all counts"
        return Result(f"{name}.value_counts", parts, finish, groups, kind, order=order)


def filter_of(item: Any, weight: Weight, rows: int) -> tuple[Any, bool]:
    """The truth values of a filter for a table whose rows have a weight, and whether they are public.

    Raises:
        TypeError: for what is no mask.
        MismatchError: for a mask of other rows, of a table with other filters, or of pandas.
    """
    if isinstance(item, Column):
        misses = item.present is not None and not item.is_nullable
        if kind_of(item) != "b" or misses or item.categories:
            raise TypeError(
                f"tables are filtered by masks, as comparisons of columns give them: column {item.name!r} is "
                "none, as in pandas"
            )
        if item.weight is not None and item.weight is not weight:
            raise MismatchError(
                "the mask is of a table with other filters, and pandas could not align its rows: make it of "
                "this table, or combine masks by &"
            )
        return joined(item.elements, item.present), item.is_public
    refuse_series(item)
    if not (isinstance(item, np.ndarray) and item.dtype.kind == "b"):
        raise TypeError(f"a column's name, a list of names or a mask is needed, not {type(item).__name__}")
    if item.shape != (rows,):
        raise MismatchError(f"a mask of shape {item.shape}, and the table has {rows} rows")
    return item, True
