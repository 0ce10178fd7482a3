"""Functions that take more levels than a bootstrap leaves, in stages with bootstraps between them."""

from __future__ import annotations

from dataclasses import replace

from hemera.circuits.functions import stages_of
from hemera.compiler.bootstraps import bootstrap_of
from hemera.compiler.lowering import Lowered
from hemera.parameters import Parameters
from hemera.program.operations import OfNamedFunction, Operation
from hemera.program.program import Program


def in_stages(lowered: Lowered, params: Parameters) -> Lowered:
    """The program with functions that are deeper than a bootstrap leaves levels in stages, of about a
    polynomial each. Steps (functions with a gap) and roots near 0 stay whole: a bootstrap's noise at equal
    values, or at 0, would become one."""
    program, plan = lowered.program, bootstrap_of(params, lowered.slots)
    levels = 0 if plan is None else plan.result_level - plan.input_level
    if plan is None or not any(_is_deep(node.operation, levels) for node in program.nodes):
        return lowered
    result, first = Program(program.scheme, program.inputs), len(program.inputs)
    places = list(range(first))  # the result's number of each value
    arrays = list(lowered.arrays[:first])
    between: dict[int, float] = {}  # the sizes of values between stages
    known: dict[tuple[int, int], int] = {}  # their arrays, by the function's array and their numbers in it

    for value, node in enumerate(program.nodes, first):
        operation, array = node.operation, lowered.arrays[value]
        if not isinstance(operation, OfNamedFunction) or not _is_deep(operation, levels):
            places.append(result.add(operation, *[places[at] for at in node.operands]))
            arrays.append(array)
            continue
        within = {at: places[own] for at, own in enumerate(node.operands)}
        for number, (inputs, functions) in stages_of(operation.function).items():
            for at, function in functions.items():
                own = replace(operation, stage=(number, at))
                within[at] = result.add(own, *[within[each] for each in inputs])
                between[within[at]] = max(function._native.bounds)
                arrays.append(None if array is None else known.setdefault((array, at), -1 - len(known)))
        arrays[-1] = array
        places.append(within[at])
    for value in program.outputs:
        result.give(places[value])
    magnitudes = {places[value]: own for value, own in lowered.magnitudes.items()}
    return replace(lowered, program=result, magnitudes=between | magnitudes, arrays=tuple(arrays))


def _is_deep(operation: Operation, levels: int) -> bool:
    is_whole = isinstance(operation, OfNamedFunction) and not (operation.stage or "gap" in operation.numbers)
    is_whole = is_whole and not operation.is_frail
    return is_whole and operation.depth > levels
