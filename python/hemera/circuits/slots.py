"""Sums, copies and masks of slots: plans of rotations that are added up, and of products by 0 and 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera import _core
from hemera.circuits.handles import ValueT, evaluated
from hemera.circuits.plans import ClearPlan
from hemera.parameters import require_naturals

if TYPE_CHECKING:
    from hemera.circuits.handles import Context
    from hemera.parameters import Parameters

__all__ = ["InnerSum", "Mask", "Replication", "SlotPlan"]


class SlotPlan(ClearPlan):
    """What `hemera.circuits.LinearTransform`, `InnerSum`, `Replication` and `Mask` share: a plan that moves
    the slots of one ciphertext (CKKS) by rotations."""

    _native: _core.LinearTransform | _core.SlotCircuit

    @property
    def slots(self) -> int:
        """Slots of the ciphertexts."""
        return self._native.slots

    @property
    def rotations(self) -> list[int]:
        """The rotations that need a key. Keys of `generate_keys(rotations=)` serve sums, copies and masks as
        well."""
        return self._native.rotations

    def __call__(self, x: ValueT, *, out: ValueT | None = None) -> ValueT:
        """What it makes of each element of `x`, by the evaluator that `x` is bound to.

        Raises:
            MissingKeyError: when the keys of `generate_keys(plan=)` are not there.
            MismatchError: when `x` has other slots, or belongs to other parameters.
            LevelError: when it takes a level and `x` is at a lower level than its own.
        """
        return evaluated(self, self._title, "a ciphertext", x, (), out)

    def _require_values(self, x: _core.Ciphertext) -> None:
        """MismatchError for a ciphertext whose filled slots do not fit."""

    def _fill(self, result: _core.Ciphertext, x: _core.Ciphertext) -> None:
        """Says which slots of the result for `x` hold values, where the core does not know."""


class SlotCircuit(SlotPlan):
    """What `InnerSum`, `Replication` and `Mask` share. Without a mask it takes no level: `level` is then the
    highest one, and ciphertexts below it stay where they are."""

    _native: _core.SlotCircuit

    def __init__(self, native: _core.SlotCircuit, params: Parameters, name: str, stride: int = 1) -> None:
        super().__init__(native, params)
        self._name = name + (f", {stride} apart" if stride != 1 else "")

    @property
    def _title(self) -> str:
        return f"{self._name}, of {self.slots} slots: depth {self.depth}"

    def evaluate_clear(self, values: ArrayLike) -> NDArray[np.complex128]:
        """What it makes of values in the clear, of shape (..., slots), by the same rotations.

        Raises:
            ParameterError: for another number of values.
        """
        given = np.asarray(values, dtype=np.complex128)
        if given.ndim == 0 or given.shape[-1] != self.slots:
            raise _core.ParameterError(
                f"a circuit of {self.slots} slots does not take values of shape {given.shape}; the last axis "
                "must have as many"
            )
        rows = [self._native.evaluate_clear(row.tolist()) for row in given.reshape(-1, self.slots)]
        return np.asarray(rows, dtype=np.complex128).reshape(given.shape)

    def _prepare(self, context: Context) -> _core.PreparedSlotCircuit:
        return _core.prepare_slot_circuit(context._native, self._native)

    def __repr__(self) -> str:
        return f"<{self._name} of {self.slots} slots at level {self.level}, depth {self.depth}>"


class InnerSum(SlotCircuit):
    """Sums of blocks of slots (CKKS).

        sums = hm.circuits.InnerSum(params, slots=4096, count=16)
        keys = ctx.generate_keys(sk, plan=sums)
        y = sums(ctx.bind(keys).encrypt(values))  # slot 16 k has values[16 k : 16 k + 16].sum()

    The slots are blocks one after the other, each a matrix of `count` rows and `stride` columns, row by row,
    whose columns are summed apart; with a stride of 1 a row of `count` values. Slots that fill the
    ciphertext up must be 0: a MismatchError names the mask where they are not known to be. The sums are in
    the first row of their block; rows after it have sums that run on into the next block.

    Args:
        params: `hemera.ckks.Parameters`.
        slots: of the ciphertexts.
        count: values in a sum, a power of two (append zeros).
        stride: slots from one value of a sum to the next, a power of two.
        everywhere: whether all rows of a block get its sums: takes a mask, so one level, unless there is one
            block alone.
        level: of the ciphertexts; None: that of fresh encryptions.
        fewest_keys: with log2(count) rotation keys; else with some more where that takes less time.
        own_keys: with keys over the primes of its levels alone, which are shorter and take less time, but
            serve no other level; else with keys as those of `generate_keys(rotations=)`.

    Raises:
        ParameterError: for numbers that are no powers of two, or do not fit the slots.
        LevelError: for a level that is not there, or has none below for the mask.
        MismatchError: for parameters of another scheme.
    """

    def __init__(
        self,
        params: Parameters,
        slots: int,
        count: int,
        *,
        stride: int = 1,
        everywhere: bool = False,
        level: int | None = None,
        fewest_keys: bool = False,
        own_keys: bool = False,
    ) -> None:
        require_naturals(slots=slots, count=count, stride=stride, level=level or 0)
        native = _core.inner_sum(
            params._native, slots, count, stride, everywhere, level, fewest_keys, own_keys
        )
        super().__init__(native, params, f"sum of {count} slots", stride)

    def _require_values(self, x: _core.Ciphertext) -> None:
        if x.filled and x.padding == "unknown":
            raise _core.MismatchError(
                f"{self._name}: slots {x.filled} to {x.slots - 1} fill the ciphertext up and are not known "
                f"to be "
                f"0; mask them before: hm.circuits.Mask(np.arange({x.slots}) < {x.filled}, params)(x)"
            )


class Replication(SlotCircuit):
    """Copies of one slot of each block in all slots of the block (CKKS): of one row, with a stride.

        spread = hm.circuits.Replication(params, slots=4096, count=16)
        y = spread(x)  # slots 16 k to 16 k + 15 have the value of slot 16 k

    Args:
        params, slots, level, fewest_keys, own_keys: see `InnerSum`.
        count: rows of a block, a power of two.
        position: the row that is copied, from 0.
        stride: columns of a block, a power of two: slots from one row to the next.
        others_are_zero: whether the other rows are zero already: then it takes no mask, and no level.

    Raises:
        ParameterError: for numbers that are no powers of two, or do not fit the slots, and rows that are not
            there.
        LevelError: for a level that is not there, or has none below for the mask.
        MismatchError: for parameters of another scheme.
    """

    def __init__(
        self,
        params: Parameters,
        slots: int,
        count: int,
        *,
        position: int = 0,
        stride: int = 1,
        others_are_zero: bool = False,
        level: int | None = None,
        fewest_keys: bool = False,
        own_keys: bool = False,
    ) -> None:
        require_naturals(slots=slots, count=count, position=position, stride=stride, level=level or 0)
        native = _core.replication(
            params._native, slots, count, stride, position, others_are_zero, level, fewest_keys, own_keys
        )
        super().__init__(native, params, f"copy to {count} slots", stride)


class Mask(SlotCircuit):
    """Some slots as they are, and 0 in the others (CKKS): a product by 0 and 1 that takes one level and ends
    at exactly its scale.

        x = hm.circuits.Mask(np.arange(4096) % 16 == 0, params)(x)

    `x * kept` is the same, but encodes the mask each time. A mask that is 0 in the slots which fill a
    ciphertext up makes them 0, so that sums need not.

    Args:
        kept: a boolean for each slot; as many as a power of two.
        params: `hemera.ckks.Parameters`.
        level: of the ciphertexts; None: that of fresh encryptions.

    Raises:
        ParameterError: for another number of slots, or values that are no booleans.
        LevelError: for a level that is not there, or has none below.
        MismatchError: for parameters of another scheme.
    """

    def __init__(self, kept: ArrayLike, params: Parameters, *, level: int | None = None) -> None:
        flags = np.asarray(kept)
        if flags.ndim != 1 or flags.dtype != np.bool_:
            raise _core.ParameterError(
                f"a mask is an array of booleans, one for each slot, not of {flags.dtype} and of shape "
                f"{flags.shape}"
            )
        require_naturals(level=level or 0)
        super().__init__(_core.mask(params._native, flags.tolist(), level), params, "mask")
        self._last = int(np.flatnonzero(flags)[-1]) if flags.any() else -1

    def _fill(self, result: _core.Ciphertext, x: _core.Ciphertext) -> None:
        if x.filled:
            zeros = self._last < x.filled or x.padding == "zeros"
            result.fill(x.filled, "zeros" if zeros else "unknown")
