"""The namespace of the array API standard (https://data-apis.org/array-api) for encrypted arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from hemera.arrays import statistics
from hemera.arrays.recorded import Recorded, broadcast, joined_shape, rearranged
from hemera.arrays.running import running_sums
from hemera.errors import MismatchError

_NUMPY_NAMES = {
    **{f"a{name}": f"arc{name}" for name in ("cos", "cosh", "sin", "sinh", "tan", "tan2", "tanh")},
    **{f"bitwise_{name}": name for name in ("invert", "left_shift", "right_shift")},
    **{"bool": "bool_", "concat": "concatenate", "conj": "conjugate", "permute_dims": "transpose"},
    "pow": "power",
}
"""Names of the standard that NumPy has since 2.0, with those that it has always had."""


class Namespace:
    """NumPy by the standard's names and arguments. Functions that take encrypted arrays are those of
    docs/compile.md; others of NumPy take plain arrays, and refuse encrypted ones by a TypeError."""

    __array_api_version__ = "2024.12"

    def __getattr__(self, name: str) -> Any:
        return getattr(np, _NUMPY_NAMES.get(name, name))

    def asarray(self, obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Any:
        """An encrypted array as it is, or of another type; what else there is as a plain array."""
        del device
        if not isinstance(obj, Recorded):
            return np.array(obj, dtype) if copy else np.asarray(obj, dtype)
        if dtype is not None and dtype != obj.dtype:
            return self.astype(obj, dtype)
        return rearranged(obj, np.copy) if copy else obj

    def astype(self, x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
        """See `Array.astype`."""
        del device
        found = x.astype(dtype)
        return found.copy() if copy and found is x else found

    def broadcast_arrays(self, *arrays: Any) -> list[Any]:
        """All with the shape to which they broadcast."""
        shape = joined_shape(*(each.shape for each in arrays))
        return [broadcast(x, shape) if isinstance(x, Recorded) else np.broadcast_to(x, shape) for x in arrays]

    def result_type(self, *arrays_and_dtypes: Any) -> np.dtype[Any]:
        """The type to which they are promoted."""
        types = (each.dtype if isinstance(each, Recorded) else each for each in arrays_and_dtypes)
        return np.result_type(*types)

    def cumulative_sum(
        self, x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
    ) -> Any:
        """Running sums; with `include_initial` from 0 on."""
        if axis is None and x.ndim != 1:
            raise ValueError("cumulative_sum of more than one axis needs axis=")
        at = 0 if axis is None else axis
        found = running_sums(x, at) if isinstance(x, Recorded) else np.cumsum(x, at)
        if include_initial:
            found = np.concatenate([np.zeros_like(np.take(found, [0], at)), found], at)
        return found if dtype is None else found.astype(dtype)

    def std(self, x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
        """As `numpy.std` with ddof."""
        return np.std(x, axis=axis, ddof=correction, keepdims=keepdims)

    def var(self, x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
        """As `numpy.var` with ddof."""
        return np.var(x, axis=axis, ddof=correction, keepdims=keepdims)

    def sort(self, x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
        """The elements along an axis in statistics."""
        del stable
        found = np.sort(x, axis)
        return np.flip(found, axis) if descending else found

    def argsort(self, x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
        """The places of the elements along an axis in order, equal ones in theirs."""
        del stable
        signed = x * -1 if descending else x
        return (
            statistics.argsort(signed, axis)
            if isinstance(x, Recorded)
            else np.argsort(signed, axis, "stable")
        )

    def vecdot(self, x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
        """Sums of products of two arrays along an axis, which has one extent in both."""
        if x1.shape[axis] != x2.shape[axis]:
            raise MismatchError(f"vecdot: shapes {x1.shape} and {x2.shape} differ along axis {axis}")
        return np.sum(x1 * x2, axis=axis)

    def matrix_transpose(self, x: Any, /) -> Any:
        """The last two axes in reverse."""
        return np.swapaxes(x, -1, -2)


NAMESPACE = Namespace()
"""The value of `x.__array_namespace__()`."""
