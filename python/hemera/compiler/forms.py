"""What must hold of a program in each form that passes of a compilation give. AssertionError where it does
not, which is a fault of the pass."""

from __future__ import annotations

import math

from hemera.arrays.splitting import SplitProgram
from hemera.arrays.tensor import TensorProgram
from hemera.compiler.lowering import Lowered

__all__ = ["require_arrays", "require_slots"]


def require_arrays(program: TensorProgram) -> None:
    """Operands come before what takes them; results are there, by different names; ranges have an order."""
    for at, node in enumerate(program.nodes):
        _require(all(0 <= each < at for each in node.operands), f"node {at} takes what comes after it")
        _require(node.range[0] <= node.range[1], f"node {at} has the range {node.range}")
    names = [name for name, _ in program.outputs]
    _require(len(set(names)) == len(names) > 0, f"results are named {names}")
    _require(all(0 <= at < len(program.nodes) for _, at in program.outputs), "a result is no node")


def require_slots(cut: SplitProgram, steps: Lowered) -> None:
    """A ciphertext for each tile of inputs and results, of a power of two of slots; a step for each node;
    sizes of values that are there."""
    program, arrays = steps.program, cut.program
    counts = (len(program.inputs), len(program.outputs), len(steps.steps))
    wanted = (len(arrays.inputs), len(arrays.outputs), len(arrays.nodes))
    _require(counts == wanted, f"inputs, results and steps are {counts}, and those of tiles are {wanted}")
    _require(steps.slots & (steps.slots - 1) == 0, f"{steps.slots} slots are no power of two")
    _require(all(form.slots == steps.slots for form in program.forms), "values have different slots")
    _require(all(0 <= at < len(program.forms) for at in steps.magnitudes), "a size is of no value")
    _require(not any(math.isnan(each) for each in steps.magnitudes.values()), "a size is no number")


def _require(holds: bool, fault: str) -> None:
    if not holds:
        raise AssertionError(fault)
