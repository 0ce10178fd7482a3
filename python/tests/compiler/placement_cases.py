"""Programs to place, and judges of their placements."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from hemera.compiler.placement import Input, Step, place
from hemera.errors import LevelError

INF = math.inf


@dataclass(frozen=True)
class Program:
    """The arguments of `place`."""

    inputs: list[Input]
    steps: list[Step]
    result_level: int
    lowest: int = 0

    def place(self, method=None, narrow=False):
        levels = {"result_level": self.result_level, "lowest": self.lowest}
        return place(self.inputs, self.steps, **levels, method=method, narrow=narrow)

    @property
    def bootstraps(self):
        """The bootstrap of each value."""
        return [*(x.bootstrap for x in self.inputs), *(step.bootstrap for step in self.steps)]

    @property
    def highest(self):
        return max([self.result_level, *(x.level for x in self.inputs)])


def table(values):
    return lambda level: values[level]


def exhaustive(program):
    """The least time over all levels of steps and all sets of bootstrapped values; infinite: no way."""
    lowest, top = program.lowest, program.result_level
    choices = [range(lowest + step.depth, program.highest + 1) for step in program.steps]
    levels = np.stack(np.meshgrid(*choices, indexing="ij"), axis=-1).reshape(-1, len(choices))
    fresh = [np.full(len(levels), x.level) for x in program.inputs]
    comes = np.array(fresh + [levels[:, s] - step.depth for s, step in enumerate(program.steps)])
    uses = [(v, levels[:, s]) for s, step in enumerate(program.steps) for v in step.operands]
    time = np.zeros(len(levels))
    for s, step in enumerate(program.steps):
        costs = [step.cost(level) if level >= lowest else INF for level in range(program.highest + 1)]
        time += np.array(costs)[levels[:, s]]
    # All bootstraps together would make these possible.
    possible = np.all([(comes[v] >= at) | (at <= top) for v, at in uses], axis=0) & np.isfinite(time)
    comes, time, uses = comes[:, possible], time[possible], [(v, at[possible]) for v, at in uses]
    if not len(time):
        return INF
    able = [v for v, b in enumerate(program.bootstraps) if b < INF]
    below = np.zeros(len(time), dtype=int)  # [row]: the values that some use is above, a bit each
    for v, at in uses:
        below |= np.where(comes[v] < at, 1 << v, 0)
    prices = np.array([program.bootstraps[v] for v in able], dtype=float)
    sets = np.arange(1 << len(able))[:, None] >> np.arange(len(able)) & 1
    inside = (sets << np.array(able, dtype=int)).sum(axis=1)
    # Rows that need the same bootstraps differ by their steps' time alone.
    distinct, group = np.unique(below, return_inverse=True)
    fastest = np.full(len(distinct), INF)
    np.minimum.at(fastest, group.ravel(), time)
    possible = distinct[:, None] & ~inside == 0  # [group, set]
    return float((fastest[:, None] + sets @ prices)[possible].min(initial=INF))


def check(program, found):
    """Assert that a placement is one, and takes the time that it reports."""
    comes = [x.level for x in program.inputs]
    total = 0.0
    uses = []
    assert len(found.levels) == len(program.steps)
    for step, level in zip(program.steps, found.levels, strict=True):
        uses += [(v, level) for v in step.operands]
        total += step.cost(level)
        comes.append(level - step.depth)
    assert found.results == tuple(comes)
    assert min(comes) >= program.lowest
    for v, level in uses:
        boosted = v in found.bootstrapped and level <= program.result_level
        assert comes[v] >= level or boosted
        assert found.from_bootstrap(v, level) == (comes[v] < level)
    total += sum(program.bootstraps[v] for v in found.bootstrapped)
    assert found.bootstrapped == tuple(sorted(set(found.bootstrapped)))
    assert found.time == pytest.approx(total, rel=1e-12)
    assert found.bound <= found.time
    assert found.exact == (found.bound == found.time)


def random_bootstrap(rng, often):
    """The time of one, or of none."""
    return int(rng.integers(1, 30)) if rng.random() <= often else INF


def random_step(rng, values, levels):
    """Its cost rises with the level, in three of four cases; its operands are of the newest five values."""
    newest = max(0, values - int(rng.integers(1, 6)))
    operands = tuple(int(v) for v in rng.integers(newest, values, int(rng.integers(1, 4))))
    costs = np.cumsum(rng.integers(0, 8, levels)).tolist()
    if rng.integers(4) == 0:
        costs = rng.permutation(costs).tolist()
    if rng.integers(16) == 0:
        costs[int(rng.integers(levels))] = INF
    return Step(operands, int(rng.choice([0, 1, 1, 1, 1, 2])), table(costs))


def random_program(seed, most_steps=12, least_steps=1):
    """A program that exhaustive search can take. Costs are integers, so that sums of them are exact."""
    rng = np.random.default_rng(seed)
    while True:
        count = int(rng.integers(least_steps, most_steps + 1))
        lowest = int(rng.integers(2))
        top = lowest + int(rng.integers(1, 4 if count < 8 else 3))
        levels, often = top + 2, 0.93
        inputs = [
            Input(int(rng.integers(lowest, top + 1 + (rng.integers(4) == 0))), random_bootstrap(rng, often))
            for _ in range(int(rng.integers(1, 4)))
        ]
        steps = []
        for _ in range(count):
            step = random_step(rng, len(inputs) + len(steps), levels)
            depth = min(step.depth, top - lowest)
            steps.append(replace(step, depth=depth, bootstrap=random_bootstrap(rng, often)))
        program = Program(inputs, steps, top, lowest)
        choices = math.prod(program.highest + 1 - lowest - step.depth for step in steps)
        able = sum(b < INF for b in program.bootstraps)
        if choices <= 20_000 and able <= 11:
            return program


def least_or_none(program, method=None):
    try:
        found = program.place(method)
    except LevelError:
        return INF
    check(program, found)
    return found.time
