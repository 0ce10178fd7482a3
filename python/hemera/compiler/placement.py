"""Placement: the level of each operation of a straight-line program and the bootstraps between them.

`place` finds the placement of least time. A value may be dropped to any lower level for free. A bootstrap
takes a value at any level and gives it at one level, `result_level`. Both the value and its bootstrap may be
used. So the levels of the operations decide everything: a value is bootstrapped if and only if one of its
users takes it at a level above the value's own.

Three methods, of which the result names the one that found it:

- Dynamic programming over the frontier. The operations are taken one after the other. A state has the level
  of each value that is still needed. Of two states, one with higher or the same levels and less or the same
  time makes the other one useless. Chains and residual blocks have few states that are left, so that they
  need no rule of their own (Orion, arXiv 2311.03470v3, solves them by shortest paths, innermost blocks
  first). As in A* (Hart, Nilsson, Raphael 1968), each state has a lower bound of its remaining time. A state
  that can not beat the best placement known is dropped.
- An integer program, solved by `scipy.optimize.milp` (HiGHS) where SciPy is installed and the states are too
  many.
- The best of a beam: the same dynamic programming, which keeps the most promising states of each step.
"""

from __future__ import annotations

import importlib
import itertools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.errors import LevelError, ParameterError

__all__ = ["Input", "Placement", "Step", "place"]

Cost = Callable[[int], float]
Floats = NDArray[np.float64]
Levels = NDArray[np.int16]

DYNAMIC_PROGRAMMING = "dynamic programming"
INTEGER_PROGRAM = "integer program"
BEAM = "beam"
METHODS = (DYNAMIC_PROGRAMMING, INTEGER_PROGRAM, BEAM)

_MOST_LEVELS = 1000
_LONGEST = 1e100  # so that sums of times are finite
_SAME = 1e-9  # times that differ by less, relatively, are the same: sums in another order differ so
_NARROW, _BEAM, _WIDEST = 256, 2048, 32768  # states that are kept of each step
_BEAM_WORK, _WORK = 1 << 26, 1 << 28  # levels that a search writes at most: 4 and 15 seconds
_GRID, _CELLS = 1 << 20, 64  # cells of the table that finds useless states: at most, and for each state
_RIVALS = 32  # the fastest states, which all are compared with where the table would be larger
_REORDERED = 1000  # longer programs are taken in the order in which they come
_VARIABLES = 50_000  # an integer program is tried up to so many levels of all steps: 10 to 20 seconds
_NODES = 5_000  # HiGHS stops after so many branches, or seconds
_SECONDS = 60.0
_LARGEST = 1e10  # a cost of an integer program where the whole takes 1e4: with larger ones HiGHS is not exact


@dataclass(frozen=True)
class Input:
    """A value that comes from outside."""

    level: int
    """The level at which it comes."""
    bootstrap: float | Cost = math.inf
    """Time of a bootstrap of it, or a function of the level at which the bootstrap takes it. `math.inf`: it
    can not be bootstrapped."""
    name: str = ""
    """For messages."""


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
    """For messages."""


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
class _Node:
    """A step with the levels at which it can run, counted from the lowest; or an output that has a level."""

    operands: tuple[int, ...]  # each once, ascending
    depth: int
    result: int  # -1: an output
    levels: Levels  # [level], ascending
    costs: Floats  # [level]
    least: float  # of the costs


@dataclass
class _Problem:
    """A program with its costs as tables. Levels are counted from the lowest."""

    top: int  # the level that a bootstrap gives
    starts: list[int]  # of the inputs
    nodes: list[_Node] = field(default_factory=list)
    raw_bootstraps: list[Floats] = field(default_factory=list)  # [value][level]: as given
    bootstraps: list[Floats] = field(default_factory=list)  # [value][level]: or dropped before
    paths: dict[tuple[int, int], Floats] = field(
        default_factory=dict
    )  # of (value, user) [level]: see _bound_paths

    @property
    def values(self) -> int:
        return len(self.bootstraps)


