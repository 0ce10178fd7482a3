"""The report of a compiled program."""

from __future__ import annotations

import math

from hemera.arrays.tensor import Affine, Apply, Input, LookUp, Node, TensorProgram
from hemera.compiler.lowering import Lowered, Step
from hemera.objects.cost import Cost
from hemera.parameters import Parameters

__all__ = ["table"]


def table(program: TensorProgram, steps: Lowered, params: Parameters, cost: Cost, bits: float | None) -> str:
    """A few lines of the whole, and one for each operation.

    Args:
        bits: that results are expected to have; None: not known.
    """
    lines = [
        f"{params!r}, {steps.slots} slots, depth {steps.program.depth}",
        cost.report(),
        *([] if bits is None else [_bits_line(bits)]),
        f"{'operation':<28}{'shape':<18}{'diagonals':>10}{'sums':>6}  {'range':<24}where",
    ]
    for node, step in zip(program.nodes, steps.steps, strict=True):
        low, high = node.range
        lines.append(
            f"{_title(node):<28}{node.shape!s:<18}{_diagonals(step):>10}{step.folds or '':>6}  "
            f"{f'{low:.4g} to {high:.4g}':<24}{node.where}".rstrip()
        )
    return "\n".join(lines)


def _bits_line(bits: float) -> str:
    return "exact results" if math.isinf(bits) else f"about {bits:.0f} bits, relative to the largest result"


def _title(node: Node) -> str:
    operation = node.operation
    if isinstance(operation, Input):
        return f"input {operation.name}"
    if isinstance(operation, Affine):
        return "linear map" if len(operation.maps) == 1 else f"{len(operation.maps)} linear maps"
    if isinstance(operation, Apply):
        return operation.function.name
    if isinstance(operation, LookUp):
        return f"look-up of {len(operation.values)} values"
    return "square" if node.operands[0] == node.operands[1] else "product"


def _diagonals(step: Step) -> str:
    return "+".join(str(count) for count in step.diagonals)
