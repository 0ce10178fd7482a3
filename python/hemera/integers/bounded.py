"""Encrypted numbers with what is public of them: how large they are, how wrong, and how often."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import count
from math import hypot
from operator import or_

import numpy as np

from hemera import _core
from hemera.integers.noise import Noise, concatenated
from hemera.objects.batches import concatenate
from hemera.objects.ciphertext import Ciphertext

_numbers = count()


@dataclass(frozen=True)
class Risk:
    """Errors that may have happened: events, each with a number and log2 of its probability. Values that come
    of one refresh share its event, which counts once."""

    events: frozenset[tuple[int, float]] = frozenset()
    roots: frozenset[int] = frozenset()
    """Numbers of the encryptions that led here, others after each refresh. Two vectors that are the same
    have one in common."""

    @classmethod
    def of(cls, *events_log2: float) -> Risk:
        """New events."""
        return cls(frozenset((next(_numbers), each) for each in events_log2))

    @classmethod
    def encrypted(cls, root: int | None = None) -> Risk:
        """No event, of a new encryption; or of one with a number of its own."""
        return cls(roots=frozenset({next(_numbers) if root is None else root}))

    def __or__(self, other: Risk) -> Risk:
        return Risk(self.events | other.events, self.roots | other.roots)

    def refreshed(self, events: Risk) -> Risk:
        """After a refresh with these events."""
        return Risk(self.events | events.events, frozenset(hash((root, 0)) for root in self.roots))

    @property
    def log2(self) -> float:
        """log2 of a bound on the probability that any of them happens: the sum; -inf of none."""
        return float(np.logaddexp2.reduce(sorted(each for _, each in self.events), initial=-np.inf))


@dataclass(frozen=True)
class Bounded:
    """Whole numbers in all slots of some vectors, up to an error."""

    value: Ciphertext
    """A ciphertext of shape (vectors,), with real slots."""
    largest: float
    """A bound on the numbers' magnitudes."""
    error: float
    """The deviation of a slot from its number, at most, by the plan's model."""
    risk: Risk = field(default_factory=Risk.encrypted)
    """The risk that a number is another one."""
    noise: Noise = field(default_factory=Noise)
    """A part of the error: roundings, which add up in squares with others. What is not in it adds up as it
    is."""

    def __post_init__(self) -> None:
        assert len(self.noise.origins) in (0, *self.value.shape[:1]), "the noise is another number's"

    @property
    def rest(self) -> float:
        """The part of the error that adds up as it is."""
        return self.error - self.noise.deviation

    def __add__(self, other: Bounded) -> Bounded:
        """The sum. Errors may depend on each other, so they add up."""
        return Bounded(
            self.value + other.value,
            self.largest + other.largest,
            self.error + other.error,
            self.risk | other.risk,
        )

    def __sub__(self, other: Bounded) -> Bounded:
        return self + other * -1

    def __mul__(self, factor: int) -> Bounded:
        """Times a whole number, which takes no level."""
        size = abs(factor)
        value = self.value if factor == 1 else (-self.value if factor == -1 else self.value * factor)
        return Bounded(value, self.largest * size, self.error * size, self.risk)

    def __getitem__(self, vectors: slice | list[int]) -> Bounded:
        return replace(self, value=self.value[vectors], noise=self.noise[vectors])

    def times(self, other: Bounded, rounding: float) -> Bounded:
        """The product, a level lower. `rounding`: the deviation that a product adds."""
        return Bounded(self.value * other.value, *self.bound(other, rounding), self.risk | other.risk)

    def bound(self, other: Bounded, rounding: float) -> tuple[float, float]:
        """The largest magnitude of a product, and its error."""
        error = hypot(self.largest * other.error, other.largest * self.error, rounding)
        return self.largest * other.largest, error + self.error * other.error


def finished_level(value: Ciphertext) -> int:
    """The level after the rescale that a product waits for."""
    return int(_core.finished(value._native)[0])


def joined(numbers: Sequence[Bounded]) -> Bounded:
    """The vectors of all one after the other. They have one scale and level."""
    noise = concatenated([x.noise for x in numbers])
    return Bounded(
        concatenate([x.value for x in numbers]),
        max(x.largest for x in numbers),
        noise.deviation + max(x.rest if noise.origins else x.error for x in numbers),
        reduce(or_, (x.risk for x in numbers)),
        noise,
    )


def pair(a: Bounded, b: Bounded) -> Bounded | None:
    """The vectors of both, at the lower one's level; None where they have not one scale there."""
    level = min(finished_level(a.value), finished_level(b.value))
    first, second = a.value.at_level(level), b.value.at_level(level)
    if first.scale != second.scale or first.level != second.level:
        return None
    return Bounded(
        concatenate([first, second]), max(a.largest, b.largest), max(a.error, b.error), a.risk | b.risk
    )
