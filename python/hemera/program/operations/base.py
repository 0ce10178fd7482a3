"""What all operations of programs share: where they stand, and what they run with."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from hemera._process import Lock
from hemera.circuits import LinearTransform
from hemera.objects.batches import concatenate
from hemera.objects.ciphertext import Ciphertext, Plaintext
from hemera.objects.context import Context
from hemera.objects.evaluator import Evaluator
from hemera.parameters import Parameters
from hemera.program.values import SCHEME_NAMES, Array, Form, SchemeName, common_form

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "Encoded",
    "OfMatrix",
    "Operation",
    "Place",
    "Product",
    "Running",
    "SlotBySlot",
    "in_parts",
    "parts_of",
]

_ENCODINGS_KEPT = 4
"""Encoded forms of an array, for as many levels and scales of inputs. Hemera's own clients need one."""


class Encoded:
    """An array of a program in one context's memory, encoded for the levels and scales that come."""

    def __init__(self, array: Array, product: bool) -> None:
        self._array = array
        self._product = product
        self._found: dict[tuple[int, int, float], Plaintext] = {}
        self._lock = Lock()

    def for_operand(self, evaluator: Evaluator, x: Ciphertext) -> Plaintext:
        """The plaintext that is added to or multiplied with `x`."""
        place = (x.slots, x.level, x.scale)
        with self._lock:  # so that requests that come together encode it once
            plain = self._found.get(place)
            if plain is None:
                plain = evaluator._plain_operand(x, self._array, product=self._product, fill=True, kept=True)
                if len(self._found) >= _ENCODINGS_KEPT:
                    self._found.clear()
                self._found[place] = plain
        return plain


@dataclass(frozen=True)
class Place:
    """Where an operation stands: what it is planned for."""

    params: Parameters
    """The parameters, which rescale by themselves."""
    level: int
    """The level of its operands."""
    form: Form
    """The form of its first operand."""


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

    def validated(self, scheme: SchemeName) -> Operation:
        """The operation with its fields as they are kept. ParameterError or TypeError for wrong ones."""
        del scheme
        return self

    @abstractmethod
    def form(self, forms: list[Form]) -> Form:
        """The form of the result. MismatchError where the operands do not fit."""

    @property
    def depth(self) -> int:
        """Multiplications one after the other: with CKKS the levels that it takes."""
        return 0

    def decided(self, place: Place) -> Operation:
        """The same with what parameters would choose fixed, so that the keys are the same for any."""
        del place
        return self

    def plan(self, place: Place) -> Any:
        """What is made once for each context."""
        del place

    def rotations(self, place: Place) -> frozenset[int]:
        """The steps of its rotations, each of which needs a key."""
        del place
        return frozenset()

    def expanded_bytes(self, slots: int) -> int:
        """The memory that the plan takes for values of so many slots, about, where it is more than some times
        that of the operation's arrays. Before `validated`: arrays may be those of a file."""
        del slots
        return 0

    def encode(self, plan: Any, context: Context) -> None:
        """Encode the plan's numbers into a context's memory, which the first run would do otherwise."""
        del plan, context

    def forget(self, plan: Any, context: Context) -> None:
        """Give back the memory that `encode` took."""
        del plan, context

    def encoded_bytes(self, plan: Any) -> int:
        """The memory that `encode` takes."""
        del plan
        return 0

    @abstractmethod
    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        """The result, of operands with equally many axes."""

    @abstractmethod
    def clear(self, *xs: Array) -> Array:
        """The result of values in the clear, of shape (..., slots)."""

    def clipped(self, xs: list[Array]) -> list[Array]:
        """Values in the clear, brought into what the operation is for."""
        return xs


LATER = {"later": True}
"""Metadata of a field that files have where it is not its default: files from before it do not."""


def parts_of(operation: Operation) -> dict[str, Any]:
    """The fields of an operation by name, without later ones that have their default."""
    if not dataclasses.is_dataclass(operation):
        return {}
    found = {part: getattr(operation, part.name) for part in dataclasses.fields(operation)}
    return {
        part.name: value
        for part, value in found.items()
        if not (part.metadata.get("later") and value == part.default)
    }


_MOST_TOGETHER = 64
"""Ciphertexts of a product or a function at a time: values in between take some times the memory of these."""


def in_parts(operation: Callable[..., Ciphertext], xs: Sequence[Ciphertext]) -> Ciphertext:
    """What an operation gives for each ciphertext of batches of one shape, some at a time."""
    x = xs[0]
    if x._count <= _MOST_TOGETHER or any(each.shape != x.shape for each in xs):
        return operation(*xs)
    flat = [each if each.ndim == 1 else each.reshape(each._count) for each in xs]
    found = concatenate(
        [
            operation(*(each[first : first + _MOST_TOGETHER] for each in flat))
            for first in range(0, x._count, _MOST_TOGETHER)
        ]
    )
    return found if x.ndim == 1 else found.reshape(*x.shape)


class SlotBySlot(Operation):
    def form(self, forms: list[Form]) -> Form:
        return common_form(self.name, forms)


class Product(SlotBySlot):
    """Takes a multiplication."""

    @property
    def depth(self) -> int:
        return 1


class OfMatrix(Operation):
    """A linear map of the slots, whose plan is a `hemera.circuits.LinearTransform`."""

    schemes = ("ckks",)
    baby_steps: int
    """Rotations that share a preparation: decided once, so that the keys are the same for any parameters."""

    @property
    def depth(self) -> int:
        return 1

    def is_alike(self, other: OfMatrix) -> bool:
        """Whether both are the same map, so that one plan serves them."""
        own, others = parts_of(self), parts_of(other)
        return type(self) is type(other) and all(
            np.array_equal(value, others[name]) for name, value in own.items()
        )

    def without_values(self) -> Self:
        """A map with the same rotations and products, whose plan takes less memory."""
        return self

    def rotations(self, place: Place) -> frozenset[int]:
        return frozenset(cast("Any", self.without_values()).plan(place).rotations)

    def decided(self, place: Place) -> Self:
        """The same with the baby steps that cost least for these parameters, unless it has some."""
        if self.baby_steps:
            return self
        alike: Any = self.without_values()
        wanted = alike.plan(place).rotations
        steps = 1
        while steps < place.form.slots:
            if dataclasses.replace(alike, baby_steps=steps).plan(place).rotations == wanted:
                break
            steps *= 2
        own: Any = self
        return cast("Self", dataclasses.replace(own, baby_steps=steps))

    def encode(self, plan: LinearTransform, context: Context) -> None:
        plan._in(context)

    def forget(self, plan: LinearTransform, context: Context) -> None:
        plan._forget(context)

    def encoded_bytes(self, plan: LinearTransform) -> int:
        return plan.plaintext_bytes

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        return at.ev.transform(xs[0], at.plan)
