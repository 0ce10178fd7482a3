"""The operations that programs are made of: each checks, plans, runs, and computes in the clear."""

from __future__ import annotations

import dataclasses
import functools
import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import numpy as np

import hemera
from hemera import circuits
from hemera.ciphertext import Ciphertext, Plaintext
from hemera.circuits import Bootstrap, Function, LinearTransform, Polynomial
from hemera.errors import MismatchError, ParameterError
from hemera.evaluator import Evaluator
from hemera.parameters import Parameters
from hemera.serving.values import (
    MAX_SLOTS,
    SCHEME_NAMES,
    Array,
    Form,
    SchemeName,
    common_form,
    constant,
    form_with_array,
    integer,
    real,
)

_ENCODINGS_KEPT = 4
"""Encoded forms of an array, for as many levels and scales of inputs. Hemera's own clients need one."""


@dataclass
class KeysOf:
    """The keys that operations use: with each rotation, the highest level that it is done at."""

    relinearization: bool = False
    rotations: dict[int, int] = field(default_factory=dict)
    conjugation: int | None = None
    """CKKS: conjugation; BFV and BGV: the exchange of the rows. The highest level; None: not used."""
    bootstraps: list[dict[str, Any]] = field(default_factory=list)
    """Arguments of `hemera.circuits.Bootstrap` beside the parameters."""
    together: list[list[int]] = field(default_factory=list, compare=False)
    """Rotations of one matrix: each needs a key of its own, all for one level. Not told to clients, whose
    keys are so."""

    def rotate(self, steps: int, level: int) -> None:
        self.rotations[steps] = max(level, self.rotations.get(steps, 0))

    def join(self) -> None:
        """Raises keys of one matrix to the highest level that one of them is for."""
        changed = True
        while changed:
            changed = False
            for steps in self.together:
                level = max(self.rotations[step] for step in steps)
                changed |= any(self.rotations[step] < level for step in steps)
                self.rotations.update(dict.fromkeys(steps, level))

    def conjugate(self, level: int) -> None:
        self.conjugation = level if self.conjugation is None else max(level, self.conjugation)


class Encoded:
    """An array of a program in one context's memory, encoded for the levels and scales that come."""

    def __init__(self, array: Array, product: bool) -> None:
        self._array = array
        self._product = product
        self._found: dict[tuple[int, int, float], Plaintext] = {}
        self._lock = threading.Lock()

    def for_operand(self, evaluator: Evaluator, x: Ciphertext) -> Plaintext:
        """The plaintext that is added to or multiplied with `x`."""
        place = (x.slots, x.level, x.scale)
        with self._lock:  # so that requests that come together encode it once
            plain = self._found.get(place)
            if plain is None:
                plain = evaluator._plain_operand(x, self._array, product=self._product)
                if len(self._found) >= _ENCODINGS_KEPT:
                    self._found.clear()
                self._found[place] = plain
        return plain


@dataclass(frozen=True)
class Place:
    """Where an operation stands: what it is planned for."""

    params: Parameters
    """That rescale by themselves."""
    level: int
    """Of its operands."""
    form: Form
    """Of its first operand."""


@dataclass(frozen=True)
class Running:
    """What an operation runs with."""

    ev: Evaluator
    plan: Any
    """What `Operation.plan` made."""


class Operation(ABC):
    """One step of a program. Its fields are what the file keeps: numbers, text and arrays."""

    name: ClassVar[str]
    operands: ClassVar[int] = 1
    """How many values it takes; 0: one or more."""
    schemes: ClassVar[tuple[SchemeName, ...]] = SCHEME_NAMES
    relinearizes: ClassVar[bool] = False

    def validated(self, scheme: SchemeName) -> Operation:
        """The operation with its fields as they are kept. ParameterError or TypeError for wrong ones."""
        del scheme
        return self

    @abstractmethod
    def form(self, forms: list[Form]) -> Form:
        """Of the result. MismatchError where the operands do not fit."""

    @property
    def depth(self) -> int:
        """Multiplications one after the other: with CKKS the levels that it takes."""
        return 0

    def use_keys(self, keys: KeysOf, place: Place) -> None:
        """Adds the rotations, conjugations and bootstraps that it does."""
        del keys, place

    def plan(self, place: Place) -> Any:
        """What is made once for each context."""
        del place

    @abstractmethod
    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        """The result, of operands with equally many axes."""

    @abstractmethod
    def clear(self, *xs: Array) -> Array:
        """The result of values in the clear, of shape (..., slots)."""


def parts_of(operation: Operation) -> dict[str, Any]:
    """The fields of an operation by name."""
    if not dataclasses.is_dataclass(operation):
        return {}
    return {part.name: getattr(operation, part.name) for part in dataclasses.fields(operation)}


