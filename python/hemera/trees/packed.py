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

from hemera.objects.ciphertext import Ciphertext
from hemera.objects.evaluator import Evaluator
from hemera.trees.ensemble import Integers
from hemera.trees.layout import Layout
from hemera.trees.quantise import IntegerEnsemble

Terms = dict[int, Integers]
"""The factors of a plane's slots, by the plane's index in the request."""
Pairs = list[tuple[Ciphertext, Ciphertext]]
"""Products of ciphertexts that are added up."""


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


def packed_scores(
    ops: Evaluator, model: IntegerEnsemble, layout: Layout, planes: Sequence[Ciphertext]
) -> Ciphertext:
    """The scores, shape (chunks,), of planes of shape (chunks,): those of one group after the other; a group
    has `model.quantiser.planes` planes for each of `model.nodes`."""
    leaves = [layout.spread(model.leaves[:, :, leaf]) for leaf in range(model.leaves.shape[2])]
    bits = _bits(model, layout)
    products: Pairs = []
    linear: Terms = {}
    count = len(bits) * model.quantiser.planes
    for group in range(layout.groups):
        of_group = {node: _of_group(bit, group, count) for node, bit in bits.items()}
        trees = _Trees(ops, planes, of_group, [leaf[group] for leaf in leaves])
        own, pairs = trees.subtree(0)
        products += pairs
        linear.update(own.terms)
    parts = [] if (found := _sum(ops, linear, planes)) is None else [found]
    if products:
        parts.append(ops.dot(*map(list, zip(*products, strict=True))))
    if not parts:  # a model of constants
        parts.append(ops.subtract(planes[0], planes[0]))
    total = parts[0] if len(parts) == 1 else ops.add(*parts)
    for steps in layout.rotations:
        total = ops.add(total, ops.rotate(total, steps))
    total = ops.add(total, ops.swap_rows(total))
    # Every tree begins with its leftmost leaf; comparisons add differences.
    base = model.base + model.leaves[:, :, 0].sum(axis=1)
    return ops.add(total, ops.encode(layout.constants(base)))


def _bits(model: IntegerEnsemble, layout: Layout) -> dict[int, _Bit]:
    """The bits of `model.nodes`, in slots of shape (groups, N), with planes counted in the first group."""
    found = {}
    bins = model.quantiser
    uppers, lowers = bins.most_edges // bins.digit, bins.digit - 1

    def spread(mask: Any) -> Integers:
        return layout.spread(np.asarray(mask, dtype=np.int64))

    for index, node in enumerate(model.nodes.tolist()):
        first = index * bins.planes
        splits = model.splits[:, :, node]
        upper, lower = np.divmod(splits, bins.digit)
        whole, parted = (splits > 0) & (lower == 0), (splits > 0) & (lower > 0)
        linear, difference = {}, {}
        for c in range(1, uppers + 1):
            beyond = parted & (upper + 1 == c)
            linear[first + c - 1] = spread((whole & (upper == c)) | beyond)
            difference[first + c - 1] = spread((parted & (upper == c)).astype(np.int64) - beyond)
        if bins.tells_missing and model.missing is not None:
            linear[first + bins.planes - 1] = spread(model.missing[:, :, node])
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


def _sum(ops: Evaluator, terms: Terms, planes: Sequence[Ciphertext]) -> Ciphertext | None:
    """The sum of the terms that do not vanish; None without any."""
    used = {at: ops.encode(values) for at, values in terms.items() if values.any()}
    return ops.dot([planes[at] for at in used], list(used.values())) if used else None


@dataclass(frozen=True)
class _Trees:
    """The trees of one group: the bits of its nodes, and its leaves."""

    ops: Evaluator
    planes: Sequence[Ciphertext]
    bits: dict[int, _Bit]
    leaves: list[Integers]

    def subtree(self, node: int) -> tuple[_Linear, Pairs]:
        """The value of the subtree: a linear part, and products that are added to it."""
        first_leaf = len(self.leaves) - 1
        if node >= first_leaf:
            return _Linear({}, self.leaves[node - first_leaf]), []
        left, of_left = self.subtree(2 * node + 1)
        bit = self.bits.get(node)
        if bit is None or not (bit.linear or bit.lower):
            return left, of_left  # no tree of the group goes right
        right, of_right = self.subtree(2 * node + 2)
        apart = right.minus(left)
        if of_right or of_left or any(values.any() for values in apart.terms.values()):
            upper = [(self._affine(bit.upper), self._linear(bit.lower))] if bit.lower else []
            negated = [(u, self.ops.negate(w)) for u, w in of_left]
            u = self._with_products(_Linear(bit.linear, np.zeros(1, np.int64)), upper)
            return left, [*of_left, (u, self._with_products(apart, [*of_right, *negated]))]
        # Two leaves: their difference is in the masks' places.
        chosen, lower = (
            {at: mask * apart.constant for at, mask in terms.items()} for terms in (bit.linear, bit.lower)
        )
        is_parted = any(values.any() for values in lower.values())
        pairs = [(self._affine(bit.upper), self._linear(lower))] if is_parted else []
        return _Linear({**left.terms, **chosen}, left.constant), pairs

    def _linear(self, terms: Terms) -> Ciphertext:
        found = _sum(self.ops, terms, self.planes)
        assert found is not None  # of terms of which one does not vanish
        return found

    def _affine(self, linear: _Linear) -> Ciphertext:
        return self._with_products(linear, [])

    def _with_products(self, linear: _Linear, pairs: Pairs) -> Ciphertext:
        """A linear part and products, which are not all nothing."""
        found = _sum(self.ops, linear.terms, self.planes)
        if pairs:
            products = self.ops.dot(*map(list, zip(*pairs, strict=True)))
            found = products if found is None else self.ops.add(found, products)
        assert found is not None
        return self.ops.add(found, self.ops.encode(linear.constant)) if linear.constant.any() else found
