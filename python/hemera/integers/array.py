"""Arrays of encrypted integers and booleans, with NumPy's operators."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import isfinite, prod
from typing import Any, ClassVar, NoReturn, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from hemera import _core
from hemera.inputs.arguments import as_extents, described
from hemera.inputs.array_protocols import NotAnArray
from hemera.inputs.source import write_bytes
from hemera.integers import arrangement, conversion, division, files, operations, shifts, sums
from hemera.integers.bounded import Bounded
from hemera.integers.handles import Home
from hemera.integers.types import (
    DType,
    common_shape,
    common_type,
    digits_of,
    integer_type,
    plain_operand,
    summed_axes,
)
from hemera.objects.ciphertext import Ciphertext

_NO_TRUTH = (
    "an encrypted {what} has no truth value, as nobody here knows it: choose with "
    "hm.integers.where(condition, a, b), combine conditions with &, | and ~"
)

_OF_NUMPY = ("broadcast_to", "concatenate", "maximum", "minimum", "stack", "where")

Axes = int | tuple[int, ...] | None
"""Of an array: one, several or all."""

EncryptedT = TypeVar("EncryptedT", bound="Encrypted")


class Encrypted(NotAnArray):
    """What arrays of encrypted integers and booleans share."""

    __array_ufunc__ = None  # type: ignore[assignment]  # NumPy's arrays leave operators to this class
    _instead: ClassVar[Mapping[str, str]] = {name: f"hm.integers.{name} does it" for name in _OF_NUMPY}
    _otherwise = "it has NumPy's operators, indices and the functions of hm.integers; for the rest decrypt it"
    _what = "value"

    def __init__(self, context: Home, held: Bounded, shape: tuple[int, ...], dtype: DType) -> None:
        self._context = context
        self._stored = held
        self._shape = shape
        self._dtype = dtype

    @cached_property
    def _held(self) -> Bounded:
        """The values with the context's keys, which are made now if there are none."""
        return self._context._bound(self._stored)

    @property
    def context(self) -> Home:
        """The context that the values belong to."""
        return self._context

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self._shape

    @property
    def size(self) -> int:
        """The number of values."""
        return prod(self._shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._shape)

    @property
    def dtype(self) -> DType:
        """The type of the values."""
        return self._dtype

    @property
    def error(self) -> float:
        """A bound on the deviation of a digit from its whole number: public, as the operations give it."""
        return self._stored.error

    @property
    def failure_log2(self) -> float:
        """log2 of a bound on the probability that a value is wrong, of all operations that led here."""
        return self._stored.risk.log2

    @property
    def levels(self) -> int:
        """The levels that are left; operations refresh what has too few."""
        return self._context._levels_of(self._stored)

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError("len() of an encrypted array without axes")
        return self._shape[0]

    def __bool__(self) -> NoReturn:
        raise TypeError(_NO_TRUTH.format(what=self._what))

    def __index__(self) -> NoReturn:
        raise TypeError(
            f"an encrypted {self._what} is no index, as nobody here knows it; hm.integers.Table(values)[x] "
            "looks up"
        )

    # --- Files. ---

    def to_bytes(self, *, compression: int = 0) -> bytes:
        """The values as a file, with what is public of them: types, shape, error and `failure_log2`.
        `Context.load` reads it.

        Args:
            compression: that of `Ciphertext.to_bytes`.
        """
        failure = self.failure_log2
        header = files.Header(
            self._context.bits,
            self._dtype.name,
            list(self._shape),
            float(self.error),
            failure if isfinite(failure) else None,
        )
        return files.write(header, self._stored.value.to_bytes(compression=compression))

    def __bytes__(self) -> bytes:
        return self.to_bytes()

    def save(self, path: str | os.PathLike[str], *, compression: int = 0) -> None:
        """Write the file, which appears under its name only when it is complete.

        Raises:
            FileError: if it can not be written. An older file of that name is then untouched.
        """
        write_bytes(path, self.to_bytes(compression=compression))

    def shrink(self: EncryptedT, levels: int = 0) -> EncryptedT:
        """The same values with fewer levels, for sending: without any a fourth of the bytes, or less.

        Args:
            levels: what is left, if there are more: as `levels` of `Context.encrypt`.

        Raises:
            LevelError: if values never have so many.
        """
        return self._with(self._context._with_levels(self._stored, levels), self._shape)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"{type(self).__name__} do not pickle: they belong to a context. Send bytes(x) or x.save(path), "
            "and read them with load() of a context that has the same parameters"
        )

    # --- Places. ---

    def reshape(self: EncryptedT, *shape: int | Sequence[int]) -> EncryptedT:
        """The same values in another shape, for nothing; one extent may be -1.

        Raises:
            MismatchError: if the number of values would change.
            TypeError: if an extent is no integer.
        """
        wanted = as_extents(shape, "reshape")
        try:
            found = np.broadcast_to(np.False_, self._shape).reshape(wanted).shape
        except ValueError:
            raise _core.MismatchError(
                f"reshape: an array of shape {self._shape} cannot become {tuple(wanted)}; the number of "
                "values must stay"
            ) from None
        return self._with(self._held, found)

    def ravel(self: EncryptedT) -> EncryptedT:
        """The same values along one axis, for nothing."""
        return self.reshape(-1)

    def transpose(self: EncryptedT, *axes: int | Sequence[int]) -> EncryptedT:
        """The values with their axes in another order; without one, in reverse. Takes a level.

        Raises:
            ValueError: if they are not the axes of the array.
        """
        order = as_extents(axes, "transpose") if axes else None
        return self._chosen(self._places().transpose(order))

    @property
    def T(self: EncryptedT) -> EncryptedT:  # noqa: N802
        """The values with their axes in reverse."""
        return self.transpose()

    def __getitem__(self: EncryptedT, index: Any) -> EncryptedT:
        """Values by any index of NumPy that is not encrypted; always a copy. The first values, and whole
        ciphertexts, are taken for nothing; else a level goes.

        Raises:
            IndexError: if the index is out of range, or selects nothing.
            TypeError: if it is encrypted.
        """
        for each in index if isinstance(index, tuple) else (index,):
            if isinstance(each, Encrypted):
                raise TypeError(
                    f"an encrypted {each._what} is no index, as nobody here knows it: "
                    "hm.integers.Table(values)[x] looks up, hm.integers.where(condition, a, b) chooses"
                )
        chosen = np.asarray(self._places()[index])
        if chosen.size == 0:
            raise IndexError(f"index {index!r} selects nothing of an array of shape {self._shape}")
        return self._chosen(chosen)

    def __setitem__(self, index: Any, value: object) -> NoReturn:
        raise TypeError(
            "encrypted arrays do not change: hm.integers.where(condition, a, b) and "
            "hm.integers.concatenate make new ones"
        )

    def __iter__(self: EncryptedT) -> Iterator[EncryptedT]:
        for position in range(len(self)):
            yield self[position]

    def _places(self) -> arrangement.Places:
        """The number of each value."""
        return np.arange(self.size).reshape(self._shape)

    def _chosen(self: EncryptedT, chosen: arrangement.Places) -> EncryptedT:
        """Values by their numbers."""
        engine = self._context._engine
        is_moved = arrangement.whole_vectors(engine.layout, chosen) is None
        held = self._movable() if is_moved else self._held
        return self._with(arrangement.gathered(engine, held, chosen), chosen.shape)

    def _movable(self) -> Bounded:
        """With a level for a mask."""
        raise NotImplementedError

    def _with(self: EncryptedT, held: Bounded, shape: tuple[int, ...]) -> EncryptedT:
        return type(self)(self._context, held, shape, self._dtype)

    def _spread(self: EncryptedT, operation: str, shape: tuple[int, ...]) -> EncryptedT:
        """Broadcast to a shape, by NumPy's rules. MismatchError if it does not fit."""
        if shape == self._shape:
            return self
        try:
            chosen = np.broadcast_to(self._places(), shape)
        except ValueError:
            raise _core.MismatchError(
                f"{operation}: encrypted values of shape {self._shape} do not broadcast to {shape}"
            ) from None
        return self._with(self._held, shape) if chosen.size == self.size else self._chosen(chosen)

    def _zeros(self, shape: tuple[int, ...], dtype: DType) -> Integers:
        zeros: Integers = self._context.encrypt(np.zeros(shape, dtype))
        return zeros

    def _summed(
        self, axis: Axes, dtype: DTypeLike | None, keepdims: bool, kind: str
    ) -> tuple[DType, tuple[int, ...], tuple[int, ...]]:
        """The type of sums (None: the widest of a kind), the axes that they are over, and their shape."""
        bits = self._context.bits
        return integer_type(dtype or f"{kind}{bits // 8}", bits), *summed_axes(self._shape, axis, keepdims)

    def _require_same(self, operation: str, other: Encrypted) -> None:
        if other._context is not self._context:
            raise _core.MismatchError(f"{operation}: the operands belong to two contexts")

    def __repr__(self) -> str:
        return f"<encrypted {self._dtype} of shape {self._shape}>"