class _SlotBySlot(Operation):
    def form(self, forms: list[Form]) -> Form:
        return common_form(self.name, forms)


# --- Sums and products. ---


class Add(_SlotBySlot):
    name = "add"
    operands = 2

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        return at.ev.add(xs[0], xs[1])

    def clear(self, *xs: Array) -> Array:
        return xs[0] + xs[1]


class Subtract(_SlotBySlot):
    name = "subtract"
    operands = 2

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        return at.ev.subtract(xs[0], xs[1])

    def clear(self, *xs: Array) -> Array:
        return xs[0] - xs[1]


class Negate(_SlotBySlot):
    name = "negate"

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        return at.ev.negate(xs[0])

    def clear(self, *xs: Array) -> Array:
        return -xs[0]


class _Product(_SlotBySlot):
    """Takes a multiplication, and relinearizes."""

    relinearizes = True

    @property
    def depth(self) -> int:
        return 1


class Multiply(_Product):
    name = "multiply"
    operands = 2

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        return at.ev.multiply(xs[0], xs[1])

    def clear(self, *xs: Array) -> Array:
        return xs[0] * xs[1]


@dataclass(frozen=True)
class Power(_Product):
    name: ClassVar[str] = "power"
    exponent: int

    def validated(self, scheme: SchemeName) -> Operation:
        del scheme
        return Power(integer(self.exponent, "the exponent of a power", 2, 1 << 20))

    @property
    def depth(self) -> int:
        return (self.exponent - 1).bit_length()

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        return at.ev.square(xs[0]) if self.exponent == 2 else at.ev.power(xs[0], self.exponent)

    def clear(self, *xs: Array) -> Array:
        return xs[0] ** self.exponent


class Dot(_Product):
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


# --- With plain values. ---


def _number(value: object, scheme: SchemeName, what: str) -> int | float:
    if scheme != "ckks":
        return integer(value, what, -(1 << 62), 1 << 62)
    number = real(value, what)
    return int(number) if number.is_integer() and abs(number) < 1 << 62 else number


@dataclass(frozen=True)
class AddNumber(_SlotBySlot):
    name: ClassVar[str] = "add number"
    number: int | float

    def validated(self, scheme: SchemeName) -> Operation:
        return AddNumber(_number(self.number, scheme, "a summand"))

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        return at.ev.add(xs[0], self.number)

    def clear(self, *xs: Array) -> Array:
        return cast(Array, xs[0] + self.number)


@dataclass(frozen=True)
class MultiplyNumber(_SlotBySlot):
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


# --- Slots. ---


@dataclass(frozen=True)
class Rotate(_SlotBySlot):
    """Slots turned left."""

    name: ClassVar[str] = "rotate"
    schemes: ClassVar[tuple[SchemeName, ...]] = ("ckks",)
    steps: int

    def validated(self, scheme: SchemeName) -> Operation:
        del scheme
        return type(self)(integer(self.steps, "the steps of a rotation", 1 - MAX_SLOTS, MAX_SLOTS - 1))

    def use_keys(self, keys: KeysOf, place: Place) -> None:
        keys.rotate(self.steps, place.level)

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        return at.ev.rotate(xs[0], self.steps)

    def clear(self, *xs: Array) -> Array:
        return np.roll(xs[0], -self.steps, axis=-1)


class RotateRows(Rotate):
    """Each of the two rows of slots turned left."""

    name = "rotate rows"
    schemes = ("bfv", "bgv")

    def clear(self, *xs: Array) -> Array:
        return np.roll(_rows(xs[0]), -self.steps, axis=-1).reshape(xs[0].shape)


def _rows(values: Array) -> Array:
    """Slots of BFV and BGV as their two rows."""
    return values.reshape(*values.shape[:-1], 2, -1)


class Conjugate(_SlotBySlot):
    name = "conjugate"
    schemes = ("ckks",)

    def use_keys(self, keys: KeysOf, place: Place) -> None:
        keys.conjugate(place.level)

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        return at.ev.conjugate(xs[0])

    def clear(self, *xs: Array) -> Array:
        return np.conj(xs[0])


class SwapRows(_SlotBySlot):
    name = "swap rows"
    schemes = ("bfv", "bgv")

    def use_keys(self, keys: KeysOf, place: Place) -> None:
        keys.conjugate(place.level)

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        return at.ev.swap_rows(xs[0])

    def clear(self, *xs: Array) -> Array:
        return _rows(xs[0])[..., ::-1, :].reshape(xs[0].shape)


