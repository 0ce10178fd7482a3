"""Linear maps, and sums of products, that do the same with each token, as turns of ciphertexts by tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hemera._process import cached_property
from hemera.arrays.sparse_map import SparseMap
from hemera.arrays.token_places import EVERY, Places

__all__ = ["Products", "Turns", "products_of", "turns_of"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


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
