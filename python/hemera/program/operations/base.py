"""The common part of all operations of programs: their places, and the state of their runs."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

import numpy as np

from hemera import _core
from hemera._process import Lock
from hemera.circuits import LinearTransform
from hemera.circuits.plans import forget
from hemera.objects.batches import concatenate
from hemera.objects.ciphertext import Ciphertext, Plaintext
from hemera.objects.context import Context
from hemera.objects.evaluator import Evaluator
from hemera.program.operations.places import Bounded, Bounds, Place
from hemera.program.values import SCHEME_NAMES, Array, Form, SchemeName, common_form

if TYPE_CHECKING:
    from typing_extensions import Self

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
class Running:
    """The state with which an operation runs."""

    ev: Evaluator
    plan: Any
    """The result of `Operation.plan`."""


class Operation(ABC):
    """One step of a program. Its fields are what the file keeps: numbers, text and arrays. What passes ask of
    it stands here, and in its class where that differs: no pass has a list of operations."""

    name: ClassVar[str]
    operands: ClassVar[int] = 1
    """How many values it takes; 0: one or more."""
    schemes: ClassVar[tuple[SchemeName, ...]] = SCHEME_NAMES
    slotwise: ClassVar[bool] = False
    """Whether each slot of each ciphertext is computed alone, and batches broadcast."""
    linear: ClassVar[bool] = False
    """Whether sums, and products with any complex number, may be taken before it as well as after it."""
    settled: ClassVar[bool] = False
    """Whether it takes values at the level that they have after their rescale, where keys are smaller."""
    adds_noise: ClassVar[bool] = True
    """Whether it adds errors that count, with CKKS."""
    timed_by: ClassVar[tuple[str, ...]] = ("depth",)
    """All that times depend on besides the operands' forms: most are asked for with other values."""
    moves: ClassVar[bool] = False
    """Whether all values of the result are values of the operands."""
    relinearizes: ClassVar[bool] = False
    """Whether it takes the key of products."""
    conjugates: ClassVar[bool] = False
    """Whether it takes the key of the conjugation."""
    scales: ClassVar[Literal["kept", "product"] | None] = None
    """A result's scale with CKKS: that of all operands, or a product of two; None: it is not followed."""

    def validated(self, scheme: SchemeName) -> Operation:
        """The operation with its fields as they are kept. ParameterError or TypeError for wrong ones."""
        return self

    @abstractmethod
    def form(self, forms: list[Form]) -> Form:
        """The form of the result. MismatchError where the operands do not fit."""

    @property
    def depth(self) -> int:
        """Multiplications one after the other: with CKKS the levels that it takes."""
        return 0

    @property
    def is_frail(self) -> bool:
        """Whether small noise of its operand, the only one, may be large in its result for some values."""
        return False

    def worst_noise(self, _at: Place, error: float, /) -> float:
        """A frail operation's noise where it is largest, of an operand with this error."""
        return error

    @property
    def most_noise(self) -> float:
        """The largest deviation of its operands' noise together, of real parts, that its result bears."""
        return math.inf

    @property
    def summand(self) -> Array | None:
        """The array that it adds to its operand, where it does no more."""
        return None

    def halved(self) -> Operation | None:
        """A linear operation with half of its numbers, where this takes no level more."""
        return None

    def with_samples(self, samples: int, whole: bool) -> Operation | None:
        """The same where each slot becomes several, one after the other; None: it has no such form. `whole`:
        whether ciphertexts had all slots before, and repeated contents."""
        return None

    def without_rescale(self) -> Operation | None:
        """The same, whose scale grows by `factor` instead; None: it has no such form."""
        return self if self.scales else None

    @property
    def factor(self) -> float:
        """The factor by which a result's scale is larger than `scales` says."""
        return 1.0

    @property
    def approximated(self) -> Hashable:
        """The function that is approximated anew when a file is loaded; None: nothing."""
        return None

    def with_own_keys(self) -> Operation:
        """The same with keys of its level alone, where it can take them."""
        return self

    def without_values(self) -> Operation:
        """One with the same rotations and products, whose plan may take less memory."""
        return self

    def noise(self, at: Place, *xs: Array) -> Any:
        """The root mean square of the complex errors that it adds to slots, all or each, as expected."""
        return at.rounding if self.adds_noise else 0.0

    def rounded_result(self, at: Place, x: Array, *xs: Array) -> Array:
        """The result `x` in the clear as it is with the rounded numbers of a plan."""
        return x

    def bounded(self, at: Bounds, *xs: Bounded) -> Bounded | None:
        """The certain bounds of the result (docs/compile-algorithms.md); None: nothing is known."""
        return None

    def decided(self, place: Place) -> Operation:
        """The same with what parameters would choose fixed, so that the keys are the same for any."""
        return self

    def plan(self, place: Place) -> Any:
        """The plan that is made once for each context."""

    def rotations(self, place: Place) -> frozenset[int]:
        """The steps of its rotations, each of which needs a key."""
        return frozenset()

    def keys(self, place: Place) -> list[tuple[_core.KeyNeed, int]]:
        """CKKS: the keys that it takes, each with its level; those of bootstraps and of products of pairs are
        their plans'. A run of it asks for the same ones, and tests hold both together."""
        rotations = self.rotations(place)
        if not (rotations or self.conjugates or self.relinearizes):
            return []
        native, ring = place.params._native, 2 * place.params.degree
        steps = {step % place.form.slots for step in rotations} - {0}
        elements = [pow(native.galois_generator, step, ring) for step in sorted(steps)]
        elements += [ring - 1] if self.conjugates else []
        needs = [_core.key_need(native, 1, element, place.level) for element in elements]
        needs += [_core.key_need(native, 2, 1, place.level)] if self.relinearizes else []
        return [(need, place.level) for need in needs]

    def expanded_bytes(self, slots: int) -> int:
        """The memory that the plan takes for values of `slots` slots, about, where it is more than some times
        that of the operation's arrays. Before `validated`: arrays may be those of a file."""
        return 0

    def encode(self, plan: Any, context: Context) -> None:
        """Encode the plan's numbers into a context's memory, which the first run would do otherwise."""

    def forget(self, plan: Any, context: Context) -> None:
        """Give back the memory that `encode` took."""

    def encoded_bytes(self, plan: Any) -> int:
        """The memory that `encode` takes."""
        return 0

    @abstractmethod
    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        """The result, of operands with equally many axes."""

    @abstractmethod
    def clear(self, *xs: Array) -> Array:
        """The result of values in the clear, of shape (..., slots)."""

    def clear_of_batch(self, axes: int, *xs: Array) -> Array:
        """`clear`, where a request has `axes` axes of the first value's."""
        return self.clear(*xs)

    def clear_bound(self, largest: int, operands: int, slots: int) -> int | None:
        """The largest absolute value of `clear`'s result, for integers up to `largest`; None: unknown."""
        return largest if self.moves else None

    def clear_with_noise(self, axes: int, *xs: Array) -> Array:
        """`clear_of_batch` of values that noise may have taken out of what the operation is for."""
        return self.clear_of_batch(axes, *xs)


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


