"""Products of a plain matrix with encrypted vectors: its plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera import _core
from hemera.circuits.matrices import vectors_of
from hemera.circuits.slots import SlotPlan

if TYPE_CHECKING:
    from hemera.circuits.handles import Context
    from hemera.parameters import Parameters

__all__ = ["LinearTransform"]


class LinearTransform(SlotPlan):
    """A matrix that multiplies encrypted vectors (CKKS), with the plan of how it is done.

    The product is taken by the matrix's diagonals, with baby and giant steps and one division at the end; it
    takes one level. Diagonals that are zero everywhere cost nothing. Calling it multiplies:

        transform = hm.circuits.LinearTransform(matrix, params)
        keys = ctx.generate_keys(sk, plan=transform)
        y = transform(ctx.bind(keys).encrypt(values))  # matrix @ values

    Args:
        matrix: real or complex, of shape (rows, columns): vectors have `columns` values, products `rows`.
        params: `hemera.ckks.Parameters`.
        slots: of the ciphertexts that it multiplies; None: the next power of two from both extents on, and
                then vectors must have as many values as the matrix has columns (MismatchError), as in NumPy.
        level: the level of the vectors; None: that of fresh encryptions. Ciphertexts of higher levels are
            brought down to it.
        baby_steps: how many rotations share one preparation of the vector, a power of two; 0: as many as cost
            least.
        fewest_keys: with two rotation keys alone, which are used again and again: less memory, more time and
            noise. (Three where diagonals lie on both sides of the main one.)

    Raises:
        ParameterError: for a matrix that is not two-dimensional, is zero, has entries that are not finite or
            more of them than fit the slots.
        LevelError: for level 0, or one that is not there.
        MismatchError: for parameters of another scheme.
    """

    _native: _core.LinearTransform

    def __init__(
        self,
        matrix: ArrayLike,
        params: Parameters,
        *,
        slots: int | None = None,
        level: int | None = None,
        baby_steps: int = 0,
        fewest_keys: bool = False,
    ) -> None:
        given = np.asarray(matrix)
        entries = np.ascontiguousarray(given, dtype=np.complex128)
        if entries.ndim != 2:
            raise _core.ParameterError(
                f"a linear transform needs a matrix of two axes, not an array of shape {entries.shape}"
            )
        takes_all_slots = slots is not None
        if slots is None:
            slots = 1 << max(0, max(entries.shape) - 1).bit_length()
        if min(slots, baby_steps, 0 if level is None else level) < 0:
            raise _core.ParameterError("slots, level and baby_steps must not be negative")
        self._shape: tuple[int, int] = entries.shape
        native = _core.linear_transform(params._native, entries, slots, level, baby_steps, fewest_keys)
        super().__init__(native, params)
        self._takes_all_slots = takes_all_slots
        self._is_complex = given.dtype.kind == "c"

    def _require_values(self, x: _core.Ciphertext) -> None:
        values = x.filled or x.slots
        if self._takes_all_slots or x.slots != self.slots or values == self._shape[1]:
            return
        raise _core.MismatchError(
            f"a matrix of shape {self._shape} does not multiply {values} values; as in NumPy it needs a "
            f"column "
            f"for each (or say LinearTransform(matrix, params, slots={x.slots}), for zeros in those that are "
            "missing)"
        )

    def _fill(self, result: _core.Ciphertext, x: _core.Ciphertext) -> None:
        del x
        rows = self._shape[0]
        if rows < self.slots:
            result.fill(rows, "zeros")
        if self._is_complex:
            result.declare_complex(True)

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns) of the matrix."""
        return self._shape

    @property
    def _title(self) -> str:
        rows, columns = self._shape
        return f"matrix of {rows} x {columns} over {self.slots} slots, {self._native.diagonals} diagonals"

    def evaluate_clear(self, values: ArrayLike) -> NDArray[np.complex128]:
        """The product with values in the clear, of shape (..., columns), by the same diagonals.

        Raises:
            ParameterError: for another number of values.
        """
        rows, columns = self._shape
        given = vectors_of(values, columns)
        flat = given.reshape(-1, columns)
        padded = np.zeros((len(flat), self.slots), dtype=np.complex128)
        padded[:, :columns] = flat
        products = [np.asarray(self._native.evaluate_clear(row.tolist()))[:rows] for row in padded]
        return np.asarray(products, dtype=np.complex128).reshape(*given.shape[:-1], rows)

    def _prepare(self, context: Context) -> _core.PreparedLinearTransform:
        return _core.prepare_linear_transform(context._native, self._native)

    def __repr__(self) -> str:
        rows, columns = self._shape
        return f"<LinearTransform of {rows} x {columns} at level {self.level}>"