def place(
    inputs: Sequence[Input],
    steps: Sequence[Step],
    outputs: Sequence[int],
    *,
    result_level: int,
    lowest: int = 0,
    output_level: int | None = None,
    method: str | None = None,
) -> Placement:
    """The placement of least time of a program.

    The same arguments give the same placement. An integer program that is stopped after a minute is the
    exception: it is not exact. Without SciPy an exact placement has the same time, but may be another one.

    Args:
        inputs: the values that come from outside; levels from `lowest` on.
        steps: in an order in which each can run.
        outputs: the values that the program gives.
        result_level: the level at which each bootstrap gives its value.
        lowest: the level that a value has at least, and so the least at which a bootstrap takes it.
        output_level: the level that each output has at least; None: `lowest`. An output below it is
            bootstrapped.
        method: None: dynamic programming, else an integer program, else a beam, as far as each is needed.
            `"dynamic programming"`, `"integer program"` or `"beam"`: this one alone. Dynamic programming that
            meets its limit of states gives what a beam would, and says so.

    Raises:
        LevelError: if there is no placement. The message names the step.
        ParameterError: if a step takes a value that is not there before it, or a level, a depth, a time or
            `method` is outside of its range.
        ModuleNotFoundError: if `method="integer program"` and SciPy is not installed.
    """
    if method is not None and method not in METHODS:
        raise ParameterError(f"method must be None or one of {', '.join(map(repr, METHODS))}, not {method!r}")
    problem = _tables(inputs, steps, outputs, result_level, lowest, output_level)
    found = _solve(problem, method)
    return _placement(problem, found, len(steps), lowest)


# --- The tables of a program ---


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


def _tables(
    inputs: Sequence[Input],
    steps: Sequence[Step],
    outputs: Sequence[int],
    result_level: int,
    lowest: int,
    output_level: int | None,
) -> _Problem:
    """Checks a program, and evaluates its costs at the levels that can occur."""
    top, starts = _levels_of(inputs, result_level, lowest, output_level)
    problem = _Problem(top, starts)
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
        problem.nodes.append(_Node(operands, depth, len(names), levels, costs, float(costs.min())))
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


def _too_deep(name: str, depth: int, operand: str, reach: int, problem: _Problem, lowest: int) -> str:
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
    problem: _Problem, outputs: Sequence[int], names: list[str], reach: list[int], level: int, lowest: int
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
            nodes.append(_Node((v,), 0, -1, np.array([level], dtype=np.int16), free, 0.0))