class Sum(_SlotBySlot):
    name = "sum"

    def use_keys(self, keys: KeysOf, place: Place) -> None:
        for steps in hemera.rotations_for_sum(place.params, place.form.slots):
            keys.rotate(steps, place.level)
        if place.params.scheme != "ckks":
            keys.conjugate(place.level)

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        return at.ev.sum(xs[0])

    def clear(self, *xs: Array) -> Array:
        return cast(Array, xs[0].sum(axis=-1, keepdims=True) + np.zeros_like(xs[0]))


@dataclass(frozen=True)
class Take(Operation):
    """An element of the batch that a request has, along its first axis."""

    name: ClassVar[str] = "take"
    index: int

    def validated(self, scheme: SchemeName) -> Operation:
        del scheme
        return Take(integer(self.index, "an index", 0, MAX_SLOTS))

    def form(self, forms: list[Form]) -> Form:
        shape = forms[0].shape
        if not shape or self.index >= shape[0]:
            raise MismatchError(f"index {self.index} of a batch of shape {shape} for each request")
        return Form(forms[0].slots, shape[1:])

    def plan(self, place: Place) -> Any:
        return len(place.form.shape)

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        return xs[0][(slice(None),) * (xs[0].ndim - at.plan) + (self.index,)]

    def clear(self, *xs: Array) -> Array:
        raise NotImplementedError  # `Program.evaluate_clear` knows the axes


# --- Circuits of CKKS. ---


@dataclass(frozen=True, eq=False)
class Matmul(Operation):
    """Each vector as a row times a plain matrix of shape (values, columns)."""

    name: ClassVar[str] = "matmul"
    schemes: ClassVar[tuple[SchemeName, ...]] = ("ckks",)
    matrix: Array
    baby_steps: int = 0
    """Rotations that share a preparation: decided once, so that the keys are the same for any parameters."""
    fewest_keys: bool = False

    def validated(self, scheme: SchemeName) -> Operation:
        matrix = constant(self.matrix, scheme, "a matrix")
        if matrix.ndim != 2:
            raise TypeError(f"x @ matrix takes a plain matrix of two axes, not an array of {matrix.shape}")
        return Matmul(matrix, integer(self.baby_steps, "baby_steps", 0, MAX_SLOTS), bool(self.fewest_keys))

    def form(self, forms: list[Form]) -> Form:
        if max(self.matrix.shape) > forms[0].slots:
            raise MismatchError(
                f"a matrix of shape {self.matrix.shape} and values of {forms[0].slots} slots do not fit; "
                "give the input more: InputSpec(..., slots=)"
            )
        return forms[0]

    @property
    def depth(self) -> int:
        return 1

    def use_keys(self, keys: KeysOf, place: Place) -> None:
        rotations = self.plan(place).rotations
        for steps in rotations:
            keys.rotate(steps, place.level)
        if rotations:
            keys.together.append(rotations)

    def plan(self, place: Place) -> LinearTransform:
        return LinearTransform(
            self.matrix.T,
            place.params,
            slots=place.form.slots,
            level=place.level,
            baby_steps=self.baby_steps,
            fewest_keys=self.fewest_keys,
        )

    def decided(self, place: Place) -> Matmul:
        """The same with the baby steps that cost least for these parameters."""
        wanted = self.plan(place).rotations
        steps = 1
        while steps < place.form.slots:
            found = dataclasses.replace(self, baby_steps=steps)
            if found.plan(place).rotations == wanted:
                return found
            steps *= 2
        return dataclasses.replace(self, baby_steps=steps)

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        return at.ev.transform(xs[0], at.plan)

    def clear(self, *xs: Array) -> Array:
        rows, columns = self.matrix.shape
        result = np.zeros((*xs[0].shape[:-1], xs[0].shape[-1]), np.result_type(xs[0], self.matrix))
        result[..., :columns] = xs[0][..., :rows] @ self.matrix
        return result


class _OfFunction(_Product):
    """A function of `hemera.circuits`, slot by slot."""

    schemes = ("ckks",)

    @property
    @abstractmethod
    def function(self) -> Function: ...

    @property
    def depth(self) -> int:
        return self.function.depth

    def plan(self, place: Place) -> Function:
        del place
        return self.function

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        return at.ev.apply(at.plan, *xs)

    def clear(self, *xs: Array) -> Array:
        return self.function.evaluate_clear(*xs)


_MAX_DEGREE = 1023


