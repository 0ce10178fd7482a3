"""Arrays of a table's rows, some of which are missing or filtered out, with NumPy's protocol."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hemera.arrays.recorded import DTYPES, Kind, kind_of
from hemera.compiler.tables.missing import NO_COLUMN
from hemera.compiler.tables.results import Result
from hemera.compiler.tables.statistics import (
    METHODS,
    Weight,
    as_truths,
    joined,
    length,
    of_numpy,
    require_numbers,
)
from hemera.errors import MismatchError, ParameterError
from hemera.inputs.operators import COMPARISONS, MIRRORED, Operators

if TYPE_CHECKING:
    from typing_extensions import Self

_OF_MASKS = (np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert)
_OF_TRUTHS = dict(
    zip((np.logical_and, np.logical_or, np.logical_xor, np.logical_not), _OF_MASKS, strict=True)
)


@dataclass(eq=False, repr=False)
class Rows(Operators):
    """An array of the rows of a table, some of which are missing or filtered out.

    NumPy's functions of single elements are those of arrays, on the rows' values. Missing values stay
    missing, and comparisons with them are false, as pandas has it. Functions of NumPy that bring rows
    together take whole columns alone.
    """

    _instead: ClassVar[Mapping[str, str]] = {}
    _otherwise: ClassVar[str] = NO_COLUMN
    _holds_arrays = True

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
        return _RULES.get(ufunc, computed)(ufunc, *operands, **options)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method == "reduce" and ufunc in METHODS:
            if self.present is not None:
                raise TypeError(f"np.{ufunc.__name__}.reduce is missing of missing values: fillna first")
            return of_numpy(METHODS[ufunc], *inputs, **options)
        return super().__array_ufunc__(ufunc, method, *inputs, **options)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        if function in _RULES:
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

    def _of_truths(self, truths: Any, present: Weight, *, is_public: bool | None = None) -> Self:
        """Truth values of the rows, false where a value is missing."""
        public = self.is_public if is_public is None else is_public
        return replace(self._with(joined(truths, present)), categories=(), is_public=public)

    def _category(self, value: Any) -> Any:
        """A value as categories are: a text as a time, where these are times."""
        is_time = isinstance(self.categories[0], datetime.datetime)
        if is_time and (isinstance(value, str) or getattr(value, "dtype", np.dtype(float)).kind == "M"):
            with contextlib.suppress(ValueError):
                return np.array(value, "datetime64[us]").item()
        return value

    def _code(self, value: Any) -> float:
        """The number of a category. ParameterError for one that the column has not; -1 where it is public."""
        if value not in self.categories and self.is_public:
            return -1.0
        if value not in self.categories:
            raise ParameterError(
                f"column {self.name!r} has no category {value!r}; it has "
                f"{', '.join(map(repr, self.categories))}"
            )
        return float(self.categories.index(value))


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
        MismatchError: for columns of tables with different filters, and arrays of other rows.
    """
    columns = [each for each in operands if isinstance(each, Rows)]
    first, present, values = columns[0], None, []
    for each in operands:
        if isinstance(each, Result):
            each._no_arithmetic()
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


def _is_public(operands: Sequence[Any]) -> bool:
    return all(each.is_public for each in operands if isinstance(each, Rows))


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
    return replace(first._with(found, present), is_zeroed=is_zeroed, is_public=_is_public(operands))


def _linear(function: Any, *operands: Any) -> Any:
    """A function that keeps 0; of a divisor that is a plain number."""
    is_linear = function is not np.divide or isinstance(operands[1], (int, float))
    return computed(function, *operands, keeps_zero=is_linear)


def _of_one(function: Any, x: Any, *arguments: Any, **options: Any) -> Any:
    """A function of a column whose other arguments are not of the rows."""
    return computed(lambda values: function(values, *arguments, **options), x)


def _clipped(function: Any, x: Any, *ends: Any, **named: Any) -> Any:
    """`numpy.clip`. TypeError for truth values, which pandas would put beside the limits."""
    if kind_of(x) == "b":
        raise TypeError("truth values are not clipped: astype(int) first")
    return computed(function, x, *ends, **named)


def _of_known(function: np.ufunc, *operands: Any) -> Any:
    """`numpy.fmax` and `numpy.fmin`. TypeError where values are missing."""
    found = computed(function, *operands)
    if found.present is not None:
        raise TypeError(
            f"np.{function.__name__} takes what is not missing of two: fillna first, or np.maximum"
        )
    return found


def _negative(_: Any, x: Rows) -> Rows:
    """-x; of truth values the opposite, as pandas has it."""
    return ~x if x._kind == "b" else _linear(np.negative, x)


def _power(function: Any, x: Any, exponent: Any) -> Any:
    """x ** exponent. As of pandas, x ** 0 and 1 ** x are 1 for missing values too."""
    plain = [not isinstance(each, Rows) and np.ndim(each) == 0 for each in (x, exponent)]
    if (plain[0] and x == 1) or (plain[1] and exponent == 0):
        own = require_numbers(x if isinstance(x, Rows) else exponent)
        return own._with(np.ones(own.rows))
    return computed(function, x, exponent, keeps_zero=plain[1] and exponent > 0)


