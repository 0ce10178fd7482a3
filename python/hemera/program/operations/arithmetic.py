"""Sums and products, of values and of values with plain ones."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np

from hemera.errors import MismatchError
from hemera.objects.ciphertext import Ciphertext
from hemera.program.operations.base import Encoded, Operation, Product, Running, SlotBySlot, in_parts
from hemera.program.operations.places import Bounded, Bounds, Place
from hemera.program.values import Array, Form, SchemeName, constant, form_with_array, integer, real


class _Sum(SlotBySlot):
    operands = 2
    linear = True
    adds_noise = False
    scales = "kept"

    def bounded(self, at: Bounds, *xs: Bounded) -> Bounded:
        return Bounded(sum(x.largest for x in xs), sum(x.error for x in xs))

    def clear_bound(self, largest: int, operands: int, slots: int) -> int:
        return operands * largest


class Add(_Sum):
    name = calls = "add"
    ufunc = np.add


class Subtract(_Sum):
    name = calls = "subtract"
    ufunc = np.subtract


class Negate(_Sum):
    name = calls = "negate"
    ufunc = np.negative
    operands = 1

    def bounded(self, at: Bounds, *xs: Bounded) -> Bounded:
        return Bounded(xs[0].largest, xs[0].error + at.unit)


class Multiply(Product):
    name = "multiply"
    ufunc = np.multiply
    operands = 2
    relinearizes = True
    scales = "product"

    def bounded(self, at: Bounds, *xs: Bounded) -> Bounded:
        return at.product(xs[0], xs[1])

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        return in_parts(at.ev.multiply, xs)


@dataclass(frozen=True)
class Power(SlotBySlot):
    name: ClassVar[str] = "power"
    timed_by = ("exponent",)
    relinearizes = True
    scales = "product"  # of squares: batches whose scales are followed have no other powers
    exponent: int

    def validated(self, scheme: SchemeName) -> Operation:
        return Power(integer(self.exponent, "the exponent of a power", 2, 1 << 20))

    @property
    def depth(self) -> int:
        return (self.exponent - 1).bit_length()

    def noise(self, at: Place, *xs: Array) -> Any:
        # The last square's, and those before it, as the power grows with them.
        grown = np.abs(xs[0]) ** max(0, self.exponent // 2) * self.exponent / 2
        return at.rounding * np.hypot(1.0, grown if self.depth > 1 else 0.0)

    def bounded(self, at: Bounds, *xs: Bounded) -> Bounded | None:
        return at.product(xs[0], xs[0]) if self.exponent == 2 else None

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        def power(x: Ciphertext) -> Ciphertext:
            return at.ev.square(x) if self.exponent == 2 else at.ev.power(x, self.exponent)

        return in_parts(power, xs)

    def clear(self, *xs: Array) -> Array:
        return xs[0] ** self.exponent


class Dot(Product):
    """The sum of products of the first half of the operands with the second."""

    name = "dot"
    operands = 0
    relinearizes = True
    scales = "product"

    def form(self, forms: list[Form]) -> Form:
        if len(forms) % 2:
            raise MismatchError(f"dot: {len(forms)} operands are no pairs")
        return super().form(forms)

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        half = len(xs) // 2
        return at.ev.dot(xs[:half], xs[half:])

    def clear(self, *xs: Array) -> Array:
        half = len(xs) // 2
        return cast(Array, sum(a * b for a, b in zip(xs[:half], xs[half:], strict=True)))


class _Plain(SlotBySlot):
    """A sum or a product with plain numbers."""

    what: ClassVar[str] = "a factor"

    @property
    @abstractmethod
    def plain(self) -> Array: ...

    @property
    def summand(self) -> Array | None:
        return None if self.linear else self.plain

    def bounded(self, at: Bounds, *xs: Bounded) -> Bounded:
        most = float(np.abs(self.plain).max())
        if self.linear:
            return at.scaled(xs[0], most)
        return Bounded(xs[0].largest + most, xs[0].error + at.encoded)

    def clear_bound(self, largest: int, operands: int, slots: int) -> int:
        most = max(abs(int(self.plain.min())), abs(int(self.plain.max())))
        return most * largest if self.linear else most + largest


@dataclass(frozen=True)
class _Number(_Plain):
    number: int | float

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        return super().run(at, xs[0], self.number)

    def clear(self, *xs: Array) -> Array:
        return super().clear(xs[0], self.number)

    def validated(self, scheme: SchemeName) -> Operation:
        if scheme != "ckks":
            return type(self)(integer(self.number, self.what, -(1 << 62), 1 << 62))
        number = real(self.number, self.what)
        return type(self)(int(number) if number.is_integer() and abs(number) < 1 << 62 else number)

    @property
    def plain(self) -> Array:
        return np.array([self.number])


class AddNumber(_Number):
    name = "add number"
    calls = "add"
    ufunc = np.add
    what = "a summand"
    adds_noise = False
    scales = "kept"


class MultiplyNumber(_Number):
    name = "multiply by number"
    calls = "multiply"
    ufunc = np.multiply
    linear = True

    @property
    def depth(self) -> int:
        return int(not isinstance(self.number, int))

    def halved(self) -> Operation | None:
        return MultiplyNumber(self.number / 2) if self.depth else None

    def noise(self, at: Place, *xs: Array) -> Any:
        # The number is rounded too: by the same part of each slot.
        off = math.sqrt(2 / 12) / at.params._native.scale
        return self.depth * np.hypot(at.rounding, off * np.abs(xs[0]))


def _filled(array: Array, slots: int) -> Array:
    """An array operand as the evaluator takes it: one value spreads, fewer get zeros appended."""
    if array.shape[-1] in (1, slots):
        return array
    return np.concatenate([array, np.zeros((*array.shape[:-1], slots - array.shape[-1]), array.dtype)], -1)


def _spread(array: Array, samples: int, whole: bool) -> Array:
    """An array operand for several samples. Arguments as of `Operation.with_samples`."""
    if array.shape[-1] == 1:  # of all slots
        return array
    return np.repeat(array[..., : array.shape[-1] // samples] if whole else array, samples, axis=-1)


@dataclass(frozen=True, eq=False)
class _Values(_Plain):
    values: Array

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        return super().run(at, xs[0], at.plan.for_operand(at.ev, xs[0]))

    def clear(self, *xs: Array) -> Array:
        return super().clear(xs[0], _filled(self.values, xs[0].shape[-1]))

    def validated(self, scheme: SchemeName) -> Operation:
        return type(self)(constant(self.values, scheme, self.what))

    def form(self, forms: list[Form]) -> Form:
        return form_with_array(self.name, forms[0], self.values)

    @property
    def plain(self) -> Array:
        return self.values

    def with_samples(self, samples: int, whole: bool) -> Operation:
        return type(self)(_spread(self.values, samples, whole))

    def plan(self, place: Place) -> Encoded:
        return Encoded(self.values, product=self.linear)


class AddArray(_Values):
    name = "add array"
    calls = "add"
    ufunc = np.add
    what = "a summand"
    scales = "kept"

    def noise(self, at: Place, *xs: Array) -> Any:
        return at.encoding(self.values)


class MultiplyArray(_Values):
    name = "multiply by array"
    calls = "multiply"
    ufunc = np.multiply
    linear = True
    depth = 1

    def halved(self) -> Operation:
        return MultiplyArray(self.values / 2)

    def noise(self, at: Place, *xs: Array) -> Any:
        return np.hypot(at.rounding, at.encoding(self.values) * np.abs(xs[0]))


@dataclass(frozen=True, eq=False)
class DotArrays(Product):
    """The sum of products of each operand with an array."""

    name: ClassVar[str] = "dot arrays"
    operands: ClassVar[int] = 0
    linear = True
    values: tuple[Array, ...]

    def validated(self, scheme: SchemeName) -> Operation:
        return DotArrays(tuple(constant(each, scheme, "a factor") for each in self.values))

    def form(self, forms: list[Form]) -> Form:
        if len(forms) != len(self.values):
            raise MismatchError(f"dot: {len(forms)} values and {len(self.values)} arrays")
        pairs = zip(forms, self.values, strict=True)
        return super().form([form_with_array(self.name, x, array) for x, array in pairs])

    def with_samples(self, samples: int, whole: bool) -> Operation:
        return replace(self, values=tuple(_spread(each, samples, whole) for each in self.values))

    def noise(self, at: Place, *xs: Array) -> Any:
        squares = sum(np.abs(each) ** 2 for each in xs)
        return np.sqrt(at.rounding**2 + at.encoding(*self.values) ** 2 * squares)

    def plan(self, place: Place) -> list[Encoded]:
        return [Encoded(array, product=True) for array in self.values]

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        return at.ev.dot(xs, [each.for_operand(at.ev, x) for each, x in zip(at.plan, xs, strict=True)])

    def clear_bound(self, largest: int, operands: int, slots: int) -> int:
        return sum(abs(int(end)) * largest for x in self.values for end in (x.min(), x.max()))

    def clear(self, *xs: Array) -> Array:
        pairs = zip(xs, self.values, strict=True)
        return cast(Array, sum(x * _filled(array, x.shape[-1]) for x, array in pairs))
