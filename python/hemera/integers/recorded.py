"""Functions of arrays of integers as data: calls that NumPy's arrays and encrypted ones both take, one after
the other. What a function does with NumPy's is its meaning."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from hemera import _core
from hemera.integers.encrypted import Encrypted
from hemera.integers.functions import Table
from hemera.integers.types import TYPES

_MOST = 1 << 22
"""The most values of an array."""
_MOST_CALLS = 10_000


def _taken(table: Any, x: Any) -> Any:
    return Table(table)[x] if isinstance(x, Encrypted) else np.take(table, x % len(table))


_UFUNCS = (
    *(
        "add",
        "subtract",
        "multiply",
        "floor_divide",
        "remainder",
        "negative",
        "absolute",
        "minimum",
        "maximum",
    ),
    *("less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "left_shift", "right_shift"),
    *("bitwise_and", "bitwise_or", "bitwise_xor", "invert", "logical_and", "logical_or", "logical_not"),
)
_OTHERS = (
    "where",
    "concatenate",
    "stack",
    "broadcast_to",
    "sum",
    "max",
    "min",
    "reshape",
    "ravel",
    "transpose",
)
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in (*_UFUNCS, *_OTHERS)},
    "getitem": operator.getitem,
    "astype": lambda x, dtype: x.astype(dtype),
    "take": _taken,
}


@dataclass(frozen=True)
class Array:
    """The public facts of an array: NumPy's name of its type, and its shape."""

    dtype: str
    shape: tuple[int, ...]

    @classmethod
    def of(cls, x: Any) -> Array:
        """The facts of an array."""
        return cls(np.dtype(x.dtype).name, tuple(x.shape))

    @classmethod
    def from_data(cls, data: Any) -> Array:
        """The facts of `data`. FormatError for others than of integers and booleans."""
        dtype, shape = data
        extents = tuple(map(operator.index, shape))
        if dtype not in TYPES or min(extents, default=1) < 1 or np.prod(extents, dtype=float) > _MOST:
            raise _core.FormatError(f"an array of {dtype!r} and shape {extents} of a function of integers")
        return cls(dtype, extents)

    def zeros(self) -> NDArray[Any]:
        """An array of these facts."""
        return np.zeros(self.shape, self.dtype)

    def to_data(self) -> list[Any]:
        """Data for JSON."""
        return [self.dtype, list(self.shape)]


