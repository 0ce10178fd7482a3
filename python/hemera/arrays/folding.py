"""Programs with fewer affine maps and levels: maps that follow each other become one, products squares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hemera.arrays.facts import MOST_WHOLE
from hemera.arrays.operations import Affine, Multiply
from hemera.arrays.sparse_map import Floats, RepeatedMap, Shape, SparseMap
from hemera.arrays.tensor import Node, TensorProgram


def folded(program: TensorProgram, *, exact: bool = False, for_tokens: bool = False) -> TensorProgram:
    """The same program with affine maps composed, equal operations once, and without those that no output
    takes.

    Two maps become one if the product has at most as many entries as both together: a matrix after a
    permutation does, a sum that is spread over all elements does not. If others need the result of the first
    one too, the product has at most as many entries as the second one.

    Args:
        exact: of programs on whole numbers: maps are composed where no coefficient is rounded.
        for_tokens: of programs that do the same with each token (`hemera.compiler.batches`): products of
            elements with numbers that differ along other axes than the last one stay, and so do sums of
            products, but for the places of their elements.
    """
    found = TensorProgram()
    users = Counter([at for node in program.nodes for at in set(node.operands)])
    users.update([at for _, at in program.outputs])
    places: list[int] = []
    shared: set[int] = set()
    known: dict[Any, int] = {}
    for at, node in enumerate(program.nodes):
        operands = [places[at] for at in node.operands]
        operation = node.operation
        if isinstance(operation, Affine):
            if not (for_tokens and _scales(node)):
                operation, operands = _composed(found, operation, operands, shared, exact, for_tokens)
            is_identity = len(operands) == 1 and operation.offset is None and operation.maps[0].is_identity
            if is_identity and found.nodes[operands[0]].shape == node.shape:
                places.append(operands[0])
                continue
        key = (operation.identity, tuple(operands), node.shape)
        if key not in known:
            known[key] = found.add(operation, operands, node.shape, node.where, node.range)
        places.append(known[key])
        if users[at] > 1:
            shared.add(known[key])
    found.outputs = [(name, places[at]) for name, at in program.outputs]
    return once(found)


def once(program: TensorProgram) -> TensorProgram:
    """The program with equal operations once, and without those that no output takes. Maps are equal also
    where they differ in the shape of their result: a sum with and without its axis. Maps take the other's
    result as it is, as they count elements; for others it gets its shape."""
    nodes, found = program.nodes, TensorProgram()
    known: dict[Any, int] = {}
    reshaped: dict[tuple[int, Shape], int] = {}
    places: dict[int, int] = {}

    def in_shape(at: int) -> int:
        node, own = nodes[at], places[at]
        if found.nodes[own].shape == node.shape:
            return own
        if (own, node.shape) not in reshaped:
            same = Affine((SparseMap.selection(np.arange(node.size), node.size),))
            reshaped[own, node.shape] = found.add(same, [own], node.shape, node.where, node.range)
        return reshaped[own, node.shape]

    for at in program.used:
        node = nodes[at]
        is_map = node.operation.is_linear
        operands = [places[each] if is_map else in_shape(each) for each in node.operands]
        key = (node.operation.identity, tuple(operands), is_map or node.shape)
        if key not in known:
            known[key] = found.add(node.operation, operands, node.shape, node.where, node.range)
        places[at] = known[key]
    found.outputs = [(name, in_shape(at)) for name, at in program.outputs]
    return program if len(known) == len(nodes) else found


def _composed(
    program: TensorProgram,
    operation: Affine,
    operands: list[int],
    shared: set[int],
    exact: bool,
    for_tokens: bool,
) -> tuple[Affine, list[int]]:
    """The map with its operands' maps taken in, and the operands that it then has."""
    maps: dict[int, SparseMap] = {}
    offset = operation.offset
    for each, at in zip(operation.maps, operands, strict=True):
        before = program.nodes[at].operation
        if (
            not isinstance(before, Affine)
            or (exact and _rounds(operation, before))
            or (for_tokens and _stays(program, at, each))
            or not _worth_joining(each, before, at in shared)
        ):
            maps[at] = maps[at] + each if at in maps else each
            continue
        if before.offset is not None:
            moved = each.apply(before.offset)
            offset = moved if offset is None else offset + moved
        for first, source in zip(before.maps, program.nodes[at].operands, strict=True):
            joined = first if each.is_identity else each @ first
            maps[source] = maps[source] + joined if source in maps else joined
    if offset is not None and not offset.any():
        offset = None
    kept = {at: each for at, each in maps.items() if each.entries} or maps
    return Affine(tuple(kept.values()), offset), list(kept)


def _rounds(last: Affine, before: Affine) -> bool:
    """Whether coefficients of the composed maps, or their offsets, can be larger than what is exact."""
    first = max([1.0, *(_largest(each.values) for each in before.maps), _largest(before.offset)])
    terms = sum(_largest(each.values) * each.inputs for each in last.maps)
    return terms * first + _largest(last.offset) > MOST_WHOLE


def _largest(values: Any) -> float:
    return 0.0 if values is None else float(np.abs(values).max(initial=0.0))


def _stays(program: TensorProgram, at: int, last: SparseMap) -> bool:
    """Whether a map between tokens stays, and `last` after it."""
    node = program.nodes[at]
    of_products = any(isinstance(program.nodes[each].operation, Multiply) for each in node.operands)
    return _scales(node) or (of_products and last.entries != last.outputs)


def _scales(node: Node) -> bool:
    """Whether an operation scales elements by numbers that differ along other axes than the last one."""
    operation = node.operation
    if not isinstance(operation, Affine):
        return False
    for own in operation.maps:
        factors = None if isinstance(own, RepeatedMap) else own.factors
        if factors is not None:
            last = node.shape[-1] if node.shape else 1
            rows = factors.reshape(-1, last)
            if (rows != rows[0]).any():
                return True
    return False


def _worth_joining(last: SparseMap, before: Affine, shared: bool) -> bool:
    """Whether one map in place of two is not more work. A map whose result others need too stays anyway."""
    if RepeatedMap in map(type, (last, *before.maps)):  # those of many entries
        return all(
            first.is_identity
            or (last.is_identity and not shared)
            or (isinstance(last, RepeatedMap) and last.joins(first) and not shared)
            for first in before.maps
        )
    return all(
        last.entries_after(first) <= last.entries + (0 if shared else first.entries) for first in before.maps
    )


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
    changed = bool([node for node in program.nodes if isinstance(node.operation, Multiply)])
    program = once(program) if changed else program
    while changed:
        program, changed = _with_further(program)
        program = once(program)
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