class Booleans(Encrypted):
    """Encrypted booleans: the results of comparisons."""

    _what = "boolean"

    def __and__(self, other: Booleans) -> Booleans:
        return self._combined("&", other, 1, 0)

    def __or__(self, other: Booleans) -> Booleans:
        return self._combined("|", other, -1, 1)

    def __xor__(self, other: Booleans) -> Booleans:
        return self._combined("^", other, -2, 1)

    def __invert__(self) -> Booleans:
        engine = self._context._engine
        return self._of(engine.inverted(self._held))

    def _combined(self, operation: str, other: object, products: int, sums: int) -> Booleans:
        """products a b + sums (a + b)."""
        if not isinstance(other, Booleans):
            raise TypeError(
                f"{operation}: encrypted booleans go with encrypted booleans, not {described(other)}"
            )
        self._require_same(operation, other)
        engine = self._context._engine
        shape = common_shape(operation, self._shape, other._shape)
        left, right = self._spread(operation, shape), other._spread(operation, shape)
        a, b = engine.ready_bits(left._held), engine.ready_bits(right._held)
        held = engine.product(a, b) * products
        if sums:
            held = held + a + b
        return left._of(replace(held, largest=1))

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
            return self._zeros(shape, found)
        engine, digits = self._context._engine, digits_of(found)
        held = sums.totals(engine, self._first_digit(), self._shape, axes, digits, filled=1, largest=1)
        return Integers(self._context, held, shape, found)

    def _movable(self) -> Bounded:
        return self._context._engine.ready_bits(self._held)

    def _first_digit(self) -> Bounded:
        engine = self._context._engine
        held = engine.ready_bits(self._held, 4, 2.0**-16)
        return engine.masked(held, engine.layout.only(0))


