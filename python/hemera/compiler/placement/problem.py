"""The problem: a program with its levels and costs as tables, and what a placement of it is."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hemera.errors import LevelError, ParameterError

Cost = Callable[[int], float]
Floats = NDArray[np.float64]
Levels = NDArray[np.int16]

DYNAMIC_PROGRAMMING = "dynamic programming"
INTEGER_PROGRAM = "integer program"
BEAM = "beam"
SAME = 1e-9
"""Times that differ by less, relatively, are the same: sums in another order differ so."""

_MOST_LEVELS = 1000
_LONGEST = 1e100  # so that sums of times are finite


@dataclass(frozen=True)
class Input:
    """A value that comes from outside."""

    level: int
    """The level at which it comes."""
    bootstrap: float | Cost = math.inf
    """Time of a bootstrap of it, or a function of the level at which the bootstrap takes it. `math.inf`: it
    can not be bootstrapped."""
    name: str = ""
    """The name for messages."""


@dataclass(frozen=True)
class Step:
    """An operation of one result."""

    operands: tuple[int, ...]
    """The values that it takes, all at one level. Values are numbered: the inputs first, then the results of
    the steps."""
    depth: int
    """The levels that it takes: the result comes at the operands' level less `depth`."""
    cost: Cost
    """Time by the operands' level, at least 0; `math.inf`: it can not run there. Called once a level, also
    where several steps share one function."""
    bootstrap: float | Cost = math.inf
    """Time of a bootstrap of its result, as in `Input`."""
    name: str = ""
    """The name for messages."""


@dataclass(frozen=True)
class Placement:
    """Levels and bootstraps of a program, and the time that they take."""

    levels: tuple[int, ...]
    """For each step, the level at which it takes its operands."""
    results: tuple[int, ...]
    """For each value, inputs first, the level at which it comes, before any bootstrap."""
    bootstrapped: Mapping[int, int]
    """The values that are bootstrapped, in ascending order, each with the level at which its bootstrap takes
    it: that of the least time, and the highest of these."""
    time: float
    """The sum of the steps' and bootstraps' times, in the unit of the costs."""
    bound: float
    """No placement takes less time than this. `time`, where the placement is exact."""
    exact: bool
    """No placement takes less time, up to rounding (1e-9 of the time; for the integer program 1e-6)."""
    method: str
    """`"dynamic programming"`, `"integer program"` or `"beam"`."""

    def from_bootstrap(self, value: int, level: int) -> bool:
        """Whether a user of `value` at `level` takes the bootstrapped one: the value comes too low itself."""
        return self.results[value] < level


@dataclass(frozen=True)
class Node:
    """A step with the levels at which it can run, counted from the lowest; or an output that has a level."""

    operands: tuple[int, ...]  # each once, ascending
    depth: int
    result: int  # -1: an output
    levels: Levels  # [level], ascending
    costs: Floats  # [level]
    least: float  # of the costs


@dataclass
class Problem:
    """A program with its costs as tables. Levels are counted from the lowest."""

    top: int  # the level that a bootstrap gives
    starts: list[int]  # of the inputs
    nodes: list[Node] = field(default_factory=list)
    raw_bootstraps: list[Floats] = field(default_factory=list)  # [value][level]: as given
    bootstraps: list[Floats] = field(default_factory=list)  # [value][level]: or dropped before
    paths: dict[tuple[int, int], Floats] = field(
        default_factory=dict
    )  # of (value, user) [level]: see _bound_paths

    @property
    def values(self) -> int:
        return len(self.bootstraps)


