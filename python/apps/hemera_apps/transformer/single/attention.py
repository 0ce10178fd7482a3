"""Attention of all heads on one input.

Scores of a head with w features lie where its features do: slot (token i, head h, place e) of scores c has
those of token i with token i + w c + e, so that functions take tokens / w ciphertexts for each one of
features. With tokens turned by their place, K'[i, f] = K[i + f, f], and V' likewise,

    S_c[i, e] = sum over f of Q[i, f] K[i + w c + e, f]
              = sum over m of (rot(Q, m) in the head) rot(K'_c, m - p m),
    O[i, f] = sum over c and m of rot(E_c, m) (rot(V', p (w c + m)) in the head),

where K'_c is K' turned by w c tokens, p is the period, -w < m < w, and "in the head" keeps the places e with
0 <= e + m < w. Rotations share their preparation, and products are summed before they are relinearized: the
scores of 12 heads with 128 tokens and 64 features take 762 products and 6 relinearizations. (These are steps
of the product of matrices of X. Jiang, M. Kim, K. Lauter, Y. Song, 2018/1041.)
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

import hemera as hm
from hemera_apps.transformer.approximations import Approximations
from hemera_apps.transformer.clear import Weights
from hemera_apps.transformer.functions import in_the_clear
from hemera_apps.transformer.refresh import declared
from hemera_apps.transformer.single.layers import FeatureLayer
from hemera_apps.transformer.single.shared import Padding, SharedPlans
from hemera_apps.transformer.single.softmax import normalized
from hemera_apps.transformer.softmax import DividedExponentials, NormalizedSquares
from hemera_apps.transformer.watch import Watch

Array = NDArray[np.float64]

_BABIES = 32
"""Rotations that share a preparation: fewer have fewer keys, and more preparations."""


class SingleAttention:
    """The weights of all heads as plans.

    Args:
        weights: of the block.
        functions: of the block's ranges.
        plans: those that blocks share.
        watch: gets the steps.
        kept: whether encoded weights stay in memory.
    """

    def __init__(
        self,
        weights: Weights,
        functions: Approximations,
        plans: SharedPlans,
        watch: Watch,
        *,
        kept: bool,
    ) -> None:
        self._plans, self._watch = plans, watch
        self._layout = plans.layout
        width, biases, ranges = self._layout.shape.width, weights.biases, functions.ranges
        self._softmax = functions.softmax
        # Both factors of a score have the root of its factor, so that they round alike.
        root = (math.sqrt(width) * self._softmax.half) ** -0.5
        both = np.concatenate([weights.query, weights.key]) * root
        bias = np.concatenate([biases["query"], biases["key"]]) * root
        params, levels = plans.params, plans.levels
        self._factors = FeatureLayer(both, bias, self._layout, params, levels.fresh, kept=kept)
        value = weights.value / ranges.mixed, biases["value"] / ranges.mixed
        self._values = FeatureLayer(*value, self._layout, params, levels.values, kept=kept)

    def prepare(self, context: hm.Context) -> None:
        """Bring the weights to a context's device and encode the sums of this softmax now, and not in the
        first call."""
        self._factors.prepare(context)
        self._values.prepare(context)
        base, top = self._plans.levels.base, self._plans.levels.top
        divided = isinstance(self._softmax, DividedExponentials)
        for level in (base + 2,) if divided else (top, top - 1):
            self._plans.head_sums[level].prepare(context)

    @property
    def _shares(self) -> range:
        """The shares of the tokens: each has as many tokens as a head has features."""
        return range(self._layout.shape.tokens // self._layout.shape.width)

    def weights_of(self, x: hm.Ciphertext, padding: Padding | None = None) -> list[hm.Ciphertext]:
        """The exponentials of scores over `ranges.sums[1]`, or the softmax of scores whose range is wide; a
        batch for each c.

        Args:
            x: the features, at `SingleLevels.fresh`.
            padding: tokens whose exponentials are 0.
        """
        factors = self._factors(x)
        count = self._layout.ciphertexts
        turned = _turned(factors[:count], self._plans.distances, 1)
        queries = [self._plans.query_masks[m](rows) for m, rows in turned.items()]
        del turned
        keys = (self._plans if padding is None else padding).turned_keys(factors[count:])
        del factors
        self._watch.stage("queries and keys")
        period, width = self._layout.period, self._layout.shape.width
        scores = []
        for c in self._shares:
            of_share = keys.rotate(c * width * period) if c else keys
            scores.append(
                x.evaluator.dot(queries, list(_turned(of_share, self._plans.distances, 1 - period).values()))
            )
        del queries
        self._watch.see("scores", scores[0], self._softmax.half)
        self._watch.stage("scores")
        found = self._weights(hm.concatenate(scores), padding)
        return [found[c * count : (c + 1) * count] for c in self._shares]

    def _weights(self, scores: hm.Ciphertext, padding: Padding | None) -> hm.Ciphertext:
        """The weights from scores over `softmax.half`, which are 0 where they are those with padding."""
        softmax = self._softmax
        root, shift = softmax.exponential, -softmax.middle / softmax.half
        known: Array | None = None
        if padding is not None:
            root = hm.circuits.Polynomial(root.coefficients * padding.factor, basis=root.basis)
            rows = np.repeat(padding.rows, self._layout.ciphertexts, axis=0)
            known = rows * float(in_the_clear(root, np.array(shift)))
        found = root(declared(scores + shift if shift else scores))
        divided = isinstance(softmax, DividedExponentials)
        if divided:
            found = found.square()
        if known is not None:
            found -= known**2 if divided else known
        self._watch.stage("exponentials")
        if isinstance(softmax, NormalizedSquares):
            found = normalized(found, softmax, self._plans)
            self._watch.stage("softmax")
        return found

    def sums(self, weights: list[hm.Ciphertext]) -> hm.Ciphertext:
        """Their sums over all tokens, in each place of a head, a level lower."""
        return self._plans.head_sums[self._plans.levels.base + 2](hm.add_many(weights))

    def weighted(self, x: hm.Ciphertext, weights: list[hm.Ciphertext]) -> hm.Ciphertext:
        """The sums of the tokens' values times the weights, divided by `ranges.mixed`, a level lower.

        Args:
            x: the features, at `SingleLevels.values` or higher.
            weights: those of `weights_of`.
        """
        values = self._plans.turned_values(self._values(x))
        period, width, tokens = self._layout.period, self._layout.shape.width, self._layout.shape.tokens
        turned = _turned(values, range(tokens), period)
        self._watch.stage("values")
        found = []
        for c, of_share in zip(self._shares, weights, strict=True):
            left = _turned(of_share, self._plans.distances, 1)
            right = [self._plans.value_masks[m](turned[(width * c + m) % tokens]) for m in left]
            found.append(x.evaluator.dot(list(left.values()), right))
            del left, right
        total = hm.add_many(found)
        self._watch.stage("weighted sums")
        return total


def _turned(x: hm.Ciphertext, numbers: range, unit: int) -> dict[int, hm.Ciphertext]:
    """x turned by each number of units: by a multiple of `_BABIES`, then by the rest, to need few keys."""
    found: dict[int, hm.Ciphertext] = {}
    for giant in range(numbers.start // _BABIES * _BABIES, numbers.stop, _BABIES):
        start = x.rotate(giant * unit) if giant else x
        babies = [n - giant for n in numbers if 0 < n - giant < _BABIES]
        if giant in numbers:
            found[giant] = start
        turned = start.rotate_many([baby * unit for baby in babies]) if babies else []
        found |= {giant + baby: rows for baby, rows in zip(babies, turned, strict=True)}
    return found
