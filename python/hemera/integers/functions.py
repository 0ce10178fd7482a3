"""Functions of encrypted integers: choices, sums that tell whether they wrapped around, and tables; and those
of NumPy, whose protocols find them here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from hemera import _core
from hemera.inputs.arguments import described
from hemera.inputs.plain import plain_array
from hemera.integers import joining, operations
from hemera.integers.array import Booleans, Integers, ready_together, require_integers, together
from hemera.integers.encrypted import Axes, Encrypted, EncryptedT, engine_of, held_by, require_same, spread
from hemera.integers.layout import BASE
from hemera.integers.types import (
    DType,
    as_words,
    common_shape,
    common_type,
    digits_of,
    integer_type,
    plain_operand,
    plain_values,
    summed_axes,
)


def where(condition: Any, a: Any, b: Any) -> Any:
    """`a` where the condition holds, else `b`, in NumPy's type of both. One of Python's integers takes the
    other's type; two of them that of `Context.encrypt`.

    Args:
        condition: encrypted booleans; or plain ones, if `a` or `b` is encrypted.
        a, b: encrypted integers or booleans, or plain ones.

    Raises:
        TypeError: if the condition is no array of booleans.
        OverflowError: if one of Python's integers is out of the result's type.
    """
    condition = _condition(condition, a, b)
    if not isinstance(a, Integers) and not isinstance(b, Integers):
        dtype = _chosen_type(a, b, condition.context.bits)
        if dtype.kind == "b":
            return (condition & a) | (~condition & b)
        a = _number(condition, a, dtype)
    if isinstance(a, Integers):
        left, right, dtype = together("where", a, b)
    else:
        right, left, dtype = together("where", b, a)
    require_same("where", condition, left)
    shape = common_shape("where", condition.shape, left.shape)
    condition = spread("where", condition, shape)
    left, right = spread("where", left, shape), spread("where", right, shape)
    held = operations.select(engine_of(condition), held_by(condition), held_by(left), held_by(right))
    return Integers(left.context, held, left.shape, dtype)


def _condition(condition: Any, *others: Any) -> Booleans:
    """The condition, encrypted."""
    if isinstance(condition, Booleans):
        return condition
    context = next((x.context for x in others if isinstance(x, Encrypted)), None)
    if context is not None and not isinstance(condition, Encrypted):
        plain = plain_array(condition, "where")
        if plain.dtype == bool:
            found: Booleans = context.encrypt(plain)
            return found
    raise TypeError(f"where: the condition is an array of encrypted booleans, not {described(condition)}")


def _chosen_type(a: Any, b: Any, bits: int) -> DType:
    """NumPy's type of truth values, encrypted or plain, and plain integers."""
    types = [
        x.dtype if isinstance(x, Booleans) else plain_values("where", x, bits).dtype
        for x in (a, b)
        if type(x) is not int
    ]
    if not types or (len(types) == 1 and types[0].kind == "b"):
        types.append(np.dtype(f"i{bits // 8}"))
    if all(each.kind == "b" for each in types):
        return np.dtype(np.bool_)
    return integer_type(common_type("where", types[0], types[-1]), bits)


def _number(condition: Booleans, x: Any, dtype: DType) -> Integers:
    """Truth values, or plain ones of the condition's shape, as encrypted integers."""
    if isinstance(x, Booleans):
        return x.astype(dtype)
    plain = plain_operand("where", x, dtype, condition.context.bits).astype(dtype)
    shape = common_shape("where", plain.shape, condition.shape)
    found: Integers = condition.context.encrypt(np.broadcast_to(plain, shape))
    return found


def minimum(a: Any, b: Any) -> Any:
    """The smaller value of each pair, of which one is encrypted."""
    left, right = _pair("minimum", a, b)
    return where(left < right, left, right)


def maximum(a: Any, b: Any) -> Any:
    """The larger value of each pair, of which one is encrypted."""
    left, right = _pair("maximum", a, b)
    return where(left < right, right, left)


def extreme(
    x: Integers, choose: Callable[[Integers, Integers], Integers], axis: Axes, keepdims: bool
) -> Integers:
    """The largest or the smallest values along some axes (None: of all), by halves."""
    axes, shape = summed_axes(x.shape, axis, keepdims)
    if not all(x.shape[at] for at in axes):
        raise ValueError("zero-size array to reduction operation which has no identity")  # NumPy's
    if not x.size:
        return x.reshape(shape)
    rest, axes = (x.ravel(), (0,)) if axis is None else (x, axes)
    for at in axes:
        while (extent := rest.shape[at]) > 1:
            before, half = (slice(None),) * at, (extent + 1) // 2
            first, last = (*before, slice(half)), (*before, slice(extent - half, None))
            rest = choose(rest[first], rest[last])
    return rest.reshape(shape)


