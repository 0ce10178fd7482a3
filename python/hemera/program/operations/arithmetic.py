"""Sums and products, of values and of values with plain ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np

from hemera.errors import MismatchError
from hemera.objects.ciphertext import Ciphertext
from hemera.program.operations.base import Encoded, Operation, Place, Product, Running, SlotBySlot, in_parts
from hemera.program.values import (
    Array,
    Form,
    SchemeName,
    common_form,
    constant,
    form_with_array,
    integer,
    real,
)


class Add(SlotBySlot):
    name = "add"
    operands = 2

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        return at.ev.add(xs[0], xs[1])

    def clear(self, *xs: Array) -> Array:
        return xs[0] + xs[1]


class Subtract(SlotBySlot):
    name = "subtract"
    operands = 2

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        return at.ev.subtract(xs[0], xs[1])

    def clear(self, *xs: Array) -> Array:
        return xs[0] - xs[1]


class Negate(SlotBySlot):
    name = "negate"

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        return at.ev.negate(xs[0])

    def clear(self, *xs: Array) -> Array:
        return -xs[0]


class Multiply(Product):
    name = "multiply"
    operands = 2

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        return in_parts(at.ev.multiply, xs)

    def clear(self, *xs: Array) -> Array:
        return xs[0] * xs[1]


@dataclass(frozen=True)
class Power(Product):
    name: ClassVar[str] = "power"
    exponent: int

    def validated(self, scheme: SchemeName) -> Operation:
        del scheme
        return Power(integer(self.exponent, "the exponent of a power", 2, 1 << 20))

    @property
    def depth(self) -> int:
        return (self.exponent - 1).bit_length()

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


def _number(value: object, scheme: SchemeName, what: str) -> int | float:
    if scheme != "ckks":
        return integer(value, what, -(1 << 62), 1 << 62)
    number = real(value, what)
    return int(number) if number.is_integer() and abs(number) < 1 << 62 else number


@dataclass(frozen=True)
class AddNumber(SlotBySlot):
    name: ClassVar[str] = "add number"
    number: int | float

    def validated(self, scheme: SchemeName) -> Operation:
        return AddNumber(_number(self.number, scheme, "a summand"))

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        return at.ev.add(xs[0], self.number)

    def clear(self, *xs: Array) -> Array:
        return cast(Array, xs[0] + self.number)


@dataclass(frozen=True)
class MultiplyNumber(SlotBySlot):
    name: ClassVar[str] = "multiply by number"
    number: int | float

    def validated(self, scheme: SchemeName) -> Operation:
        return MultiplyNumber(_number(self.number, scheme, "a factor"))

    @property
    def depth(self) -> int:
        return int(not isinstance(self.number, int))

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        return at.ev.multiply(xs[0], self.number)

    def clear(self, *xs: Array) -> Array:
        return cast(Array, xs[0] * self.number)


def _filled(array: Array, slots: int) -> Array:
    """An array operand as the evaluator takes it: one value spreads, fewer get zeros appended."""
    if array.shape[-1] in (1, slots):
        return array
    return np.concatenate([array, np.zeros((*array.shape[:-1], slots - array.shape[-1]), array.dtype)], -1)


@dataclass(frozen=True, eq=False)
class AddArray(Operation):
    name: ClassVar[str] = "add array"
    values: Array

    def validated(self, scheme: SchemeName) -> Operation:
        return AddArray(constant(self.values, scheme, "a summand"))

    def form(self, forms: list[Form]) -> Form:
        return form_with_array(self.name, forms[0], self.values)

    def plan(self, place: Place) -> Encoded:
        del place
        return Encoded(self.values, product=False)

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        return at.ev.add(xs[0], at.plan.for_operand(at.ev, xs[0]))

    def clear(self, *xs: Array) -> Array:
        return xs[0] + _filled(self.values, xs[0].shape[-1])


@dataclass(frozen=True, eq=False)
class MultiplyArray(Operation):
    name: ClassVar[str] = "multiply by array"
    values: Array

    def validated(self, scheme: SchemeName) -> Operation:
        return MultiplyArray(constant(self.values, scheme, "a factor"))

    def form(self, forms: list[Form]) -> Form:
        return form_with_array(self.name, forms[0], self.values)

    @property
    def depth(self) -> int:
        return 1

    def plan(self, place: Place) -> Encoded:
        del place
        return Encoded(self.values, product=True)

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        return at.ev.multiply(xs[0], at.plan.for_operand(at.ev, xs[0]))

    def clear(self, *xs: Array) -> Array:
        return xs[0] * _filled(self.values, xs[0].shape[-1])


@dataclass(frozen=True, eq=False)
class DotArrays(Operation):
    """The sum of products of each operand with an array."""

    name: ClassVar[str] = "dot arrays"
    operands: ClassVar[int] = 0
    values: tuple[Array, ...]

    def validated(self, scheme: SchemeName) -> Operation:
        return DotArrays(tuple(constant(each, scheme, "a factor") for each in self.values))

    def form(self, forms: list[Form]) -> Form:
        if len(forms) != len(self.values):
            raise MismatchError(f"dot: {len(forms)} values and {len(self.values)} arrays")
        pairs = zip(forms, self.values, strict=True)
        return common_form(self.name, [form_with_array(self.name, x, array) for x, array in pairs])

    @property
    def depth(self) -> int:
        return 1

    def plan(self, place: Place) -> list[Encoded]:
        del place
        return [Encoded(array, product=True) for array in self.values]

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        return at.ev.dot(xs, [each.for_operand(at.ev, x) for each, x in zip(at.plan, xs, strict=True)])

    def clear(self, *xs: Array) -> Array:
        pairs = zip(xs, self.values, strict=True)
        return cast(Array, sum(x * _filled(array, x.shape[-1]) for x, array in pairs))