@dataclass(frozen=True, eq=False)
class OfPolynomial(_OfFunction):
    name: ClassVar[str] = "polynomial"
    coefficients: Array
    basis: str
    low: float
    high: float
    per_slot: bool
    error: float
    title: str

    @classmethod
    def of(cls, function: Polynomial) -> OfPolynomial:
        low, high = function.interval
        per_slot = function._native.width != 1
        return cls(function.coefficients, function.basis, low, high, per_slot, function.error, function.name)

    def validated(self, scheme: SchemeName) -> Operation:
        coefficients = constant(self.coefficients, scheme, "coefficients")
        if coefficients.ndim != 1 + bool(self.per_slot) or len(coefficients) > _MAX_DEGREE + 1:
            raise ParameterError(
                f"coefficients of shape {coefficients.shape}: one polynomial of a degree up to {_MAX_DEGREE}"
            )
        checked = OfPolynomial(
            coefficients,
            self.basis,
            real(self.low, "an interval's end"),
            real(self.high, "an interval's end"),
            bool(self.per_slot),
            real(self.error, "an error"),
            str(self.title)[:_MAX_TITLE],
        )
        _ = checked.function  # raises
        return checked

    @functools.cached_property
    def function(self) -> Function:
        return Polynomial(
            self.coefficients,
            basis=cast(Any, self.basis),
            interval=(self.low, self.high),
            per_slot=self.per_slot,
            error=self.error,
            name=self.title,
        )

    def form(self, forms: list[Form]) -> Form:
        if self.per_slot and self.coefficients.shape[-1] != forms[0].slots:
            raise MismatchError(
                f"coefficients for {self.coefficients.shape[-1]} slots and a value of {forms[0].slots}"
            )
        return forms[0]


_MAX_TITLE = 200
_MAX_BITS = 50
MAX_FUNCTIONS = 32
"""Different functions of a program by name: each is approximated anew when a file is loaded, in up to some
seconds."""


@functools.lru_cache(maxsize=4 * MAX_FUNCTIONS)
def _made(name: str, numbers: tuple[tuple[str, float], ...]) -> Function:
    return circuits.from_recipe(name, dict(numbers))


@dataclass(frozen=True)
class OfNamedFunction(_OfFunction):
    """A function that `hemera.circuits` makes of a name and numbers, such as sigmoid((-8, 8), bits=20)."""

    name: ClassVar[str] = "function"
    operands: ClassVar[int] = 0
    of: str
    numbers: dict[str, float]

    def validated(self, scheme: SchemeName) -> Operation:
        del scheme
        if not isinstance(self.of, str) or not isinstance(self.numbers, dict):
            raise TypeError("a function is given by its name and numbers")
        numbers = {str(key): real(value, key) for key, value in self.numbers.items()}
        if numbers.get("bits", 0) > _MAX_BITS:
            raise ParameterError(f"a function to {numbers['bits']} bits; at most {_MAX_BITS} are taken")
        checked = OfNamedFunction(self.of, numbers)
        _ = checked.function  # raises
        return checked

    @functools.cached_property
    def function(self) -> Function:
        return _made(self.of, tuple(sorted(self.numbers.items())))

    @property
    def arity(self) -> int:
        """How many values it takes."""
        return len(self.function.intervals)

    def form(self, forms: list[Form]) -> Form:
        if len(forms) != self.arity:
            raise MismatchError(f"{self.of} takes {self.arity} values, not {len(forms)}")
        return super().form(forms)


@dataclass(frozen=True)
class Bootstraps(_SlotBySlot):
    """A bootstrap by `hemera.circuits.Bootstrap` with these settings."""

    name: ClassVar[str] = "bootstrap"
    schemes: ClassVar[tuple[SchemeName, ...]] = ("ckks",)
    real: bool = False
    iterations: int = 1
    merge_parts: bool = False

    def validated(self, scheme: SchemeName) -> Operation:
        del scheme
        iterations = integer(self.iterations, "iterations", 1, 8)
        return Bootstraps(bool(self.real), iterations, bool(self.merge_parts))

    def settings(self, form: Form) -> dict[str, Any]:
        """Arguments of `hemera.circuits.Bootstrap`."""
        return {"slots": form.slots, **parts_of(self)}

    def use_keys(self, keys: KeysOf, place: Place) -> None:
        settings = self.settings(place.form)
        if settings not in keys.bootstraps:
            keys.bootstraps.append(settings)

    def plan(self, place: Place) -> Bootstrap:
        return Bootstrap(place.params, **self.settings(place.form))

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        return at.ev.bootstrap(xs[0], at.plan)

    def clear(self, *xs: Array) -> Array:
        return np.real(xs[0]) if self.real else xs[0]


OPERATIONS: dict[str, type[Operation]] = {
    kind.name: kind
    for kind in (
        Add,
        Subtract,
        Negate,
        Multiply,
        Power,
        Dot,
        AddNumber,
        MultiplyNumber,
        AddArray,
        MultiplyArray,
        DotArrays,
        Rotate,
        RotateRows,
        Conjugate,
        SwapRows,
        Sum,
        Take,
        Matmul,
        OfPolynomial,
        OfNamedFunction,
        Bootstraps,
    )
}
"""By the name that files have."""
