"""Arrays of other libraries as NumPy's, without what these would drop: masks, and values that are missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hemera import _core

_NUMBERS = {bool, int, float, complex}


class _HasArray(Protocol):
    def __array__(self) -> NDArray[Any]: ...


Numbers = complex | _HasArray | Sequence[complex] | Sequence[Sequence[complex]] | Sequence[_HasArray]
"""A number, an array of numbers, or a list or table of them, for type checkers: no text, which NumPy's
ArrayLike has."""


class NotMasked:
    """The base of operands that have no values for NumPy's masked arrays at their left.

    These ask for `_data`, a name of NumPy's, before they ask the operand for its method.
    """

    __slots__ = ()

    @property
    def _data(self) -> NoReturn:
        raise _core.ParameterError(
            f"a masked array takes no {type(self).__name__}, as its mask would hold for encrypted values, "
            "too: give values.filled(number), or np.asarray(values) where nothing is masked"
        )


def plain_array(values: Any, what: str, dtype: DTypeLike | None = None) -> NDArray[Any]:
    """`numpy.asarray` of a caller's values, which must have a value everywhere.

    Args:
        what: names the values in errors.

    Raises:
        ParameterError: for values that are missing: masked ones of NumPy, NA and NaT of pandas, nulls of
            Arrow and Polars. NaN is a number, which each function refuses or takes itself.
        TypeError: for sparse arrays; for texts, dates and records, and for complex numbers where real ones
            are needed; these only with `dtype`.
        ParameterError: for whole numbers beyond `dtype`.
        TypeError, ValueError: as of NumPy.
    """
    refuse_missing(values, what)
    if hasattr(type(values), "toarray") and not hasattr(type(values), "__array__"):  # of SciPy
        raise TypeError(f"{what}: it is sparse; give values.toarray()")
    found = np.asarray(values)
    if dtype is None:
        return found
    kinds = "biufOc" if np.dtype(dtype).kind == "c" else "biufO"
    texts = found.dtype.kind == "O" and any(isinstance(each, (str, bytes)) for each in found.flat)
    if found.dtype.kind not in kinds or texts:
        wanted = "numbers" if "c" in kinds else "real numbers"
        raise TypeError(f"{what}: {wanted} are needed, not {'texts' if texts else found.dtype}")
    try:
        return found.astype(dtype, copy=False)
    except OverflowError:
        raise _core.ParameterError(
            f"{what}: a whole number is beyond the largest of {np.dtype(dtype)}"
        ) from None


def stepping_array(values: Any, what: str) -> NDArray[np.float64]:
    """`plain_array` of float64 for functions that jump, which a rounding of its numbers would move.

    Raises:
        ParameterError: for numbers of a wider type that are none of float64.
        TypeError, ParameterError: as of `plain_array`.
    """
    found = plain_array(values, what, np.float64)
    given = np.asarray(values)
    if given.dtype.kind == "f" and (found != given).any():
        raise _core.ParameterError(
            f"{what}: a number of {given.dtype} is none of float64, and results jump where it is rounded; "
            "round it before, as np.float64(number) does"
        )
    return found


def refuse_matrix(values: Any, what: str) -> None:
    """TypeError for NumPy's `matrix`, whose products, powers and axes are not those of arrays."""
    if type(values) is not np.ndarray and isinstance(values, np.matrix):
        raise TypeError(f"{what}: np.matrix has products of its own; give np.asarray(values), and take @")


def refuse_missing(values: Any, what: str) -> None:
    """ParameterError for values that are missing: see `plain_array`."""
    if isinstance(values, np.ndarray):
        if type(values) is not np.ndarray and isinstance(values, np.ma.MaskedArray):
            _refuse(
                int(np.count_nonzero(np.ma.getmaskarray(values))), what, "masked", "values.filled(number)"
            )
        elif values.dtype == np.object_:
            _refuse_in(values.ravel().tolist(), what)
    elif isinstance(values, (list, tuple)):
        _refuse_in(values, what)
    elif hasattr(type(values), "null_count"):  # arrays of Arrow, and series of Polars
        count = values.null_count
        _refuse(int(count() if callable(count) else count), what, "missing", "values.fill_null(number)")
    elif hasattr(type(values), "isna") and hasattr(type(values), "fillna"):  # of pandas
        kinds = list(values.dtypes) if hasattr(values, "columns") else [values.dtype]
        if not all(isinstance(each, np.dtype) and each.kind in "biufc" for each in kinds):
            _refuse(int(np.count_nonzero(values.isna())), what, "missing", "values.fillna(number)")
    elif is_missing(values):
        _refuse(1, what, "missing", "a number in its place")


def _refuse_in(values: Sequence[Any], what: str) -> None:
    if not _NUMBERS.issuperset(map(type, values)):
        for each in values:
            refuse_missing(each, what)


def is_missing(value: Any) -> bool:
    """Whether it is NA or NaT of pandas, which is recognised and never imported, or a masked number."""
    kind = type(value)
    if kind.__module__.startswith("numpy.ma") and value is np.ma.masked:  # whose import takes a while
        return True
    return kind.__module__.startswith("pandas.") and kind.__name__ in ("NAType", "NaTType")


def _refuse(count: int, what: str, kind: str, way: str) -> None:
    if count:
        told = "1 value is" if count == 1 else f"{count} values are"
        raise _core.ParameterError(
            f"{what}: {told} {kind}, which no number stands for; give {way}, or leave them out"
        )
