"""Fewer affine maps: those that follow each other become one where that is not more work."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from hemera.arrays.operations import Affine, Multiply
from hemera.arrays.repeated_map import RepeatedMap
from hemera.arrays.sparse_map import SparseMap
from hemera.arrays.tensor import Node, TensorProgram

__all__ = ["folded", "once"]

_MOST_WHOLE = 2.0**53
"""Sums of products of whole numbers are exact up to here."""


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
    users = Counter(at for node in program.nodes for at in set(node.operands))
    users.update(at for _, at in program.outputs)
    places: list[int] = []
    shared: set[int] = set()
    known: dict[Any, int] = {}
    for at, node in enumerate(program.nodes):
        operands = [places[at] for at in node.operands]
        operation = node.operation
        if isinstance(operation, Affine):
            if not (for_tokens and _scales(node)):
                operation, operands = _composed(found, operation, operands, shared, exact, for_tokens)
            if _is_nothing(operation, found, operands, node):
                places.append(operands[0])
                continue
        key = (operation.identity, tuple(operands), node.shape)
        if key not in known:
            known[key] = found.add(operation, operands, node.shape, node.where, node.range)
        places.append(known[key])
        if users[at] > 1:
            shared.add(known[key])
    found.outputs = [(name, places[at]) for name, at in program.outputs]
    return once(found.pruned())


def once(program: TensorProgram) -> TensorProgram:
    """The program with equal operations once, maps also where they differ in the shape of their result: a sum
    with and without its axis. Maps take the other's result as it is, as they count elements; for others it
    gets its shape."""
    found = TensorProgram()
    flat: list[int] = []
    shaped: dict[tuple[int, Any], int] = {}
    known: dict[Any, int] = {}

    def in_shape(at: int) -> int:
        node, place = program.nodes[at], flat[at]
        if found.nodes[place].shape == node.shape:
            return place
        if (place, node.shape) not in shaped:
            same = Affine((SparseMap.selection(np.arange(node.size), node.size),))
            shaped[place, node.shape] = found.add(same, [place], node.shape, node.where, node.range)
        return shaped[place, node.shape]

    for node in program.nodes:
        is_map = node.operation.is_linear
        operands = [flat[at] if is_map else in_shape(at) for at in node.operands]
        key = (node.operation.identity, tuple(operands), is_map or node.shape)
        if key not in known:
            known[key] = found.add(node.operation, operands, node.shape, node.where, node.range)
        flat.append(known[key])
    found.outputs = [(name, in_shape(at)) for name, at in program.outputs]
    return found


def _is_nothing(operation: Affine, program: TensorProgram, operands: list[int], node: Node) -> bool:
    """Whether a map gives its operand as it is."""
    return (
        len(operands) == 1
        and operation.offset is None
        and operation.maps[0].is_identity
        and program.nodes[operands[0]].shape == node.shape
    )


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
    return terms * first + _largest(last.offset) > _MOST_WHOLE


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
    if any(isinstance(own, RepeatedMap) for own in (last, *before.maps)):  # those of many entries
        return all(
            first.is_identity
            or (last.is_identity and not shared)
            or (isinstance(last, RepeatedMap) and last.joins(first) and not shared)
            for first in before.maps
        )
    return all(
        last.entries_after(first) <= last.entries + (0 if shared else first.entries) for first in before.maps
    )
