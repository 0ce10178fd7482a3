"""Columns of tables in a program: arithmetic, masks and statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from hemera.arrays.recorded import DTYPES, Kind, kind_of
from hemera.compiler.tables.missing import NO_COLUMN, missing
from hemera.compiler.tables.results import Result
from hemera.compiler.tables.statistics import STATISTICS, Statistics, require_numbers
from hemera.compiler.tables.weights import Weight, as_truths, joined, length
from hemera.errors import MismatchError, ParameterError
from hemera.inputs.operators import COMPARISONS, Operators

__all__ = ["Column"]

_OF_MASKS = (np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert)
_OF_TRUTHS = dict(
    zip((np.logical_and, np.logical_or, np.logical_xor, np.logical_not), _OF_MASKS, strict=True)
)
_SKIPPING = (np.fmax, np.fmin)
"""Functions that leave a missing value out, and take the other one."""


@dataclass(eq=False, repr=False)
class Column(Operators, Statistics):
    """A column, or what is computed of columns of one table, row by row.

    It has the operators of NumPy's arrays, and NumPy's functions of single elements take it. Comparisons give
    masks, by which tables are filtered. Missing values stay missing, and are left out of statistics, as
    pandas does; a comparison with one is false.
    """

    _instead: ClassVar[Mapping[str, str]] = {}
    _otherwise: ClassVar[str] = NO_COLUMN

    values: Any
    """The rows' values, an `Array` or plain; 0, or anything, where they are missing or filtered out."""
    name: str = ""
    present: Weight = None
    """Where no value is missing."""
    weight: Weight = None
    """Which rows filters leave."""
    is_zeroed: bool = True
    """Whether values are 0 where they are missing."""
    categories: Sequence[Any] = ()
    is_of_table: bool = False
    """Whether the table has the same values, which operators in place would change in pandas."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """bool of truth values, else the type of numbers."""
        return DTYPES[self._kind]

    @property
    def rows(self) -> int:
        """The rows of the whole table, filtered or not."""
        return len(self.values)

    @property
    def _kind(self) -> Kind:
        return kind_of(self.values)

    def __len__(self) -> int:
        return length(self.rows, self.weight)

    def __repr__(self) -> str:
        return f"<column {self.name!r} of {self.rows} rows{'' if self.weight is None else ', filtered'}>"

    def __getattr__(self, name: str) -> Any:
        raise missing("a column", name, self)

    # --- Row by row. ---

    abs = Operators.__abs__

    def _applied(self, ufunc: np.ufunc, *inputs: Any) -> Column:
        ufunc = _OF_TRUTHS.get(ufunc, ufunc)
        if ufunc is np.negative and self._kind == "b":
            ufunc = np.invert  # the opposite of truth values, as pandas has it
        if ufunc in COMPARISONS:
            return _compared(ufunc, *inputs)
        if ufunc in _OF_MASKS:
            return _of_masks(ufunc, *inputs)
        if ufunc in (np.power, np.float_power):
            return _power(*inputs)
        if ufunc is np.positive:
            return _computed(lambda x: x, self, keeps_zero=True)  # also of truth values
        if ufunc is np.divide and isinstance(inputs[1], (int, float)) and not isinstance(inputs[1], bool):
            ufunc, inputs = np.multiply, (self, 1 / inputs[1])
        # With absolute values, an approximation, 0 does not stay.
        return _computed(ufunc, *inputs, keeps_zero=ufunc in (np.negative, np.multiply))

    def astype(self, dtype: Any) -> Column:
        """The column as of another type: truth values as 0 and 1. See `Array.astype` for errors."""
        wanted = np.dtype(dtype)
        if self.present is not None and wanted.kind != "f":
            raise TypeError(f"column {self.name!r}: missing values can not be of {wanted}; fillna first")
        return _computed(lambda x: x.astype(wanted), self, keeps_zero=True)

    def fillna(self, value: Any) -> Column:
        """The column with a value in place of missing ones: a number, a truth value or a category of it."""
        if self.present is None:
            return self
        if self.categories:
            value = self._code(value)
        elif (self._kind == "b") != isinstance(value, (bool, np.bool_)):
            raise TypeError(f"column {self.name!r} of {self.dtype} is filled with such values, not {value!r}")
        present = self.present
        if self._kind == "b":
            filled = joined(self.values, present)
            filled = filled | ~present if value else filled
        else:
            own = self.values if self.is_zeroed else self.values * present
            filled = own if value == 0 else own + (1 - present) * value
        return replace(self, values=filled, present=None, is_zeroed=True, is_of_table=False)

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
            "columns do not change in place: mask * a + ~mask * b selects row by row, and "
            "t.assign(name=column) has it in a table"
        )

    # --- Masks: truth values, none of them missing. ---

    def _code(self, value: Any) -> float:
        """The number of a category. ParameterError for one that the column has not."""
        if value not in self.categories:
            raise ParameterError(
                f"column {self.name!r} has no category {value!r}; it has "
                f"{', '.join(map(repr, self.categories))}"
            )
        return float(self.categories.index(value))

    def between(self, left: Any, right: Any, inclusive: str = "both") -> Column:
        """Whether values are from `left` to `right`; `inclusive`: "both" of the ends, "left", "right" or
        "neither" one."""
        if inclusive not in ("both", "left", "right", "neither"):
            raise ParameterError(f"inclusive is 'both', 'left', 'right' or 'neither', not {inclusive!r}")
        above: Column = self >= left if inclusive in ("both", "left") else self > left
        below = self <= right if inclusive in ("both", "right") else self < right
        found: Column = above & below
        return found

    def isin(self, values: Sequence[Any]) -> Column:
        """Whether values are among these. None and NaN stand for missing ones."""
        listed = list(values)
        if not listed:
            raise ParameterError("isin needs a value")
        known = [each for each in listed if not (each is None or each != each)]
        if self.categories:
            known = [self._code(each) for each in known]
        found = self._of_truths(np.isin(self.values, known), self.present) if known else None
        if len(known) < len(listed):
            found = self.isna() if found is None else found | self.isna()
        assert found is not None
        return found

    def isna(self) -> Column:
        """Whether values are missing."""
        return ~self.notna()

    def notna(self) -> Column:
        """Whether values are there."""
        return self._of_truths(np.ones(self.rows, np.bool_), self.present)

    def _of_truths(self, truths: Any, present: Weight) -> Column:
        """Truth values of the rows, false where a value is missing."""
        return Column(joined(truths, present), name=self.name, weight=self.weight)

    def __bool__(self) -> bool:
        raise TypeError(
            "its values are encrypted when the program runs, so a program can not depend on them: filter by "
            "t[mask], and combine masks by & and |"
        )

    def __iter__(self) -> Any:
        raise TypeError("the values of a column are encrypted: loops over rows have none of them")

    # --- Statistics. ---

    def _statistic(self, name: str, ddof: int = 1) -> Any:
        return STATISTICS[name](self, None, ddof)


def _operands(*operands: Any) -> tuple[list[Any], Column, Weight]:
    """The rows' values of operands, of which one at least is a column; the first column, and where no value
    is missing.

    Raises:
        TypeError: for statistics that clients finish.
        MismatchError: for columns of tables with different filters, and arrays of other rows.
    """
    columns = [each for each in operands if isinstance(each, Column)]
    first, present = columns[0], None
    for each in columns:
        if each.weight is not first.weight or each.rows != first.rows:
            raise MismatchError(
                f"columns {first.name!r} and {each.name!r} come from tables with different filters; filter "
                "after computing"
            )
        present = joined(present, each.present)
    values = []
    for each in operands:
        if isinstance(each, Result):
            each._no_arithmetic()
        own = each.values if isinstance(each, Column) else each
        if np.ndim(own) and np.shape(own) != (first.rows,):
            raise MismatchError(
                f"a column of {first.rows} rows and values of shape {np.shape(own)} do not fit"
            )
        values.append(own)
    return values, first, present


def _computed(function: Any, *operands: Any, keeps_zero: bool = False) -> Column:
    """A function of single elements, row by row."""
    for each in operands:
        if isinstance(each, Column) and each.categories:
            raise TypeError(f"column {each.name!r} holds categories: compare it, or make it a key")
    values, first, present = _operands(*operands)
    columns = [each for each in operands if isinstance(each, Column)]
    if any(kind_of(each) == "b" and each.present is not None for each in columns):
        raise TypeError(
            f"column {first.name!r} of truth values, some of them missing, has no arithmetic: fillna(False) "
            "or fillna(True) has, and comparisons with True and False"
        )
    if present is not None and function in _SKIPPING:
        raise TypeError(
            f"np.{function.__name__} takes what is not missing of two: fillna first, or np.maximum"
        )
    keeps_zero = keeps_zero and all(each.is_zeroed for each in columns)
    found = function(*values)
    return Column(found, name=first.name, present=present, weight=first.weight, is_zeroed=keeps_zero)


def _power(x: Any, exponent: Any) -> Column:
    """x ** exponent. As of pandas, x ** 0 and 1 ** x are 1 for missing values too."""
    plain = [not isinstance(each, Column) and np.ndim(each) == 0 for each in (x, exponent)]
    if (plain[0] and x == 1) or (plain[1] and exponent == 0):
        own = require_numbers(x if isinstance(x, Column) else exponent)
        return Column(np.ones(own.rows), name=own.name, weight=own.weight)
    keeps_zero = plain[1] and exponent > 0
    return _computed(lambda a, b: a**b, x, exponent, keeps_zero=keeps_zero)


def _compared(function: np.ufunc, x: Any, y: Any) -> Column:
    """A comparison, row by row: false where a value is missing, and true of !=."""
    if function is np.not_equal:
        return ~_compared(np.equal, x, y)
    coded = [each for each in (x, y) if isinstance(each, Column) and each.categories]
    if coded:
        if function is not np.equal:
            raise TypeError(f"column {coded[0].name!r} holds categories: == and != compare them")
        if len({each.categories for each in coded}) > 1:
            raise TypeError(f"columns {coded[0].name!r} and {coded[1].name!r} have different categories")
        x, y = (each if isinstance(each, Column) else coded[0]._code(each) for each in (x, y))
        if len(coded) == 1 and all(isinstance(each, Column) for each in (x, y)):
            raise TypeError(f"column {coded[0].name!r} holds categories, and the other one numbers")
    values, first, present = _operands(x, y)
    return first._of_truths(as_truths(function(*values)), present)


def _of_masks(function: np.ufunc, *operands: Any) -> Column:
    """&, |, ^ and ~ of masks. TypeError for other columns and values."""
    for each in operands:
        is_column = isinstance(each, Column)
        if kind_of(each) != "b" or (is_column and (each.categories or each.present is not None)):
            what = f"column {each.name!r}" if is_column else repr(each)
            raise TypeError(f"&, |, ^ and ~ take masks, which comparisons of columns give, and not {what}")
    values, first, _ = _operands(*operands)
    return Column(function(*values), name=first.name, weight=first.weight)
