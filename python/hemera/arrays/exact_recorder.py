"""Records an exact program: whole numbers, maps with whole coefficients, products, and tables of values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.operations import LookUp
from hemera.arrays.recorder import Recorder, user_line
from hemera.arrays.sparse_map import Floats, Shape, SparseMap, Values
from hemera.errors import ParameterError

Whole = NDArray[np.int64]

MOST_POINTS = 64
"""Different values of an element that is looked up: a table is a polynomial of that many terms."""
MOST_WHOLE = 1 << 53
"""Below, float64 holds each whole number; maps and offsets are kept in it."""


class ExactRecorder(Recorder):
    """The program so far, on whole numbers. Its results are exact, so it refuses all approximations."""

    _narrower = "range="

    def __init__(self) -> None:
        super().__init__(precision_bits=math.inf, margin=0.0)

    def affine(
        self, terms: Sequence[tuple[int, SparseMap]], shape: Shape, offset: Floats | None = None
    ) -> int:
        """The sum of maps of nodes and of an offset.

        Raises:
            ParameterError: for coefficients and offsets that are no whole numbers, or beyond 2^53.
        """
        for values in [own.weights for _, own in terms] + ([] if offset is None else [offset]):
            _require_whole(values)
        number = super().affine(terms, shape, offset)
        factors = [0 if offset is None else _divisor(offset)]
        factors += [self._step(at) * _divisor(own.weights) for at, own in terms]
        self._set_step(number, math.gcd(*factors))
        return number

    def multiply(self, a: int, b: int) -> int:
        """Products, element by element, of two nodes of one shape."""
        number = super().multiply(a, b)
        self._set_step(number, self._step(a) * self._step(b))
        return number

    def approximates(self, what: str) -> NoReturn:
        """ParameterError, with the way out."""
        raise ParameterError(
            f"{user_line()}: {what} is an approximation, and exact programs have none. Return its operand "
            "and apply it after decryption, or for operands of few values take x.approximated(f), a table of "
            "whole numbers"
        )

    def tabulated(self, number: int, function: Callable[[Values], Any]) -> int:
        """A function of single elements, by a table of its values.

        Raises:
            ParameterError: for elements of more than 64 values, and functions whose values are not whole.
        """
        step = self._step(number)
        lowest, highest = self._ends(number, step)
        points = int((highest - lowest).max()) + 1
        if points > MOST_POINTS:
            raise ParameterError(
                f"{user_line()}: elements have up to {points} values, from {int(lowest.min()) * step} to "
                f"{int(highest.max()) * step} in steps of {step}, and a look-up has at most {MOST_POINTS}. "
                "Give the inputs a narrower range, or compare after decryption. CKKS compares values with a "
                'step in any range (scheme="ckks", hm.ArraySpec(shape, range=, step=1)), and hm.integers '
                "compares all integers"
            )
        # Elements of the same range are of one kind.
        _, first, kind = np.unique(
            lowest * MOST_POINTS + (highest - lowest), return_index=True, return_inverse=True
        )
        least, most = lowest[first], highest[first]
        low = least
        spread = int(most.max() - least.min()) + 1
        # A table for all elements has plain numbers as coefficients, which take one product less than arrays.
        if (spread - 1).bit_length() == (points - 1).bit_length():
            low = np.full_like(low, low.min())
            points = spread
        places = np.clip(np.arange(points)[:, None] + low, least.min(), most.max())
        values = self._whole_values(function, places * step)
        inside = (places >= least) & (places <= most)
        found = self._looked_up(number, values, low, kind, step)
        smallest = np.where(inside, values, values.max()).min(axis=0)
        largest = np.where(inside, values, values.min()).max(axis=0)
        self.narrow(found, smallest[kind], largest[kind])
        self._set_step(found, int(np.gcd.reduce(values, axis=None)))
        return found

    def _looked_up(self, number: int, values: Whole, low: Whole, kind: Whole, step: int) -> int:
        """The entries of tables of shape (points, kinds), whose first points are step * low."""
        shape = self.program.nodes[number].shape
        size = len(kind)
        first, slope = values[0], values[-1] - values[0]
        is_line = (values == first).all() or (len(values) == 2 and not (slope % step).any())
        # The offset below would be rounded for larger products.
        if is_line and np.abs(slope.astype(np.float64) * low).max() < MOST_WHOLE:
            factor = slope // step
            offset = (first - factor * low * step).astype(np.float64)
            return self.affine([(number, SparseMap.scaling(factor[kind]))], shape, offset[kind])
        start = -(low * step)[kind].astype(np.float64)
        if start.any():
            number = self.affine([(number, SparseMap.scaling(np.ones(size)))], shape, start)
        different, which = np.unique(values, axis=1, return_inverse=True)
        own = LookUp(different, np.asarray(which, np.int64).ravel()[kind], step)
        return self._add(own, [number], shape)

    def _ends(self, number: int, step: int) -> Whole:
        """The least and the largest value of each element, in steps: shape (2, size)."""
        bounds = self.facts[number].bounds
        if max(float(np.abs(end).max()) for end in bounds) >= MOST_WHOLE:
            raise ParameterError(
                f"{user_line()}: values from {bounds[0].min():g} to {bounds[1].max():g} are too large for a "
                "look-up"
            )
        low, high = (end.astype(np.int64) for end in bounds)
        return np.stack([-(-low // step), high // step])

    def _whole_values(self, function: Callable[[Values], Any], points: Whole) -> Whole:
        values = np.asarray(function(points))
        values = np.broadcast_to(values, points.shape).astype(np.float64)
        if not np.isfinite(values).all() or (values != np.round(values)).any():
            wrong = values[~np.isfinite(values) | (values != np.round(values))][0]
            raise ParameterError(
                f"{user_line()}: the function has the value {wrong:g}, and exact programs look up whole "
                "numbers; scale it and round it, as in x.approximated(lambda v: round(1000 * f(v)))"
            )
        if np.abs(values).max() >= MOST_WHOLE:
            raise ParameterError(f"{user_line()}: a value of {np.abs(values).max():g} is beyond 2^53")
        return values.astype(np.int64)

    def _step(self, number: int) -> int:
        return int(self.facts[number].step or 1)

    def _set_step(self, number: int, step: int) -> None:
        # 1 divides each step; 0 stands for values that are all 0.
        self.facts[number].step = float(step) if 0 < step < MOST_WHOLE else 1.0


def _divisor(values: Floats) -> int:
    """The greatest common divisor of whole numbers; 0 where all are 0."""
    return int(np.gcd.reduce(values.astype(np.int64))) if len(values) else 0


def _require_whole(values: Floats) -> None:
    wrong = values[values != np.round(values)]
    if len(wrong):
        raise ParameterError(
            f"{user_line()}: the number {wrong[0]:g} is not whole, and exact programs have no division, no "
            "mean and no fractions; return the sum and divide after decryption, or scale constants to whole "
            "numbers"
        )
    # Integers beyond 2^53 were rounded to float64, at least to 2^53.
    if len(values) and np.abs(values).max() >= MOST_WHOLE:
        raise ParameterError(
            f"{user_line()}: the number {np.abs(values).max():g} is beyond 2^53, up to which constants are "
            "exact"
        )