def _pair(operation: str, a: Any, b: Any) -> tuple[Integers, Integers]:
    first, second = (b, a) if isinstance(b, Integers) and not isinstance(a, Integers) else (a, b)
    return ready_together(operation, require_integers(operation, first), second)


def overflowing_add(a: Integers, b: Any) -> tuple[Integers, Booleans]:
    """a + b, and where it wrapped around: of unsigned integers in the same refresh, of signed ones with one
    more, of signs."""
    return _overflowing("overflowing_add", a, b, subtracts=False)


def overflowing_sub(a: Integers, b: Any) -> tuple[Integers, Booleans]:
    """a - b, and where it wrapped around, as `overflowing_add`."""
    return _overflowing("overflowing_sub", a, b, subtracts=True)


def _overflowing(operation: str, a: Integers, b: Any, *, subtracts: bool) -> tuple[Integers, Booleans]:
    left, right, dtype = together(operation, require_integers(operation, a), b)
    found, wrapped = operations.overflowing(
        engine_of(left),
        held_by(left),
        held_by(right),
        digits_of(dtype),
        subtracts=subtracts,
        signed=dtype.kind == "i",
    )
    return Integers(left.context, found, left.shape, dtype), left._condition(wrapped)


class Table:
    """A table of integers, looked up by encrypted ones: `Table(values)[x]`.

        sbox = hm.integers.Table(np.arange(256, dtype=np.uint8)[::-1].copy())
        y = sbox[x]  # x of uint8

    Args:
        values: 16 or 256 integers of NumPy. Their type is the results'.

    Raises:
        ParameterError: if there is another number of entries.
        TypeError: if the entries are no integers.
    """

    def __init__(self, values: ArrayLike) -> None:
        entries = np.array(plain_array(values, "a table"))
        if entries.dtype.kind not in "iu":
            raise TypeError(f"a table of {entries.dtype}; its entries are integers")
        if entries.ndim != 1 or len(entries) not in (BASE, BASE * BASE):
            raise _core.ParameterError(
                f"a table of shape {entries.shape}; it has 16 entries, or 256, and more are not there yet"
            )
        self.values = entries

    def __getitem__(self, x: Any) -> Any:
        """The entries at `x`, of uint8; with 16 entries at its last four bits.

        Raises:
            TypeError: if `x` is of another type, or the entries' type is too wide for the context.
        """
        if hasattr(x, "looked_up"):  # of a function that is being recorded
            return x.looked_up(self.values)
        index = self._index(x)
        dtype = integer_type(self.values.dtype, index.context.bits)
        held = operations.look_up(engine_of(index), held_by(index), as_words(self.values), digits_of(dtype))
        return Integers(index.context, held, index.shape, dtype)

    def bits(self, x: Integers | Booleans) -> Booleans:
        """The bits of the entries at `x`, in one refresh: encrypted booleans of shape (bits of the entries'
        type, ...), the lowest first. The type may be wider than the context's.

        Args:
            x: of uint8; or the bits of these, of shape (8, ...), or (4, ...) for 16 entries.

        Raises:
            TypeError: if `x` is of another type.
            MismatchError: if there are other bits.
        """
        words, count = as_words(self.values), 8 * self.values.dtype.itemsize
        if isinstance(x, Booleans):
            needed = len(self.values).bit_length() - 1
            if x.shape[:1] != (needed,):
                raise _core.MismatchError(f"Table: its indices have {needed} bits, not the shape {x.shape}")
            held = operations.bits_at_bits(engine_of(x), [held_by(bit) for bit in x], words, count)
        else:
            held = operations.bits_at(engine_of(x), held_by(self._index(x)), words, count)
        shape = x.shape[1:] if isinstance(x, Booleans) else x.shape
        found: Booleans = joining.stack(
            [Booleans(x.context, each, shape, np.dtype(np.bool_)) for each in held]
        )
        return found

    @staticmethod
    def _index(x: Integers) -> Integers:
        index = require_integers("Table", x)
        if index.dtype != np.uint8:
            raise TypeError(f"a table is looked up by uint8, not by {index.dtype}; x.astype(np.uint8) is")
        return index


