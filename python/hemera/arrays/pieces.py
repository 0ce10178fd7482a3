"""`numpy.where` of encrypted arrays: by a mask, or of pieces of a function that meet."""

from __future__ import annotations

from typing import Any

import numpy as np

from hemera.arrays import comparisons
from hemera.arrays.chains import FusingRecorder, one_polynomial
from hemera.arrays.elementwise import approximated, larger, smaller
from hemera.arrays.lines import Lines, bends_of, beside, jumps_of, lines_of, meaning_of
from hemera.arrays.recorded import (
    A,
    as_numbers,
    at_node,
    broadcast,
    encrypted,
    facts_of,
    kind_of,
    number_of,
    of_kind,
    recorder_of,
)
from hemera.errors import ParameterError
from hemera.inputs.plain import plain_array

_MEET = 2.0**-20
"""How far pieces are apart where they meet, at most, in parts of the larger one."""
_GRID = 65
_BESIDE = 2.0**-22
"""The part of a range at which slopes are taken beside a jump."""
_SLOPE = np.array([-2.5, 4.0, -1.5])
"""Weights of values at one, two and three steps for the slope at 0, right for parabolas."""
_BEND = 2.0**-16
"""Changes of slopes, in parts of the largest value over the range, that no polynomial is near to."""


def chosen(mask: A, x: Any, y: Any) -> A:
    """x where a mask is 1, y where it is 0."""
    found = comparisons.selected(mask, x, y)
    by_pieces = _by_pieces(mask, x, y, found)
    if by_pieces is None:
        by_pieces = _by_meaning(mask, x, y, found)
    return found if by_pieces is None else of_kind(by_pieces, kind_of(found))


def _by_meaning(mask: A, x: Any, y: Any, found: A) -> A | None:
    """The choice as a function of one value whose pieces meet, as of several wheres; None where it is none,
    and where the choice by the mask can be made."""
    recorder = recorder_of(mask)
    if not isinstance(recorder, FusingRecorder) or not recorder.is_unmade(number_of(found)):
        return None
    sides = [number_of(broadcast(as_numbers(encrypted(mask, each)), found.shape)) for each in (x, y)]
    numbers = [number_of(mask), *sides]
    parts = [meaning_of(recorder, at) for at in numbers]
    root, is_chosen = parts[0]
    jumps = jumps_of(recorder, numbers, root)
    if jumps is None or {at for at, _ in parts} != {root}:
        return None
    (_, one), (_, other) = parts[1:]

    def choice(v: Any) -> Any:
        return np.where(np.greater(is_chosen(v), 0.5), one(v), other(v))

    operand = as_numbers(at_node(mask, root))
    lines = lines_of(choice, *recorder.range(root))
    if lines is None:
        return _of_curves(choice, np.unique([*jumps, *bends_of(recorder, numbers, root)]), operand)
    is_right = lines.are(choice, beside(jumps), _largest(choice, *recorder.range(root)))
    return _of_lines(lines, operand) if is_right else None


def _of_curves(choice: Any, jumps: Any, x: A) -> A | None:
    """A function whose curves meet: a rectifier for each kink, and a polynomial for all that is left. None
    where they do not meet, and where there is no such polynomial."""
    low, high = x.range
    size = _largest(choice, low, high)
    step = _BESIDE * (high - low)
    kinks = []
    inside = jumps[(jumps > low) & (jumps < high)]
    for at in inside[np.diff(inside, prepend=low) > 4 * step]:  # a jump is between two neighbours
        sides = [choice(at + sign * step * np.arange(1, 4)) for sign in (-1, 1)]
        before, after = (
            sign * float(each @ _SLOPE) / step for sign, each in zip((-1, 1), sides, strict=True)
        )
        gap = sides[1][0] - sides[0][0] - step * (before + after)
        if not abs(gap) <= _MEET * size:
            return None
        if abs(after - before) > _BEND * size / (high - low):
            kinks.append((float(at), after - before))

    def bent(v: Any) -> Any:
        return sum(change * np.maximum(v - at, 0) for at, change in kinks)

    def smooth(v: Any) -> Any:
        return choice(v) - bent(v)

    tolerance = 2.0 ** -recorder_of(x).tolerance_bits(max(1.0, size))
    polynomial = one_polynomial(smooth, recorder_of(x).interval(number_of(x)), tolerance, ["where"])
    points = beside(jumps)  # between jumps that are too near each other to be seen, too
    if polynomial is None or np.abs(polynomial.evaluate_clear(points) - smooth(points)).max() > 4 * tolerance:
        return None
    found = x.apply(polynomial, formula=smooth)
    for at, change in kinks:
        found = found + (larger(x, at) - at) * change
    return found


