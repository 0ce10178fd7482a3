"""Pooler and classifier on encrypted features."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import hemera as hm
from hemera_apps.transformer.approximations import Degrees, declared
from hemera_apps.transformer.single.layers import FeatureLayer
from hemera_apps.transformer.single.layout import SingleLayout

if TYPE_CHECKING:
    from hemera_apps.transformer.network.model import HeadWeights

__all__ = ["EncryptedHead", "HeadFunctions"]

Array = NDArray[np.float64]


class HeadFunctions:
    """tanh of `pooled` t, for t from -1 to 1, as a polynomial.

    Args:
        pooled: the largest magnitude before tanh.
        degrees: of polynomials.
    """

    def __init__(self, pooled: float, degrees: Degrees) -> None:
        self.pooled = pooled
        self.tanh = hm.approximate(lambda t: math.tanh(pooled * t), (-1, 1), degrees.tanh)

    def approximate(self, x: Array) -> Array:
        """tanh(x) in the clear, by the polynomial."""
        return np.asarray(np.polynomial.chebyshev.chebval(x / self.pooled, self.tanh.coefficients).real)


class EncryptedHead:
    """The logits of one input, in the first slots of a ciphertext.

    They are those of the first token; slots of other tokens have their own.

    Args:
        weights: of pooler and classifier.
        functions: on the range of the pooler.
        layout: of features in slots.
        params: of the ciphertexts.
        level: of the features.
        kept: whether encoded weights stay in memory.

    Raises:
        LevelError: if there are not so many levels.
    """

    def __init__(
        self,
        weights: HeadWeights,
        functions: HeadFunctions,
        layout: SingleLayout,
        params: hm.ckks.Parameters,
        level: int,
        *,
        kept: bool = False,
    ) -> None:
        self._tanh = functions.tanh
        last = level - 1 - self._tanh.depth
        pooler = weights.pooler / functions.pooled, weights.pooler_bias / functions.pooled
        self._pooler = FeatureLayer(*pooler, layout, params, level, kept=kept)
        # Of whole periods: rows of zeros behind the classes.
        more = layout.period - len(weights.classifier)
        bias = np.pad(weights.classifier_bias, (0, more))
        classifier = np.pad(weights.classifier, ((0, more), (0, 0)))
        self._classifier = FeatureLayer(classifier, bias, layout, params, last, kept=kept)

    def prepare(self, context: hm.Context) -> None:
        """Bring the weights to a context's device now, and not in the first call."""
        self._pooler.prepare(context)
        self._classifier.prepare(context)

    def __call__(self, x: hm.Ciphertext) -> hm.Ciphertext:
        """A batch of one, from the features of the last block."""
        return self._classifier(self._tanh(declared(self._pooler(x))))
