"""Arrays of encrypted values joined to one, and spread to a shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from hemera import _core
from hemera.inputs.arguments import as_extents, described
from hemera.integers import arrangement
from hemera.integers.array import Booleans
from hemera.integers.encrypted import Encrypted, EncryptedT, engine_of, held_by, require_same, spread
from hemera.integers.types import common_type, plain_values

Join = Callable[[list[arrangement.Places]], arrangement.Places]


def concatenate(arrays: Sequence[Any], axis: int = 0) -> Any:
    """Arrays joined along an axis, in NumPy's type of all of them. A level goes, unless all but the last fill
    their ciphertexts and the axis is the first.

    Args:
        arrays: encrypted integers, and NumPy's arrays of integers among them; or encrypted booleans.
        axis: as NumPy's.

    Raises:
        MismatchError: if shapes or contexts do not fit.
        ParameterError: if there is no array.
        TypeError: if they are no such arrays, or if they are of both kinds.
    """
    return _joined("concatenate", arrays, partial(np.concatenate, axis=axis))


def stack(arrays: Sequence[Any], axis: int = 0) -> Any:
    """Arrays of one shape joined along a new axis; otherwise as `concatenate`."""
    return _joined("stack", arrays, partial(np.stack, axis=axis))


def broadcast_to(x: EncryptedT, shape: int | Sequence[int]) -> EncryptedT:
    """The values repeated to a shape, by NumPy's rules. A level goes, unless whole ciphertexts repeat.

    Raises:
        MismatchError: if they do not broadcast to it.
    """
    if not isinstance(x, Encrypted):
        raise TypeError(f"broadcast_to: takes encrypted integers or booleans, not {described(x)}")
    return spread("broadcast_to", x, tuple(as_extents((shape,), "broadcast_to")))


def _joined(operation: str, arrays: Sequence[Any], join: Join) -> Any:
    parts = _alike(operation, list(arrays))
    places, before = [], 0
    for part in parts:
        places.append(np.arange(part.size).reshape(part.shape) + before)
        before += part.size
    try:
        chosen = join(places)
    except ValueError as error:  # AxisError is one
        shapes = ", ".join(str(part.shape) for part in parts)
        raise _core.MismatchError(f"{operation}: arrays of shapes {shapes} do not fit: {error}") from None
    sizes = [part.size for part in parts]
    engine = engine_of(parts[0])
    is_moved = not arrangement.stand_together(engine, sizes, chosen)
    held = [part._movable() if is_moved else held_by(part) for part in parts]
    return parts[0]._with(arrangement.joined(engine, held, sizes, chosen), chosen.shape)


def _alike(operation: str, arrays: list[Any]) -> list[Encrypted]:
    """The arrays, encrypted and of one type."""
    first = next((each for each in arrays if isinstance(each, Encrypted)), None)
    if first is None:
        if arrays:
            raise TypeError(f"{operation}: no array is encrypted; the first is {described(arrays[0])}")
        raise _core.ParameterError(f"{operation} needs at least one array")
    context = first.context
    found: list[Any] = []
    for each in arrays:
        if isinstance(each, Encrypted):
            require_same(operation, first, each)
            found.append(each)
        else:
            found.append(context.encrypt(plain_values(operation, each, context.bits)))
    if all(isinstance(each, Booleans) for each in found):
        return found
    dtype = np.dtype(np.bool_)
    for each in found:
        dtype = common_type(operation, dtype, each.dtype) if each.dtype != bool else dtype
    return [each.astype(dtype) for each in found]
