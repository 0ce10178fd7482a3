"""The plans of a block that its weights do not change: blocks of a network share them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import hemera as hm
from hemera.errors import RangeError
from hemera_apps.transformer.clear import token_weights
from hemera_apps.transformer.refresh import Refresh
from hemera_apps.transformer.single.layers import FeatureLayer
from hemera_apps.transformer.single.layout import SingleLayout
from hemera_apps.transformer.single.levels import SingleLevels
from hemera_apps.transformer.single.turned import TurnedProducts

Array = NDArray[np.float64]


class SharedPlans:
    """Sums, means, masks and turned tokens.

    Attributes:
        layout, params, levels: as given.
        refresh: bootstraps.
        total, sums: of the features of a ciphertext, for means and for each layer norm.
        head_sums: of the places of each head, by the level of these.
        merged_sums, spread_sums: such sums, in fewer ciphertexts (`SingleLayout.merging`), and the other way
            round.
        turned_keys, turned_values: K' and V', see `hemera_apps.transformer.single.attention`.
        scores, weighted: the products of queries and K', and of V' and exponentials.

    Args:
        layout: of features in slots.
        params: of the ciphertexts.
        levels: of the steps.
        bootstrap: a plan of complex slots, which leaves levels enough.
        together: the number of ciphertexts that a bootstrap takes.

    Raises:
        ParameterError: if a bootstrap leaves too few levels.
    """

    def __init__(
        self,
        layout: SingleLayout,
        params: hm.ckks.Parameters,
        levels: SingleLevels,
        bootstrap: hm.circuits.Bootstrap,
        *,
        together: int = 4,
    ) -> None:
        self.layout, self.params, self.levels = layout, params, levels
        real = hm.circuits.Bootstrap(params, real=True)
        self.refresh = Refresh(bootstrap, together, levels.base, levels.top, real=real)
        width = layout.shape.width
        self.total, *self.sums = (
            hm.circuits.InnerSum(
                params, layout.slots, layout.period, everywhere=True, level=level, own_keys=True
            )
            for level in (levels.centred + 1, levels.centred - 1, levels.fresh)
        )
        of_heads: Array = np.kron(np.eye(layout.shape.heads), np.ones((width, width))).astype(np.float64)
        self.head_sums = {
            level: FeatureLayer(of_heads, None, layout, params, level)
            for level in (levels.top, levels.top - 1)
        }
        merged = layout.merging @ of_heads
        spread = (merged > 0).T / (merged > 0).sum(0)[:, None]  # the mean of the places that have a sum
        self.merged_sums, self.spread_sums = (
            FeatureLayer(each, None, layout, params, levels.base + 2) for each in (merged, spread)
        )

        everywhere = np.ones(layout.shape.tokens)
        self.turned_keys = self.turned(everywhere, levels.fresh - 1)
        self.turned_values = self.turned(everywhere, levels.values - 1)
        period = layout.period
        self.scores = TurnedProducts(layout, params, levels.fresh - 1, 1, 1 - period)
        self.weighted = TurnedProducts(layout, params, levels.values - 2, period, 1)

    def prepare(self, context: hm.Context) -> None:
        """Encode constants now and not in the first call: all but those of K' and V', which padding changes,
        and of sums in the softmax, which differ between blocks."""
        self.refresh.prepare(context)
        for sums in (self.total, *self.sums):
            sums.prepare(context)
        for products in (self.scores, self.weighted):
            products.prepare(context)

    def turned(self, tokens: Array, level: int) -> hm.circuits.LinearTransform:
        """In place f of token i, place f of token i + f, times that token's entry of `tokens`."""
        layout = self.layout
        slots = np.arange(layout.slots)
        place, token = slots % layout.shape.width, slots // layout.period
        turns = {
            layout.period * f: (place == f) * tokens[(token + f) % len(tokens)]
            for f in range(layout.shape.width)
        }
        return hm.circuits.LinearTransform.from_diagonals(
            turns, self.params, slots=layout.slots, level=level, own_keys=True
        )


class Padding:
    """Tokens that no other one attends to: those behind the first `real` ones. Their keys are zero, and so
    are the scores with them, whose exponentials are a known number: that of 0.

    Attributes:
        count: the number of these tokens.
        turned_keys, turned_values: K' and V' without those of padding.
        rows: 1 where a score is one with padding, else 0; of shape (tokens / w, slots), for heads of w
            features.
        factor: of the exponentials, whose sums of few tokens are then as large as those of many.

    Args:
        plans: of the block.
        real: the number of tokens that count.

    Raises:
        RangeError: for no tokens, or for more than there are.
    """

    def __init__(self, plans: SharedPlans, real: int) -> None:
        layout = plans.layout
        tokens, width = layout.shape.tokens, layout.shape.width
        if not 0 < real <= tokens:
            raise RangeError(f"{real} tokens count, of {tokens}: give 1 to {tokens}")
        counted = token_weights(layout.shape, real).ravel() > 0
        self.factor = tokens / real
        self.count = tokens - real
        weights = counted.astype(float)
        self.turned_keys = plans.turned(weights, plans.levels.fresh - 1)
        self.turned_values = plans.turned(weights, plans.levels.values - 1)
        slots = np.arange(layout.slots)
        second = slots // layout.period + slots % width + np.arange(0, tokens, width)[:, None]
        self.rows: Array = 1.0 - counted[second % tokens]
