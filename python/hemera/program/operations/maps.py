"""Linear maps of slots, by their diagonals."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from hemera import _core
from hemera.arrays.facts import distinct
from hemera.arrays.packing import by_diagonals
from hemera.circuits import LinearTransform
from hemera.circuits.linear import checked_transform
from hemera.errors import MismatchError, ParameterError
from hemera.objects.ciphertext import Ciphertext
from hemera.parameters import Parameters
from hemera.program.operations.base import LATER, Encoded, OfMatrix, Operation, Running
from hemera.program.operations.places import Bounded, Bounds, Place
from hemera.program.operations.slots import rows_of
from hemera.program.values import MAX_SLOTS, Array, Form, SchemeName, constant, integer


@functools.lru_cache(maxsize=64)
def _of_ones(
    numbers: tuple[int, ...], params: Parameters, slots: int, *options: int
) -> _core.LinearTransform:
    """The core's transform with these diagonals, of ones."""
    return checked_transform(dict.fromkeys(numbers, 1.0), params, slots, *options)


@functools.lru_cache(maxsize=4096)
def _keys_of_ones(*transform: Any) -> Sequence[_core.KeyNeed]:
    """The keys of such a transform: searches for fewer keys ask for those of each map again."""
    return _of_ones(*transform).needed_keys


class _ByDiagonals(Operation):
    """The common part of maps of all schemes."""

    linear = True
    depth = 1
    numbers: tuple[int, ...]
    values: Array
    places: Array
    baby_steps: int
    samples: int

    @property
    def diagonals(self) -> Array:
        """Shape (numbers, period * samples)."""
        return np.repeat(self.values[self.places], self.samples, axis=1)

    def with_samples(self, samples: int, whole: bool) -> Operation:
        numbers = tuple(number * samples for number in self.numbers)
        own: Any = self
        found: Operation = replace(
            own, numbers=numbers, samples=own.samples * samples, baby_steps=own.baby_steps * samples
        )
        return found


