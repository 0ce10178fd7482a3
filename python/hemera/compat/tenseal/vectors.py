"""`tenseal.CKKSVector` and `tenseal.BFVVector`: vectors in the slots of ciphertexts."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from hemera.compat.tenseal.context import Context, home_of, require_galois_keys
from hemera.compat.tenseal.encrypted import EncryptedTensor, in_place
from hemera.compat.tenseal.keys import SecretKey
from hemera.compat.tenseal.matrices import multiply_matrix
from hemera.compat.tenseal.messages import whole_numbers
from hemera.compat.tenseal.plain_tensor import as_array
from hemera.compat.tenseal.polynomials import integer_polynomial, real_polynomial
from hemera.compat.tenseal.stored import aligned, bound, cipher_of, like, widened
from hemera.errors import FormatError, MismatchError, ParameterError
from hemera.inputs.encoding import power_of_two
from hemera.objects.ciphertext import Ciphertext

if TYPE_CHECKING:
    from typing_extensions import Self

_SIZES = 1


class EncryptedVector(EncryptedTensor):
    """A vector, in one ciphertext if it fits the slots, else in a batch of them."""

    _size: int

    def _start(self, context: object, vector: Any, scale: float | None) -> None:
        if not isinstance(context, Context):
            raise TypeError("context must be a tenseal.Context")
        values = as_array(vector, self._dtype)
        if values.ndim != 1:
            raise ParameterError("can only encrypt a vector")
        self._size, slots = len(values), home_of(context).params.max_slots
        rows = -(-self._size // slots)
        self._period = power_of_two(max(1, self._size)) if rows <= 1 else slots
        if rows > 1:
            warnings.warn(
                f"the input of {self._size} values takes {rows} ciphertexts of {slots} slots: matmul, "
                "enc_matmul_plain, conv2d_im2col and pack_vectors need one; a larger poly_modulus_degree has "
                "more slots",
                stacklevel=3,
            )
        self._context = context
        self._encrypt(context, self._placed(values, rows) if self._size else values, scale)

    def _placed(self, values: NDArray[Any], rows: int) -> NDArray[Any]:
        """One value after another, and zeros, as rows of one period each; no axis for a single row."""
        placed = np.zeros(max(1, rows) * self._period, values.dtype)
        placed[: len(values)] = values
        return placed if rows <= 1 else placed.reshape(rows, self._period)

    def size(self) -> int:
        """The number of values."""
        return self._size

    def __len__(self) -> int:
        return self._size

    @property
    def shape(self) -> list[int]:
        """[size()]."""
        return [self._size]

    def _mask(self) -> NDArray[Any]:
        return self._operand(np.ones(self._size, np.float64 if self._scheme == "ckks" else np.int64))

    def _operand(self, values: NDArray[Any]) -> NDArray[Any]:
        if values.ndim != 1:
            raise ParameterError("can only operate with a vector")
        if len(values) != self._size:
            raise MismatchError(
                f"can't compute on vectors of different sizes: {self._size} and {len(values)}"
            )
        return self._repeated(self._placed(values, self._rows))

    def _fills_period(self) -> bool:
        return self._size == self._rows * self._period

    @property
    def _rows(self) -> int:
        return 1 if self._cipher.ndim == 0 else len(self._cipher)

    def _paired(self, other: Self) -> tuple[Self, Self]:
        if self._size == other._size:
            return aligned(self, other)
        if other._size == 1:
            return aligned(self, other._as_number())
        if self._size == 1:
            first, second = aligned(self._as_number(), other)
            return like(first, cipher_of(first), _size=other._size), second
        raise MismatchError(f"can't compute on vectors of different sizes: {self._size} and {other._size}")

    def _as_number(self) -> Self:
        """A vector of one value with period 1. Other periods take a level and rotations."""
        if self._period == 1:
            return self
        require_galois_keys(self._linked)
        return self._everywhere(bound(self._masked()))

    def decrypt(self, secret_key: SecretKey | None = None) -> list[Any]:
        """The values.

        Args:
            secret_key: None: that of the context.

        Raises:
            ValueError: if there is no secret key.
            NoiseError: if BFV's noise is too large.
        """
        values: list[Any] = self._decrypted(secret_key).ravel()[: self._size].tolist()
        return values

    def sum(self, axis: int = 0) -> Self:
        """A vector of one value: the sum."""
        del axis
        if self._rows > 1:
            whole = self._masked()
            added = like(whole, bound(whole).sum(axis=0), _size=whole._period)
            return added._total(whole._period)._like_number()
        return self._total(self._size)._like_number()

    def _like_number(self) -> Self:
        return like(self, self._cipher, _size=1)

    def dot(self, other: Any) -> Self:
        """A vector of one value: the inner product with a vector, encrypted or not."""
        return self.mul(other).sum()

    def replicate_first_slot(self, n: int) -> Self:
        """A vector of n times the first value."""
        first = like(self, self._cipher, _size=1, _clean=self._clean and self._size == 1)._as_number()
        period = power_of_two(n)
        if n < 1 or period > home_of(self._linked).params.max_slots:
            raise ParameterError(f"n is from 1 to the number of slots, not {n}")
        wide = widened(first, period)
        return like(wide, cipher_of(wide), _size=n)

    replicate_first_slot_ = in_place(replicate_first_slot)

    @classmethod
    def pack_vectors(cls, vectors: Sequence[Self]) -> Self:
        """One vector after another in one. All have the same size. Takes a level.

        Raises:
            ParameterError: (a ValueError) if there is no vector, or too many for one ciphertext.
            MismatchError: (a ValueError) if sizes differ.
        """
        if not vectors:
            raise ParameterError("empty input vector")
        if not all(isinstance(vector, cls) for vector in vectors):
            raise TypeError(f"vectors to pack must be of type tenseal.{cls.__name__}")
        size = vectors[0]._size
        if any(vector._size != size for vector in vectors):
            raise MismatchError("vectors sizes are different")
        if size == 1:
            vectors = [vector._as_number() for vector in vectors]
        period = max(power_of_two(size * len(vectors)), *(vector._period for vector in vectors))
        context = vectors[0].context()
        if size * len(vectors) > home_of(context).params.max_slots:
            raise ParameterError(
                f"output size is bigger than slot count: {size * len(vectors)} values; take a larger "
                "poly_modulus_degree"
            )
        kind = np.float64 if cls._scheme == "ckks" else np.int64
        # A vector that repeats with its size stands at its place already. Others are moved there.
        in_place = all(vector._period == size for vector in vectors)
        row = vectors[0]._row_slots
        if not in_place and size * len(vectors) > row:
            raise ParameterError(
                f"pack_vectors: {size * len(vectors)} values can not be moved within a row of {row} slots; "
                "take vectors of a power of two, or a larger poly_modulus_degree"
            )
        packed: Ciphertext | None = None
        for index in reversed(range(len(vectors))):
            mask = np.zeros(period, kind)
            start = index * size if in_place else 0
            mask[start : start + size] = 1
            part = widened(vectors[index], period)
            masked = bound(part) * part._repeated(mask)
            if packed is not None and not in_place:
                require_galois_keys(context)
                packed = packed.rotate(-size)
            packed = masked if packed is None else packed + masked
        assert packed is not None
        return like(vectors[0], packed, _size=size * len(vectors), _period=period, _clean=True)

    def _extents(self) -> dict[int, Any]:
        sizes = [self._period] * (self._rows - 1)
        return {_SIZES: [*sizes, self._size - sum(sizes)]}

    def _read_extents(self, found: dict[int, Any], ciphertexts: int) -> tuple[int, ...]:
        sizes = whole_numbers(found.get(_SIZES, []))
        full = [size == home_of(self._linked).params.max_slots for size in sizes[:-1]]
        if len(sizes) != ciphertexts or not all(full) or not 0 < sizes[-1] <= self._period:
            raise FormatError(f"the bytes are no {type(self).__name__}: sizes {sizes}")
        self._size = sum(sizes)
        return () if ciphertexts == 1 else (ciphertexts,)


class CKKSVector(EncryptedVector):
    """A vector of floats.

    Args:
        context: of SCHEME_TYPE.CKKS.
        vector: anything that NumPy makes an array of one axis of.
        scale: of the encoding; None: `context.global_scale`. Scales below the primes' are raised to it.
    """

    _scheme: Literal["bfv", "ckks"] = "ckks"
    _dtype: Literal["float", "int"] = "float"

    def __init__(self, context: Context, vector: Any, scale: float | None = None) -> None:
        self._start(context, vector, scale)

    def _polynomial(self, coefficients: Sequence[Any]) -> Ciphertext:
        return real_polynomial(bound(self), coefficients)

    def _require_one_row(self, operation: str) -> None:
        if self._rows != 1:
            raise ParameterError(f"can't execute {operation} on chunked vectors")
        require_galois_keys(self._linked)

    def mm(self, other: Any) -> CKKSVector:
        """The vector times a plain matrix of shape (size(), columns), in one level.

        Raises:
            MismatchError: (a ValueError) if the matrix has another number of rows.
            ParameterError: (a ValueError) if the vector takes several ciphertexts.
        """
        self._require_one_row("matmul")
        matrix = as_array(other, "float")
        if matrix.ndim != 2:
            raise ParameterError("can only operate with a matrix")
        if len(matrix) != self._size:
            raise MismatchError(f"matrix shape doesn't match with vector size: {matrix.shape}, {self._size}")
        columns = matrix.shape[1]
        if not matrix.any():
            return CKKSVector(self._linked, np.zeros(columns), self._scale)
        context = self._linked
        cipher = multiply_matrix(bound(self), matrix, context._evaluator, context._matrices)
        return like(self, cipher, _size=columns, _period=cipher.slots, _clean=True)

    matmul = __matmul__ = mm

    mm_ = matmul_ = __imatmul__ = in_place(mm)

    def enc_matmul_plain(self, other: Any, row_size: int) -> CKKSVector:
        """An encrypted matrix of `enc_matmul_encoding` times a plain vector, in one level.

        Args:
            other: a vector of as many values as the matrix has columns.
            row_size: the number of its rows.

        Raises:
            MismatchError: (a ValueError) if they do not fit.
        """
        self._require_one_row("enc_matmul_plain")
        plain = as_array(other, "float")
        if plain.ndim != 1:
            raise ParameterError("can only operate with a vector")
        if not plain.size:
            raise ParameterError("Plain vector can't be empty")
        blocks = power_of_two(len(plain))
        if row_size < 1 or row_size * blocks != self._size:
            raise MismatchError(
                f"Matrix shape doesn't match with vector size: {self._size} values are no {blocks} columns "
                f"of {row_size}"
            )
        factors = np.zeros(self._period)
        factors[: row_size * len(plain)] = np.repeat(plain, row_size)
        cipher = bound(self) * factors
        apart = row_size * blocks // 2
        while apart >= row_size:
            cipher = cipher + cipher.rotate(apart)
            apart //= 2
        if row_size * blocks == self._period:  # a power of two: the sums repeat
            cipher = cipher.with_slots(row_size)
            return like(self, cipher, _size=row_size, _period=row_size, _clean=True)
        return like(self, cipher, _size=row_size, _clean=False)

    enc_matmul_plain_ = in_place(enc_matmul_plain)

    def conv2d_im2col(self, other: Any, windows_nb: int) -> CKKSVector:
        """An image of `im2col_encoding` convolved with a kernel, in one level: a value for each window.

        Args:
            other: the kernel, a matrix.
            windows_nb: the number of windows.
        """
        kernel = as_array(other, "float")
        if kernel.ndim != 2:
            raise ParameterError("can only operate with a matrix")
        if windows_nb < 1:
            raise ParameterError("Windows number can't be zero")
        if not kernel.size:
            raise ParameterError("Kernel matrix can't be empty")
        return self.enc_matmul_plain(kernel.ravel(), windows_nb)

    conv2d_im2col_ = in_place(conv2d_im2col)


class BFVVector(EncryptedVector):
    """A vector of integers modulo the context's plain_modulus, which decrypt to those nearest to 0.

    Args:
        context: of SCHEME_TYPE.BFV.
        vector: anything that NumPy makes an array of one axis of.
    """

    _scheme: Literal["bfv", "ckks"] = "bfv"
    _dtype: Literal["float", "int"] = "int"

    def __init__(self, context: Context, vector: Any) -> None:
        self._start(context, vector, None)

    def _polynomial(self, coefficients: Sequence[Any]) -> Ciphertext:
        return integer_polynomial(bound(self), coefficients)
