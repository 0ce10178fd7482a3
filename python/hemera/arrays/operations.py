"""The operations of programs on logical arrays, each with all that passes ask of it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hemera.arrays.facts import Bounds, range_of, slope_of
from hemera.arrays.sparse_map import Floats, Shape, SparseMap, Values
from hemera.circuits import Function
from hemera.errors import MismatchError, ParameterError

Formula = Callable[..., Any]
"""A function of one or two arrays, element by element."""

_erf = np.vectorize(math.erf, otypes=[np.float64])
_erfc = np.vectorize(math.erfc, otypes=[np.float64])


def _sigmoid(x: Any) -> Any:
    small = np.exp(-np.abs(x))  # no overflow on either side
    return np.where(np.asarray(x) < 0, small, 1.0) / (1 + small)


FORMULAS: dict[str, Formula] = {
    "erf": _erf,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
    "sigmoid": _sigmoid,
    "gelu": lambda x: x / 2 * _erfc(-np.asarray(x) / math.sqrt(2)),
    "silu": lambda x: x * _sigmoid(x),
    "softplus": lambda x: np.logaddexp(0.0, x),
    "reciprocal": np.reciprocal,
}
"""Formulas by the names of `hemera.arrays.elementwise.named`, and erf."""


Ends = tuple[float, float]


def _between(low: float, high: float, shape: Shape) -> Bounds:
    return np.full(math.prod(shape), low), np.full(math.prod(shape), high)


class Operation(ABC):
    """An operation, with what passes ask of it. To add one takes a class here, a method of `Walk`, one of
    the recorder, and one of each lowering that can do it; other passes go by what is said here.

    `shape` is that of the result.
    """

    is_linear: ClassVar[bool] = False
    """Whether it is a sum of linear maps of its operands, which have no order then."""
    is_uniform: ClassVar[bool] = False
    """Whether it does the same with each element, of operands of its result's shape."""

    @property
    @abstractmethod
    def identity(self) -> Hashable:
        """The same for equal operations, which are done once."""

    @property
    def likeness(self) -> Hashable:
        """The same for operations that may differ in numbers alone."""
        return type(self).__name__

    @property
    @abstractmethod
    def depth(self) -> int:
        """Levels that it takes, at most."""

    @property
    def intervals(self) -> Sequence[Ends]:
        """Where the values of each operand must lie; empty: anywhere."""
        return ()

    @abstractmethod
    def title(self, *operands: int) -> str:
        """A few words for reports, with the nodes that it takes."""

    def fits(self, shape: Shape, operands: Sequence[Shape]) -> bool:
        """Whether it takes operands of these shapes."""
        return {shape}.issuperset(operands)

    def of_tile(self, _elements: NDArray[np.int64], _suffix: str, /) -> Operation | None:
        """The same for these elements alone, with a suffix to names; None if it takes several together."""
        return self if self.is_uniform else None

    @abstractmethod
    def clear(self, xs: Sequence[Values], shape: Shape, *, clip: bool = False, exact: bool = False) -> Values:
        """The result in the clear, of shape (batch, *shape): see `TensorProgram.values`."""

    @abstractmethod
    def bounds(self, given: Sequence[Bounds], shape: Shape, /) -> Bounds:
        """The intervals of elements, from those of the operands: one object for one that is taken twice."""

    @abstractmethod
    def error_bound(self, errors: Sequence[Floats], ranges: Sequence[Ends], shape: Shape, /) -> Floats:
        """How far each element may be from the exact one, to first order, from such bounds of the operands,
        flat, and their ranges."""


@dataclass(frozen=True)
class Input(Operation):
    """A value that is encrypted, with the range of its elements."""

    name: str
    low: float
    high: float

    def __post_init__(self) -> None:
        if not (np.isfinite([self.low, self.high]).all() and self.low <= self.high):
            raise ParameterError(f"input {self.name!r}: a range from {self.low:g} to {self.high:g}")

    @property
    def identity(self) -> Hashable:
        return id(self)

    likeness = identity
    depth = 0

    def title(self, *_: int) -> str:
        return f"input {self.name}"

    def of_tile(self, _elements: NDArray[np.int64], suffix: str, /) -> Input:
        return replace(self, name=self.name + suffix)

    def clear(self, xs: Sequence[Values], shape: Shape, **_: bool) -> Values:
        result = np.asarray(xs[0])
        if result.shape[1:] != shape:
            raise MismatchError(f"{self.name}: arrays of shape {shape} are needed, not {result.shape[1:]}")
        return result

    def bounds(self, _given: Sequence[Bounds], shape: Shape, /) -> Bounds:
        return _between(float(self.low), float(self.high), shape)

    def error_bound(self, _errors: Sequence[Floats], _ranges: Sequence[Ends], shape: Shape, /) -> Floats:
        return np.zeros(math.prod(shape))