class Integers(Encrypted):
    """Encrypted integers of one of NumPy's types, with its operators: they wrap around as NumPy's do, and
    types and shapes of results are NumPy's. Operands are encrypted arrays, Python's integers, which take the
    other's type, and NumPy's integers."""

    _what = "integer"
    __hash__ = None  # type: ignore[assignment]

    @property
    def _digits(self) -> int:
        return digits_of(self._dtype)

    def _of(self, held: Bounded, dtype: DType | None = None) -> Integers:
        return Integers(self._context, held, self._shape, dtype or self._dtype)

    # --- Operands. ---

    def _operand(self, operation: str, other: object) -> Integers:
        """An encrypted operand; plain ones are encrypted, spread to the shape of the result."""
        if isinstance(other, Integers):
            self._require_same(operation, other)
            return other
        if isinstance(other, Encrypted):
            raise TypeError(
                f"{operation}: the operand is an encrypted boolean; where(condition, 1, 0) is an integer"
            )
        plain = plain_operand(operation, other, self._dtype)
        shape = common_shape(operation, self._shape, plain.shape)
        spread = np.ascontiguousarray(np.broadcast_to(plain, shape)).reshape(shape)
        encrypted: Integers = self._context.encrypt(spread)
        return encrypted

    def _together(self, operation: str, other: object) -> tuple[Integers, Integers, DType]:
        """Both operands in the type and the shape of the result."""
        right = self._operand(operation, other)
        dtype = common_type(operation, self._dtype, right._dtype)
        shape = common_shape(operation, self._shape, right._shape)
        left = self.astype(dtype)._spread(operation, shape)._ready()
        if right is self:
            return left, left, dtype
        return left, right.astype(dtype)._spread(operation, shape)._ready(), dtype

    def _movable(self) -> Bounded:
        return self._context._engine.ready(self._held, 1)

    def _ready(self) -> Integers:
        """The same with a level left: sums of two scales take one."""
        held = self._context._engine.ready(self._held, 1)
        return self if held is self._held else self._of(held)

    # --- Arithmetic. ---

    def __add__(self, other: object) -> Integers:
        a, b, dtype = self._together("+", other)
        return a._of(operations.add(self._context._engine, a._held, b._held, digits_of(dtype))[0], dtype)

    __radd__ = __add__

    def __sub__(self, other: object) -> Integers:
        a, b, dtype = self._together("-", other)
        return a._of(operations.subtract(self._context._engine, a._held, b._held, digits_of(dtype)), dtype)

    def __rsub__(self, other: object) -> Integers:
        return self._operand("-", other) - self

    def __mul__(self, other: object) -> Integers:
        a, b, dtype = self._together("*", other)
        return a._of(operations.multiply(self._context._engine, a._held, b._held, digits_of(dtype)), dtype)

    __rmul__ = __mul__

    def __neg__(self) -> Integers:
        return self._of(operations.negate(self._context._engine, self._ready()._held, self._digits))

    def __pos__(self) -> Integers:
        return self

    def __abs__(self) -> Integers:
        if self._dtype.kind == "u":
            return self
        engine = self._context._engine
        ready = self._ready()
        below = operations.negative(engine, ready._held, self._digits)
        return self._of(operations.select(engine, below, (-ready)._held, ready._held))

    def __floordiv__(self, other: object) -> Integers:
        return self._divided("//", other, with_remainder=False)[0]

    def __mod__(self, other: object) -> Integers:
        return self._divided("%", other, with_quotient=False)[1]

    def __divmod__(self, other: object) -> tuple[Integers, Integers]:
        return self._divided("divmod", other)

    def _divided(
        self, operation: str, other: object, *, with_quotient: bool = True, with_remainder: bool = True
    ) -> tuple[Integers, Integers]:
        """Quotients, rounded down, and remainders; what is not asked for may be the other."""
        if isinstance(other, Encrypted):
            self._refuse_division(other)
        plain = plain_operand(operation, other, self._dtype)
        divisor = int(plain.reshape(-1)[0]) if plain.size else 1
        if not (plain == divisor).all():
            self._refuse_division(other)
        dtype = common_type(operation, self._dtype, plain.dtype)
        shape = common_shape(operation, self._shape, plain.shape)
        a = self.astype(dtype)._spread(operation, shape)
        if divisor == 0:
            return a._zeros(shape, dtype), a._zeros(shape, dtype)
        found = division.divided(
            self._context._engine,
            a._held,
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

    __truediv__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rdivmod__ = _refuse_division

    # --- Bits. ---

    def __and__(self, other: object) -> Integers:
        return self._bitwise("&", other, lambda a, b: a & b)

    def __or__(self, other: object) -> Integers:
        return self._bitwise("|", other, lambda a, b: a | b)

    def __xor__(self, other: object) -> Integers:
        return self._bitwise("^", other, lambda a, b: a ^ b)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def _bitwise(self, operation: str, other: object, of: operations.Bitwise) -> Integers:
        a, b, dtype = self._together(operation, other)
        return a._of(operations.bitwise(self._context._engine, a._held, b._held, of), dtype)

    def __invert__(self) -> Integers:
        return self._of(operations.invert(self._context._engine, self._held, self._digits))

    def __lshift__(self, amount: object) -> Integers:
        return self._shifted("<<", amount, 1)

    def __rshift__(self, amount: object) -> Integers:
        return self._shifted(">>", amount, -1)

    def __rlshift__(self, other: object) -> Integers:
        return self._operand("<<", other) << self

    def __rrshift__(self, other: object) -> Integers:
        return self._operand(">>", other) >> self

    def _shifted(self, operation: str, amount: object, sign: int) -> Integers:
        engine = self._context._engine
        if isinstance(amount, Encrypted):
            if not isinstance(amount, Integers) or amount._dtype != np.uint8:
                raise TypeError(
                    f"{operation}: encrypted amounts are uint8, not {amount._dtype}; "
                    "amount.astype(np.uint8) is"
                )
            a, by, dtype = self._together(operation, amount)
            held = shifts.shift_by(
                engine, a._held, by._held, digits_of(dtype), left=sign > 0, signed=dtype.kind == "i"
            )
            return a._of(held, dtype)
        if isinstance(amount, bool) or not isinstance(amount, (int, np.integer)) or amount < 0:
            raise TypeError(f"{operation}: the amount is an integer of 0 or more, not {described(amount)}")
        places = min(int(amount), self._dtype.itemsize * 8) * sign
        signed = self._dtype.kind == "i"
        return self._of(operations.shift(engine, self._ready()._held, places, self._digits, signed))

    # --- Comparisons. ---

    def __lt__(self, other: object) -> Booleans:
        return self._less("<", other, swap=False)

    def __gt__(self, other: object) -> Booleans:
        return self._less(">", other, swap=True)

    def __le__(self, other: object) -> Booleans:
        return ~self._less("<=", other, swap=True)

    def __ge__(self, other: object) -> Booleans:
        return ~self._less(">=", other, swap=False)

    def __eq__(self, other: object) -> Booleans:  # type: ignore[override]
        a, b, _ = self._together("==", other)
        return a._condition(operations.equal(self._context._engine, a._held, b._held))

    def __ne__(self, other: object) -> Booleans:  # type: ignore[override]
        return ~(self == other)

    def _less(self, operation: str, other: object, *, swap: bool) -> Booleans:
        a, b, dtype = self._together(operation, other)
        if swap:
            a, b = b, a
        signed = dtype.kind == "i"
        engine = self._context._engine
        return a._condition(operations.less(engine, a._held, b._held, digits_of(dtype), signed))

    def _condition(self, held: Bounded) -> Booleans:
        return Booleans(self._context, replace(held, largest=1), self._shape, np.dtype(np.bool_))

    # --- Types, sums. ---

    def astype(self, dtype: DTypeLike) -> Integers:
        """The same values in another type, modulo 2^bits of it, as NumPy's astype."""
        found = integer_type(dtype, self._context.bits)
        engine, before, after = self._context._engine, self._digits, digits_of(found)
        held = self._held
        if after < before:
            held = engine.masked(engine.ready(held, 1), engine.layout.by_digit([1.0] * after))
        elif after > before and self._dtype.kind == "i":
            held = operations.extend(engine, self._ready()._held, before, after)
        return self if found == self._dtype else self._of(held, found)

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
            return self._zeros(shape, found)
        a = self.astype(found)
        if all(self._shape[k] == 1 for k in axes):
            return a.reshape(shape)
        digits = digits_of(found)
        filled = digits if self._dtype.kind == "i" else min(digits, self._digits)
        held = sums.totals(self._context._engine, a._held, self._shape, axes, digits, filled=filled)
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
        held, signed = self._ready()._held, self._dtype.kind == "i"
        return conversion.to_numbers(self._context._engine, held, self._digits, signed=signed, factor=factor)

    def refresh(self) -> Integers:
        """The same values with most of the levels and least error. Operations do it by themselves."""
        return self._of(self._context._engine.refreshed(self._held))


def require_integers(operation: str, x: Any) -> Integers:
    """TypeError if it is no array of encrypted integers."""
    if isinstance(x, Integers):
        return x
    raise TypeError(f"{operation}: takes encrypted integers, not {described(x)}")
