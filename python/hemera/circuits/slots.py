"""Sums, copies and masks of slots: plans that add rotations, and multiply by 0 and 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera import _core
from hemera.circuits.handles import ValueT, evaluated
from hemera.circuits.plans import ClearPlan
from hemera.inputs.plain import plain_array
from hemera.parameters import require_naturals

if TYPE_CHECKING:
    from hemera.parameters import Parameters


class SlotPlan(ClearPlan):
    """A plan that moves the slots of one ciphertext (CKKS) by rotations: the base of
    `hemera.circuits.LinearTransform`, `InnerSum`, `Replication` and `Mask`."""

    _native: _core.LinearTransform | _core.SlotCircuit

    @property
    def slots(self) -> int:
        """The number of slots of the ciphertexts."""
        return self._native.slots

    @property
    def rotations(self) -> list[int]:
        """The steps of the rotations that need a key. Keys of `generate_keys(rotations=)` serve sums, copies
        and masks as well."""
        return self._native.rotations

    def __call__(self, x: ValueT, *, out: ValueT | None = None) -> ValueT:
        """The result for each element of `x`, by the evaluator that `x` is bound to.

        Raises:
            MissingKeyError: if keys of `generate_keys(plan=)` are missing.
            MismatchError: if `x` has other slots, or belongs to other parameters.
            LevelError: if the plan takes a level and `x` is at a lower level than the plan's.
        """
        return evaluated(self, self._title, "a ciphertext", x, (), out)

    def _require_values(self, x: _core.Ciphertext) -> None:
        """MismatchError if the filled slots of the ciphertext do not fit."""

    def _fill(self, result: _core.Ciphertext, x: _core.Ciphertext) -> None:
        """Declare the slots of the result for `x` that hold values, if the core does not know them."""


class SlotCircuit(SlotPlan):
    """The base of `InnerSum`, `Replication` and `Mask`. A circuit without a mask takes no level. Its `level`
    is then the highest level of its inputs, and ciphertexts below stay at theirs."""

    _native: _core.SlotCircuit

    def __init__(self, native: _core.SlotCircuit, params: Parameters, name: str, stride: int = 1) -> None:
        super().__init__(native, params)
        self._name = name + (f", {stride} apart" if stride != 1 else "")

    @property
    def _title(self) -> str:
        return f"{self._name}, of {self.slots} slots: depth {self.depth}"

    def evaluate_clear(self, values: ArrayLike) -> NDArray[np.complex128]:
        """The result for values in the clear, of shape (..., slots), by the same rotations.

        Raises:
            ParameterError: if the number of values is another one.
        """
        given = plain_array(values, "evaluate_clear", np.complex128)
        if given.ndim == 0 or given.shape[-1] != self.slots:
            raise _core.ParameterError(
                f"a circuit of {self.slots} slots does not take values of shape {given.shape}; the last axis "
                "must have as many"
            )
        rows = [self._native.evaluate_clear(row.tolist()) for row in given.reshape(-1, self.slots)]
        return np.asarray(rows, dtype=np.complex128).reshape(given.shape)

    def __repr__(self) -> str:
        return f"<{self._name} of {self.slots} slots at level {self.level}, depth {self.depth}>"


class InnerSum(SlotCircuit):
    """Sums of blocks of slots (CKKS).

        sums = hm.circuits.InnerSum(params, slots=4096, count=16)
        keys = ctx.generate_keys(sk, plan=sums)
        y = sums(ctx.bind(keys).encrypt(values))  # slot 16 k has values[16 k : 16 k + 16].sum()

    The slots are blocks, one after the other. Each block is a matrix of `count` rows and `stride` columns,
    row by row, and each column is summed apart. With a stride of 1 a block is a row of `count` values. The
    sums are in the first row of their block; later rows have sums that run on into the next block. Slots that
    fill the ciphertext up must be 0: if they are not known to be, a MismatchError names the mask.

    Args:
        params: `hemera.ckks.Parameters`.
        slots: the number of slots of the ciphertexts.
        count: the number of values in a sum, a power of two (append zeros).
        stride: the number of slots from one value of a sum to the next, a power of two.
        everywhere: whether all rows of a block get its sums. This takes a mask, so one level, unless there is
            only one block.
        level: the level of the ciphertexts; None: that of fresh encryptions.
        fewest_keys: True: log2(count) rotation keys; False: some more if that takes less time.
        own_keys: True: keys over the primes of the plan's levels alone, which are shorter and take less time,
            but serve no other level; False: keys as those of `generate_keys(rotations=)`.

    Raises:
        ParameterError: if a number is no power of two, or does not fit the slots.
        LevelError: if there is no such level, or none below it for the mask.
        MismatchError: if the parameters are of another scheme.
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
                f"to be 0; mask them before: hm.circuits.Mask(np.arange({x.slots}) < {x.filled}, params)(x)"
            )


class Replication(SlotCircuit):
    """Copies of one slot of each block to all slots of the block (CKKS); with a stride, of one row to all
    rows.

        spread = hm.circuits.Replication(params, slots=4096, count=16)
        y = spread(x)  # slots 16 k to 16 k + 15 have the value of slot 16 k

    Args:
        params, slots, level, fewest_keys, own_keys: see `InnerSum`.
        count: the number of rows of a block, a power of two.
        position: the index of the row that is copied, from 0.
        stride: the number of columns of a block, a power of two.
        others_are_zero: whether the other rows are zero already. The copy then takes no mask, and no level.

    Raises:
        ParameterError: if a number is no power of two, or does not fit the slots, or there is no such row.
        LevelError: if there is no such level, or none below it for the mask.
        MismatchError: if the parameters are of another scheme.
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
    """A product by 0 and 1 (CKKS): it keeps some slots, and puts 0 into the others. It takes one level, and
    ends at exactly the scale of the level below.

        x = hm.circuits.Mask(np.arange(4096) % 16 == 0, params)(x)

    `x * kept` is the same product, but encodes the mask in each call. A mask that is 0 in the slots that fill
    a ciphertext up makes them 0, so sums need no mask of their own.

    Args:
        kept: a boolean for each slot; their number is a power of two.
        params: `hemera.ckks.Parameters`.
        level: the level of the ciphertexts; None: that of fresh encryptions.

    Raises:
        ParameterError: if the number of slots is another one, or values are no booleans.
        LevelError: if there is no such level, or none below it.
        MismatchError: if the parameters are of another scheme.
    """

    def __init__(self, kept: ArrayLike, params: Parameters, *, level: int | None = None) -> None:
        flags = plain_array(kept, "kept slots")
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
