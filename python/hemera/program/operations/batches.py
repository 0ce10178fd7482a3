"""Batches whose slots are samples: linear maps between their elements, and products of pairs of matrices."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from hemera import _core
from hemera.arrays.layout import as_entries, as_values
from hemera.circuits import MatrixBatchProduct, PlainMatrixProduct
from hemera.errors import MismatchError, ParameterError
from hemera.objects.batches import add_many, concatenate, stack
from hemera.objects.ciphertext import Ciphertext, gather, places_in
from hemera.objects.context import Context
from hemera.parameters import Parameters
from hemera.program.operations.base import LATER, Operation, Running
from hemera.program.operations.places import Place
from hemera.program.values import (
    MAX_ELEMENTS,
    Array,
    Form,
    SchemeName,
    common_shape,
    constant,
    integer,
    read_only,
)

_MOST_INTEGER = (1 << 15) - 1


def indices(values: Any, what: str, axes: int) -> Array:
    """Numbers of elements. TypeError or ParameterError for anything else."""
    given = np.asarray(values)
    if given.dtype.kind not in "iu" or given.ndim != axes or given.size == 0:
        raise TypeError(f"{what}: integers on {axes} axes are needed, not {given.dtype} and {given.shape}")
    if given.min() < 0 or given.max() >= MAX_ELEMENTS:
        raise ParameterError(f"{what}: elements have numbers from 0 to {MAX_ELEMENTS - 1}")
    return read_only(values, np.int64)


def require_elements(operation: str, form: Form, taken: Array) -> None:
    """MismatchError unless the value is a batch on one axis that has these elements."""
    if len(form.shape) != 1 or taken.max() >= form.shape[0]:
        raise MismatchError(f"{operation}: a batch of shape {form.shape} has no element {taken.max()}")


def _gathered(x: Ciphertext, places: Array) -> Ciphertext:
    """The ciphertexts at some places of a batch, which stays where that are all of them in their order."""
    if np.array_equal(places.ravel(), places_in(x).ravel()):
        return x if x.shape == places.shape else x.reshape(*places.shape)
    return gather(x, places)


def _last_first(x: Ciphertext) -> Ciphertext:
    """The batch with its last axis as the first one."""
    return _gathered(x, np.moveaxis(places_in(x), -1, 0))


def _first_last(x: Ciphertext) -> Ciphertext:
    """The batch with its first axis as the last one."""
    return _gathered(x, np.moveaxis(places_in(x), 0, -1))


def joined(parts: list[Ciphertext]) -> Ciphertext:
    """Batches one after the other, along their last axes."""
    return parts[0] if len(parts) == 1 else _first_last(concatenate([_last_first(x) for x in parts]))


def elements_of(x: Ciphertext, taken: Array) -> Ciphertext:
    """Elements of a batch along its last axis."""
    return _gathered(x, places_in(x)[..., taken])


@dataclass(frozen=True, eq=False)
class Reordered(Operation):
    """Elements of a batch in another order; they may come several times."""

    name: ClassVar[str] = "reordered"
    linear = True
    moves = True
    adds_noise = False
    scales = "kept"
    taken: Array
    """Shape (elements of the result,)."""

    def validated(self, scheme: SchemeName) -> Operation:
        return Reordered(indices(self.taken, "an order of elements", 1))

    def form(self, forms: list[Form]) -> Form:
        require_elements(self.name, forms[0], self.taken)
        return Form(forms[0].slots, self.taken.shape)

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        return elements_of(xs[0], self.taken)

    def clear(self, *xs: Array) -> Array:
        return xs[0][..., self.taken, :]


class Joined(Operation):
    """Batches one after the other."""

    name = "joined"
    operands = 0
    linear = True
    moves = True
    adds_noise = False
    scales = "kept"

    def form(self, forms: list[Form]) -> Form:
        if any(len(form.shape) != 1 or form.slots != forms[0].slots for form in forms):
            raise MismatchError(f"{self.name}: batches on one axis, of equal slots, are needed")
        return Form(forms[0].slots, (sum(form.shape[0] for form in forms),))

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        if len({(x.level, x.scale) for x in xs}) == 1:
            return joined(list(xs))
        # One level and scale for all: without products that wait to be rescaled.
        own = [at.ev.rescale(x) if _core.finished(x._native)[0] < x.level else x for x in xs]
        lowest = min(x.level for x in own)
        return joined([at.ev.at_level(x, lowest) if x.level > lowest else x for x in own])

    def clear(self, *xs: Array) -> Array:
        lead = common_shape(self.name, [x.shape[:-2] for x in xs])
        return np.concatenate([np.broadcast_to(x, (*lead, *x.shape[-2:])) for x in xs], axis=-2)


@dataclass(frozen=True, eq=False)
class MatrixRows(Operation):
    """A plain matrix times parts of a batch: element r * parts + p of the result is the sum over j of
    matrix[r, j] * x[taken[j, p]], by `hemera.circuits.PlainMatrixProduct`.

    Matrices of integers of 16 bits are multiplied exactly, and take no level. Others are rounded; 32 bits are
    two products, with the rounded weights and with the rests.
    """

    name: ClassVar[str] = "matrix of rows"
    schemes: ClassVar[tuple[SchemeName, ...]] = ("ckks",)
    linear = True
    scales = "kept"
    timed_by = ("matrix.shape", "taken", "bits", "rescaled", "is_whole")
    matrix: Array
    """Shape (rows, columns)."""
    taken: Array
    """Shape (columns, parts)."""
    bits: int = 16
    """The bits of the largest weight, where weights are rounded: 8, 16 or 32."""
    rescaled: bool = field(default=True, metadata=LATER)
    """Where weights are rounded to 8 or 16 bits: whether the product takes a level; if not, its scale is
    larger by `factor`."""

    def validated(self, scheme: SchemeName) -> Operation:
        matrix = constant(self.matrix, scheme, "a matrix")
        taken = indices(self.taken, "parts of a batch", 2)
        if matrix.ndim != 2 or matrix.dtype.kind == "c" or len(taken) != matrix.shape[1]:
            raise MismatchError(
                f"a real matrix of shape {matrix.shape} and parts of shape {taken.shape} do not fit: a part "
                "has an element for each column"
            )
        bits = integer(self.bits, "bits of weights", 8, 32)
        if bits not in (8, 16, 32):
            raise ParameterError(f"weights have 8, 16 or 32 bits, not {bits}")
        if not isinstance(self.rescaled, bool) or (bits == 32 and not self.rescaled):
            raise ParameterError(
                f"weights of {bits} bits, rescaled={self.rescaled!r}: those of 32 bits are rescaled"
            )
        return MatrixRows(matrix, taken, bits, self.rescaled)

    @property
    def is_whole(self) -> bool:
        """Whether the matrix is multiplied exactly."""
        return bool(
            (self.matrix == np.rint(self.matrix)).all() and np.abs(self.matrix).max() <= _MOST_INTEGER
        )

    @property
    def factor(self) -> float:
        """Between weights of 8 or 16 bits and their integers, where the product is not rescaled."""
        return 1.0 if self.is_whole else (2.0 ** (self.bits - 1) - 1) / float(np.abs(self.matrix).max())

    @property
    def depth(self) -> int:
        return int(self.rescaled and not self.is_whole)

    def without_rescale(self) -> Operation | None:
        if self.bits > 16:
            return None
        return self if self.is_whole else replace(self, rescaled=False)

    def noise(self, at: Place, *xs: Array) -> Any:
        # Rounding of the weights is known, and not drawn.
        own_errors = (
            each.expected_error(0.0)[0] ** 2 - each._native.rounding_of_weights**2 for each in self.plan(at)
        )
        return math.sqrt(sum(max(0.0, each) for each in own_errors))

    def rounded_result(self, at: Place, x: Array, *xs: Array) -> Array:
        return self.rounded(self.plan(at), xs[0])

    def form(self, forms: list[Form]) -> Form:
        require_elements(self.name, forms[0], self.taken)
        return Form(forms[0].slots, (len(self.matrix) * self.taken.shape[1],))

    def plan(self, place: Place) -> tuple[PlainMatrixProduct, ...]:
        """The products whose sum it is; none where it is exact."""
        if self.is_whole:
            return ()

        def of(matrix: Array, bits: Any) -> PlainMatrixProduct:
            return PlainMatrixProduct(
                matrix,
                place.params,
                bits=bits,
                level=place.level,
                rescaled=self.rescaled,
                slots=place.form.slots,
            )

        if self.bits < 32:
            return (of(self.matrix, self.bits),)
        first = of(self.matrix, 16)
        return first, of(self.matrix - first.integers / first.factor, 16)

    def encode(self, plan: tuple[PlainMatrixProduct, ...], context: Context) -> None:
        for each in plan:
            each.prepare(context)

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        x = xs[0]
        places = places_in(x)[..., self.taken]  # [requests..., columns, parts]
        whole = x.ndim == 1 and np.array_equal(self.taken, places_in(x)[:, np.newaxis])
        parts = x if whole else _gathered(x, np.moveaxis(places, -2, 0))
        products = [at.ev.multiply_rows(each, parts) for each in at.plan or (self.matrix.astype(np.int16),)]
        product = add_many(products) if len(products) > 1 else products[0]  # [rows, requests..., parts]
        if whole:
            return product
        own = np.moveaxis(places_in(product), 0, -2)
        return _gathered(product, own.reshape(*own.shape[:-2], -1))

    def clear(self, *xs: Array) -> Array:
        return self._product(self.matrix, xs[0])

    def rounded(self, plan: tuple[PlainMatrixProduct, ...], x: Array) -> Array:
        """The result in the clear, with the rounded weights of a plan."""
        weights = [each.integers / each.factor for each in plan] or [self.matrix]
        return self._product(np.sum(weights, axis=0), x)

    def _product(self, matrix: Array, x: Array) -> Array:
        own = np.tensordot(matrix, x[..., self.taken, :], axes=(1, -3))  # [rows, ..., parts, slots]
        moved: Array = np.moveaxis(own, 0, -3)
        return moved.reshape(*moved.shape[:-3], -1, moved.shape[-1])


@dataclass(frozen=True)
class PairProducts(Operation):
    """Products of the pairs of matrices that two batches hold, by `hemera.circuits.MatrixBatchProduct`."""

    name: ClassVar[str] = "products of pairs"
    operands: ClassVar[int] = 2
    schemes: ClassVar[tuple[SchemeName, ...]] = ("ckks",)
    depth = 1
    timed_by = ("level",)
    level: int | None = None
    """The level of the factors, which keys are for: decided once, when the model is packaged."""

    def validated(self, scheme: SchemeName) -> Operation:
        return PairProducts(None if self.level is None else integer(self.level, "a level", 1, 1 << 10))

    def noise(self, at: Place, *xs: Array) -> Any:
        # A slot is a sum of as many entries as a matrix has rows.
        return self.plan(at).expected_error(0.0)[0] * math.sqrt(at.form.shape[0])

    def form(self, forms: list[Form]) -> Form:
        if len(forms[0].shape) != 1 or forms[0] != forms[1]:
            raise MismatchError(f"{self.name}: batches on one axis, alike in both factors, are needed")
        return forms[0]

    def settings(self, place: Place) -> tuple[int, int]:
        """The fields that decide the keys: the size of the matrices, and the level."""
        return place.form.shape[0], place.level if self.level is None else self.level

    def decided(self, place: Place) -> PairProducts:
        return PairProducts(self.settings(place)[1])

    def plan(self, place: Place) -> MatrixBatchProduct:
        return pair_product(place.params, *self.settings(place))

    def encode(self, plan: MatrixBatchProduct, context: Context) -> None:
        plan.prepare(context)

    def run(self, at: Running, *xs: Ciphertext) -> Ciphertext:
        shape, size = xs[0].shape, xs[0].shape[-1]
        left, right = (x.reshape(-1, size) for x in xs)
        found = [at.ev.multiply_matrices(at.plan, a, b) for a, b in zip(left, right, strict=True)]
        return stack(found).reshape(*shape)

    def clear(self, *xs: Array) -> Array:
        size, slots = xs[0].shape[-2:]
        # Columns and rows are [..., line, entry, pair].
        a, b = (as_entries(x, size).reshape(*x.shape[:-1], size, -1) for x in xs)
        return as_values(np.einsum("...kip,...kjp->...ijp", a, b).reshape(*xs[0].shape[:-1], slots), size)


@functools.lru_cache(maxsize=16)
def pair_product(params: Parameters, size: int, level: int) -> MatrixBatchProduct:
    """One plan for all products of one size and level. Errors as of
    `hemera.circuits.MatrixBatchProduct`."""
    return MatrixBatchProduct(params, size, level=level)
