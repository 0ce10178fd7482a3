"""Tokens in slots: slot token * stride + input, a ciphertext for each feature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hemera.errors import MismatchError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Layout:
    """Where the values of `inputs` sequences of `tokens` tokens lie in `slots` slots. Inputs are repeated
    until the slots are full, so that a rotation by whole strides turns the tokens of each.

    Raises:
        MismatchError: if the tokens do not divide the slots, or there are more inputs than places.
    """

    tokens: int
    inputs: int
    slots: int

    def __post_init__(self) -> None:
        if self.slots % self.tokens or self.inputs > self.stride:
            raise MismatchError(
                f"{self.inputs} inputs of {self.tokens} tokens do not fit {self.slots} slots: tokens must be "
                f"a power of two, and inputs {self.stride} or fewer"
            )

    @property
    def stride(self) -> int:
        """The distance from a token to the next."""
        return self.slots // self.tokens

    def pack(self, values: Array) -> Array:
        """Values of shape (inputs, tokens, ...) as rows (..., slots)."""
        places = np.arange(self.stride) % self.inputs
        rows = np.moveaxis(values[places], (1, 0), (-2, -1))  # (..., tokens, stride)
        return np.ascontiguousarray(rows).reshape(*rows.shape[:-2], self.slots)

    def unpack(self, rows: Array) -> Array:
        """The other way round."""
        apart = rows.reshape(*rows.shape[:-1], self.tokens, self.stride)[..., : self.inputs]
        return np.moveaxis(apart, (-2, -1), (1, 0))

    def of_step(self, name: str, values: Array, count: int) -> Array:
        """The first `count` rows of a step of the clear block, see `hemera_apps.transformer.watch.Watch`."""
        if name == "sums":  # (inputs, heads, tokens)
            return self.pack(values.swapaxes(1, 2)[..., :count])
        if name != "scores":
            return self.pack(values[..., :count])
        tokens = np.arange(values.shape[-1])
        distances = [values[:, 0, tokens, (tokens + d) % len(tokens)] for d in range(count)]
        return self.pack(np.stack(distances, -1))
