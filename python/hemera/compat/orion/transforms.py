"""A plain matrix by its diagonals, which may be on disk between its products."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hemera.circuits import LinearTransform
from hemera.compat.orion.ring import Ring
from hemera.errors import ParameterError
from hemera.objects.context import Context


class Transform:
    """Diagonals of a matrix over the slots, for ciphertexts of a level.

    Args:
        context: of the ciphertexts.
        ring: its parameters.
        diagonals: by number, each of shape (slots,).
        level: Orion's.
    """

    def __init__(
        self, context: Context, ring: Ring, diagonals: dict[int, NDArray[np.float64]], level: int
    ) -> None:
        self._context = context
        self._slots = ring.slots
        self._level = ring.native_level(level)
        self._numbers = frozenset(diagonals)
        self._diagonals = diagonals
        self._plan: LinearTransform | None = None
        plan = self.plan()
        self._rotations = [] if plan is None else plan.rotations

    @classmethod
    def from_flat(
        cls, context: Context, ring: Ring, numbers: Sequence[int], data: NDArray[np.float64], level: int
    ) -> Transform:
        """The transform of diagonals one after the other.

        Raises:
            ParameterError: if there are not as many values as the diagonals have.
        """
        if len(data) != len(numbers) * ring.slots or len(set(numbers)) != len(numbers) or not numbers:
            raise ParameterError(
                f"{len(data)} values are not those of {len(set(numbers))} different diagonals, each of "
                f"{ring.slots} slots"
            )
        rows = data.reshape(len(numbers), ring.slots)
        return cls(context, ring, dict(zip(numbers, rows, strict=True)), level)

    @property
    def level(self) -> int:
        """Hemera's level of the vectors."""
        return self._level

    @property
    def rotations(self) -> list[int]:
        """The steps of the rotations that need a key."""
        return list(self._rotations)

    def plan(self) -> LinearTransform | None:
        """The circuit; None for a matrix that is zero.

        Raises:
            ParameterError: if diagonals are missing.
        """
        missing = self._numbers - self._diagonals.keys()
        if missing:
            raise ParameterError(f"the diagonals {sorted(missing)} are not loaded: LoadPlaintextDiagonal")
        if self._plan is None and any(each.any() for each in self._diagonals.values()):
            self._plan = LinearTransform.from_diagonals(
                self._diagonals, self._context.params, slots=self._slots, level=self._level
            )
        return self._plan

    def encode(self) -> None:
        """Encode the diagonals now, and not at the first product."""
        plan = self.plan()
        if plan is not None:
            plan.prepare(self._context)

    def take(self, number: int) -> bytes:
        """A diagonal as bytes. The transform lacks it from then on."""
        if number not in self._diagonals:
            raise ParameterError(f"there is no diagonal {number}, or it was taken already")
        self._plan = None
        return self._diagonals.pop(number).tobytes()

    def give(self, number: int, data: bytes) -> None:
        """The diagonal of `take`.

        Raises:
            ParameterError: if the matrix has no such diagonal, or the bytes are of another length.
        """
        if number not in self._numbers or len(data) != 8 * self._slots:
            raise ParameterError(
                f"{len(data)} bytes are not diagonal {number}: the matrix has {sorted(self._numbers)}, each "
                f"of {8 * self._slots} bytes"
            )
        self._diagonals[number] = np.frombuffer(data, dtype=np.float64)

    def drop(self) -> None:
        """Forget all diagonals until they are given again."""
        self._plan = None
        self._diagonals = {}
