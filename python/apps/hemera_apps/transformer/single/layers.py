"""Linear layers on features in slots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import hemera as hm
from hemera_apps.transformer.approximations import Approximations
from hemera_apps.transformer.clear import Weights
from hemera_apps.transformer.refresh import twice_parts
from hemera_apps.transformer.single.layout import SingleLayout

Array = NDArray[np.float64]

_ROWS, _FEWEST = 64, 8
"""The rows of a product of matrices that a GPU's tensor cores take at once, and baby steps that are worth a
preparation."""


class FeatureLayer:
    """matrix @ x + bias for each token, in one level.

    Products of two ciphertexts are the parts of complex ones, so that they take one product. The first half
    of all, with that in the middle, are real parts.

    Args:
        matrix: of shape (outputs, inputs), multiples of the layout's period.
        bias: of shape (outputs,); None: there is none.
        layout: of features in slots.
        params: of the ciphertexts.
        level: of the inputs.
        paired: whether a call gives these complex numbers, and not their parts.
        kept: whether encoded weights stay in memory.
    """

    def __init__(
        self,
        matrix: Array,
        bias: Array | None,
        layout: SingleLayout,
        params: hm.ckks.Parameters,
        level: int,
        *,
        paired: bool = False,
        kept: bool = True,
    ) -> None:
        self._count = len(matrix) // layout.period
        self._splits = self._count > 1 and not paired
        unit = 0.5 if self._splits else 1.0  # parts are sums of two conjugates
        weights = _paired(matrix, layout.period) * unit
        self._product = hm.circuits.PeriodicTransform(
            weights,
            params,
            layout.period,
            level=level,
            baby_steps=_baby_steps(len(weights) // layout.period, layout.period),
            kept=kept,
        )
        self._bias = None if bias is None else layout.spread(_paired(bias, layout.period) * unit)

    def prepare(self, context: hm.Context) -> None:
        """Bring the weights to a context's device now, and not in the first call."""
        self._product.prepare(context)

    def __call__(self, rows: hm.Ciphertext) -> hm.Ciphertext:
        """The product, a level lower."""
        found = self._product(rows)
        if self._bias is not None:
            found += self._bias
        if not self._splits:
            return found
        return hm.concatenate(twice_parts(found))[: self._count]


def _baby_steps(products: int, period: int) -> int:
    """The baby steps with which products of ciphertexts and giant steps fill the rows of a product of
    matrices; 0, the cheapest ones, where no power of two does, or few."""
    steps, rest = divmod(2 * period * products, _ROWS)
    return steps if rest == 0 and steps.bit_count() == 1 and steps >= _FEWEST else 0


def _paired(rows: Array, period: int) -> Array | NDArray[np.complex128]:
    """Rows of the first half of the ciphertexts, and i times those of the second half. Real rows if there is
    one ciphertext."""
    half = -(-len(rows) // (2 * period)) * period
    if half == len(rows):
        return rows
    found = rows[:half].astype(np.complex128)
    found[: len(rows) - half] += 1j * rows[half:]
    return found


@dataclass(frozen=True)
class Norm:
    """The last step of a layer norm, gain * z + shift for each feature, which is left to the layers behind
    it: it takes neither a level nor a bootstrap of its own there."""

    gain: Array
    shift: Array

    @classmethod
    def behind(cls, weights: Weights, functions: Approximations) -> Norm:
        """The step of the second layer norm of a block, whose z are the centred features times the inverse
        root, both as the block has them."""
        unit = functions.largest_roots[1] * functions.ranges.centred / 2
        return cls(weights.gains[1] * unit, weights.shifts[1])

    def __call__(self, z: Array) -> Array:
        """Features in the clear, along the last axis."""
        return z * self.gain + self.shift

    def folded(self, matrix: Array, bias: Array) -> tuple[Array, Array]:
        """Weights and bias of a layer that takes z in place of the features."""
        return matrix * self.gain, bias + matrix @ self.shift
