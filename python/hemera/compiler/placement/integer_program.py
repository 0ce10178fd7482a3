"""The integer program of a placement, solved by HiGHS through SciPy."""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.compiler.placement.problem import INTEGER_PROGRAM, Floats, Found, Node, Problem, time_of

_VARIABLES = 50_000  # it is tried up to this many levels of all steps: 10 to 20 seconds
_FRACTIONS = 800  # with more variables between 0 and 1 in the relaxation, HiGHS takes minutes for its root
_WINDOW = 45  # nodes whose levels are free at once where the whole takes too long
_SWEEPS = 6  # over all windows, at most
_GAIN = 1e-3  # of the time, for which another sweep follows
_NODES = 200  # HiGHS stops after this many branches
_OF_RELAXATION = 1e-6  # the part of a relaxation's value that its rounding may be wrong by
_LARGEST = 1e10  # a cost where the whole takes 1e4: with larger ones HiGHS is not exact


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

    @property
    def arrays(self) -> tuple[Floats, Any]:
        """The costs, and the rows as a sparse matrix."""
        sparse: Any = importlib.import_module("scipy.sparse")
        shape = len(self.upper), len(self.costs)
        return np.array(self.costs), sparse.csr_array((self.factors, (self.rows, self.columns)), shape=shape)


def integer_program(problem: Problem, known: Found, *, only_relaxed: bool = False) -> Found:
    """The placement by `scipy.optimize.milp`; `known` is one that is known.

    The relaxation comes first. It bounds the time in 0.1 seconds, and shows what would take too long as a
    whole: there the known placement is improved, window by window of neighbouring nodes.

    Variables, all 0 or 1: a node runs at one of its levels from the second on, or higher; a value is
    bootstrapped. Rows: who reaches a level reaches the one below; a use that reaches a level needs a result
    that reaches it, or a bootstrap.

    Args:
        only_relaxed: for the bound of the relaxation alone, without a placement.
    """
    failed = Found(None, math.inf, 0.0, INTEGER_PROGRAM)
    if sum(len(node.levels) for node in problem.nodes) > _VARIABLES:
        return failed
    program = _Program()
    reaches: list[list[int]] = []  # [node]: the variables of its levels from the second on
    for node in problem.nodes:
        reaches.append([program.variable(cost) for cost in np.diff(node.costs).tolist()])
        for below, above in itertools.pairwise(reaches[-1]):
            program.limit([above], [below])
    bootstraps = [  # [value]: the variable of its bootstrap; none where it has none
        [program.variable(price)] if math.isfinite(price) else list[int]() for price in problem.prices
    ]
    for s, node in enumerate(problem.nodes):
        for v in node.operands:
            made = v - len(problem.starts)
            if made < 0:
                results, given = np.array([problem.starts[v]]), list[int]()
            else:
                maker = problem.nodes[made]
                results, given = maker.levels - maker.depth, reaches[made]
            _limit_use(program, problem.top, node, reaches[s], results, given, bootstraps[v])
    if not program.costs:
        return failed
    least = math.fsum(float(node.costs[0]) for node in problem.nodes)
    scale = 1e4 / known.time if known.time > 0 else 1.0  # HiGHS stops at an absolute gap of 1e-6
    if np.abs(program.costs).max() * scale > _LARGEST:
        return failed
    bound, fractions = _relaxed(program, scale)
    failed = replace(failed, bound=bound + least - _OF_RELAXATION * known.time)
    if only_relaxed:
        return failed
    if fractions > _FRACTIONS:
        return replace(_by_windows(problem, program, reaches, known, scale), bound=failed.bound)
    solution = _milp(program, scale)
    if solution is None:
        return failed
    values, bound, finished = solution
    levels = _levels_of(problem, reaches, values)
    time = time_of(problem, levels)
    if not math.isfinite(time):
        return failed
    return Found(levels, time, time if finished else min(bound + least, time), INTEGER_PROGRAM)


def _limit_use(
    program: _Program,
    top: int,
    node: Node,
    uses: Sequence[int],
    results: NDArray[Any],
    given: Sequence[int],
    bootstraps: Sequence[int],
) -> None:
    """A use needs a result (variables `given`, levels `results`) that reaches its level, or a bootstrap."""
    for i, level in enumerate(node.levels.tolist()):
        enough = int(np.searchsorted(results, level))  # the first result that reaches the level
        if enough == 0:
            continue
        sources = [given[enough - 1]] if enough < len(results) else []
        sources += bootstraps if level <= top else []
        program.limit([uses[i - 1]] if i else [], sources, 0.0 if i else -1.0)


def _relaxed(program: _Program, scale: float) -> tuple[float, int]:
    """The least costs with variables that may lie between 0 and 1, and how many do."""
    optimize: Any = importlib.import_module("scipy.optimize")
    costs, matrix = program.arrays
    solved = optimize.linprog(costs * scale, matrix, program.upper, bounds=(0, 1), method="highs")
    if solved.x is None:
        return -math.inf, len(costs)
    fractions = np.count_nonzero(np.abs(solved.x - np.round(solved.x)) > _OF_RELAXATION)
    return float(solved.fun) / scale, int(fractions)


def _levels_of(problem: Problem, reaches: Sequence[Sequence[int]], values: Floats) -> list[int]:
    return [
        int(node.levels[np.count_nonzero(values[chosen] > 0.5)])
        for node, chosen in zip(problem.nodes, reaches, strict=True)
    ]


def _by_windows(
    problem: Problem, program: _Program, reaches: Sequence[Sequence[int]], found: Found, scale: float
) -> Found:
    """A known placement, or a faster one that differs from it in a window of nodes, and so on (the large
    neighbourhoods of P. Shaw, "Using constraint programming and local search methods to solve vehicle routing
    problems", CP 1998). Bootstraps are free in each window."""
    assert found.levels is not None
    for _ in range(_SWEEPS):
        before = found
        for first in range(0, len(reaches), _WINDOW // 2):
            low, high = np.zeros(len(program.costs)), np.ones(len(program.costs))
            for s, chosen in enumerate(reaches):
                if not first <= s < first + _WINDOW:
                    node = problem.nodes[s]
                    reached = np.arange(len(chosen)) < np.searchsorted(node.levels, found.levels[s])
                    low[chosen] = high[chosen] = reached
            solution = _milp(program, scale, low, high)
            levels = found.levels if solution is None else _levels_of(problem, reaches, solution[0])
            if (time := time_of(problem, levels)) < found.time:
                found = replace(found, levels=levels, time=time, method=INTEGER_PROGRAM)
        if not found.time < before.time * (1 - _GAIN):
            break
    return found


def _milp(
    program: _Program, scale: float, low: Floats | float = 0.0, high: Floats | float = 1.0
) -> tuple[Floats, float, bool] | None:
    """The variables at least costs, a bound of the costs, and whether the solver proved them equal."""
    optimize: Any = importlib.import_module("scipy.optimize")
    costs, matrix = program.arrays
    solved = optimize.milp(
        costs * scale,
        integrality=np.ones(len(costs)),
        bounds=optimize.Bounds(low, high),
        constraints=optimize.LinearConstraint(matrix, ub=program.upper),
        options={"mip_rel_gap": 0.0, "node_limit": _NODES},
    )
    if solved.x is None:
        return None
    return np.asarray(solved.x), float(solved.mip_dual_bound) / scale, solved.status == 0
