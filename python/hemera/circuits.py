"""Ready-made circuits, which say what they need and cost before they run."""

from __future__ import annotations

import math
import weakref
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera import _core
from hemera._core import KeyNeed
from hemera._functions import (
    Function,
    FunctionPlan,
    Polynomial,
    approximate,
    compare,
    exp,
    gelu,
    inverse,
    log,
    maximum,
    sigmoid,
    sign,
    sqrt,
    tanh,
)
from hemera._matrices import MatrixProduct, MatrixVectorProduct
from hemera._slots import InnerSum, Mask, Replication
from hemera.bootstrapping import Bootstrap

if TYPE_CHECKING:
    from hemera.ciphertext import Ciphertext
    from hemera.context import Context
    from hemera.parameters import Parameters

__all__ = [
    "Bootstrap",
    "Function",
    "FunctionPlan",
    "InnerSum",
    "KeyNeed",
    "LinearTransform",
    "Mask",
    "MatrixProduct",
    "MatrixVectorProduct",
    "Plan",
    "Polynomial",
    "Replication",
    "approximate",
    "compare",
    "exp",
    "gelu",
    "inverse",
    "log",
    "maximum",
    "sigmoid",
    "sign",
    "sqrt",
    "tanh",
]


@runtime_checkable
class Plan(Protocol):
    """A circuit that `Context.generate_keys(plan=)` makes keys for."""

    def _generate_keys(self, secret_key: _core.SecretKey) -> _core.EvaluationKeys: ...


