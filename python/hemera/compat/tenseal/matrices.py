"""Plain matrices times encrypted vectors, by rotations whose keys are of powers of two.

Diagonals of S. Halevi, V. Shoup (CRYPTO 2014, section 4.3), in baby and giant steps, of which a product takes
about 2 sqrt(d) for d diagonals. Each step rotates by one power of two: baby steps follow from each other,
and giant steps are added up as a tree. A matrix with fewer columns than rows has as many diagonals as
columns; what lies that far apart is added up at the end.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hemera._process import Lock
from hemera.inputs.encoding import power_of_two
from hemera.objects.ciphertext import Ciphertext, Plaintext
from hemera.objects.evaluator import Evaluator

_MOST_BYTES = 1 << 28
"""The most bytes of encoded matrices that one context keeps."""


@dataclass(frozen=True)
class _Encoded:
    """A matrix as its diagonals."""

    steps: list[list[tuple[int, Plaintext]]]
    """For each giant step the baby steps with their diagonals; diagonals of zeros are left out."""
    baby_steps: int
    bytes: int


class EncodedMatrices:
    """The matrices that a context multiplied by last, with encoded diagonals, up to 256 MiB: programs
    multiply many vectors by one matrix."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[tuple[object, ...], _Encoded] = OrderedDict()

    def of(self, matrix: NDArray[np.float64], period: int, level: int, evaluator: Evaluator) -> _Encoded:
        """The diagonals of a matrix for vectors whose values repeat with this period, at this level."""
        contiguous = np.ascontiguousarray(matrix)
        place = (hashlib.sha256(contiguous.tobytes()).digest(), contiguous.shape, period, level)
        with self._lock:
            found = self._kept.get(place)
            if found is not None:
                self._kept.move_to_end(place)
                return found
        made = _encoded(contiguous, period, level, evaluator)
        with self._lock:
            self._kept[place] = made
            while sum(each.bytes for each in self._kept.values()) > _MOST_BYTES and len(self._kept) > 1:
                self._kept.popitem(last=False)
        return made


def multiply_matrix(
    vector: Ciphertext, matrix: NDArray[np.float64], evaluator: Evaluator, kept: EncodedMatrices
) -> Ciphertext:
    """vector @ matrix, in one level.

    Args:
        vector: of as many slots as its values repeat with, P. Slots beyond the matrix's rows do not matter.
        matrix: of shape (rows, columns), not zero, with at most P rows, and at most N/2 columns.

    Returns:
        A ciphertext of power_of_two(columns) slots, 0 beyond the columns.
    """
    columns, period = power_of_two(matrix.shape[1]), vector.slots
    if columns > period:
        vector = vector.with_slots(columns)
    if vector._native.noise_scale_degree > 1:
        vector = vector.rescale()
    encoded = kept.of(matrix, period, vector.level, evaluator)
    babies = _baby_steps(vector, encoded)
    sums: list[Ciphertext | None] = []
    for step in encoded.steps:
        plain = [diagonal for _, diagonal in step]
        sums.append(evaluator.dot([babies[at] for at, _ in step], plain) if step else None)
    result = _tree(sums, encoded.baby_steps)
    apart = vector.slots // 2
    while apart >= columns:
        result = result + result.rotate(apart)
        apart //= 2
    return result.with_slots(columns)


def _baby_steps(vector: Ciphertext, encoded: _Encoded) -> dict[int, Ciphertext]:
    """The vector rotated by each step that has a diagonal, and by those on the way."""
    found = {0: vector}

    def rotated(at: int) -> Ciphertext:
        if at not in found:
            lowest = at & -at
            found[at] = rotated(at - lowest).rotate(lowest)
        return found[at]

    for step in encoded.steps:
        for at, _ in step:
            rotated(at)
    return found


def _tree(sums: Sequence[Ciphertext | None], apart: int) -> Ciphertext:
    """The sum of `sums[i]` rotated by i * `apart`, each rotation by one power of two."""
    while len(sums) > 1:
        joined: list[Ciphertext | None] = []
        for first, second in zip(sums[::2], sums[1::2], strict=True):
            if second is None:
                joined.append(first)
            else:
                moved = second.rotate(apart)
                joined.append(moved if first is None else first + moved)
        sums, apart = joined, 2 * apart
    (result,) = sums
    assert result is not None
    return result


def _encoded(matrix: NDArray[np.float64], period: int, level: int, evaluator: Evaluator) -> _Encoded:
    rows, columns = matrix.shape[0], power_of_two(matrix.shape[1])
    width = min(period, columns)
    padded = np.zeros((period, columns))
    padded[:rows, : matrix.shape[1]] = matrix
    baby = power_of_two(round(width**0.5))
    slots = np.arange(max(period, columns))
    steps: list[list[tuple[int, Plaintext]]] = []
    for giant in range(0, width, baby):
        step = []
        for at in range(baby):
            # Slot j goes to j - giant by the rotation that follows.
            diagonal = padded[(slots + at) % period, (slots - giant) % columns]
            if diagonal.any():
                step.append((at, evaluator.encode(diagonal, level=level)))
        steps.append(step)
    params = evaluator.context.params
    return _Encoded(steps, baby, sum(map(len, steps)) * len(params.primes[level]) * params.degree * 8)
