"""NumPy's functions of encrypted integers: its protocols find them here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from hemera.inputs.arguments import described
from hemera.integers import functions, joining
from hemera.integers.array import Booleans
from hemera.integers.encrypted import Encrypted

_OPERATORS: Mapping[np.ufunc, tuple[str, str]] = {
    np.add: ("add", "radd"),
    np.subtract: ("sub", "rsub"),
    np.multiply: ("mul", "rmul"),
    np.floor_divide: ("floordiv", "rfloordiv"),
    np.remainder: ("mod", "rmod"),
    np.divmod: ("divmod", "rdivmod"),
    np.true_divide: ("truediv", "rtruediv"),
    np.bitwise_and: ("and", "rand"),
    np.bitwise_or: ("or", "ror"),
    np.bitwise_xor: ("xor", "rxor"),
    np.left_shift: ("lshift", "rlshift"),
    np.right_shift: ("rshift", "rrshift"),
    np.less: ("lt", "gt"),
    np.less_equal: ("le", "ge"),
    np.greater: ("gt", "lt"),
    np.greater_equal: ("ge", "le"),
    np.equal: ("eq", "eq"),
    np.not_equal: ("ne", "ne"),
}
"""The methods of the left and of the right operand, by function."""
_OF_TRUTHS: Mapping[np.ufunc, np.ufunc] = {
    np.logical_and: np.bitwise_and,
    np.logical_or: np.bitwise_or,
    np.logical_xor: np.bitwise_xor,
}
_UNARY: Mapping[np.ufunc, str] = {
    np.negative: "neg",
    np.positive: "pos",
    np.absolute: "abs",
    np.invert: "invert",
}


def _operator(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    """An operator by its methods: the operator itself would call an array's, which comes back here."""
    on_the_left, on_the_right = (f"__{name}__" for name in _OPERATORS[ufunc])

    def call(left: Any, right: Any) -> Any:
        for x, name, other in ((left, on_the_left, right), (right, on_the_right, left)):
            if isinstance(x, Encrypted) and hasattr(type(x), name):
                found = getattr(x, name)(other)
                if found is not NotImplemented:
                    return found
        raise TypeError(f"np.{ufunc.__name__} takes no {described(left)} and {described(right)} together")

    return call


def _of_truths(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    """A function of truth values."""
    operator = _operator(_OF_TRUTHS[ufunc])

    def call(left: Any, right: Any) -> Any:
        for x in (left, right):
            if isinstance(x, Encrypted) and not isinstance(x, Booleans):
                raise TypeError(f"np.{ufunc.__name__} takes encrypted booleans; x != 0 are those of integers")
        return operator(left, right)

    return call


def _unary(name: str) -> Callable[[Any], Any]:
    def call(x: Any) -> Any:
        method = getattr(x, f"__{name}__", None)
        if method is None:
            raise TypeError(f"np.{name} takes no {described(x)}")
        return method()

    return call


def _logical_not(x: Any) -> Any:
    return ~x if isinstance(x, Booleans) else x == 0


def _sum(
    x: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, **others: Any
) -> Any:
    if out is not None or others:
        given = ", ".join(["out"] * (out is not None) + list(others))
        raise TypeError(f"np.sum takes no {given} with encrypted arrays")
    return x.sum(axis, dtype=dtype, keepdims=keepdims)


def _concatenate(arrays: Any, /, axis: Any = 0) -> Any:
    if axis is None:
        return joining.concatenate([x.ravel() if isinstance(x, Encrypted) else np.ravel(x) for x in arrays])
    return joining.concatenate(arrays, axis)


Encrypted._ufuncs = {
    **{ufunc: _operator(ufunc) for ufunc in _OPERATORS},
    **{ufunc: _of_truths(ufunc) for ufunc in _OF_TRUTHS},
    **{ufunc: _unary(name) for ufunc, name in _UNARY.items()},
    np.logical_not: _logical_not,
    np.minimum: functions.minimum,
    np.maximum: functions.maximum,
}
Encrypted._functions = {
    np.where: functions.where,
    np.concatenate: _concatenate,
    np.stack: joining.stack,
    np.broadcast_to: joining.broadcast_to,
    np.sum: _sum,
    np.reshape: lambda x, shape: x.reshape(shape),
    np.ravel: lambda x: x.ravel(),
    np.transpose: lambda x, axes=None: x.transpose() if axes is None else x.transpose(axes),
    np.shape: lambda x: x.shape,
    np.ndim: lambda x: x.ndim,
    np.size: lambda x: x.size,
}
