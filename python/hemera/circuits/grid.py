"""The plan of several plain matrices times several encrypted vectors at once."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera import _core
from hemera.circuits.handles import ValueT, evaluated
from hemera.circuits.matrices import diagonals_by_number, vectors_of
from hemera.circuits.plans import ClearPlan
from hemera.parameters import require_naturals

if TYPE_CHECKING:
    from hemera.parameters import Parameters

Block = Mapping[int, ArrayLike] | None


class TransformGrid(ClearPlan):
    """A matrix of blocks, each a plain matrix over the slots, times a column of encrypted vectors (CKKS).

        both = {0: weights, 1: 0.5}, {0: shortcut}
        grid = hm.circuits.TransformGrid([[both[0]], [both[1]]], params, slots=1024)
        y, z = grid(ctx.bind(ctx.generate_keys(sk, plan=grid)).encrypt(x))

    Result r is the sum over c of block (r, c) times vector c. One column of blocks are several transforms of
    one ciphertext, one row is one transform over several ciphertexts. A vector's preparation and its baby
    steps are shared by the blocks of its column; giant steps, the division and the rescale by those of a row.
    It takes one level.

    Args:
        blocks: rows of as many blocks each. A block has its diagonals by number, as those of
            `LinearTransform.from_diagonals`; None: it is zero. No row and no column is all zero.
        params: `hemera.ckks.Parameters`.
        slots: of the ciphertexts, and rows and columns of each block: a power of two up to N/2.
        level: the level of the vectors; None: that of fresh encryptions. Ciphertexts of higher levels are
            brought down to it.
        own_keys: as of `LinearTransform`.

    Raises:
        ParameterError: for rows of different lengths, a row or a column of zeros, and as
            `LinearTransform.from_diagonals`.
        LevelError: for level 0, or one that is not there.
        MismatchError: for parameters of another scheme.
    """

    _native: _core.TransformGrid

    def __init__(
        self,
        blocks: Sequence[Sequence[Block]],
        params: Parameters,
        *,
        slots: int,
        level: int | None = None,
        own_keys: bool = False,
    ) -> None:
        count = operator.index(slots)
        require_naturals(slots=count, level=level or 0)
        # The options are checked before anything large is made.
        options = _core.LinearTransformOptions(level, 0, False, None, own_keys, 1)
        _core.require_linear_transform(params._native, count, options)
        self._count = 0
        rows = []
        for given in blocks:
            row = []
            for block in given:
                own, _ = diagonals_by_number({} if block is None else block, count)
                self._count += len(own)
                row.append(own)
            rows.append(row)
        super().__init__(_core.transform_grid(params._native, rows, count, level, own_keys), params)

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns) of blocks: results and vectors."""
        return self._native.rows, self._native.columns

    @property
    def slots(self) -> int:
        """The number of slots of the ciphertexts."""
        return self._native.slots

    @property
    def diagonals(self) -> int:
        """The number of diagonals of all blocks."""
        return self._count

    @property
    def rotations(self) -> list[int]:
        """The steps of the rotations that need a key."""
        return self._native.rotations

    @property
    def _title(self) -> str:
        rows, columns = self.shape
        return f"grid of {rows} x {columns} transforms over {self.slots} slots, {self.diagonals} diagonals"

    def __call__(self, *vectors: ValueT) -> list[ValueT]:
        """The results, one a row, for each element of the vectors' batch, by the evaluator that the first one
        is bound to.

        Raises:
            MismatchError: for another number of vectors, batches of different shapes, other slots or
                parameters.
            MissingKeyError: if keys of `generate_keys(plan=)` are missing.
            LevelError: if a vector is at a lower level than the plan's.
            ScaleError: for vectors of different scales.
        """
        if not vectors:
            raise _core.MismatchError(f"{self._title} takes {self.shape[1]} ciphertexts, and none came")
        found: Any = evaluated(self, self._title, "ciphertexts", vectors[0], vectors[1:], None)
        results: list[ValueT] = found
        return results

    def evaluate_clear(self, *vectors: ArrayLike) -> NDArray[np.complex128]:
        """The products with vectors of shape (..., slots) in the clear, by the same diagonals: an array of
        shape (rows, ..., slots). ParameterError for another number of vectors or values."""
        given = [vectors_of(each, self.slots) for each in vectors]
        flat = [each.reshape(-1, self.slots) for each in given]
        if len({each.shape for each in given}) > 1:
            raise _core.ParameterError(f"vectors of different shapes {[each.shape for each in given]}")
        count = len(flat[0]) if flat else 1
        products = [
            np.asarray(self._native.evaluate_clear([each[at].tolist() for each in flat]))
            for at in range(count)
        ]
        lead = given[0].shape[:-1] if given else ()
        return np.stack(products, 1).reshape(self.shape[0], *lead, self.slots)

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"<TransformGrid of {rows} x {columns} blocks over {self.slots} slots at level {self.level}>"
