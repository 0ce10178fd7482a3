"""Weights and choices among the values of a vector: softmax, and the place of the largest value."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera import _core
from hemera._noise_warning import ranges_are_known, warn_of_interval
from hemera.circuits.elementary import compare, divide
from hemera.circuits.functions import Interval
from hemera.circuits.handles import is_value
from hemera.circuits.polynomials import Polynomial, tolerance_of
from hemera.inputs.arguments import as_integer, described
from hemera.inputs.plain import plain_array

# Exponentials and comparisons of many more have no digits left.
_MOST_VALUES = 1 << 16
# Declared bounds, and values at an end, differ by so little.
_ROUNDING = 2**-20


class VectorFunction(ABC):
    """A function of the values of a vector together (CKKS): of the filled slots of each ciphertext of a
    batch, or of the last axis of an array.

    It is made of other circuits. So it takes ciphertexts, arrays, and values of a program that is recorded,
    and `hm.cost(f, count, params=params)` has its keys and costs.
    """

    def __init__(self, name: str, count: int, interval: Interval) -> None:
        self._name = name
        self._interval = interval
        self._count = as_integer(count, name, "the number of values")
        if not 2 <= self._count <= _MOST_VALUES:
            raise _core.ParameterError(f"{name} takes 2 to {_MOST_VALUES} values, not {self._count}")

    @property
    def name(self) -> str:
        """Its name, for people."""
        return self._name

    @property
    def count(self) -> int:
        """Values of a vector."""
        return self._count

    @property
    def interval(self) -> Interval:
        """Where the values must lie."""
        return self._interval

    @property
    @abstractmethod
    def depth(self) -> int:
        """Levels that it takes at most: with one for slots that fill a ciphertext up where there are any."""

    @property
    @abstractmethod
    def error(self) -> float:
        """The largest distance of its values from the exact ones."""

    @abstractmethod
    def evaluate_clear(self, values: ArrayLike) -> NDArray[np.float64]:
        """Its values in the clear, of shape (..., count).

        Raises:
            ParameterError: for another number of values.
            RangeError: for values outside of the interval.
        """

    @abstractmethod
    def _evaluate(self, x: Any) -> Any:
        """Its values of a ciphertext, or of a value that is recorded."""

    def __call__(self, x: Any) -> Any:
        """Its values, in the places of the vector's.

        Raises:
            MismatchError: when a ciphertext has another number of values.
            RangeError: when a ciphertext's declared bound is beyond the interval.
            LevelError: when there are too few levels left.
            MissingKeyError: when a key is missing: a relinearization key and those of rotations.

        Warns:
            RangeWarning: when no bound of a ciphertext's values is declared.
        """
        if not is_value(x):
            return self.evaluate_clear(x)
        if not hasattr(x, "filled"):
            raise TypeError(f"{self._name} takes vectors, not {described(x)}")
        if x.filled != self._count:
            raise _core.MismatchError(
                f"{self._name} of {self._count} values and a ciphertext of {x.filled} do not fit"
            )
        self._require_range(getattr(x, "largest", 0.0))
        with ranges_are_known():
            return self._evaluate(x)

    def _require_range(self, declared: float) -> None:
        """RangeError for a declared bound beyond the interval; a RangeWarning where none is declared."""
        low, high = self._interval
        largest = max(abs(low), abs(high))
        if declared <= largest * (1 + _ROUNDING):
            return
        if math.isfinite(declared):
            raise _core.RangeError(
                f"{self._name}: values of a magnitude of up to {declared:g} are declared, and its interval "
                f"is from {low:g} to {high:g}; make it for a wider interval, or declare a smaller bound"
            )
        warn_of_interval(self._name, low, high)

    def _clear(self, values: ArrayLike) -> NDArray[np.float64]:
        given = plain_array(values, "evaluate_clear", np.float64)
        if given.ndim == 0 or given.shape[-1] != self._count:
            raise _core.ParameterError(
                f"{self._name} of {self._count} values does not take an array of shape {given.shape}; its "
                "last axis must have as many"
            )
        (low, high), slack = self._interval, _ROUNDING * max(abs(end) for end in self._interval)
        if not np.all((given >= low - slack) & (given <= high + slack)):
            raise _core.RangeError(
                f"{self._name}: there are values outside of its interval from {low:g} to {high:g}, where "
                "results are wrong; make it for a wider interval, or clip the values (np.clip)"
            )
        return given

    @property
    def _fills_up(self) -> bool:
        """Whether slots are left over."""
        return self._count & (self._count - 1) != 0

    def __repr__(self) -> str:
        return f"<{self._name} of {self._count} values, depth {self.depth}>"


class Softmax(VectorFunction):
    """exp(x) over the sum of exp(x): `hemera.circuits.softmax` makes one."""

    def __init__(self, count: int, interval: Interval, *, bits: float) -> None:
        low, high = (float(end) for end in interval)
        super().__init__("softmax", count, (low, high))
        if not low < high or not math.isfinite(high - low):
            raise _core.ParameterError(
                f"softmax of values from {low:g} to {high:g}: both ends must be finite, the first below "
                "the second"
            )
        # From the upper end on, so that no exponential is above 1, and none below `least`. An error of each
        # makes one of (count + 1) / count error / (least - error) of a quotient.
        least, share = math.exp(low - high), tolerance_of(bits) / 2 * self._count / (self._count + 1)
        coefficients, error = _core.approximate_within(
            lambda x: math.exp(x - high), low, high, share * least / (1 + share)
        )
        self._exp = Polynomial(
            coefficients, basis="chebyshev", interval=(low, high), error=error, name="exponential"
        )
        # No exponential is larger than the sum, so an inverse that is wrong by a share of it is enough: near
        # the smallest sums a quotient of any values up to 1 may be wrong by much more.
        nearest, largest = self._count * (least - error), 1 + error
        share_of_largest = tolerance_of(bits) / 2 * largest / nearest
        self._divide = divide(
            (-error, largest), (nearest, self._count * largest), bits=-math.log2(share_of_largest)
        )
        of_powers = (self._count + 1) / self._count * error / (least - error)
        self._error: float = self._divide.error * nearest / largest + of_powers

    @property
    def depth(self) -> int:
        return self._exp.depth + int(self._fills_up) + self._divide.depth

    @property
    def error(self) -> float:
        return self._error

    def evaluate_clear(self, values: ArrayLike) -> NDArray[np.float64]:
        powers = self._exp.evaluate_clear(self._clear(values))
        sums = np.broadcast_to(powers.sum(axis=-1, keepdims=True), powers.shape)
        return np.asarray(self._divide.evaluate_clear(powers, sums))

    def _evaluate(self, x: Any) -> Any:
        powers = self._exp(x)
        return self._divide(powers, _declared(powers.sum(), self._count))


class Argmax(VectorFunction):
    """1 in the place of the largest value, 0 in the others: `hemera.circuits.argmax` makes one."""

    def __init__(self, count: int, *, gap: float, bits: float, largest: float) -> None:
        super().__init__("argmax", count, (-largest, largest))
        # A product of at most this many comparisons.
        factors = 2 * (self._count - 1)
        tolerance = math.expm1(math.log1p(tolerance_of(bits)) / factors)
        # Slots that fill up are below all values.
        self._filler = -(largest + gap)
        self._compare = compare(
            gap=gap, bits=-math.log2(tolerance) if tolerance > 0 else math.inf, largest=largest + gap
        )
        self._error = math.expm1(factors * math.log1p(self._compare.error))

    @property
    def depth(self) -> int:
        slots = 1 << (self._count - 1).bit_length()  # a product of one factor less
        return self._compare.depth + (slots - 2).bit_length() + int(self._fills_up)

    @property
    def error(self) -> float:
        return self._error

    def evaluate_clear(self, values: ArrayLike) -> NDArray[np.float64]:
        given = self._clear(values)
        result = np.ones_like(given)
        for turn in range(1, self._count):
            result *= self._compare.evaluate_clear(given, np.roll(given, -turn, axis=-1))
        return result

    def _evaluate(self, x: Any) -> Any:
        is_filled = np.arange(x.slots) < self._count
        mask = is_filled.astype(np.float64)
        if self._count < x.slots:
            x = _declared(x * mask + np.where(is_filled, 0.0, self._filler), -self._filler)
        # Turns go around the slots where these are few; else slots beyond the vector's are compared, too.
        is_round = x.slots < 2 * self._count
        factors = []
        for turn in range(1, (x.slots // 2 if is_round else self._count - 1) + 1):
            larger = self._compare(x, x.rotate(turn))
            factors.append(larger)
            # x[i] > x[i - turn] is what x[i - turn] > x[i] is not.
            if not is_round or 2 * turn < x.slots:
                factors.append(1 - larger.rotate(-turn))
        while len(factors) > 1:
            left = factors[len(factors) // 2 * 2 :]
            factors = [a * b for a, b in zip(factors[::2], factors[1::2], strict=False)] + left
        return factors[0] if is_round else factors[0] * mask


def _declared(x: Any, largest: float) -> Any:
    """A ciphertext with a declared bound that is no larger, where it has one: bounds of sums add up."""
    evaluator = getattr(x, "_evaluator", None)
    if evaluator is None or not largest < x.largest < math.inf:
        return x
    return evaluator.declare(x, largest)


def softmax(count: int, interval: Interval, *, bits: float = 11) -> Softmax:
    """exp(x) over the sum of exp(x) of the `count` values of a vector, within 2^-bits (CKKS).

        weights = hm.circuits.softmax(10, (-4, 4), bits=10)
        y = weights(x)  # x a ciphertext of 10 values, or an array of shape (..., 10)

    The exponential is a polynomial on the interval less its upper end, the sum goes over the slots, and a
    `divide` follows. A range of w makes denominators from e^-w count to count: depth and noise grow with w,
    so the interval is to be as narrow as the values allow.

    Args:
        count: values of a vector, from 2 on: the filled slots of a ciphertext.
        interval: where the values lie.
        bits: errors are at most 2^-bits; noise comes on top, e^w times that of a value.

    Raises:
        ParameterError: for less than two values, an empty interval, and when no polynomials are as near, as
            for wide intervals.
    """
    return Softmax(count, interval, bits=bits)


def argmax(count: int, *, gap: float, bits: float = 8, largest: float = 1) -> Argmax:
    """1 in the place of the largest of the `count` values of a vector, 0 in the others (CKKS).

        place = hm.circuits.argmax(10, gap=0.05)
        y = place(x)  # x a ciphertext of 10 values, or an array of shape (..., 10)

    Each value is compared with each other one, by half as many comparisons as there are slots and rotations
    of them, and its results are multiplied. Within 2^-bits where the largest value is larger than all others
    by the gap or more. Values that are nearer share the 1: equal ones get a half each if they are two, a
    fourth each if they are three.

    A result has all slots of its ciphertext: those after the vector's are near 0. A ciphertext of more slots
    than the next power of two takes up to two levels more than `depth`.

    Args:
        count: values of a vector, from 2 on: the filled slots of a ciphertext.
        gap: see `compare`.
        largest: the largest magnitude of the values.

    Raises:
        ParameterError: for less than two values, and unless 0 < gap < largest.
    """
    if not 0 < gap < largest or not math.isfinite(largest):
        raise _core.ParameterError(
            f"argmax with a gap of {gap:g} and values up to {largest:g}: the gap must be above 0 and below "
            "the largest, and both finite"
        )
    return Argmax(count, gap=float(gap), bits=bits, largest=float(largest))
