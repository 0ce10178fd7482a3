"""Codecs of CKKS, and of BFV and BGV."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera import _core
from hemera.inputs.device import ForeignArray
from hemera.inputs.encoding import (
    COMPLEX_PAIR,
    PAIR,
    as_ckks_numbers,
    as_integers,
    is_pair,
    joined,
    kind_of,
    pad_slots,
    power_of_two,
)
from hemera.objects.codec import Codec, require_level
from hemera.parameters import Parameters


class ComplexCodec(Codec):
    """CKKS: real and complex numbers."""

    decoded_types = (np.float64, np.complex128, np.longdouble, np.clongdouble, PAIR, COMPLEX_PAIR)
    decodes_to = (
        "CKKS decrypts to float64 or complex128, or with more bits to longdouble, clongdouble, "
        "hemera.ckks.PAIR or COMPLEX_PAIR"
    )

    def __init__(self, native: _core.Context, params: Parameters) -> None:
        super().__init__(native, params)
        self._encoder = _core.ComplexEncoder(self._native)
        # The core takes pairs where the slots are those of the powers of 5.
        self._takes_pairs = params._native.galois_generator == 5

    def _numbers(self, values: ArrayLike, what: str) -> NDArray[Any]:
        return as_ckks_numbers(values, what, wide=self._takes_pairs)

    def _encode(
        self,
        values: NDArray[Any],
        encoding: str,
        level: int | None,
        scale: float | None,
        largest: float | None,
    ) -> _core.Plaintext:
        if level is not None:
            require_level(self._params, level)
        self._require_room(values.shape, encoding)
        if encoding == "coefficients":
            return self._encode_coefficients(values, level, scale, largest)
        slots = power_of_two(values.shape[-1])
        if is_pair(values.dtype):
            return self._encode_pairs(values, slots, level, scale, 0.0, largest)
        return self._encoder.encode(values, slots, level, scale, largest)

    def _encode_coefficients(
        self, values: NDArray[Any], level: int | None, scale: float | None, largest: float | None
    ) -> _core.Plaintext:
        if values.dtype != np.float64 or largest is not None:
            raise _core.ParameterError(
                "encode: coefficients are real numbers without a declared bound, which is one of slots; give "
                "float64, and leave largest out"
            )
        if level is None:
            raise _core.ParameterError("encode: coefficients have the scale of a level; name it, as level=0")
        factor = self._native.level_scale(level) if scale is None else scale
        with np.errstate(invalid="ignore"):  # the core refuses what no number became
            scaled = np.multiply(values, factor)
            whole = np.rint(scaled, out=scaled).astype(np.int64)
        return self._encoder.encode_coefficients(whole, level, factor)

    def _encode_pairs(
        self,
        pairs: NDArray[Any],
        slots: int,
        level: int | None,
        scale: float | None,
        scale_rest: float,
        largest: float | None,
    ) -> _core.Plaintext:
        values, rests = (np.ascontiguousarray(pairs[name]) for name in ("value", "rest"))
        return self._encoder.encode_pairs(values, rests, slots, level, scale, scale_rest, largest)

    def _encode_foreign(
        self, array: ForeignArray, encoding: str, level: int | None, scale: float | None
    ) -> _core.Plaintext:
        self._require_slots(encoding, level)
        if array.dtype not in self.decoded_types[:2]:
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
            raise _core.ParameterError("CKKS encodes coefficients of arrays on the host only")
        if level is not None:
            require_level(self._params, level)

    def _encode_operand(
        self, values: NDArray[Any], a: _core.Ciphertext, product: bool, kept: bool
    ) -> _core.Plaintext:
        del kept  # CKKS is encoded for a level always
        level, scale, scale_rest = self._native.plain_operand(a, product)
        if is_pair(values.dtype):
            return self._encode_pairs(values, a.slots, level, scale, scale_rest, None)
        return self._encoder.encode(values, a.slots, level, scale, None)

    def scalar(self, number: complex) -> tuple[complex, int]:
        try:
            return complex(number), 0
        except OverflowError:
            raise _core.ParameterError("the number must be finite, and this integer is no double") from None

    def _decode(
        self, plaintext: _core.Plaintext, room: NDArray[Any], certain: bool
    ) -> tuple[NDArray[Any], list[int]]:
        if is_pair(room.dtype) or room.dtype in (np.longdouble, np.clongdouble):
            double = np.complex128 if kind_of(room.dtype) == "c" else np.float64
            values, rests = np.empty(room.shape, double), np.empty(room.shape, double)
            doubtful: list[int] = []
            if certain:
                doubtful = self._encoder.decode_certain_pairs(plaintext, values, rests)
            else:
                self._encoder.decode_pairs(plaintext, values, rests)
            joined(values, rests, room)
            return room, doubtful
        if certain:
            return room, self._encoder.decode_certain(plaintext, room)
        self._encoder.decode(plaintext, room)
        return room, []

    def _decode_coefficients(
        self, plaintext: _core.Plaintext, room: NDArray[Any], certain: bool
    ) -> tuple[NDArray[Any], list[int]]:
        if room.dtype != np.float64:
            raise _core.ParameterError(f"CKKS decodes coefficients to float64, not to {room.dtype}")
        if certain:
            return room, self._encoder.decode_certain_coefficients(plaintext, room)
        self._encoder.decode_coefficients(plaintext, room)
        return room, []

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
        self,
        values: NDArray[Any],
        encoding: str,
        level: int | None,
        scale: float | None,
        largest: float | None,
    ) -> _core.Plaintext:
        self._require_of_integers(level, scale)
        if largest is not None:
            raise _core.ParameterError("largest is of CKKS; BFV and BGV values are integers modulo t")
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
        # A single sum makes the plaintext ready as it adds it.
        level = self._native.plain_operand(a, product)[0] if product or kept else None
        use = _core.Use.products if product else _core.Use.sums
        padded = pad_slots(values, a.slots, "array operand")
        return self._encoder.encode(padded, a.encoding == "slots", level, use)

    def scalar(self, number: complex) -> tuple[complex, int]:
        if not isinstance(number, int):
            raise TypeError(
                f"{self._scheme.upper()} computes with integers, not {number!r}; round it to an integer "
                "first, or use CKKS"
            )
        # Any integer is right: the core works modulo t, which is below 2^60.
        return 0j, number % self._params._native.plain_modulus

    def _in_range(self, number: complex) -> complex:
        assert isinstance(number, int)
        return number % self._params._native.plain_modulus

    def _decode(
        self, plaintext: _core.Plaintext, room: NDArray[Any], certain: bool
    ) -> tuple[NDArray[Any], list[int]]:
        is_signed = room.dtype == np.int64
        if certain:
            values, doubtful = self._encoder.decode_certain(plaintext, is_signed)
        else:
            values, doubtful = self._encoder.decode(plaintext, is_signed), []
        return values.view(room.dtype)[..., : room.shape[-1]], doubtful

    def _decode_on_device(self, plaintext: _core.Plaintext, usual: bool) -> _core.DeviceArray:
        return _core.decode_integers_on_device(self._native, plaintext, usual)


def make_codec(native: _core.Context, params: Parameters) -> Codec:
    """The codec of the context's scheme."""
    return ComplexCodec(native, params) if params.scheme == "ckks" else IntegerCodec(native, params)
