"""The operators of NumPy's arrays, as its functions of single elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Operators"]


class Operators:
    """The base of columns: each operator is a function of NumPy, which `_applied` computes row by row."""

    __hash__ = None  # type: ignore[assignment]

    def _applied(self, ufunc: np.ufunc, *inputs: Any) -> Self:
        raise NotImplementedError

    def _in_place(self, found: Any, operator: str) -> Self:
        raise NotImplementedError

    # --- Arithmetic. ---

    def __add__(self, other: Any) -> Self:
        return self._applied(np.add, self, other)

    def __radd__(self, other: Any) -> Self:
        return self._applied(np.add, other, self)

    def __sub__(self, other: Any) -> Self:
        return self._applied(np.subtract, self, other)

    def __rsub__(self, other: Any) -> Self:
        return self._applied(np.subtract, other, self)

    def __mul__(self, other: Any) -> Self:
        return self._applied(np.multiply, self, other)

    def __rmul__(self, other: Any) -> Self:
        return self._applied(np.multiply, other, self)

    def __truediv__(self, other: Any) -> Self:
        return self._applied(np.divide, self, other)

    def __rtruediv__(self, other: Any) -> Self:
        return self._applied(np.divide, other, self)

    def __pow__(self, exponent: Any) -> Self:
        return self._applied(np.power, self, exponent)

    def __rpow__(self, number: Any) -> Self:
        return self._applied(np.power, number, self)

    def __neg__(self) -> Self:
        return self._applied(np.negative, self)

    def __pos__(self) -> Self:
        return self._applied(np.positive, self)

    def __abs__(self) -> Self:
        return self._applied(np.absolute, self)

    abs = __abs__

    # --- In place. ---

    def __iadd__(self, other: Any) -> Self:
        return self._in_place(self + other, "+")

    def __isub__(self, other: Any) -> Self:
        return self._in_place(self - other, "-")

    def __imul__(self, other: Any) -> Self:
        return self._in_place(self * other, "*")

    def __itruediv__(self, other: Any) -> Self:
        return self._in_place(self / other, "/")

    def __ipow__(self, other: Any) -> Self:
        return self._in_place(self**other, "**")

    def __iand__(self, other: Any) -> Self:
        return self._in_place(self & other, "&")

    def __ior__(self, other: Any) -> Self:
        return self._in_place(self | other, "|")

    def __ixor__(self, other: Any) -> Self:
        return self._in_place(self ^ other, "^")

    # --- Comparisons. ---

    def __eq__(self, other: object) -> Self:  # type: ignore[override]
        return self._applied(np.equal, self, other)

    def __ne__(self, other: object) -> Self:  # type: ignore[override]
        return self._applied(np.not_equal, self, other)

    def __lt__(self, other: Any) -> Self:
        return self._applied(np.less, self, other)

    def __le__(self, other: Any) -> Self:
        return self._applied(np.less_equal, self, other)

    def __gt__(self, other: Any) -> Self:
        return self._applied(np.greater, self, other)

    def __ge__(self, other: Any) -> Self:
        return self._applied(np.greater_equal, self, other)

    # --- Masks. ---

    def __and__(self, other: Any) -> Self:
        return self._applied(np.bitwise_and, self, other)

    def __or__(self, other: Any) -> Self:
        return self._applied(np.bitwise_or, self, other)

    def __xor__(self, other: Any) -> Self:
        return self._applied(np.bitwise_xor, self, other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self) -> Self:
        return self._applied(np.invert, self)
