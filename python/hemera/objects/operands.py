"""Bringing the operands of an operation together: types, batches and slots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from hemera import _core
from hemera.inputs.arguments import as_integer, described
from hemera.inputs.plain import plain_array

MessageT = TypeVar("MessageT", _core.Ciphertext, _core.Plaintext)


class Batch(Protocol):
    """A ciphertext."""

    @property
    def _native(self) -> _core.Ciphertext: ...


def fitted(
    operation: str, operands: Sequence[Batch], plain: Sequence[_core.Plaintext] = ()
) -> tuple[tuple[int, ...], list[_core.Ciphertext]]:
    """The shape to which all operands broadcast, and the ciphertexts repeated to it. MismatchError if shapes
    or slots do not fit."""
    natives: list[_core.Ciphertext | _core.Plaintext] = [*(x._native for x in operands), *plain]
    shape: tuple[int, ...] = ()
    for native in natives:
        shape = broadcast_shape(operation, shape, tuple(native.batch))
    require_slots(operation, *natives)
    # An operand that comes twice stays one object: the core prepares it once.
    distinct = {id(x._native): spread(x._native, shape) for x in operands}
    return shape, [distinct[id(x._native)] for x in operands]


def reshaped(core: _core.Ciphertext, shape: tuple[int, ...]) -> _core.Ciphertext:
    """The result in the shape that NumPy's rule gives it. (The core leaves batches of one as they are.)"""
    if tuple(core.batch) != shape:
        _core.reshape_inplace(core, list(shape))
    return core


def require_slots(operation: str, *operands: _core.Ciphertext | _core.Plaintext) -> None:
    """MismatchError if operands have different slots or filled slots, as different lengths in NumPy. Operands
    of a single slot (CKKS), or with all slots filled, fit any other. Polynomials (encoded in coefficients)
    may have any lengths."""
    slots, filled = operands[0].slots, operands[0].filled
    for x in operands:  # most are alike, and every operation calls this
        if x.slots != slots or x.filled != filled:
            break
    else:
        return
    # A single slot of CKKS fits all others; a single value of BFV and BGV is in the first slot alone.
    found = sorted({x.slots for x in operands if (x.slots != 1 or x.filled) and x.encoding == "slots"})
    if len(found) > 1:
        raise _core.MismatchError(
            f"{operation}: operands of {found[-1]} and {found[0]} slots do not fit; encrypt or encode as "
            "many values in each (append zeros or repeat values)"
        )
    require_equally_filled(operation, operands)


def spread(message: MessageT, shape: tuple[int, ...]) -> MessageT:
    """The batch repeated to this shape. A batch of a single element stays: it fits any shape."""
    own = tuple(message.batch)
    if own == shape or math.prod(own) == 1:
        return message
    elements = np.broadcast_to(np.arange(math.prod(own)).reshape(own), shape)
    return _core.gather(message, elements.ravel().tolist(), list(shape))


def require_equally_filled(operation: str, natives: Sequence[_core.Ciphertext | _core.Plaintext]) -> None:
    """MismatchError if messages have different numbers of filled slots. A message with a value in all slots
    fits any other."""
    counts = {x.filled for x in natives if x.filled and x.padding != "uniform"}
    if len(counts) > 1:
        raise _core.MismatchError(
            f"{operation}: operands of {max(counts)} and {min(counts)} values do not fit; as in NumPy they "
            "need as many (append zeros before they are encrypted or encoded, where zeros are meant)"
        )


def broadcast_shape(operation: str, a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    if a == b:  # NumPy takes microseconds
        return a
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        raise _core.MismatchError(
            f"{operation}: batches of shape {a} and {b} do not fit; as in NumPy, extents must be equal or 1"
        ) from None


def batch_axis(operation: str, shape: tuple[int, ...], axis: int) -> int | None:
    """The axis of the batch; None for the axis of the slots. ParameterError if there is no such axis."""
    along, last = as_integer(axis, operation, "axis"), len(shape)
    if along in (-1, last):
        return None
    if not -last - 1 <= along < last:
        raise _core.ParameterError(
            f"{operation}: axis {along} of a batch of shape {shape}, whose slots are axis {last}"
        )
    return along % (last + 1)


def integers_of_16_bits(matrix: object) -> NDArray[np.int16]:
    """A matrix for BFV and BGV. Errors as `Evaluator.multiply_rows`."""
    given = plain_array(matrix, "multiply_rows")
    if given.dtype.kind not in "biu":
        raise TypeError(
            "multiply_rows: BFV and BGV take a matrix of integers, not "
            f"{described(matrix)}; round the entries"
        )
    if given.ndim != 2:
        raise _core.MismatchError(f"multiply_rows: a matrix has two axes, and this has shape {given.shape}")
    if not has_16_bits(given):
        raise _core.RangeError(
            f"multiply_rows: the matrix has entries from {given.min()} to {given.max()}; they have 16 bits, "
            "-32768 to 32767. Split larger ones: 32768 * (high @ x) + low @ x"
        )
    return np.ascontiguousarray(given, dtype=np.int16)


def has_16_bits(integers: NDArray[Any]) -> bool:
    return not integers.size or bool(integers.min() >= -32768 and integers.max() <= 32767)
