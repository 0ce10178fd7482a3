"""From values to plaintexts and back, on the host and on the device: one class for each kind of values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from hemera import _core
from hemera._device import DeviceArray, ForeignArray, foreign_array
from hemera._encoding import as_complex, as_integers, fit_slots, pad_slots, power_of_two
from hemera.parameters import Parameters

__all__ = ["Codec", "make_codec", "require_level"]


class Codec(ABC):
    """Encodes and decodes for one context, without holding it: the context holds its codec."""

    decoded_types: tuple[type[Any], type[Any]]
    """The types that values can be decoded to; the first is the default."""
    decodes_to: str
    """The beginning of the error for any other type."""

    def __init__(self, native: _core.Context, params: Parameters) -> None:
        self._native = native
        self._params = params

    def encode(
        self, values: ArrayLike, encoding: str, level: int | None, scale: float | None
    ) -> tuple[_core.Plaintext, int | None]:
        """See `Context.encode`. Also how many slots the values fill, or None if they fill all."""
        if encoding not in ("slots", "coefficients"):
            raise _core.ParameterError(f"encoding must be 'slots' or 'coefficients', not {encoding!r}")
        foreign = foreign_array(values, self._native, "encode")
        if foreign is None:
            array = self._numbers(values, "encode")
            plain = self._encode(array, encoding, level, scale)
            count = array.shape[-1]
        else:
            plain = self._encode_foreign(foreign, encoding, level, scale)
            count = foreign.shape[-1]
        return plain, count if count < plain.slots else None

    @abstractmethod
    def _numbers(self, values: ArrayLike, what: str) -> NDArray[Any]:
        """An array of the scheme's numbers, contiguous."""

    @abstractmethod
    def _encode(
        self, values: NDArray[Any], encoding: str, level: int | None, scale: float | None
    ) -> _core.Plaintext: ...

    @abstractmethod
    def _encode_foreign(
        self, array: ForeignArray, encoding: str, level: int | None, scale: float | None
    ) -> _core.Plaintext: ...

    def encode_operand(
        self, values: ArrayLike, a: _core.Ciphertext, *, product: bool, kept: bool = False
    ) -> tuple[_core.Plaintext, int | None]:
        """An array that is added to or multiplied with `a`, at the level and scale that this takes, and how
        many slots it fills, as of `encode`. `kept`: it is for more than one operation."""
        array = self._numbers(values, "array operand")
        fitted = fit_slots(array, a.slots, "array operand")
        # One value spreads: it changes no more slots than `a` fills.
        count = array.shape[-1]
        return self._encode_operand(fitted, a, product, kept), count if count < a.slots else None

    @abstractmethod
    def _encode_operand(
        self, values: NDArray[Any], a: _core.Ciphertext, product: bool, kept: bool
    ) -> _core.Plaintext: ...

    @abstractmethod
    def scalar(self, number: complex) -> tuple[complex, int]:
        """The two forms of a plain number that the core takes."""

    @abstractmethod
    def decode(self, plaintext: _core.Plaintext, dtype: DTypeLike | None) -> NDArray[Any]:
        """See `Context.decode`."""

    def decode_on_device(self, plaintext: _core.Plaintext, dtype: DTypeLike | None) -> DeviceArray:
        """See `Context.decode_on_device`."""
        if self._native.device == "cpu":
            raise _core.DeviceError(
                "a context on the CPU decodes to NumPy arrays, which are on its device: use decode or decrypt"
            )
        usual = self._decoded_type(dtype) == self.decoded_types[0]
        return DeviceArray(self._decode_on_device(plaintext, usual))

    @abstractmethod
    def _decode_on_device(self, plaintext: _core.Plaintext, usual: bool) -> _core.DeviceArray: ...

    def _require_room(self, shape: tuple[int, ...], encoding: str) -> None:
        """ParameterError when the last axis is longer than a plaintext."""
        count, degree = shape[-1], self._params.degree
        room = self._params.max_slots if encoding == "slots" else degree
        if not 0 < room < count:  # without slots the core says why there are none
            return
        raise _core.ParameterError(
            f"encode: {count} values do not fit in the {room} {encoding} of one plaintext of degree "
            f"{degree}; give them as {-(-count // room)} rows, an array of shape (..., {room}), or use "
            "parameters of a larger degree"
            + (f": for_circuit(..., slots={count})" if encoding == "slots" else "")
        )

    def _decoded_type(self, dtype: DTypeLike | None) -> np.dtype[Any]:
        chosen = np.dtype(self.decoded_types[0] if dtype is None else dtype)
        if chosen not in self.decoded_types:
            raise _core.ParameterError(f"{self.decodes_to}, not to {chosen}")
        return chosen


