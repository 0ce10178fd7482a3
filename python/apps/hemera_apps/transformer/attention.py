"""Attention of a head on tokens in slots.

With d = g + b, for giant steps g and baby steps b, the scores are computed turned back by g,

    S'[g, b] = sum over k of rot(Q_k, -g) rot(K_k, b)  =  rot(S[g + b], -g),

where S[d] has the scores of all tokens t with the tokens t + d. Their exponentials E' are turned
likewise, and

    O_j = sum over g of rot(sum over b of E'[g, b] rot(V_j, b), g),

so that neither scores nor exponentials are turned. A head of 128 tokens and 64 features takes 2,816 rotations
in place of 16,256.
"""

from __future__ import annotations

import math

import numpy as np

import hemera as hm
from hemera_apps.transformer.approximations import Levels
from hemera_apps.transformer.clear import Shape, Weights
from hemera_apps.transformer.layers import Layer, chunks
from hemera_apps.transformer.layout import Layout
from hemera_apps.transformer.refresh import declared
from hemera_apps.transformer.softmax import DividedExponentials
from hemera_apps.transformer.watch import Watch


class Attention:
    """The heads of a block: their weights as plans.

    Args:
        weights, shape: of the block.
        layout: of tokens in slots.
        softmax: on the range of scores.
        mixed: the largest magnitude of weighted values.
        levels: of its steps.
        size: the number of rows that are turned at once.
        watch: sees the scores of the first head.
    """

    def __init__(
        self,
        weights: Weights,
        shape: Shape,
        layout: Layout,
        params: hm.ckks.Parameters,
        softmax: DividedExponentials,
        mixed: float,
        levels: Levels,
        *,
        size: int,
        watch: Watch,
    ) -> None:
        self._layout, self._softmax, self._size, self._watch = layout, softmax, size, watch
        self._babies = 1 << (int(math.log2(shape.tokens)) + 1) // 2
        self._giants = shape.tokens // self._babies
        # Both factors of a score have the root of its factor, so that they round alike.
        root = (math.sqrt(shape.width) * softmax.half) ** -0.5

        value = 1 / mixed
        self._width = shape.width
        self._factors, self._values = [], []
        for head in range(shape.heads):
            own = slice(head * shape.width, (head + 1) * shape.width)
            both = np.concatenate([weights.query[own], weights.key[own]]) * root
            bias = np.concatenate([weights.biases["query"][own], weights.biases["key"][own]]) * root
            self._factors.append(Layer(both, bias, params, levels.attention))
            values = weights.value[own] * value, weights.biases["value"][own] * value
            self._values.append(Layer(*values, params, levels.values))

    def head(
        self, number: int, rows: hm.Ciphertext, low: hm.Ciphertext
    ) -> tuple[hm.Ciphertext, hm.Ciphertext]:
        """The head's sums of weighted values, divided by `mixed`, and those of the weights.

        Args:
            number: of the head.
            rows: the features, at `Levels.attention`.
            low: the same at `Levels.values`.
        """
        factors = self._factors[number](rows)
        queries = self._turned_back(factors[: self._width])
        keys = self._turned_by_baby_steps(factors[self._width :])
        values = self._baby_steps_of(self._values[number](low))
        evaluator = rows.evaluator
        mixed, sums = [], []
        for giant, query in enumerate(queries):
            scores = evaluator.dot([query[k] for k in range(self._width)], keys)
            if number == 0 and giant == 0:
                self._watch.see("scores", scores, self._softmax.half)
            weights = self._softmax.exponential(declared(scores)).square()
            step = giant * self._babies * self._layout.stride
            products = evaluator.dot([weights[b] for b in range(self._babies)], values)
            total = weights.sum(axis=0)
            mixed.append(products.rotate(step) if step else products)
            sums.append(total.rotate(step) if step else total)
        return hm.add_many(mixed), hm.add_many(sums)

    def _turned_back(self, queries: hm.Ciphertext) -> list[hm.Ciphertext]:
        """The queries turned back by each giant step."""
        step = self._babies * self._layout.stride
        turned = queries.rotate_many([-g * step for g in range(1, self._giants)]) if self._giants > 1 else []
        return [queries, *turned]

    def _baby_steps_of(self, rows: hm.Ciphertext) -> list[hm.Ciphertext]:
        if self._babies == 1:
            return [rows]
        return [rows, *rows.rotate_many([b * self._layout.stride for b in range(1, self._babies)])]

    def _turned_by_baby_steps(self, keys: hm.Ciphertext) -> list[hm.Ciphertext]:
        """A batch of all baby steps for each feature."""
        found = []
        for part in chunks(self._width, self._size):
            turned = hm.stack(self._baby_steps_of(keys[part]))  # (baby steps, features)
            found += [turned[:, k] for k in range(turned.shape[1])]
        return found
