"""Sums of products that are divided by roots of sums of squares: by the Cauchy-Schwarz inequality they lie in
an interval that does not depend on the ranges of the values, as cosines and correlations do in [-1, 1]."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hemera.arrays.facts import Facts
from hemera.arrays.operations import Affine, Apply, Multiply
from hemera.arrays.sparse_map import Floats, Indices, SparseMap
from hemera.arrays.tensor import TensorProgram

_MOST_ENTRIES = 1 << 22
"""The most elements of results times those of the values that they are sums of."""


def known_of_product(
    program: TensorProgram, facts: Sequence[Facts], a: int, b: int
) -> tuple[int, tuple[float, float] | None]:
    """What is known of the product of two nodes: its sign (0: not known), and the ends of its range."""
    sign = 1 if a == b else _sign_of_product(program, a, b)
    if sign:
        return sign, None if a == b else (0.0, math.inf) if sign > 0 else (-math.inf, 0.0)
    for number, inverse in ((a, b), (b, a)):
        applied = facts[_moved_node(program, inverse)].applied
        if applied is not None and applied[0] == "reciprocal":
            most = _largest_quotient(program, facts, number, inverse)
            return 0, None if most is None else (-most, most)
    return 0, None


def _largest_quotient(
    program: TensorProgram, facts: Sequence[Facts], number: int, inverse: int
) -> float | None:
    """The largest magnitude of the elements of a node times an inverse; None: not known.

    The node is made of sums of products, and the inverse of roots of the sums of their factors' squares, or
    of products of two such roots."""
    walk = _Walk(program, facts)
    walk.follow(inverse, np.arange(program.nodes[inverse].size), 1.0)
    if walk.divisor is None or not 1 <= len(walk.roots) <= 2:
        return None
    most = _largest(program, number, walk.roots)
    return None if most is None else most * (1 + walk.error)


@dataclass
class _Walk:
    """The roots in the divisor of an inverse."""

    program: TensorProgram
    facts: Sequence[Facts]
    divisor: int | None = None
    roots: list[tuple[int, Indices]] = field(default_factory=list)
    """Nodes below roots, and their elements for each element of the inverse."""
    error: float = 0.0
    """The part of itself by which the inverse may be larger, by errors of functions."""

    def follow(self, at: int, places: Indices, exponent: float) -> None:
        """Take in a node that stands in the divisor, to a power, as far as the divisor is at least its
        roots."""
        node, applied = self.program.nodes[at], self.facts[at].applied
        own = node.operation
        if applied is not None and isinstance(own, Apply):
            name, of = applied
            low, high = self.program.nodes[of].range
            if name == "reciprocal" and self.divisor is None and low > 0:
                self.divisor, self.error = of, own.function.error * high
                return self.follow(of, places, exponent)
            if name == "sqrt" and self.divisor is not None:
                low, high = self.program.nodes[self.divisor].range
                self.error += own.function.error * high / (low * max(node.range[1], own.function.error))
                return self.follow(of, places, exponent / 2)
        if isinstance(own, Multiply) and self.divisor is not None:
            for each in node.operands:
                self.follow(each, places, exponent)
        elif isinstance(own, Affine) and _is_above(own):
            self.follow(node.operands[0], own.maps[0].columns[places], exponent)
        elif self.divisor is not None:
            self.roots += [(at, places)] * round(2 * exponent)
        return None


def _is_above(own: Affine) -> bool:
    """Whether an affine map moves elements, and adds nothing that is below 0."""
    adds = own.offset is None or float(own.offset.min()) >= 0
    return len(own.maps) == 1 and own.maps[0].is_selection and own.maps[0].is_of_each and adds


def _sign_of_product(program: TensorProgram, a: int, b: int) -> int:
    """The sign of a product of two nodes that are the same elements of a node, each scaled; 0: not known."""
    if _moved_node(program, a) != _moved_node(program, b):
        return 0
    one, other = _factor(program, a), _factor(program, b)
    if not np.array_equal(one.places, other.places):
        return 0
    scales = one.factors * other.factors
    return int((scales >= 0).all()) - int((scales < 0).all())


def _largest(program: TensorProgram, number: int, roots: Sequence[tuple[int, Indices]]) -> float | None:
    """The largest quotient of the elements of a node and of the roots of sums of squares."""
    same = _first_equal(program, [number, *[at for at, _ in roots]])
    given = _terms(program, number)
    below = [_terms(program, at, above=True) for at, _ in roots]
    if given is None or len(given[1]) != len(roots) or not (len(roots) == 2 or given[0].is_of_each):
        return None
    own, factors = given
    weights = np.abs(_weights(own, factors)) ** (2 / len(roots))
    for order in ((0, 1), (1, 0)) if len(roots) == 2 else ((0,),):
        found = np.ones(own.outputs)
        for factor, at in zip(factors, order, strict=True):
            squares, places = below[at], roots[at][1]
            if squares is None or same[factor.at] != same[squares[1][0].at]:
                break
            sums, (one, *others) = squares
            of_squares = _weights(sums, squares[1])
            if not (others and _sign_of_product(program, *others[-1].product) and (of_squares >= 0).all()):
                break
            if max(own.outputs, sums.outputs) * factor.size > _MOST_ENTRIES:
                break
            part, whole = factor.spread(own, weights), one.spread(sums, of_squares)[places]
            with np.errstate(divide="ignore", invalid="ignore"):
                found *= np.sqrt(np.where(part > 0, part / whole, 0.0).max(1))
        else:
            return float(found.max())
    return None


@dataclass(frozen=True)
class _Factor:
    """A node moved and scaled: for each element the place in another node, and a factor."""

    at: int
    size: int
    places: Indices
    factors: Floats
    product: tuple[int, int]
    """The factors of the product that it is one of."""

    def spread(self, own: SparseMap, weights: Floats) -> Floats:
        """The weights of the other node's elements in sums of elements here."""
        found = np.zeros((own.outputs, self.size))
        np.add.at(found, (own.rows, self.places[own.columns]), weights)
        return found


