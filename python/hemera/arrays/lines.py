"""Nodes as functions of a value: where they jump, and whether their graph is lines that meet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.operations import Affine, Apply, Multiply, Operation
from hemera.arrays.recorder import Recorder
from hemera.arrays.sparse_map import scaling_of

Values = NDArray[np.float64]
Formula = Callable[[Any], Any]

_MOST_KEPT = 1 << 15
"""Numbers that a formula keeps at most."""
_CELLS = 1024
_LEAST_CELLS = 4
"""A line is seen in so many cells of the range at least."""
_SAME = 2.0**-24
"""How far a function is from its lines at most, in parts of its largest value."""
_CHECKED = 20_011
_BISECTIONS = 60
_THIRDS = 48
NEAR = 2.0**-36
"""A value is the number that it is compared with if it is as near, in parts of its range."""
_MOST_KINKS = 16
"""Each is a rectifier."""


@dataclass(frozen=True)
class Lines:
    """A line from the lower end of a range on, and kinks."""

    low: float
    start: float
    """The value at the lower end."""
    slope: float
    """The first one."""
    kinks: Sequence[tuple[float, float]]
    """Where the slope changes, in ascending order, and by how much."""

    def __call__(self, x: Values) -> Values:
        changes = (change * np.maximum(x - at, 0) for at, change in self.kinks)
        total: Values = sum(changes, start=self.start + self.slope * (x - self.low))
        return total

    def are(self, function: Formula, points: Values, size: float) -> bool:
        """Whether they are a function, of about this size, at some points."""
        with np.errstate(all="ignore"):
            return bool(np.abs(self(points) - function(points)).max() <= _SAME * size)


def lines_of(function: Formula, low: float, high: float) -> Lines | None:
    """A function between two numbers as lines, as far as points show; None where they show otherwise."""
    grid = np.linspace(low, high, _CELLS + 1)
    with np.errstate(all="ignore"):
        values = np.broadcast_to(np.asarray(function(grid), np.float64), grid.shape)
    if not low < high or not np.isfinite(values).all():
        return None
    size = float(np.abs(values).max())
    slopes = np.diff(values) / np.diff(grid)
    changed = np.abs(np.diff(slopes)) * (high - low) > _SAME * _CELLS / 2 * size
    runs = np.split(np.arange(_CELLS), np.flatnonzero(changed) + 1)
    ends = [(run[0], run[-1] + 1) for run in runs if len(run) >= _LEAST_CELLS]
    if not 0 < len(ends) <= _MOST_KINKS + 1:
        return None
    own = [float((values[b] - values[a]) / (grid[b] - grid[a])) for a, b in ends]
    kinks = []
    for (_, a), (b, _), before, after in zip(ends, ends[1:], own, own[1:], strict=False):
        if before == after:
            return None
        at = float(values[a] - before * grid[a] - values[b] + after * grid[b]) / (after - before)
        kinks.append((at, after - before))
    first = ends[0][0]
    start = float(values[first] + own[0] * (low - grid[first]))
    found = Lines(low, start, own[0], kinks)
    points = np.random.default_rng(0).uniform(low, high, _CHECKED)
    return found if found.are(function, points, size) else None


def meaning_of(recorder: Recorder, number: int) -> tuple[int, Formula]:
    """A node as a function of the elements of another one, through all functions of single elements: the
    furthest such node, and the function. Itself, where it is none."""
    nodes = recorder.program.nodes
    known: dict[int, tuple[int, Formula]] = {}
    for at in recorder.program.needed([number]):
        node = nodes[at]
        known[at] = at, lambda x: x
        combined = _combined(node.operation)
        is_same = {nodes[each].shape for each in node.operands} == {node.shape}
        roots = {known[each][0] for each in node.operands}
        if combined is not None and is_same and len(roots) == 1:
            known[at] = roots.pop(), _after(combined, [known[each][1] for each in node.operands])
    return known[number]


def once(formula: Formula) -> Formula:
    """The formula, which keeps its last value: a value that several others take would else be computed for
    each of them, and theirs again, as often as there are ways to it."""
    last: tuple[Any, Any] | None = None

    def found(x: Any) -> Any:
        nonlocal last
        known = last
        if known is not None and known[0] is x:
            return known[1]
        value = formula(x)
        if np.size(x) <= _MOST_KEPT:
            last = x, value
        return value

    return found


def _after(combined: Callable[..., Any], parts: Sequence[Formula]) -> Formula:
    return once(lambda x: combined(*[part(x) for part in parts]))


def _combined(operation: Operation) -> Callable[..., Any] | None:
    """An operation as a function of single elements, the same for all; None for others."""
    if isinstance(operation, Apply):
        return operation.formula
    if isinstance(operation, Multiply):
        return np.multiply
    if not isinstance(operation, Affine):
        return None
    factors = [scaling_of(own) for own in operation.maps]
    offset = np.zeros(1) if operation.offset is None else operation.offset
    if None in factors or (offset != offset[0]).any():
        return None

    def total(*values: Any) -> Any:
        terms = (factor * each for factor, each in zip(factors, values, strict=True) if factor)
        return sum(terms, start=np.full(np.shape(values[0]), offset[0]))

    return total


def jumps_of(recorder: Recorder, numbers: Sequence[int], root: int) -> Values | None:
    """Where nodes, as functions of another one, may jump: where what comparisons take crosses the number that
    it is compared with, or touches it, and the ends of the range. None where that is no function of this
    node."""
    low, high = recorder.range(root)
    found = [low, high]
    for at in recorder.program.needed(numbers):
        jump = recorder.facts[at].jump
        if jump is None:
            continue
        node, compared = meaning_of(recorder, jump[0])
        if node != root:
            return None
        ends = recorder.range(jump[0])
        found += _crossings(compared, low, high, jump[1], NEAR * max(abs(end - jump[1]) for end in ends))
    return np.unique(np.clip(found, low, high))


_BENT = ("abs", "leaky_relu", "maximum", "relu")
"""Functions that bend where their operand, or the difference of their operands, is 0."""


def bends_of(recorder: Recorder, numbers: Sequence[int], root: int) -> Values:
    """Where nodes, as functions of another one, may bend by rectifiers, maxima and magnitudes."""
    low, high = recorder.range(root)
    found: list[float] = []
    for at in recorder.program.needed(numbers):
        node = recorder.program.nodes[at]
        if not isinstance(node.operation, Apply) or node.operation.function.name not in _BENT:
            continue
        parts = [meaning_of(recorder, each) for each in node.operands]
        if {of for of, _ in parts} == {root}:
            (_, first), *others = parts
            found += _crossings(_difference(first, *[each for _, each in others]), low, high, 0.0, 0.0)
    return np.array(found)


def _difference(first: Formula, *others: Formula) -> Formula:
    return lambda x: first(x) - sum(each(x) for each in others)


def _crossings(function: Formula, low: float, high: float, value: float, near: float) -> list[float]:
    """Where a function crosses a number, or comes near to it, between two points of a grid."""

    def above_by(x: Values) -> Values:
        with np.errstate(all="ignore"):
            found: Values = np.broadcast_to(function(x), x.shape) - value
        return found

    grid = np.linspace(low, high, 4 * _CELLS + 1)
    nearest = _least(lambda x: np.abs(above_by(x)), grid)
    grid = np.union1d(grid, nearest)
    above = above_by(grid) > 0
    (cells,) = np.nonzero(above[1:] != above[:-1])
    a, b = grid[cells], grid[cells + 1]
    for _ in range(_BISECTIONS):
        middle = (a + b) / 2
        is_left = (above_by(middle) > 0) == above[cells]
        a, b = np.where(is_left, middle, a), np.where(is_left, b, middle)
    return [*a.tolist(), *b.tolist(), *nearest[np.abs(above_by(nearest)) <= near].tolist()]


def _least(function: Formula, grid: Values) -> Values:
    """Where a distance is less than around it, and may be 0, between the neighbours of a point of a grid."""
    values = function(grid)
    falls = np.maximum(values[:-2], values[2:]) - values[1:-1]
    is_least = (values[1:-1] <= values[:-2]) & (values[1:-1] <= values[2:]) & (falls > 0)
    at = 1 + np.flatnonzero(is_least & (values[1:-1] <= 2 * falls))
    a, b = grid[at - 1], grid[at + 1]
    for _ in range(_THIRDS):
        first, second = a + (b - a) / 3, b - (b - a) / 3
        is_left = function(first) <= function(second)
        a, b = np.where(is_left, a, first), np.where(is_left, second, b)
    middle: Values = (a + b) / 2
    return middle


def beside(jumps: Values) -> Values:
    """Each jump, points on both sides of it, and between neighbours."""
    low, high = jumps[0], jumps[-1]
    middles = (jumps[1:] + jumps[:-1]) / 2
    return np.concatenate([jumps, middles, np.nextafter(jumps, low), np.nextafter(jumps, high)])