@dataclass(frozen=True, eq=False)
class Affine(Operation):
    """The sum of a linear map of each operand and of an offset."""

    maps: tuple[SparseMap, ...]
    offset: Floats | None = None
    """Flat; None: 0."""

    is_linear = True

    @property
    def identity(self) -> Hashable:
        offset = None if self.offset is None else self.offset.tobytes()
        return (*[each.digest for each in self.maps], offset)

    @property
    def likeness(self) -> Hashable:
        return "map", tuple(sorted((own.outputs, own.inputs, own.entries) for own in self.maps))

    @property
    def depth(self) -> int:
        return 0 if all(each.is_selection for each in self.maps) else 1

    def title(self, *_: int) -> str:
        return "linear map" if len(self.maps) == 1 else f"{len(self.maps)} linear maps"

    def fits(self, shape: Shape, operands: Sequence[Shape]) -> bool:
        sizes = [(math.prod(each), math.prod(shape)) for each in operands]
        return [(each.inputs, each.outputs) for each in self.maps] == sizes

    def clear(self, xs: Sequence[Values], shape: Shape, **_: bool) -> Values:
        count = len(xs[0])
        total = np.zeros((count, math.prod(shape)))
        for each, x in zip(self.maps, xs, strict=True):
            total = total + each.apply(x.reshape(count, -1))
        if self.offset is not None:
            total = total + self.offset
        return total.reshape((count, *shape))

    def bounds(self, given: Sequence[Bounds], shape: Shape) -> Bounds:
        low = high = np.zeros(math.prod(shape)) if self.offset is None else self.offset.astype(np.float64)
        for each, ends in zip(self.maps, given, strict=True):
            least, most = each.bounds(*ends)
            low, high = low + least, high + most
        return low, high

    def error_bound(self, errors: Sequence[Floats], _ranges: Sequence[Ends], shape: Shape, /) -> Floats:
        found = np.zeros(math.prod(shape))
        for own, error in zip(self.maps, errors, strict=True):
            found = found + own.bounds(-error, error)[1]
        return found


@dataclass(frozen=True)
class Multiply(Operation):
    """The products of two arrays of one shape, element by element."""

    is_uniform = True
    identity = "product"
    depth = 1

    def title(self, *operands: int) -> str:
        return "square" if operands[0] == operands[1] else "product"

    def clear(self, xs: Sequence[Values], *_: Any, **__: Any) -> Values:
        a, b = xs
        return np.asarray(a * b)

    def bounds(self, given: Sequence[Bounds], *_: Shape) -> Bounds:
        a, b = given
        with np.errstate(over="ignore", invalid="ignore"):
            ends = [x * y for x in a for y in b]
        low, high = np.minimum.reduce(ends), np.maximum.reduce(ends)
        return np.maximum(low, 0) if a is b else low, high

    def error_bound(self, errors: Sequence[Floats], ranges: Sequence[Ends], *_: Shape) -> Floats:
        a, b = (max(map(abs, each)) for each in ranges)
        return a * errors[1] + b * errors[0] + errors[0] * errors[1]


@dataclass(frozen=True, eq=False)
class Apply(Operation):
    """A function of one or two arrays of one shape, element by element."""

    function: Function
    formula: Formula | None = None
    """The function that it approximates, with the program's precision; None: it is meant itself."""

    is_uniform = True

    @property
    def identity(self) -> Hashable:
        function = self.function
        own = (function.name, *sorted(function.recipe.items())) if function.recipe else id(function)
        return own, id(self.formula)

    @property
    def likeness(self) -> Hashable:
        return "function", self.function.name, self.function.depth

    @property
    def depth(self) -> int:
        return self.function.depth

    @property
    def intervals(self) -> Sequence[Ends]:
        return () if self.function._native.is_unbounded else self.function.intervals

    def title(self, *_: int) -> str:
        return self.function.name

    def clear(self, xs: Sequence[Values], shape: Shape, *, clip: bool = False, exact: bool = False) -> Values:
        del shape
        if exact and self.formula is not None:
            return np.asarray(self.formula(*xs), np.float64)
        if clip and self.intervals:
            xs = [np.clip(x, *own) for x, own in zip(xs, self.intervals, strict=True)]
        return self.function.evaluate_clear(*xs)

    def bounds(self, given: Sequence[Bounds], *_: Shape) -> Bounds:
        return range_of(self.function, given)

    def error_bound(self, errors: Sequence[Floats], ranges: Sequence[Ends], shape: Shape) -> Floats:
        found = np.full(math.prod(shape), self.function.error)
        for error, ends in zip(errors, ranges, strict=True):
            if error.any():
                # The functions of two values are maximum and comparisons.
                found = found + (1.0 if len(errors) > 1 else slope_of(self.function, *ends)) * error
        return found


@dataclass(frozen=True, eq=False)
class LookUp(Operation):
    """A table of whole numbers, looked up by each element: of exact programs alone.

    An element is `step` times a number from 0 to points - 1, the number of its entry.
    """

    values: NDArray[np.int64]
    """Shape (points, kinds): a table for each kind of element."""
    kinds: NDArray[np.int64]
    """Shape (size,): the kind of each element."""
    step: int = 1

    @property
    def identity(self) -> Hashable:
        return self.values.tobytes(), self.kinds.tobytes(), self.step

    @property
    def depth(self) -> int:
        """Products one after the other, of the polynomial modulo a prime; one more for tables that differ."""
        points, kinds = self.values.shape
        return int(points - 1).bit_length() + int(kinds > 1)

    def title(self, *_: int) -> str:
        return f"look-up of {len(self.values)} values"

    def of_tile(self, elements: NDArray[np.int64], _suffix: str, /) -> LookUp:
        return replace(self, kinds=self.kinds[elements])

    def clear(self, xs: Sequence[Values], *_: Any, **__: Any) -> Values:
        """The entries; beyond the table its first one, or its last one."""
        (x,) = xs
        places = np.asarray(x.reshape(len(x), -1) // self.step, np.int64)
        found = self.values[np.clip(places, 0, len(self.values) - 1), self.kinds]
        return found.reshape(x.shape)

    def bounds(self, _given: Sequence[Bounds], shape: Shape, /) -> Bounds:
        return _between(float(self.values.min()), float(self.values.max()), shape)

    def error_bound(self, errors: Sequence[Floats], *_: Any) -> Floats:
        return np.where(errors[0] > 0, np.ptp(self.values, axis=0)[self.kinds], 0.0)