def _bound_paths(problem: _Problem) -> None:
    """For each use of a value, the least time of what must follow on one path, by the value's level.

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


# --- Choosing a method ---


@dataclass(frozen=True)
class _Found:
    """A placement by the levels of the nodes, counted from the lowest; None: nothing was found."""

    levels: list[int] | None
    time: float
    bound: float
    method: str

    @property
    def exact(self) -> bool:
        return self.bound >= self.time * (1 - _SAME)


def _better(known: _Found, new: _Found) -> _Found:
    """The faster of two, the first of equals, with the better bound. `known` is not exact."""
    best = new if new.time < known.time * (1 - _SAME) else known
    found = replace(best, bound=min(max(known.bound, new.bound), best.time))
    if not found.exact:
        return found
    # The method that closed the gap; one search may find what another one proves.
    return replace(found, method=INTEGER_PROGRAM if new.method == INTEGER_PROGRAM else DYNAMIC_PROGRAMMING)


def _solve(problem: _Problem, method: str | None) -> _Found:
    if method == INTEGER_PROGRAM:
        importlib.import_module("scipy.optimize")
    order = _order(problem)
    found = _searched(problem, order, _NARROW, _Found(None, math.inf, 0.0, BEAM))
    if method == INTEGER_PROGRAM:
        solved = _integer_program(problem, found.time)
        return found if solved.levels is None else solved
    if method is None and not found.exact and _has_scipy():
        found = _better(found, _integer_program(problem, found.time))
    found = _searched(problem, order, _width(problem, order, _BEAM, _BEAM_WORK), found)
    if method == BEAM:
        return replace(found, method=BEAM)
    return _searched(problem, order, _width(problem, order, _WIDEST, _WORK), found)


def _searched(problem: _Problem, order: Sequence[int], width: int, found: _Found) -> _Found:
    """The best of what is known and, while this is not exact, of searches by each ranking."""
    for crowded in (False, True):
        if found.exact:
            break
        found = _better(found, _search(problem, order, width, found.time, crowded))
    return found


def _has_scipy() -> bool:
    try:
        importlib.import_module("scipy.optimize")
    except ImportError:
        return False
    return True


def _time(problem: _Problem, levels: Sequence[int]) -> float:
    """The time of a placement by the levels of its nodes; infinite if it is none."""
    results = _results(problem, levels)
    needed = _bootstrapped(problem, levels, results)
    steps = list(zip(problem.nodes, levels, strict=True))
    if any(results[v] < level > problem.top for node, level in steps for v in node.operands):
        return math.inf
    costs = [float(node.costs[np.searchsorted(node.levels, level)]) for node, level in steps]
    return math.fsum([*costs, *(float(problem.bootstraps[v][results[v]]) for v in needed)])


def _results(problem: _Problem, levels: Sequence[int]) -> list[int]:
    steps = zip(problem.nodes, levels, strict=True)
    return problem.starts + [level - node.depth for node, level in steps if node.result >= 0]


def _bootstrapped(problem: _Problem, levels: Sequence[int], results: Sequence[int]) -> list[int]:
    steps = zip(problem.nodes, levels, strict=True)
    return sorted({v for node, level in steps for v in node.operands if results[v] < level})


def _placement(problem: _Problem, found: _Found, steps: int, lowest: int) -> Placement:
    assert found.levels is not None
    results = _results(problem, found.levels)
    bootstrapped = {}
    for v in _bootstrapped(problem, found.levels, results):
        table = problem.raw_bootstraps[v][: results[v] + 1]
        bootstrapped[v] = int(np.flatnonzero(table == table.min())[-1]) + lowest
    return Placement(
        levels=tuple(level + lowest for level in found.levels[:steps]),
        results=tuple(level + lowest for level in results),
        bootstrapped=bootstrapped,
        time=found.time,
        bound=found.time if found.exact else found.bound,
        exact=found.exact,
        method=found.method,
    )


# --- Dynamic programming over the frontier ---


def _users(problem: _Problem) -> list[list[int]]:
    users: list[list[int]] = [[] for _ in range(problem.values)]
    for s, node in enumerate(problem.nodes):
        for v in node.operands:
            users[v].append(s)
    return users


def _order(problem: _Problem) -> list[int]:
    """An order of the nodes with few values between them: the given one, or one that is made for it."""
    given = list(range(len(problem.nodes)))
    if len(given) > _REORDERED:
        return given
    return min(given, _narrow_order(problem), key=lambda order: _frontier(problem, order))


def _frontier(problem: _Problem, order: Sequence[int]) -> tuple[int, int]:
    """The most values that are needed after a node of an order, and their sum over its nodes."""
    left = [len(users) for users in _users(problem)]
    live = sum(1 for v in range(len(problem.starts)) if left[v])
    widths = [live]
    for s in order:
        node = problem.nodes[s]
        for v in node.operands:
            left[v] -= 1
            live -= left[v] == 0
        live += node.result >= 0 and left[node.result] > 0
        widths.append(live)
    return max(widths), sum(widths)


def _narrow_order(problem: _Problem) -> list[int]:
    """Always the node that ends most values; of several, one that takes the newest value."""
    users = _users(problem)
    left = [len(of_value) for of_value in users]
    made = [0] * len(problem.starts) + [-1] * (problem.values - len(problem.starts))  # when; -1: not yet
    waits = [sum(v >= len(problem.starts) for v in node.operands) for node in problem.nodes]
    ready = [s for s, count in enumerate(waits) if count == 0]
    order: list[int] = []

    def rank(s: int) -> tuple[int, int, int]:
        node = problem.nodes[s]
        ended = sum(left[v] == 1 for v in node.operands)
        begun = node.result >= 0 and left[node.result] > 0
        return begun - ended, -max(made[v] for v in node.operands), s

    while ready:
        s = min(ready, key=rank)
        ready.remove(s)
        order.append(s)
        for v in problem.nodes[s].operands:
            left[v] -= 1
        result = problem.nodes[s].result
        if result >= 0:
            made[result] = len(order)
            for user in users[result]:
                waits[user] -= 1
                if waits[user] == 0:
                    ready.append(user)
    return order


def _width(problem: _Problem, order: Sequence[int], most: int, work: int) -> int:
    """The states that are kept of each step by a search that writes so many levels, at most `most`."""
    values, _ = _frontier(problem, order)
    written = sum(len(node.levels) for node in problem.nodes) * max(values, 1)
    return max(_NARROW, min(most, work // max(written, 1)))


@dataclass
class _States:
    """The states between two nodes, with the times that led to them."""

    live: list[int]  # the values, one a column
    levels: Levels  # [state, value]
    times: Floats  # [state]


def _search(problem: _Problem, order: Sequence[int], width: int, ceiling: float, crowded: bool) -> _Found:
    """Dynamic programming with `width` states at most after each node, none of them above the ceiling.

    Args:
        crowded: states are kept by their bounds and the sum of what their values lack, which finds faster
            placements where much hangs on many values. Else by their bounds alone.
    """
    futures = _futures(problem, order)
    live = [v for v in range(len(problem.starts)) if futures[v]]
    start = np.array([[problem.starts[v] for v in live]], dtype=np.int16)
    states = _States(live, start, np.zeros(1))
    remaining = math.fsum(node.least for node in problem.nodes)
    ceiling *= 1 + _SAME
    dropped = math.inf  # the least bound of a state that was dropped for the width
    trail: list[tuple[NDArray[np.int32], Levels]] = []  # after each node: states before it, its levels
    for s in order:
        node = problem.nodes[s]
        for v in node.operands:
            futures[v].pop()
        live = [v for v in states.live if futures[v]]
        if node.result >= 0 and futures[node.result]:
            live.append(node.result)
        remaining -= node.least
        states, parents, levels = _after(problem, node, states, live)
        most, total = _bounds_of(states, futures)
        bounds = states.times + (remaining + most)
        keep = _undominated(states, np.flatnonzero((bounds <= ceiling) & np.isfinite(bounds)))
        if len(keep) > width:
            ranks = bounds[keep] + total[keep] if crowded else bounds[keep]
            ranked = keep[np.argsort(ranks, kind="stable")]
            dropped = min(dropped, float(bounds[ranked[width:]].min()))
            keep = np.sort(ranked[:width])
        states = _States(live, states.levels[keep], states.times[keep])
        trail.append((parents[keep].astype(np.int32), levels[keep]))
        if not len(keep):
            return _Found(None, math.inf, min(dropped, ceiling), BEAM)
    chosen = [0] * len(order)
    state = 0  # no value is needed any more, so that one state is left
    for s, (before, at) in zip(reversed(order), reversed(trail), strict=True):
        chosen[s], state = int(at[state]), int(before[state])
    time = _time(problem, chosen)
    return _Found(chosen, time, min(time, dropped), BEAM)


def _after(
    problem: _Problem, node: _Node, states: _States, live: Sequence[int]
) -> tuple[_States, NDArray[np.intp], Levels]:
    """The states after a node, at each level where it can run: with their states before it and its levels."""
    times = states.times[:, None] + node.costs  # [state, level]
    raised: dict[int, NDArray[np.bool_]] = {}  # of an operand [state, level]: by a bootstrap
    for v in node.operands:
        have = states.levels[:, states.live.index(v)]
        raised[v] = have[:, None] < node.levels
        price = np.where(node.levels <= problem.top, problem.bootstraps[v][have][:, None], math.inf)
        times += np.where(raised[v], price, 0.0)
    rows, columns = np.nonzero(np.isfinite(times))
    levels = np.empty((len(rows), len(live)), dtype=np.int16)
    for i, v in enumerate(live):
        if v == node.result:
            levels[:, i] = node.levels[columns] - node.depth
            continue
        levels[:, i] = states.levels[rows, states.live.index(v)]
        if v in raised:
            levels[raised[v][rows, columns], i] = problem.top
    return _States(list(live), levels, times[rows, columns]), rows, node.levels[columns]


def _futures(problem: _Problem, order: Sequence[int]) -> list[list[Floats]]:
    """For each value, before each of its uses, the last one first: the time of the most expensive path from
    there on, by the value's level."""
    futures: list[list[Floats]] = [[] for _ in range(problem.values)]
    for s in reversed(order):
        for v in problem.nodes[s].operands:
            path = problem.paths[v, s]
            futures[v].append(np.maximum(path, futures[v][-1]) if futures[v] else path)
    return futures


