"""The search among layouts: each candidate is laid out, packaged and priced, and the cheapest is taken."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from hemera.arrays.layout import Layout
from hemera.compiler.impossible import Impossible, attempted
from hemera.compiler.parameter_search import Chosen
from hemera.package.package import Package

__all__ = ["Candidate", "Compared", "Found", "LaidOut", "LayoutName", "cheapest_of"]

LayoutName = Literal["auto", "ciphertexts", "pairs", "sequences", "slots"]


@dataclass(frozen=True)
class LaidOut:
    """A program in a layout, and where clients put what they encrypt."""

    chosen: Chosen
    samples: int
    """The number of samples that each ciphertext, or batch of them, holds."""
    requests: int
    """Runs that all samples take."""
    inputs: tuple[Layout, ...]
    outputs: tuple[Layout, ...]

    @classmethod
    def in_slots(cls, chosen: Chosen, samples: int, requests: int = 1) -> LaidOut:
        """A candidate with elements in slots."""
        own = samples // 2 if chosen.steps.in_parts else samples
        cut, whole = chosen.cut, chosen.cut.whole

        def of(at: int) -> Layout:
            layouts = (chosen.steps.steps[tile].layout for tile in cut.tiles[at])
            known = [layout for layout in layouts if layout is not None]
            return Layout.of_tiles(cut.tilings[at], known).with_samples(own)

        inputs, outputs = (tuple(map(of, ends)) for ends in (whole.inputs, [at for _, at in whole.outputs]))
        return cls(chosen, samples, requests, inputs, outputs)


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
    make: Callable[[], LaidOut]
    """NotPossibleError where it is not."""
    at_least: Callable[[], float] = lambda: 0.0
    """The seconds that it takes at least, known in a part of the time of `make`. Errors as of `make`."""


@dataclass(frozen=True)
class Compared:
    """What other layouts would take, or why there are none."""

    seconds: dict[str, float] = field(default_factory=dict)
    impossible: dict[str, Impossible] = field(default_factory=dict)


def cheapest_of(
    candidates: Sequence[Candidate], packaged: Callable[[LaidOut], Found], device: str
) -> tuple[LayoutName, Found | None, Compared]:
    """The layout that takes the least time by the table of a device, and its program; None for elements in
    slots, where no other layout is possible: they are made only to be compared, and where they may take less
    time.

    Args:
        candidates: elements in slots are the last one; without them they take more, for certain.
        packaged: a program as a packaged model.
    """
    compared, made = Compared(), dict[str, Found]()
    name: LayoutName = "slots"
    for each in candidates:
        if each.name == "slots" and not made:
            break
        least = min(compared.seconds.values(), default=math.inf)
        tried = attempted(functools.partial(_below, each, least, packaged, device))
        if isinstance(tried, Impossible):
            compared.impossible[each.name] = tried
            continue
        compared.seconds[each.name], found = tried
        if found is not None:
            made[each.name] = found
        if compared.seconds[each.name] < least:
            name = each.name
    return name, made.get(name), compared


def _below(
    each: Candidate, least: float, packaged: Callable[[LaidOut], Found], device: str
) -> tuple[float, Found | None]:
    """The seconds of a candidate, and its program where they may be below those of others."""
    at_least = each.at_least()
    if at_least >= least:
        return at_least, None
    found = packaged(each.make())
    return found.seconds(device), found