def _of_lines(lines: Lines, x: A) -> A:
    """The values at encrypted ones: a rectifier for each kink."""
    result = (x - lines.low) * lines.slope + lines.start
    for at, change in lines.kinks:
        result = result + (larger(x, at) - at) * change
    return result


def interpolated(x: A, xp: Any, fp: Any) -> A:
    """`numpy.interp`, of plain points: a rectifier where the slope changes.

    Raises:
        ParameterError: for points that are not finite, no vectors of one length, or not in ascending order.
    """
    at, values = (plain_array(each, "np.interp", np.float64) for each in (xp, fp))
    if at.ndim != 1 or at.shape != values.shape or not len(at) or not np.isfinite([at, values]).all():
        raise ParameterError("np.interp takes as many finite points xp as values fp, one at least")
    if (np.diff(at) <= 0).any():
        raise ParameterError("np.interp takes points in ascending order, each once")
    low, high = x.range
    slopes = np.concatenate([[0], np.diff(values) / np.diff(at), [0]])
    changes = zip(at.tolist(), np.diff(slopes).tolist(), strict=True)
    kinks = [(where, change) for where, change in changes if low < where < high and change]
    first = float(slopes[np.searchsorted(at, low, "right")])
    return _of_lines(Lines(low, float(np.interp(low, at, values)), first, kinks), x)


def _by_pieces(mask: A, x: Any, y: Any, found: A) -> A | None:
    """With the difference h of the pieces, which is 0 at c, x where v > c and y elsewhere are
    y + h(max(v, c)), or x - h(min(v, c)). None where the pieces do not meet, jump themselves, are functions
    of something else than v, or where one polynomial is as good: of pieces that have a kink between two lines
    none is.

    Args:
        mask: of a comparison of real numbers with one number.
        found: the choice by the mask.
    """
    recorder, jumped = recorder_of(mask), facts_of(mask).jump
    if jumped is None or not isinstance(recorder, FusingRecorder):
        return None
    of_mask, (operand, jump) = recorder.chain(number_of(mask)), jumped
    v = as_numbers(at_node(mask, of_mask.root))
    first, second = (as_numbers(encrypted(v, each)) for each in (x, y))
    of_operand, of_difference = (recorder.chain(at) for at in (operand, number_of(first - second)))
    if {of_operand.root, of_difference.root} != {of_mask.root}:
        return None
    needed = recorder.program.needed([number_of(first), number_of(second)])
    if any(recorder.facts[at].jump for at in needed):
        return None
    compared, apart = of_operand.formula, of_difference.formula
    low, high = v.range
    grid = np.linspace(low, high, _GRID)
    start, slope = float(compared(np.float64(0))), float(compared(np.float64(1)) - compared(np.float64(0)))
    if not slope or not np.allclose(compared(grid), start + slope * grid, rtol=0, atol=_MEET * abs(slope)):
        return None
    at = (jump - start) / slope
    if not low < at < high:
        return None
    below, above = (_largest(apart, *ends) for ends in ((low, at), (at, high)))
    rise = float(apart(np.float64(at + 1)) - apart(np.float64(at)))
    most = _MEET * max(below, above)
    is_line = np.allclose(apart(grid), rise * (grid - at), rtol=0, atol=most)
    is_made = recorder.chain(number_of(found)).approximated is not None
    if not abs(float(apart(np.float64(at)))) <= most or (is_made and not is_line):
        return None
    # The piece that is changed is the one on the side where the difference is smaller.
    is_above = bool(of_mask.formula(np.float64(high)))
    side = larger(v, at) if above <= below else smaller(v, at)
    part = (side - at) * rise if is_line else approximated(side, apart, of_arrays=True)
    return second + part if (above <= below) == is_above else first - part


def _largest(function: Any, low: float, high: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.abs(function(np.linspace(low, high, _GRID))).max())
