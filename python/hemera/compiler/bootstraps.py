"""Bootstraps in a program on slots: where they stand, in deep functions too, and each operation's level."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hemera import circuits
from hemera.circuits.functions import stages_of
from hemera.compiler.attempts import TooDeepError
from hemera.compiler.costs import CostModel
from hemera.compiler.lowering import Lowered
from hemera.compiler.placement import Input, Placement, Step, place
from hemera.errors import LevelError, ParameterError
from hemera.parameters import Parameters
from hemera.program.keys import top_level
from hemera.program.operations import Bootstraps, Lower, OfNamedFunction, Operation, bootstrap_with
from hemera.program.program import Program
from hemera.program.values import Form


@functools.lru_cache(maxsize=16)
def bootstrap_of(params: Parameters, slots: int, *, real: bool = True) -> circuits.Bootstrap | None:
    """The bootstrap with some parameters; None where they have none."""
    if params.scheme != "ckks":
        return None
    try:
        settings = Bootstraps(real=real).settings(Form(max(2, slots)))
        return bootstrap_with(params, *sorted(settings.items()))
    except ParameterError:
        return None


def seconds_without(lowered: Lowered, params: Parameters, *, device: str) -> float:
    """Seconds of the program without bootstraps, by the device's table of times."""
    program = lowered.program
    levels = program.levels(params)
    costs = CostModel(params, max(levels), 0, device)
    first = len(program.inputs)
    return sum(
        costs.of(node.operation, program.taken(node))(levels[first + at] + node.operation.depth)
        for at, node in enumerate(program.nodes)
    )


def seconds_at_least(lowered: Lowered, params: Parameters, requests: int, *, device: str) -> float:
    """Seconds that the program's operations take at least, for these requests at once, by the device's
    table of times: at their lowest levels and without bootstraps. The way down to them is counted too."""
    program = lowered.program
    plan = bootstrap_of(params, lowered.slots)
    lowest = 0 if plan is None else plan.input_level
    costs = CostModel(params, lowest, lowest, device, requests)
    return sum(costs.least(node.operation, program.taken(node)) for node in program.nodes)


def seconds_of_bootstrap(params: Parameters, slots: int, *, device: str) -> float:
    """Seconds of a bootstrap of real slots, by the device's table of times; infinite where there is none with
    these parameters."""
    plan = bootstrap_of(params, slots)
    if plan is None:
        return math.inf
    return CostModel(params, plan.result_level, plan.input_level, device).bootstrap(plan)


def placed(lowered: Lowered, params: Parameters, *, device: str, narrow: bool = False) -> Lowered:
    """The program with bootstraps where they cost least, by the device's table of times; `narrow`: where a
    search of a second finds them.

    Raises:
        TooDeepError: where no placement exists: an operation is deeper than a bootstrap leaves levels.
        DeviceError: when there is no table of the device.
    """
    slots, magnitudes, in_parts = lowered.slots, lowered.magnitudes, lowered.in_parts
    plan = bootstrap_of(params, slots)
    assert plan is not None
    # Most maps run at the lowest levels, where keys for all levels would be twice as long.
    program = lowered.program.rewritten(lambda operation: operation.with_own_keys())
    top = top_level(params)
    costs = CostModel(params, max(top, plan.result_level), plan.input_level, device)
    both = bootstrap_of(params, slots, real=False) if in_parts else None
    of_one, of_two = costs.bootstrap(plan), math.inf if both is None else costs.bootstrap(both)

    def bootstrap(value: int) -> float:
        if value not in magnitudes:
            return math.inf
        batch = program.forms[value].shape
        return of_two if in_parts and not batch else of_one * math.prod(batch)

    groups = _groups(program, magnitudes)
    first = len(program.inputs)
    numbers = _numbers(first, groups, lowered.arrays)
    alike: dict[int, list[int]] = {}  # the values by their number, and so inputs first
    for value, number in numbers.items():
        alike.setdefault(number, []).append(value)
    by_result = {each.result: each for each in groups}
    inputs, steps = [], []
    for values in alike.values():
        seconds_of_all = sum(bootstrap(value) for value in values)
        if values[0] < first:
            inputs.append(Input(top, seconds_of_all, f"input {values[0]}"))
            continue
        one = by_result[values[0]]
        steps.append(
            Step(
                tuple(dict.fromkeys(numbers[value] for value in one.operands)),
                one.depth,
                _cost_of(program, [by_result[value] for value in values], costs),
                seconds_of_all,
                program.nodes[one.result - first].operation.name,
            )
        )
    try:
        found = place(inputs, steps, result_level=plan.result_level, lowest=plan.input_level, narrow=narrow)
    except LevelError as reason:
        raise TooDeepError(str(reason)) from reason
    rewritten = _rewritten(program, groups, numbers, found, lowered, plan.result_level)
    return replace(lowered, program=rewritten, placement=found)


