"""Quadratic polynomials of single elements as one square, which may save a level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.folding import once
from hemera.arrays.operations import Affine, Multiply
from hemera.arrays.sparse_map import SparseMap
from hemera.arrays.tensor import Node, TensorProgram

__all__ = ["with_squares"]

Floats = NDArray[np.float64]

_MOST_BASES = 8
"""Arrays that one is known as a polynomial of: the last ones."""
_MOST_CANCELLED = 16.0
"""The square is at most as many times as large as the polynomial: four bits are lost by the difference."""
_FACTORS = 1 / 64, 16.0
"""The range of factors of squares: larger ones would be of squares so small that their noise shows, smaller
ones of squares that need more bits before the point."""


@dataclass(frozen=True, eq=False)
class _Quadratic:
    """a x^2 + b x + c, element by element, of an array x."""

    a: Floats
    b: Floats
    c: Floats
    levels: int
    """The levels that it takes as the program has it."""
    unscaled: int
    """The same without a last product by numbers, which maps that follow take in."""


_SAME = _Quadratic(np.float64(0), np.float64(1), np.float64(0), 0, 0)


def with_squares(program: TensorProgram) -> TensorProgram:
    """The program with a x^2 + b x + c as a (x + b / 2a)^2 + c - b^2 / 4a where that saves a level.

    As it is written, x * (a x + b) takes a product by numbers and one of arrays, one after the other. As a
    square it takes the second alone, and maps that follow take in the factor a, or further squares.
    """
    program, changed = once(program.pruned()), True
    while changed and any(isinstance(node.operation, Multiply) for node in program.nodes):
        program, changed = _with_further(program)
        program = once(program.pruned())
    return program


def _with_further(program: TensorProgram) -> tuple[TensorProgram, bool]:
    """The program with squares of the arrays that it has, and whether there are any."""
    changed = False
    by_maps: list[set[bool]] = [set() for _ in program.nodes]
    for node in program.nodes:
        for at in node.operands:
            by_maps[at].add(node.operation.is_linear)
    for _, at in program.outputs:
        by_maps[at].add(False)
    known: list[dict[int, _Quadratic]] = []
    found = TensorProgram()
    places: list[int] = []
    for at, node in enumerate(program.nodes):
        known.append(_polynomials(at, node, known))
        base = _best_base(program, node, known[at], by_maps[at])
        if base is None:
            operands = [places[each] for each in node.operands]
            places.append(found.add(node.operation, operands, node.shape, node.where, node.range))
        else:
            own = _square(found, node, program.nodes[base].range, places[base], known[at][base])
            places.append(own)
            changed = True
    found.outputs = [(name, places[at]) for name, at in program.outputs]
    return found, changed


def _polynomials(at: int, node: Node, known: Sequence[dict[int, _Quadratic]]) -> dict[int, _Quadratic]:
    """A node's values as polynomials of those of nodes before it, and of itself."""
    operation = node.operation
    found: dict[int, _Quadratic] = {}
    given = [known[each] for each in node.operands]
    factors = _factors(operation, node.size) if isinstance(operation, Affine) else None
    for base in sorted(set.intersection(*map(set, given)))[-_MOST_BASES:] if given else []:
        own = [each[base] for each in given]
        if isinstance(operation, Affine) and factors is not None:
            found[base] = _sum(own, factors, operation.offset)
        elif isinstance(operation, Multiply) and not any(each.a.any() for each in own):
            found[base] = _product(*own)
    return {**found, at: _SAME}


def _factors(operation: Affine, size: int) -> list[Floats] | None:
    """The numbers by which each operand is multiplied, element by element; None for maps that do more."""
    single = all(each.entries == each.inputs == size and each.factors is not None for each in operation.maps)
    return [each.values for each in operation.maps] if single else None


def _sum(given: Sequence[_Quadratic], factors: Sequence[Floats], offset: Floats | None) -> _Quadratic:
    pairs = list(zip(given, factors, strict=True))
    a: Any = sum(factor * each.a for each, factor in pairs)
    b: Any = sum(factor * each.b for each, factor in pairs)
    c: Any = sum(factor * each.c for each, factor in pairs)
    levels = max(each.levels + int(not _is_whole(factor)) for each, factor in pairs)
    unscaled = given[0].unscaled if len(given) == 1 else levels
    return _Quadratic(a, b, c if offset is None else c + offset, levels, unscaled)


def _product(x: _Quadratic, y: _Quadratic) -> _Quadratic:
    """The product of two linear ones."""
    levels = 1 + max(x.levels, y.levels)
    return _Quadratic(x.b * y.b, x.b * y.c + x.c * y.b, x.c * y.c, levels, levels)


def _is_whole(factors: Floats) -> bool:
    """Whether a product by these numbers takes no level."""
    first = float(factors.flat[0])
    return first.is_integer() and bool((factors == first).all())


def _best_base(
    program: TensorProgram, node: Node, known: dict[int, _Quadratic], by_maps: set[bool]
) -> int | None:
    """The array of whose square a node is best made; None: of none.

    `by_maps`: whether maps take the node, which take the factor in, and whether others do.
    """
    best, most = None, 0
    for base, own in known.items():
        a = np.broadcast_to(own.a, node.size)
        if not node.size or not (_FACTORS[0] <= np.abs(a).min() and np.abs(a).max() <= _FACTORS[1]):
            continue
        saved = {True: own.unscaled - 1, False: own.levels - (1 if _is_whole(a) else 2)}
        found = [saved[each] for each in by_maps]
        low, high = program.nodes[base].range
        largest = np.abs(a) * np.maximum(abs(low + own.b / (2 * a)), abs(high + own.b / (2 * a))) ** 2
        cancels = largest.max() > _MOST_CANCELLED * max(map(abs, node.range))
        if min(found) >= 0 and max(found) > most and not cancels:
            best, most = base, max(found)
    return best


def _square(
    found: TensorProgram, node: Node, base_range: tuple[float, float], base: int, own: _Quadratic
) -> int:
    """Add the operations; `base` is the array's number in `found`. Returns the number of the result."""
    a, b, c = (np.broadcast_to(each, node.size) for each in (own.a, own.b, own.c))
    same = SparseMap.scaling(np.ones(node.size))
    middle, least = b / (2 * a), c - b**2 / (4 * a)
    ends = [float(base_range[0] + middle.min()), float(base_range[1] + middle.max())]
    moved = found.add(Affine((same,), middle), [base], node.shape, node.where, (ends[0], ends[1]))
    # What samples show of the result, they show of the square.
    reached = np.stack([(end - least) / a for end in node.range])
    low = max(0.0, float(reached.min()))
    high = min(max(end**2 for end in ends), float(reached.max()))
    square = found.add(Multiply(), [moved, moved], node.shape, node.where, (low, max(low, high)))
    return found.add(Affine((SparseMap.scaling(a),), least), [square], node.shape, node.where, node.range)
