"""NumPy's functions of encrypted integers: its protocols find them here."""

from __future__ import annotations

from typing import Any

import numpy as np

from hemera.integers import functions, joining
from hemera.integers.array import Integers, require_integers
from hemera.integers.encrypted import Encrypted


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
        return functions.extreme(require_integers("np.max and np.min", x), choose, axis, keepdims)

    return reduce


def _concatenate(arrays: Any, /, axis: Any = 0) -> Any:
    if axis is None:
        return joining.concatenate([x.ravel() if isinstance(x, Encrypted) else np.ravel(x) for x in arrays])
    return joining.concatenate(arrays, axis)


Integers._meanings |= {np.minimum: functions.minimum, np.maximum: functions.maximum}
Encrypted._functions = {
    np.where: functions.where,
    np.concatenate: _concatenate,
    np.stack: joining.stack,
    np.broadcast_to: joining.broadcast_to,
    np.sum: _sum,
    np.max: _extreme(functions.maximum),
    np.min: _extreme(functions.minimum),
    np.reshape: lambda x, shape: x.reshape(shape),
    np.ravel: lambda x: x.ravel(),
    np.transpose: lambda x, axes=None: x.transpose() if axes is None else x.transpose(axes),
    np.shape: lambda x: x.shape,
    np.ndim: lambda x: x.ndim,
    np.size: lambda x: x.size,
}