def _bounds_of(states: _States, futures: Sequence[Sequence[Floats]]) -> tuple[Floats, Floats]:
    """Of each state:

    - a lower bound of its remaining time above the least costs, by the most expensive path,
    - the sum over its values of what their paths cost more than from the highest level.
    """
    most, total = np.zeros((2, len(states.times)))
    for i, v in enumerate(states.live):
        path = futures[v][-1]
        of_states = path[states.levels[:, i]]
        np.maximum(most, of_states, out=most)
        total += of_states - path[-1]
    return most, total


def _undominated(states: _States, among: NDArray[np.intp]) -> NDArray[np.intp]:
    """Those of the states that no other one equals or passes in every level and in time, ascending."""
    levels, times = states.levels[among], states.times[among]
    if not levels.shape[1]:
        return among[[np.argmin(times)]] if len(among) else among
    order = np.lexsort((times, *levels.T))
    first = np.ones(len(order), dtype=bool)
    first[1:] = (levels[order[1:]] != levels[order[:-1]]).any(axis=1)
    kept = np.sort(order[first])
    levels, times = levels[kept], times[kept]
    ranks = [np.unique(column, return_inverse=True) for column in levels.T]
    shape = [len(distinct) + 1 for distinct, _ in ranks]
    if math.prod(shape) <= min(_GRID, _CELLS * len(times)):
        beaten = _beaten_by_grid(shape, [rank for _, rank in ranks], times)
    else:
        beaten = _beaten_by_rivals(levels, times)
    return among[kept[~beaten]]


