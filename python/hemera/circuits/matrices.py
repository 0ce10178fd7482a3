"""Plans of products of matrices, encrypted or in the clear, with encrypted vectors and matrices."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera import _core
from hemera.circuits.handles import ValueT, evaluated
from hemera.circuits.plans import ClearPlan
from hemera.inputs.plain import plain_array
from hemera.parameters import require_naturals

if TYPE_CHECKING:
    from hemera.parameters import Parameters

Matrix = NDArray[np.complex128]
Packed = NDArray[np.float64] | NDArray[np.complex128]
"""A packed real matrix, and a packed complex one."""


class EncryptedProduct(ClearPlan):
    """A plan of two ciphertexts (CKKS), both at its level: the base of `MatrixVectorProduct`, `MatrixProduct`
    and `MatrixBatchProduct`."""

    _native: _core.MatrixVectorProduct | _core.MatrixProduct | _core.MatrixBatchProduct

    def __call__(self, a: ValueT, b: ValueT, *, out: ValueT | None = None) -> ValueT:
        """The product of two ciphertexts, by the evaluator that the first one is bound to.

        Raises:
            MissingKeyError: if keys of `generate_keys(plan=)` are missing.
            MismatchError: if a factor has other slots or another batch, or belongs to other parameters.
            LevelError: if a factor is at a lower level.
        """
        return evaluated(self, self._title, "ciphertexts", a, (b,), out)


def vectors_of(values: ArrayLike, columns: int) -> Matrix:
    """Complex vectors of shape (..., columns), factors of a matrix. ParameterError if the shape is another
    one."""
    found = plain_array(values, "a matrix", np.complex128)
    if found.ndim == 0 or found.shape[-1] != columns:
        raise _core.ParameterError(
            f"a matrix of {columns} columns does not multiply values of shape {found.shape}; the last "
            f"axis must have {columns}"
        )
    return found


def _typed_as(given: ArrayLike, packed: Matrix) -> Packed:
    """The packed numbers; real ones if the given numbers were real."""
    return packed if np.asarray(given).dtype.kind == "c" else np.ascontiguousarray(packed.real)


def _matrix(values: ArrayLike, rows: int, columns: int) -> Matrix:
    """A matrix of complex numbers. ParameterError if the shape is another one."""
    found = np.ascontiguousarray(plain_array(values, "a matrix"), dtype=np.complex128)
    if found.shape != (rows, columns):
        raise _core.ParameterError(f"a matrix of shape {found.shape}, where ({rows}, {columns}) is planned")
    return found


class MatrixVectorProduct(EncryptedProduct):
    """An encrypted matrix times encrypted vectors (CKKS).

        product = hm.circuits.MatrixVectorProduct(params, rows=16, columns=64)
        ev = ctx.bind(ctx.generate_keys(sk, plan=product))
        m = ev.encrypt(product.pack(matrix))  # a batch of the matrix's diagonals
        y = product(m, ev.encrypt(vector))  # matrix @ vector

    The product is one of diagonals, with baby and giant steps, and takes one level. A batch of vectors is
    multiplied element by element.

    Args:
        params: `hemera.ckks.Parameters`.
        rows, columns: the shape of the matrix. Vectors have `columns` values, products `rows`; both are
            filled up with zeros to powers of two.
        level: the level of matrix and vectors; None: that of fresh encryptions.
        baby_steps: the number of rotations that share one preparation of the vector, a power of two; 0: the
            cheapest.
        own_keys: see `InnerSum`.

    Raises:
        ParameterError: if the extents do not fit the slots.
        LevelError: if there is no such level, or none below it.
        MismatchError: if the parameters are of another scheme.
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
    def rotations(self) -> list[int]:
        """The steps of the rotations that need a key. Keys of `generate_keys(rotations=)`, and the usual
        relinearization key, serve as well."""
        return self._native.rotations

    @property
    def _title(self) -> str:
        rows, columns = self._shape
        return f"encrypted matrix of {rows} x {columns} times a vector"

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns) of the matrix."""
        return self._shape

    @property
    def diagonals(self) -> int:
        """The number of diagonals, which is that of elements in the encrypted matrix's batch."""
        return self._native.diagonals

    def pack(self, matrix: ArrayLike) -> Packed:
        """The diagonals of a matrix of shape (rows, columns), for encryption: an array of shape
        (diagonals, slots). ParameterError if the shape is another one."""
        packed = self._native.pack(_matrix(matrix, *self._shape).ravel())
        return _typed_as(matrix, np.asarray(packed, dtype=np.complex128).reshape(self.diagonals, -1))

    def evaluate_clear(self, matrix: ArrayLike, vectors: ArrayLike) -> Matrix:
        """The product in the clear, by the same diagonals, with vectors of shape (..., columns).
        ParameterError if the shapes are others."""
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

    The algorithm is that of X. Jiang, M. Kim, K. Lauter and Y. Song (ePrint 2018/1041): `size` products, in
    three levels. Unless `packed` is set, a product can be a factor of the next. Batches of matrices are
    multiplied element by element.

    Args:
        params: `hemera.ckks.Parameters`.
        size: the number of rows and of columns, a power of two. Smaller matrices, also rectangular ones, are
            filled up with zeros.
        packed: whether `pack` does the first of the three steps, in the clear. This takes one level less, and
            fewer rotations.
        level: the level of the factors; None: that of fresh encryptions.

    Raises:
        ParameterError: if the size is no power of two from 2, or its square is more than the slots.
        LevelError: if there is no such level, or fewer below it than the depth.
        MismatchError: if the parameters are of another scheme.
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
    def rotations(self) -> list[int]:
        """The steps of the rotations that need a key. Keys of `generate_keys(rotations=)`, and the usual
        relinearization key, serve as well."""
        return self._native.rotations

    @property
    def _title(self) -> str:
        return f"product of encrypted matrices of {self._size} x {self._size}"

    @property
    def size(self) -> int:
        """The number of rows and of columns."""
        return self._size

    @property
    def packed(self) -> bool:
        """Whether `pack` does the first step."""
        return self._packed

    @property
    def slots(self) -> int:
        """size ** 2."""
        return self._native.slots

    def pack(self, matrices: ArrayLike, side: Literal["left", "right"]) -> Packed:
        """Matrices of shape (..., rows, columns), with at most `size` of each, for encryption: an array of
        shape (..., slots). The side matters for packed factors.

        Raises:
            ParameterError: if matrices are larger, or the side is another one.
        """
        left = _is_left(side)
        whole = self._filled(matrices)
        flat = whole.reshape(-1, self.slots)
        if self._packed:
            flat = np.asarray([self._native.pack(row, left) for row in flat], dtype=np.complex128)
        return _typed_as(matrices, flat.reshape(*whole.shape[:-2], self.slots))

    def evaluate_clear(self, left: ArrayLike, right: ArrayLike) -> Matrix:
        """The product of matrices in the clear, by the same steps, of shape (size, size). ParameterError if a
        matrix is larger."""
        a, b = (self._filled(each) for each in (left, right))
        if a.ndim != 2 or b.ndim != 2:
            raise _core.ParameterError(f"matrices of shapes {a.shape} and {b.shape}: two axes are needed")
        product = self._native.evaluate_clear(a.ravel(), b.ravel())
        return np.asarray(product, dtype=np.complex128).reshape(self._size, self._size)

    def _filled(self, matrices: ArrayLike) -> Matrix:
        """The matrices with zeros after their last row and column."""
        given = plain_array(matrices, "matrices", np.complex128)
        if given.ndim < 2 or max(given.shape[-2:]) > self._size:
            raise _core.ParameterError(
                f"matrices of shape {given.shape} do not fit {self._size} x {self._size}; the last two axes "
                "are rows and columns"
            )
        rows, columns = given.shape[-2:]
        whole = np.zeros((*given.shape[:-2], self._size, self._size), dtype=np.complex128)
        whole[..., :rows, :columns] = given
        return whole


