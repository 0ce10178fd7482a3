"""Several samples in each ciphertext: programs on slots in which each slot becomes several."""

from __future__ import annotations

from dataclasses import replace

from hemera.compiler.impossible import NotPossibleError
from hemera.compiler.lowering import Lowered
from hemera.program.operations import Operation
from hemera.program.values import Form

__all__ = ["interleaved"]


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

    def rule(operation: Operation) -> Operation:
        found = operation.with_samples(samples, whole)
        if found is None:
            raise NotPossibleError(
                f"samples={samples}: {operation.name!r} is not done for several samples at once"
            )
        return found

    found = old.rewritten(rule, [Form(slots)] * len(old.inputs))
    return replace(steps, program=found, slots=slots)