def narrowed(at: Running, x: Ciphertext, bound: float) -> Ciphertext:
    """The value with this bound declared, where its own one is wider."""
    return at.ev.declare(x, bound) if bound < x.largest else x


_MOST_TOGETHER = 64
"""Ciphertexts of a product or a function at a time: values in between take some times the memory of these."""


def in_parts(operation: Callable[..., Ciphertext], xs: Sequence[Ciphertext]) -> Ciphertext:
    """An operation's results for each ciphertext of batches of one shape, some at a time."""
    x = xs[0]
    count = math.prod(x.shape)
    if count <= _MOST_TOGETHER or any(each.shape != x.shape for each in xs):
        return operation(*xs)
    flat = [each if each.ndim == 1 else each.reshape(count) for each in xs]
    found = concatenate(
        [
            operation(*(each[first : first + _MOST_TOGETHER] for each in flat))
            for first in range(0, count, _MOST_TOGETHER)
        ]
    )
    return found if x.ndim == 1 else found.reshape(*x.shape)


class OfOneForm(Operation):
    """The result has the form to which operands broadcast."""

    calls: ClassVar[str]
    """The method of an evaluator that computes it."""
    ufunc: ClassVar[np.ufunc]
    """The same by NumPy."""

    def run(self, at: Running, *xs: Any) -> Ciphertext:
        return cast("Ciphertext", getattr(at.ev, self.calls)(*xs))

    def clear(self, *xs: Any) -> Array:
        return cast("Array", self.ufunc(*xs))

    def form(self, forms: list[Form]) -> Form:
        return common_form(self.name, forms)


