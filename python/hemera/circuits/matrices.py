"""Products of encrypted matrices with encrypted vectors and with each other: their plans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera import _core
from hemera.circuits.handles import ValueT, evaluated
from hemera.circuits.plans import ClearPlan
from hemera.parameters import require_naturals

if TYPE_CHECKING:
    from hemera.circuits.handles import Context
    from hemera.parameters import Parameters

__all__ = ["EncryptedProduct", "MatrixProduct", "MatrixVectorProduct"]

Matrix = NDArray[np.complex128]
Packed = NDArray[np.float64] | NDArray[np.complex128]
"""Of a real matrix, and of a complex one."""


class EncryptedProduct(ClearPlan):
    """What `MatrixVectorProduct` and `MatrixProduct` share: a plan that takes two ciphertexts (CKKS), both at
    its level. The usual relinearization key and those of `generate_keys(rotations=)` serve as well."""

    _native: _core.MatrixVectorProduct | _core.MatrixProduct

    @property
    def rotations(self) -> list[int]:
        """The rotations that need a key."""
        return self._native.rotations

    def __call__(self, a: ValueT, b: ValueT, *, out: ValueT | None = None) -> ValueT:
        """The product of two ciphertexts, by the evaluator that the first one is bound to.

        Raises:
            MissingKeyError: when the keys of `generate_keys(plan=)` are not there.
            MismatchError: when a factor has other slots or another batch, or belongs to other parameters.
            LevelError: when a factor is at a lower level.
        """
        return evaluated(self, self._title, "ciphertexts", a, (b,), out)

    def __repr__(self) -> str:
        return f"<{self._title} at level {self.level}, depth {self.depth}>"


def vectors_of(values: ArrayLike, columns: int) -> Matrix:
    """Complex vectors of shape (..., columns) that a matrix multiplies. ParameterError for another shape."""
    found = np.asarray(values, dtype=np.complex128)
    if found.ndim == 0 or found.shape[-1] != columns:
        raise _core.ParameterError(
            f"a matrix of {columns} columns does not multiply values of shape {found.shape}; the last "
            f"axis must have {columns}"
        )
    return found


def _typed_as(given: ArrayLike, packed: Matrix) -> Packed:
    """Complex numbers as those that they were made of: real where these were."""
    return packed if np.asarray(given).dtype.kind == "c" else np.ascontiguousarray(packed.real)


def _matrix(values: ArrayLike, rows: int, columns: int) -> Matrix:
    """A matrix of complex numbers. ParameterError for another shape."""
    found = np.ascontiguousarray(values, dtype=np.complex128)
    if found.shape != (rows, columns):
        raise _core.ParameterError(f"a matrix of shape {found.shape}, where ({rows}, {columns}) is planned")
    return found


class MatrixVectorProduct(EncryptedProduct):
    """An encrypted matrix times encrypted vectors (CKKS).

        product = hm.circuits.MatrixVectorProduct(params, rows=16, columns=64)
        ev = ctx.bind(ctx.generate_keys(sk, plan=product))
        m = ev.encrypt(product.pack(matrix))  # a batch of the matrix's diagonals
        y = product(m, ev.encrypt(vector))  # matrix @ vector

    By diagonals, with baby and giant steps, in one level. Where a vector's values are a batch, all of it is
    multiplied.

    Args:
        params: `hemera.ckks.Parameters`.
        rows, columns: of the matrix: vectors have `columns` values, products `rows`. Both are filled up with
            zeros to powers of two.
        level: of matrix and vectors; None: that of fresh encryptions.
        baby_steps: how many rotations share one preparation of the vector, a power of two; 0: as many as cost
            least.
        own_keys: see `InnerSum`.

    Raises:
        ParameterError: for extents that do not fit the slots.
        LevelError: for a level that is not there, or has none below.
        MismatchError: for parameters of another scheme.
    """

    _native: _core.MatrixVectorProduct

    def __init__(
        self,
        params: Parameters,
        rows: int,
        columns: int,
        *,
        level: int | None = None,
        baby_steps: int = 0,
        own_keys: bool = False,
    ) -> None:
        require_naturals(rows=rows, columns=columns, level=level or 0, baby_steps=baby_steps)
        native = _core.MatrixVectorProduct(params._native, rows, columns, level, baby_steps, own_keys)
        super().__init__(native, params)
        self._shape = (rows, columns)

    @property
    def _title(self) -> str:
        rows, columns = self._shape
        return f"encrypted matrix of {rows} x {columns} times a vector"

    def _prepare(self, context: Context) -> _core.PreparedMatrixVectorProduct:
        return _core.prepare_matrix_vector_product(context._native, self._native)

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns) of the matrix."""
        return self._shape

    @property
    def diagonals(self) -> int:
        """How many there are: the elements of the encrypted matrix's batch."""
        return self._native.diagonals

    def pack(self, matrix: ArrayLike) -> Packed:
        """What to encrypt of a matrix of shape (rows, columns): its diagonals, an array of shape
        (diagonals, slots). ParameterError for another shape."""
        packed = self._native.pack(_matrix(matrix, *self._shape).ravel())
        return _typed_as(matrix, np.asarray(packed, dtype=np.complex128).reshape(self.diagonals, -1))

    def evaluate_clear(self, matrix: ArrayLike, vectors: ArrayLike) -> Matrix:
        """The product in the clear, by the same diagonals, with vectors of shape (..., columns).
        ParameterError for other shapes."""
        entries = _matrix(matrix, *self._shape).ravel()
        rows, columns = self._shape
        given = vectors_of(vectors, columns)
        flat = given.reshape(-1, columns)
        products = [self._native.evaluate_clear(entries, np.ascontiguousarray(row)) for row in flat]
        return np.asarray(products, dtype=np.complex128).reshape(*given.shape[:-1], rows)


