"""Tables of whole numbers modulo t as polynomials in exp(2 pi i s / t): their plain Fourier coefficients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from hemera.circuits import Polynomial


class Lookup:
    """Several tables with `period` entries each, of which the first `taken` are asked for (None: all). With
    z = exp(2 pi i s / t) a real table is P(z) + conj(P(z)) of a polynomial P of degree t / 2; all of them
    share the powers of z (Y. Bae, J. Kim, D. Stehle, E. Suvanto, 2024/1637)."""

    def __init__(self, rows: Sequence[Sequence[float]], taken: int | None = None) -> None:
        table = np.asarray(rows, np.float64)
        self.rows = table
        self.period = table.shape[1]
        half = self.period // 2
        coefficients = np.fft.fft(table, axis=1)[:, : half + 1] / self.period
        # Their own conjugates.
        coefficients[:, [0] if self.period % 2 else [0, half]] /= 2
        self.polynomial = Polynomial(coefficients, name=f"{len(table)} tables of {self.period} entries")
        angle = 2j * np.pi * np.arange(half + 1) / self.period
        powers = np.exp(np.outer(np.arange(taken or self.period), angle))
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


def largest_error(circuits: Sequence[Lookup], largest: float, radial: float, rounding: float) -> float:
    """The largest deviation of numbers with which no sum of tables, one of each circuit, has a larger one
    than `largest`: `Lookup.errors` solved for the first argument."""
    slopes, curvatures, radial_slopes, weights = (
        np.sum([getattr(circuit, name) for circuit in circuits], axis=0)
        for name in ("slopes", "curvatures", "radial_slopes", "weights")
    )
    room = largest - radial_slopes * radial - (2 * weights + len(circuits)) * rounding
    with np.errstate(divide="ignore"):  # tables that are 0 everywhere
        found = 2 * room / (slopes + np.sqrt(slopes**2 + 4 * curvatures * room))
    return float(found.min())


@lru_cache(maxsize=256)
def _made(rows: tuple[tuple[float, ...], ...], taken: int) -> Lookup:
    return Lookup(rows, taken)


def lookup(period: int, *functions: Callable[[int], float], taken: int | None = None) -> Lookup:
    """The tables of functions of 0, 1, ..., period - 1, of which the first `taken` occur; made once."""
    return _made(tuple(tuple(float(f(s)) for s in range(period)) for f in functions), taken or period)


def bits(count: int, of: Callable[[int], int] = lambda s: s) -> list[Callable[[int], float]]:
    """The bits of a function, the lowest first."""

    def bit(b: int) -> Callable[[int], float]:
        return lambda s: of(s) >> b & 1

    return [bit(b) for b in range(count)]
