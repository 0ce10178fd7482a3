"""How the operands of an operation are brought together: types, batches and slots."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hemera import _core
from hemera._arguments import require_type
from hemera.ciphertext import Ciphertext

__all__ = [
    "broadcast_shape",
    "fitted",
    "native_of",
    "require_slots",
    "reshaped",
    "spread",
    "spread_plain",
]


def native_of(operation: str, a: Ciphertext) -> _core.Ciphertext:
    return require_type(a, Ciphertext, operation, "a ciphertext")._native


def fitted(
    operation: str, operands: Sequence[Ciphertext], plain: Sequence[_core.Plaintext] = ()
) -> tuple[tuple[int, ...], list[_core.Ciphertext]]:
    """The shape to which all operands broadcast, and the ciphertexts spread to it. MismatchError when shapes
    or slots do not fit."""
    natives: list[_core.Ciphertext | _core.Plaintext] = [*(x._native for x in operands), *plain]
    shape: tuple[int, ...] = ()
    for native in natives:
        shape = broadcast_shape(operation, shape, tuple(native.batch))
    require_slots(operation, *natives)
    return shape, [spread(x, shape)._native for x in operands]


def reshaped(core: _core.Ciphertext, shape: tuple[int, ...]) -> _core.Ciphertext:
    """A result in the shape that NumPy's rule gives it: batches of one meet others as they are."""
    if tuple(core.batch) != shape:
        _core.reshape_inplace(core, list(shape))
    return core


def require_slots(operation: str, *operands: _core.Ciphertext | _core.Plaintext) -> None:
    """MismatchError for operands of different slots, unless of a single one: values of CKKS would repeat
    where an array is filled with zeros. Polynomials (encoded in coefficients) may have any lengths."""
    first = operands[0].slots
    if all(x.slots == first for x in operands):
        return
    found = sorted({x.slots for x in operands if x.slots != 1 and x.encoding == "slots"})
    if len(found) > 1:
        raise _core.MismatchError(
            f"{operation}: operands of {found[-1]} and {found[0]} slots do not fit; encrypt or encode as "
            "many values in each (append zeros or repeat values), or give the shorter one as an array, which "
            "is filled with zeros"
        )


def spread(a: Ciphertext, shape: tuple[int, ...]) -> Ciphertext:
    """`a` for a batch of this shape; one of a single element meets each of them as it is."""
    return a if a.shape == shape or a._count == 1 else a._broadcast_to(shape)


def spread_plain(plain: _core.Plaintext, shape: tuple[int, ...]) -> _core.Plaintext:
    own = tuple(plain.batch)
    if own == shape or math.prod(own) == 1:
        return plain
    elements = np.arange(math.prod(own)).reshape(own)
    return _core.gather(plain, np.broadcast_to(elements, shape).ravel().tolist(), list(shape))


def broadcast_shape(operation: str, a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    if a == b:  # NumPy takes microseconds
        return a
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        raise _core.MismatchError(
            f"{operation}: batches of shape {a} and {b} do not fit; as in NumPy, extents must be equal or 1"
        ) from None
