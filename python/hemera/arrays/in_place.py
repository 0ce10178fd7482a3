"""Operators that change an array in place, `y += x`: NumPy's, or refused."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from hemera.arrays.recorded import Recorded
from hemera.inputs.in_place import require_in_place

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["InPlace"]


class InPlace(Recorded):
    """An array whose operators in place change it under all its names. `Array` is the only class with this
    base, and has the operators."""

    def _become(self, found: Self, sign: str) -> Self:
        """What `y += x` makes of y: the array has other values, under all its names. Numbers stay, and y is
        another one, as in NumPy. Errors: see `require_in_place`."""
        if found is NotImplemented or not (self.shape or self._is_shared):
            return found
        require_in_place(self, found, sign, is_shared=self._is_shared)
        self._number = found._number
        return self

    def __iadd__(self, other: Any) -> Self:
        return self._become(self + other, "+")

    def __isub__(self, other: Any) -> Self:
        return self._become(self - other, "-")

    def __imul__(self, other: Any) -> Self:
        return self._become(self * other, "*")

    def __itruediv__(self, other: Any) -> Self:
        return self._become(operator.truediv(self, other), "/")

    def __ifloordiv__(self, other: Any) -> Self:
        return self._become(operator.floordiv(self, other), "//")

    def __imod__(self, other: Any) -> Self:
        return self._become(operator.mod(self, other), "%")

    def __ipow__(self, other: Any) -> Self:
        return self._become(operator.pow(self, other), "**")

    def __imatmul__(self, other: Any) -> Self:
        return self._become(operator.matmul(self, other), "@")

    def __iand__(self, other: Any) -> Self:
        return self._become(operator.and_(self, other), "&")

    def __ior__(self, other: Any) -> Self:
        return self._become(operator.or_(self, other), "|")

    def __ixor__(self, other: Any) -> Self:
        return self._become(operator.xor(self, other), "^")

    def _as_argument(self) -> Self:
        """The array as an argument of a function, which the caller has too: it does not change in place."""
        self._is_shared = True
        return self
