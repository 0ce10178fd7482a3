"""Several samples in each ciphertext: programs on slots in which each slot becomes several."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from hemera.compiler.impossible import NotPossibleError
from hemera.compiler.lowering import Lowered
from hemera.program import operations as op
from hemera.program.operations import Operation
from hemera.program.program import Program
from hemera.program.values import Form

__all__ = ["interleaved"]

_SLOT_BY_SLOT = (
    op.Add,
    op.Subtract,
    op.Negate,
    op.Multiply,
    op.Power,
    op.AddNumber,
    op.MultiplyNumber,
    op.OfNamedFunction,
)


def interleaved(steps: Lowered, samples: int) -> Lowered:
    """The program for several samples at once: slot k of sample s is slot k * samples + s. A rotation by k
    slots becomes one by k * samples, and numbers of slots are repeated: as many operations as for one sample.

    Args:
        samples: a power of two.
    """
    if samples == 1:
        return steps
    old = steps.program
    whole = old.scheme != "ckks"  # their ciphertexts have all slots, in which contents repeat
    slots = steps.slots if whole else steps.slots * samples
    found = Program(old.scheme, [Form(slots)] * len(old.inputs))
    for node in old.nodes:
        found.add(_for(node.operation, samples, whole), *node.operands)
    for value in old.outputs:
        found.give(value)
    return replace(steps, program=found, slots=slots)


def _for(operation: Operation, samples: int, whole: bool) -> Operation:
    """The same operation on the slots of several samples."""

    def spread(values: Any) -> Any:
        array = np.asarray(values)
        if array.shape[-1] == 1:  # of all slots
            return array
        return np.repeat(array[..., : array.shape[-1] // samples] if whole else array, samples, axis=-1)

    if isinstance(operation, _SLOT_BY_SLOT) or (
        isinstance(operation, op.OfPolynomial) and not operation.per_slot
    ):
        return operation
    if isinstance(operation, op.Rotate):
        return type(operation)(operation.steps * samples)
    changed: dict[str, Any]
    if isinstance(operation, (op.AddArray, op.MultiplyArray)):
        changed = {"values": spread(operation.values)}
    elif isinstance(operation, op.DotArrays):
        changed = {"values": tuple(spread(each) for each in operation.values)}
    elif isinstance(operation, (op.Map, op.RowMap)):
        changed = {
            "numbers": tuple(number * samples for number in operation.numbers),
            "samples": operation.samples * samples,
            "baby_steps": operation.baby_steps * samples,
        }
    else:
        raise NotPossibleError(
            f"samples={samples}: {operation.name!r} is not done for several samples at once"
        )
    own: Any = operation
    found: Operation = replace(own, **changed)
    return found
