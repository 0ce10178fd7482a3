"""Linear layers on rows of ciphertexts, and rows in chunks, which bound the memory of intermediate values."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

import hemera as hm

Array = NDArray[np.float64]


def chunks(count: int, size: int) -> Iterator[slice]:
    """Slices of at most `size`."""
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))


def take(rows: list[hm.Ciphertext]) -> Iterator[hm.Ciphertext]:
    """The batches of a list, which loses them one by one: each is freed when its user forgets it."""
    rows.reverse()
    while rows:
        yield rows.pop()


class Layer:
    """matrix @ x + bias on rows of ciphertexts, in one level and without a key.

    Weights are rounded to 16 bits, and the rest of each to another 16 bits, in a product of its own. The bias
    is a product with a ciphertext of ones.

    Args:
        matrix: of shape (outputs, inputs).
        bias: of shape (outputs,); None: there is none.
        params: of the ciphertexts.
        level: of the inputs.
    """

    def __init__(self, matrix: Array, bias: Array | None, params: hm.ckks.Parameters, level: int) -> None:
        product = functools.partial(hm.circuits.PlainMatrixProduct, params=params, level=level)
        self._matrix = product(matrix)
        rest = matrix - self._matrix.integers / self._matrix.factor
        self._rest = product(rest) if rest.any() else None
        self._bias = None if bias is None else product(bias[:, None])

    def __call__(self, rows: hm.Ciphertext) -> hm.Ciphertext:
        """The product, a level lower."""
        found = self._matrix(rows)
        if self._rest is not None:
            found += self._rest(rows)
        if self._bias is not None:
            first = rows[:1]
            found += self._bias(first - first + 1)
        return found
