"""Arrays in the memory of a GPU: inputs of other libraries, and decoded values for them."""

from __future__ import annotations

import math
import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from hemera import _core

_CUDA, _CUDA_MANAGED = 2, 13  # DLDeviceType
_LEGACY_DEFAULT_STREAM = 1


def stream_handle(stream: object) -> int:
    """The CUDA stream behind an object: its handle as an integer, or a stream of PyTorch (`cuda_stream`),
    CuPy (`ptr`), or of any library with `__cuda_stream__`.

    Raises:
        TypeError: if `stream` is none of these.
    """
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        handle = (protocol() if callable(protocol) else protocol)[1]
        return int(handle)
    for attribute in ("cuda_stream", "ptr"):
        if hasattr(stream, attribute):
            return int(getattr(stream, attribute))
    if isinstance(stream, int) and not isinstance(stream, bool):
        return stream
    raise TypeError(
        f"a CUDA stream is needed, as PyTorch or CuPy make one or as an integer, not {type(stream).__name__}"
    )


@dataclass(frozen=True)
class ForeignArray:
    """An array of another library in the memory of a GPU, contiguous."""

    pointer: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    stream: int | None
    """The stream that makes the array; None: the array is ready for the context's stream."""
    owner: object
    """The object that keeps the memory alive."""


def foreign_array(values: object, context: _core.Context, what: str) -> ForeignArray | None:
    """The array if it lies on a GPU, made ready for the context; None for everything else.

    Raises:
        DeviceError: if the array lies on another device than the context.
        MismatchError: if the array is not contiguous, or has no values.
    """
    if hasattr(values, "__dlpack__") and hasattr(values, "__dlpack_device__"):
        if values.__dlpack_device__()[0] not in (_CUDA, _CUDA_MANAGED):
            return None
        _require_device(context, int(values.__dlpack_device__()[1]), what)
        # The other library makes the context's stream wait for its own.
        stream = _core.stream(context) or _LEGACY_DEFAULT_STREAM
        with _device_of(values, int(values.__dlpack_device__()[1])):
            imported = _core.import_dlpack(values.__dlpack__(stream=stream))
        array = ForeignArray(imported.pointer, tuple(imported.shape), np.dtype(imported.type), None, imported)
        strides: tuple[int, ...] | None = tuple(imported.strides)
    elif hasattr(values, "__cuda_array_interface__"):
        interface: dict[str, Any] = values.__cuda_array_interface__
        pointer, shape = int(interface["data"][0]), tuple(interface["shape"])
        _require_device(context, _core.cuda_device_of(pointer), what)
        dtype = np.dtype(interface["typestr"])
        array = ForeignArray(pointer, shape, dtype, interface.get("stream"), values)
        given = interface.get("strides")
        strides = None if given is None else tuple(stride // dtype.itemsize for stride in given)
    else:
        return None
    if math.prod(array.shape) == 0 or not array.shape:
        raise _core.MismatchError(
            f"{what}: an array of shape {array.shape} has no values to encode; the last axis holds the slots"
        )
    expected = tuple(math.prod(array.shape[axis + 1 :]) for axis in range(len(array.shape)))
    if strides is not None and any(
        a != b for a, b, n in zip(strides, expected, array.shape, strict=True) if n > 1
    ):
        raise _core.MismatchError(
            f"{what}: an array on a GPU must be contiguous (C order); make a contiguous copy first"
        )
    return array


# The name of each library's function that makes a device the current one. PyTorch exports arrays of the
# current device alone, and both libraries take a stream for one of the current device.
_DEVICE_SETTERS = {"torch": "device", "cupy": "Device"}


def _device_of(values: object, index: int) -> AbstractContextManager[object]:
    """A block in which the array's device is the current one of the array's library, if the library has
    one."""
    for kind in type(values).__mro__:
        library = kind.__module__.partition(".")[0]
        if library in _DEVICE_SETTERS and library in sys.modules:
            setter = getattr(sys.modules[library].cuda, _DEVICE_SETTERS[library])
            return cast("AbstractContextManager[object]", setter(index))
    return nullcontext()


def _require_device(context: _core.Context, device: int, what: str) -> None:
    name = f"cuda:{device}"
    if context.device == name:
        return
    raise _core.DeviceError(
        f"{what}: the array lies on {name}, and the context on {context.device}; copy the array, or use a "
        "context there"
    )


class DeviceArray:
    """Values on the context's GPU, for other libraries: `torch.from_dlpack(a)`, `cupy.from_dlpack(a)`,
    `jax.dlpack.from_dlpack(a)`, or any function that takes `__cuda_array_interface__`. Their arrays share
    this one's memory, and wait for its contents on the device.

    The memory is zeroed and reused when this array and all arrays made of it are gone, after the work that is
    then queued in their streams.
    """

    def __init__(self, native: _core.DeviceArray) -> None:
        self._native = native

    @property
    def shape(self) -> tuple[int, ...]:
        """(..., slots)"""
        return tuple(self._native.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """float64, complex128, int64 or uint64."""
        return np.dtype(self._native.type)

    @property
    def device(self) -> str:
        """The name of the device: "cuda:0", ..."""
        return f"cuda:{self._native.device}"

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "version": 3,
            "shape": self.shape,
            "typestr": self._native.type,
            "strides": None,
            "data": (self._native.pointer, False),
            "stream": self._native.admit_unknown() or _LEGACY_DEFAULT_STREAM,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CUDA, self._native.device

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        if copy or (dl_device is not None and tuple(dl_device) != self.__dlpack_device__()):
            raise BufferError("the array shares the context's memory: copy it after taking it")
        # None stands for the legacy default stream, -1 for no order.
        if stream != -1:
            self._native.admit(_LEGACY_DEFAULT_STREAM if stream is None else stream)
        else:
            self._native.admit_unknown()
        return self._native.as_dlpack()  # of the first version, which every `max_version` allows

    def __repr__(self) -> str:
        return f"<DeviceArray of shape {self.shape}, {self.dtype}, on {self.device}>"
