"""A plan of matrices in the clear times encrypted matrices of few columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from hemera import _core
from hemera.circuits.matrices import Matrix
from hemera.circuits.needs import size_text
from hemera.circuits.rows import RowsProduct, real_matrix
from hemera.inputs.plain import plain_array
from hemera.parameters import require_naturals

if TYPE_CHECKING:
    from hemera.parameters import Parameters


class PackedRowsProduct(RowsProduct):
    """A matrix in the clear times an encrypted matrix of few columns, several rows to a ciphertext (CKKS).

        layer = hm.circuits.PackedRowsProduct(weights, params, vectors=128)
        ev = ctx.bind(ctx.generate_keys(sk, plan=layer))
        y = layer(ev.encrypt(layer.pack(x)))  # x of shape (columns, 128)
        layer.unpack(ctx.decrypt(y, sk))  # weights @ x

    A ciphertext has `parts` rows, N / 2 / `vectors` of them, where `PlainMatrixProduct` takes a ciphertext
    for each row. The product with the rounded weights takes no keys; its rows are packed again by `parts`
    keys and one division a ciphertext. One level; a product is the input of the next.

    Args:
        weights: real numbers of shape (rows, columns).
        params: `hemera.ckks.Parameters`.
        vectors: the columns of the encrypted matrix, 1 to N/4. They are filled up to a power of two, at least
            32.
        bits: of the largest weight, as for `PlainMatrixProduct`.
        level: the level of the ciphertexts; None: that of fresh encryptions.

    Raises:
        MismatchError: if the matrix has other axes, or the parameters are of another scheme.
        ParameterError: if a weight is not finite, there is none, or `bits` or `vectors` is another number.
        LevelError: if there is no such level, or none below it.
        TypeError: if the weights are no real numbers.
    """

    _native: _core.PackedRowsProduct

    def __init__(
        self,
        weights: ArrayLike,
        params: Parameters,
        vectors: int,
        *,
        bits: Literal[8, 16] = 16,
        level: int | None = None,
    ) -> None:
        require_naturals(vectors=vectors, bits=bits, level=level or 0)
        matrix = real_matrix(weights, "PackedRowsProduct")
        super().__init__(_core.PackedRowsProduct(params._native, matrix, vectors, level, bits), params)
        self._shape = (matrix.shape[0], matrix.shape[1])
        self._vectors = vectors

    @property
    def _title(self) -> str:
        rows, columns = self._shape
        return f"matrix of {rows} x {columns}, times {self._vectors} encrypted vectors in packed rows"

    def _facts(self) -> list[str]:
        return [
            f"{self.parts} rows a ciphertext; weights of {size_text(self._native.weight_bytes)} in memory; "
            f"rounding them changes a product by {self._native.rounding_of_weights:.2g} (values of magnitude "
            "1)"
        ]

    @property
    def vectors(self) -> int:
        """The columns of the encrypted matrix."""
        return self._vectors

    @property
    def parts(self) -> int:
        """The rows of a ciphertext."""
        return self._native.parts

    def pack(self, x: ArrayLike) -> Matrix:
        """A matrix of shape (rows, vectors), of any rows, for encryption: a complex array of shape
        (ciphertexts, slots). MismatchError if the shape is another one."""
        given = plain_array(x, "vectors", np.complex128)
        if given.ndim != 2 or given.shape[1] != self._vectors or len(given) == 0:
            raise _core.MismatchError(
                f"a matrix of shape {given.shape} has no rows of {self._vectors} vectors; its shape is "
                f"(rows, {self._vectors})"
            )
        packed = self._native.pack(np.ascontiguousarray(given).ravel())
        return np.asarray(packed, dtype=np.complex128).reshape(-1, self._params.max_slots)

    def unpack(self, values: ArrayLike, rows: int | None = None) -> Matrix:
        """So many rows of decrypted values of shape (ciphertexts, slots), as (rows, vectors); None: as many
        as the product has. ParameterError if the values are those of other rows."""
        count = self._shape[0] if rows is None else rows
        require_naturals(rows=count)
        given = np.ascontiguousarray(values, dtype=np.complex128)
        found = self._native.unpack(given.ravel(), count)
        return np.asarray(found, dtype=np.complex128).reshape(count, self._vectors)

    def evaluate_clear(self, x: ArrayLike) -> Matrix:
        """The product with the rounded weights in the clear, with `x` of shape (columns, vectors).
        MismatchError if the shape is another one."""
        given = plain_array(x, "vectors", np.complex128)
        expected = (self._shape[1], self._vectors)
        if given.shape != expected:
            raise _core.MismatchError(f"values of shape {given.shape}; the matrix multiplies {expected}")
        weights = np.asarray(self._native.integers).reshape(self._shape) / self._native.factor
        found: Matrix = weights @ given
        return found