class MatrixBatchProduct(EncryptedProduct):
    """Many pairs of encrypted square matrices multiplied at once (CKKS).

        product = hm.circuits.MatrixBatchProduct(params, size=16)
        ev = ctx.bind(ctx.generate_keys(sk, plan=product))
        c = product(ev.encrypt(product.pack(a, "left")), ev.encrypt(product.pack(b, "right")))
        product.unpack(ctx.decrypt(c, sk))  # a @ b, of shape (product.pairs, 16, 16)

    A ciphertext holds a row (a column of left factors) of N / 2 / `size` matrices. A product takes one level
    and 2 * `size` keys of its own, and no rotation. It is a right factor of the next product. Many pairs cost
    what one does: `MatrixProduct` is for single ones.

    Args:
        params: `hemera.ckks.Parameters`.
        size: the number of rows and of columns, a power of two from 2 to N/64. Smaller matrices, also
            rectangular ones, are filled up with zeros.
        level: the level of the factors; None: that of fresh encryptions.

    Raises:
        ParameterError: if the size is another one.
        LevelError: if there is no such level, or none below it.
        MismatchError: if the parameters are of another scheme.
    """

    _native: _core.MatrixBatchProduct

    def __init__(self, params: Parameters, size: int, *, level: int | None = None) -> None:
        require_naturals(size=size, level=level or 0)
        super().__init__(_core.MatrixBatchProduct(params._native, size, level), params)
        self._size = size

    @property
    def _title(self) -> str:
        return f"products of {self.pairs} pairs of encrypted matrices of {self._size} x {self._size}"

    @property
    def size(self) -> int:
        """The number of rows and of columns."""
        return self._size

    @property
    def pairs(self) -> int:
        """The number of pairs of matrices, N / 2 / size."""
        return self._native.pairs

    def pack(self, matrices: ArrayLike, side: Literal["left", "right"]) -> Matrix:
        """Matrices of shape (pairs, rows, columns), with at most `pairs` of them and at most `size` rows and
        columns, for encryption: a complex array of shape (size, slots).

        Raises:
            ParameterError: if they are more or larger, or the side is another one.
        """
        packed = self._native.pack(self._filled(matrices).ravel(), _is_left(side))
        return np.asarray(packed, dtype=np.complex128).reshape(self._size, -1)

    def unpack(self, values: ArrayLike, side: Literal["left", "right"] = "right") -> Matrix:
        """The matrices of decrypted values of shape (size, slots), as (pairs, size, size); products come as
        right factors do. ParameterError if the shape is another one."""
        given = np.ascontiguousarray(values, dtype=np.complex128)
        found = self._native.unpack(given.ravel(), _is_left(side))
        return np.asarray(found, dtype=np.complex128).reshape(self.pairs, self._size, self._size)

    def evaluate_clear(self, left: ArrayLike, right: ArrayLike) -> Matrix:
        """The products of matrices of shape (pairs, rows, columns) in the clear, of shape (pairs, size,
        size). ParameterError if they are more or larger."""
        found: Matrix = self._filled(left) @ self._filled(right)
        return found

    def _filled(self, matrices: ArrayLike) -> Matrix:
        """As many matrices as there are pairs, with zeros after the last one, its rows and its columns."""
        given = plain_array(matrices, "matrices", np.complex128)
        whole = np.zeros((self.pairs, self._size, self._size), dtype=np.complex128)
        if given.ndim != 3 or any(x > y for x, y in zip(given.shape, whole.shape, strict=True)):
            raise _core.ParameterError(
                f"matrices of shape {given.shape} do not fit {whole.shape}; the axes are pairs, rows and "
                "columns"
            )
        count, rows, columns = given.shape
        whole[:count, :rows, :columns] = given
        return whole


