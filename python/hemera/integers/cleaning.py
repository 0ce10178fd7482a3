"""Bits with errors, made exact: cleaned, and put together to numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from math import hypot, inf
from operator import or_

import numpy as np
from numpy.typing import NDArray

from hemera import _core
from hemera.integers.bounded import Bounded, Risk
from hemera.integers.layout import DIGIT_BITS, Layout
from hemera.integers.margins import (
    LARGEST_CLEANED,
    LEAST_DEVIATIONS,
    cleaned_error,
    cleaned_rounding,
    misread_log2,
    number_error,
)
from hemera.integers.noise import Noise
from hemera.objects.batches import stack
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.evaluator import Evaluator


def require_readable(deviations: float, what: str) -> None:
    """NoiseError where an error that misreads is fewer deviations than are needed."""
    if deviations < LEAST_DEVIATIONS:
        raise _core.NoiseError(
            f"integers: {what} is only {deviations:.1f} deviations of its error from being misread, and "
            f"{LEAST_DEVIATIONS} are needed for 2^-128; use parameters of less error"
        )


class Cleaning:
    """Circuits on bits: values 0 and 1 of one refresh. `rounding`: the deviation that a product adds."""

    def __init__(self, evaluator: Evaluator, layout: Layout, rounding: float) -> None:
        self.evaluator, self.layout, self.rounding = evaluator, layout, rounding
        self.least = 1.5 * hypot(*(1 << i for i in range(DIGIT_BITS))) * cleaned_rounding(rounding)
        """The error that refreshed digits can be brought to; no operation asks for less."""

    def cleaned(
        self, values: Sequence[Bounded], masks: dict[int, NDArray[np.float64]] | None = None
    ) -> list[Bounded]:
        """Values 0 and 1 of one refresh with quadratic errors, two levels lower: `read`.

        Args:
            masks: slot vectors of 0 and 1 that some values are multiplied by, at no level.
        """
        masks = masks or {}
        y, factor, found = self._halves(values)
        plain = [i for i in range(len(found)) if i not in masks]
        cubics = {}
        if plain:
            products = _rows(factor, plain) * _rows(y, plain)
            products += 0.5
            cubics = {i: products[k] for k, i in enumerate(plain)}
        for i, mask in masks.items():
            cubics[i] = factor[i] * (y[i] * mask) + mask / 2
        return [replace(each, value=cubics[i]) for i, each in enumerate(found)]

    def _halves(self, values: Sequence[Bounded]) -> tuple[Ciphertext, Ciphertext, list[Bounded]]:
        """y = x - 1/2 and 3/2 - 2 y^2 of values 0 and 1, whose products and 1/2 are the cleaned values: so no
        rounding is multiplied by 3. And what is public of these, with the ciphertexts of the values."""
        errors = [each.error for each in values]
        require_readable(LARGEST_CLEANED / max(errors), "a bit")
        y = stack([each.value for each in values])
        count = y.size * self.layout.slots
        risk = reduce(or_, (each.risk for each in values)) | Risk.of(
            misread_log2(LARGEST_CLEANED / max(errors), count)
        )
        y -= 0.5
        factor = y * y
        factor *= -2
        factor += 1.5
        return y, factor, [self._cleaned(each, risk) for each in values]

    def _cleaned(self, bit: Bounded, risk: Risk) -> Bounded:
        """What is public of a bit that is cleaned."""
        noise = bit.noise.redrawn(cleaned_rounding(self.rounding))
        return Bounded(bit.value, 1, cleaned_error(bit.error, self.rounding), risk, noise)

    def cleaned_numbers(
        self,
        bits: Sequence[Bounded],
        error: float = inf,
        group: int = DIGIT_BITS,
        masks: dict[int, NDArray[np.float64]] | None = None,
    ) -> list[Bounded]:
        """Numbers of `group` bits each, the lowest first: cleaned once and again, as by `cleaned_below`. The
        last products of a number's bits are relinearized together.

        Args:
            masks: slot vectors of 0 and 1 that some bits are multiplied by, for nothing.
        """
        groups = [range(i, min(i + group, len(bits))) for i in range(0, len(bits), group)]
        while self._most([self._cleaned(bit, bit.risk) for bit in bits], group) > max(error, self.least):
            bits, masks = self.cleaned(bits, masks), None
        y, factor, found = self._halves(bits)
        masks = masks or {}
        numbers = []
        for each in groups:
            weights = {i: masks[i] * 2.0**k if i in masks else 1 << k for k, i in enumerate(each)}
            value = self.evaluator.dot([factor[i] for i in each], [y[i] * weights[i] for i in each])
            value += sum(weights.values()) / 2
            bound = self._number_error([found[i] for i in each])
            numbers.append(Bounded(value, (1 << len(each)) - 1, bound, found[0].risk))
        return numbers

    def cleaned_often(
        self, values: list[Bounded], often: int, masks: dict[int, NDArray[np.float64]] | None = None
    ) -> list[Bounded]:
        """Values 0 and 1 cleaned this often, and multiplied by masks: for nothing, if they are cleaned."""
        for _ in range(often):
            values, masks = self.cleaned(values, masks), None
        return [self.masked(x, masks[i]) if masks and i in masks else x for i, x in enumerate(values)]

    def cleaned_below(self, values: list[Bounded], error: float, group: int = 1) -> list[Bounded]:
        """Cleaned values 0 and 1, cleaned again until no number of `group` of them has a larger error. An
        error from `least` on is reached after three more at most."""
        while self._most(values, group) > max(error, self.least):
            values = self.cleaned(values)
        return values

    def number_after(self, digits: list[Bounded], often: int) -> Bounded:
        """Bits, the lowest first, as a number, which are cleaned this often before."""
        if not often:
            return self.number(digits)
        return self.cleaned_numbers(self.cleaned_often(digits, often - 1), group=len(digits))[0]

    def number(self, digits: Sequence[Bounded]) -> Bounded:
        """Bits, the lowest first, as a number."""
        total = digits[0]
        for i, bit in enumerate(digits[1:], 1):
            total = total + bit * (1 << i)
        return replace(total, error=self._number_error(digits))

    def _most(self, bits: Sequence[Bounded], group: int) -> float:
        """The largest deviation of a number of `group` bits."""
        return max(self._number_error(bits[i : i + group]) for i in range(0, len(bits), group))

    @staticmethod
    def _number_error(digits: Sequence[Bounded]) -> float:
        """The deviation of a number."""
        noise = reduce(Noise.plus, (bit.noise.times(1 << i) for i, bit in enumerate(digits)))
        return number_error([bit.rest for bit in digits]) + noise.deviation

    def masked(self, x: Bounded, mask: NDArray[np.float64]) -> Bounded:
        """Times a slot vector, a level lower."""
        largest = float(np.abs(mask).max())
        return replace(
            x,
            value=x.value * mask,
            largest=x.largest * largest,
            error=hypot(x.error * largest, self.rounding),
            noise=x.noise.times(largest),
        )


def _rows(y: Ciphertext, chosen: list[int]) -> Ciphertext:
    """Some tables of all."""
    if len(chosen) == y.shape[0]:
        return y
    if chosen == list(range(len(chosen))):
        return y[: len(chosen)]
    return stack([y[i] for i in chosen])
