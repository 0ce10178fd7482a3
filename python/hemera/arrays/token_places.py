"""Where the elements of arrays lie when one axis of each, that of tokens, is in slots."""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["EVERY", "Places", "token_axes"]

Indices = NDArray[np.int64]
Shape = tuple[int, ...]

EVERY = -1
"""A mark in place of a token: the element is in the slots of all tokens."""


@dataclass(frozen=True, eq=False)
class Places:
    """For each element of an array, flat, its ciphertext and the token in whose slots it is."""

    ciphertexts: Indices
    tokens: Indices
    """`EVERY`: of all tokens. It is so for all elements, or for none."""
    count: int
    """Ciphertexts."""
    axis: int | None = None
    """The axis of the tokens, where ciphertexts have the order of the elements of one token."""

    @classmethod
    def along(cls, shape: Shape, axis: int | None) -> Places:
        """Places with an axis of the array in slots; None: there is none of tokens."""
        return cls.everywhere(math.prod(shape)) if axis is None else _along(shape, axis)

    @classmethod
    def everywhere(cls, size: int) -> Places:
        """The places of an array without tokens."""
        return cls(np.arange(size), np.full(size, EVERY), size)

    @classmethod
    def turned(cls, shape: Shape, own: int, other: int) -> Places:
        """The places of an array with two axes of tokens, one in slots: a ciphertext has all pairs of tokens
        (t, t + d). With d = g + b, for giant steps g and baby steps b, the pair is in the slots of token
        t + g: sums over pairs then turn few ciphertexts (docs/transformers.md#attention)."""
        return _turned(shape, own, other)

    @classmethod
    def candidates(cls, shape: Shape, length: int) -> list[Places]:
        """All of these for an array, with `length` tokens."""
        axes = token_axes(shape, length)
        return [
            *(cls.along(shape, axis) for axis in axes),
            cls.everywhere(math.prod(shape)),
            *(cls.turned(shape, *pair) for pair in itertools.permutations(axes, 2)),
        ]

    @property
    def size(self) -> int:
        """Elements of the array."""
        return len(self.tokens)

    @property
    def has_tokens(self) -> bool:
        """Whether elements are of a token each."""
        return bool(self.tokens[0] != EVERY)

    def is_like(self, other: Places) -> bool:
        """Whether all elements are at the same places."""
        return self is other or (
            self.count == other.count
            and np.array_equal(self.ciphertexts, other.ciphertexts)
            and np.array_equal(self.tokens, other.tokens)
        )

    def taken(self, elements: Indices, length: int) -> Places | None:
        """The places of elements that stay where they are; None where they do not fill ciphertexts, each
        once."""
        count = len(elements) // length if self.has_tokens else len(elements)
        own, tokens = self.ciphertexts[elements], self.tokens[elements]
        known, ciphertexts = np.unique(own, return_inverse=True)
        slots = ciphertexts * (length if self.has_tokens else 1) + np.maximum(tokens, 0)
        if len(known) != count or len(np.unique(slots)) != len(elements):
            return None
        return Places(ciphertexts.astype(np.int64), tokens, count)


def token_axes(shape: Shape, length: int) -> list[int]:
    """The axes of an array that may be those of tokens, by their length; a single token has no axis."""
    return [axis for axis, extent in enumerate(shape) if extent == length > 1]


@functools.lru_cache(maxsize=64)
def _along(shape: Shape, axis: int) -> Places:
    extents = (*shape[:axis], *shape[axis + 1 :])
    rest = np.expand_dims(np.arange(math.prod(extents)).reshape(extents), axis)
    tokens = np.arange(shape[axis]).reshape(-1, *(1,) * (len(shape) - 1 - axis))
    own, token = (np.broadcast_to(each, shape).ravel() for each in (rest, tokens))
    return Places(own, token, math.prod(extents), axis)


@functools.lru_cache(maxsize=64)
def _turned(shape: Shape, own: int, other: int) -> Places:
    length = shape[own]
    babies = 1 << (int(math.log2(length)) + 1) // 2
    index = np.indices(shape).reshape(len(shape), -1)
    offset = (index[other] - index[own]) % length
    index[other] = offset
    rest = [axis for axis in range(len(shape)) if axis != own]
    extents = tuple(shape[axis] for axis in rest)
    ciphertexts = np.ravel_multi_index(tuple(index[axis] for axis in rest), extents)
    tokens = (index[own] + offset // babies * babies) % length
    return Places(ciphertexts.astype(np.int64), tokens, math.prod(extents))
