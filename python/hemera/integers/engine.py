"""Refreshes, tables and carries of encrypted digits: the circuits that all operations are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import hypot, log2, pi, prod, sqrt
from operator import or_

import numpy as np
from numpy.typing import NDArray

from hemera.circuits import Bootstrap
from hemera.integers.bounded import Bounded, Risk, finished_level, pair
from hemera.integers.cleaning import Cleaning, require_readable
from hemera.integers.layout import BASE, DIGIT_BITS, Layout
from hemera.integers.lookup import Lookup, bits, largest_error, lookup
from hemera.integers.margins import (
    BIT_ERROR,
    MOST_BIT_ERROR,
    MOST_DIGIT_ERROR,
    MOST_LEFT,
    OPERAND_ERROR,
    fresh_error,
    misread_log2,
)
from hemera.integers.noise import Noise
from hemera.integers.parts import in_parts
from hemera.integers.points import Points
from hemera.integers.refreshes import deviations
from hemera.objects.batches import concatenate
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.evaluator import Evaluator

_LARGEST_READING_ERROR = 2.0**-11.5
"""The largest error, growing with a number, that a bootstrap adds to one that is read modulo 256."""
LEAST_READ = 2 * (BASE - 1) ** 2 * (BASE + 1)
"""The columns of a product of two digits are read modulo 256 at any parameters; so its levels are known
before an engine is."""


@dataclass
class Work:
    """The work of an evaluator for integers so far."""

    refreshes: int = 0
    """Vectors whose exponentials were taken: of two in one bootstrap each counts."""
    tables: int = 0


@dataclass(frozen=True)
class Exponential:
    """exp(2 pi i s / period) of whole numbers s in all slots of some vectors, up to an error."""

    value: Ciphertext
    """A ciphertext of shape (vectors,)."""
    period: int
    error: float
    """The deviation of s in it, at most."""
    radial: float
    """The deviation of its magnitude from 1."""
    risk: Risk
    """The risk that a number is another one."""

    def raised(self, value: Ciphertext, exponent: int, rounding: float) -> Exponential:
        """The power with an exponent that divides the period, whose ciphertext is given."""
        error, radial = power_errors(self.error, self.radial, self.period, exponent, rounding)
        return Exponential(value, self.period // exponent, error, radial, self.risk)


def power_errors(
    error: float, radial: float, period: int, exponent: int, rounding: float
) -> tuple[float, float]:
    """The deviations of numbers, and of magnitudes, in a power of their exponentials: what `exponent` - 1
    products add at most."""
    added = (exponent - 1) * rounding
    return error + added * (period / exponent) / (2 * pi), radial * exponent + added


class Engine(Cleaning):
    """Circuits on digits, by an evaluator that has all of their keys."""

    def __init__(
        self, evaluator: Evaluator, layout: Layout, whole: Bootstrap, real: Bootstrap, points: Points
    ) -> None:
        params = evaluator.context.params
        degree = params.degree
        scale = whole.result_scale
        # The rounding for a uniform ternary secret, whose slots are sqrt(2 N / 3) in the mean.
        super().__init__(evaluator, layout, sqrt(degree * (1 + 2 * degree / 3) / 12) / scale)
        self.work = Work()
        self.points = points
        self._whole, self._real = whole, real
        self.fresh = fresh_error(params, scale)
        self._torus, self._relative = deviations(whole)
        self._radial = 2 * pi * self._torus
        self.most_read = max(LEAST_READ, _LARGEST_READING_ERROR / (BASE**2 * self._relative))
        """The largest number that is read modulo 256."""

    # --- Levels. ---

    @property
    def lowest(self) -> int:
        """The level of the user's lowest."""
        return self._whole.input_level

    def level(self, x: Bounded) -> int:
        """The level after the rescale that a product waits for."""
        return finished_level(x.value)

    def ready(self, x: Bounded, levels: int, error: float = MOST_DIGIT_ERROR) -> Bounded:
        """Digits with at least `levels` levels left, and no more error, but for the least one: refreshed, if
        they have not."""
        error = max(error, self.least)
        if self.level(x) - self.lowest >= levels and x.error <= error:
            return x
        found = self.refreshed(x, error)
        # After several cleanings levels may be missing; then the error is small, and one is enough.
        return found if self.level(found) - self.lowest >= levels else self.refreshed(found, error)

    def ready_both(
        self, a: Bounded, b: Bounded, levels: int, error: float = MOST_DIGIT_ERROR
    ) -> tuple[Bounded, Bounded]:
        """`ready` of two operands; one that is both stays one."""
        first = self.ready(a, levels, error)
        return first, first if b is a else self.ready(b, levels, error)

    def to_add(self, a: Bounded, b: Bounded, error: float = MOST_DIGIT_ERROR) -> tuple[Bounded, Bounded]:
        """Two operands that are added up, with at most this error each."""
        a, b = self.ready_both(a, b, 0, error)
        return (a, b) if self.have_levels(a, b, 0) else self.ready_both(a, b, 1, error)

    def have_levels(self, a: Bounded, b: Bounded, levels: int) -> bool:
        """Whether the sum has as many levels above the lowest one. Two scales take one."""
        left = min(self.level(a), self.level(b)) - self.lowest
        return left > levels or (left == levels and (b is a or pair(a, b) is not None))

    def ready_bits(self, x: Bounded, levels: int = 1, error: float = MOST_BIT_ERROR) -> Bounded:
        """The same of booleans."""
        error = max(error, self.least)
        if self.level(x) - self.lowest >= levels and x.error <= error:
            return x
        return self._refreshed_bits(x, error)

    def left(self, x: Bounded) -> Bounded:
        """Digits or bits as an operation may leave them: refreshed, if their error is above `MOST_LEFT`.
        Larger numbers are none yet, and stay.

        Raises:
            NoiseError: if they can not be read any more.
        """
        if x.error <= MOST_LEFT or x.largest >= BASE:
            return x
        return self.ready_bits(x) if x.largest <= 1 else self.ready(x, 0)

    @in_parts
    def _refreshed_bits(self, x: Bounded, error: float) -> Bounded:
        found = self.tables(x, lookup(2, lambda s: s), clean=True)
        return self.cleaned_below(found, error)[0]

    @in_parts
    def refreshed(self, x: Bounded, error: float = MOST_DIGIT_ERROR) -> Bounded:
        """The same digits, from 0 to 15, with most of the levels: cleaned until their error is below this
        one, and below that which products take.

        Raises:
            NoiseError: if their error is above `margins.MOST_LEFT`, so that they can not be read.
        """
        found = self.tables(x, lookup(BASE, *bits(DIGIT_BITS)), clean=False)
        return self.cleaned_numbers(found, min(error, OPERAND_ERROR))[0]

    def renewed(self, x: Bounded) -> Bounded:
        """The same digits as every renewed array has them: at one level, that after two cleanings, and with
        the least error as its bound. Digits whose error takes more cleanings are refreshed twice."""
        level = self._whole.result_level - lookup(BASE, *bits(DIGIT_BITS)).depth - 4
        found = self.refreshed(x, self.least)
        if self.level(found) < level:
            found = self.refreshed(found, self.least)
        return replace(found, value=found.value.at_level(level), error=max(found.error, self.least))

    # --- Tables. ---

    def exponential(self, x: Bounded, period: int) -> Exponential:
        """exp(2 pi i s / period) of numbers s. A period that does not divide 256 takes a level of theirs.

        Raises:
            NoiseError: if a number could be misread with a probability above 2^-128.
        """
        factor = round(self._whole.ratio) / period
        scaled = self.times(x, factor)
        vectors = x.value.shape[0]
        if vectors == 1 or self._whole.real:
            z = self._real(scaled.value)
        else:
            half = (vectors + 1) // 2
            first, second = scaled.value[:half], scaled.value[half:]
            if vectors % 2:
                second = concatenate([second, scaled.value[:1]])
            z = self._whole(first + second * 1j).reshape(2 * half)[:vectors]
        self.work.refreshes += vectors
        torus = hypot(self._torus, self._relative * scaled.largest)
        error = hypot(torus * period, scaled.error / factor)
        refreshed = Risk.of(self._whole.failure_log2 + log2((vectors + 1) // 2))
        return self.readable(Exponential(z, period, error, self._radial, x.risk.refreshed(refreshed)))

    def readable(self, z: Exponential) -> Exponential:
        """The same, with the risk that a number is misread.

        Raises:
            NoiseError: if that has a probability above 2^-128.
        """
        require_readable(0.5 / z.error, "a digit")
        count = z.value.shape[0] * self.layout.slots
        return replace(z, risk=z.risk | Risk.of(misread_log2(0.5 / z.error, count)))

    def most_error(self, *circuits: Lookup) -> float:
        """The largest error of whole numbers whose tables can be cleaned well. With several circuits: that of
        a number modulo the product of their periods, of whose remainders the sum of all tables can."""
        period = prod(circuit.period for circuit in circuits)
        exponent = period // min(circuit.period for circuit in circuits)
        added, radial = power_errors(0.0, self._radial, period, exponent, self.rounding)
        most = max(largest_error(circuits, BIT_ERROR / 2, radial, self.rounding) - added, 0.0)
        return sqrt(max(most**2 - (period * self._torus) ** 2, 0.0))

    def power(self, z: Exponential, exponent: int) -> Exponential:
        """A power of an exponential whose exponent is one of 2."""
        value = z.value
        for _ in range(exponent.bit_length() - 1):
            value = value * value
        return z.raised(value, exponent, self.rounding)

    def tables(self, x: Bounded, circuit: Lookup, *, clean: bool) -> list[Bounded]:
        """Tables of whole numbers, with values 0 and 1: `read` of their exponentials."""
        return self.read(self.exponential(x, circuit.period), circuit, clean=clean)

    def read(self, z: Exponential, circuit: Lookup, *, clean: bool) -> list[Bounded]:
        """Tables of whole numbers, with values 0 and 1.

        Args:
            clean: whether x -> 3 x^2 - 2 x^3 makes the values' errors quadratic (J. H. Cheon, D. Kim, D. Kim,
                2019/1234), for two levels.

        Raises:
            NoiseError: if a value could be misread with a probability above 2^-128.
        """
        p = circuit.polynomial(z.value)
        y = p + p.conjugate()  # real, up to no error at all
        self.work.tables += len(circuit.rows)
        errors = circuit.errors(z.error, z.radial, self.rounding)
        found = [table(y[i], error, z.risk, circuit.rows[i]) for i, error in enumerate(errors)]
        return self.cleaned(found) if clean else found

    # --- Slots. ---

    def times(self, x: Bounded, factor: float) -> Bounded:
        """Times a number, a level lower unless it is a whole one."""
        rounding = 0.0 if factor.is_integer() else self.rounding
        size = abs(factor)
        return Bounded(x.value * factor, x.largest * size, hypot(x.error * size, rounding), x.risk)

    def plus(self, x: Bounded, vector: NDArray[np.float64]) -> Bounded:
        """Plus a slot vector of whole numbers."""
        return replace(x, value=x.value + vector, largest=x.largest + float(np.abs(vector).max()))

    def inverted(self, bit: Bounded) -> Bounded:
        """1 - bit."""
        return replace(self.plus(bit * -1, np.ones(self.layout.slots)), largest=1)

    def moved(self, x: Bounded, digits: int) -> Bounded:
        """Digits moved to higher places (lower, if negative). The highest ones come out at the lowest."""
        value, error = x.value, x.error
        for k in range(abs(digits).bit_length()):  # by the steps that have a key
            if abs(digits) >> k & 1:
                value = value.rotate((-1 if digits > 0 else 1) * (self.layout.values << k))
                error = hypot(error, self.rounding)
        noise = x.noise.turned(-digits * self.layout.values, self.layout.slots)
        return replace(x, value=value, error=error, noise=noise)

    def spread(self, x: Bounded, digit: int, factor: float = 1) -> Bounded:
        """One digit, times a factor, at the places of all. Takes a level."""
        y = self.masked(x, self.layout.only(digit, factor))
        return self.everywhere(y)

    def everywhere(self, y: Bounded) -> Bounded:
        """The sum over all digits at each of them, of which one alone is not 0."""
        value, error, zeros, step = y.value, y.error, self.rounding, 1
        while step < self.layout.digits:
            value = value + value.rotate(step * self.layout.values)
            error = hypot(error, zeros, self.rounding)
            zeros = hypot(zeros, zeros, self.rounding)
            step *= 2
        return replace(y, value=value, error=error, noise=y.noise.rearranged())

    def product(self, a: Bounded, b: Bounded) -> Bounded:
        return a.times(b, self.rounding)

    def products(self, a: Sequence[Bounded], b: Sequence[Bounded]) -> Bounded:
        """The sum of a[i] b[i], which is relinearized once."""
        value = self.evaluator.dot([x.value for x in a], [y.value for y in b])
        largest, errors = zip(*(x.bound(y, self.rounding) for x, y in zip(a, b, strict=True)), strict=True)
        return Bounded(value, sum(largest), sum(errors), reduce(or_, (x.risk for x in (*a, *b))))


def table(value: Ciphertext, error: float, risk: Risk, row: NDArray[np.float64]) -> Bounded:
    """A table with values 0 and 1 of numbers in one refresh. Where two tables have the same entries, or
    opposite ones, they have the same noise after a cleaning."""
    entries = hash(np.abs(row - row[0]).tobytes())
    return Bounded(
        value, 1, error, risk, Noise.of((hash((root, entries)) for root in risk.roots), value.shape[0])
    )
