"""Attention of all heads on one input.

Scores of a head with w features lie where its features do: slot (token i, head h, place e) of scores c has
those of token i with token i + w c + e, so that functions take tokens / w ciphertexts for each one of
features. With tokens turned by their place, K'[i, f] = K[i + f, f], and V' likewise,

    S_c[i, e] = sum over f of Q[i, f] K[i + w c + e, f]
              = sum over m of (rot(Q, m) in the head) rot(K'_c, m - p m),
    O[i, f] = sum over c and m of rot(E_c, m) (rot(V'_c, p m) in the head),

where K'_c and V'_c are turned by w c tokens, p is the period, and "in the head" keeps the places e with 0 <=
e + m < w. Two shares are one complex number: K'_c + i K'_d gives S_c + i S_d, and the real part of (E_c - i
E_d) (V'_c + i V'_d) is what both add to O. `hemera_apps.transformer.single.turned` has the sums over m.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

import hemera as hm
from hemera_apps.transformer.approximations import Approximations
from hemera_apps.transformer.clear import Weights
from hemera_apps.transformer.functions import in_the_clear
from hemera_apps.transformer.refresh import declared, twice_parts
from hemera_apps.transformer.single.layers import FeatureLayer, Norm
from hemera_apps.transformer.single.shared import Padding, SharedPlans
from hemera_apps.transformer.single.softmax import normalized
from hemera_apps.transformer.softmax import DividedExponentials, NormalizedSquares
from hemera_apps.transformer.watch import Watch

Array = NDArray[np.float64]


class SingleAttention:
    """The weights of all heads as plans.

    Args:
        weights: of the block.
        functions: of the block's ranges.
        plans: those that blocks share.
        watch: gets the steps.
        before: the gains and shifts that the features lack; None: they have them.
        kept: whether encoded weights stay in memory.
    """

    def __init__(
        self,
        weights: Weights,
        functions: Approximations,
        plans: SharedPlans,
        watch: Watch,
        *,
        before: Norm | None = None,
        kept: bool,
    ) -> None:
        self._plans, self._watch = plans, watch
        self._layout = plans.layout
        width, biases, ranges = self._layout.shape.width, weights.biases, functions.ranges
        self._softmax = functions.softmax
        # Both factors of a score have the root of its factor, so that they round alike.
        doubled = len(self._pairs[0])  # by their conjugates
        root = (math.sqrt(width) * self._softmax.half * doubled) ** -0.5
        both = np.concatenate([weights.query, weights.key]) * root
        bias = np.concatenate([biases["query"], biases["key"]]) * root
        params, levels = plans.params, plans.levels
        unit = ranges.mixed * doubled
        value = weights.value / unit, biases["value"] / unit
        if before is not None:
            (both, bias), value = before.folded(both, bias), before.folded(*value)
        self._factors = FeatureLayer(both, bias, self._layout, params, levels.fresh, kept=kept)
        self._values = FeatureLayer(*value, self._layout, params, levels.values, kept=kept)

    def prepare(self, context: hm.Context) -> None:
        """Bring the weights to a context's device and encode the sums of this softmax now, and not in the
        first call."""
        self._factors.prepare(context)
        self._values.prepare(context)
        plans = self._plans
        divided = isinstance(self._softmax, DividedExponentials)
        for sums in (plans.merged_sums, plans.spread_sums) if divided else plans.head_sums.values():
            sums.prepare(context)

    @property
    def _pairs(self) -> list[tuple[int, ...]]:
        """The shares of the tokens, each of which has as many tokens as a head has features, in pairs, which
        are one complex number; or a single share."""
        shares = range(self._layout.shape.tokens // self._layout.shape.width)
        return [(c, c + 1) for c in shares[::2]] if len(shares) > 1 else [(0,)]

    def _paired(self, x: hm.Ciphertext) -> hm.Ciphertext:
        """x of the tokens of the first share of a pair, and i times x of those of the second one: of shape
        (pairs, ciphertexts)."""
        tokens = self._layout.shape.width * self._layout.period
        return _stacked(
            _complex([x.rotate(c * tokens) if c else x for c in pair], 1j) for pair in self._pairs
        )

    def weights_of(self, x: hm.Ciphertext, padding: Padding | None = None) -> list[hm.Ciphertext]:
        """The exponentials of scores over `ranges.sums[1]`, or the softmax of scores whose range is wide; a
        batch for each c.

        Args:
            x: the features, at `SingleLevels.fresh`.
            padding: tokens whose exponentials are 0.
        """
        factors = self._factors(x)
        count = self._layout.ciphertexts
        queries = factors[:count]
        keys = self._paired((self._plans if padding is None else padding).turned_keys(factors[count:]))
        del factors
        self._watch.stage("queries and keys")
        both = self._plans.scores(queries.reshape(1, count), keys)
        del queries, keys
        scores: list[hm.Ciphertext] = []
        for pair, found in zip(self._pairs, both, strict=True):
            if len(pair) == 2:
                scores += twice_parts(found)
            else:
                scores.append(found)
        self._watch.see("scores", scores[0], self._softmax.half)
        self._watch.stage("scores")
        found = self._weights(hm.concatenate(scores), padding)
        return [found[first : first + count] for first in range(0, len(found), count)]

    def _weights(self, scores: hm.Ciphertext, padding: Padding | None) -> hm.Ciphertext:
        """The weights from scores over `softmax.half`. Those of padding are a known number if exponentials
        are divided by their sums, else 0."""
        softmax = self._softmax
        root, shift = softmax.exponential, -softmax.middle / softmax.half
        if isinstance(softmax, NormalizedSquares) and padding is not None:
            # The sums of the squares of few tokens are as large as those of all.
            root = hm.circuits.Polynomial(root.coefficients * math.sqrt(padding.factor), basis=root.basis)
        found = root(declared(scores + shift if shift else scores))
        if isinstance(softmax, DividedExponentials):
            found = found.square().rescale()
        elif padding is not None:
            rows = np.repeat(padding.rows, self._layout.ciphertexts, axis=0)
            found -= rows * float(in_the_clear(root, np.array(shift)))
        self._watch.stage("exponentials")
        if isinstance(softmax, NormalizedSquares):
            found = normalized(found, softmax, self._plans)
            self._watch.stage("softmax")
        return found

    def sums(self, weights: list[hm.Ciphertext], padding: Padding | None = None) -> hm.Ciphertext:
        """The sums of exponentials over all tokens but padding, at the lowest level, as
        `SharedPlans.merged_sums` has them. Those of few tokens are made as large as those of all."""
        found = self._plans.merged_sums(hm.add_many(weights))
        if padding is not None:
            zero = float(in_the_clear(self._softmax.exponential, np.array(0.0))) ** 2
            found = ((found - padding.count * zero) * padding.factor).rescale()
        return found.at_level(self._plans.levels.base)

    def weighted(
        self, x: hm.Ciphertext, weights: list[hm.Ciphertext], padding: Padding | None = None
    ) -> hm.Ciphertext:
        """The sums of the tokens' values times the weights, divided by `ranges.mixed`, a level lower.

        Args:
            x: the features, at `SingleLevels.values` or higher.
            weights: those of `weights_of`.
            padding: tokens whose values do not count.
        """
        plans = self._plans
        values = self._paired((plans if padding is None else padding).turned_values(self._values(x)))
        self._watch.stage("values")
        factors = _stacked(_complex([weights[c] for c in pair], -1j) for pair in self._pairs)
        found = plans.weighted(values, factors)
        total = found.sum(axis=0)
        if len(self._pairs[0]) == 2:
            total += total.conjugate()
        self._watch.stage("weighted sums")
        return total


def _complex(parts: list[hm.Ciphertext], unit: complex) -> hm.Ciphertext:
    """The first part, and the second one times i or -i if there is one."""
    return parts[0] if len(parts) == 1 else parts[0] + parts[1] * unit


def _stacked(batches: Iterable[hm.Ciphertext]) -> hm.Ciphertext:
    """Batches along a new first axis."""
    return hm.concatenate([batch.reshape(1, len(batch)) for batch in batches])
