"""Pooler and classifier on encrypted features."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import hemera as hm
from hemera.errors import ParameterError
from hemera_apps.transformer.approximations import Degrees
from hemera_apps.transformer.functions import in_the_clear
from hemera_apps.transformer.refresh import declared
from hemera_apps.transformer.single.layers import FeatureLayer, Norm
from hemera_apps.transformer.single.layout import SingleLayout

if TYPE_CHECKING:
    from hemera_apps.transformer.network.model import HeadWeights

Array = NDArray[np.float64]

_BITS = 12
"""Bits of tanh."""


class HeadFunctions:
    """tanh of `pooled` t, for t from -1 to 1, as a polynomial within 2^-12.

    Args:
        pooled: the largest magnitude before tanh.
        degrees: of polynomials. The degree of tanh is twice as high if it must be, for one level more.

    Raises:
        ParameterError: if none is near enough.
    """

    def __init__(self, pooled: float, degrees: Degrees) -> None:
        self.pooled = pooled
        for degree in (degrees.tanh, 2 * degrees.tanh + 1):
            self.tanh = hm.approximate(lambda t: math.tanh(pooled * t), (-1, 1), degree)
            if self.tanh.error <= 2.0**-_BITS:
                return
        raise ParameterError(
            f"the pooler's tanh of values up to {pooled:g}: no polynomial of degree {degree} is within "
            f"2^-{_BITS}"
        )

    def approximate(self, x: Array) -> Array:
        """tanh(x) in the clear, by the polynomial."""
        return in_the_clear(self.tanh, x / self.pooled)


class EncryptedHead:
    """The logits of one input, in the first slots of a ciphertext.

    They are those of the first token; slots of other tokens have their own.

    Args:
        weights: of pooler and classifier.
        functions: on the range of the pooler.
        layout: of features in slots.
        params: of the ciphertexts.
        level: of the features.
        before: the gains and shifts that these lack; None: they have them.
        kept: whether encoded weights stay in memory.

    Raises:
        LevelError: if there are too few levels.
    """

    def __init__(
        self,
        weights: HeadWeights,
        functions: HeadFunctions,
        layout: SingleLayout,
        params: hm.ckks.Parameters,
        level: int,
        *,
        before: Norm | None = None,
        kept: bool = False,
    ) -> None:
        self._tanh = functions.tanh
        last = level - 1 - self._tanh.depth
        pooler = weights.pooler / functions.pooled, weights.pooler_bias / functions.pooled
        if before is not None:
            pooler = before.folded(*pooler)
        self._pooler = FeatureLayer(*pooler, layout, params, level, kept=kept)
        # Whole periods: rows of zeros behind the classes.
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
