"""The integer program of a placement, solved by HiGHS through SciPy."""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.compiler.placement.problem import INTEGER_PROGRAM, Floats, Found, Node, Problem, time_of

_VARIABLES = 50_000  # it is tried up to this many levels of all steps: 10 to 20 seconds
_NODES = 5_000  # HiGHS stops after this many branches, or seconds
_SECONDS = 60.0
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


def integer_program(problem: Problem, known: float) -> Found:
    """The placement by `scipy.optimize.milp`; `known` is the time of one that is known.

    Variables, all 0 or 1: a node runs at one of its levels from the second on, or higher; a value is
    bootstrapped. Rows: who reaches a level reaches the one below; a use that reaches a level needs a result
    that reaches it, or a bootstrap.
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
    solution = _milp(program, known)
    if solution is None:
        return failed
    values, bound, finished = solution
    levels = [
        int(node.levels[np.count_nonzero(values[chosen] > 0.5)])
        for node, chosen in zip(problem.nodes, reaches, strict=True)
    ]
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
