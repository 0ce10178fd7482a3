"""The problem: a program with its levels and costs as tables, and what a placement of it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hemera.errors import LevelError

Floats = NDArray[np.float64]
Levels = NDArray[np.int16]

DYNAMIC_PROGRAMMING = "dynamic programming"
INTEGER_PROGRAM = "integer program"
BEAM = "beam"
SAME = 1e-9
"""Times that differ by less, relatively, are the same: sums in another order differ so."""


@dataclass(frozen=True)
class Input:
    """A value that comes from outside."""

    level: int
    """The level at which it comes."""
    bootstrap: float = math.inf
    """Time of a bootstrap of it; `math.inf`: it can not be bootstrapped."""
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
    cost: Callable[[int], float]
    """Time by the operands' level, at least 0; `math.inf`: it can not run there. Called once a level."""
    bootstrap: float = math.inf
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
    bootstrapped: tuple[int, ...]
    """The values that are bootstrapped, in ascending order, each as it comes."""
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
    """A step with the levels at which it can run, counted from the lowest."""

    operands: tuple[int, ...]  # each once, ascending
    depth: int
    result: int
    levels: Levels  # [level], ascending
    costs: Floats  # [level]
    least: float  # of the costs


@dataclass
class Problem:
    """A program with its costs as tables. Levels are counted from the lowest."""

    top: int  # the level that a bootstrap gives
    starts: list[int]  # of the inputs
    nodes: list[Node] = field(default_factory=list)
    prices: list[float] = field(default_factory=list)  # [value]: of its bootstrap
    highest: list[int] = field(default_factory=list)  # [value]: the level at which it can be had at most
    paths: dict[tuple[int, int], Floats] = field(
        default_factory=dict
    )  # of (value, user) [level]: see _bound_paths

    @property
    def values(self) -> int:
        return len(self.prices)


def tables_of(inputs: Sequence[Input], steps: Sequence[Step], result_level: int, lowest: int) -> Problem:
    """The costs of a program at the levels that can occur. LevelError for a step that can run at none."""
    problem = Problem(result_level - lowest, [each.level - lowest for each in inputs])
    names: list[str] = []

    def add_value(level: int, bootstrap: float, name: str) -> None:
        problem.prices.append(bootstrap)
        problem.highest.append(max(level, problem.top) if math.isfinite(bootstrap) else level)
        names.append(name)

    for i, given in enumerate(inputs):
        add_value(problem.starts[i], given.bootstrap, _called("input", i, given.name))
    for i, step in enumerate(steps):
        name, depth = _called("step", i, step.name), step.depth
        operands = tuple(sorted(set(step.operands)))
        narrow = min(operands, key=problem.highest.__getitem__)
        highest = problem.highest[narrow]
        if highest < depth:
            raise LevelError(_too_deep(name, depth, names[narrow], highest + lowest, problem, lowest))
        levels = np.arange(depth, highest + 1, dtype=np.int16)
        costs = np.array([step.cost(level + lowest) for level in range(depth, highest + 1)], np.float64)
        possible = np.isfinite(costs)
        if not possible.any():
            raise LevelError(
                f"{name} can not run at the levels that its operands reach, {depth + lowest} to "
                f"{highest + lowest}: its time is infinite there; change its cost, or give it more levels"
            )
        levels, costs = levels[possible], costs[possible]
        problem.nodes.append(Node(operands, depth, len(names), levels, costs, float(costs.min())))
        add_value(int(levels[-1]) - depth, step.bootstrap, name)
    _bound_paths(problem)
    return problem


def _called(kind: str, number: int, name: str) -> str:
    return f"{kind} {number} ({name})" if name else f"{kind} {number}"


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


def _bound_paths(problem: Problem) -> None:
    """For each use of a value, the least time of the steps after it on one path, by the value's level.

    The path is the most expensive one that starts with this use. Its time is what its steps cost above their
    least cost, and its bootstraps. Costs of other paths are left out, so that no placement takes less.
    """
    # [value][level]: the most of its uses
    after = [np.zeros(max(highest, problem.top) + 1) for highest in problem.highest]
    for s in range(len(problem.nodes) - 1, -1, -1):
        node = problem.nodes[s]
        follows = np.full(max(int(node.levels[-1]), problem.top) + 1, math.inf)
        follows[node.levels] = node.costs - node.least + after[node.result][node.levels - node.depth]
        best = np.minimum.accumulate(follows)  # the operand may be dropped before
        for v in node.operands:
            own = best[np.minimum(np.arange(len(after[v])), len(best) - 1)]
            path = np.minimum(own, problem.prices[v] + best[problem.top])
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
    steps = list(zip(problem.nodes, levels, strict=True))
    if any(results[v] < level > problem.top for node, level in steps for v in node.operands):
        return math.inf
    costs = [float(node.costs[np.searchsorted(node.levels, level)]) for node, level in steps]
    return math.fsum([*costs, *(problem.prices[v] for v in bootstrapped_of(problem, levels, results))])


def results_of(problem: Problem, levels: Sequence[int]) -> list[int]:
    steps = zip(problem.nodes, levels, strict=True)
    return problem.starts + [level - node.depth for node, level in steps]


def bootstrapped_of(problem: Problem, levels: Sequence[int], results: Sequence[int]) -> list[int]:
    steps = zip(problem.nodes, levels, strict=True)
    return sorted({v for node, level in steps for v in node.operands if results[v] < level})
