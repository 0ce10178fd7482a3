"""The circuit of the packed layout: trees and samples share the slots.

The client sends bits b_c = [bin >= c] of the feature of each node. With a node's split c known, the bit that
decides it is sum_c m_c b_c, m_c the mask of the trees that split at c, so u = [goes right] takes plain
products only. A tree is value = left + u (right - left): its last comparison is a plain product too, with
right - left of two leaves in the mask's place, and the root of a tree of depth two is the one product of
ciphertexts that it needs. Products of all groups of trees are one sum, divided and relinearized once
(`Evaluator.dot`), and leaves that multiply nothing are one sum of plain products. (The paper multiplies five
times, relinearizes and rotates seven times a sample: `paper.py`.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hemera.applications.trees.counting import Counted
from hemera.applications.trees.ensemble import Integers
from hemera.applications.trees.layout import Layout
from hemera.applications.trees.quantise import IntegerEnsemble
from hemera.ciphertext import Ciphertext, Plaintext
from hemera.evaluator import Evaluator

Terms = dict[int, Integers]
"""Of planes, by their index in the request: what the slots of each are multiplied by."""
Encoded = list[tuple[int, Plaintext]]


@dataclass(frozen=True)
class _Linear:
    """A sum of planes times numbers, and a number, for each slot."""

    terms: Terms
    constant: Integers

    def minus(self, other: _Linear) -> _Linear:
        terms = dict(self.terms)
        for plane, values in other.terms.items():
            terms[plane] = terms[plane] - values if plane in terms else -values
        return _Linear(terms, self.constant - other.constant)


@dataclass(frozen=True)
class _Product:
    """u * w of one node; w = linear + the products of the right child - those of the left one."""

    u: Encoded
    linear: Encoded
    constant: Plaintext | None
    right: list[_Product]
    left: list[_Product]


class PackedCircuit:
    """The circuit of a model for a layout. A request has the planes of group g at g * planes_of(model)."""

    def __init__(self, evaluator: Evaluator, model: IntegerEnsemble, layout: Layout) -> None:
        self._ops = Counted(evaluator)
        self._layout = layout
        self._products: list[_Product] = []
        self._linear: Encoded = []
        masks = [layout.spread(self._mask(model, n, c)) for n, c in _planes(model)]
        leaves = [layout.spread(model.leaves[:, :, leaf]) for leaf in range(model.leaves.shape[2])]
        for group in range(layout.groups):
            first = group * len(masks)
            builder = _Builder(
                evaluator,
                model,
                {first + at: mask[group] for at, mask in enumerate(masks)},
                first,
                [leaf[group] for leaf in leaves],
            )
            linear, products = builder.subtree(0)
            self._products += products
            self._linear += builder.encoded(linear.terms)
        # Every tree's leftmost leaf is what no comparison takes away.
        base = model.base + model.leaves[:, :, 0].sum(axis=1)
        self._base = evaluator.encode(layout.constants(base))

    @staticmethod
    def _mask(model: IntegerEnsemble, node: int, split: int) -> Integers:
        return np.asarray(model.splits[:, :, node] == split, dtype=np.int64)

    @property
    def counts(self) -> dict[str, int]:
        """How many ciphertexts went through each operation so far."""
        return dict(self._ops.counts)

    def __call__(self, *planes: Ciphertext) -> Ciphertext:
        """The scores, shape (chunks,), of planes of shape (chunks,)."""
        parts: list[Ciphertext] = []
        if self._linear:
            parts.append(self._sum(self._linear, planes))
        if self._products:
            factors = [self._factors(product, planes) for product in self._products]
            parts.append(self._ops.dot([u for u, _ in factors], [w for _, w in factors]))
        if not parts:  # a model of constants
            parts.append(self._ops.subtract(planes[0], planes[0]))
        total = parts[0] if len(parts) == 1 else self._ops.add(*parts)
        for steps in self._layout.rotations:
            total = self._ops.add(total, self._ops.rotate(total, steps))
        total = self._ops.add(total, self._ops.swap_rows(total))
        return self._ops.add(total, self._base)

    def _factors(self, product: _Product, planes: Sequence[Ciphertext]) -> tuple[Ciphertext, Ciphertext]:
        w: Ciphertext | None = self._sum(product.linear, planes) if product.linear else None
        if product.right or product.left:
            factors = [self._factors(own, planes) for own in product.right]
            for own in product.left:
                u, other = self._factors(own, planes)
                factors.append((u, self._ops.negate(other)))
            inner = self._ops.dot([u for u, _ in factors], [other for _, other in factors])
            w = inner if w is None else self._ops.add(w, inner)
        assert w is not None  # `_Builder` makes no product of a constant
        if product.constant is not None:
            w = self._ops.add(w, product.constant)
        return self._sum(product.u, planes), w

    def _sum(self, terms: Encoded, planes: Sequence[Ciphertext]) -> Ciphertext:
        return self._ops.dot_plain([planes[at] for at, _ in terms], [plain for _, plain in terms])


def _planes(model: IntegerEnsemble) -> list[tuple[int, int]]:
    """Node and split of each plane of a group, in the order of a request."""
    nodes = model.features.shape[2]
    return [(n, c) for n in range(nodes) for c in range(1, model.planes + 1)]


class _Builder:
    """Makes the products of one group, from the masks of its planes and its leaves."""

    def __init__(
        self, evaluator: Evaluator, model: IntegerEnsemble, masks: Terms, first: int, leaves: list[Integers]
    ) -> None:
        self._evaluator = evaluator
        self._masks, self._leaves, self._first = masks, leaves, first
        self._nodes, self._splits = model.features.shape[2], model.planes

    def encoded(self, terms: Terms) -> Encoded:
        """The terms that do not vanish, as plaintexts."""
        return [(at, self._evaluator.encode(values)) for at, values in terms.items() if values.any()]

    def subtree(self, node: int) -> tuple[_Linear, list[_Product]]:
        """The value of the subtree: a linear part, and products that are added to it."""
        if node >= self._nodes:
            return _Linear({}, self._leaves[node - self._nodes]), []
        left, left_products = self.subtree(2 * node + 1)
        right, right_products = self.subtree(2 * node + 2)
        difference = right.minus(left)
        u = self._bits(node)
        linear = self.encoded(difference.terms)
        if linear or right_products or left_products:
            if not any(mask.any() for mask in u.values()):
                return left, left_products
            constant = difference.constant
            plain = self._evaluator.encode(constant) if constant.any() else None
            product = _Product(self.encoded(u), linear, plain, right_products, left_products)
            return left, [*left_products, product]
        chosen = {at: mask * difference.constant for at, mask in u.items()}
        return _Linear({**left.terms, **chosen}, left.constant), []

    def _bits(self, node: int) -> Terms:
        first = self._first + node * self._splits
        return {at: self._masks[at] for at in range(first, first + self._splits)}
