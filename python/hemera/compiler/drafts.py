"""Programs on slots with parameters that were tried for them, and the choice among those with bootstraps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hemera.compiler.lowering import Lowered
from hemera.package.sharing import Sharing
from hemera.parameters import Parameters

_FINISHED = 2
"""The programs, of those that a narrow search ranks first, in which the whole search places bootstraps."""
_WORTH = 0.03
"""The part of a program's time that another long search is worth."""


@dataclass(frozen=True)
class Chosen:
    """Parameters, and the program on slots."""

    params: Parameters
    steps: Lowered
    sharing: Sharing | None = None


def _seconds(chosen: Chosen) -> float:
    """Seconds with the bootstraps that were placed; infinite without any."""
    return math.inf if chosen.steps.placement is None else chosen.steps.placement.time


@dataclass(frozen=True)
class Draft:
    """A program before bootstraps are placed, and with those of the narrow search."""

    steps: Lowered
    chosen: Chosen

    @property
    def seconds(self) -> float:
        return _seconds(self.chosen)

    def may_be_below(self, best: Chosen, worth: float) -> bool:
        """Whether the whole search may find a program that takes less by a part of the best one's time."""
        found = self.chosen.steps.placement
        return found is not None and not found.exact and found.bound < _seconds(best) * (1 - worth)


def finished(drafts: Sequence[Draft], levelled: Callable[[Lowered, Parameters], Lowered]) -> Chosen:
    """The fastest of programs whose bootstraps were placed by the narrow search. The first ones are placed by
    the whole search, `levelled`, as far as their bounds show that it may be worth it."""
    drafts = sorted(drafts, key=lambda each: each.seconds)
    best = drafts[0].chosen
    for at, each in enumerate(drafts[:_FINISHED]):
        if each.may_be_below(best, _WORTH if at else 0.0):
            params = each.chosen.params
            best = min(best, Chosen(params, levelled(each.steps, params)), key=_seconds)
    return best
