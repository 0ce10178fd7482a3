"""NumPy's functions of columns, row by row, as pandas has them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from hemera.arrays.recorded import kind_of
from hemera.compiler.tables.rows import Rows, category_of, code_of, computed, decided, met, operands_of
from hemera.compiler.tables.statistics import as_truths, joined, require_numbers
from hemera.inputs.operators import COMPARISONS, MIRRORED

_OF_MASKS = (np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert)
_OF_TRUTHS = dict(
    zip((np.logical_and, np.logical_or, np.logical_xor, np.logical_not), _OF_MASKS, strict=True)
)


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
    return ~x if kind_of(x) == "b" else _linear(np.negative, x)


def _power(function: Any, x: Any, exponent: Any) -> Any:
    """x ** exponent. As of pandas, x ** 0 and 1 ** x are 1 for missing values too."""
    plain = [not isinstance(each, Rows) and np.ndim(each) == 0 for each in (x, exponent)]
    if (plain[0] and x == 1) or (plain[1] and exponent == 0):
        own = require_numbers(x if isinstance(x, Rows) else exponent)
        return replace(own, elements=np.ones(own.rows), present=None, is_of_table=False)
    return computed(function, x, exponent, keeps_zero=plain[1] and exponent > 0)


def _compared(function: np.ufunc, x: Any, y: Any) -> Rows:
    """A comparison, row by row: false where a value is missing, and true of !=; missing of pandas' NA."""
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
        x, y = own, code_of(own, category_of(own, other))
    values, first, present = operands_of(x, y)
    return decided(replace(first, **met((x, y))), as_truths(function(*values)), present)


def _ordered(function: np.ufunc, x: Rows, value: Any) -> Rows:
    """Whether categories, which are in order, come before a value, or after it."""
    value, known = category_of(x, value), x.categories
    try:
        if x.order == "none" or (x.order == "listed" and value not in known):
            raise TypeError
        if x.order == "listed":
            known, value = range(len(known)), code_of(x, value)
        found = [bool(function(each, value)) for each in known]
    except TypeError:
        raise TypeError(
            f"column {x.name!r}: {value!r} has no order with its values, as {x.categories[0]!r}"
        ) from None
    if len(set(found)) == 1:
        return decided(x, np.full(x.rows, found[0]), x.present)
    before, edge = found[0], found.index(not found[0])
    return decided(x, as_truths(x.elements < edge if before else x.elements >= edge), x.present)


def require_mask(value: Any, *, may_miss: bool = False) -> Any:
    """TypeError for what holds no truth values, or misses some.

    Args:
        may_miss: whether pandas' NA may be among them.
    """
    misses = isinstance(value, Rows) and value.present is not None and not (may_miss and value.is_nullable)
    if kind_of(value) != "b" or misses:
        what = f"column {value.name!r}" if isinstance(value, Rows) else repr(value)
        way = f"{what}, of which some are missing: fillna(False) first" if misses else what
        raise TypeError(f"&, |, ^, ~ and where take masks, which comparisons of columns give, and not {way}")
    return value


def _of_masks(function: np.ufunc, *operands: Any, decided: bool = True) -> Any:
    """&, |, ^ and ~ of masks. TypeError for other columns and values.

    Args:
        decided: whether results are known where operands that are decide, as of pandas' NA.
    """
    masks = [require_mask(each, may_miss=True) for each in operands]
    found = computed(function, *(replace(x, present=None) if isinstance(x, Rows) else x for x in masks))
    values, _, known = operands_of(*masks)
    if known is None:
        return found
    if decided and function in (np.bitwise_and, np.bitwise_or):
        for own, mask in zip(values, masks, strict=True):
            decides = as_truths(own if function is np.bitwise_or else np.invert(own))
            known = known | joined(getattr(mask, "present", None), decides)
    return replace(found, present=known, is_zeroed=False)


def mask_of(value: Any, *, may_miss: bool = False) -> Any:
    """Whether values are not 0; what is missing is not 0, as in NumPy."""
    found = value if kind_of(value) == "b" else np.not_equal(value, 0)
    return require_mask(found, may_miss=may_miss)


def _logical(function: np.ufunc, *operands: Any) -> Any:
    masks = (mask_of(each, may_miss=True) for each in operands)
    return _of_masks(_OF_TRUTHS[function], *masks, decided=False)


def _of_numbers(x: Any, truth: bool) -> Any:
    """A mask that is the same for all numbers: false where a value is missing, or missing of pandas' NA."""
    own = require_numbers(x)
    return decided(own, np.full(own.rows, truth), own.present)


def _as_array(found: Any) -> Any:
    """What NumPy gives as an array."""
    return replace(found, is_array=True) if isinstance(found, Rows) else found


def _where(_: Any, condition: Any, *sides: Any) -> Any:
    """`numpy.where`: a value is missing where that of the chosen side is."""
    if len(sides) != 2:
        raise TypeError("np.where with one argument asks for encrypted values; t[mask] filters rows")
    condition = mask_of(condition)
    there = [each.present if isinstance(each, Rows) else None for each in sides]
    if any(isinstance(each, Rows) and each.is_nullable and each.present is not None for each in sides):
        raise TypeError(
            "np.where makes objects of pandas' NA: fillna first, or take column.where(mask, other)"
        )
    bare = [replace(each, present=None) if isinstance(each, Rows) else each for each in sides]
    found = _as_array(computed(np.where, condition, *bare, keeps_zero=True))
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


RULES: dict[Any, Any] = {
    **dict.fromkeys(COMPARISONS, _compared),
    **dict.fromkeys(_OF_MASKS, _of_masks),
    **dict.fromkeys(_OF_TRUTHS, _logical),
    **dict.fromkeys((np.power, np.float_power), _power),
    **dict.fromkeys((np.multiply, np.divide), _linear),
    np.negative: _negative,
    np.positive: lambda _, x: computed(lambda values: values, x, keeps_zero=True),  # also of truth values
    np.isnan: lambda _, x: _of_numbers(x, False) if x.is_nullable else require_numbers(x).isna(),
    np.isinf: lambda _, x: _of_numbers(x, False),
    np.isfinite: lambda _, x: _of_numbers(x, True),
    np.count_nonzero: lambda _, x: mask_of(x).sum(),
    np.select: _select,
    np.where: _where,
    np.isin: lambda _, x, values: _as_array(x.isin(values)),
    np.clip: _clipped,
    np.real: lambda function, x: _as_array(computed(function, x)),
    **dict.fromkeys((np.fmax, np.fmin), _of_known),
    **dict.fromkeys(
        (np.round, np.around), lambda f, x, *a, **o: +x if kind_of(x) == "b" else _of_one(f, x, *a, **o)
    ),
    np.digitize: lambda f, x, bins, right=False: _as_array(_of_one(f, x, bins, right).fillna(len(bins))),
    np.polyval: lambda _, p, x: _as_array(computed(lambda values: np.polyval(p, values), x)),
    **dict.fromkeys((np.zeros_like, np.ones_like), lambda function, x: function(x.elements)),
}
"""What functions of NumPy do with columns; those of single elements that are not here compute row by row."""
