"""`place`: the choice of a method, and its result."""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from dataclasses import replace

from hemera.compiler.placement import frontier
from hemera.compiler.placement.frontier import order_of, search, width_of
from hemera.compiler.placement.integer_program import integer_program
from hemera.compiler.placement.problem import (
    BEAM,
    DYNAMIC_PROGRAMMING,
    INTEGER_PROGRAM,
    SAME,
    Found,
    Input,
    Placement,
    Problem,
    Step,
    bootstrapped_of,
    results_of,
    tables_of,
)

_BEAM, _WIDEST = 2048, 32768  # states that are kept of each step
_BEAM_WORK, _WORK = 1 << 26, 1 << 28  # levels that a search writes at most: 4 and 15 seconds


def place(
    inputs: Sequence[Input],
    steps: Sequence[Step],
    *,
    result_level: int,
    lowest: int = 0,
    method: str | None = None,
    narrow: bool = False,
) -> Placement:
    """The placement of least time of a program.

    The same arguments give the same placement. Without SciPy an exact placement has the same time, but may be
    another one.

    Args:
        inputs: the values that come from outside; levels from `lowest` on.
        steps: in an order in which each can run.
        result_level: the level at which each bootstrap gives its value.
        lowest: the level that a value has at least, and so the least at which a bootstrap takes it.
        method: None: dynamic programming, else an integer program, else a beam, as far as each is needed.
            `"dynamic programming"`, `"integer program"` or `"beam"`: this one alone. Dynamic programming that
            meets its limit of states gives what a beam would, and says so.
        narrow: of a program without a method: the narrow search and the bound of the integer program's
            relaxation alone, which take about a second.

    Raises:
        LevelError: if there is no placement. The message names the step.
        ModuleNotFoundError: if `method="integer program"` and SciPy is not installed.
    """
    problem = tables_of(inputs, steps, result_level, lowest)
    found = _solve(problem, method, narrow)
    assert found.levels is not None
    results = results_of(problem, found.levels)
    return Placement(
        levels=tuple(level + lowest for level in found.levels),
        results=tuple(level + lowest for level in results),
        bootstrapped=tuple(bootstrapped_of(problem, found.levels, results)),
        time=found.time,
        bound=found.time if found.exact else found.bound,
        exact=found.exact,
        method=found.method,
    )


def _better(known: Found, new: Found) -> Found:
    """The faster of two, the first of equals, with the better bound. `known` is not exact."""
    best = new if new.time < known.time * (1 - SAME) else known
    found = replace(best, bound=min(max(known.bound, new.bound), best.time))
    if not found.exact:
        return found
    # The method that closed the gap; one search may find what another one proves.
    return replace(found, method=INTEGER_PROGRAM if new.method == INTEGER_PROGRAM else DYNAMIC_PROGRAMMING)


def _solve(problem: Problem, method: str | None, narrow: bool) -> Found:
    if method == INTEGER_PROGRAM:
        importlib.import_module("scipy.optimize")
    order = order_of(problem)
    found = _searched(problem, order, frontier.NARROW, Found(None, math.inf, 0.0, BEAM))
    if method == INTEGER_PROGRAM:
        solved = integer_program(problem, found)
        return found if solved.levels is None else solved
    if method is None and not found.exact and has_scipy():
        found = _better(found, integer_program(problem, found, only_relaxed=narrow))
    if narrow or found.method == INTEGER_PROGRAM:
        return found
    found = _searched(problem, order, width_of(problem, order, _BEAM, _BEAM_WORK), found)
    if method == BEAM:
        return replace(found, method=BEAM)
    return _searched(problem, order, width_of(problem, order, _WIDEST, _WORK), found)


def _searched(problem: Problem, order: Sequence[int], width: int, found: Found) -> Found:
    """The best of the known placements and, while this is not exact, of searches by each ranking."""
    for crowded in (False, True):
        if found.exact:
            break
        found = _better(found, search(problem, order, width, found.time, crowded))
    return found


def has_scipy() -> bool:
    try:
        importlib.import_module("scipy.optimize")
    except ImportError:
        return False
    return True
