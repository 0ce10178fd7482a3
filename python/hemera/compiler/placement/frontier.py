"""Dynamic programming over the frontier: the values that are still needed, with their levels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hemera.compiler.placement.problem import BEAM, SAME, Floats, Found, Levels, Node, Problem, time_of

Indices = NDArray[np.intp]
NARROW = 256
"""States that are kept of each step at first."""
_GRID, _CELLS = 1 << 20, 64  # cells of the table that finds useless states: at most, and for each state
_RIVALS = 32  # the fastest states, which all are compared with where the table would be larger
_COMPARED = 3  # times the states that are kept: among the first ones dominated states are looked for
_REORDERED = 1000  # longer programs are taken in the order in which they come


def _users(problem: Problem) -> list[list[int]]:
    users: list[list[int]] = [[] for _ in range(problem.values)]
    for s, node in enumerate(problem.nodes):
        for v in node.operands:
            users[v].append(s)
    return users


def order_of(problem: Problem) -> list[int]:
    """An order of the nodes with few values between them: the given one, or one that is made for it."""
    given = list(range(len(problem.nodes)))
    if len(given) > _REORDERED:
        return given
    return min(given, _narrow_order(problem), key=lambda order: _frontier(problem, order))


def _frontier(problem: Problem, order: Sequence[int]) -> tuple[int, int]:
    """The most values that are needed after a node of an order, and their sum over its nodes."""
    left = [len(users) for users in _users(problem)]
    live = sum(1 for v in range(len(problem.starts)) if left[v])
    widths = [live]
    for s in order:
        node = problem.nodes[s]
        for v in node.operands:
            left[v] -= 1
            live -= left[v] == 0
        live += left[node.result] > 0
        widths.append(live)
    return max(widths), sum(widths)


def _narrow_order(problem: Problem) -> list[int]:
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
        begun = left[node.result] > 0
        return begun - ended, -max(made[v] for v in node.operands), s

    while ready:
        s = min(ready, key=rank)
        ready.remove(s)
        order.append(s)
        for v in problem.nodes[s].operands:
            left[v] -= 1
        result = problem.nodes[s].result
        made[result] = len(order)
        for user in users[result]:
            waits[user] -= 1
            if waits[user] == 0:
                ready.append(user)
    return order


def width_of(problem: Problem, order: Sequence[int], most: int, work: int) -> int:
    """The states that are kept of each step by a search that writes `work` levels, at most `most`."""
    values, _ = _frontier(problem, order)
    written = sum(len(node.levels) for node in problem.nodes) * max(values, 1)
    return max(NARROW, min(most, work // max(written, 1)))


@dataclass
class _States:
    """The states between two nodes, with the times that led to them."""

    live: list[int]  # the values, one a column
    levels: Levels  # [state, value]
    times: Floats  # [state]


def search(problem: Problem, order: Sequence[int], width: int, ceiling: float, crowded: bool) -> Found:
    """Dynamic programming with `width` states at most after each node, none of them above the ceiling.

    Args:
        crowded: states are kept by their bounds and the sum of their values' missing levels, to find faster
            placements where much hangs on many values. Else by their bounds alone.
    """
    futures = _futures(problem, order)
    live = [v for v in range(len(problem.starts)) if futures[v]]
    start = np.array([[problem.starts[v] for v in live]], dtype=np.int16)
    states = _States(live, start, np.zeros(1))
    remaining = math.fsum(node.least for node in problem.nodes)
    ceiling *= 1 + SAME
    dropped = math.inf  # the least bound of a state that was dropped for the width
    trail: list[tuple[NDArray[np.int32], Levels]] = []  # after each node: states before it, its levels
    for s in order:
        node = problem.nodes[s]
        for v in node.operands:
            futures[v].pop()
        live = [v for v in states.live if futures[v]]
        if futures[node.result]:
            live.append(node.result)
        remaining -= node.least
        states, parents, levels = _after(problem, node, states, live)
        most, total = _bounds_of(states, futures)
        bounds = states.times + (remaining + most)
        among = np.flatnonzero((bounds <= ceiling) & np.isfinite(bounds))
        keep, others = _first(states, among, bounds + total if crowded else bounds, width)
        dropped = min(dropped, float(bounds[others].min(initial=math.inf)))
        states = _States(live, states.levels[keep], states.times[keep])
        trail.append((parents[keep].astype(np.int32), levels[keep]))
        if not len(keep):
            return Found(None, math.inf, min(dropped, ceiling), BEAM)
    chosen = [0] * len(order)
    state = 0  # no value is needed any more, so that one state is left
    for s, (before, at) in zip(reversed(order), reversed(trail), strict=True):
        chosen[s], state = int(at[state]), int(before[state])
    time = time_of(problem, chosen)
    return Found(chosen, time, min(time, dropped), BEAM)


def _after(
    problem: Problem, node: Node, states: _States, live: Sequence[int]
) -> tuple[_States, Indices, Levels]:
    """The states after a node, at each level where it can run: with their states before it and its levels."""
    times = states.times[:, None] + node.costs  # [state, level]
    raised: dict[int, NDArray[np.bool_]] = {}  # of an operand [state, level]: by a bootstrap
    for v in node.operands:
        have = states.levels[:, states.live.index(v)]
        raised[v] = have[:, None] < node.levels
        price = np.where(node.levels <= problem.top, problem.prices[v], math.inf)
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


def _futures(problem: Problem, order: Sequence[int]) -> list[list[Floats]]:
    """For each value, before each of its uses, the last one first: the time of the most expensive path from
    there on, by the value's level."""
    futures: list[list[Floats]] = [[] for _ in range(problem.values)]
    for s in reversed(order):
        for v in problem.nodes[s].operands:
            path = problem.paths[v, s]
            futures[v].append(np.maximum(path, futures[v][-1]) if futures[v] else path)
    return futures


def _bounds_of(states: _States, futures: Sequence[Sequence[Floats]]) -> tuple[Floats, Floats]:
    """Bounds for each state:

    - a lower bound of its remaining time above the least costs, by the most expensive path,
    - the sum over its values of the costs of their paths above those from the highest level.
    """
    most, total = np.zeros((2, len(states.times)))
    for i, v in enumerate(states.live):
        path = futures[v][-1]
        of_states = path[states.levels[:, i]]
        np.maximum(most, of_states, out=most)
        total += of_states - path[-1]
    return most, total


def _first(states: _States, among: Indices, ranks: Floats, width: int) -> tuple[Indices, Indices]:
    """The first `width` states by their ranks, ascending, of those that no other one dominates; and the
    others. None has a rank below one that dominates it, so that only some times `width` are compared."""
    ranked = among[np.argsort(ranks[among], kind="stable")]
    compared, kept = 0, ranked
    while compared < len(ranked) and (not compared or len(kept) <= width):
        compared = min(len(ranked), max(_COMPARED * width, 2 * compared))
        compared = int(np.searchsorted(ranks[ranked], ranks[ranked[compared - 1]], "right"))
        kept = _undominated(states, np.sort(ranked[:compared]))
    kept = kept[np.argsort(ranks[kept], kind="stable")]
    return np.sort(kept[:width]), np.concatenate([kept[width:], ranked[compared:]])


def _undominated(states: _States, among: Indices) -> Indices:
    """The states that no other one equals or passes in every level and in time, ascending."""
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


def _beaten_by_grid(shape: Sequence[int], ranks: Sequence[Indices], times: Floats) -> NDArray[np.bool_]:
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
