"""Functions of encrypted integers: choices, and the names that users of TFHE-rs know."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hemera import _core
from hemera.inputs.arguments import described
from hemera.inputs.plain import plain_array
from hemera.integers import operations, overflow
from hemera.integers.array import Booleans, Integers, require_integers
from hemera.integers.layout import BASE
from hemera.integers.types import as_words, common_shape, common_type, digits_of, integer_type


def where(condition: Booleans, a: Any, b: Any) -> Integers:
    """`a` where the condition holds, else `b`. Where neither is encrypted, Python's integers take the
    context's widest signed type.

    Raises:
        TypeError: if the condition is no array of encrypted booleans.
    """
    if not isinstance(condition, Booleans):
        raise TypeError(f"where: the condition is an array of encrypted booleans, not {described(condition)}")
    context = condition.context
    if not isinstance(a, Integers) and not isinstance(b, Integers):
        both = plain_array(a, "where"), plain_array(b, "where")
        dtype = common_type("where", both[0].dtype, both[1].dtype)
        if all(isinstance(x, int) for x in (a, b)):
            dtype = np.dtype(f"i{context.bits // 8}")
        whole = np.broadcast_to(both[0].astype(dtype), common_shape("where", both[0].shape, condition.shape))
        a = context.encrypt(np.ascontiguousarray(whole))
    if isinstance(a, Integers):
        left, right, dtype = a._together("where", b)
    else:
        right, left, dtype = b._together("where", a)
    condition._require_same("where", left)
    shape = common_shape("where", condition.shape, left.shape)
    condition = condition._spread("where", shape)
    left, right = left._spread("where", shape), right._spread("where", shape)
    held = operations.select(context._engine, condition._held, left._held, right._held)
    return left._of(held, dtype)


select = where


def minimum(a: Integers, b: Any) -> Integers:
    """The smaller value of each pair."""
    left, right = require_integers("minimum", a)._ready_together("minimum", b)
    return where(left < right, left, right)


def maximum(a: Integers, b: Any) -> Integers:
    """The larger value of each pair."""
    left, right = require_integers("maximum", a)._ready_together("maximum", b)
    return where(left < right, right, left)


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
    left, right, dtype = require_integers(operation, a)._together(operation, b)
    found, wrapped = overflow.overflowing(
        left.context._engine,
        left._held,
        right._held,
        digits_of(dtype),
        subtracts=subtracts,
        signed=dtype.kind == "i",
    )
    return left._of(found, dtype), left._condition(wrapped)


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
        held = operations.look_up(index.context._engine, index._held, words, digits_of(dtype))
        return index._of(held, dtype)