def _natural(value: object, what: str, least: int = 0) -> int:
    """An integer of at least `least`."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ParameterError(f"{what} must be an integer, not {value!r}") from None
    if number < least:
        raise ParameterError(f"{what} must be at least {least}, not {number}")
    return number


def _levels_of(
    inputs: Sequence[Input], result_level: int, lowest: int, output_level: int | None
) -> tuple[int, list[int]]:
    """The level of bootstraps' results and the inputs' levels, checked and counted from `lowest`."""
    lowest = _natural(lowest, "lowest")
    top = _natural(result_level, "result_level", lowest) - lowest
    if output_level is not None:
        _natural(output_level, "output_level", lowest)
    starts = [
        _natural(each.level, f"the level of {_called('input', i, each.name)}", lowest) - lowest
        for i, each in enumerate(inputs)
    ]
    if max([top, *starts]) > _MOST_LEVELS:
        raise ParameterError(
            f"levels may reach {_MOST_LEVELS} above the lowest ({lowest}); one is {max([top, *starts])} above"
        )
    return top, starts


def _called(kind: str, number: int, name: str) -> str:
    return f"{kind} {number} ({name})" if name else f"{kind} {number}"


class _Times:
    """Reads times: each function once a level."""

    def __init__(self, lowest: int) -> None:
        self._lowest = lowest
        self._read: dict[tuple[int, int], float] = {}

    def __call__(self, given: float | Cost, levels: range, what: str) -> Floats:
        """The times at levels that are counted from the lowest."""
        if not callable(given):
            return np.full(len(levels), self._checked(given, what))
        times = np.empty(len(levels))
        for i, level in enumerate(levels):
            key = id(given), level
            if key not in self._read:
                self._read[key] = self._checked(
                    given(level + self._lowest), f"{what} at {level + self._lowest}"
                )
            times[i] = self._read[key]
        return times

    @staticmethod
    def _checked(time: object, what: str) -> float:
        if isinstance(time, str | bytes):
            raise ParameterError(f"{what} must be a number, not {time!r}")
        try:
            number = float(time)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise ParameterError(f"{what} must be a number, not {time!r}") from None
        if not (0 <= number <= _LONGEST or number == math.inf):
            raise ParameterError(f"{what} must be from 0 to {_LONGEST}, or infinite, not {number}")
        return number


def tables_of(
    inputs: Sequence[Input],
    steps: Sequence[Step],
    outputs: Sequence[int],
    result_level: int,
    lowest: int,
    output_level: int | None,
) -> Problem:
    """Checks a program, and evaluates its costs at the levels that can occur."""
    top, starts = _levels_of(inputs, result_level, lowest, output_level)
    problem = Problem(top, starts)
    times = _Times(lowest)
    names: list[str] = []
    reach: list[int] = []  # [value]: the highest level at which it can be had, bootstrapped or not

    def add_value(highest: int, bootstrap: float | Cost, name: str) -> None:
        table = np.full(max(highest, top) + 1, math.inf)  # a bootstrap that raises no level is none
        raised = min(highest + 1, top)
        table[:raised] = times(bootstrap, range(raised), f"the time of a bootstrap of {name}")
        problem.raw_bootstraps.append(table)
        problem.bootstraps.append(np.minimum.accumulate(table))
        names.append(name)
        reach.append(max(highest, top) if np.isfinite(table).any() else highest)

    for i, given in enumerate(inputs):
        add_value(starts[i], given.bootstrap, _called("input", i, given.name))
    for i, step in enumerate(steps):
        name = _called("step", i, step.name)
        depth = _natural(step.depth, f"the depth of {name}")
        operands = _operands(step, name, len(names))
        highest = min(reach[v] for v in operands)
        if highest < depth:
            narrow = min(operands, key=lambda v: reach[v])
            raise LevelError(_too_deep(name, depth, names[narrow], reach[narrow] + lowest, problem, lowest))
        levels = np.arange(depth, highest + 1, dtype=np.int16)
        costs = times(step.cost, range(depth, highest + 1), f"the time of {name}")
        possible = np.isfinite(costs)
        if not possible.any():
            raise LevelError(
                f"{name} can not run at the levels that its operands reach, {depth + lowest} to "
                f"{highest + lowest}: its time is infinite there; change its cost, or give it more levels"
            )
        levels, costs = levels[possible], costs[possible]
        problem.nodes.append(Node(operands, depth, len(names), levels, costs, float(costs.min())))
        add_value(int(levels[-1]) - depth, step.bootstrap, name)
    _add_outputs(problem, outputs, names, reach, 0 if output_level is None else output_level - lowest, lowest)
    _bound_paths(problem)
    return problem


def _operands(step: Step, name: str, values: int) -> tuple[int, ...]:
    """The operands, each once."""
    numbers = tuple(sorted({_natural(v, f"an operand of {name}") for v in step.operands}))
    if not numbers:
        raise ParameterError(f"{name} has no operands; values without operands are inputs")
    if numbers[-1] >= values:
        raise ParameterError(
            f"{name} takes value {numbers[-1]}, but before it there are {values} (inputs first, then results "
            "of steps); give the steps in an order in which they can run"
        )
    return numbers


def _too_deep(name: str, depth: int, operand: str, reach: int, problem: Problem, lowest: int) -> str:
    least = depth + lowest
    if problem.top < depth:
        return (
            f"{name} takes {depth} levels, but a bootstrap gives level {problem.top + lowest} and the lowest "
            f"is {lowest}; take parameters whose bootstraps give level {least} at least, or split the step"
        )
    return (
        f"{name} takes {depth} levels, so its operands need level {least} at least; {operand} comes at "
        f"{reach} at most and can not be bootstrapped; bootstrap it, or take parameters with more levels"
    )


def _add_outputs(
    problem: Problem, outputs: Sequence[int], names: list[str], reach: list[int], level: int, lowest: int
) -> None:
    """An output that must have a level is one more user of its value."""
    for v in sorted({_natural(v, "an output") for v in outputs}):
        if v >= len(names):
            raise ParameterError(
                f"an output is value {v}, but there are {len(names)} values, numbered from 0"
            )
        if level > reach[v]:
            raise LevelError(
                f"an output, the result of {names[v]}, must have level {level + lowest} but reaches "
                f"{reach[v] + lowest} at most; lower output_level, or bootstrap the output with more levels"
            )
        if level > 0:
            nodes, free = problem.nodes, np.zeros(1)
            nodes.append(Node((v,), 0, -1, np.array([level], dtype=np.int16), free, 0.0))


def _bound_paths(problem: Problem) -> None:
    """For each use of a value, the least time of the steps after it on one path, by the value's level.

    The path is the most expensive one that starts with this use. Its time is what its steps cost above their
    least cost, and its bootstraps. Costs of other paths are left out, so that no placement takes less.
    """
    after = [np.zeros(len(table)) for table in problem.bootstraps]  # [value][level]: the most of its uses
    for s in range(len(problem.nodes) - 1, -1, -1):
        node = problem.nodes[s]
        follows = np.full(max(int(node.levels[-1]), problem.top) + 1, math.inf)
        follows[node.levels] = node.costs - node.least
        if node.result >= 0:
            follows[node.levels] += after[node.result][node.levels - node.depth]
        best = np.minimum.accumulate(follows)  # the operand may be dropped before
        for v in node.operands:
            table = problem.bootstraps[v]
            own = best[np.minimum(np.arange(len(table)), len(best) - 1)]
            path = np.minimum(own, table + best[problem.top])
            problem.paths[v, s] = path
            np.maximum(after[v], path, out=after[v])


@dataclass(frozen=True)
class Found:
    """A placement by the levels of the nodes, counted from the lowest; None: nothing was found."""

    levels: list[int] | None
    time: float
    bound: float
    method: str

    @property
    def exact(self) -> bool:
        return self.bound >= self.time * (1 - SAME)


def time_of(problem: Problem, levels: Sequence[int]) -> float:
    """The time of a placement by the levels of its nodes; infinite if it is none."""
    results = results_of(problem, levels)
    needed = bootstrapped_of(problem, levels, results)
    steps = list(zip(problem.nodes, levels, strict=True))
    if any(results[v] < level > problem.top for node, level in steps for v in node.operands):
        return math.inf
    costs = [float(node.costs[np.searchsorted(node.levels, level)]) for node, level in steps]
    return math.fsum([*costs, *(float(problem.bootstraps[v][results[v]]) for v in needed)])


def results_of(problem: Problem, levels: Sequence[int]) -> list[int]:
    steps = zip(problem.nodes, levels, strict=True)
    return problem.starts + [level - node.depth for node, level in steps if node.result >= 0]


def bootstrapped_of(problem: Problem, levels: Sequence[int], results: Sequence[int]) -> list[int]:
    steps = zip(problem.nodes, levels, strict=True)
    return sorted({v for node, level in steps for v in node.operands if results[v] < level})
