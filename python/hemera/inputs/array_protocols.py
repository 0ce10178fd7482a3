"""Objects that are no arrays, in the hands of NumPy and pandas: operators work, all else is an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from hemera.inputs.plain import NotMasked

__all__ = ["NotAnArray"]

# The operators that objects have, by the names of their methods on the left and on the right.
_OPERATORS: Mapping[np.ufunc, tuple[str, str]] = {
    np.add: ("__add__", "__radd__"),
    np.subtract: ("__sub__", "__rsub__"),
    np.multiply: ("__mul__", "__rmul__"),
    np.matmul: ("__matmul__", "__rmatmul__"),
}


class NotAnArray(NotMasked):
    """The base of ciphertexts and plaintexts. Without it NumPy would take one for a sequence, or for an
    element of an array of objects.

    Arrays and numbers, also those of pandas, at the left of + - * @ leave the operation to the object. Every
    other function of NumPy raises TypeError, which names the call in its place.
    """

    __slots__ = ()

    # pandas compares this with its own priorities, at most 4000: Series * x is then x's operation.
    __pandas_priority__ = 10_000

    _instead: ClassVar[Mapping[str, str]]
    """The call in place of a NumPy function, by the function's name."""
    _otherwise: ClassVar[str]
    """The call in place of every function that `_instead` does not name."""

    if not TYPE_CHECKING:  # to type checkers it would make array @ x an array

        def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
            del dtype, copy
            raise TypeError(self._refusal("asarray"))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__":
            raise TypeError(self._refusal(f"{ufunc.__name__}.{method}"))
        if ufunc not in _OPERATORS:
            raise TypeError(self._refusal(ufunc.__name__))
        if options:
            raise TypeError(
                f"np.{ufunc.__name__} takes no {', '.join(options)} with a {type(self).__name__}, and an "
                "array can not hold ciphertexts: write array + x in place of array += x"
            )
        # Methods by name: the operator itself would call the array's, which would come back here.
        left, right = inputs
        on_the_left, on_the_right = _OPERATORS[ufunc]
        if isinstance(left, NotAnArray) and hasattr(left, on_the_left):
            return getattr(left, on_the_left)(right)
        if isinstance(right, NotAnArray) and hasattr(right, on_the_right):
            return getattr(right, on_the_right)(left)
        raise TypeError(self._refusal(ufunc.__name__))

    def __array_function__(
        self, function: Callable[..., Any], types: Any, arguments: Any, options: Any
    ) -> NoReturn:
        del types, arguments, options
        raise TypeError(self._refusal(function.__name__))

    @classmethod
    def _refusal(cls, function: str) -> str:
        instead = cls._instead.get(function, cls._otherwise)
        return f"np.{function} takes no {cls.__name__}: {instead}"
