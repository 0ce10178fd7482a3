"""Linear maps between arrays in slots: by which diagonals and rotations they are done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.layout import COPY, FREE, Layout
from hemera.arrays.sparse_map import Floats, Indices, SparseMap


def by_diagonals(numbers: Sequence[int], diagonals: NDArray[Any], x: NDArray[Any]) -> NDArray[Any]:
    """The sum over k of diagonals[k][s] * x[s + numbers[k]], in the clear.

    Args:
        diagonals: of shape (numbers, period); they repeat with the period.
        x: slots of shape (..., slots), a multiple of the period.
    """
    repeats = x.shape[-1] // diagonals.shape[1]
    found = np.zeros(x.shape, np.result_type(x, diagonals))
    for number, diagonal in zip(numbers, diagonals, strict=True):
        found += np.tile(diagonal, repeats) * np.roll(x, -number, axis=-1)
    return found


@dataclass(frozen=True, eq=False)
class PackedMap:
    """A linear map on slots: y[s] is the sum over k and over f in `folds`' sums of
    diagonals[k][s + f] * x[s + f + numbers[k]].

    Contents and diagonals repeat with `period`. After the diagonals, the result is added to itself turned by
    each fold in its turn, so that each slot holds the sum of all slots that are `folds[0]` apart.
    """

    period: int
    numbers: Indices
    """The numbers of the diagonals, ascending."""
    diagonals: Floats
    """Shape (numbers, period)."""
    folds: tuple[int, ...] = ()
    """Rotations; each is twice the one before it."""

    @property
    def only_scales(self) -> float | None:
        """The number by which all used slots are multiplied, where it does nothing else; None elsewhere."""
        if self.folds or self.numbers.tolist() != [0]:
            return None
        values = self.diagonals[0][self.diagonals[0] != 0]
        return float(values[0]) if (values == values[0]).all() else None


def offsets(rows: Indices, columns: Indices, source: Layout, target: Layout) -> Indices:
    """The number of the diagonal of each entry, modulo the smaller of the periods."""
    taken, slots = _taken(target.places.take(rows), columns, source, target)
    return (taken - slots) & (min(source.period, target.period) - 1)


def free_folds(source: Layout, target: Layout) -> tuple[int, ...]:
    """The rotations by which sums over FREE slots of the target are taken: over the bits that number elements
    in the source."""
    if FREE not in target.bits:
        return ()
    bits = zip(source.bits, target.bits, strict=False)
    return tuple(1 << at for at, (given, own) in enumerate(bits) if own == FREE and given not in (COPY, FREE))


def _taken(places: Indices, columns: Indices, source: Layout, target: Layout) -> tuple[Indices, Indices]:
    """The slot of the source that each entry takes, and the slot where its product stands: that of its
    result, or the FREE one of it that is nearest, from which a fold brings it."""
    taken = source.places.take(columns)
    if source.copy_mask:
        taken |= places & source.copy_mask
    return taken, places | (taken & target.free_mask) if target.free_mask else places


def packed(own: SparseMap, source: Layout, target: Layout) -> PackedMap:
    """A map of arrays in these layouts, by its diagonals (S. Halevi, V. Shoup, "Algorithms in HElib",
    2014/106, section 4.3). Where the target repeats sooner than the source, diagonals are wrapped: only as
    many as the target's period, and the parts of a sum, which lie so far apart, are added by folds. So are
    those that stand in FREE slots of the target."""
    copies = target.copies
    rows = np.repeat(own.rows, len(copies))
    columns = np.repeat(own.columns, len(copies))
    taken, slots = _taken(target.places.take(rows) | np.tile(copies, own.entries), columns, source, target)
    smaller, period = sorted((source.period, target.period))
    number = (taken - slots) & (smaller - 1)
    if target.period < source.period:
        # Where the sum is folded, an entry stands in the slot from which its element is `number` away.
        slots = (taken - number) & (period - 1)
    present = np.zeros(smaller, np.bool_)
    present[number] = True
    numbers, which = np.flatnonzero(present), (np.cumsum(present) - 1)[number]
    diagonals = np.zeros((len(numbers), period))
    diagonals[which, slots] = np.repeat(own.values, len(copies))  # each entry has a place of its own
    folds = list(free_folds(source, target))
    fold = target.period
    while fold < source.period:
        folds.append(fold)
        fold *= 2
    return PackedMap(period, numbers, diagonals, tuple(folds))
