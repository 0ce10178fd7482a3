"""Worst-case bounds on the errors of CKKS results, from a program and the ranges of its inputs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from hemera.errors import ParameterError
from hemera.objects.context import Context
from hemera.package.encodings import Arrays
from hemera.package.interface import Interface
from hemera.parameters import Parameters
from hemera.program.operations.places import Bounded, Bounds
from hemera.program.program import Program


def noise_bounds(
    program: Program, params: Parameters, inputs: Sequence[float], magnitudes: Mapping[int, float]
) -> list[float]:
    """A bound for each output of a CKKS program, for values in their ranges: on the root mean square of the
    slots' errors, as `Context.noise_bound` has it. One unit is its bound of a fresh encryption and a
    rotation: no key switch with a rescale, and no fresh encryption, adds more (docs/compile-algorithms.md).

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


def own_noise_bounds(interface: Interface, program: Program) -> list[float]:
    """The bounds of a packaged model's outputs, from its program and the declared ranges of its inputs alone:
    whoever opens results derives them itself.

    Raises:
        ParameterError: for an input without a range, and as `noise_bounds`.
    """
    return noise_bounds(program, interface.params, _largest_inputs(interface), {})


def _largest_inputs(interface: Interface) -> list[float]:
    """The largest magnitude of each input as it is encrypted."""
    encoding, found = interface.encoding, list[float]()
    scales, parts = [(1.0, 0.0)] * len(interface.inputs), 1
    if isinstance(encoding, Arrays):
        parts = encoding.parts
        if encoding.input_scales:
            pairs = zip(encoding.inputs, encoding.input_scales, strict=True)
            scales = [own for layout, own in pairs for _ in range(layout.count)]
    for spec, (factor, number) in zip(interface.inputs, scales, strict=True):
        if spec.low is None or spec.high is None:
            raise ParameterError(
                f"input {spec.name!r} has no range, from which a bound on the errors of results would "
                "follow; give it one (ArraySpec(range=))"
            )
        largest = max(abs(end - number) for end in (spec.low, spec.high)) / abs(factor)
        found.append(largest * math.sqrt(parts))
    return found
