"""Arrays of encrypted integers and booleans, with NumPy's operators."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hemera.inputs.arguments import described
from hemera.inputs.operators import COMPARISONS
from hemera.integers import arrangement, conversion, division, operations, shifts, sums
from hemera.integers.bounded import Bounded
from hemera.integers.encrypted import Axes, Encrypted, engine_of, held_by, require_same, spread
from hemera.integers.handles import Home
from hemera.integers.noise import combined
from hemera.integers.types import (
    DType,
    common_shape,
    common_type,
    compared_values,
    digits_of,
    integer_type,
    plain_operand,
    plain_values,
)
from hemera.objects.ciphertext import Ciphertext

_OF_TRUTHS: dict[np.ufunc, tuple[int, int]] = {
    **dict.fromkeys((np.bitwise_and, np.multiply, np.logical_and), (1, 0)),
    **dict.fromkeys((np.bitwise_or, np.add, np.logical_or), (-1, 1)),
    **dict.fromkeys((np.bitwise_xor, np.not_equal, np.logical_xor), (-2, 1)),
}
"""p and s of the operations p a b + s (a + b) of truth values."""


_LOGICAL = (np.logical_and, np.logical_or, np.logical_xor)


def _comparison(ufunc: np.ufunc) -> Callable[[Any, object], Booleans]:
    return lambda self, other: self._compared(ufunc, other)


def _no_truths(ufunc: np.ufunc) -> Callable[[Any, object], NoReturn]:
    def refuse(*_: object) -> NoReturn:
        raise TypeError(f"np.{ufunc.__name__} takes encrypted booleans; x != 0 are those of integers")

    return refuse


class Booleans(Encrypted):
    """Encrypted booleans: the results of comparisons. Operators are NumPy's: `+` of two is "or", `*` is
    "and", and with integers they count as 0 and 1."""

    _what = "boolean"
    # Operators of truth values or, with integers, of numbers.
    __and__: Any
    __or__: Any
    __xor__: Any
    __add__: Any
    __radd__: Any
    __sub__: Any
    __rsub__: Any
    __mul__: Any
    __rmul__: Any

    def _applied(self, ufunc: np.ufunc, *operands: Any) -> Any:
        """An operation with truth values; with numbers that of 0 and 1."""
        if ufunc is np.equal:
            different = self._applied(np.not_equal, *operands)
            return different if different is NotImplemented else ~different
        if ufunc not in _OF_TRUTHS and ufunc is not np.subtract:
            return super()._applied(ufunc, *operands)
        other = operands[1] if operands[0] is self else operands[0]
        if isinstance(other, Booleans):
            return self._combined(ufunc, other)
        if isinstance(other, Encrypted):
            return NotImplemented  # it takes truth values
        plain = plain_values(ufunc.__name__, other, self._context.bits)
        if plain.dtype.kind == "b":
            return self._combined_with_plain(ufunc, plain)
        if plain.dtype.kind not in "iu":
            raise TypeError(
                f"{ufunc.__name__}: encrypted booleans go with booleans and integers, not {described(other)}"
            )
        numbers = self.astype(plain.dtype)
        return numbers._applied(ufunc, *(numbers if each is self else each for each in operands))

    def _combined(self, ufunc: np.ufunc, other: Booleans) -> Booleans:
        if ufunc not in _OF_TRUTHS:
            self._refuse_arithmetic()
        name = ufunc.__name__
        require_same(name, self, other)
        engine = engine_of(self)
        shape = common_shape(name, self._shape, other.shape)
        left, right = spread(name, self, shape), spread(name, other, shape)
        a, b = engine.ready_bits(held_by(left)), engine.ready_bits(held_by(right))
        products, sums = _OF_TRUTHS[ufunc]
        held = engine.product(a * products, b)
        if sums:
            held = held + a + b
        # The derivatives by a and b are at most 1.
        rest = a.rest + b.rest + abs(products) * a.error * b.error
        noise = combined(a.noise, b.noise, engine.rounding)
        return left._of(replace(held, largest=1, error=rest + noise.deviation, noise=noise.known))

    def _combined_with_plain(self, ufunc: np.ufunc, plain: NDArray[np.bool_]) -> Booleans:
        """The same of plain truth values c: a (p c + s) + s c."""
        if ufunc not in _OF_TRUTHS:
            self._refuse_arithmetic()
        name = ufunc.__name__
        shape, engine = common_shape(name, self._shape, plain.shape), engine_of(self)
        left = spread(name, self, shape)
        products, sums = _OF_TRUTHS[ufunc]
        c = engine.layout.from_truths(np.ascontiguousarray(np.broadcast_to(plain, shape)))
        held = engine.masked(engine.ready_bits(held_by(left)), products * c + sums)
        return left._of(replace(engine.plus(held, sums * c) if sums else held, largest=1))

    def _refuse_arithmetic(self, *_: object) -> NoReturn:
        raise TypeError(
            "encrypted booleans take no -, as in NumPy: ~ is their opposite, ^ is True where two differ, and "
            "mask.astype(dtype) has the numbers 0 and 1"
        )

    def _inverted(self) -> Booleans:
        return self._of(engine_of(self).inverted(self._held))

    _meanings: ClassVar = {np.negative: _refuse_arithmetic, np.invert: _inverted, np.logical_not: _inverted}

    def astype(self, dtype: DTypeLike) -> Integers:
        """The numbers 0 and 1. Takes a level.

        Raises:
            TypeError: if the type is no integer type, or too wide for the context.
        """
        engine, found = engine_of(self), integer_type(dtype, self._context.bits)
        held = engine.masked(engine.ready_bits(self._held), engine.layout.only(0))
        return Integers(self._context, held, self._shape, found)

    def _of(self, held: Bounded) -> Booleans:
        return Booleans(self._context, held, self._shape, self._dtype)

    def sum(self, axis: Axes = None, *, dtype: DTypeLike | None = None, keepdims: bool = False) -> Integers:
        """The numbers of true values, modulo 2^bits of the type.

        Args:
            axis, keepdims: as of `Integers.sum`.
            dtype: None: the context's widest signed type.

        Raises:
            AxisError, ValueError: as NumPy's, if there is no such axis, or it is given twice.
        """
        found, axes, shape = self._summed(axis, dtype, keepdims, "i")
        if not self.size:
            return _zeros(self._context, shape, found)
        engine, digits = engine_of(self), digits_of(found)
        held = sums.totals(engine, self._first_digit(), self._shape, axes, digits, filled=1, largest=1)
        return Integers(self._context, held, shape, found)

    def _movable(self) -> Bounded:
        return engine_of(self).ready_bits(self._held)

    def _chosen(self, chosen: arrangement.Places) -> Booleans:
        engine, is_whole = engine_of(self), chosen.size > 0
        found = arrangement.turned(engine, self._held, chosen) if is_whole else None
        return super()._chosen(chosen) if found is None else self._with(found, chosen.shape)

    def _first_digit(self) -> Bounded:
        engine = engine_of(self)
        held = engine.ready_bits(self._held, 4, 2.0**-16)
        return engine.masked(held, engine.layout.only(0))


class Integers(Encrypted):
    """Encrypted integers of one of NumPy's types, with its operators: they wrap around as NumPy's do, and
    types and shapes of results are NumPy's. Operands are encrypted arrays, Python's integers, which take the
    other's type, and NumPy's integers."""

    _what = "integer"

    if TYPE_CHECKING:

        def __eq__(self, other: object) -> Booleans: ...  # type: ignore[override]
        def __ne__(self, other: object) -> Booleans: ...  # type: ignore[override]
        def __lt__(self, other: object) -> Booleans: ...  # type: ignore[override]
        def __le__(self, other: object) -> Booleans: ...  # type: ignore[override]
        def __gt__(self, other: object) -> Booleans: ...  # type: ignore[override]
        def __ge__(self, other: object) -> Booleans: ...  # type: ignore[override]

    @property
    def _digits(self) -> int:
        return digits_of(self._dtype)

    def _of(self, held: Bounded, dtype: DType | None = None) -> Integers:
        return Integers(self._context, held, self._shape, dtype or self._dtype)

    # --- Operands. ---

    def _operand(self, operation: str, other: object) -> Integers:
        """An encrypted operand; plain ones are encrypted, spread to the shape of the result."""
        if isinstance(other, Integers):
            require_same(operation, self, other)
            return other
        if isinstance(other, Booleans):
            require_same(operation, self, other)
            return other.astype(self._dtype)
        plain = plain_operand(operation, other, self._dtype, self._context.bits)
        shape = common_shape(operation, self._shape, plain.shape)
        repeated = np.ascontiguousarray(np.broadcast_to(plain, shape)).reshape(shape)
        encrypted: Integers = self._context.encrypt(repeated)
        return encrypted

    def _movable(self) -> Bounded:
        return engine_of(self).ready(self._held, 1)

    def _ready(self) -> Integers:
        """The same with a level left: sums of two scales take one."""
        held = engine_of(self).ready(self._held, 1)
        return self if held is self._held else self._of(held)

    # --- Arithmetic. ---

    def _plus(self, other: object) -> Integers:
        a, b, dtype = together("+", self, other)
        return a._of(operations.add(engine_of(self), held_by(a), held_by(b), digits_of(dtype)), dtype)

    def _minus(self, other: object) -> Integers:
        a, b, dtype = together("-", self, other)
        return a._of(operations.subtract(engine_of(self), held_by(a), held_by(b), digits_of(dtype)), dtype)

    def _times(self, other: object) -> Integers:
        a, b, dtype = together("*", self, other)
        return a._of(operations.multiply(engine_of(self), held_by(a), held_by(b), digits_of(dtype)), dtype)

    def _absolute(self) -> Integers:
        if self._dtype.kind == "u":
            return +self
        engine = engine_of(self)
        ready = self._ready()
        below = operations.negative(engine, held_by(ready), self._digits)
        return self._of(operations.select(engine, below, held_by(-ready), held_by(ready)))

    def __divmod__(self, other: object) -> tuple[Integers, Integers]:
        return self._divided("divmod", other)

    def __rdivmod__(self, other: object) -> NoReturn:
        self._refuse_division(other)

    def _divided(
        self, operation: str, other: object, *, with_quotient: bool = True, with_remainder: bool = True
    ) -> tuple[Integers, Integers]:
        """Quotients, rounded down, and remainders; what is not asked for may be the other."""
        if isinstance(other, Encrypted):
            self._refuse_division(other)
        plain = plain_operand(operation, other, self._dtype, self._context.bits)
        divisor = int(plain.reshape(-1)[0]) if plain.size else 1
        if not (plain == divisor).all():
            self._refuse_division(other)
        dtype = common_type(operation, self._dtype, plain.dtype)
        shape = common_shape(operation, self._shape, plain.shape)
        a = spread(operation, self.astype(dtype), shape)
        if divisor == 0:
            return _zeros(self._context, shape, dtype), _zeros(self._context, shape, dtype)
        found = division.divided(
            engine_of(self),
            held_by(a),
            divisor,
            digits_of(dtype),
            signed=dtype.kind == "i",
            with_quotient=with_quotient,
            with_remainder=with_remainder,
        )
        return a._of(found[0], dtype), a._of(found[-1], dtype)

    def _refuse_division(self, _: object) -> NoReturn:
        raise TypeError(
            "encrypted integers are divided by one clear integer, with // and %; not by encrypted ones or by "
            "different ones, and / is not there"
        )

    # --- Bits. ---

    def _bitwise(self, other: object, *, operation: str, of: operations.Bitwise) -> Integers:
        a, b, dtype = together(operation, self, other)
        return a._of(operations.bitwise(engine_of(self), held_by(a), held_by(b), of), dtype)

    def _inverted(self) -> Integers:
        return self._of(operations.invert(engine_of(self), self._held, self._digits))

    def _shifted(self, amount: object, *, operation: str, sign: int) -> Integers:
        engine = engine_of(self)
        shift = partial(shifts.shift_by, engine, left=sign > 0)
        if isinstance(amount, Encrypted):
            if not isinstance(amount, Integers) or amount.dtype != np.uint8:
                raise TypeError(
                    f"{operation}: encrypted amounts are uint8, not {amount.dtype}; "
                    "amount.astype(np.uint8) is"
                )
            a, by, dtype = together(operation, self, amount)
            return a._of(shift(held_by(a), held_by(by), digits_of(dtype), signed=dtype.kind == "i"), dtype)
        plain = plain_operand(operation, amount, self._dtype, self._context.bits)
        if (plain < 0).any():
            raise TypeError(f"{operation}: amounts are 0 or more, not {int(plain.min())}")
        dtype = common_type(operation, self._dtype, plain.dtype)
        shape = common_shape(operation, self._shape, plain.shape)
        a, signed = spread(operation, self.astype(dtype), shape), dtype.kind == "i"
        amounts = np.minimum(plain, 8 * dtype.itemsize).astype(np.uint8)
        if amounts.size and (amounts == amounts.flat[0]).all():
            places = int(amounts.flat[0]) * sign
            return a._of(operations.shift(engine, held_by(a), places, digits_of(dtype), signed), dtype)
        by = self._context.encrypt(np.broadcast_to(amounts, shape))
        return a._of(shift(held_by(a), held_by(by), digits_of(dtype), signed=signed), dtype)

    # --- Comparisons. ---

    def _compared(self, comparison: np.ufunc, other: object) -> Booleans:
        """Comparisons with plain values are of numbers, of any type and size: those that this type does not
        hold decide alone."""
        if isinstance(other, Encrypted):
            return self._compared_here(comparison, self._operand(comparison.__name__, other))
        within, inside, decided = compared_values(comparison, other, self._dtype, self._context.bits)
        if inside.all():
            return self._compared_here(comparison, self._operand(comparison.__name__, within))
        shape = common_shape(comparison.__name__, self._shape, inside.shape)
        truths: Booleans = self._context.encrypt(np.broadcast_to(decided & ~inside, shape))
        if not inside.any():
            return truths
        found = self._compared_here(comparison, self._operand(comparison.__name__, within))
        both: Booleans = (found & inside) | truths
        return both

    def _compared_here(self, comparison: np.ufunc, other: Integers) -> Booleans:
        a, b, dtype = together(comparison.__name__, self, other)
        engine = engine_of(self)
        if comparison in (np.equal, np.not_equal):
            found = a._condition(operations.equal(engine, held_by(a), held_by(b)))
        else:
            left, right = (b, a) if comparison in (np.greater, np.less_equal) else (a, b)
            signed = dtype.kind == "i"
            found = a._condition(
                operations.less(engine, held_by(left), held_by(right), digits_of(dtype), signed)
            )
        return ~found if comparison in (np.not_equal, np.less_equal, np.greater_equal) else found

    def _condition(self, held: Bounded) -> Booleans:
        return Booleans(self._context, replace(held, largest=1), self._shape, np.dtype(np.bool_))

    _meanings: ClassVar[dict[np.ufunc, Any]] = {
        np.add: _plus,
        np.subtract: _minus,
        np.multiply: _times,
        np.negative: lambda self: self._of(operations.negate(engine_of(self), self._held, self._digits)),
        np.positive: lambda self: self._of(self._held),
        np.absolute: _absolute,
        np.floor_divide: lambda self, other: self._divided("//", other, with_remainder=False)[0],
        np.remainder: lambda self, other: self._divided("%", other, with_quotient=False)[1],
        np.divmod: __divmod__,
        np.divide: _refuse_division,
        np.bitwise_and: partial(_bitwise, operation="&", of=operator.and_),
        np.bitwise_or: partial(_bitwise, operation="|", of=operator.or_),
        np.bitwise_xor: partial(_bitwise, operation="^", of=operator.xor),
        np.invert: _inverted,
        np.left_shift: partial(_shifted, operation="<<", sign=1),
        np.right_shift: partial(_shifted, operation=">>", sign=-1),
        np.logical_not: lambda self: self == 0,
        **{each: _comparison(each) for each in COMPARISONS},
        **{each: _no_truths(each) for each in _LOGICAL},
    }
    _reflected: ClassVar = {
        np.subtract: lambda self, other: self._operand("-", other) - self,
        np.left_shift: lambda self, other: self._operand("<<", other) << self,
        np.right_shift: lambda self, other: self._operand(">>", other) >> self,
        **dict.fromkeys((np.floor_divide, np.remainder, np.divmod, np.divide), _refuse_division),
    }

    # --- Types, sums. ---

    def astype(self, dtype: DTypeLike) -> Integers:
        """The same values in another type, modulo 2^bits of it, as NumPy's astype."""
        found = integer_type(dtype, self._context.bits)
        engine, before, after = engine_of(self), self._digits, digits_of(found)
        held = self._held
        if after < before:
            held = engine.masked(engine.ready(held, 1), engine.layout.by_digit([1.0] * after))
        elif after > before and self._dtype.kind == "i":
            held = operations.extend(engine, self._held, before, after)
        return self._of(held, found)

    def sum(self, axis: Axes = None, *, dtype: DTypeLike | None = None, keepdims: bool = False) -> Integers:
        """The sums over some axes, as NumPy's.

        Args:
            axis: an axis, or several; None: all.
            dtype: of the sums; None: NumPy's, uint64 or int64, in a context of 64 bits, else the context's
                widest.
            keepdims: whether the axes stay, with an extent of 1.

        Raises:
            AxisError, ValueError: as NumPy's, if there is no such axis, or it is given twice.
        """
        found, axes, shape = self._summed(axis, dtype, keepdims, self._dtype.kind)
        if not self.size:
            return _zeros(self._context, shape, found)
        a = self.astype(found)
        if all(self._shape[k] == 1 for k in axes):
            return a.reshape(shape)
        digits = digits_of(found)
        filled = digits if self._dtype.kind == "i" else min(digits, self._digits)
        held = sums.totals(engine_of(self), held_by(a), self._shape, axes, digits, filled=filled)
        return Integers(self._context, held, shape, found)

    def to_ckks(self, factor: float = 1) -> Ciphertext:
        """The values, times a factor, as approximate numbers of CKKS. Takes a level; signed values take a
        refresh.

        Their error is relative to the type's largest number: up to 16^digits / 15 times that of a digit, and
        16^digits times that of a sign, times the factor. Unlike integers, decrypted numbers reveal something
        of the secret key (docs/ckks.md).

        Returns:
            A ciphertext of shape (vectors,), with `context.values` slots, bound to `context.evaluator`. The
            array's values fill one vector after the other.
        """
        held, signed = held_by(self._ready()), self._dtype.kind == "i"
        return conversion.to_numbers(engine_of(self), held, self._digits, signed=signed, factor=factor)

    def refresh(self) -> Integers:
        """The same values with the least error, and the levels that are left after a refresh: the same ones
        whatever led here, as graphs want them. Operations refresh by themselves."""
        return self._of(engine_of(self).renewed(self._held))


def together(operation: str, a: Integers, b: object) -> tuple[Integers, Integers, DType]:
    """Both operands in the type and the shape of the result."""
    right = a._operand(operation, b)
    dtype = common_type(operation, a.dtype, right.dtype)
    shape = common_shape(operation, a.shape, right.shape)
    left = spread(operation, a.astype(dtype), shape)
    return left, left if right is a else spread(operation, right.astype(dtype), shape), dtype


def ready_together(operation: str, a: Integers, b: object) -> tuple[Integers, Integers]:
    """The same, for several operations in a row, with what each of them would refresh."""
    left, right, _ = together(operation, a, b)
    ready = left._ready()
    return ready, ready if right is left else right._ready()


def require_integers(operation: str, x: Any) -> Integers:
    """TypeError if it is no array of encrypted integers."""
    if isinstance(x, Integers):
        return x
    raise TypeError(f"{operation}: takes encrypted integers, not {described(x)}")


def _zeros(context: Home, shape: tuple[int, ...], dtype: DType) -> Integers:
    zeros: Integers = context.encrypt(np.zeros(shape, dtype))
    return zeros
