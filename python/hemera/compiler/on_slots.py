"""From a program on arrays to one on slots: tiles, layouts, and samples beside each other."""

from __future__ import annotations

from collections.abc import Callable

from hemera.arrays.layout import Layout
from hemera.arrays.layout_search import layout_choices
from hemera.arrays.splitting import SplitProgram, split
from hemera.arrays.tensor import TensorProgram
from hemera.arrays.tiling import Tiling
from hemera.compiler import passes
from hemera.compiler.costs import Price, cheapest
from hemera.compiler.lowering import Lowered

__all__ = ["SLOTS", "on_slots"]

SLOTS = 4
"""The fewest of a ciphertext."""


def on_slots(
    whole: TensorProgram,
    *,
    samples: int,
    most_slots: int,
    free: int | None,
    price: Callable[[SplitProgram, Lowered], Price],
) -> tuple[SplitProgram, Lowered]:
    """The program on tiles, and the one on slots: in the cheapest of the layouts that searches find.

    Args:
        samples: that each ciphertext holds.
        most_slots: of a sample's tile.
        free: the slots of a ring without bootstraps, which copies may fill; None: with bootstraps, for which
            more slots take longer than copies in them save.
        price: of the two programs.

    Raises:
        ParameterError: for a function that no file can keep.
    """
    # Half of them in imaginary parts, rather than more ciphertexts: see `hemera.compiler.parts`.
    halves = free is None and samples > 1 and _tiles(whole, 2 * most_slots) < _tiles(whole, most_slots)
    in_slots = samples // 2 if halves else samples
    cut = split(whole, 2 * most_slots if halves else most_slots)
    spread = 1 if free is None else max(1, free // in_slots)

    def made(layouts: tuple[Layout, ...]) -> Lowered:
        slots = max(1, SLOTS // in_slots, *(layout.period for layout in layouts))
        return passes.SLOTS.run(passes.OnSlots(cut, layouts, slots, samples, halves)).steps

    choices = layout_choices(cut.program, most_slots=spread, alike=cut.alike)
    found = [made(each.layouts) for each in choices]
    return cut, found[0] if len(found) == 1 else cheapest(found, lambda each: price(cut, each))


def _tiles(program: TensorProgram, slots: int) -> int:
    """The tiles of all arrays, with so many slots for each."""
    return sum(Tiling.of(node.shape, slots).count for node in program.nodes)