def _beaten_by_grid(
    shape: Sequence[int], ranks: Sequence[NDArray[np.intp]], times: Floats
) -> NDArray[np.bool_]:
    """Marks dominated states, all of different levels: the least time of all states of the same or higher
    levels is a running minimum of a table."""
    least = np.full(shape, math.inf)
    least[tuple(ranks)] = times
    for axis in range(len(shape)):
        least = np.flip(np.minimum.accumulate(np.flip(least, axis), axis=axis), axis)
    beaten = np.zeros(len(times), dtype=bool)
    for axis in range(len(shape)):
        above = [rank + (i == axis) for i, rank in enumerate(ranks)]
        beaten |= least[tuple(above)] <= times
    return beaten


def _beaten_by_rivals(levels: Levels, times: Floats) -> NDArray[np.bool_]:
    """Marks states, all of different levels, that the fastest of them dominate."""
    beaten = np.zeros(len(times), dtype=bool)
    for rival in np.argsort(times, kind="stable")[:_RIVALS]:
        if not beaten[rival]:
            worse = (times >= times[rival]) & (levels <= levels[rival]).all(axis=1)
            worse[rival] = False
            beaten |= worse
    return beaten


# --- The integer program ---


class _Program:
    """An integer program of variables that are 0 or 1: their costs, and rows `sum <= upper`."""

    def __init__(self) -> None:
        self.costs: list[float] = []
        self.rows: list[int] = []
        self.columns: list[int] = []
        self.factors: list[float] = []
        self.upper: list[float] = []

    def variable(self, cost: float) -> int:
        self.costs.append(cost)
        return len(self.costs) - 1

    def limit(self, plus: Sequence[int], minus: Sequence[int], upper: float = 0.0) -> None:
        """The sum of the variables `plus` less those of `minus` is at most `upper`."""
        self.rows += [len(self.upper)] * (len(plus) + len(minus))
        self.columns += [*plus, *minus]
        self.factors += [1.0] * len(plus) + [-1.0] * len(minus)
        self.upper.append(upper)


