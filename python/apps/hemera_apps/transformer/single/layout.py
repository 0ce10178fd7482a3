"""Features in slots: slot token * period + feature, `period` features of every token in a ciphertext."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.errors import MismatchError
from hemera_apps.transformer.clear import Shape

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SingleLayout:
    """Where the values of one input lie in `slots` slots. The input is repeated until they are full, so that
    a rotation by whole periods turns its tokens.

    Raises:
        MismatchError: if tokens, heads, features or hidden features do not fit whole periods.
    """

    shape: Shape
    slots: int

    inputs = 1

    def __post_init__(self) -> None:
        shape, width = self.shape, self.shape.width
        powers = all(size & (size - 1) == 0 for size in (shape.tokens, width))
        if not powers or shape.tokens % width or width < 2 or self.period < width:
            raise MismatchError(
                f"{shape} does not fit {self.slots} slots as one input: tokens and features of a head must "
                "be powers of two, there must be as many tokens, and as many slots for each token, as "
                "features of a head, and the hidden features must be a multiple of these"
            )

    @property
    def period(self) -> int:
        """The features of a ciphertext: as many as divide those of the block and the hidden ones."""
        common = int(np.gcd(self.shape.features, self.shape.inner))
        return min(common & -common, self.slots // self.shape.tokens)

    @property
    def ciphertexts(self) -> int:
        """The ciphertexts of the block's features."""
        return self.shape.features // self.period

    @property
    def merging(self) -> Array:
        """The matrix that takes one place of each head from each ciphertext of the features, and has all of
        them in one ciphertext, or in as few as there is room for: places of a head are those of ciphertexts
        in turn."""
        count, width, period = self.ciphertexts, self.shape.width, self.period
        together = min(count, width)
        place = np.arange(-(-count // together) * period)
        source = (place // period * together + place % width % together) % count
        found = np.zeros((len(place), self.shape.features))
        found[place, source * period + place % period] = 1
        return found

    def spread(self, features: NDArray[Any]) -> NDArray[Any]:
        """Values of shape (features,), the same for every token, as rows (ciphertexts, slots)."""
        return np.tile(features.reshape(-1, self.period), self.slots // self.period)

    def pack(self, values: Array) -> Array:
        """Values of one input, of shape (1, tokens, features), as rows (ciphertexts, slots)."""
        tokens = self.shape.tokens
        rows = values[0].reshape(tokens, -1, self.period).swapaxes(0, 1)
        return np.tile(rows.reshape(len(rows), -1), self.slots // (tokens * self.period))

    def unpack(self, rows: Array) -> Array:
        """The other way round."""
        tokens = self.shape.tokens
        first = rows[:, : tokens * self.period].reshape(len(rows), tokens, self.period)
        return np.asarray(first.swapaxes(0, 1).reshape(1, tokens, -1))

    def of_step(self, name: str, values: Array, count: int) -> Array:
        """The first `count` rows of a step of the clear block, see `hemera_apps.transformer.watch.Watch`."""
        width, tokens = self.shape.width, self.shape.tokens
        if name == "scores":  # (1, heads, tokens, tokens): of each token with those from it on
            own = np.arange(tokens)
            turned = values[0][:, own[:, None], (own[:, None] + own[:width]) % tokens]
            values = turned.swapaxes(0, 1).reshape(1, tokens, -1)
        elif name == "sums":  # (1, heads, tokens)
            values = np.repeat(values.swapaxes(1, 2), width, axis=2) @ self.merging.T
        return self.pack(values)[:count]
