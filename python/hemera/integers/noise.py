"""Roundings that numbers in slots have, told apart by where they were drawn.

Roundings of different draws add up in squares, and one that comes in twice adds up as it is. Nothing is told
apart that might be the same: the noise of two numbers is that of one draw unless it can not be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import count
from math import hypot

Origin = tuple[int, int | None]
"""The number of a vector's draw, and the slots by which the vector turned to the left since then; None: its
slots may stand anywhere."""

MOST_ORIGINS = 512
"""Vectors with the roundings of more draws are not told apart."""

_draws = count(1)


@dataclass(frozen=True)
class Noise:
    """The part of an error that is roundings of known draws."""

    deviation: float = 0.0
    """The deviation of a slot."""
    origins: tuple[frozenset[Origin], ...] = ()
    """The draws in each vector; () where they are not known, and there is no noise."""

    @classmethod
    def of(cls, numbers: Iterable[int], vectors: int) -> Noise:
        """Vectors with draws of these numbers, which have no deviation yet."""
        return cls(0.0, (frozenset((number, 0) for number in numbers),) * vectors).known

    @property
    def known(self) -> Noise:
        """The same; none where a vector has no draws that are known, or too many."""
        is_known = self.origins and all(0 < len(each) <= MOST_ORIGINS for each in self.origins)
        return self if is_known else Noise()

    def redrawn(self, deviation: float) -> Noise:
        """A draw of each vector, in its place: the same where the vectors are."""
        return Noise(deviation, tuple(frozenset((hash(x), 0) for x in each) for each in self.origins)).known

    def __getitem__(self, vectors: slice | list[int]) -> Noise:
        if not self.origins:
            return self
        chosen = self.origins[vectors] if isinstance(vectors, slice) else [self.origins[i] for i in vectors]
        return Noise(self.deviation, tuple(chosen))

    def times(self, factor: float) -> Noise:
        return Noise(self.deviation * factor, self.origins)

    def turned(self, step: int, slots: int) -> Noise:
        """Vectors that turn to the left."""
        return Noise(
            self.deviation,
            tuple(
                frozenset((number, None if at is None else (at + step) % slots) for number, at in each)
                for each in self.origins
            ),
        )

    def rearranged(self, sources: Sequence[Iterable[int]] | None = None) -> Noise:
        """Slots that change their places.

        Args:
            sources: the vectors that each vector of the result takes slots of; None: its own.
        """
        if not self.origins:
            return self
        chosen = [[i] for i in range(len(self.origins))] if sources is None else sources
        origins = (
            frozenset((number, None) for i in each for number, _ in self.origins[i]) for each in chosen
        )
        return Noise(self.deviation, tuple(origins))

    def shares(self, other: Noise) -> bool:
        """Whether a slot may have a rounding of one draw in both."""
        return any(map(_share, self.origins, other.origins))

    def plus(self, other: Noise) -> Noise:
        """The noise of a sum."""
        if not self.origins or not other.origins:
            return self if self.origins else other
        both = self.deviation, other.deviation
        origins = tuple(a | b for a, b in zip(self.origins, other.origins, strict=True))
        return Noise(sum(both) if self.shares(other) else hypot(*both), origins)


def combined(a: Noise, b: Noise, rounding: float) -> Noise:
    """The noise of operands that add up, and of a rounding: a new draw. It may have no known draws."""
    both = a.plus(b)
    origins = tuple(each | {(next(_draws), 0)} for each in both.origins)
    return Noise(hypot(both.deviation, rounding), origins)


def concatenated(parts: Sequence[Noise]) -> Noise:
    """The vectors of all parts one after the other."""
    if not all(part.origins for part in parts):
        return Noise()
    return Noise(max(part.deviation for part in parts), sum((part.origins for part in parts), ()))


def overlaid(parts: Sequence[Noise]) -> Noise:
    """Vectors whose slots are each of one part."""
    if not all(part.origins for part in parts):
        return Noise()
    origins = (reduce(frozenset.union, each) for each in zip(*(part.origins for part in parts), strict=True))
    return Noise(max(part.deviation for part in parts), tuple(origins)).known


def _share(a: frozenset[Origin], b: frozenset[Origin]) -> bool:
    return (
        not a.isdisjoint(b)
        or any((number, None) in b for number, _ in a)
        or any((number, None) in a for number, _ in b)
    )
