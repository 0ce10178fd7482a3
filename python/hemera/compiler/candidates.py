"""The search among layouts: each candidate is laid out, packaged and priced, and the cheapest is taken."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hemera.compiler.approximate import Chosen
from hemera.compiler.impossible import Impossible, attempted
from hemera.compiler.layouts import LayoutName
from hemera.package.package import Package

__all__ = ["Candidate", "Compared", "Found", "cheapest_of"]


@dataclass(frozen=True)
class Found:
    """A program in one layout, as a packaged model."""

    chosen: Chosen
    model: Package
    requests: int = 1
    """Runs of the model that all samples take."""

    def seconds(self, device: str) -> float:
        """The seconds of all runs, by the table of a device."""
        seconds = self.model.cost(self.requests, device=device).seconds
        assert seconds is not None
        return seconds


@dataclass(frozen=True)
class Candidate:
    """A layout that may be possible."""

    name: LayoutName
    make: Callable[[], Found]
    """NotPossibleError where it is not."""
    at_least: Callable[[], float] = lambda: 0.0
    """The seconds that it takes at least, known in a part of the time of `make`. Errors as of `make`."""


@dataclass(frozen=True)
class Compared:
    """What other layouts would take, or why there are none."""

    seconds: dict[str, float] = field(default_factory=dict)
    impossible: dict[str, Impossible] = field(default_factory=dict)


def cheapest_of(
    candidates: Sequence[Candidate], in_slots: Candidate | None, device: str
) -> tuple[LayoutName, Found | None, Compared]:
    """The layout that takes the least time by the table of a device, and its program; None for elements in
    slots, where no other layout is possible.

    Args:
        in_slots: the last candidate, which is made only where another one is possible, and where it may take
            less time. None: it takes more, for certain.
    """
    compared, made = Compared(), dict[str, Found]()
    name: LayoutName = "slots"
    for each in (*candidates, *([] if in_slots is None else [in_slots])):
        if each is in_slots and not made:
            break
        least = min(compared.seconds.values(), default=math.inf)
        tried = attempted(functools.partial(_below, each, least, device))
        if isinstance(tried, Impossible):
            compared.impossible[each.name] = tried
            continue
        compared.seconds[each.name], found = tried
        if found is not None:
            made[each.name] = found
        if compared.seconds[each.name] < least:
            name = each.name
    return name, made.get(name), compared


def _below(each: Candidate, least: float, device: str) -> tuple[float, Found | None]:
    """The seconds of a candidate, and its program where they may be below those of others."""
    at_least = each.at_least()
    if at_least >= least:
        return at_least, None
    found = each.make()
    return found.seconds(device), found