@dataclass(frozen=True, eq=False)
class Map(_ByDiagonals, OfMatrix):
    """y[s] is the sum over k of diagonals[k][s] * x[s + numbers[k]]; diagonals repeat with their length."""

    name: ClassVar[str] = "map"
    timed_by = ("numbers", "baby_steps", "own_keys", "fewest_keys")
    numbers: tuple[int, ...]
    values: Array
    """The different entries of the diagonals: those of a convolution are few."""
    places: Array
    """Shape (numbers, period): which of the values each entry is."""
    baby_steps: int = 0
    own_keys: bool = False
    """Keys over the primes of its level alone, with the baby steps that cost least with them."""
    samples: int = 1
    """The samples of each entry: one after the other, those of several samples have the same."""
    fewest_keys: int = field(default=0, metadata=LATER)
    """As of `hemera.circuits.LinearTransform`."""

    @classmethod
    def of(cls, numbers: Sequence[int], diagonals: Array) -> Map:
        """The map of diagonals of shape (numbers, period)."""
        return cls(tuple(map(int, numbers)), *_different(diagonals))

    def validated(self, scheme: SchemeName) -> Operation:
        numbers, values, places = _checked(self.numbers, self.values, self.places, scheme)
        steps = integer(self.baby_steps, "baby_steps", 0, MAX_SLOTS)
        samples = integer(self.samples, "samples", 1, MAX_SLOTS)
        fewest = integer(self.fewest_keys, "fewest_keys", 0, MAX_SLOTS)
        return Map(numbers, values, places, steps, bool(self.own_keys), samples, fewest)

    def form(self, forms: list[Form]) -> Form:
        _require_period(self.numbers, self.places.shape[1] * self.samples, forms[0].slots)
        return forms[0]

    def _by_number(self, slots: int) -> dict[int, Array]:
        return {
            number: _tiled(np.repeat(self.values[places], self.samples), slots)
            if len(places) > 1
            else self.values[places[0]]  # a number for all slots
            for number, places in zip(self.numbers, self.places, strict=True)
        }

    def plan(self, place: Place) -> LinearTransform:
        return LinearTransform.from_diagonals(
            self._by_number(place.form.slots),
            place.params,
            slots=place.form.slots,
            level=place.level,
            baby_steps=self.baby_steps,
            own_keys=self.own_keys,
            fewest_keys=self.fewest_keys,
        )

    def transform(self, place: Place) -> _core.LinearTransform:
        params, slots, level = place.params, place.form.slots, place.level
        own = self._by_number(slots)
        options = level, self.baby_steps, self.own_keys, self.fewest_keys
        return checked_transform(own, params, slots, *options)

    def of_ones(self, place: Place, baby_steps: int) -> _core.LinearTransform:
        return _of_ones(*self._ones(place, baby_steps))

    def _ones(self, place: Place, baby_steps: int) -> tuple[Any, ...]:
        own = place.level, baby_steps, self.own_keys, self.fewest_keys
        return self.numbers, place.params, place.form.slots, *own

    def keys(self, place: Place) -> list[tuple[_core.KeyNeed, int]]:
        if not self.own_keys:
            return super().keys(place)
        return [(need, place.level) for need in _keys_of_ones(*self._ones(place, self.baby_steps))]

    def expanded_bytes(self, slots: int) -> int:
        return 16 * len(self.numbers) * slots

    @property
    def encoded(self) -> tuple[Array, ...]:
        return (self.values,)

    def halved(self) -> Map:
        return replace(self, values=self.values / 2)

    def with_own_keys(self) -> Map:
        return replace(self, own_keys=True)

    def bounded(self, at: Bounds, *xs: Bounded) -> Bounded | None:
        """A bound by Schur's test: the root of the largest row sum times the largest column sum."""
        if self.fewest_keys:
            return None  # rotations of rotations
        (x,) = xs
        sizes = np.abs(self.diagonals)
        rows = np.zeros(sizes.shape[1])
        columns = np.zeros_like(rows)
        rotations = 0.0  # what the noise of a rotation is multiplied with, in all
        for number, own in zip(self.numbers, sizes, strict=True):
            rows += own
            columns += np.roll(own, number)
            rotations += float(own.max())
        baby_steps = self.decided(at).baby_steps
        giants = len({number // baby_steps for number in self.numbers})
        error = math.sqrt(float(rows.max()) * float(columns.max())) * x.error
        error += (rotations + giants + 1) * at.unit
        error += len(self.numbers) * at.encoded * x.largest
        return Bounded(float(rows.max()) * x.largest, error)

    def without_values(self) -> Map:
        """A map with the same rotations and products, of ones."""
        places = np.zeros((len(self.numbers), 1), np.int64)
        return replace(self, values=np.ones(1), places=places, samples=1)

    def clear(self, *xs: Array) -> Array:
        return by_diagonals(self.numbers, self.diagonals, xs[0])


def _checked(
    numbers: Sequence[int], given: Array, taken: Array, scheme: SchemeName
) -> tuple[tuple[int, ...], Array, Array]:
    """The parts of a map as they are kept. ParameterError or TypeError for wrong ones."""
    values = constant(given, scheme, "a map's values")
    places = np.asarray(taken)
    numbers = tuple([integer(each, "a diagonal's number", 0, MAX_SLOTS - 1) for each in numbers])
    fits = values.ndim == 1 and places.ndim == 2 and places.dtype.kind == "i" and places.size > 0
    if not fits or len(places) != len(numbers) or len(set(numbers)) != len(numbers):
        raise ParameterError(
            f"a map of {len(numbers)} diagonals with values of shape {values.shape} at places of shape "
            f"{places.shape}"
        )
    if places.min() < 0 or places.max() >= len(values) or places.shape[1] > MAX_SLOTS:
        raise ParameterError("a map has places of values that are not there")
    return numbers, values, places


def _different(diagonals: Array) -> tuple[Array, Array]:
    """The different entries, ascending, and which of them each entry is. Zeros are most of them, and are not
    sorted."""
    flat = diagonals.reshape(-1)
    used = np.flatnonzero(flat)
    values = distinct(flat[used])
    which = np.searchsorted(values, flat[used])
    places = np.zeros(flat.shape, np.int32)
    if len(used) < len(flat):
        zero = int(np.searchsorted(values, 0))
        values = np.insert(values, zero, 0)
        which = which + (which >= zero)
        places[:] = zero
    places[used] = which
    return values, places.reshape(diagonals.shape)


def _tiled(period: Array, slots: int) -> Array:
    return np.tile(period, slots // len(period))


def _require_period(numbers: Sequence[int], period: int, slots: int) -> None:
    """MismatchError where diagonals do not fit `slots` slots."""
    if slots % period or max(numbers) >= slots:
        raise MismatchError(f"diagonals of period {period} and values of {slots} slots do not fit")


@dataclass(frozen=True, eq=False)
class RowMap(_ByDiagonals):
    """BFV and BGV: the map of `Map` in each of the two rows of slots. Baby rotations are of the operand;
    giant ones are of sums of products (S. Halevi, V. Shoup, "Algorithms in HElib", 2014/106)."""

    name: ClassVar[str] = "map rows"
    schemes: ClassVar[tuple[SchemeName, ...]] = ("bfv", "bgv")
    numbers: tuple[int, ...]
    values: Array
    """The different entries of the diagonals."""
    places: Array
    """Shape (numbers, period): which of the values each entry is."""
    baby_steps: int
    """Diagonal b + g is by the baby rotation b below `baby_steps`, and the giant one g, a multiple of it."""
    samples: int = 1
    """As `Map.samples`."""

    @classmethod
    def of(cls, numbers: Sequence[int], diagonals: Array) -> RowMap:
        """The map of diagonals of shape (numbers, period), by the fewest rotations."""
        known = np.asarray(numbers)
        steps = [1 << bits for bits in range(int(known.max()).bit_length() + 1)]

        def rotations(each: int) -> int:
            return len(np.unique(known % each)) + len(np.unique(known // each))

        best = min(steps, key=rotations)
        return cls(tuple(int(each) for each in numbers), *_different(diagonals), best)

    def validated(self, scheme: SchemeName) -> Operation:
        numbers, values, places = _checked(self.numbers, self.values, self.places, scheme)
        steps = integer(self.baby_steps, "baby_steps", 1, MAX_SLOTS)
        return RowMap(numbers, values, places, steps, integer(self.samples, "samples", 1, MAX_SLOTS))

    def form(self, forms: list[Form]) -> Form:
        _require_period(self.numbers, self.places.shape[1] * self.samples, forms[0].slots // 2)
        return forms[0]

    def expanded_bytes(self, slots: int) -> int:
        return 8 * len(self.numbers) * slots

    def plan(self, place: Place) -> dict[int, dict[int, Encoded]]:
        """The diagonals, turned back by the giant rotation: by giant and baby rotations."""
        found: dict[int, dict[int, Encoded]] = {}
        for number, places in zip(self.numbers, self.places, strict=True):
            baby = number % self.baby_steps
            turned = np.roll(np.repeat(self.values[places], self.samples), number - baby)
            own = found.setdefault(number - baby, {})
            own[baby] = Encoded(_tiled(turned, place.form.slots), product=True)
        return found

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        ev, plan = at.ev, at.plan
        turned = {
            baby: xs[0] if baby == 0 else ev.rotate(xs[0], baby)
            for baby in sorted({number % self.baby_steps for number in self.numbers})
        }
        total: Any = None
        for giant, own in plan.items():
            operands = [turned[baby] for baby in own]
            part = ev.dot(operands, [own[baby].for_operand(ev, turned[baby]) for baby in own])
            part = part if giant == 0 else ev.rotate(part, giant)
            total = part if total is None else ev.add(total, part)
        return total  # type: ignore[no-any-return]

    def clear(self, *xs: Array) -> Array:
        return by_diagonals(self.numbers, self.diagonals, rows_of(xs[0])).reshape(xs[0].shape)
