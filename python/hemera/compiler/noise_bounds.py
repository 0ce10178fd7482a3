"""Worst-case bounds on the noise of a program's results, before there is a ciphertext.

A bound is on the root mean square of the slots' errors, as `Context.noise_bound` has it, of which one unit is
its bound of a fresh encryption and a rotation: no key switch with a rescale, and no fresh encryption, adds
more than a unit. docs/compile-algorithms.md has the rules. The bounds hold for values in their ranges.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from hemera.errors import ParameterError
from hemera.objects.context import Context
from hemera.parameters import Parameters
from hemera.program.operations.places import Bounded, Bounds
from hemera.program.program import Program

__all__ = ["noise_bounds"]


def noise_bounds(
    program: Program, params: Parameters, inputs: Sequence[float], magnitudes: Mapping[int, float]
) -> list[float]:
    """A bound for each output of a CKKS program.

    Args:
        program: without bootstraps.
        params: that it runs with.
        inputs: the largest magnitude of each input.
        magnitudes: of values by their number, where ranges are closer than what follows from the inputs.

    Raises:
        ParameterError: for an operation of which no bound is known, such as a bootstrap.
        LevelError: where the parameters have too few levels.
    """
    levels = program.levels(params)
    unit = Context(params, "ledger", threads=1).noise_bound(depth=0, largest=1)
    values = [Bounded(largest, unit) for largest in inputs]
    for node in program.nodes:
        operation, place = node.operation, program.place(node, params, levels)
        # Operands come down to a common level and scale first, which rounds them.
        xs = [Bounded(values[at].largest, values[at].error + unit) for at in node.operands]
        found = operation.bounded(Bounds(place.params, place.level, place.form, unit), *xs)
        if found is None:
            raise ParameterError(
                f"share=True: the noise of {operation.name!r} has no worst-case bound, so results can not be "
                "shown to others; keep them to yourself without share=True, or write the function without it"
            )
        values.append(Bounded(min(found.largest, magnitudes.get(len(values), math.inf)), found.error))
    return [values[at].error + unit for at in program.outputs]
