"""The encrypted block of one input."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import hemera as hm
from hemera.errors import ParameterError
from hemera_apps.transformer.approximations import Approximations
from hemera_apps.transformer.clear import Weights
from hemera_apps.transformer.folded import FoldedWeights
from hemera_apps.transformer.refresh import declared
from hemera_apps.transformer.single.attention import SingleAttention
from hemera_apps.transformer.single.layers import FeatureLayer, Norm
from hemera_apps.transformer.single.levels import SingleLevels
from hemera_apps.transformer.single.shared import Padding, SharedPlans
from hemera_apps.transformer.softmax import DividedExponentials
from hemera_apps.transformer.watch import Unwatched, Watch

Array = NDArray[np.float64]


class SingleBlock:
    """A block of BERT on one input, with the polynomials of `hemera_apps.transformer.block.EncryptedBlock`.

    A call takes a batch of the ciphertexts of `SingleLayout`, bound to an evaluator, at `levels.fresh` or
    higher, and gives such a batch at `levels.fresh`: blocks follow each other. The gains and shifts of the
    last layer norm are left to the next layer.

    Attributes:
        levels: of the steps.
        norm: the gains and shifts that the output lacks.

    Args:
        weights: of the block.
        functions: on the ranges of the block's values.
        plans: those that blocks share.
        before: the gains and shifts that the input lacks; None: it has them.
        kept: whether encoded weights stay in memory. If not, each call encodes them.
        watch: gets the steps.

    Raises:
        ParameterError: if the functions take other levels than the plans have.
    """

    def __init__(
        self,
        weights: Weights,
        functions: Approximations,
        plans: SharedPlans,
        *,
        before: Norm | None = None,
        kept: bool = True,
        watch: Watch | None = None,
    ) -> None:
        self.levels = plans.levels
        if SingleLevels.of(functions, self.levels.base) != self.levels:
            raise ParameterError(
                f"the functions take {SingleLevels.of(functions, self.levels.base)}, and the plans have "
                f"{self.levels}: blocks that share plans have polynomials of the same degrees"
            )
        self._functions, self._plans = functions, plans
        self._layout, self._refresh = plans.layout, plans.refresh
        self._watch: Watch = watch or Unwatched()
        self._before = before
        self._attention = SingleAttention(weights, functions, plans, self._watch, before=before, kept=kept)
        self._plan(weights, kept)

    def _plan(self, weights: Weights, kept: bool) -> None:
        """The linear layers behind attention, with all factors."""
        levels, layout, params = self.levels, self._layout, self._plans.params
        folded = FoldedWeights(weights, self._functions)

        self._output = FeatureLayer(
            folded.output, folded.output_bias, layout, params, levels.centred + 1, kept=kept
        )
        self._up = FeatureLayer(
            folded.hidden,
            folded.hidden_bias,
            layout,
            params,
            levels.centred - 1,
            paired=self._functions.wide_gelu,
            kept=kept,
        )
        both = np.concatenate([folded.down, folded.straight], axis=1)
        self._down = FeatureLayer(
            both, folded.straight_bias, layout, params, levels.base + 1, paired=True, kept=kept
        )
        self.norm = Norm.behind(weights, self._functions)
        before = self._before
        self._own: tuple[Array, Array] | None = None
        if before is not None:
            self._own = layout.spread(before.gain), layout.spread(before.shift - before.shift.mean())

    def prepare(self, context: hm.Context) -> None:
        """Bring the weights to a context's device now, and not in the first call. Shared plans have a method
        of their own."""
        self._attention.prepare(context)
        for layer in (self._output, self._up, self._down):
            layer.prepare(context)

    def __call__(self, x: hm.Ciphertext, padding: Padding | None = None) -> hm.Ciphertext:
        """The block's output.

        Args:
            x: the features.
            padding: tokens that no other one attends to; None: there is none.

        Raises:
            LevelError: if the input is below `levels.fresh`.
        """
        normed = self._first_half(x, padding)
        self._watch.see("scaled1", normed, self._functions.largest_roots[0])
        self._watch.stage("first layer norm")
        return self._second_half(normed)

    def _first_half(self, x: hm.Ciphertext, padding: Padding | None) -> hm.Ciphertext:
        """Up to the first layer norm, without its gains, divided by `largest_roots[0]`."""
        levels, refresh = self.levels, self._refresh
        mixed = self._mixed(x, padding)
        self._watch.see("mixed", mixed, self._functions.ranges.mixed / 2)
        centred = self._output(mixed) + self._residual(x)
        self._watch.see("centred1", centred, 1)
        self._watch.stage("output layer")
        root = refresh.one(self._inverse_root(centred, 0)).at_level(levels.centred)
        return (centred * root).rescale()

    def _residual(self, x: hm.Ciphertext) -> hm.Ciphertext:
        """The features without their means."""
        level, features = self.levels.centred, self._layout.shape.features
        if self._own is None:
            own, weighted = x, x * (1 / features)
        else:
            gains, shifts = self._own
            own, weighted = x * gains + shifts, x * (gains / features)
        return own.at_level(level) - self._plans.total(_whole(weighted))

    def _mixed(self, x: hm.Ciphertext, padding: Padding | None) -> hm.Ciphertext:
        """Attention's output, divided by half of `ranges.mixed`."""
        levels, functions, refresh = self.levels, self._functions, self._refresh
        weights = self._attention.weights_of(x, padding)
        divided = self._attention.weighted(x, weights, padding).at_level(levels.base + 1)
        if isinstance(functions.softmax, DividedExponentials):
            sums = refresh.one(self._attention.sums(weights, padding))
            self._watch.see("sums", sums, functions.ranges.sums[1])
            inverse = functions.softmax.inverse(sums.at_level(levels.top) * 2)
            if padding is not None:
                inverse *= padding.factor
            divided *= self._plans.spread_sums(inverse.at_level(levels.base + 2))
            self._watch.stage("softmax")
        del weights
        found = hm.concatenate(refresh.twice(divided.at_level(levels.base), levels.centred + 1))
        self._watch.stage("first bootstraps")
        return found

    def _second_half(self, normed: hm.Ciphertext) -> hm.Ciphertext:
        """The part from the first layer norm to the output."""
        levels, functions, refresh = self.levels, self._functions, self._refresh
        hidden = self._up(normed)
        self._watch.see("hidden", hidden, functions.hidden_unit)
        self._watch.stage("hidden layer")
        if functions.wide_gelu:
            parts = refresh.twice_pairs(hidden.at_level(levels.base), levels.top)
            hidden = hm.concatenate(parts)[: self._layout.shape.inner // self._layout.period]
            squares = hidden.square() - 1
        else:
            squares = hidden.square() * 2 - 1
        activated = functions.gelu(declared(squares))
        del hidden
        both = [part.at_level(levels.base + 1) for part in (activated, normed)]
        self._watch.stage("GELU")
        total = self._down(hm.concatenate(both))
        del activated, normed, both
        self._watch.stage("second layer")
        parts = refresh.twice_pairs(total.at_level(levels.base), levels.fresh + 1)
        centred = hm.concatenate(parts)[: self._layout.ciphertexts]
        self._watch.see("centred2", centred, functions.ranges.centred / 2)
        self._watch.stage("second bootstraps")
        root = refresh.one(self._inverse_root(centred, 1).at_level(levels.base))
        found = (centred * root.at_level(levels.fresh + 1)).rescale()
        self._watch.see("scaled2", found, functions.largest_roots[1] * functions.ranges.centred / 2)
        self._watch.stage("second layer norm")
        return found

    def _inverse_root(self, centred: hm.Ciphertext, step: int) -> hm.Ciphertext:
        """The inverse root of the sum of the features' squares, over the largest one: a batch of one."""
        root = self._functions.inverse_roots[step]
        own = list(centred)
        squares = centred.evaluator.dot(own, own).reshape(1)
        return root(self._plans.sums[step](squares), self._refresh)


def _whole(rows: hm.Ciphertext) -> hm.Ciphertext:
    """The sum of the ciphertexts, a batch of one."""
    return rows.sum(axis=0).reshape(1)