class LinearTransform:
    """A matrix that multiplies encrypted vectors (CKKS), with the plan of how it is done.

    The product is taken by the matrix's diagonals, with baby and giant steps and one division at the end; it
    takes one level. Diagonals that are zero everywhere cost nothing. Calling it multiplies:

        transform = hm.circuits.LinearTransform(matrix, params)
        keys = ctx.generate_keys(sk, plan=transform)
        y = transform(ctx.bind(keys).encrypt(values))  # matrix @ values

    Args:
        matrix: real or complex, of shape (rows, columns): vectors have `columns` values, products `rows`.
        params: `hemera.ckks.Parameters`.
        slots: of the ciphertexts that it multiplies; None: the next power of two from both extents on.
        level: the level of the vectors; None: that of fresh encryptions. Ciphertexts of higher levels are
            brought down to it.
        baby_steps: how many rotations share one preparation of the vector, a power of two; 0: as many as cost
            least.
        fewest_keys: with two rotation keys alone, which are used again and again: less memory, more time and
            noise.

    Raises:
        ParameterError: for a matrix that is not two-dimensional, is zero, has entries that are not finite or
            more of them than fit the slots.
        LevelError: for level 0, or one that is not there.
        MismatchError: for parameters of another scheme.
    """

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
        entries = np.ascontiguousarray(matrix, dtype=np.complex128)
        if entries.ndim != 2:
            raise _core.ParameterError(
                f"a linear transform needs a matrix of two axes, not an array of shape {entries.shape}"
            )
        if slots is None:
            slots = 1 << max(0, max(entries.shape) - 1).bit_length()
        if min(slots, baby_steps, 0 if level is None else level) < 0:
            raise _core.ParameterError("slots, level and baby_steps must not be negative")
        self._shape: tuple[int, int] = entries.shape
        self._native = _core.linear_transform(params._native, entries, slots, level, baby_steps, fewest_keys)
        # Its plaintexts in each context's memory, for as long as the context lives.
        self._prepared: weakref.WeakKeyDictionary[Context, _core.PreparedLinearTransform] = (
            weakref.WeakKeyDictionary()
        )

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns) of the matrix."""
        return self._shape

    @property
    def slots(self) -> int:
        """Slots of the vectors."""
        return self._native.slots

    @property
    def level(self) -> int:
        """Level of the vectors; products are one lower."""
        return self._native.level

    @property
    def rotations(self) -> list[int]:
        """The rotations that need a key."""
        return self._native.rotations

    @property
    def needed_keys(self) -> list[_core.KeyNeed]:
        """The keys of these rotations, with their gadgets."""
        return self._native.needed_keys

    @property
    def result_level(self) -> int:
        """Level of the products."""
        return self._native.cost.result_level

    @property
    def scale(self) -> float:
        """Scale of the vectors: the one of their level."""
        return self._native.cost.scale

    @property
    def result_scale(self) -> float:
        """Scale of the products: the one of their level."""
        return self._native.cost.result_scale

    @property
    def depth(self) -> int:
        """Levels that it takes."""
        return self._native.cost.level - self._native.cost.result_level

    @property
    def key_bytes(self) -> int:
        """Bytes of its keys in memory."""
        return self._native.cost.key_bytes

    @property
    def plaintext_bytes(self) -> int:
        """Bytes of the encoded matrix in memory."""
        return self._native.cost.plaintext_bytes

    @property
    def workspace_bytes(self) -> int:
        """Bytes of values in between, for each vector of a batch."""
        return self._native.cost.workspace_bytes

    def expected_error(self, input_error: float | None = None) -> tuple[float, float]:
        """Errors that rounding and noise leave in the slots of products of vectors with values of magnitude
        1, of complex values: the root mean square over the slots, and that of the worst slot.

        Args:
            input_error: of the vectors, a root mean square; None: that of fresh encryptions.
        """
        return self._native.expected_error(input_error)

    def report(self) -> str:
        """What it needs and costs, in some lines for people."""
        cost = self._native.cost
        rows, columns = self._shape
        mean, worst = self.expected_error()
        return "\n".join(
            (
                f"matrix of {rows} x {columns} over {self.slots} slots, {self._native.diagonals} diagonals",
                f"level {cost.level} to {cost.result_level}",
                f"keys of {cost.key_bytes / 2**20:.1f} MiB, for rotations by "
                + (", ".join(map(str, self.rotations)) or "none"),
                f"plaintexts of {cost.plaintext_bytes / 2**20:.1f} MiB, workspace of "
                f"{cost.workspace_bytes / 2**20:.1f} MiB",
                f"expected noise in a slot: 2^{math.log2(mean):.1f}, 2^{math.log2(worst):.1f} at the worst",
                f"{cost.key_products} products with keys, {cost.mod_ups} extensions of digits, "
                f"{cost.divisions} divisions, {cost.plain_products} products with plaintexts",
            )
        )

    def evaluate_clear(self, values: ArrayLike) -> NDArray[np.complex128]:
        """The product with values in the clear, of shape (..., columns), by the same diagonals.

        Raises:
            ParameterError: for another number of values.
        """
        given = np.asarray(values, dtype=np.complex128)
        rows, columns = self._shape
        if given.ndim == 0 or given.shape[-1] != columns:
            raise _core.ParameterError(
                f"a matrix of {columns} columns does not multiply values of shape {given.shape}; the last "
                f"axis must have {columns}"
            )
        flat = given.reshape(-1, columns)
        padded = np.zeros((len(flat), self.slots), dtype=np.complex128)
        padded[:, :columns] = flat
        products = [np.asarray(self._native.evaluate_clear(row.tolist()))[:rows] for row in padded]
        return np.asarray(products, dtype=np.complex128).reshape(*given.shape[:-1], rows)

    def __call__(self, x: Ciphertext, *, out: Ciphertext | None = None) -> Ciphertext:
        """The product with each vector of `x`, by the evaluator that `x` is bound to.

        Raises:
            MissingKeyError: when the keys of `generate_keys(plan=)` are not there.
            MismatchError: when `x` has other slots, or belongs to other parameters.
            LevelError: when `x` is at a lower level.
        """
        return x.evaluator.transform(x, self, out=out)

    def _apply(self, evaluator: Any, x: Ciphertext) -> _core.Ciphertext:
        context = evaluator.context
        prepared = self._prepared.get(context)
        if prepared is None:
            prepared = _core.prepare_linear_transform(context._native, self._native)
            self._prepared[context] = prepared
        return prepared.apply(evaluator._native, x._native)

    def _generate_keys(self, secret_key: _core.SecretKey) -> _core.EvaluationKeys:
        return self._native.generate_keys(secret_key)

    def __repr__(self) -> str:
        rows, columns = self._shape
        return f"<LinearTransform of {rows} x {columns} at level {self.level}>"
