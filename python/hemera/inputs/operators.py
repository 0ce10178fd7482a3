"""What Python, NumPy and pandas make of objects that are no arrays: operators are functions of NumPy that an
object knows, and all else is an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Protocol, TypeVar

import numpy as np

from hemera._core import MismatchError
from hemera.inputs.plain import NotMasked

T = TypeVar("T")

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
        if options:
            raise TypeError(
                f"np.{ufunc.__name__} takes no {', '.join(options)} with a {type(self).__name__}, and an "
                "array can not hold ciphertexts: write array + x in place of array += x"
            )
        return self._applied(ufunc, *inputs)

    def _applied(self, ufunc: np.ufunc, *operands: Any) -> Any:
        """A function of NumPy of operands, of which one at least is such a value. TypeError for what is no
        operator of it."""
        # Methods by name: the operator itself would call the array's, which would come back here.
        for value, other, name in zip(operands, operands[::-1], _OPERATORS.get(ufunc, ()), strict=False):
            if isinstance(value, NotAnArray) and hasattr(value, name):
                return getattr(value, name)(other)
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


_COMMUTING = (
    *(np.add, np.multiply, np.minimum, np.maximum, np.fmin, np.fmax, np.equal, np.not_equal, np.hypot),
    *(np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.logical_and, np.logical_or, np.logical_xor),
    np.logaddexp,
)
COMPARISONS = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)
MIRRORED: dict[np.ufunc, np.ufunc] = {
    **dict(zip(_COMMUTING, _COMMUTING, strict=True)),
    np.less: np.greater,
    np.less_equal: np.greater_equal,
    np.greater: np.less,
    np.greater_equal: np.less_equal,
}
"""The function of the operands in the other order, by function."""


def holds_arrays(*classes: type) -> bool:
    """Whether values of a class hold arrays: see `Operators`."""
    return any(getattr(each, "_holds_arrays", False) for each in classes)


class _OfTwo(Protocol):
    def __get__(self, value: T, owner: Any, /) -> Callable[[Any], T]: ...


class _OfOne(Protocol):
    def __get__(self, value: T, owner: Any, /) -> Callable[[], T]: ...


def _of_two(ufunc: np.ufunc, sign: str) -> tuple[_OfTwo, _OfTwo, _OfTwo]:
    """An operator: of the value at its left, at its right, and in place."""

    def left(self: Any, other: Any) -> Any:
        if getattr(type(other), "_holds_arrays", False) and not self._holds_arrays:
            return NotImplemented
        return self._applied(ufunc, self, other)

    def right(self: Any, other: Any) -> Any:
        return self._applied(ufunc, other, self)

    def in_place(self: Any, other: Any) -> Any:
        return self._in_place(left(self, other), sign)

    return left, right, in_place


def _of_one(ufunc: np.ufunc) -> _OfOne:
    def operator(self: Any) -> Any:
        return self._applied(ufunc, self)

    return operator


class Operators(NotAnArray):
    """The base of values that have NumPy's operators: each is a function of NumPy, and so is `array + x`.

    A class says what they do by `_meanings` and `_reflected`, or by `_applied`; all others are refused.
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    _holds_arrays: ClassVar[bool] = False
    """Whether it holds arrays, as columns do: operations of an array and such a value are the value's."""

    _meanings: ClassVar[Mapping[np.ufunc, Callable[..., Any]]] = {}
    """What functions of NumPy do with a value, and another operand."""
    _reflected: ClassVar[Mapping[np.ufunc, Callable[..., Any]]] = {}
    """The same with the value and an operand of another type at its left, but for functions that commute."""

    def _applied(self, ufunc: np.ufunc, *operands: Any) -> Any:
        """A function of NumPy of operands, of which one at least is such a value."""
        if isinstance(operands[0], type(self)):
            meaning = self._meanings.get(ufunc)
        else:
            meaning, operands = self._reflected.get(ufunc), operands[::-1]
            if meaning is None and ufunc in MIRRORED:
                meaning = self._meanings.get(MIRRORED[ufunc])
        if meaning is None:
            raise TypeError(self._refusal(ufunc.__name__))
        return meaning(*operands)

    def _in_place(self, found: Any, sign: str) -> Any:
        """What `y += x` makes of y, by the result and the operator's sign."""
        del sign
        return found

    __add__, __radd__, __iadd__ = _of_two(np.add, "+")
    __sub__, __rsub__, __isub__ = _of_two(np.subtract, "-")
    __mul__, __rmul__, __imul__ = _of_two(np.multiply, "*")
    __truediv__, __rtruediv__, __itruediv__ = _of_two(np.divide, "/")
    __floordiv__, __rfloordiv__, __ifloordiv__ = _of_two(np.floor_divide, "//")
    __mod__, __rmod__, __imod__ = _of_two(np.remainder, "%")
    __pow__, __rpow__, __ipow__ = _of_two(np.power, "**")
    __matmul__, __rmatmul__, __imatmul__ = _of_two(np.matmul, "@")
    __and__, __rand__, __iand__ = _of_two(np.bitwise_and, "&")
    __or__, __ror__, __ior__ = _of_two(np.bitwise_or, "|")
    __xor__, __rxor__, __ixor__ = _of_two(np.bitwise_xor, "^")
    __lshift__, __rlshift__, __ilshift__ = _of_two(np.left_shift, "<<")
    __rshift__, __rrshift__, __irshift__ = _of_two(np.right_shift, ">>")
    __eq__, __ne__ = (_of_two(each, "")[0] for each in (np.equal, np.not_equal))  # type: ignore[assignment]
    __lt__, __le__ = _of_two(np.less, "")[0], _of_two(np.less_equal, "")[0]
    __gt__, __ge__ = _of_two(np.greater, "")[0], _of_two(np.greater_equal, "")[0]
    __neg__, __pos__ = _of_one(np.negative), _of_one(np.positive)
    __abs__, __invert__ = _of_one(np.absolute), _of_one(np.invert)


def require_in_place(array: Any, found: Any, sign: str, *, is_shared: bool) -> None:
    """NumPy's rule for operators that change an array in place: checks that an array may become a result
    under all its names.

    Args:
        found: the result of the operator with this sign, with a shape and a dtype as the array.
        is_shared: whether other arrays have the same elements.

    Raises:
        TypeError: if NumPy would change other arrays too, or the values are of another kind.
        MismatchError: if the shapes differ.
    """
    way = f"write y = y {sign} x"
    if is_shared:
        raise TypeError(
            f"{sign}= would change other arrays as well, a caller's or those that share elements with this "
            f"one: {way}"
        )
    if found.shape != array.shape:
        raise MismatchError(f"{sign}= of shape {array.shape}, and the result has shape {found.shape}: {way}")
    if not np.can_cast(found.dtype, array.dtype, "same_kind"):
        raise TypeError(f"{sign}= makes {found.dtype} of {array.dtype}, which NumPy refuses: {way}")
