"""Matrices in the clear times encrypted rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera import _core
from hemera.circuits.handles import ValueT, evaluated
from hemera.circuits.matrices import Matrix
from hemera.circuits.needs import size_text
from hemera.circuits.plans import ClearPlan
from hemera.inputs.plain import plain_array
from hemera.parameters import require_naturals

if TYPE_CHECKING:
    from hemera.parameters import Parameters


def real_matrix(values: ArrayLike, operation: str) -> NDArray[np.float64]:
    """A matrix of real numbers.

    Raises:
        TypeError: for complex numbers, or none.
        MismatchError: for another number of axes than two.
    """
    given = plain_array(values, "a matrix")
    if given.dtype.kind not in "biuf":
        raise TypeError(
            f"{operation} takes a matrix of real numbers, not of {given.dtype}; multiply by the real and the "
            "imaginary part"
        )
    return np.ascontiguousarray(_of_two_axes(given, operation), dtype=np.float64)


def complex_matrix(values: ArrayLike, operation: str) -> Matrix:
    """A matrix of numbers.

    Raises:
        TypeError: for no numbers.
        MismatchError: for another number of axes than two.
    """
    given = plain_array(values, "a matrix")
    if given.dtype.kind not in "biufc":
        raise TypeError(f"{operation} takes a matrix of numbers, not of {given.dtype}")
    return np.ascontiguousarray(_of_two_axes(given, operation), dtype=np.complex128)


def _of_two_axes(given: NDArray[Any], operation: str) -> NDArray[Any]:
    if given.ndim != 2:
        raise _core.MismatchError(f"{operation}: a matrix has two axes, and this has shape {given.shape}")
    return given


class RowsProduct(ClearPlan):
    """A plan of a matrix in the clear times encrypted rows (CKKS): the base of `PlainMatrixProduct` and
    `PackedRowsProduct`."""

    _shape: tuple[int, int]

    def __call__(self, x: ValueT, *, out: ValueT | None = None) -> ValueT:
        """The product with a batch of ciphertexts, by the evaluator that `x` is bound to.

        Raises:
            MissingKeyError: if keys that the plan needs are missing.
            MismatchError: if the batch has another extent than the plan's, other slots than packed rows have,
                or `x` belongs to other parameters.
            LevelError: if `x` is at a lower level than the plan's.
        """
        return evaluated(self, self._title, "a batch of ciphertexts", x, (), out)

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns) of the matrix."""
        return self._shape


class PlainMatrixProduct(RowsProduct):
    """A matrix in the clear times an encrypted matrix whose rows are ciphertexts (CKKS).

        layer = hm.circuits.PlainMatrixProduct(weights, params, bits=8)
        y = layer(ev.encrypt(x))  # weights @ x, for x of shape (columns, values)

    The weights are rounded to integers of 8 or 16 bits, and a row of the product is a sum of integer
    multiples of ciphertexts: no key, no rotation and no encoded plaintext. The backend computes it as a
    product of matrices modulo each prime, with weights of 1 or 2 bytes in memory. It is the way for many
    values in each row (a batch of inputs, or their tokens); `LinearTransform` is that for matrices that mix
    the slots of one ciphertext.

    Args:
        weights: real numbers of shape (rows, columns).
        params: `hemera.ckks.Parameters`.
        bits: of the largest weight, its sign included: 8 or 16. What rounding changes is part of
            `expected_error`.
        level: the level of the ciphertexts; None: that of fresh encryptions.
        rescaled: whether the product is a level lower, with that level's scale. If not, it takes no level,
            and its scale is larger by the weights' factor.
        slots: those of the ciphertexts, for `expected_error`; None: as many as there can be.

    Raises:
        MismatchError: if the matrix has other axes, or the parameters are of another scheme.
        ParameterError: if a weight is not finite, there is none, or `bits` is another number.
        LevelError: if there is no such level, or none below it.
        TypeError: if the weights are no real numbers.
    """

    _native: _core.PlainMatrixProduct

    def __init__(
        self,
        weights: ArrayLike,
        params: Parameters,
        *,
        bits: Literal[8, 16] = 16,
        level: int | None = None,
        rescaled: bool = True,
        slots: int | None = None,
    ) -> None:
        require_naturals(bits=bits, level=level or 0, slots=slots or 1)
        matrix = real_matrix(weights, "PlainMatrixProduct")
        native = _core.PlainMatrixProduct(params._native, matrix, level, bits, rescaled, slots)
        super().__init__(native, params)
        self._shape = (matrix.shape[0], matrix.shape[1])
        self._bits = bits

    @property
    def _title(self) -> str:
        rows, columns = self._shape
        return f"matrix of {rows} x {columns}, {self._bits} bits, times encrypted rows"

    def _facts(self) -> list[str]:
        return [
            f"weights of {size_text(self.weight_bytes)} in memory; rounding them changes a product by "
            f"{self._native.rounding_of_weights:.2g} (values of magnitude 1)"
        ]

    @property
    def bits(self) -> int:
        """The bits of the largest weight, its sign included."""
        return self._bits

    @property
    def factor(self) -> float:
        """Between the weights and their integers."""
        return self._native.factor

    @property
    def integers(self) -> NDArray[np.int16]:
        """The rounded weights, of shape (rows, columns): `integers / factor` is near the weights."""
        return np.asarray(self._native.integers, np.int16).reshape(self._shape)

    @property
    def weight_bytes(self) -> int:
        """The bytes of the weights in the device's memory."""
        rows, columns = self._shape
        return rows * columns * (1 if self._bits == 8 else 2)

    def evaluate_clear(self, x: ArrayLike) -> NDArray[np.complex128]:
        """The product with the rounded weights in the clear, with `x` of shape (columns, ...). MismatchError
        if the shape is another one."""
        given = plain_array(x, "vectors", np.complex128)
        if given.ndim == 0 or given.shape[0] != self._shape[1]:
            raise _core.MismatchError(
                f"a matrix of shape {self._shape} and values of shape {given.shape} do not fit; their first "
                f"axis must have {self._shape[1]}"
            )
        return np.asarray(np.tensordot(self.integers / self.factor, given, 1), dtype=np.complex128)
