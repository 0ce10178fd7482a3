"""NumPy's rule for operators that change an array in place, for encrypted arrays of all kinds."""

from __future__ import annotations

from typing import Any

import numpy as np

from hemera._core import MismatchError

__all__ = ["require_in_place"]


def require_in_place(array: Any, found: Any, sign: str, *, is_shared: bool) -> None:
    """Checks that an array may become a result under all its names.

    Args:
        found: the result of the operator with this sign, with a shape and a dtype as the array.
        is_shared: whether other arrays have the same elements.

    Raises:
        TypeError: if NumPy would change other arrays too, or the values are of another kind.
        MismatchError: if the shapes differ.
    """
    way = f"write y = y {sign} x"
    if is_shared:
        raise TypeError(
            f"{sign}= would change other arrays as well, a caller's or those that share elements with this "
            f"one: {way}"
        )
    if found.shape != array.shape:
        raise MismatchError(f"{sign}= of shape {array.shape}, and the result has shape {found.shape}: {way}")
    if not np.can_cast(found.dtype, array.dtype, "same_kind"):
        raise TypeError(f"{sign}= makes {found.dtype} of {array.dtype}, which NumPy refuses: {way}")
