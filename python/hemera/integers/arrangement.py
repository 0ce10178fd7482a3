"""Values taken to other places of their vectors, by rotations and masks."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import hypot, sqrt

import numpy as np
from numpy.typing import NDArray

from hemera.integers import bounded
from hemera.integers.bounded import Bounded
from hemera.integers.engine import Engine
from hemera.integers.layout import Layout
from hemera.integers.noise import overlaid
from hemera.objects.ciphertext import Ciphertext

Places = NDArray[np.intp]

NOTHING = -1
"""A mark in place of a value: 0 stands there."""


def whole_vectors(layout: Layout, chosen: Places) -> list[int] | None:
    """The vectors that stand one after the other for the chosen values; None where a value changes its place
    in a vector. What stands behind the last value is no value of the array, whatever it is."""
    flat = chosen.reshape(-1)
    first = flat[:: layout.values]
    places = np.arange(flat.size)
    fits = np.all(first % layout.values == 0) and np.all(
        flat == np.repeat(first, layout.values)[: flat.size] + places % layout.values
    )
    return [int(each) for each in first // layout.values] if fits else None


def turned(engine: Engine, x: Bounded, chosen: Places) -> Bounded | None:
    """The chosen values of numbers that stand at all digits, where all vectors turn by the same number of
    places: then no mask is needed. None where they do not."""
    flat, values = chosen.reshape(-1), engine.layout.values
    if flat.size % values:
        return None
    vectors, places = np.divmod(flat.reshape(-1, values), values)
    step = int(places[0, 0])
    if np.any(vectors != vectors[:, :1]) or np.any(places != (np.arange(values) + step) % values):
        return None
    x = x[[int(each) for each in vectors[:, 0]]]
    return replace(
        x,
        value=_turned(x.value, step),
        error=hypot(x.error, sqrt(step.bit_count()) * engine.rounding),
        noise=x.noise.turned(step, engine.layout.slots),
    )


def gathered(engine: Engine, x: Bounded, chosen: Places) -> Bounded:
    """The chosen values, by their numbers in x. Takes a level, unless whole vectors are taken."""
    flat = chosen.reshape(-1)
    vectors = whole_vectors(engine.layout, flat)
    if vectors is not None:
        is_all = vectors == list(range(x.value.shape[0]))
        return x if is_all else x[vectors]
    if flat.size > 1 and np.all(flat == flat[0]):
        return _repeated(engine, x, int(flat[0]), engine.layout.vectors(flat.size))
    return _moved(engine, x, flat)


def stand_together(engine: Engine, sizes: Sequence[int], chosen: Places) -> bool:
    """Whether arrays of these sizes need no mask to be one: all but the last fill their vectors, and values
    keep their order."""
    flat = chosen.reshape(-1)
    is_full = all(size % engine.layout.values == 0 for size in sizes[:-1])
    return is_full and bool(np.array_equal(flat, np.arange(flat.size)))


def joined(engine: Engine, parts: Sequence[Bounded], sizes: Sequence[int], chosen: Places) -> Bounded:
    """Values of several arrays, by the numbers that they have one after the other. Takes a level, unless they
    `stand_together`."""
    if stand_together(engine, sizes, chosen):
        level = min(engine.level(x) for x in parts)
        held = [replace(x, value=x.value.at_level(level)) for x in parts]
        if len({(each.value.scale, each.value.level) for each in held}) == 1:
            return bounded.joined(held)
    flat = chosen.reshape(-1)
    moved, before = [], 0
    for x, size in zip(parts, sizes, strict=True):
        is_ours = (flat >= before) & (flat < before + size)
        moved.append(_moved(engine, x, np.where(is_ours, flat - before, NOTHING)))
        before += size
    noise = overlaid([x.noise for x in moved])
    error = noise.deviation + max(x.rest if noise.origins else x.error for x in moved)
    return replace(
        reduce(operator.add, moved),
        largest=max(x.largest for x in moved),
        error=hypot(error, sqrt(len(parts)) * engine.rounding),
        noise=noise,
    )


def _repeated(engine: Engine, x: Bounded, place: int, vectors: int) -> Bounded:
    """One value at all places of some vectors."""
    values, digits = engine.layout.values, engine.layout.digits
    vector, place = divmod(place, values)
    mask = np.zeros(values)
    mask[place] = 1
    y = engine.masked(x[slice(vector, vector + 1)], np.tile(mask, digits))
    value, error = y.value, y.error
    if place != values - 1:  # from the last place of a digit, rotations to the left stay in the digit
        value = _turned(value, place + 1).rotate(-values)
        error = hypot(error, sqrt(2 + values.bit_length()) * engine.rounding)
    zeros, step = engine.rounding * sqrt(3 + values.bit_length()), 1
    while step < values:
        value = value + value.rotate(step)
        error = hypot(error, zeros, engine.rounding)
        zeros = hypot(zeros, zeros, engine.rounding)
        step *= 2
    found = replace(y, value=value, error=error, noise=y.noise.rearranged())
    return found[[0] * vectors] if vectors > 1 else found


@dataclass(frozen=True)
class _Move:
    """Values that move by as many slots to the left, of each vector of the result."""

    step: int
    vectors: list[int]
    """The vector that each vector of the result takes values of."""
    mask: NDArray[np.float64]
    """Where they stand in it, of shape (vectors, slots), or (slots,) for all: the same for all digits, so
    that a rotation by a digit does not change it."""


def _moves(layout: Layout, flat: Places) -> tuple[list[_Move], list[_Move]]:
    """The moves of slots to the left by less than a digit's places. Moves of the second list are to be
    followed by one by these places to the right."""
    values, count = layout.values, layout.vectors(flat.size)
    kept = np.flatnonzero(flat != NOTHING)
    target, at = np.divmod(kept, values)
    source, start = np.divmod(flat[kept], values)
    found: tuple[list[_Move], list[_Move]] = ([], [])
    for goes_back, moves in enumerate(found):
        chosen = (start < at) == goes_back
        steps = (start - at) % values
        for step in np.unique(steps[chosen]):
            ours = chosen & (steps == step)
            left = {t: list(np.unique(source[ours & (target == t)])) for t in np.unique(target[ours])}
            while left:  # several vectors may come together in one
                vectors, mask = [0] * count, np.zeros((count, layout.digits, values))
                for t in list(left):
                    vectors[t] = int(left[t].pop())
                    mask[t, :, at[ours & (target == t) & (source == vectors[t])]] = 1
                    if not left[t]:
                        del left[t]
                rows = mask.reshape(count, layout.slots)
                moves.append(_Move(int(step), vectors, rows if np.any(rows != rows[0]) else rows[0]))
    return found


def _moved(engine: Engine, x: Bounded, flat: Places) -> Bounded:
    """Any values to any places."""
    rotated = _Rotated(x.value)
    total = None
    terms = 0
    for moves, goes_back in zip(_moves(engine.layout, flat), (False, True), strict=True):
        if not moves:
            continue
        part = rotated.sum(moves)
        terms += len(moves)
        if goes_back:
            part = part.rotate(-engine.layout.values)
        total = part if total is None else total + part
    assert total is not None
    error = hypot(x.error, sqrt(rotated.count + 2 * terms + 2) * engine.rounding)
    rows = np.split(flat, range(engine.layout.values, flat.size, engine.layout.values))
    sources = [np.unique(row[row != NOTHING] // engine.layout.values) for row in rows]
    return replace(x, value=total, error=error, noise=x.noise.rearranged(sources))


class _Rotated:
    """Vectors, rotated by steps, each once, of rotations by powers of two."""

    def __init__(self, value: Ciphertext) -> None:
        self._known = {0: value}
        self.count = 0
        """The rotations by powers of two so far."""

    def sum(self, moves: list[_Move]) -> Ciphertext:
        """The sum of masked rotations by q B + b: those by b at first, and those by q B of sums, by
        W. G. Horner's rule. B takes the fewest rotations."""
        steps = sorted({move.step for move in moves})
        width = min((1 << k for k in range(steps[-1].bit_length() + 1)), key=lambda b: _rotations(steps, b))
        total, at = None, 0
        for giant in sorted({step // width for step in steps}, reverse=True):
            part = None
            for move in moves:
                if move.step // width == giant:
                    # The mask comes before the rotation by q B.
                    term = self._taken(move.step % width, move.vectors) * np.roll(
                        move.mask, giant * width, -1
                    )
                    part = term if part is None else part + term
            assert part is not None
            if total is not None:
                part = part + self._rotate(total, (at - giant) * width)
            total, at = part, giant
        assert total is not None
        return self._rotate(total, at * width)

    def _taken(self, step: int, vectors: list[int]) -> Ciphertext:
        value = self._by(step)
        return value if vectors == list(range(value.shape[0])) else value[vectors]

    def _by(self, step: int) -> Ciphertext:
        if step not in self._known:
            lowest = step & -step
            self._known[step] = self._rotate(self._by(step - lowest), lowest)
        return self._known[step]

    def _rotate(self, value: Ciphertext, step: int) -> Ciphertext:
        self.count += step.bit_count()
        return _turned(value, step)


def _turned(value: Ciphertext, step: int) -> Ciphertext:
    """Slots moved to the left, by the powers of two that have a key for all levels."""
    while step:
        lowest = step & -step
        value, step = value.rotate(lowest), step - lowest
    return value


def _rotations(steps: list[int], width: int) -> int:
    """The rotations by powers of two of `_Rotated.sum`."""
    small = set()
    for step in {step % width for step in steps}:
        while step:
            small.add(step)
            step &= step - 1
    giants = sorted({step // width for step in steps})
    gaps = np.diff([0, *giants])
    return len(small) + sum(int(gap).bit_count() for gap in gaps)