def _compared(function: np.ufunc, x: Any, y: Any) -> Rows:
    """A comparison, row by row: false where a value is missing, and true of !=."""
    if function is np.not_equal:
        return ~_compared(np.equal, x, y)
    coded = [each for each in (x, y) if isinstance(each, Rows) and each.categories]
    if len(coded) == 2 and coded[0].categories != coded[1].categories:
        raise TypeError(f"columns {coded[0].name!r} and {coded[1].name!r} have different categories")
    if len(coded) == 2 and coded[0].order == "none" and function is not np.equal:
        raise TypeError(f"categories of column {coded[0].name!r} have no order")
    if len(coded) == 1:
        own, other, function = (x, y, function) if coded[0] is x else (y, x, MIRRORED[function])
        if isinstance(other, Rows):
            raise TypeError(f"column {own.name!r} holds categories, and the other one numbers")
        if function is not np.equal:
            return _ordered(function, own, other)
        x, y = own, own._code(own._category(other))
    values, first, present = operands_of(x, y)
    return first._of_truths(as_truths(function(*values)), present, is_public=_is_public((x, y)))


def _ordered(function: np.ufunc, x: Rows, value: Any) -> Rows:
    """Whether categories, which are in order, come before a value, or after it."""
    value, known = x._category(value), x.categories
    try:
        if x.order == "none" or (x.order == "listed" and value not in known):
            raise TypeError
        if x.order == "listed":
            known, value = range(len(known)), x._code(value)
        found = [bool(function(each, value)) for each in known]
    except TypeError:
        raise TypeError(
            f"column {x.name!r}: {value!r} has no order with its values, as {x.categories[0]!r}"
        ) from None
    if len(set(found)) == 1:
        return x.notna() & found[0]
    before, edge = found[0], found.index(not found[0])
    return x._of_truths(as_truths(x.elements < edge if before else x.elements >= edge), x.present)


def require_mask(value: Any) -> Any:
    """TypeError for what holds no truth values, or misses some."""
    if kind_of(value) != "b" or (isinstance(value, Rows) and value.present is not None):
        what = f"column {value.name!r}" if isinstance(value, Rows) else repr(value)
        raise TypeError(f"&, |, ^, ~ and where take masks, which comparisons of columns give, and not {what}")
    return value


def _of_masks(function: np.ufunc, *operands: Any) -> Any:
    """&, |, ^ and ~ of masks. TypeError for other columns and values."""
    return computed(function, *map(require_mask, operands))


def mask_of(value: Any) -> Any:
    """Whether values are not 0; what is missing is not 0, as in NumPy."""
    return require_mask(value if kind_of(value) == "b" else np.not_equal(value, 0))


def _logical(function: np.ufunc, *operands: Any) -> Any:
    return _of_masks(_OF_TRUTHS[function], *map(mask_of, operands))


def _where(_: Any, condition: Any, *sides: Any) -> Any:
    """`numpy.where`: a value is missing where that of the chosen side is."""
    if len(sides) != 2:
        raise TypeError("np.where with one argument asks for encrypted values; t[mask] filters rows")
    condition = mask_of(condition)
    there = [each.present if isinstance(each, Rows) else None for each in sides]
    bare = [replace(each, present=None) if isinstance(each, Rows) else each for each in sides]
    found = computed(np.where, condition, *bare, keeps_zero=True)
    if there[0] is None and there[1] is None:
        return found
    chosen = condition.elements if isinstance(condition, Rows) else condition
    present = np.where(chosen, *(True if each is None else each for each in there))
    is_zeroed = all(each.is_zeroed for each in sides if isinstance(each, Rows))
    return replace(found, present=as_truths(present), is_zeroed=is_zeroed)


def _select(_: Any, masks: Any, choices: Any, default: Any = 0) -> Any:
    """`numpy.select`: of the choices that of the first mask that is true."""
    for mask, choice in zip(masks[::-1], choices[::-1], strict=True):
        default = np.where(mask, choice, default)
    return default


_RULES: dict[Any, Any] = {
    **dict.fromkeys(COMPARISONS, _compared),
    **dict.fromkeys(_OF_MASKS, _of_masks),
    **dict.fromkeys(_OF_TRUTHS, _logical),
    **dict.fromkeys((np.power, np.float_power), _power),
    **dict.fromkeys((np.multiply, np.divide), _linear),
    np.negative: _negative,
    np.positive: lambda _, x: computed(lambda values: values, x, keeps_zero=True),  # also of truth values
    np.isnan: lambda _, x: require_numbers(x).isna(),
    np.isinf: lambda _, x: require_numbers(x).isna() & False,
    np.isfinite: lambda _, x: require_numbers(x).notna(),
    np.count_nonzero: lambda _, x: mask_of(x).sum(),
    np.select: _select,
    np.where: _where,
    np.isin: lambda _, x, values: x.isin(values),
    np.clip: _clipped,
    np.real: computed,
    **dict.fromkeys((np.fmax, np.fmin), _of_known),
    **dict.fromkeys(
        (np.round, np.around), lambda f, x, *a, **o: +x if kind_of(x) == "b" else _of_one(f, x, *a, **o)
    ),
    np.digitize: lambda function, x, bins, right=False: _of_one(function, x, bins, right).fillna(len(bins)),
    np.polyval: lambda _, p, x: computed(lambda values: np.polyval(p, values), x),
    **dict.fromkeys((np.zeros_like, np.ones_like), lambda function, x: function(x.elements)),
}
"""What functions of NumPy do with columns; those of single elements that are not here compute row by row."""
