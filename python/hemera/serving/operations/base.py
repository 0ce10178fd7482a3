"""What all operations of programs share: the keys that they use, where they stand, and what they run with."""

from __future__ import annotations

import dataclasses
import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

from hemera.objects.ciphertext import Ciphertext, Plaintext
from hemera.objects.evaluator import Evaluator
from hemera.parameters import Parameters
from hemera.serving.values import SCHEME_NAMES, Array, Form, SchemeName, common_form

__all__ = ["Encoded", "KeysOf", "Operation", "Place", "Product", "Running", "SlotBySlot", "parts_of"]

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
                plain = evaluator._plain_operand(x, self._array, product=self._product, fill=True, kept=True)
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


class SlotBySlot(Operation):
    def form(self, forms: list[Form]) -> Form:
        return common_form(self.name, forms)


class Product(SlotBySlot):
    """Takes a multiplication, and relinearizes."""

    relinearizes = True

    @property
    def depth(self) -> int:
        return 1
