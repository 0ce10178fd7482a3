"""Arrays of a table's rows, some of which are missing or filtered out, with NumPy's protocol."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from hemera.arrays.recorded import DTYPES, Kind, kind_of
from hemera.compiler.tables.frames import refuse_series
from hemera.compiler.tables.missing import NO_COLUMN
from hemera.compiler.tables.results import Result
from hemera.compiler.tables.statistics import METHODS, Weight, joined, length, of_numpy
from hemera.errors import MismatchError, ParameterError
from hemera.inputs.operators import Operators

if TYPE_CHECKING:
    from typing_extensions import Self

R = TypeVar("R", bound="Rows")


@dataclass(eq=False, repr=False)
class Rows(Operators):
    """An array of the rows of a table, some of which are missing or filtered out.

    NumPy's functions of single elements are those of arrays, on the rows' values. Missing values stay
    missing, and comparisons with them are false, but for pandas' NA, as pandas has it. Functions of NumPy
    that bring rows together take whole columns alone.
    """

    _instead: ClassVar[Mapping[str, str]] = {}
    _otherwise: ClassVar[str] = NO_COLUMN
    _holds_arrays = True
    _rules: ClassVar[Mapping[Any, Any]] = {}
    """Functions of NumPy that do not compute row by row, with what they do."""

    elements: Any
    """The rows' values, an `Array` or plain; 0, or anything, where they are missing or filtered out."""
    name: str = ""
    present: Weight = None
    """Where no value is missing."""
    weight: Weight = None
    """Which rows filters leave."""
    is_zeroed: bool = True
    """Whether values are 0 where they are missing."""
    categories: Sequence[Any] = ()
    order: str = "values"
    """The order of categories: see `ColumnSpec`."""
    is_of_table: bool = False
    """Whether the table has the same values, which operators in place would change in pandas."""
    is_public: bool = False
    """Whether the values are part of the program, as keys are. Plain ones need not be: functions run in the
    clear, too."""
    is_of_pandas: bool = False
    """Whether results are given as pandas has them."""
    is_nullable: bool = False
    """Whether missing values are pandas' NA: comparisons with them are missing, too, and not false."""
    is_array: bool = False
    """Whether NumPy gives an array, and no column, as `numpy.where` does: its statistics are NumPy's."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """bool of truth values, else the type of numbers."""
        return DTYPES[self._kind]

    @property
    def rows(self) -> int:
        """The rows of the whole table, filtered or not."""
        return len(self.elements)

    @property
    def _kind(self) -> Kind:
        return kind_of(self.elements)

    def __len__(self) -> int:
        return length(self.rows, self.weight)

    # --- NumPy's protocols. ---

    def _applied(self, ufunc: Any, *operands: Any, **options: Any) -> Any:
        return self._rules.get(ufunc, computed)(ufunc, *operands, **options)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method == "reduce" and ufunc in METHODS:
            if self.present is not None:
                raise TypeError(f"np.{ufunc.__name__}.reduce is missing of missing values: fillna first")
            return of_numpy(METHODS[ufunc], *inputs, **options)
        return super().__array_ufunc__(ufunc, method, *inputs, **options)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        if function in self._rules:
            return self._applied(function, *arguments, **options)
        if function in METHODS:
            return of_numpy(METHODS[function], *arguments, **options)
        named = {name: whole(function, each) for name, each in options.items()}
        return function(*(whole(function, each) for each in arguments), **named)

    def _with(self, values: Any, present: Weight = None) -> Self:
        return replace(self, elements=values, present=present, is_zeroed=False, is_of_table=False)

    def isna(self) -> Self:
        """Whether values are missing."""
        return ~self.notna()

    def notna(self) -> Self:
        """Whether values are there."""
        return self._of_truths(np.ones(self.rows, np.bool_), self.present)

    def _of_truths(self, truths: Any, present: Weight) -> Self:
        """Truth values of the rows, false where a value is missing."""
        return replace(self._with(joined(truths, present)), categories=())


def decided(x: R, truths: Any, present: Weight) -> R:
    """Truth values of a comparison: false where a value is missing, or missing there of pandas' NA."""
    own = (truths, present) if x.is_nullable else (joined(truths, present), None)
    return replace(x._with(*own), categories=())