def _integer_program(problem: _Problem, known: float) -> _Found:
    """The placement by `scipy.optimize.milp`; `known` is the time of one that is known.

    Variables, all 0 or 1: a node runs at one of its levels from the second on, or higher; a value is
    bootstrapped at a price. Rows: who reaches a level reaches the one below; a use that reaches a level needs
    a result that reaches it, or a bootstrap; a price needs a result at its level, or higher.
    """
    failed = _Found(None, math.inf, 0.0, INTEGER_PROGRAM)
    if sum(len(node.levels) for node in problem.nodes) > _VARIABLES:
        return failed
    program = _Program()
    reaches: list[list[int]] = []  # [node]: the variables of its levels from the second on
    for node in problem.nodes:
        reaches.append([program.variable(cost) for cost in np.diff(node.costs).tolist()])
        for below, above in itertools.pairwise(reaches[-1]):
            program.limit([above], [below])
    makers = {node.result: s for s, node in enumerate(problem.nodes) if node.result >= 0}
    prices: list[list[int]] = []  # [value]: the variables of its bootstraps
    for v, table in enumerate(problem.bootstraps):
        if v in makers:
            maker = problem.nodes[makers[v]]
            prices.append(_prices(program, table[maker.levels - maker.depth], reaches[makers[v]]))
        else:
            prices.append(_prices(program, table[problem.starts[v]][None], []))
    for s, node in enumerate(problem.nodes):
        for v in node.operands:
            if v in makers:
                maker = problem.nodes[makers[v]]
                results, given = maker.levels - maker.depth, reaches[makers[v]]
            else:
                results, given = np.array([problem.starts[v]]), []
            _limit_use(program, problem.top, node, reaches[s], results, given, prices[v])
    if not program.costs:
        return failed
    least = math.fsum(float(node.costs[0]) for node in problem.nodes)
    solution = _milp(program, known)
    if solution is None:
        return failed
    values, bound, finished = solution
    levels = [
        int(node.levels[np.count_nonzero(values[chosen] > 0.5)])
        for node, chosen in zip(problem.nodes, reaches, strict=True)
    ]
    time = _time(problem, levels)
    if not math.isfinite(time):
        return failed
    return _Found(levels, time, time if finished else min(bound + least, time), INTEGER_PROGRAM)


def _prices(program: _Program, table: Floats, reaches: Sequence[int]) -> list[int]:
    """The variables of a value's bootstraps. `table` has their prices by the levels of its maker, none higher
    than the one before."""
    variables = []
    for price in np.unique(table[np.isfinite(table)]).tolist():
        variables.append(program.variable(price))
        first = int(np.flatnonzero(table == price)[0])
        if first:
            program.limit([variables[-1]], [reaches[first - 1]])
    return variables


def _limit_use(
    program: _Program,
    top: int,
    node: _Node,
    uses: Sequence[int],
    results: NDArray[Any],
    given: Sequence[int],
    prices: Sequence[int],
) -> None:
    """A use needs a result (variables `given`, levels `results`) that reaches its level, or a bootstrap."""
    for i, level in enumerate(node.levels.tolist()):
        enough = int(np.searchsorted(results, level))  # the first result that reaches the level
        if enough == 0:
            continue
        sources = [given[enough - 1]] if enough < len(results) else []
        sources += prices if level <= top else []
        program.limit([uses[i - 1]] if i else [], sources, 0.0 if i else -1.0)


def _milp(program: _Program, known: float) -> tuple[Floats, float, bool] | None:
    """The variables at least costs, a bound of the costs, and whether the solver proved them equal."""
    optimize: Any = importlib.import_module("scipy.optimize")
    sparse: Any = importlib.import_module("scipy.sparse")
    costs = np.array(program.costs)
    shape = len(program.upper), len(costs)
    matrix = sparse.csr_array((program.factors, (program.rows, program.columns)), shape=shape)
    scale = 1e4 / known if known > 0 else 1.0  # HiGHS stops at an absolute gap of 1e-6
    if np.abs(costs).max() * scale > _LARGEST:
        return None
    solved = optimize.milp(
        costs * scale,
        integrality=np.ones(len(costs)),
        bounds=optimize.Bounds(0, 1),
        constraints=optimize.LinearConstraint(matrix, ub=program.upper),
        options={"mip_rel_gap": 0.0, "node_limit": _NODES, "time_limit": _SECONDS},
    )
    if solved.x is None:
        return None
    return np.asarray(solved.x), float(solved.mip_dual_bound) / scale, solved.status == 0
