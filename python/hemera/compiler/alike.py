"""Operations of a program that are done alike, as those of the heads of a transformer are."""

from __future__ import annotations

from typing import Any

from hemera.arrays.tensor import TensorProgram

__all__ = ["alike_nodes"]


def alike_nodes(program: TensorProgram) -> list[int]:
    """For each node the number of its class. Nodes of a class have operations of one kind and shape, and take
    values of the same classes, and so do those that take them. They may differ in numbers and ranges."""
    nodes = program.nodes
    before: list[int] = []
    known: dict[Any, int] = {}
    for node in nodes:
        taken = [before[each] for each in node.operands]
        operands = tuple(sorted(taken) if node.operation.is_linear else taken)
        key = node.operation.likeness, node.shape, operands
        before.append(known.setdefault(key, len(known)))
    uses: list[set[Any]] = [set() for _ in nodes]
    for number, (name, at) in enumerate(program.outputs):
        uses[at].add(("output", name, number))
    found = [0] * len(nodes)
    classes: dict[Any, int] = {}
    for at in reversed(range(len(nodes))):
        found[at] = classes.setdefault((before[at], frozenset(uses[at])), len(classes))
        for place, each in enumerate(nodes[at].operands):
            where = 0 if nodes[at].operation.is_linear else place
            uses[each].add((found[at], where))
    return found