class SlotBySlot(OfOneForm):
    slotwise = True

    def with_samples(self, samples: int, whole: bool) -> Operation | None:
        return self


class Product(SlotBySlot):
    """Takes a multiplication."""

    depth = 1

    def clear_bound(self, largest: int, operands: int, slots: int) -> int | None:
        return operands * largest**2


class OfMatrix(Operation):
    """A linear map of the slots, whose plan is a `hemera.circuits.LinearTransform`."""

    schemes = ("ckks",)
    linear = True
    depth = 1
    baby_steps: int
    """Rotations that share a preparation: decided once, so that the keys are the same for any parameters."""

    @property
    def encoded(self) -> tuple[Array, ...]:
        """Arrays that decide whether the encoded ones are complex."""
        return ()

    def is_alike(self, other: OfMatrix) -> bool:
        """Whether both are the same map, so that one plan serves them."""
        own, others = parts_of(self), parts_of(other)
        alike = type(self) is type(other) and own.keys() == others.keys()
        return alike and all(np.array_equal(value, others[name]) for name, value in own.items())

    def noise(self, at: Place, *xs: Array) -> Any:
        transform = self.transform(at)
        own = transform.expected_error(0.0)[0]
        # Encoded numbers are as wrong as values are large, of which the models suppose something.
        squares: Any = np.mean(np.abs(xs[0]) ** 2)
        encoding, modelled = at.encoding(*self.encoded), at.complex_encoding
        return math.sqrt(own**2 + transform.diagonals * max(0.0, encoding**2 * squares - modelled**2))

    def transform(self, place: Place) -> _core.LinearTransform:
        """The core's transform of the plan."""
        found: _core.LinearTransform = self.plan(place)._native
        return found

    def of_ones(self, place: Place, baby_steps: int) -> _core.LinearTransform:
        """The core's transform with the same diagonals, of any numbers."""
        alike: Any = self.without_values()
        found: OfMatrix = dataclasses.replace(alike, baby_steps=baby_steps)
        return found.transform(place)

    def rotations(self, place: Place) -> frozenset[int]:
        return frozenset(self.of_ones(place, self.baby_steps).rotations)

    def decided(self, place: Place) -> Self:
        """The same with the baby steps that cost least for these parameters, unless it has some."""
        if self.baby_steps:
            return self
        wanted = self.of_ones(place, 0).rotations
        steps = 1
        while steps < place.form.slots and self.of_ones(place, steps).rotations != wanted:
            steps *= 2
        own: Any = self
        return cast("Self", dataclasses.replace(own, baby_steps=steps))

    def encode(self, plan: LinearTransform, context: Context) -> None:
        plan.prepare(context)

    def forget(self, plan: LinearTransform, context: Context) -> None:
        forget(plan, context)

    def encoded_bytes(self, plan: LinearTransform) -> int:
        return plan.plaintext_bytes

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        return at.ev.transform(xs[0], at.plan)