def _numbers(first: int, groups: Sequence[_Group], arrays: Sequence[int | None]) -> dict[int, int]:
    """The number of each input and of each group's result among the values of the placement. In one array,
    inputs have one number, and so have groups of one depth that take values of the same numbers."""
    found: dict[int, int] = {}
    known: dict[Any, int] = {}
    for value in range(first):
        array = arrays[value]
        key: Any = value if array is None else ("input", array)
        found[value] = known.setdefault(key, len(known))
    for each in groups:
        array = arrays[each.result]
        taken = frozenset(found[value] for value in each.operands)
        key = each.result if array is None else (array, each.depth, taken)
        found[each.result] = known.setdefault(key, len(known))
    return found


@dataclass(frozen=True)
class _Group:
    """Operations that are placed as one: values between them are not bootstrapped."""

    nodes: tuple[int, ...]
    operands: tuple[int, ...]
    depth: int
    result: int
    before: tuple[int, ...]
    """For each node, the levels that those before it take."""


def _groups(program: Program, magnitudes: Mapping[int, float]) -> list[_Group]:
    """The operations of a program. One joins those that alone take its result, if it takes no level or its
    result is their only operand: the rotations and additions of a sum become one step."""
    first = len(program.inputs)
    users: dict[int, set[int]] = {}
    for at, node in enumerate(program.nodes):
        for value in node.operands:
            users.setdefault(value, set()).add(at)
    head = list(range(len(program.nodes)))  # the last node of each node's group
    kept = {*program.outputs, *magnitudes}
    members: dict[int, list[int]] = {at: [at] for at in head}
    for at in reversed(range(len(program.nodes))):
        value = first + at
        heads = {head[user] for user in users.get(value, ())}
        if value in kept or len(heads) != 1:
            continue
        (last,) = heads
        alone = {each for node in members[last] for each in program.nodes[node].operands} - {
            first + node for node in members[last]
        } == {value}
        if program.nodes[at].operation.depth == 0 or alone:
            head[at] = last
            members[last] = [at, *members[last]]
            del members[at]
    return [_group(program, sorted(each)) for _, each in sorted(members.items())]


def _group(program: Program, nodes: list[int]) -> _Group:
    first = len(program.inputs)
    inside = {first + at for at in nodes}
    taken: dict[int, int] = {}  # levels before each value
    operands: list[int] = []
    before = []
    for at in nodes:
        node = program.nodes[at]
        operands += [value for value in node.operands if value not in inside and value not in operands]
        own = max((taken.get(value, 0) for value in node.operands), default=0)
        before.append(own)
        taken[first + at] = own + node.operation.depth
    result = first + nodes[-1]
    return _Group(tuple(nodes), tuple(operands), taken[result], result, tuple(before))


def _cost_of(program: Program, groups: Sequence[_Group], costs: CostModel) -> Callable[[int], float]:
    """Seconds of groups by the level of their operands."""
    parts = [
        (costs.of(program.nodes[at].operation, program.taken(program.nodes[at])), before)
        for group in groups
        for at, before in zip(group.nodes, group.before, strict=True)
    ]
    return lambda level: sum(cost(level - before) for cost, before in parts)


def _rewritten(
    program: Program,
    groups: list[_Group],
    numbers: Mapping[int, int],
    found: Placement,
    lowered: Lowered,
    result_level: int,
) -> Program:
    """The program with the bootstraps of a placement, and with its operands at their levels.

    `numbers` has the placement's number of each value between groups.
    """
    result = Program(program.scheme, program.inputs)
    own = {at: at for at in range(len(program.inputs))}  # the result's number of each value
    raised: dict[int, int] = {}
    lower: dict[tuple[int, int], int] = {}

    def operand(value: int, level: int) -> tuple[int, int]:
        """A value for a step at a level, and the level at which it comes."""
        if not found.from_bootstrap(numbers[value], level):
            return own[value], found.results[numbers[value]]
        if value not in raised:
            magnitude = 2.0 ** math.ceil(math.log2(max(1.0, lowered.magnitudes[value])))
            real = not lowered.in_parts or program.forms[value].shape != ()
            raised[value] = result.add(Bootstraps(real=real, magnitude=magnitude, known=True), own[value])
        return raised[value], result_level

    first = len(program.inputs)
    inputs = len(found.results) - len(found.levels)
    for group in groups:
        level = found.levels[numbers[group.result] - inputs]
        taken = {value: operand(value, level) for value in group.operands}
        spare = min(have for _, have in taken.values()) - level
        if spare > 0:  # one operand at the level takes the others there
            lowest = min(taken, key=lambda value: taken[value][1])
            key = (taken[lowest][0], level)
            if key not in lower:
                lower[key] = result.add(Lower(spare), key[0])
            taken = {
                value: (lower[key] if number == key[0] else number, have)
                for value, (number, have) in taken.items()
            }
        places = {value: number for value, (number, _) in taken.items()}
        for each in group.nodes:
            node = program.nodes[each]
            places[first + each] = result.add(node.operation, *(places[value] for value in node.operands))
        own[group.result] = places[group.result]
    for value in program.outputs:
        result.give(own[value])
    return result


def in_stages(lowered: Lowered, params: Parameters) -> Lowered:
    """The program with functions that are deeper than a bootstrap leaves levels in stages, with bootstraps
    between them, of about a polynomial each. Steps (functions with a gap) and roots near 0 stay whole: a
    bootstrap's noise at equal values, or at 0, would become one."""
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
    return is_whole and not operation.is_frail and operation.depth > levels
