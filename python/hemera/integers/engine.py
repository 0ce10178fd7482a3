"""Refreshes, tables and carries of encrypted digits: the circuits that all operations are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import hypot, log, log2, pi, sqrt
from operator import or_

import numpy as np
from numpy.typing import NDArray

from hemera import _core
from hemera.circuits import Bootstrap
from hemera.integers.bounded import Bounded, Risk
from hemera.integers.layout import BASE, DIGIT_BITS, Layout
from hemera.integers.lookup import Lookup, bits, lookup
from hemera.integers.parts import in_parts
from hemera.integers.points import Points
from hemera.objects.batches import concatenate, stack
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.evaluator import Evaluator
from hemera.parameters import Parameters

_ERROR_DEVIATION = 3.2
"""Of the errors of encryptions."""
_LARGEST_SAMPLE = 2.0**14
"""Of the values at which the part of a bootstrap's error that grows with them is read off the model."""
_MARGIN = 0.14
"""The error of a bit up to which a cleaning makes it smaller: 8 * 3 * 0.14^2 is below 1/2."""
LEAST_DEVIATIONS = 73
"""Of an error in what misreads a digit: 2^-128 for all bits of 65,536 digits."""
_MOST_DEVIATIONS = 80
"""More are counted as so many: up to there what a cleaning leaves of an error has no longer tail than its
deviation says."""
BIT_ERROR = _MARGIN / LEAST_DEVIATIONS
"""The largest deviation of a bit that may be cleaned."""
MOST_DIGIT_ERROR = 2.0**-14
"""Digits above it are cleaned. Sums of two up to it are cleaned twice, and are below it again."""
_OPERAND_ERROR = 2.0**-20
"""Digits up to it are operands of all operations."""
MOST_BIT_ERROR = MOST_DIGIT_ERROR / BASE
"""The same of encrypted booleans, which products take 15 times."""


def misread_log2(deviations: float, count: int) -> float:
    """log2 of a bound on the probability that one of `count` errors is beyond `deviations`, of which
    `_MOST_DEVIATIONS` count.

    The error that a rounding or a key switch leaves in a slot is the secret's value there times a normal one.
    Over slots and secrets that value is normal, too, and complex: its size is Rayleigh's. So errors have the
    law of Laplace, beyond D deviations with exp(-sqrt(2) D). Parts that are normal make a tail shorter.
    """
    return log2(count) - sqrt(2) * min(deviations, _MOST_DEVIATIONS) / log(2)


def fresh_error(params: Parameters, scale: float) -> float:
    """A bound on the deviation of slots that were encrypted with a public key; a secret key's is less."""
    degree = params.degree
    return _ERROR_DEVIATION * sqrt(degree * (4 * degree / 3 + 1)) / scale


@dataclass
class Work:
    """What an evaluator has done for integers so far."""

    refreshes: int = 0
    """Vectors whose exponentials were taken: of two in one bootstrap each counts."""
    tables: int = 0


@dataclass(frozen=True)
class Exponential:
    """exp(2 pi i s / period) of whole numbers s in all slots of some vectors, up to an error."""

    value: Ciphertext
    """Of shape (vectors,)."""
    period: int
    error: float
    """The deviation of s in it, at most."""
    radial: float
    """The deviation of its magnitude from 1."""
    risk: Risk
    """That a number is another one."""