def _is_left(side: str) -> bool:
    """ParameterError if the side is neither."""
    if side not in ("left", "right"):
        raise _core.ParameterError(f"side must be 'left' or 'right', not {side!r}")
    return side == "left"


def diagonals_by_number(diagonals: Mapping[int, ArrayLike], slots: int) -> tuple[_core.MatrixDiagonals, bool]:
    """Diagonals as the core takes them, and whether one is complex. ParameterError for lengths, numbers and
    entries out of range, and for two of one number."""
    found = _core.MatrixDiagonals()
    is_complex = False
    for number, entries in diagonals.items():
        given = plain_array(entries, "entries")
        if given.ndim == 0:
            given = given.reshape(1)
        elif given.shape != (slots,):
            raise _core.ParameterError(
                f"diagonal {number} has shape {given.shape}; over {slots} slots it is one number, or an "
                f"array of shape ({slots},)"
            )
        at = operator.index(number)
        if not -slots < at < slots:
            raise _core.ParameterError(f"there is no diagonal {at} over {slots} slots")
        if not found.add(at % slots, numbers_of(given)):
            raise _core.ParameterError(f"diagonals {at % slots} and {at % slots - slots} are the same")
        is_complex = is_complex or given.dtype.kind == "c"
    return found, is_complex


def numbers_of(given: NDArray[Any]) -> Packed:
    """Real numbers as they are, all others as complex ones."""
    if given.dtype.kind in "biuf":
        return np.ascontiguousarray(given, dtype=np.float64)
    return np.ascontiguousarray(given, dtype=np.complex128)


def indices_of(given: ArrayLike, what: str) -> NDArray[np.int64]:
    """Rows or columns. TypeError unless they are integers."""
    found = plain_array(given, "a matrix")
    if found.dtype.kind not in "iu" and found.size:
        raise TypeError(f"{what} of entries are integers, not of type {found.dtype}")
    return np.ascontiguousarray(found, dtype=np.int64)
