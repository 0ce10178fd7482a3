"""Functions of encrypted integers: choices, and the names that users of TFHE-rs know."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hemera import _core
from hemera.inputs.arguments import described
from hemera.inputs.plain import plain_array
from hemera.integers import operations, overflow
from hemera.integers.array import Booleans, Integers, ready_together, require_integers, together
from hemera.integers.encrypted import Encrypted, engine_of, held_by, require_same, spread
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


select = where


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


def _pair(operation: str, a: Any, b: Any) -> tuple[Integers, Integers]:
    first, second = (b, a) if isinstance(b, Integers) and not isinstance(a, Integers) else (a, b)
    return ready_together(operation, require_integers(operation, first), second)


def eq(a: Integers, b: Any) -> Booleans:
    """a == b."""
    found: Booleans = require_integers("eq", a) == b
    return found


def ne(a: Integers, b: Any) -> Booleans:
    """a != b."""
    found: Booleans = require_integers("ne", a) != b
    return found


def lt(a: Integers, b: Any) -> Booleans:
    """a < b."""
    found: Booleans = require_integers("lt", a) < b
    return found


def le(a: Integers, b: Any) -> Booleans:
    """a <= b."""
    found: Booleans = require_integers("le", a) <= b
    return found


def gt(a: Integers, b: Any) -> Booleans:
    """a > b."""
    found: Booleans = require_integers("gt", a) > b
    return found


def ge(a: Integers, b: Any) -> Booleans:
    """a >= b."""
    found: Booleans = require_integers("ge", a) >= b
    return found


def overflowing_add(a: Integers, b: Any) -> tuple[Integers, Booleans]:
    """a + b, and where it wrapped around: of unsigned integers in the same refresh, of signed ones with one
    more, of signs."""
    return _overflowing("overflowing_add", a, b, subtracts=False)


def overflowing_sub(a: Integers, b: Any) -> tuple[Integers, Booleans]:
    """a - b, and where it wrapped around, as `overflowing_add`."""
    return _overflowing("overflowing_sub", a, b, subtracts=True)


def _overflowing(operation: str, a: Integers, b: Any, *, subtracts: bool) -> tuple[Integers, Booleans]:
    left, right, dtype = together(operation, require_integers(operation, a), b)
    found, wrapped = overflow.overflowing(
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

    def __getitem__(self, x: Integers) -> Integers:
        """The entries at `x`, of uint8; with 16 entries at its last four bits.

        Raises:
            TypeError: if `x` is of another type, or the entries' type is too wide for the context.
        """
        index = require_integers("Table", x)
        if index.dtype != np.uint8:
            raise TypeError(f"a table is looked up by uint8, not by {index.dtype}; x.astype(np.uint8) is")
        dtype = integer_type(self.values.dtype, index.context.bits)
        words = as_words(self.values)
        held = operations.look_up(engine_of(index), held_by(index), words, digits_of(dtype))
        return Integers(index.context, held, index.shape, dtype)
