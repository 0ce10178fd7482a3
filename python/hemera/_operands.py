"""How the operands of an operation are brought together: types, batches and slots."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hemera import _core
from hemera._arguments import require_type
from hemera.ciphertext import Ciphertext, require_equally_filled

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
    """MismatchError for operands of different slots or filled slots, as of different lengths in NumPy. Those
    of a single slot (CKKS) and of all slots meet any others. Polynomials (encoded in coefficients) may have
    any lengths."""
    slots, filled = operands[0].slots, operands[0].filled
    for x in operands:  # most are alike, and this is asked for each operation
        if x.slots != slots or x.filled != filled:
            break
    else:
        return
    # A single slot of CKKS meets all others; a single value of BFV and BGV is in the first slot alone.
    found = sorted({x.slots for x in operands if (x.slots != 1 or x.filled) and x.encoding == "slots"})
    if len(found) > 1:
        raise _core.MismatchError(
            f"{operation}: operands of {found[-1]} and {found[0]} slots do not fit; encrypt or encode as "
            "many values in each (append zeros or repeat values)"
        )
    require_equally_filled(operation, operands)


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
