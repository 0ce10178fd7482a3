"""Attention of all heads on one input.

Scores of a head with w features lie where its features do: slot (token i, head h, place e) of scores c has
those of token i with token i + w c + e, so that functions take tokens / w ciphertexts for each one of
features. With tokens turned by their place, K'[i, f] = K[i + f, f], and V' likewise,

    S_c[i, e] = sum over f of Q[i, f] K[i + w c + e, f]
              = sum over m of (rot(Q, m) in the head) rot(K'_c, m - p m),
    O[i, f] = sum over c and m of rot(E_c, m) (rot(V'_c, p m) in the head),

where K'_c and V'_c are turned by w c tokens, p is the period, and "in the head" keeps the places e with 0 <=
e + m < w. For m < 0 that is what is beyond the head for m + w, and K'_c and V'_c are those of the next share:
so with X_m = rot(X, m) in the head + i rot(X, m) beyond it, and 0 <= m < w,

    P_c = sum over m of Q_m rot(K'_c, m - p m),    S_c = Re P_c + rot(Im P_(c+1), -w),
    F_c = E_c - i rot(E_(c+1), -w),
    O = sum over c of rot(Re sum over m of rot(rot(F_c, -p w c), m) V'_m, p w c),

where V'_m turns V' by m tokens. `hemera_apps.transformer.single.turned` has the sums over m.
"""

from __future__ import annotations

import math

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
        root = (2 * math.sqrt(width) * self._softmax.half) ** -0.5  # doubled by conjugates
        both = np.concatenate([weights.query, weights.key]) * root
        bias = np.concatenate([biases["query"], biases["key"]]) * root
        params, levels = plans.params, plans.levels
        unit = 2 * ranges.mixed
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
    def _shares(self) -> range:
        """The slots by which the tokens of each share are turned. A share has as many tokens as a head has
        features."""
        shape, period = self._layout.shape, self._layout.period
        return range(0, shape.tokens * period, shape.width * period)

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
        keys = (self._plans if padding is None else padding).turned_keys(factors[count:])
        of_shares = [keys.rotate(turn) if turn else keys for turn in self._shares]
        del factors, keys
        self._watch.stage("queries and keys")
        within, beyond = twice_parts(self._plans.scores(queries, of_shares))
        del queries, of_shares
        scores = within + _next(beyond.rotate(-self._layout.shape.width))
        self._watch.see("scores", scores[0], self._softmax.half)
        self._watch.stage("scores")
        found = self._weights(scores.reshape(len(scores) * count), padding)
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
            found = (found - padding.count * zero) * padding.factor
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
        plans, shares = self._plans, self._shares
        values = (plans if padding is None else padding).turned_values(self._values(x))
        self._watch.stage("values")
        own = hm.concatenate([each.reshape(1, len(each)) for each in weights])
        pairs = own - _next(own.rotate(-self._layout.shape.width)) * 1j
        turned = [each.rotate(-turn) if turn else each for turn, each in zip(shares, pairs, strict=True)]
        found = plans.weighted(values, turned)
        sums = [each.rotate(turn) if turn else each for turn, each in zip(shares, found, strict=True)]
        total = hm.add_many(sums)
        total += total.conjugate()
        self._watch.stage("weighted sums")
        return total


def _next(shares: hm.Ciphertext) -> hm.Ciphertext:
    """In the place of each share the next one, along the first axis."""
    count = len(shares)
    return shares if count == 1 else shares[[(share + 1) % count for share in range(count)]]