def _weights(own: SparseMap, factors: Sequence[_Factor]) -> Floats:
    """The weights of products of the elements of other nodes in sums of products."""
    found = np.array(own.values)
    for each in factors:
        found = found * each.factors[own.columns]
    return found


def _first_equal(program: TensorProgram, numbers: Sequence[int]) -> dict[int, int]:
    """For the nodes that some are made of, and these, the first one that is recorded of the same
    operations."""
    found, known = dict[int, int](), dict[Any, int]()
    for at in program.needed(numbers):
        node = program.nodes[at]
        operands = tuple([found[each] for each in node.operands])
        found[at] = known.setdefault((node.operation.identity, operands) if operands else at, at)
    return found


def _terms(
    program: TensorProgram, number: int, *, above: bool = False
) -> tuple[SparseMap, list[_Factor]] | None:
    """A node as sums of products: the map of them, and their factors, one where it is no product; None: it
    is none.

    Args:
        above: whether the node may be above the sums.
    """
    node = program.nodes[number]
    own = SparseMap.selection(np.arange(node.size), node.size)
    while isinstance(node.operation, Affine) and len(node.operands) == 1:
        offset, one = node.operation.offset, node.operation.maps[0]
        if offset is not None and not (above and float(offset.min()) >= 0 and (own.values >= 0).all()):
            return None
        if one.entries > _MOST_ENTRIES:
            return None
        own = own @ one
        number, node = node.operands[0], program.nodes[node.operands[0]]
    factors = node.operands if isinstance(node.operation, Multiply) else (number,)
    return own, [_factor(program, each, (factors[0], factors[-1])) for each in factors]


def _factor(program: TensorProgram, number: int, product: tuple[int, int] = (0, 0)) -> _Factor:
    base = _moved_node(program, number)
    places, factors = np.arange(program.nodes[number].size), np.ones(program.nodes[number].size)
    while number != base:
        node = program.nodes[number]
        assert isinstance(node.operation, Affine)
        own = node.operation.maps[0]
        places, factors = own.columns[places], factors * own.values[places]
        number = node.operands[0]
    return _Factor(base, program.nodes[base].size, places, factors, product)


def _moved_node(program: TensorProgram, number: int) -> int:
    """The node whose elements another one has, moved and scaled."""
    node = program.nodes[number]
    while isinstance(node.operation, Affine) and len(node.operands) == 1 and node.operation.offset is None:
        own = node.operation.maps[0]
        if own.entries > _MOST_ENTRIES or not own.is_of_each:
            break
        number, node = node.operands[0], program.nodes[node.operands[0]]
    return number
