"""`tenseal.PlainTensor`: arrays in the clear."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.compat.tenseal.messages import read_message, write_message
from hemera.errors import FormatError, MismatchError, ParameterError
from hemera.inputs.fields import damaged
from hemera.inputs.plain import plain_array

_TYPES = {"float": np.dtype(np.float64), "int": np.dtype(np.int64)}
_SHAPE, _TYPE, _DATA = 1, 2, 3
"""Fields of a tensor's bytes."""
_MOST_EMPTY = 1 << 16
"""Lists that `tolist` makes of a file's tensor without values, beside an axis of none."""


class PlainTensor:
    """An array of floats or integers.

    Args:
        tensor: anything that NumPy makes an array of.
        shape: in place of the array's; the number of values stays.
        dtype: "float" or "int".

    Raises:
        TypeError: if the input is no array.
        MismatchError: (a ValueError) if the shape has another number of values.
    """

    def __init__(self, tensor: Any, shape: Sequence[int] | None = None, dtype: str = "float") -> None:
        try:
            given = tensor.numpy() if isinstance(tensor, PlainTensor) else plain_array(tensor, "a tensor")
            values = np.array(given, _type_of(dtype))
        except (TypeError, ValueError) as error:
            if dtype not in _TYPES:
                raise
            raise TypeError(f"input isn't a well structured tensor: {error}") from None
        self._values: NDArray[Any] = values
        if shape is not None:
            self.reshape_(shape)

    def numpy(self) -> NDArray[Any]:
        """The values as an array; TenSEAL has no such method."""
        return self._values

    @property
    def raw(self) -> list[Any]:
        """The values in one list."""
        flat: list[Any] = self._values.ravel().tolist()
        return flat

    @property
    def dtype(self) -> str:
        """ "float" or "int"."""
        return "int" if self._values.dtype.kind == "i" else "float"

    @dtype.setter
    def dtype(self, value: str) -> None:
        self._values = self._values.astype(_type_of(value))

    def at(self, index: Sequence[int]) -> Any:
        """One value."""
        return self._values[tuple(index)].item()

    @property
    def shape(self) -> list[int]:
        """The extents."""
        return list(self._values.shape)

    def strides(self) -> list[int]:
        """For each axis the distance of neighbours in `raw`; 0 if there are none, as of TenSEAL."""
        steps = [int(np.prod(self.shape[axis + 1 :])) for axis in range(self._values.ndim)]
        return [0 if extent == 1 else step for extent, step in zip(self.shape, steps, strict=True)]

    def empty(self) -> bool:
        """Whether there are no values."""
        return self._values.size == 0

    def size(self) -> int:
        """The first extent."""
        return len(self._values)

    __len__ = size

    def tolist(self) -> Any:
        """The values in nested lists."""
        return self._values.tolist()

    def batch(self, dim: int) -> list[list[Any]]:
        """For each place of the other axes the values along axis `dim`."""
        moved = np.moveaxis(self._values, dim, -1)
        found: list[list[Any]] = moved.reshape(-1, moved.shape[-1]).tolist()
        return found

    def reshape(self, shape: Sequence[int]) -> PlainTensor:
        """The same values in another shape."""
        return PlainTensor(self._values, shape, self.dtype)

    def reshape_(self, shape: Sequence[int]) -> PlainTensor:
        """`reshape` in place."""
        if int(np.prod(shape)) != self._values.size:
            raise MismatchError(f"tensor with mismatched shape: {list(shape)} for {self._values.size} values")
        self._values = self._values.reshape(tuple(shape))
        return self

    def broadcast(self, shape: Sequence[int]) -> PlainTensor:
        """The values repeated to a shape, as NumPy broadcasts."""
        return PlainTensor(np.broadcast_to(self._values, tuple(shape)), dtype=self.dtype)

    def broadcast_(self, shape: Sequence[int]) -> PlainTensor:
        """`broadcast` in place."""
        self._values = np.broadcast_to(self._values, tuple(shape)).copy()
        return self

    def transpose(self) -> PlainTensor:
        """The axes in reverse order."""
        return PlainTensor(self._values.T, dtype=self.dtype)

    def transpose_(self) -> PlainTensor:
        """`transpose` in place."""
        self._values = self._values.T.copy()
        return self

    @classmethod
    def load(cls, data: bytes, dtype: str = "float") -> PlainTensor:
        """A tensor of the bytes of `serialize`.

        Raises:
            FormatError: (a ValueError) if they are something else.
        """
        if not isinstance(data, bytes):
            raise TypeError(f"Invalid input types: vector: {type(data)}")
        found = read_message(data)
        values = found.get(_DATA, [b""])[-1]
        if found.get(_TYPE, [None])[-1] not in (0, 1) or not isinstance(values, bytes):
            raise FormatError("the bytes are no plain tensor of hemera.compat.tenseal")
        stored = "int" if found[_TYPE][-1] else "float"
        with damaged("the plain tensor"):
            tensor = cls(np.frombuffer(values, _TYPES[stored]), dtype=stored)
            shape = [int(extent) for extent in found.get(_SHAPE, []) if isinstance(extent, int)]
            if math.prod(max(1, extent) for extent in shape) > max(_MOST_EMPTY, len(values)):
                raise FormatError(f"the plain tensor has no values, and the shape {shape}")
            tensor.reshape_(shape)
        tensor.dtype = dtype
        return tensor

    def serialize(self) -> bytes:
        """The bytes for `load`, which are not TenSEAL's."""
        return write_message(
            {_SHAPE: self.shape, _TYPE: int(self.dtype == "int"), _DATA: self._values.tobytes()}
        )

    def __repr__(self) -> str:
        return f"PlainTensor({self.tolist()}, dtype={self.dtype!r})"


def as_array(values: Any, dtype: str) -> NDArray[Any]:
    """A plain tensor, or anything that one is made of, as an array. TypeError if it is none."""
    tensor = values if isinstance(values, PlainTensor) else PlainTensor(values, dtype=dtype)
    return tensor.numpy().astype(_TYPES[dtype], copy=False)


def _type_of(dtype: str) -> np.dtype[Any]:
    if dtype not in _TYPES:
        raise ParameterError(f"wrong dtype, must be either 'float' or 'int', not {dtype!r}")
    return _TYPES[dtype]
