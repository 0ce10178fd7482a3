"""Values in the clear, under a level and a scale."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hemera.inputs.plain import plain_array
from hemera.objects.ciphertext import Plaintext
from hemera.objects.context import Context


@dataclass
class ClearValues:
    """A plaintext, as Orion calls it: its values, which are encoded for each level when they are first used
    there. So they keep what doubles hold, whatever their scale is said to be."""

    values: NDArray[np.float64]
    """An array of shape (slots,)."""
    level: int
    """Orion's level."""
    scale: int
    """Orion's name for the scale."""
    _encoded: dict[int, Plaintext] = field(default_factory=dict)

    def encoded(self, context: Context, level: int) -> Plaintext:
        """The values at one of the context's levels, with that level's scale."""
        found = self._encoded.get(level)
        if found is None:
            found = self._encoded[level] = context.encode(self.values, level=level)
        return found

    def set_scale(self, scale: int) -> None:
        """Another name for the scale of the same polynomial: the values change by the quotient."""
        self.values = self.values * (self.scale / scale)
        self.scale = scale
        self._encoded.clear()


def as_reals(values: object) -> NDArray[np.float64]:
    """Orion's lists of numbers, of shape (count,)."""
    return plain_array(values, "a vector", np.float64).reshape(-1)


def as_bytes(data: bytes) -> tuple[NDArray[np.uint8], None]:
    """Bytes as Orion keeps them in its files, and no pointer, since there is nothing to free."""
    return np.frombuffer(data, dtype=np.uint8), None
