"""Columns of rows, encrypted or plain, with a scale and an offset that later linear maps take in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera.arrays.array import Array
from hemera.arrays.recorded import bounds_of, facts_of, number_of, recorder_of

Floats = NDArray[np.float64]

_BEYOND = 2.0**-12
"""Part of an interval of numbers of one sign that lies on the other side of 0, for noise."""


@dataclass(frozen=True, eq=False)
class Features:
    """x = scaled * scale + offset, column by column. Nothing here takes a level but what says so.

    `scaled` has the shape (rows, features): an `Array`, or a plain one, of which the same functions give
    exact results.
    """

    scaled: Any
    scale: Floats
    offset: Floats

    @classmethod
    def of(cls, values: Any) -> Features:
        """Values as they are."""
        count = int(values.shape[1])
        return cls(values, np.ones(count), np.zeros(count))

    @property
    def count(self) -> int:
        """The number of features."""
        return len(self.scale)

    @property
    def array(self) -> Any:
        """x itself: a linear map."""
        if (self.scale == 1).all() and not self.offset.any():
            return self.scaled
        return self.scaled * self.scale + self.offset

    def samples(self, most: int) -> Features | None:
        """Plain features of some of the rows that the program is recorded with; None where it has none."""
        found = facts_of(self.scaled).samples if isinstance(self.scaled, Array) else None
        own = None if found is None else found.reshape(-1, self.count)[:most]
        return None if own is None else Features(own, self.scale, self.offset)

    def standardised(self, mean: ArrayLike, deviation: ArrayLike) -> Features:
        """(x - mean) / deviation."""
        return Features(
            self.scaled,
            self.scale / np.asarray(deviation),
            (self.offset - np.asarray(mean)) / np.asarray(deviation),
        )

    def times(self, factor: float) -> Features:
        """x * factor."""
        return Features(self.scaled, self.scale * factor, self.offset * factor)

    def taken(self, columns: ArrayLike) -> Features:
        """Some columns, in this order."""
        at = np.asarray(columns, np.int64)
        if np.array_equal(at, np.arange(self.count)):
            return self
        return Features(self.scaled[:, at], self.scale[at], self.offset[at])

    @staticmethod
    def joined(parts: Sequence[Features]) -> Features:
        """The columns of all parts."""
        if len(parts) == 1:
            return parts[0]
        return Features(
            np.concatenate([each.scaled for each in parts], axis=1),
            np.concatenate([each.scale for each in parts]),
            np.concatenate([each.offset for each in parts]),
        )

    def product(self, matrix: ArrayLike, bias: ArrayLike = 0.0) -> Features:
        """x @ matrix + bias: a linear map. The matrix has the shape (features, results)."""
        own = np.asarray(matrix, np.float64)
        return Features.of(self.scaled @ (self.scale[:, None] * own) + (self.offset @ own + np.asarray(bias)))

    def quadratic(self, squares: ArrayLike, linear: ArrayLike, bias: ArrayLike) -> Features:
        """x^2 @ squares + x @ linear + bias: a product, then a linear map.

        Both matrices have the shape (features, results).
        """
        a, b = np.asarray(squares, np.float64), np.asarray(linear, np.float64)
        z, scale, offset = self.scaled, self.scale[:, None], self.offset
        total = (z * z) @ (scale**2 * a) + z @ (scale * (b + 2 * offset[:, None] * a))
        return Features.of(total + (offset**2 @ a + offset @ b + np.asarray(bias)))

    def distances(self, points: ArrayLike) -> Features:
        """Squared distances to points of shape (points, features): as `quadratic`."""
        own = np.asarray(points, np.float64)
        # Points and offsets near 0 have less to cancel.
        middle = own.mean(axis=0)
        near = own - middle
        moved = Features(self.scaled, self.scale, self.offset - middle)
        return moved.quadratic(np.ones(near.T.shape), -2 * near.T, (near**2).sum(axis=1))

    def normalised(self) -> Features:
        """The same x, of which `scaled` lies in about [-1, 1] where it is a linear map's result."""
        if not isinstance(self.scaled, Array):
            return self
        low, high = bounds_of(self.scaled)
        size = np.maximum(np.abs(low), np.abs(high)).reshape(self.scaled.shape).max(axis=0)
        # Powers of two: no digit of a weight is lost.
        unit = 2.0 ** np.ceil(np.log2(np.where(size > 0, size, 1.0)))
        return Features(self.scaled * (1 / unit), self.scale * unit, self.offset)


def not_negative(x: Any) -> Any:
    """Values none of which is below 0, where those of functions of them end."""
    if not isinstance(x, Array):
        return np.maximum(x, 0)
    recorder_of(x).narrow(number_of(x), -_BEYOND * max(x.range[1], 2.0**-10), np.inf)
    return x


def approximated(x: Any, function: Callable[[Any], Any]) -> Any:
    """Any function of each element."""
    return x.approximated(function) if isinstance(x, Array) else function(x)