class Recorded(np.lib.mixins.NDArrayOperatorsMixin):
    """A value of a function that is being recorded, with NumPy's operators and functions."""

    def __init__(self, recording: _Recording, number: int, value: NDArray[Any]) -> None:
        self._recording, self._number, self._value = recording, number, value
        self.dtype, self.shape, self.ndim, self.size = value.dtype, value.shape, value.ndim, value.size

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Recorded:
        if method != "__call__" or options:
            raise TypeError(f"np.{ufunc.__name__}.{method} is no function of encrypted integers")
        return self._recording.note(ufunc.__name__, *inputs)

    def __array_function__(self, function: Any, types: Any, given: Any, options: Any) -> Recorded:
        del types
        return self._recording.note(function.__name__, *given, **options)

    def __getitem__(self, index: Any) -> Recorded:
        return self._recording.note("getitem", self, index)

    def __len__(self) -> int:
        return len(self._value)

    def __bool__(self) -> NoReturn:
        raise TypeError("the function depends on encrypted values: np.where(condition, a, b) chooses")

    def looked_up(self, table: NDArray[Any]) -> Recorded:
        """The entries of a table, which `Table(table)[x]` asks for."""
        return self._recording.note("take", table, self)

    def astype(self, dtype: Any) -> Recorded:
        """As of an encrypted array; so are the others."""
        return self._recording.note("astype", self, np.dtype(dtype).name)

    def reshape(self, *shape: Any) -> Recorded:
        return self._recording.note("reshape", self, shape[0] if len(shape) == 1 else shape)

    def ravel(self) -> Recorded:
        return self._recording.note("ravel", self)

    def transpose(self, *axes: Any) -> Recorded:
        return self._recording.note("transpose", self, axes[0] if len(axes) == 1 else axes or None)

    @property
    def T(self) -> Recorded:  # noqa: N802
        return self.transpose()

    def sum(self, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Recorded:
        return self._recording.note("sum", self, axis=axis, dtype=dtype, keepdims=keepdims)


class _Recording:
    def __init__(self, bits: int, given: Sequence[Array]) -> None:
        self._bits, self.calls, self._count = bits, list[Any](), 0
        self.inputs = [self._next(each.zeros()) for each in given]

    def _next(self, value: Any) -> Recorded:
        self._count += 1
        return Recorded(self, self._count - 1, np.asarray(value))

    def note(self, name: str, *given: Any, **options: Any) -> Recorded:
        if name not in _FUNCTIONS:
            raise TypeError(f"np.{name} is no function of encrypted integers that a program has")
        if name == "sum" and options.get("dtype") is None:  # NumPy's always has 64 bits
            kind = "uint" if given[0].dtype.kind == "u" else "int"
            options = {**options, "dtype": f"{kind}{self._bits}"}
        options = {key: np.dtype(value).name if key == "dtype" else value for key, value in options.items()}
        call = [
            name,
            [self._told(each) for each in given],
            {key: self._told(options[key]) for key in options},
        ]
        self.calls.append(call)
        clear = [_clear(each) for each in given]
        return self._next(_called(name, clear, options))

    def _told(self, x: Any) -> Any:
        if isinstance(x, Recorded):
            if x._recording is not self:
                raise TypeError("the value belongs to another function")
            return {"value": x._number}
        if isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "biu":
            return {"array": [x.dtype.name, list(x.shape), x.reshape(-1).tolist()]}
        if isinstance(x, (tuple, list)):
            return [self._told(each) for each in x]
        if isinstance(x, slice):
            return {"slice": [x.start, x.stop, x.step]}
        if x is Ellipsis:
            return {"slice": "..."}
        if x is None or isinstance(x, (bool, int, str)):
            return x
        raise TypeError(f"a function of encrypted integers has no {type(x).__name__} among its constants")


def _clear(x: Any) -> Any:
    if isinstance(x, (tuple, list)):
        return tuple(_clear(each) for each in x)
    return x._value if isinstance(x, Recorded) else x


def _size(x: Any) -> int:
    """The values of all arrays in an argument."""
    return sum(map(_size, x)) if isinstance(x, tuple) else int(getattr(x, "size", 0))


def _room(name: str, given: Sequence[Any]) -> float:
    """The most values that a call takes room for, about."""
    if name in _UFUNCS or name == "where":
        return float(np.prod(np.broadcast_shapes(*(getattr(x, "shape", ()) for x in given)), dtype=float))
    return _size(given[0]) * max(1, _size(given[1]) // 64) if name == "getitem" else _size(tuple(given))


def _called(name: str, given: Sequence[Any], options: dict[str, Any]) -> Any:
    """The result of a call. FormatError for one that has more values than arrays may have."""
    if _room(name, given) > _MOST:
        raise _core.FormatError(f"np.{name} takes more than {_MOST} integers")
    with np.errstate(all="ignore"):
        found = _FUNCTIONS[name](*given, **options)
    if getattr(found, "size", _MOST + 1) > _MOST:
        raise _core.FormatError(f"np.{name} gives no array of up to {_MOST} integers")
    return found


def record(function: Callable[..., Any], bits: int, given: Sequence[Array]) -> str:
    """A function of arrays of these facts as a text, for a context of these bits. TypeError where it is none
    of the functions that encrypted integers have."""
    recording = _Recording(bits, given)
    result = function(*recording.inputs)
    if not isinstance(result, Recorded) or result._recording is not recording:
        raise TypeError("the function returns one array that comes of its arguments; np.stack joins several")
    return json.dumps(
        {"inputs": [each.to_data() for each in given], "calls": recording.calls, "result": result._number},
        separators=(",", ":"),
    )


class Replayed:
    """A recorded function of its text. FormatError for texts that are none."""

    def __init__(self, text: str) -> None:
        try:
            data = json.loads(text)
            self.inputs = [Array.from_data(each) for each in data["inputs"]]
            self._calls, self._result = list(data["calls"]), operator.index(data["result"])
            if not self.inputs or len(self._calls) > _MOST_CALLS:
                raise _core.FormatError(f"a function of {len(self._calls)} calls; at most {_MOST_CALLS}")
            self.result = Array.of(np.asarray(self([each.zeros() for each in self.inputs])))
            Array.from_data(self.result.to_data())
        except _core.Error:
            raise
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            raise _core.FormatError(f"no function of integers: {error}") from error

    def __call__(self, given: Sequence[Any]) -> Any:
        """The result, of NumPy's arrays or of encrypted ones."""
        values = list(given)
        for name, arguments, options in self._calls:
            found = [_argument(each, values) for each in arguments]
            named = {key: _argument(value, values) for key, value in options.items()}
            values.append(_called(name, found, named))
        return values[self._result]


def _argument(data: Any, values: Sequence[Any]) -> Any:
    if isinstance(data, list):
        return tuple(_argument(each, values) for each in data)
    if not isinstance(data, dict):
        return data
    ((kind, told),) = data.items()
    if kind == "value":
        return values[operator.index(told)]
    if kind == "slice":
        return Ellipsis if told == "..." else slice(*told)
    dtype, shape, flat = told
    return np.array(flat, Array.from_data([dtype, shape]).dtype).reshape(cast("list[int]", shape))
