"""The circuit of the packed layout: trees and samples share the slots.

The client sends bits b_c = [bin >= c] of the feature of each node. The server knows each node's split c, so
the bit that decides the node is sum_c m_c b_c, where m_c is the mask of the trees that split at c. So u =
[goes right] takes plain products only. If bins have two digits (`Quantiser.digit`), bin >= c is

    [upper >= c1 + 1] + ([upper >= c1] - [upper >= c1 + 1]) [lower >= c0],

with the same masks: one product of ciphertexts more. A missing value with a bit of its own is 0 in all other
bits, and the mask of that bit has the nodes that take the value to the right.

A tree is value = left + u (right - left). Its last comparison is a plain product too, with right - left of
two leaves in the mask's place. So a tree of depth two needs one product of ciphertexts, at its root. Products
of all groups of trees are one sum, divided and relinearized once (`Evaluator.dot`). Leaves that multiply
nothing are one sum of plain products. (The paper multiplies five times, relinearizes and rotates seven times
a sample:
`paper.py`.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hemera.objects.ciphertext import Ciphertext, Plaintext
from hemera.objects.evaluator import Evaluator
from hemera.trees.ensemble import Integers
from hemera.trees.layout import Layout
from hemera.trees.quantise import IntegerEnsemble

Terms = dict[int, Integers]
"""The factors of a plane's slots, by the plane's index in the request."""
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
class _Bit:
    """The bit that decides a node, u = linear + upper * lower. Bins of one digit have no product."""

    linear: Terms
    upper: _Linear
    lower: Terms


@dataclass(frozen=True)
class _Factor:
    """linear + constant + upper * lower; `upper` is another factor, or None without a product."""

    linear: Encoded
    constant: Plaintext | None
    upper: _Factor | None
    lower: Encoded


@dataclass(frozen=True)
class _Product:
    """u * w of one node; w = linear + the products of the right child - those of the left one."""

    u: _Factor
    linear: Encoded
    constant: Plaintext | None
    right: list[_Product]
    left: list[_Product]


class PackedCircuit:
    """The circuit of a model for a layout. A request has the planes of one group after the other; a group has
    `model.planes` planes for each of `model.nodes`."""

    def __init__(self, evaluator: Evaluator, model: IntegerEnsemble, layout: Layout) -> None:
        self._ops = evaluator
        self._layout = layout
        self._products: list[_Product] = []
        self._linear: Encoded = []
        leaves = [layout.spread(model.leaves[:, :, leaf]) for leaf in range(model.leaves.shape[2])]
        bits = _bits(model, layout)
        for group in range(layout.groups):
            builder = _Builder(
                evaluator,
                {node: _of_group(bit, group, len(bits) * model.planes) for node, bit in bits.items()},
                [leaf[group] for leaf in leaves],
            )
            linear, products = builder.subtree(0)
            self._products += products
            self._linear += builder.encoded(linear.terms)
        # Every tree begins with its leftmost leaf; comparisons add differences.
        base = model.base + model.leaves[:, :, 0].sum(axis=1)
        self._base = evaluator.encode(layout.constants(base))

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
        return self._factor(product.u, planes), w

    def _factor(self, factor: _Factor, planes: Sequence[Ciphertext]) -> Ciphertext:
        found = self._sum(factor.linear, planes) if factor.linear else None
        if factor.upper is not None:
            product = self._ops.dot([self._factor(factor.upper, planes)], [self._sum(factor.lower, planes)])
            found = product if found is None else self._ops.add(found, product)
        assert found is not None  # `_Builder` makes no factor of a constant
        return found if factor.constant is None else self._ops.add(found, factor.constant)

    def _sum(self, terms: Encoded, planes: Sequence[Ciphertext]) -> Ciphertext:
        return self._ops.dot([planes[at] for at, _ in terms], [plain for _, plain in terms])


def _bits(model: IntegerEnsemble, layout: Layout) -> dict[int, _Bit]:
    """The bits of `model.nodes`, in slots of shape (groups, N), with planes counted in the first group."""
    found = {}
    uppers, lowers = model.most_edges // model.digit, model.digit - 1

    def spread(mask: Any) -> Integers:
        return layout.spread(np.asarray(mask, dtype=np.int64))

    for index, node in enumerate(model.nodes.tolist()):
        first = index * model.planes
        splits = model.splits[:, :, node]
        upper, lower = np.divmod(splits, model.digit)
        whole, parted = (splits > 0) & (lower == 0), (splits > 0) & (lower > 0)
        linear, difference = {}, {}
        for c in range(1, uppers + 1):
            beyond = parted & (upper + 1 == c)
            linear[first + c - 1] = spread((whole & (upper == c)) | beyond)
            difference[first + c - 1] = spread((parted & (upper == c)).astype(np.int64) - beyond)
        if model.tells_missing:
            linear[first + model.planes - 1] = spread(model.missing[:, :, node])
        found[node] = _Bit(
            linear,
            _Linear(difference, spread(parted & (upper == 0))),
            {first + uppers + c - 1: spread(parted & (lower == c)) for c in range(1, lowers + 1)},
        )
    return found


def _of_group(bit: _Bit, group: int, planes: int) -> _Bit:
    """The bit of one group, whose planes come after those of the groups before."""

    def of(terms: Terms) -> Terms:
        return {group * planes + at: values[group] for at, values in terms.items() if values[group].any()}

    return _Bit(of(bit.linear), _Linear(of(bit.upper.terms), bit.upper.constant[group]), of(bit.lower))


class _Builder:
    """Makes the products of one group, from the bits of its nodes and its leaves."""

    def __init__(self, evaluator: Evaluator, bits: dict[int, _Bit], leaves: list[Integers]) -> None:
        self._evaluator = evaluator
        self._bits, self._leaves = bits, leaves

    def encoded(self, terms: Terms) -> Encoded:
        """The terms that do not vanish, as plaintexts."""
        return [(at, self._evaluator.encode(values)) for at, values in terms.items() if values.any()]

    def subtree(self, node: int) -> tuple[_Linear, list[_Product]]:
        """The value of the subtree: a linear part, and products that are added to it."""
        first_leaf = len(self._leaves) - 1
        if node >= first_leaf:
            return _Linear({}, self._leaves[node - first_leaf]), []
        left, left_products = self.subtree(2 * node + 1)
        bit = self._bits.get(node)
        if bit is None or not (bit.linear or bit.lower):
            return left, left_products  # no tree of the group goes right
        right, right_products = self.subtree(2 * node + 2)
        difference = right.minus(left)
        linear = self.encoded(difference.terms)
        if linear or right_products or left_products:
            upper = self._affine(bit.upper) if bit.lower else None
            u = _Factor(self.encoded(bit.linear), None, upper, self.encoded(bit.lower))
            constant = self._plain(difference.constant)
            product = _Product(u, linear, constant, right_products, left_products)
            return left, [*left_products, product]
        # Two leaves: their difference is in the masks' places.
        chosen = {at: mask * difference.constant for at, mask in bit.linear.items()}
        lower = self.encoded({at: mask * difference.constant for at, mask in bit.lower.items()})
        products = [_Product(self._affine(bit.upper), lower, None, [], [])] if lower else []
        return _Linear({**left.terms, **chosen}, left.constant), products

    def _affine(self, linear: _Linear) -> _Factor:
        return _Factor(self.encoded(linear.terms), self._plain(linear.constant), None, [])

    def _plain(self, values: Integers) -> Plaintext | None:
        return self._evaluator.encode(values) if values.any() else None
