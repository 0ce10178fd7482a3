"""Records a program on logical arrays, with the range of each value and, if there are samples, its values."""

from __future__ import annotations

import dataclasses
import functools
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera.arrays.extremes import difference_bound, moved_extreme
from hemera.arrays.facts import (
    MOST_WHOLE,
    Bounds,
    Facts,
    Watch,
    common_divisor,
    common_step,
    require_samples,
    sign_of,
    step_of_sum,
    widened,
)
from hemera.arrays.norms import known_of_product
from hemera.arrays.operations import Affine, Apply, Formula, Input, LookUp, Multiply, Operation
from hemera.arrays.sparse_map import Floats, Shape, SparseMap
from hemera.arrays.tensor import TensorProgram
from hemera.circuits import Function
from hemera.errors import ParameterError, PrecisionError, RangeError

_PACKAGES = (Path(__file__).parents[1], Path(np.__file__).parent)
"""Frames of these are not the user's."""


def user_line() -> str:
    """File and line of the nearest frame of a program that is neither Hemera's nor NumPy's."""
    frame = sys._getframe(1)
    while frame is not None:
        name = _user_file(frame.f_code.co_filename)
        if name is not None:
            return f"{name}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return ""


@functools.cache
def _user_file(path: str) -> str | None:
    """The name of a file of the user's; None of Hemera's and NumPy's."""
    given = Path(path)
    return None if any(package in given.parents for package in _PACKAGES) else given.name


GRID = 257
"""Points of an interval at which functions are looked at."""
MOST_ELEMENTS = 1 << 22
"""The most elements of one array."""
_LARGEST = 2.0**100
"""The largest end of a range: larger ones come of intervals that grow with each operation, and fit no
ciphertext."""
_STEEP = ("inverse", "log", "sqrt")
"""Functions that take many levels, or can not be made, where values come near 0."""
NOT_NEGATIVE = ("abs", "exp", "relu", "sigmoid", "sqrt")
"""Functions whose values are not below 0, but for their errors."""


class NoStepError(TypeError):
    """Numbers that are multiples of no known step are compared, ordered or rounded."""


