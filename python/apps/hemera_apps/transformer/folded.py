"""The weights behind attention, with the factors of encrypted values in them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hemera_apps.transformer.approximations import Approximations
from hemera_apps.transformer.clear import Weights

Array = NDArray[np.float64]


class FoldedWeights:
    """Clear weights and biases of a block's layers behind attention. Their inputs are attention's output over
    half of `ranges.mixed`, and the first norm without its gains over its largest root.

    Attributes:
        output, output_bias: of the output layer, without the mean of the features.
        hidden, hidden_bias: of the hidden layer, over `functions.hidden_unit`.
        down: of GELU's part that is even, over `ranges.centred`, without the mean of the features.
        straight, straight_bias: the same of the normed features: those themselves, and the half of the hidden
            ones that GELU takes as it is.

    Args:
        weights: of the block.
        functions: on the ranges of the block's values.
    """

    def __init__(self, weights: Weights, functions: Approximations) -> None:
        ranges, biases = functions.ranges, weights.biases
        gain, shift, root = weights.gains[0], weights.shifts[0], functions.largest_roots[0]
        self.output = _centred(weights.output) * ranges.mixed / 2
        self.output_bias = _centred(biases["output"])
        up = weights.up * gain * root
        up_bias = weights.up @ shift + biases["up"]
        self.hidden, self.hidden_bias = up / functions.hidden_unit, up_bias / functions.hidden_unit
        self.down = _centred(weights.down) / ranges.centred
        self.straight = _centred(np.diag(gain * root)) / ranges.centred + self.down @ up / 2
        self.straight_bias = _centred(shift + biases["down"]) / ranges.centred + self.down @ up_bias / 2


def _centred(matrix: Array) -> Array:
    """Without the mean of the features, which are the first axis."""
    return np.asarray(matrix - matrix.mean(0))
