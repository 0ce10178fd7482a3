"""Encodes values as plaintexts and back, on the host and on the device: one class for each kind of values."""

from __future__ import annotations

import hashlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from hemera import _core
from hemera._process import Lock
from hemera.inputs.arguments import as_integer
from hemera.inputs.device import DeviceArray, ForeignArray, foreign_array
from hemera.inputs.encoding import as_numbers, kind_of, refuse_table, room_in
from hemera.parameters import Parameters

_OF_FILLING = ", or say fill=True (ev.multiply(x, array, fill=True)) to append zeros"
_MOST_SLOTS = 1 << 17
"""The most slots: of BFV and BGV in the largest ring; CKKS has half as many."""
_NUMBERS_KEPT = 16
"""Encoded numbers of one context."""


class Codec(ABC):
    """Encodes and decodes for one context. The codec does not hold the context, which holds the codec."""

    decoded_types: tuple[DTypeLike, ...]
    """The types that values decode to; the first is the default, and the first two are those of devices."""
    decodes_to: str
    """The beginning of the error for any other type."""

    def __init__(self, native: _core.Context, params: Parameters) -> None:
        self._native = native
        self._params = params
        self._lock = Lock()
        # The last numbers, so that a captured circuit finds those of its first run.
        self._of_numbers: dict[tuple[Any, ...], _core.Plaintext] = {}
        self._of_thread = threading.local()

    @contextmanager
    def keeping_operands(self) -> Iterator[None]:
        """Within it this thread encodes each array operand once, so that a captured circuit finds those of
        its first run."""
        outer = self._kept_operands()
        self._of_thread.operands = {} if outer is None else outer
        try:
            yield
        finally:
            self._of_thread.operands = outer

    def _kept_operands(self) -> dict[tuple[Any, ...], _core.Plaintext] | None:
        return getattr(self._of_thread, "operands", None)

    def encode(
        self,
        values: ArrayLike,
        encoding: str,
        level: int | None,
        scale: float | None,
        largest: float | None = None,
    ) -> _core.Plaintext:
        """See `Context.encode`."""
        require_encoding(encoding)
        refuse_table(values, "encode")
        foreign = foreign_array(values, self._native, "encode")
        if foreign is None:
            array = as_numbers(values, "encode")
            plain = self._encode(self._numbers(array, "encode"), encoding, level, scale, largest)
            kind, count = kind_of(array.dtype), array.shape[-1]
        else:
            if largest is not None:
                raise _core.ParameterError(
                    "encode: largest= is checked on the host, and these values are on a GPU; declare their "
                    "bound by for_circuit(largest=)"
                )
            plain = self._encode_foreign(foreign, encoding, level, scale)
            kind, count = foreign.dtype.kind, foreign.shape[-1]
        if encoding == "coefficients":
            count = plain.slots  # all of them have values
        return self._declared(plain, count, kind)

    def _declared(self, plain: _core.Plaintext, count: int, kind: str) -> _core.Plaintext:
        """The plaintext, with the number of values in each element and the kind of the array declared."""
        if count < plain.slots:
            plain.fill(count, "zeros")
        if kind == "c":
            plain.declare_complex(True)
        return plain

    @abstractmethod
    def _numbers(self, values: ArrayLike, what: str) -> NDArray[Any]:
        """An array of the scheme's numbers, contiguous."""

    @abstractmethod
    def _encode(
        self,
        values: NDArray[Any],
        encoding: str,
        level: int | None,
        scale: float | None,
        largest: float | None,
    ) -> _core.Plaintext: ...

    @abstractmethod
    def _encode_foreign(
        self, array: ForeignArray, encoding: str, level: int | None, scale: float | None
    ) -> _core.Plaintext: ...

    def encode_operand(
        self, values: ArrayLike, a: _core.Ciphertext, *, product: bool, fill: bool = False, kept: bool = False
    ) -> _core.Plaintext:
        """An array as the operand of a sum or product with `a`, at the level and scale for it.

        Args:
            values: a value for each filled slot, or for each slot, or one for all filled slots.
            a: the ciphertext.
            product: whether the array is a factor, and no term.
            fill: whether the array may have fewer values, to which zeros are appended.
            kept: whether the operand is for more than one operation.

        Raises:
            MismatchError: if the number of values is another one.
        """
        found = as_numbers(values, "array operand")
        array = self._numbers(found, "array operand")
        filled, count = a.filled or a.slots, array.shape[-1]
        if a.encoding == "slots":
            if count == 1:
                array = np.broadcast_to(array, (*array.shape[:-1], filled))
            elif count not in (filled, a.slots) and not (fill and count < filled):
                raise _core.MismatchError(
                    f"array operand: {count} values and a ciphertext of {filled} do not fit; as in NumPy "
                    f"give as many, or one{_OF_FILLING if count < filled else ''}"
                )
        if array.shape[-1] == 1:
            array = np.broadcast_to(array, (*array.shape[:-1], a.slots))
        array = np.ascontiguousarray(array)
        count, kind = a.slots if count == a.slots else filled, kind_of(found.dtype)
        operands = self._kept_operands()
        if operands is None:
            return self._declared(self._encode_operand(array, a, product, kept), count, kind)
        digest = hashlib.sha256(array.tobytes()).digest()
        exact = self._native.plain_operand(a, product)  # with what the scale's double leaves
        at = (a.encoding, a.slots, a.level, a.scale, a.noise_scale_degree, exact)
        place = (digest, array.dtype, array.shape, count, product, *at)
        if place not in operands:
            plain = self._encode_operand(array, a, product, kept=True)
            operands[place] = self._declared(plain, count, kind)
        return operands[place]

    def number_operand(self, number: complex, a: _core.Ciphertext, *, product: bool) -> _core.Plaintext:
        """The number in each filled slot of `a`, and 0 in the others, for a sum or a product with `a`."""
        if number.imag == 0:
            number = number.real  # of its type, not its value
        place = (number, a.filled, a.slots, a.level, a.scale, a.noise_scale_degree, product)
        with self._lock:
            found = self._of_numbers.get(place)
            if found is None:
                if len(self._of_numbers) >= _NUMBERS_KEPT:
                    self._of_numbers.pop(next(iter(self._of_numbers)))
                self.scalar(number)
                numbers = np.full(a.filled, self._in_range(number))
                found = self.encode_operand(numbers, a, product=product, kept=True)
                self._of_numbers[place] = found
            return found

    def _in_range(self, number: complex) -> complex:
        """The number in the range of array elements."""
        return number if isinstance(number, complex) else float(number)

    @abstractmethod
    def _encode_operand(
        self, values: NDArray[Any], a: _core.Ciphertext, product: bool, kept: bool
    ) -> _core.Plaintext:
        """`values`: contiguous, with at most as many in each row as `a` has slots; the others are zeros."""

    @abstractmethod
    def scalar(self, number: complex) -> tuple[complex, int]:
        """The two forms of a plain number that the core takes."""

    def decode(
        self,
        plaintext: _core.Plaintext,
        dtype: DTypeLike | None,
        count: int,
        out: object = None,
        encoding: str | None = None,
    ) -> NDArray[Any]:
        """The first `count` slots of each element, or all coefficients: see `Context.decode`."""
        return self.decode_certain(plaintext, dtype, count, out, encoding, certain=False)[0]

    def decode_certain(
        self,
        plaintext: _core.Plaintext,
        dtype: DTypeLike | None,
        count: int,
        out: object = None,
        encoding: str | None = None,
        *,
        certain: bool = True,
    ) -> tuple[NDArray[Any], list[int]]:
        """The values without NoiseError, and the elements of the batch that the error would name."""
        decode = self._decode
        if encoding is not None:
            require_encoding(encoding)
            if encoding != plaintext.encoding:
                decode, count = self._decode_coefficients, self._params.degree
                dtype = self.decoded_types[0] if dtype is None else dtype
        chosen = self._type_of(plaintext, dtype)
        shape = (*plaintext.batch, count)
        if out is None:
            return decode(plaintext, np.empty(shape, self._decoded_type(chosen)), certain)
        given = room_in(out, shape)
        wanted = self._decoded_type(given.dtype if chosen is None else chosen)
        if given.dtype != wanted:
            raise _core.ParameterError(
                f"out is an array of {given.dtype}, and the values are {wanted}: give one of that type, or "
                f"dtype={str(given.dtype)!r} for values of the array's"
            )
        room = given if given.flags.c_contiguous else np.empty(shape, wanted)
        found, doubtful = decode(plaintext, room, certain)
        if found is not given:
            given[...] = found
        return given, doubtful

    @abstractmethod
    def _decode(
        self, plaintext: _core.Plaintext, room: NDArray[Any], certain: bool
    ) -> tuple[NDArray[Any], list[int]]:
        """The values and the elements in doubt, of which there are none unless `certain`: NoiseError.

        Args:
            room: a contiguous array of the values' shape and type. They may be in it, or in another one.
        """

    def _decode_coefficients(
        self, plaintext: _core.Plaintext, room: NDArray[Any], certain: bool
    ) -> tuple[NDArray[Any], list[int]]:
        """As `_decode`: the coefficients of a plaintext in slots, of a scheme that decodes them so."""
        del room, certain
        raise _core.MismatchError(
            f"decode: {self._params.scheme.upper()} values were encoded in {plaintext.encoding}; leave "
            "encoding out"
        )

    def decode_on_device(self, plaintext: _core.Plaintext, dtype: DTypeLike | None) -> DeviceArray:
        """See `Context.decode_on_device`."""
        if self._native.device == "cpu":
            raise _core.DeviceError(
                "a context on the CPU decodes to NumPy arrays, which are on its device: use decode or decrypt"
            )
        chosen = self._decoded_type(self._type_of(plaintext, dtype))
        if chosen not in self.decoded_types[:2]:
            raise _core.ParameterError(
                f"{chosen} is decoded on the host, not on a GPU: use decode or decrypt"
            )
        usual = chosen == self.decoded_types[0]
        return DeviceArray(self._decode_on_device(plaintext, usual))

    @abstractmethod
    def _decode_on_device(self, plaintext: _core.Plaintext, usual: bool) -> _core.DeviceArray: ...

    def _require_room(self, shape: tuple[int, ...], encoding: str) -> None:
        """ParameterError if the last axis is longer than a plaintext."""
        count, degree = shape[-1], self._params.degree
        room = self._params.max_slots if encoding == "slots" else degree
        if not 0 < room < count:  # without slots the core reports the reason
            return
        largest = _MOST_SLOTS >> (self._params.scheme == "ckks")  # of any parameters
        raise _core.ParameterError(
            f"encode: {count} values do not fit in the {room} {encoding} of one plaintext of degree "
            f"{degree}; give them as {-(-count // room)} rows, an array of shape (..., {room})"
            + (
                f", or use for_circuit(..., slots={count})"
                if encoding == "slots" and count <= largest
                else ""
            )
        )

    def _type_of(self, plaintext: _core.Plaintext, dtype: DTypeLike | None) -> DTypeLike | None:
        """`dtype`, or complex128 if it is None and the values were declared complex."""
        return np.complex128 if dtype is None and plaintext.is_complex else dtype

    def _decoded_type(self, dtype: DTypeLike | None) -> np.dtype[Any]:
        chosen = np.dtype(self.decoded_types[0] if dtype is None else dtype)
        if chosen not in self.decoded_types:
            raise _core.ParameterError(f"{self.decodes_to}, not to {chosen}")
        return chosen


def require_encoding(encoding: str) -> None:
    """ParameterError unless it is one of the two."""
    if encoding not in ("slots", "coefficients"):
        raise _core.ParameterError(f"encoding must be 'slots' or 'coefficients', not {encoding!r}")


def require_level(params: Parameters, level: int, operation: str = "encode") -> None:
    """LevelError if the parameters do not have the level; TypeError if it is no integer."""
    if not 0 <= as_integer(level, operation, "level") < params.levels:
        raise _core.LevelError(f"level {level} is not in 0 to {params.levels - 1}")
