"""Maps that are sums of products."""

from __future__ import annotations

from collections import Counter

from hemera.arrays.blocks import Blocks, blocks_of
from hemera.arrays.operations import Affine, Multiply
from hemera.arrays.tensor import TensorProgram

__all__ = ["sums_of_products"]


def sums_of_products(program: TensorProgram) -> dict[int, Blocks]:
    """The maps that are sums of elements of a product, with one factor, where nothing else takes the product:
    a row of their blocks has ones."""
    users = Counter(at for node in program.nodes for at in set(node.operands))
    users.update(at for _, at in program.outputs)
    found = {}
    for at, node in enumerate(program.nodes):
        if not isinstance(node.operation, Affine) or len(node.operands) != 1:
            continue
        (source,), (own,) = node.operands, node.operation.maps
        if isinstance(program.nodes[source].operation, Multiply) and users[source] == 1:
            for each in blocks_of(own, 1) or []:
                rows, terms = each.matrix.shape
                if rows == 1 < terms and (each.matrix == each.matrix[0, 0]).all():
                    found[at] = each
    return found
