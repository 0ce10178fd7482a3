"""The encrypted block."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import hemera as hm
from hemera.errors import ParameterError
from hemera_apps.transformer.approximations import Approximations
from hemera_apps.transformer.attention import Attention
from hemera_apps.transformer.clear import Shape, Weights
from hemera_apps.transformer.folded import FoldedWeights
from hemera_apps.transformer.functions import MappedPolynomial, RefinedRoot
from hemera_apps.transformer.layers import Layer, chunks, take
from hemera_apps.transformer.layout import Layout
from hemera_apps.transformer.refresh import Refresh, declared
from hemera_apps.transformer.softmax import DividedExponentials
from hemera_apps.transformer.watch import Unwatched, Watch

Array = NDArray[np.float64]


class EncryptedBlock:
    """A block of BERT: attention with softmax, layer norms, and two layers with GELU between them.

    A call takes a batch of a ciphertext for each feature, bound to an evaluator, at `levels.fresh` or higher,
    and gives one at `levels.fresh`: blocks follow each other.

    Values are bootstrapped where they are fewest: the mixed features behind the softmax, the features before
    the second layer norm, the sums of the softmax and the inverse roots of the norms. Each is twice as large
    behind its bootstrap (`Refresh.twice`), which the next weights undo, as they have all other factors: the
    bounds of values, the gains of the norms, and the mean, which is the same for all features and so a linear
    map.

    Args:
        weights, shape: of the block.
        layout: of tokens in slots.
        functions: on the ranges of the block's values.
        params: of the ciphertexts.
        bootstrap: a plan of complex slots, which leaves levels enough.
        size: the number of rows that are multiplied, turned and put into polynomials at once.
        together: the number of ciphertexts that a bootstrap takes.
        watch: gets the steps.

    Raises:
        ParameterError: if a bootstrap leaves too few levels, or functions are those on wide ranges.
    """

    def __init__(
        self,
        weights: Weights,
        shape: Shape,
        layout: Layout,
        functions: Approximations,
        params: hm.ckks.Parameters,
        bootstrap: hm.circuits.Bootstrap,
        *,
        size: int = 64,
        together: int = 4,
        watch: Watch | None = None,
    ) -> None:
        softmax = functions.softmax
        if not isinstance(softmax, DividedExponentials) or functions.wide_gelu:
            raise ParameterError(
                "a block of many inputs takes no functions on wide ranges, whose bootstraps would be many: "
                "leave out Approximations(tokens=), or take SingleBlock"
            )
        self.levels, self._softmax = functions.levels(bootstrap.input_level), softmax
        self._shape, self._functions, self._size = shape, functions, size
        self._watch: Watch = watch or Unwatched()
        levels = self.levels
        self._refresh = Refresh(bootstrap, together, levels.base, levels.top)
        self._attention = Attention(
            weights,
            shape,
            layout,
            params,
            softmax,
            functions.ranges.mixed,
            levels,
            size=size,
            watch=self._watch,
        )
        self._plan(weights, params)

    def _plan(self, weights: Weights, params: hm.ckks.Parameters) -> None:
        """The linear layers behind attention, with all factors."""
        levels, ranges, folded = self.levels, self._functions.ranges, FoldedWeights(weights, self._functions)
        features = self._shape.features
        last_gain, last_shift, last_root = (
            weights.gains[1],
            weights.shifts[1],
            self._functions.largest_roots[1],
        )

        mean = np.full((1, features), 1 / features)
        self._mean = hm.circuits.PlainMatrixProduct(mean, params, level=levels.centred + 1)
        last = np.diag(last_gain * last_root * ranges.centred / 2)
        self._output = [
            Layer(folded.output[part], folded.output_bias[part], params, levels.centred + 1)
            for part in chunks(features, self._size)
        ]
        self._last = [
            Layer(last[part, part], last_shift[part], params, levels.fresh + 1)
            for part in self._refresh.parts(features)
        ]
        self._up, self._down = [], []
        for part in chunks(self._shape.inner, self._size):
            hidden = folded.hidden[part], folded.hidden_bias[part]
            self._up.append(Layer(*hidden, params, levels.centred - 1))
            self._down.append(Layer(folded.down[:, part], None, params, levels.base + 1))
        self._straight = Layer(folded.straight, folded.straight_bias, params, levels.base + 1)

    def __call__(self, x: hm.Ciphertext) -> hm.Ciphertext:
        """The block's output.

        Raises:
            LevelError: if the input is below `levels.fresh`.
        """
        normed = hm.concatenate(self._first_half(x))
        self._watch.stage("first layer norm")
        return self._second_half(normed)

    def _first_half(self, x: hm.Ciphertext) -> list[hm.Ciphertext]:
        """Up to the first layer norm, without its gains, divided by `largest_roots[0]`."""
        mixed = hm.concatenate(self._mixed(x))
        self._watch.see("mixed", mixed, self._functions.ranges.mixed / 2)
        level = self.levels.centred
        mean = self._mean(x).at_level(level)
        centred = []
        for part, layer in zip(chunks(len(x), self._size), self._output, strict=True):
            rows = layer(mixed)
            rows += x[part].at_level(level) - mean
            centred.append(rows)
        del mixed
        self._watch.see("centred1", centred[0], 1)
        self._watch.stage("output layer")
        return self._normed(centred, self._functions.inverse_roots[0])

    def _mixed(self, x: hm.Ciphertext) -> list[hm.Ciphertext]:
        """Attention's output, divided by half of `ranges.mixed`."""
        levels, functions, refresh = self.levels, self._functions, self._refresh
        rows = x if x.level == levels.attention else x.at_level(levels.attention)
        low = hm.concatenate([x[part].at_level(levels.values) for part in chunks(len(x), self._size)])
        mixed, sums = [], []
        for head in range(self._shape.heads):
            products, total = self._attention.head(head, rows, low)
            mixed.append(products.at_level(levels.base + 1))
            sums.append(total.at_level(levels.base))
            self._watch.stage(f"head {head + 1}")
        del rows, low
        doubled = hm.concatenate(refresh.twice(hm.stack(sums), levels.top))
        self._watch.see("sums", doubled, functions.ranges.sums[1] / 2)
        inverses = self._softmax.inverse(doubled).at_level(levels.base + 1)
        divided = hm.concatenate(
            [(part * inverses[head]).at_level(levels.base) for head, part in enumerate(take(mixed))]
        )
        self._watch.stage("softmax")
        found = refresh.twice(divided, levels.centred + 1)
        self._watch.stage("first bootstraps")
        return found

    def _second_half(self, normed: hm.Ciphertext) -> hm.Ciphertext:
        """The part from the first layer norm to the output."""
        levels, functions, ranges = self.levels, self._functions, self._functions.ranges
        self._watch.see("scaled1", normed, functions.largest_roots[0])
        total = self._straight(normed)
        for number, (up, down) in enumerate(zip(self._up, self._down, strict=True)):
            hidden = up(normed)
            if number == 0:
                self._watch.see("hidden", hidden, ranges.hidden)
            total += down(functions.gelu(declared(hidden.square() * 2 - 1)))
        del normed, hidden
        self._watch.stage("hidden layers")
        centred = self._refresh.twice(total.at_level(levels.base), levels.fresh + 2)
        del total
        self._watch.see("centred2", centred[0], ranges.centred / 2)
        self._watch.stage("second bootstraps")
        last = self._normed(centred, functions.inverse_roots[1])
        found = hm.concatenate([layer(rows) for layer, rows in zip(self._last, take(last), strict=True)])
        self._watch.see("output", found, 1)
        self._watch.stage("second layer norm")
        return found

    def _normed(
        self, centred: list[hm.Ciphertext], root: MappedPolynomial | RefinedRoot
    ) -> list[hm.Ciphertext]:
        """Features times the inverse root of the sum of their squares, divided by the largest one. The list
        of the features is empty then."""
        evaluator = centred[0].evaluator
        squares = []
        for rows in centred:
            own = list(rows)
            squares.append(evaluator.dot(own, own))
        del rows, own
        inverse = self._refresh.one(root(hm.add_many(squares), self._refresh)).at_level(centred[0].level)
        return [(rows * inverse).rescale() for rows in take(centred)]