class Engine:
    """Circuits on digits, by an evaluator that has all of their keys."""

    def __init__(
        self, evaluator: Evaluator, layout: Layout, whole: Bootstrap, real: Bootstrap, points: Points
    ) -> None:
        self.evaluator = evaluator
        self.layout = layout
        self.work = Work()
        self.points = points
        self._whole, self._real = whole, real
        params = evaluator.context.params
        degree = params.degree
        scale = whole.result_scale
        # Of a uniform ternary secret, whose slots are sqrt(2 N / 3) in the mean.
        self.rounding = sqrt(degree * (1 + 2 * degree / 3) / 12) / scale
        self.fresh = fresh_error(params, scale)
        zeros, sample = (
            np.zeros(whole.slots),
            np.random.default_rng(1).uniform(0, _LARGEST_SAMPLE, whole.slots),
        )
        self._torus = self._torus_error(zeros)
        self._radial = 2 * pi * self._torus
        size = sqrt(float((sample**2).mean()))
        self._relative = sqrt(max(self._torus_error(sample) ** 2 - self._torus**2, 0.0)) / size

    def _torus_error(self, values: NDArray[np.float64]) -> float:
        """The deviation of t in exp(2 pi i t) after a bootstrap of complex slots with these parts."""
        exact = np.exp(2j * np.pi * values / self._whole.ratio)
        found = self._whole.simulate(values * (1 + 1j), seed=1)
        return float(np.sqrt((np.abs(found - exact) ** 2).mean())) / (2 * np.pi)

    # --- Levels. ---

    @property
    def lowest(self) -> int:
        """The level of the user's lowest."""
        return self._whole.input_level

    def level(self, x: Bounded) -> int:
        """The level after the rescale that a product waits for."""
        return finished_level(x.value)

    def ready(self, x: Bounded, levels: int, error: float = MOST_DIGIT_ERROR) -> Bounded:
        """Digits with at least `levels` levels left, and no more error: refreshed, if they have not."""
        if self.level(x) - self.lowest >= levels and x.error <= error:
            return x
        return self.refreshed(x, error)

    def ready_bits(self, x: Bounded, levels: int = 1, error: float = MOST_BIT_ERROR) -> Bounded:
        """The same of booleans."""
        if self.level(x) - self.lowest >= levels and x.error <= error:
            return x
        return self._refreshed_bits(x, error)

    @in_parts
    def _refreshed_bits(self, x: Bounded, error: float) -> Bounded:
        found = self.tables(x, lookup(2, lambda s: s), clean=True)
        return (self.cleaned(found) if found[0].error > error else found)[0]

    @in_parts
    def refreshed(self, x: Bounded, error: float = MOST_DIGIT_ERROR) -> Bounded:
        """The same digits, from 0 to 15, with most of the levels: cleaned once, or twice where the error is
        larger than this one, or than what products take."""
        found = self.tables(x, lookup(BASE, *bits(DIGIT_BITS)), clean=True)
        if self.number(found).error > min(error, _OPERAND_ERROR):
            found = self.cleaned(found)
        return replace(self.number(found), largest=BASE - 1)

    # --- Tables. ---

    def exponential(self, x: Bounded, period: int) -> Exponential:
        """exp(2 pi i s / period) of numbers s.

        Raises:
            NoiseError: if a number could be misread with a probability above 2^-128.
        """
        factor = round(self._whole.ratio) // period
        scaled = x * factor
        vectors = x.value.shape[0]
        if vectors == 1:
            z = self._real(scaled.value[0]).reshape(1)
        else:
            half = (vectors + 1) // 2
            first, second = scaled.value[:half], scaled.value[half:]
            if vectors % 2:
                second = concatenate([second, scaled.value[:1]])
            z = self._whole(first + second * 1j).reshape(2 * half)[:vectors]
        self.work.refreshes += vectors
        torus = hypot(self._torus, self._relative * scaled.largest)
        error = hypot(torus * period, x.error)
        refreshed = Risk.of(self._whole.failure_log2 + log2((vectors + 1) // 2))
        return self.readable(Exponential(z, period, error, self._radial, x.risk | refreshed))

    def readable(self, z: Exponential) -> Exponential:
        """The same, with the risk that a number is misread.

        Raises:
            NoiseError: if that has a probability above 2^-128.
        """
        self._require(0.5 / z.error, "a digit")
        count = z.value.shape[0] * self.layout.slots
        return replace(z, risk=z.risk | Risk.of(misread_log2(0.5 / z.error, count)))

    @staticmethod
    def _require(deviations: float, what: str) -> None:
        if deviations < LEAST_DEVIATIONS:
            raise _core.NoiseError(
                f"integers: {what} is only {deviations:.1f} deviations of its error from being misread, and "
                f"{LEAST_DEVIATIONS} are needed for 2^-128; use parameters of less error"
            )

    def tables(
        self, x: Bounded, circuit: Lookup, *, clean: bool, masks: dict[int, NDArray[np.float64]] | None = None
    ) -> list[Bounded]:
        """Tables of whole numbers, with values 0 and 1: `read` of their exponentials."""
        return self.read(self.exponential(x, circuit.period), circuit, clean=clean, masks=masks)

    def read(
        self,
        z: Exponential,
        circuit: Lookup,
        *,
        clean: bool,
        masks: dict[int, NDArray[np.float64]] | None = None,
    ) -> list[Bounded]:
        """Tables of whole numbers, with values 0 and 1.

        Args:
            clean: whether x -> 3 x^2 - 2 x^3 makes the values' errors quadratic (J. H. Cheon, D. Kim, D. Kim,
                2019/1234), for two levels.
            masks: slot vectors of 0 and 1 that some tables are multiplied by: in a cleaning at no level.

        Raises:
            NoiseError: if a value could be misread with a probability above 2^-128.
        """
        p = circuit.polynomial(z.value)
        y = p + p.conjugate()  # real, up to no error at all
        self.work.tables += len(circuit.rows)
        errors = circuit.errors(z.error, z.radial, self.rounding)
        found = [Bounded(y[i], 1, error, z.risk) for i, error in enumerate(errors)]
        if clean:
            return self.cleaned(found, masks)
        for i, mask in (masks or {}).items():
            found[i] = self.masked(found[i], mask)
        return found

    def cleaned(
        self, values: Sequence[Bounded], masks: dict[int, NDArray[np.float64]] | None = None
    ) -> list[Bounded]:
        """Values 0 and 1 of one refresh with quadratic errors, two levels lower: `read`."""
        masks = masks or {}
        errors = [each.error for each in values]
        self._require(_MARGIN / max(errors), "a bit")
        y = stack([each.value for each in values])
        count = y.size * self.layout.slots
        risk = reduce(or_, (each.risk for each in values)) | Risk.of(
            misread_log2(_MARGIN / max(errors), count)
        )
        squares = y * y
        plain = [i for i in range(len(errors)) if i not in masks]
        # x^2 (3 - 2 x); masked x^2 (3 m - 2 m x), whose product with 2 m stands beside the square.
        cubics = {}
        if plain:
            chosen = _rows(y, plain)
            products = _rows(squares, plain) * (chosen * -2 + 3)
            cubics = {i: products[k] for k, i in enumerate(plain)}
        for i, mask in masks.items():
            cubics[i] = squares[i] * (y[i] * (-2 * mask) + 3 * mask)
        rounding = hypot(3, 1, 1) * self.rounding
        # Of an error e there remains 3 e^2 - 2 e^3, whose tail is longer: a deviation that has at
        # _MOST_DEVIATIONS what the error leaves there, and before it more.
        quadratic = (3 + 2 * _MARGIN) * _MOST_DEVIATIONS
        left = [quadratic * error**2 + rounding for error in errors]
        return [Bounded(cubics[i], 1, error, risk) for i, error in enumerate(left)]

    def number(self, digits: Sequence[Bounded]) -> Bounded:
        """Bits, the lowest first, as a number."""
        total = digits[0]
        for i, bit in enumerate(digits[1:], 1):
            total = total + bit * (1 << i)
        return total

    # --- Slots. ---

    def masked(self, x: Bounded, mask: NDArray[np.float64]) -> Bounded:
        """Times a slot vector, a level lower."""
        largest = float(np.abs(mask).max())
        return replace(
            x,
            value=x.value * mask,
            largest=x.largest * largest,
            error=hypot(x.error * largest, self.rounding),
        )

    def plus(self, x: Bounded, vector: NDArray[np.float64]) -> Bounded:
        """Plus a slot vector of whole numbers."""
        return replace(x, value=x.value + vector, largest=x.largest + float(np.abs(vector).max()))

    def inverted(self, bit: Bounded) -> Bounded:
        """1 - bit."""
        return replace(self.plus(bit * -1, np.ones(self.layout.slots)), largest=1)

    def moved(self, x: Bounded, digits: int) -> Bounded:
        """Digits moved to higher places (lower, if negative). Those of the highest come out at the lowest."""
        value, error = x.value, x.error
        for k in range(abs(digits).bit_length()):  # by the steps that have a key
            if abs(digits) >> k & 1:
                value = value.rotate((-1 if digits > 0 else 1) * (self.layout.values << k))
                error = hypot(error, self.rounding)
        return replace(x, value=value, error=error)

    def spread(self, x: Bounded, digit: int) -> Bounded:
        """What stands at one digit, at all of them. Takes a level."""
        y = self.masked(x, self.layout.only(digit))
        return self.everywhere(y)

    def everywhere(self, y: Bounded) -> Bounded:
        """The sum over all digits at each of them, of which one alone is not 0."""
        value, error, zeros, step = y.value, y.error, self.rounding, 1
        while step < self.layout.digits:
            value = value + value.rotate(step * self.layout.values)
            error = hypot(error, zeros, self.rounding)
            zeros = hypot(zeros, zeros, self.rounding)
            step *= 2
        return replace(y, value=value, error=error)

    def product(self, a: Bounded, b: Bounded) -> Bounded:
        return a.times(b, self.rounding)

    # --- Carries. ---

    def carries(self, g: Bounded, p: Bounded, digits: int) -> Bounded:
        """The carry out of each digit: 1 where a carry comes into being (g), or comes in and goes on (p). By
        P. M. Kogge and H. S. Stone (1973), in log2(digits) levels. p must be 0 at the lowest digit: then what
        comes around from the highest one meets a 0."""
        step = 1
        while step < digits:
            is_last = 2 * step >= digits
            both = None if is_last else pair(g, p)
            if both is not None:
                vectors = g.value.shape[0]
                turned = self.moved(both, step)
                products = self.product(replace(p, value=concatenate([p.value, p.value]), largest=1), turned)
                g = g + products[slice(0, vectors)]
                p = products[slice(vectors, 2 * vectors)]
            else:
                g = g + self.product(p, self.moved(g, step))
                p = p if is_last else self.product(p, self.moved(p, step))
            g = replace(g, largest=1)
            step *= 2
        return g

    def normalized(self, s: Bounded, digits: int) -> tuple[Bounded, Bounded]:
        """Digits from 0 to 30 (31 at the lowest) as digits from 0 to 15, modulo 16^digits; and the carry out
        of each."""
        circuit = lookup(
            2 * BASE, *bits(DIGIT_BITS, lambda x: x % BASE), lambda x: x >= BASE, lambda x: x == BASE - 1
        )
        higher = self.layout.by_digit([0.0] + [1.0] * (digits - 1))
        z = self.exponential(s, circuit.period)

        def too_large(errors: Sequence[float]) -> bool:
            *raw, made, taken = errors
            own = sum(error * (1 << i) for i, error in enumerate(raw))
            return self.error_of_carries(own, made, taken, digits) > MOST_DIGIT_ERROR

        clean = too_large(circuit.errors(z.error, z.radial, self.rounding))
        found = self.read(z, circuit, clean=clean, masks={DIGIT_BITS + 1: higher})
        if clean and too_large([each.error for each in found]):
            found = self.cleaned(found)
        *low, g, p = found
        out = self.carries(g, p, digits)
        # One more, or 16 less where a 15 becomes 16; nothing comes into the lowest digit.
        into = self.plus(p * -BASE, higher)
        into = replace(into, largest=BASE - 1)
        total = self.number(low) + self.product(into, self.moved(out, 1))
        return replace(total, largest=BASE - 1), out

    @staticmethod
    def error_of_carry(g: float, p: float, digits: int) -> float:
        """The deviation of the last carry (`carries`) of g and p with these ones."""
        out, step = g, 1
        while step < digits:
            out, p, step = out + hypot(p, out), hypot(p, p), 2 * step
        return out

    @classmethod
    def error_of_carries(cls, own: float, g: float, p: float, digits: int) -> float:
        """The deviation of digits after their carries, with `own` before."""
        return own + hypot((BASE - 1) * cls.error_of_carry(g, p, digits), BASE * p)


def finished_level(value: Ciphertext) -> int:
    """The level after the rescale that a product waits for."""
    return int(_core.finished(value._native)[0])


def pair(a: Bounded, b: Bounded) -> Bounded | None:
    """The vectors of both, at the lower one's level; None where they have not one scale there."""
    level = min(finished_level(a.value), finished_level(b.value))
    first, second = a.value.at_level(level), b.value.at_level(level)
    if first.scale != second.scale or first.level != second.level:
        return None
    return Bounded(
        concatenate([first, second]),
        max(a.largest, b.largest),
        max(a.error, b.error),
        a.risk | b.risk,
    )


def _rows(y: Ciphertext, chosen: list[int]) -> Ciphertext:
    """Some tables of all."""
    if len(chosen) == y.shape[0]:
        return y
    if chosen == list(range(len(chosen))):
        return y[: len(chosen)]
    return stack([y[i] for i in chosen])