class Recorder:
    """The program so far.

    Args:
        precision_bits: bits of approximated functions after the point, relative to their largest value.
            Infinite: results are exact.
        margin: the part by which ranges that samples show are widened.
        more_bits: by how many bits functions are more precise, by their place among those that are
            approximated.
    """

    def __init__(
        self, *, precision_bits: float = 16, margin: float = 0.1, more_bits: Mapping[int, float] | None = None
    ) -> None:
        self.program = TensorProgram()
        self.is_exact = math.isinf(precision_bits)
        self.precision_bits = precision_bits
        self.margin = 0.0 if self.is_exact else margin
        self._more_bits = dict(more_bits or {})
        self._approximated = 0
        self.has_own_methods = False
        """Whether the user's function calls what plain arrays have not."""
        self.facts: list[Facts] = []
        """The facts of the elements of each node."""
        self.kinds: dict[str, str] = {}
        """The kinds of NumPy's types of the results, by their names."""

    def input(
        self,
        name: str,
        shape: Shape,
        low: float,
        high: float,
        samples: NDArray[Any] | None = None,
        step: float | None = None,
    ) -> int:
        """An encrypted array with the range of its elements, and what they are multiples of.

        Raises:
            ParameterError: for no range, no elements, and samples that are outside of the range or no
                multiples of the step.
        """
        if min(shape, default=1) < 1:
            raise ParameterError(f"input {name!r} of shape {shape} has no elements")
        if step is not None and not (math.isfinite(step) and step > 0):
            raise ParameterError(f"input {name!r}: the step must be a positive number, not {step:g}")
        ends = (float(low), float(high))
        if samples is not None:
            require_samples(name, samples, ends, step)
        number = self.program.add(Input(name, *ends), (), shape, "", ends)
        bounds = self.program.nodes[number].operation.bounds((), shape)
        step = 1.0 if step is None and self.is_exact else step
        self.facts.append(Facts(bounds, bounds, sign_of(*bounds), step, samples))
        return number

    def affine(
        self, terms: Sequence[tuple[int, SparseMap]], shape: Shape, offset: Floats | None = None
    ) -> int:
        """The sum of maps of nodes and of an offset.

        Raises:
            ParameterError: in exact programs for numbers that are not whole, or beyond 2^53.
        """
        multiple_of = common_divisor if self.is_exact else common_step
        for values in [each.weights for _, each in terms] + ([] if offset is None else [offset]):
            if self.is_exact:
                _require_whole(values)
        maps = tuple([each for _, each in terms])
        steps: list[float | None] = [] if offset is None else [multiple_of(offset)]
        for at, each in terms:
            own = self.facts[at].step
            factor = None if own is None and each.entries else multiple_of(each.weights)
            steps.append(0.0 if factor == 0 else None if own is None or factor is None else own * factor)
        operands = [at for at, _ in terms]
        signs = {self.facts[at].sign * sign_of(each.weights, each.weights) for at, each in terms}
        if offset is not None and offset.any():
            signs.add(sign_of(offset, offset))
        sign = signs.pop() if len(signs) == 1 else 0
        step = step_of_sum(steps, multiple_of)
        step = 1.0 if step is None and self.is_exact else step
        number = self._add(Affine(maps, offset), operands, shape, step, sign)
        if offset is None and len(terms) == 1:
            self.facts[number].extreme = moved_extreme(self.facts[operands[0]].extreme, maps[0])
        elif offset is None and len(terms) == 2:
            self._bound(number, difference_bound(self.facts, terms))
        return number

    def _bound(self, number: int, known: tuple[int, float] | None) -> None:
        """Take in the sign of values, and how far they may be beyond 0."""
        if known is not None:
            sign, slack = known
            self.narrow(number, *((-slack, np.inf) if sign > 0 else (-np.inf, slack)))
            self.facts[number].sign = self.facts[number].sign or sign

    def multiply(self, a: int, b: int) -> int:
        """Products, element by element, of two nodes of one shape."""
        one, other = self.facts[a], self.facts[b]
        step = None if one.step is None or other.step is None else one.step * other.step
        sign, limits = known_of_product(self.program, self.facts, a, b)
        sign = sign or one.sign * other.sign
        number = self._add(Multiply(), (a, b), self.program.nodes[a].shape, step, sign)
        if limits is not None:
            self.narrow(number, *limits)
        return number

    def apply(
        self,
        function: Function,
        *operands: int,
        limits: tuple[float, float] | None = None,
        step: float | None = None,
        formula: Formula | None = None,
    ) -> int:
        """A function of one or two nodes of one shape, element by element.

        Args:
            limits: the least and the largest value, where the caller knows them better.
            step: what the values are multiples of.
            formula: what the function approximates with the program's precision; None: it is what is meant.

        Raises:
            TypeError: for polynomials with complex coefficients, and several at once.
            ParameterError: for another number of operands, and in exact programs.
            RangeError: when values can lie outside of the function's intervals.
        """
        self.approximates(function.name)
        if len(operands) != len(function.intervals):
            raise ParameterError(
                f"{function.name} takes {len(function.intervals)} values, and {len(operands)} were given"
            )
        native = function._native
        if not native.is_real or function._stacked or native.width != 1:
            raise TypeError(
                f"{function.name}: programs on arrays take functions with real values, one at a time, and "
                "with the same coefficients for all elements"
            )
        own = Apply(function, formula)
        self._watch(own, operands)
        shape = self.program.nodes[operands[0]].shape
        if formula is not None:
            self._approximated += 1
        low, high = own.bounds([self.facts[at].bounds for at in operands], shape)
        if limits is not None:
            low, high = (np.full(low.shape, end) for end in limits)
        sign = int(function.name in NOT_NEGATIVE)
        if function.name == "inverse":
            sign = self.facts[operands[0]].sign
        return self._add(own, operands, shape, step, sign, (low, high))

    def note_own_method(self) -> None:
        """Note a call of a method that plain arrays have not, if it is the user's."""
        is_users = _user_file(sys._getframe(2).f_code.co_filename) is not None
        self.has_own_methods = self.has_own_methods or is_users

    def approximates(self, what: str) -> None:
        """ParameterError, with the way out, for an approximation in an exact program."""
        if self.is_exact:
            raise ParameterError(
                f"{user_line()}: {what} is an approximation, and exact programs have none. Return its "
                "operand and apply it after decryption, or for operands of few values take "
                "x.approximated(f), a table of whole numbers"
            )

    def composed(self, _formula: Formula, _name: str, _number: int, /) -> int | None:
        """A function of a node as one polynomial of the node's own argument; None where there is
        nothing else, or no polynomial has the precision. The name is that of the function, for people."""
        return None

    def not_negative(self, number: int, /) -> int:
        """A node with the values of another one, without errors that take them below 0, if there is one."""
        return number

    def unmade(self, _formula: Formula, _name: str, _number: int, reason: Exception, /) -> int:
        """A function of a node that no polynomial is near to, where later ones may take it in; else the
        reason is raised."""
        raise reason

    def look_up(self, own: LookUp, number: int) -> int:
        """The entries of tables that the elements of a node are numbers of, in an exact program."""
        return self._add(own, [number], self.program.nodes[number].shape)

    def range(self, number: int) -> tuple[float, float]:
        """The least and the largest value of a node."""
        low, high = self.facts[number].bounds
        return float(low.min()), float(high.max())

    def narrow(self, number: int, low: ArrayLike, high: ArrayLike) -> None:
        """Take the values of a node to lie in an interval, which the caller knows of them; in one for each
        element, flat, where the ends are arrays."""
        own = self.facts[number]
        own.bounds, own.certain = (
            (np.clip(least, low, high), np.clip(most, low, high)) for least, most in (own.bounds, own.certain)
        )
        node = self.program.nodes[number]
        self.program.nodes[number] = dataclasses.replace(node, range=self.range(number))

    def bound(self, number: int, low: float, high: float) -> None:
        """Take the values of a node to lie in an interval, which the caller knows of all inputs in their
        ranges, whatever samples show."""
        own = self.facts[number]
        own.bounds = np.full_like(own.bounds[0], low), np.full_like(own.bounds[1], high)
        self.narrow(number, low, high)

    def interval(self, number: int) -> tuple[float, float]:
        """The range of a node, widened where it is one number, or nearly so."""
        low, high = self.range(number)
        room = 2.0**-10 * max(1.0, abs(low), abs(high))
        if high - low >= 2.0**-10 * room:
            return low, high
        return (low - room, high) if high < 0 else (low, high + room)

    def tolerance_bits(self, largest: float) -> float:
        """Bits after the point of values up to `largest` that the next function is to have."""
        bits = self.precision_bits + self._more_bits.get(self._approximated, 0.0)
        return bits - max(0.0, float(np.log2(largest))) if largest > 0 else bits

    def made(self, what: str, low: float, high: float, make: Callable[[], Function]) -> Function:
        """A function for values in a range, whose errors name it, its line and the ways out."""
        try:
            return make()
        except ParameterError as error:
            raise self.refusal(what, low, high, error) from error

    def refusal(self, what: str, low: float, high: float, reason: object) -> PrecisionError:
        """The error for a function that no polynomial is near to."""
        steep = what in _STEEP and low <= 0.01 * high
        return PrecisionError(
            f"{what} of values from {low:g} to {high:g} ({user_line()}): {reason}. Give the inputs a "
            f"narrower range (range=, or calibrate=: samples give values in between one too), ask for fewer "
            "precision_bits, or scale the values before"
            + (", or add a number before that keeps them from 0" if steep else "")
        )

    def _watch(self, own: Apply, operands: Sequence[int]) -> None:
        """Note the operands that inputs inside of their ranges can take out of a function's intervals.
        RangeError for those that what is known of values does."""
        for at, (low, high) in zip(operands, own.intervals, strict=False):
            facts, slack = self.facts[at], 2.0**-20 * max(abs(low), abs(high))
            # Beyond samples, what functions take is watched.
            shown = facts.samples
            first, last = self.range(at) if shown is None else (float(shown.min()), float(shown.max()))
            if first < low - slack or last > high + slack:
                raise RangeError(
                    f"{own.function.name} is for values from {low:g} to {high:g}, and these are from "
                    f"{first:g} to {last:g} ({user_line()}): make the function for a wider interval, or give "
                    "the inputs a narrower range (range=, or calibrate=)"
                )
            least, most = float(facts.certain[0].min()), float(facts.certain[1].max())
            if least < low - slack or most > high + slack:
                if facts.watch is not None:
                    low, high = max(low, facts.watch.low), min(high, facts.watch.high)
                facts.watch = Watch(at, low, high, least, most, user_line())

    def _add(
        self,
        operation: Operation,
        operands: Sequence[int],
        shape: Shape,
        step: float | None = None,
        sign: int = 0,
        known: Bounds | None = None,
    ) -> int:
        """Append an operation.

        Args:
            sign: of the elements, where that is known otherwise.
            known: the bounds of elements, whatever those of the operands are.
        """
        count = math.prod(shape)
        if not 1 <= count <= MOST_ELEMENTS:
            raise ParameterError(
                f"an array of shape {shape} has {count} elements; 1 to {MOST_ELEMENTS} can be"
            )
        given = [self.facts[at] for at in operands]
        low, high = bounds = known or operation.bounds([each.bounds for each in given], shape)
        certain = bounds
        if [each for each in given if each.certain is not each.bounds]:
            least, most = known or operation.bounds([each.certain for each in given], shape)
            certain = np.maximum(least, -_LARGEST), np.minimum(most, _LARGEST)
        shown = [each.samples for each in given if each.samples is not None]
        samples = None
        if len(shown) == len(operands):
            with np.errstate(all="ignore"):
                samples = operation.clear(shown, shape, clip=True, exact=True)
            sign = sign or sign_of(low, high)
            bounds = self._narrowed(samples, low, high, sign)
            if not isinstance(operation, Apply):  # which takes, and gives, what its interval allows
                low, high = bounds
        ends = (float(low.min()), float(high.max()))
        if not np.abs(ends).max() <= _LARGEST:
            raise ParameterError(
                f"values from {ends[0]:g} to {ends[1]:g} ({user_line()}) are too large; give the inputs a "
                f"narrower range (range={'' if self.is_exact else ', or calibrate='}), or divide them before"
            )
        number = self.program.add(operation, operands, shape, user_line(), ends)
        self.facts.append(Facts(bounds, certain, sign or sign_of(*bounds), step, samples))
        return number

    def _narrowed(self, samples: NDArray[Any], low: Floats, high: Floats, sign: int) -> tuple[Floats, Floats]:
        """Bounds by what samples show, where these are narrower."""
        least, most = float(samples.min()), float(samples.max())
        room = self.margin * max(most - least, 0.5 * max(abs(least), abs(most)))
        # Samples are computed with roundings, and can lie beyond the bounds by as much.
        low, high = np.minimum(low, most), np.maximum(high, least)
        lowest, highest = widened(least, most, room, self.margin, sign)
        return np.maximum(low, lowest), np.minimum(high, highest)


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