class ComplexCodec(Codec):
    """CKKS: real and complex numbers."""

    decoded_types = (np.float64, np.complex128)
    decodes_to = "CKKS decrypts to float64 or complex128"

    def __init__(self, native: _core.Context, params: Parameters) -> None:
        super().__init__(native, params)
        self._encoder = _core.ComplexEncoder(self._native)

    def _numbers(self, values: ArrayLike, what: str) -> NDArray[Any]:
        return as_complex(values, what)

    def _encode(
        self, values: NDArray[Any], encoding: str, level: int | None, scale: float | None
    ) -> _core.Plaintext:
        self._require_slots(encoding, level)
        self._require_room(values.shape, encoding)
        return self._encoder.encode(pad_slots(values, power_of_two(values.shape[-1]), "encode"), level, scale)

    def _encode_foreign(
        self, array: ForeignArray, encoding: str, level: int | None, scale: float | None
    ) -> _core.Plaintext:
        self._require_slots(encoding, level)
        if array.dtype not in self.decoded_types:
            raise TypeError(
                f"encode: CKKS takes float64 or complex128 on a GPU, not {array.dtype}; convert the array"
            )
        self._require_room(array.shape, encoding)
        slots = power_of_two(array.shape[-1])
        real = array.dtype == np.float64
        return _core.encode_complex_on_device(
            self._native, array.pointer, list(array.shape), array.stream, real, slots, level, scale
        )

    def _require_slots(self, encoding: str, level: int | None) -> None:
        if encoding != "slots":
            raise _core.ParameterError("CKKS encodes slots only")
        if level is not None:
            require_level(self._params, level)

    def _encode_operand(
        self, values: NDArray[Any], a: _core.Ciphertext, product: bool, kept: bool
    ) -> _core.Plaintext:
        del kept  # CKKS is encoded for a level always
        level, scale = self._native.plain_operand(a, product)
        return self._encoder.encode(values, level, scale)

    def scalar(self, number: complex) -> tuple[complex, int]:
        return complex(number), 0

    def decode(self, plaintext: _core.Plaintext, dtype: DTypeLike | None) -> NDArray[Any]:
        chosen = self._decoded_type(dtype)
        values = self._encoder.decode(plaintext)
        return values.real if chosen == np.float64 else values

    def _decode_on_device(self, plaintext: _core.Plaintext, usual: bool) -> _core.DeviceArray:
        return _core.decode_complex_on_device(self._native, plaintext, usual)


class IntegerCodec(Codec):
    """BFV and BGV: integers modulo t."""

    decoded_types = (np.int64, np.uint64)
    decodes_to = "BFV and BGV decrypt to int64 or uint64"

    def __init__(self, native: _core.Context, params: Parameters) -> None:
        super().__init__(native, params)
        self._encoder = _core.IntegerEncoder(self._native)
        self._scheme = self._params.scheme

    def _numbers(self, values: ArrayLike, what: str) -> NDArray[Any]:
        return as_integers(values, what, self._scheme)

    def _encode(
        self, values: NDArray[Any], encoding: str, level: int | None, scale: float | None
    ) -> _core.Plaintext:
        self._require_of_integers(level, scale)
        self._require_room(values.shape, encoding)
        return self._encoder.encode(values, encoding == "slots", level)

    def _encode_foreign(
        self, array: ForeignArray, encoding: str, level: int | None, scale: float | None
    ) -> _core.Plaintext:
        self._require_of_integers(level, scale)
        if array.dtype != np.int64:
            raise TypeError(
                f"encode: {self._scheme.upper()} takes int64 on a GPU, not {array.dtype}; convert the array"
            )
        self._require_room(array.shape, encoding)
        return _core.encode_integers_on_device(
            self._native, array.pointer, list(array.shape), array.stream, encoding == "slots", level
        )

    def _require_of_integers(self, level: int | None, scale: float | None) -> None:
        if scale is not None:
            raise _core.ParameterError("scale is of CKKS; BFV and BGV plaintexts have none")
        if level is not None:
            require_level(self._params, level)

    def _encode_operand(
        self, values: NDArray[Any], a: _core.Ciphertext, product: bool, kept: bool
    ) -> _core.Plaintext:
        # One sum makes the plaintext ready as it adds it.
        level = self._native.plain_operand(a, product)[0] if product or kept else None
        use = _core.Use.products if product else _core.Use.sums
        return self._encoder.encode(values, a.encoding == "slots", level, use)

    def scalar(self, number: complex) -> tuple[complex, int]:
        if not isinstance(number, int):
            raise TypeError(
                f"{self._scheme.upper()} computes with integers, not {number!r}; round it to an integer "
                "first, or use CKKS"
            )
        # Any integer will do: the core works modulo t, which is below 2^60.
        return 0j, number % self._params._native.plain_modulus

    def decode(self, plaintext: _core.Plaintext, dtype: DTypeLike | None) -> NDArray[Any]:
        if self._decoded_type(dtype) == np.int64:
            return self._encoder.decode(plaintext, True)
        return self._encoder.decode(plaintext, False).view(np.uint64)

    def _decode_on_device(self, plaintext: _core.Plaintext, usual: bool) -> _core.DeviceArray:
        return _core.decode_integers_on_device(self._native, plaintext, usual)


def make_codec(native: _core.Context, params: Parameters) -> Codec:
    """The codec of the context's scheme."""
    return ComplexCodec(native, params) if params.scheme == "ckks" else IntegerCodec(native, params)


def require_level(params: Parameters, level: int) -> None:
    """LevelError unless the parameters have the level."""
    if not 0 <= level < params.levels:
        raise _core.LevelError(f"level {level} is not in 0 to {params.levels - 1}")
