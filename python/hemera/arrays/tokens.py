"""Arrays of which one axis, that of tokens, is in slots, and maps that do the same with each token."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hemera._process import cached_property
from hemera.arrays.batches import places_along
from hemera.arrays.sparse_map import Floats, Indices, Shape, SparseMap

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

    @staticmethod
    @functools.lru_cache(maxsize=64)
    def along(shape: Shape, axis: int | None) -> Places:
        """Places with an axis of the array in slots; None: there is none of tokens."""
        if axis is None:
            return Places.everywhere(math.prod(shape))
        token, own = places_along(shape, axis)
        return Places(own, token, len(own) // shape[axis], axis)

    @classmethod
    def everywhere(cls, size: int) -> Places:
        """The places of an array without tokens."""
        return cls(np.arange(size), np.full(size, EVERY), size)

    @staticmethod
    @functools.lru_cache(maxsize=64)
    def turned(shape: Shape, own: int, other: int) -> Places:
        """The places of an array with two axes of tokens, one in slots: a ciphertext has all pairs of tokens
        (t, t + d). With d = g + b, for giant steps g and baby steps b, the pair is in the slots of token
        t + g: sums over pairs then turn few ciphertexts (docs/transformers.md#attention)."""
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


@dataclass(frozen=True, eq=False)
class Turns:
    """A linear map of ciphertexts: target `targets[k]` takes `weights[k]` times source `sources[k]`, turned
    left by `by[k]` tokens."""

    by: Indices
    targets: Indices
    sources: Indices
    weights: Floats
    sums: bool = False
    """Whether all tokens are added up then."""

    @cached_property
    def turns_sources(self) -> bool:
        """Whether sources are turned, and not the results."""
        return self._turned(self.sources) < self._turned(self.targets)

    @property
    def cost(self) -> int:
        """Ciphertexts that are turned; a sum over tokens as one turn."""
        if self.sums:
            return len(np.unique(self.targets))
        return self._turned(self.sources if self.turns_sources else self.targets)

    def _turned(self, own: Indices) -> int:
        moved = self.by != 0
        return len(np.unique(np.stack([self.by[moved], own[moved]]), axis=1).T)


def turns_of(own: SparseMap, source: Places, target: Places, length: int) -> Turns | None:
    """A map between arrays at some places; None where it does not do the same with each token.

    Args:
        length: the number of tokens.
    """
    rows, columns, weights = own.rows, own.columns, own.values
    to, of = target.tokens[rows], source.tokens[columns]
    both = target.has_tokens and source.has_tokens
    sums = source.has_tokens and not target.has_tokens
    by = (of - to) % length if both else np.zeros(len(rows), np.int64)
    key = (by * target.count + target.ciphertexts[rows]) * source.count + source.ciphertexts[columns]
    order = _by_token(key, of if source.has_tokens else to, length)
    if order is None or (weights[order] != weights[order[:, :1]]).any():
        return None
    first = order[:, 0]
    taken = target.ciphertexts[rows[first]], source.ciphertexts[columns[first]]
    return Turns(by[first], *taken, weights[first], sums)


def _by_token(key: Indices, tokens: Indices, length: int) -> Indices | None:
    """The numbers of entries, of shape (keys, tokens), where each key has each token once; of shape (keys, 1)
    where there are no tokens; None elsewhere."""
    if not len(key):
        return None
    if tokens[0] == EVERY:
        order = np.argsort(key, kind="stable")
        return order[:, np.newaxis] if (np.diff(key[order]) > 0).all() else None
    if len(key) % length:
        return None
    order = np.argsort(key * length + tokens, kind="stable").reshape(-1, length)
    own = key[order]
    if (own != own[:, :1]).any() or (tokens[order] != np.arange(length)).any():
        return None
    return order


@dataclass(frozen=True, eq=False)
class Products:
    """Sums of products of ciphertexts of two values, turned by tokens: sum k is that of the products of
    turned ciphertexts `terms[0][:, k]` of the one and `terms[1][:, k]` of the other, and `sums` are turned
    and added up."""

    turned: tuple[tuple[Indices, Indices], tuple[Indices, Indices]]
    """For both values the factors: turns to the left, and numbers of ciphertexts."""
    terms: tuple[Indices, Indices]
    """Shape (terms, sums)."""
    sums: Turns

    @property
    def cost(self) -> int:
        """Ciphertexts that are turned."""
        return sum(int((by != 0).sum()) for by, _ in self.turned) + self.sums.cost


def products_of(
    rows: Indices,
    taken: Sequence[Indices],
    sources: Sequence[Places],
    target: Places,
    where: Literal["left", "right", "target"],
    length: int,
) -> Products | None:
    """Sums of products, of elements at some places; None where they are not the same for each token.

    Args:
        rows: shape (sums,): elements that are sums.
        taken: of both values, shape (terms, sums): the elements that are multiplied.
        where: products are computed where the elements of one value are, or those of the result.
        length: the number of tokens.
    """
    to = np.broadcast_to(target.tokens[rows], taken[0].shape).ravel()
    of = [places.tokens[own].ravel() for places, own in zip(sources, taken, strict=True)]
    at = {"left": of[0], "right": of[1], "target": to}[where]
    if at[0] == EVERY and (of[0][0] != EVERY or of[1][0] != EVERY or to[0] != EVERY):
        return None
    codes, turned = [], []
    for own, tokens, places in zip(taken, of, sources, strict=True):
        by = (tokens - at) % length if places.has_tokens else np.zeros(len(tokens), np.int64)
        known, code = np.unique(by * places.count + places.ciphertexts[own].ravel(), return_inverse=True)
        codes.append(code.astype(np.int64))
        turned.append((known // places.count, known % places.count))
    out = (at - to) % length if target.has_tokens else np.zeros(len(at), np.int64)
    results = np.broadcast_to(target.ciphertexts[rows], taken[0].shape).ravel()
    sums, result = np.unique(out * target.count + results, return_inverse=True)
    key = (result.astype(np.int64) * len(turned[0][0]) + codes[0]) * len(turned[1][0]) + codes[1]
    order = _by_token(key, at, length)
    if order is None:
        return None
    first = order[:, 0]  # in the order of sums
    if len(first) % len(sums):
        return None
    own_sums = result[first].reshape(len(sums), -1)
    if (own_sums != np.arange(len(sums))[:, np.newaxis]).any():
        return None
    terms = [code[first].reshape(len(sums), -1).T for code in codes]
    last = Turns(
        sums // target.count,
        sums % target.count,
        np.arange(len(sums)),
        np.ones(len(sums)),
        bool(at[0] != EVERY and not target.has_tokens),
    )
    return Products((turned[0], turned[1]), (terms[0], terms[1]), last)
