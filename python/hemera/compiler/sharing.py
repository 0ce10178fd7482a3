"""Parameters with room for results that others will see."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hemera.arrays.tensor import TensorProgram
from hemera.compiler.bootstraps import bootstrap_of
from hemera.compiler.impossible import NotPossibleError
from hemera.compiler.lowering import Lowered
from hemera.errors import ParameterError
from hemera.objects.context import Context
from hemera.package.sharing import Sharing
from hemera.parameters import Parameters
from hemera.program.operations.places import Bounded, Bounds
from hemera.program.program import Program

__all__ = ["Room", "noise_bounds", "room_of"]

_TAIL = 6.0
"""Standard deviations that count as the largest noise of a slot."""
_LARGEST_NOISE = 0.25
"""In a slot, however large results are: `decrypt_for_sharing` refuses twice as much."""
_MOST_SCALE_BITS = 120
_WAYS_OUT = "take a smaller precision_bits=, fewer shares=, or a function of less depth"


@dataclass(frozen=True)
class Room:
    """The room that a program's results need, so that noise can hide their errors and leave their bits."""

    steps: Lowered
    inputs: tuple[float, ...]
    """The largest magnitude of each input."""
    outputs: tuple[float, ...]
    """The largest magnitude of each result."""
    precision_bits: float
    shares: int

    def found(self, make: Callable[[int], Parameters | None], scale_bits: int) -> tuple[Parameters, Sharing]:
        """The parameters with the least scale that has the room.

        Args:
            make: the parameters of a scale; None where no ring without bootstraps has it.
            scale_bits: the least scale.

        Raises:
            NotPossibleError: where there are none.
        """
        while scale_bits <= _MOST_SCALE_BITS:
            params = make(scale_bits)
            if params is None:
                break
            sharing = self.sharing(params)
            missing = self.missing_bits(params, sharing)
            if missing <= 0:
                return params, sharing
            scale_bits += math.ceil(missing)
        raise NotPossibleError(
            f"share=True: the noise that hides errors takes a scale of {scale_bits} bits at a depth of "
            f"{self.steps.program.depth}, for which there are no parameters without bootstraps; {_WAYS_OUT}"
        )

    def given(self, params: Parameters) -> Sharing:
        """How results are shared with parameters of the user's. NotPossibleError where they lack the
        room."""
        if params.scheme == "ckks" and bootstrap_of(params, self.steps.slots) is not None:
            raise NotPossibleError(
                "share=True: errors of bootstraps have no worst-case bound, so results of parameters with "
                "bootstraps can not be shown to others; leave params= out, or take those of for_circuit"
            )
        sharing = self.sharing(params)
        missing = self.missing_bits(params, sharing)
        if missing > 0:
            raise NotPossibleError(
                f"share=True: the scale of the given parameters lacks {missing:.1f} bits for the noise that "
                f"hides errors at precision_bits={self.precision_bits:g}; leave params= out, give a scale of "
                f"{math.ceil(math.log2(params._native.scale) + missing)} bits, or {_WAYS_OUT}"
            )
        return sharing

    def sharing(self, params: Parameters) -> Sharing:
        """The worst-case bounds with some parameters."""
        bounds = noise_bounds(self.steps.program, params, self.inputs, self.steps.magnitudes)
        return Sharing(tuple(bounds), self.shares)

    def missing_bits(self, params: Parameters, sharing: Sharing) -> float:
        """The bits by which the scale is too small; 0 or less: it has the room."""
        return max(
            math.log2(
                _TAIL
                * sharing.deviation(at, self.steps.slots, params.degree, params._native.scale)
                / min(_LARGEST_NOISE, 2.0**-self.precision_bits * largest)
            )
            for at, largest in enumerate(self.outputs)
        )


def room_of(program: TensorProgram, steps: Lowered, precision_bits: float, shares: int) -> Room:
    """The room that a program needs, with precision relative to the largest value of each result."""
    inputs = [max(map(abs, program.nodes[at].range)) for at in program.inputs]
    outputs = [max(map(abs, program.nodes[at].range)) or 1.0 for _, at in program.outputs]
    return Room(steps, tuple(inputs), tuple(outputs), precision_bits, shares)


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
