"""The plan of a matrix in the clear times many short encrypted vectors, side by side in slots."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera import _core
from hemera.circuits.matrices import Matrix
from hemera.circuits.rows import RowsProduct, complex_matrix
from hemera.inputs.plain import plain_array
from hemera.parameters import require_naturals

if TYPE_CHECKING:
    from hemera.parameters import Parameters


class PeriodicTransform(RowsProduct):
    """A matrix in the clear times each of many short vectors that few ciphertexts hold (CKKS).

        layer = hm.circuits.PeriodicTransform(weights, params, period=256)
        ev = ctx.bind(ctx.generate_keys(sk, plan=layer))
        y = layer(ev.encrypt(layer.pack(x)))  # x of shape (N / 2 / 256, columns), a row a vector
        layer.unpack(ctx.decrypt(y, sk))  # x @ weights.T

    Entry c * period + j of vector v is slot v * period + j of ciphertext c. The diagonals of the matrix
    repeat with the period, so that a prime's residues of one take 2 * `period` words of memory, not N. All
    sums of products with the turned vectors are one product of matrices. One level; a product is the input of
    the next.

    Args:
        weights: numbers of shape (rows, columns), not all zero. Complex ones have two real products in the
            time of one: (a + i b) @ x for real vectors.
        params: `hemera.ckks.Parameters`.
        period: the entries of a vector in a ciphertext, a power of two from 2 to N/4.
        level: the level of the ciphertexts; None: that of fresh encryptions.
        baby_steps: the number of rotations that share one preparation of the vectors, a power of two up to
            the period; 0: the cheapest.
        kept: whether encoded diagonals stay in memory. If not, each call encodes them, from 16 bytes for each
            weight, or 32 if some are complex.

    Raises:
        MismatchError: if the matrix has other axes, or the parameters are of another scheme.
        ParameterError: if a weight is not finite, all are zero, or the period or the steps are others.
        LevelError: if there is no such level, or none below it.
        TypeError: if the weights are no numbers.
    """

    _native: _core.PeriodicTransform

    def __init__(
        self,
        weights: ArrayLike,
        params: Parameters,
        period: int,
        *,
        level: int | None = None,
        baby_steps: int = 0,
        kept: bool = True,
    ) -> None:
        require_naturals(period=period, level=level or 0, baby_steps=baby_steps)
        self._weights = complex_matrix(weights, "PeriodicTransform")
        native = _core.PeriodicTransform(params._native, self._weights, period, level, baby_steps, kept)
        super().__init__(native, params)
        self._shape = (self._weights.shape[0], self._weights.shape[1])
        self._period = period

    @property
    def _title(self) -> str:
        rows, columns = self.shape
        return f"matrix of {rows} x {columns} times vectors in slots, {self._period} entries a ciphertext"

    @property
    def period(self) -> int:
        """The entries of a vector in a ciphertext."""
        return self._period

    @property
    def vectors(self) -> int:
        """The number of vectors: N / 2 / `period`."""
        return self._params.max_slots // self._period

    def pack(self, x: ArrayLike) -> NDArray[np.float64] | Matrix:
        """Vectors of shape (vectors, entries), of any number of entries, for encryption: an array of shape
        (ciphertexts, slots). MismatchError if the shape is another one."""
        given = plain_array(x, "vectors")
        if given.ndim != 2 or len(given) != self.vectors or given.shape[1] == 0:
            raise _core.MismatchError(
                f"an array of shape {given.shape} has no {self.vectors} vectors; its shape is "
                f"({self.vectors}, entries)"
            )
        filled = np.pad(given, ((0, 0), (0, -given.shape[1] % self._period)))
        parts = filled.reshape(self.vectors, -1, self._period).swapaxes(0, 1)
        return np.ascontiguousarray(parts).reshape(-1, self._params.max_slots)

    def unpack(self, values: ArrayLike, entries: int | None = None) -> NDArray[np.float64] | Matrix:
        """So many entries of each vector of decrypted values of shape (ciphertexts, slots), as (vectors,
        entries); None: as many as a product has. MismatchError if the values are those of others."""
        count = self.shape[0] if entries is None else entries
        require_naturals(entries=count)
        given = np.asarray(values)
        if given.ndim != 2 or given.shape[1] != self._params.max_slots:
            raise _core.MismatchError(
                f"values of shape {given.shape}; they are of shape (ciphertexts, {self._params.max_slots})"
            )
        if count > len(given) * self._period:
            raise _core.MismatchError(f"{len(given)} ciphertexts have no {count} entries of a vector")
        parts = given.reshape(len(given), self.vectors, self._period).swapaxes(0, 1)
        found: NDArray[np.float64] | Matrix = parts.reshape(self.vectors, -1)[:, :count]
        return found

    def evaluate_clear(self, x: ArrayLike) -> Matrix:
        """The products with vectors of shape (..., columns) in the clear. MismatchError if the shape is
        another one."""
        given = plain_array(x, "vectors", np.complex128)
        if given.ndim == 0 or given.shape[-1] != self.shape[1]:
            raise _core.MismatchError(
                f"values of shape {given.shape}; the matrix multiplies vectors of {self.shape[1]}"
            )
        found: Matrix = given @ self._weights.T
        return found
