"""Functions of encrypted integers: `hemera.integers` computes them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, cast
from weakref import WeakKeyDictionary

import numpy as np

from hemera._process import Lock, cached_property
from hemera.ckks import Parameters
from hemera.errors import MismatchError
from hemera.integers import Context
from hemera.integers.layout import Layout
from hemera.integers.needs import NeededKeys
from hemera.integers.recorded import Array as Facts
from hemera.integers.recorded import Replayed
from hemera.integers.types import WIDTHS, as_words, digits_of, from_words
from hemera.objects.batches import stack
from hemera.objects.ciphertext import Ciphertext
from hemera.objects.evaluator import Evaluator
from hemera.program.operations.base import Operation, Running
from hemera.program.operations.places import Place
from hemera.program.values import Array, Form, SchemeName, integer


def to_digits(layout: Layout, values: Array, facts: Facts) -> Array:
    """The digits of arrays of shape (..., *shape of the facts): of shape (..., vectors, slots)."""
    before = values.shape[: values.ndim - len(facts.shape)]
    flat = np.ascontiguousarray(values, facts.dtype).reshape(-1, *facts.shape)
    is_boolean = flat.dtype.kind == "b"
    found = [
        layout.from_truths(each)
        if is_boolean
        else layout.from_integers(as_words(each), digits_of(each.dtype))
        for each in flat
    ]
    return np.stack(found).reshape(*before, *found[0].shape)


def of_digits(layout: Layout, slots: Array, facts: Facts) -> Array:
    """The inverse of `to_digits`, of digits with errors below a half."""
    dtype, count = np.dtype(facts.dtype), int(np.prod(facts.shape, dtype=np.int64))
    digits = np.rint(np.real(slots)).astype(np.int64)
    each = 1 if dtype.kind == "b" else digits_of(dtype)
    flat = digits.reshape(-1, *digits.shape[-2:])
    words = [layout.to_integers(vectors, count, each) for vectors in flat]
    found = [word.astype(np.bool_) if dtype.kind == "b" else from_words(word, dtype) for word in words]
    return cast("Array", np.stack(found).reshape((*digits.shape[:-2], *facts.shape)))


class IntegerPlan:
    """Contexts of encrypted integers, one for each evaluator that runs a function of them."""

    def __init__(self, bits: int, values: int) -> None:
        self._bits, self._values = bits, values
        self._contexts: WeakKeyDictionary[Evaluator, Context] = WeakKeyDictionary()
        self._lock = Lock()

    def context(self, ev: Evaluator) -> Context:
        """The one of an evaluator's keys."""
        with self._lock:
            if ev not in self._contexts:
                self._contexts[ev] = Context(self._bits, values=self._values, keys=ev.keys)
            return self._contexts[ev]


@functools.lru_cache(maxsize=16)
def integer_keys(params: Parameters, bits: int, values: int) -> NeededKeys:
    """The keys of all operations on integers of these bits, so many in a ciphertext. ParameterError where the
    parameters have none."""
    return NeededKeys(params, bits, values)


@dataclass(frozen=True)
class IntegerFunction(Operation):
    """A function of encrypted integers (`hemera.integers.recorded`): their digits are in the slots."""

    name: ClassVar[str] = "integers"
    operands: ClassVar[int] = 0
    schemes: ClassVar[tuple[SchemeName, ...]] = ("ckks",)
    timed_by = ("bits", "values", "text")
    bits: int
    """The width of the widest type."""
    values: int
    """The number of values in a ciphertext."""
    levels: int
    """The levels that inputs have and results have not."""
    text: str
    """The recorded function."""

    @cached_property
    def replayed(self) -> Replayed:
        """The function."""
        return Replayed(self.text)

    @property
    def depth(self) -> int:
        return self.levels

    @property
    def layout(self) -> Layout:
        """The places of digits."""
        return Layout.of(self.bits, self.values)

    def validated(self, scheme: SchemeName) -> Operation:
        integer(self.bits, "bits", 8, 64)
        integer(self.values, "values", 1, 1 << 16)
        integer(self.levels, "levels", 0, 1 << 10)
        if self.bits not in WIDTHS or not isinstance(self.text, str):
            raise TypeError(f"a function of integers of {self.bits} bits")
        facts = [*self.replayed.inputs, self.replayed.result]
        wide = [each.dtype for each in facts if 8 * np.dtype(each.dtype).itemsize > self.bits]
        if wide:
            raise MismatchError(f"integers of {self.bits} bits, and the function has {wide[0]}")
        return self

    def form_of(self, facts: Facts) -> Form:
        """The form of the ciphertexts of an array."""
        vectors = self.layout.vectors(int(np.prod(facts.shape, dtype=np.int64)))
        return Form(self.layout.slots, (vectors,))

    def form(self, forms: list[Form]) -> Form:
        wanted = [self.form_of(each) for each in self.replayed.inputs]
        if forms != wanted:
            raise MismatchError(f"{self.name}: values of {forms} came, and the function takes {wanted}")
        return self.form_of(self.replayed.result)

    def settings(self) -> tuple[int, int]:
        """The fields that decide the keys."""
        return self.bits, self.values

    def plan(self, place: Place) -> IntegerPlan:
        del place
        return IntegerPlan(self.bits, self.values)

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        context, inputs = at.plan.context(at.ev), self.replayed.inputs
        if xs[0].ndim == 1:
            return self._one(context, inputs, xs)
        return stack([self._one(context, inputs, each) for each in zip(*xs, strict=True)])

    def _one(self, context: Context, inputs: Sequence[Facts], xs: Sequence[Ciphertext]) -> Ciphertext:
        arrays = [context.of_digits(x, each.dtype, each.shape) for x, each in zip(xs, inputs, strict=True)]
        return context.digits_of(self.replayed(arrays))

    def clear(self, *xs: Array) -> Array:
        facts = self.replayed.inputs
        arrays = [of_digits(self.layout, x, each) for x, each in zip(xs, facts, strict=True)]
        before = xs[0].shape[:-2]
        flat = [x.reshape(-1, *each.shape) for x, each in zip(arrays, facts, strict=True)]
        found = np.stack([np.asarray(self.replayed(each)) for each in zip(*flat, strict=True)])
        own = found.reshape((*before, *self.replayed.result.shape))
        return to_digits(self.layout, own, self.replayed.result)
