"""Tables of whole numbers modulo t as polynomials in exp(2 pi i s / t): their plain Fourier coefficients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from hemera.circuits import Polynomial


class Lookup:
    """Several tables with `period` entries each. With z = exp(2 pi i s / t) a real table is P(z) + conj(P(z))
    of a polynomial P of degree t / 2; all of them share the powers of z (Y. Bae, J. Kim, D. Stehle, E.
    Suvanto, 2024/1637)."""

    def __init__(self, rows: Sequence[Sequence[float]]) -> None:
        table = np.asarray(rows, np.float64)
        self.rows = table
        self.period = table.shape[1]
        half = self.period // 2
        coefficients = np.fft.fft(table, axis=1)[:, : half + 1] / self.period
        coefficients[:, [0, half]] /= 2
        self.polynomial = Polynomial(coefficients, name=f"{len(table)} tables of {self.period} entries")
        angle = 2j * np.pi * np.arange(half + 1) / self.period
        powers = np.exp(np.outer(np.arange(self.period), angle))
        self.slopes = np.abs(2 * (powers @ (coefficients * angle).T).real).max(axis=0)
        """The largest derivative by s at whole numbers, of each table."""
        self.curvatures = np.abs(2 * (powers @ (coefficients * angle**2).T).real).max(axis=0)
        """The same of the second derivative."""
        self.radial_slopes = np.abs(2 * (powers @ (coefficients * np.arange(half + 1)).T).real).max(axis=0)
        """The same of the derivative by log |z|."""
        self.weights = np.sqrt((np.abs(coefficients) ** 2 * np.arange(half + 1)).sum(axis=1))
        """How much larger the rounding of a product is in a table, at most: z^k has that of k products."""

    @property
    def depth(self) -> int:
        """The levels that the tables take."""
        return self.polynomial.depth

    def most_error(self, largest: float, radial: float, rounding: float) -> float:
        """The largest deviation of a number s with which no table has a larger one than `largest`: `errors`
        solved for the first argument."""
        room = largest - self.radial_slopes * radial - (2 * self.weights + 1) * rounding
        with np.errstate(divide="ignore"):  # tables that are 0 everywhere
            found = 2 * room / (self.slopes + np.sqrt(self.slopes**2 + 4 * self.curvatures * room))
        return float(found.min())

    def errors(self, error: float, radial: float, rounding: float) -> list[float]:
        """The deviation of each table.

        Args:
            error: the deviation of a number s.
            radial: that of |z|.
            rounding: that which a product adds.
        """
        found = self.slopes * error + self.curvatures * error**2
        found = found + self.radial_slopes * radial + (2 * self.weights + 1) * rounding
        return [float(each) for each in found]


@lru_cache(maxsize=256)
def _made(rows: tuple[tuple[float, ...], ...]) -> Lookup:
    return Lookup(rows)


def lookup(period: int, *functions: Callable[[int], float]) -> Lookup:
    """The tables of functions of 0, 1, ..., period - 1; made once."""
    return _made(tuple(tuple(float(f(s)) for s in range(period)) for f in functions))


def bits(count: int, of: Callable[[int], int] = lambda s: s) -> list[Callable[[int], float]]:
    """The bits of a function, the lowest first."""

    def bit(b: int) -> Callable[[int], float]:
        return lambda s: of(s) >> b & 1

    return [bit(b) for b in range(count)]