def category_of(x: Rows, value: Any) -> Any:
    """A value as categories are: a text as a time, where these are times."""
    is_time = isinstance(x.categories[0], datetime.datetime)
    if is_time and (isinstance(value, str) or getattr(value, "dtype", np.dtype(float)).kind == "M"):
        with contextlib.suppress(ValueError):
            return np.array(value, "datetime64[us]").item()
    return value


def code_of(x: Rows, value: Any) -> float:
    """The number of a category. ParameterError for one that the column has not; -1 where it is public."""
    if value not in x.categories and x.is_public:
        return -1.0
    if value not in x.categories:
        raise ParameterError(
            f"column {x.name!r} has no category {value!r}; it has {', '.join(map(repr, x.categories))}"
        )
    return float(x.categories.index(value))


def whole(function: Any, value: Any) -> Any:
    """The array of a column, in lists too. TypeError where rows are missing or filtered out, and for
    categories."""
    if isinstance(value, (list, tuple)):
        return type(value)([whole(function, each) for each in value])
    if not isinstance(value, Rows):
        return value
    if value.present is not None or value.weight is not None or value.categories:
        name = function if isinstance(function, str) else f"np.{function.__name__}"
        raise TypeError(
            f"{name} takes whole columns of numbers, and in {value.name!r} rows are missing or filtered out, "
            "or categories: fillna fills them, and np.where(mask, column, value) is in place of t[mask]. "
            f"{NO_COLUMN}"
        )
    return value.elements


def operands_of(*operands: Any) -> tuple[list[Any], Rows, Weight]:
    """The rows' values of operands, of which one at least is a column; the first column, and where no value
    is missing.

    Raises:
        TypeError: for statistics that clients finish.
        MismatchError: for columns of tables with different filters, arrays of other rows, and Series.
    """
    columns = [each for each in operands if isinstance(each, Rows)]
    first, present, values = columns[0], None, []
    for each in operands:
        if isinstance(each, Result):
            each._no_arithmetic()
        refuse_series(each)
        own = each
        if isinstance(each, Rows):
            own, present = each.elements, joined(present, each.present)
            if each.weight is not first.weight or each.rows != first.rows:
                raise MismatchError(
                    f"columns {first.name!r} and {each.name!r} come from tables with different filters; "
                    "filter after computing"
                )
        if np.ndim(own) and np.shape(own) != (first.rows,):
            raise MismatchError(
                f"a column of {first.rows} rows and values of shape {np.shape(own)} do not fit"
            )
        values.append(own)
    return values, first, present


def met(operands: Sequence[Any]) -> dict[str, Any]:
    """What columns that meet make of a result: a column and an array give a column, NA and NaN give NA."""
    columns = [each for each in operands if isinstance(each, Rows)]
    return {
        "is_public": all(each.is_public for each in columns),
        "is_nullable": any(each.is_nullable for each in columns),
        "is_array": all(each.is_array for each in columns),
    }


def computed(function: Any, *operands: Any, keeps_zero: bool = False, **options: Any) -> Any:
    """A function of single elements, row by row.

    Args:
        keeps_zero: whether 0 stays 0.
        options: of the function.
    """
    count, operands = len(operands), (*operands, *options.values())
    columns = [each for each in operands if isinstance(each, Rows)]
    for each in columns:
        if each.categories:
            raise TypeError(f"column {each.name!r} holds categories: compare it, or make it a key")
        if each._kind == "b" and each.present is not None:
            raise TypeError(
                f"column {each.name!r} of truth values, some of them missing, has no arithmetic: "
                "fillna(False) or fillna(True) has, and comparisons with True and False"
            )
    values, first, present = operands_of(*operands)
    # NumPy's functions of plain truth values have 11 bits.
    if getattr(function, "types", ["?"])[0].startswith("e"):
        values = [each * 1.0 if isinstance(each, np.ndarray) else each for each in values]
    found = function(*values[:count], **dict(zip(options, values[count:], strict=True)))
    is_zeroed = keeps_zero and all(each.is_zeroed or each.present is None for each in columns)
    return replace(first._with(found, present), is_zeroed=is_zeroed, **met(operands))
