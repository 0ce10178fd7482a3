"""Columns of rows, encrypted or plain, with a scale and an offset that later linear maps take in."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera import circuits
from hemera.arrays.array import Array
from hemera.arrays.recorded import bounds_of, facts_of, number_of, recorder_of
from hemera.errors import ParameterError

Floats = NDArray[np.float64]

_MOST_DEGREE = 1023
_BEYOND = 2.0**-12
"""Part of an interval of numbers of one sign that lies on the other side of 0, for noise."""
_GRID = 257
_MOST_BITS = 12.0


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


def pointwise(x: Any, function: Callable[[Any], Any], more_bits: float = 0.0) -> Any:
    """A function of each element, approximated where it is encrypted, by some bits more precise than the
    program. ParameterError where no polynomial is."""
    if not isinstance(x, Array):
        return function(np.asarray(x, np.float64))
    return _approximated(x, function, x.range, more_bits)


def _approximated(
    x: Array, function: Callable[[Any], Any], interval: tuple[float, float], more_bits: float
) -> Array:
    largest = float(np.abs(function(np.linspace(*interval, _GRID))).max(initial=1.0))
    tolerance = 2.0 ** -(recorder_of(x).tolerance_bits(largest) + more_bits)
    degree = 1
    while degree <= _MOST_DEGREE:
        found = circuits.approximate(lambda value: float(function(value)), interval, degree)
        if found.error <= tolerance:
            return x.apply(found, formula=function)
        degree = 2 * degree + 1
    raise ParameterError(
        f"no polynomial of degree {_MOST_DEGREE} is within {tolerance:g} of a function from "
        f"{interval[0]:g} to {interval[1]:g}; scale the features, or give fewer precision_bits"
    )


def bits_for_sums(x: Features, values: Callable[[Features], Any], weights: Floats, bias: ArrayLike) -> float:
    """How many bits more precise than the program values must be, so that their sums with weights of shape
    (values, sums) have its precision: as the samples of x show the sums."""
    if not isinstance(x.scaled, Array):
        return 0.0
    samples = facts_of(x.scaled).samples
    if samples is None:
        return 0.0
    found = np.asarray(values(Features(samples.reshape(-1, x.count)[:_GRID], x.scale, x.offset)))
    largest = max(1.0, float(np.abs(found @ weights + np.asarray(bias)).max()))
    most = float(np.abs(weights).sum(axis=0).max()) * max(1.0, float(np.abs(found).max()))
    return float(np.clip(np.log2(max(most, 1.0) / largest), 0.0, _MOST_BITS))


def of_distances(x: Any, function: Callable[[Any], Any], more_bits: float = 0.0) -> Any:
    """A function of each element, none of which is below 0. ParameterError where no polynomial has the
    precision, and some bits more."""
    if not isinstance(x, Array):
        return function(np.maximum(x, 0))
    high = max(x.range[1], 2.0**-10)
    recorder_of(x).narrow(number_of(x), -_BEYOND * high, math.inf)
    return _approximated(x, function, (-_BEYOND * high, high), more_bits)


def exponential(x: Any, more_bits: float = 0.0) -> Any:
    """exp(x) of values that are not above 0, by some bits more precise than the program."""
    if not isinstance(x, Array):
        return np.exp(np.minimum(x, 0))
    low = min(x.range[0], -(2.0**-10))
    interval = (low, -_BEYOND * low)
    recorder_of(x).narrow(number_of(x), -math.inf, interval[1])
    bits = max(2.0, recorder_of(x).tolerance_bits(1.0) + more_bits)
    function = recorder_of(x).made("exp", *interval, lambda: circuits.exp(interval, bits=bits))
    return x.apply(function, formula=np.exp)


def relu(x: Any) -> Any:
    """The larger of x and 0."""
    if not isinstance(x, Array):
        return np.maximum(x, 0)
    low, high = x.range
    if low >= 0:
        return x
    largest = max(abs(low), high)
    bits = max(2.0, recorder_of(x).tolerance_bits(max(1.0, largest)))
    function = recorder_of(x).made("relu", low, high, lambda: circuits.relu((low, high), bits=bits))
    return x.apply(function, formula=relu)
