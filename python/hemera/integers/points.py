"""Integers as polynomials of their digits, by values at points: two matrices over the places of digits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.circuits import LinearTransform
from hemera.integers.layout import Layout
from hemera.parameters import Parameters

LEVELS = 3
"""The levels of a product: the values at the points, their products, and the way back."""


class Points:
    """The D roots r of X^2D + 1 in the upper half plane, for integers of D digits. A product of two has a
    degree below 2D, and its coefficients are the real parts of (1/D) sum P(r) r^-k over these roots."""

    def __init__(self, params: Parameters, layout: Layout) -> None:
        self._params, self._layout = params, layout
        self._made: dict[tuple[int, int], tuple[LinearTransform, LinearTransform]] = {}

    def transforms(self, digits: int, level: int) -> tuple[LinearTransform, LinearTransform]:
        """The values of the lowest `digits` digits at the points, of vectors at a level; and half of the
        lowest coefficients of products, which are the real parts of twice as much. Made once.

        All of one level use the same keys.
        """
        key = (digits, level)
        if key not in self._made:
            count = self._layout.digits
            roots = np.exp(1j * np.pi * (2 * np.arange(count) + 1) / (2 * count))
            powers = roots[:, None] ** np.arange(count)
            back = powers.conj().T / (2 * count)
            powers[:, digits:] = 0
            back[digits:] = 0
            self._made[key] = self._transform(powers, level), self._transform(back, level - 2)
        return self._made[key]

    def _transform(self, matrix: NDArray[Any], level: int) -> LinearTransform:
        """The product of a matrix with the digits of each value."""
        rows = np.arange(self._layout.digits)
        diagonals = {
            step * self._layout.values: np.repeat(
                matrix[rows, (rows + step) % self._layout.digits], self._layout.values
            )
            for step in rows.tolist()
        }
        return LinearTransform.from_diagonals(
            diagonals, self._params, slots=self._layout.slots, level=level, own_keys=True
        )
