"""Numbers of several digits taken apart within one refresh: the lowest digit, and what stands above it."""

from __future__ import annotations

from functools import lru_cache
from math import pi
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.circuits import Polynomial
from hemera.integers.bounded import Bounded
from hemera.integers.engine import Engine, Exponential, power_errors, table
from hemera.integers.layout import BASE
from hemera.integers.lookup import Lookup


class Split:
    """With z = exp(2 pi i s / t) of numbers s = l + 16 q, and l from 0 to 15: w = z^(t/16) is
    exp(2 pi i l / 16), in which tables of l have degree 8; and z times the table exp(-2 pi i l / t) is
    exp(2 pi i q / (t/16)), in which those of q have degree t/32. A table of s has degree t/2.

    Args:
        period: t: 32, 64, 128 or 256.
        low: tables of l.
        factor: what exp(2 pi i q / (t/16)) is multiplied by, for nothing.
    """

    def __init__(self, period: int, low: Lookup, factor: complex = 1) -> None:
        self.period, self.low = period, low
        turn = np.fft.fft(np.exp(-2j * np.pi * np.arange(BASE) / period)) / BASE
        half = BASE // 2
        turn[half] /= 2
        # The powers from 0 to 8, and the conjugates of those from -1 to -8.
        above, below = turn[: half + 1], np.concatenate([[0], turn[: half - 1 : -1].conj()])
        rows = np.vstack([low.polynomial.coefficients, below * np.conj(factor), above * factor])
        self.polynomial = Polynomial(rows, name=f"{len(low.rows)} tables of a digit")
        orders = np.arange(-half, half + 1)
        numbers = np.concatenate([below[:0:-1].conj(), above])
        powers = np.exp(2j * np.pi * np.outer(np.arange(BASE), orders) / BASE)

        def largest(weights: NDArray[Any]) -> float:
            return float(np.abs(powers @ (numbers * weights)).max())

        angle = 2j * np.pi * orders / BASE
        self._slope, self._curvature = largest(angle), largest(angle**2)
        self._radial = largest(np.abs(orders) + 0j)
        self._weight = float(np.sqrt((np.abs(numbers) ** 2 * np.abs(orders)).sum()))

    def lowest(self, z: Exponential, rounding: float) -> tuple[float, float]:
        """The deviations of l, and of |w|."""
        return power_errors(z.error, z.radial, self.period, self.period // BASE, rounding)

    def rest(self, z: Exponential, rounding: float) -> float:
        """The deviation of exp(2 pi i q / (t/16)), relative to it."""
        error, radial = self.lowest(z, rounding)
        turn = self._slope * error + self._curvature * error**2 + self._radial * radial
        return 2 * pi / self.period * z.error + z.radial + turn + (2 * self._weight + 2) * rounding

    def errors(self, z: Exponential, rounding: float) -> list[float]:
        """The deviations of the tables of l."""
        return self.low.errors(*self.lowest(z, rounding), rounding)

    def __call__(
        self, engine: Engine, z: Exponential, *, kept: NDArray[np.float64] | None = None
    ) -> tuple[list[Bounded], Exponential]:
        """The tables of l, and exp(2 pi i q / (t/16)) times the factor.

        Args:
            kept: a slot vector of 0 and 1 that the exponential is multiplied by, for nothing.

        Raises:
            NoiseError: if a number could be misread with a probability above 2^-128.
        """
        p = self.polynomial(engine.power(z, self.period // BASE).value)
        count = len(self.low.rows)
        conjugates = p[: count + 1].conjugate()
        turn = p[count + 1] + conjugates[count]
        tables = p[:count] + conjugates[:count]
        low = [
            table(tables[i], error, z.risk, self.low.rows[i])
            for i, error in enumerate(self.errors(z, engine.rounding))
        ]
        engine.work.tables += count
        whole = z.value if kept is None else z.value * kept
        error = self.rest(z, engine.rounding)
        above = self.period // BASE
        return low, engine.readable(Exponential(whole * turn, above, error * above / (2 * pi), error, z.risk))


@lru_cache(maxsize=64)
def split(period: int, low: Lookup, factor: complex = 1) -> Split:
    """The plan of a split; made once."""
    return Split(period, low, factor)