class MatrixProduct(EncryptedProduct):
    """An encrypted square matrix times another (CKKS), each in one ciphertext, row by row.

        product = hm.circuits.MatrixProduct(params, size=16)
        ev = ctx.bind(ctx.generate_keys(sk, plan=product))
        c = product(ev.encrypt(product.pack(a, "left")), ev.encrypt(product.pack(b, "right")))
        ctx.decrypt(c, sk).reshape(16, 16)  # a @ b

    By the algorithm of X. Jiang, M. Kim, K. Lauter and Y. Song (2018/1041): `size` products, in three levels.
    Products are factors again, unless factors come packed. Batches of matrices are multiplied one by one.

    Args:
        params: `hemera.ckks.Parameters`.
        size: rows and columns, a power of two; smaller matrices, also ones that are not square, are filled up
            with zeros.
        packed: whether `pack` does the first of the three steps, in the clear: one level less, and fewer
            rotations.
        level: of the factors; None: that of fresh encryptions.

    Raises:
        ParameterError: for a size that is no power of two from 2, or whose square is more than the slots.
        LevelError: for a level that is not there, or has fewer below than the depth.
        MismatchError: for parameters of another scheme.
    """

    _native: _core.MatrixProduct

    def __init__(
        self, params: Parameters, size: int, *, packed: bool = False, level: int | None = None
    ) -> None:
        require_naturals(size=size, level=level or 0)
        super().__init__(_core.MatrixProduct(params._native, size, level, packed), params)
        self._size = size
        self._packed = packed

    @property
    def _title(self) -> str:
        return f"product of encrypted matrices of {self._size} x {self._size}"

    def _prepare(self, context: Context) -> _core.PreparedMatrixProduct:
        return _core.prepare_matrix_product(context._native, self._native)

    @property
    def size(self) -> int:
        """Rows and columns."""
        return self._size

    @property
    def packed(self) -> bool:
        """Whether factors come as `pack` makes them for one side."""
        return self._packed

    @property
    def slots(self) -> int:
        """size ** 2."""
        return self._native.slots

    def pack(self, matrices: ArrayLike, side: Literal["left", "right"]) -> Packed:
        """What to encrypt of matrices of shape (..., rows, columns) with at most `size` of each: an array of
        shape (..., slots). The side matters for packed factors.

        Raises:
            ParameterError: for larger matrices, and another side.
        """
        if side not in ("left", "right"):
            raise _core.ParameterError(f"side must be 'left' or 'right', not {side!r}")
        whole = self._filled(matrices)
        flat = whole.reshape(-1, self.slots)
        if self._packed:
            flat = np.asarray([self._native.pack(row, side == "left") for row in flat], dtype=np.complex128)
        return _typed_as(matrices, flat.reshape(*whole.shape[:-2], self.slots))

    def evaluate_clear(self, left: ArrayLike, right: ArrayLike) -> Matrix:
        """The product of matrices in the clear, by the same steps: of shape (size, size). ParameterError for
        larger ones."""
        a, b = (self._filled(each) for each in (left, right))
        if a.ndim != 2 or b.ndim != 2:
            raise _core.ParameterError(f"matrices of shapes {a.shape} and {b.shape}: two axes are needed")
        product = self._native.evaluate_clear(a.ravel(), b.ravel())
        return np.asarray(product, dtype=np.complex128).reshape(self._size, self._size)

    def _filled(self, matrices: ArrayLike) -> Matrix:
        """With zeros after the last row and column."""
        given = np.asarray(matrices, dtype=np.complex128)
        if given.ndim < 2 or max(given.shape[-2:]) > self._size:
            raise _core.ParameterError(
                f"matrices of shape {given.shape} do not fit {self._size} x {self._size}; the last two axes "
                "are rows and columns"
            )
        rows, columns = given.shape[-2:]
        whole = np.zeros((*given.shape[:-2], self._size, self._size), dtype=np.complex128)
        whole[..., :rows, :columns] = given
        return whole