def from_bits(bits: Booleans | Sequence[Booleans], dtype: DTypeLike) -> Integers:
    """The integers of a type with these bits, without a refresh; takes a level.

    Args:
        bits: encrypted booleans, the lowest bit first: a sequence of arrays of one shape, or an array along
            its first axis. Those that lack are 0.

    Raises:
        MismatchError: if there are none, more than the type has, or of different shapes or contexts.
        TypeError: if they are no encrypted booleans, or the type is too wide for the context.
    """
    if isinstance(bits, Booleans):  # all at once, with a level to take them apart
        ready = engine_of(bits).ready_bits(held_by(bits), 2)
        bits = Booleans(bits.context, ready, bits.shape, bits.dtype)
    rows, found = _rows("from_bits", bits, Booleans, dtype, 1)
    engine = engine_of(rows[0])
    held = operations.from_bits(engine, [engine.ready_bits(held_by(row)) for row in rows])
    return Integers(rows[0].context, held, rows[0].shape, found)


def from_bytes(x: Integers | Sequence[Integers], dtype: DTypeLike) -> Integers:
    """The integers of a type with these bytes, without a refresh.

    Args:
        x: encrypted uint8, the lowest byte first: as the bits of `from_bits`.

    Raises:
        MismatchError, TypeError: as of `from_bits`.
    """
    rows, found = _rows("from_bytes", x, Integers, dtype, 8)
    if any(row.dtype != np.uint8 for row in rows):
        raise TypeError(f"from_bytes: takes uint8, not {rows[0].dtype}")
    held = operations.from_bytes(engine_of(rows[0]), [held_by(row) for row in rows])
    return Integers(rows[0].context, held, rows[0].shape, found)


def _rows(
    operation: str, given: Any, kind: type[EncryptedT], dtype: DTypeLike, width: int
) -> tuple[list[EncryptedT], DType]:
    """Arrays of one shape, each with `width` bits of the integers of a type, and the type."""
    rows = list(given)
    for row in rows:
        if not isinstance(row, kind):
            raise TypeError(f"{operation}: takes encrypted {kind.__name__.lower()}, not {described(row)}")
        require_same(operation, rows[0], row)
    shapes = {row.shape for row in rows}
    found = integer_type(dtype, rows[0].context.bits if rows else 64)
    if len(shapes) != 1 or len(rows) * width > 8 * found.itemsize:
        told = ", ".join(map(str, shapes))
        raise _core.MismatchError(
            f"{operation}: takes from 1 to {8 * found.itemsize // width} arrays of one shape for {found}, "
            f"not {len(rows)} of {told or 'none'}"
        )
    return rows, found


def _sum(
    x: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, **others: Any
) -> Any:
    if out is not None or others:
        given = ", ".join(["out"] * (out is not None) + list(others))
        raise TypeError(f"np.sum takes no {given} with encrypted arrays")
    return x.sum(axis, dtype=dtype, keepdims=keepdims)


def _extreme(choose: Any) -> Any:
    def reduce(x: Any, axis: Any = None, out: None = None, keepdims: bool = False) -> Any:
        if out is not None:
            raise TypeError("np.max and np.min take no out with encrypted arrays")
        return extreme(require_integers("np.max and np.min", x), choose, axis, keepdims)

    return reduce


def _concatenate(arrays: Any, /, axis: Any = 0) -> Any:
    if axis is None:
        return joining.concatenate([x.ravel() if isinstance(x, Encrypted) else np.ravel(x) for x in arrays])
    return joining.concatenate(arrays, axis)


Integers._meanings |= {np.minimum: minimum, np.maximum: maximum}
Encrypted._functions = {
    np.where: where,
    np.concatenate: _concatenate,
    np.stack: joining.stack,
    np.broadcast_to: joining.broadcast_to,
    np.sum: _sum,
    np.max: _extreme(maximum),
    np.min: _extreme(minimum),
    np.reshape: lambda x, shape: x.reshape(shape),
    np.ravel: lambda x: x.ravel(),
    np.transpose: lambda x, axes=None: x.transpose() if axes is None else x.transpose(axes),
    np.shape: lambda x: x.shape,
    np.ndim: lambda x: x.ndim,
    np.size: lambda x: x.size,
}
