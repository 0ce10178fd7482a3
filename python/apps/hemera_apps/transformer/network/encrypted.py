"""The encrypted network."""

from __future__ import annotations

from collections.abc import Sequence

import hemera as hm
from hemera_apps.transformer.network.head import EncryptedHead
from hemera_apps.transformer.single.block import SingleBlock
from hemera_apps.transformer.single.shared import Padding, SharedPlans


class EncryptedNetwork:
    """Blocks that share plans, pooler and classifier.

    A call takes the ciphertexts of `NetworkCircuit.encrypt`, bound to an evaluator, and the number of tokens,
    and gives one ciphertext with the logits. The evaluator's keys are those of one block.

    Attributes:
        blocks, head: the parts, in order.

    Args:
        plans: of all blocks.
        blocks, head: the parts.
    """

    def __init__(self, plans: SharedPlans, blocks: Sequence[SingleBlock], head: EncryptedHead) -> None:
        self._plans, self.blocks, self.head = plans, list(blocks), head
        self._last: tuple[int, Padding | None] = 0, None

    def prepare(self, context: hm.Context) -> None:
        """Encode constants and bring weights to a context's device now, and not in the first call: all but
        the masks of an input's padding."""
        self._plans.prepare(context)
        for block in self.blocks:
            block.prepare(context)
        self.head.prepare(context)

    def padding(self, real: int) -> Padding | None:
        """The padding behind `real` tokens, with the constants of the last one if that was for as many; None:
        all count. RangeError unless from 1 to all."""
        if real == self._plans.layout.shape.tokens:
            return None
        number, found = self._last
        if found is None or number != real:
            found = Padding(self._plans, real)
            self._last = real, found
        return found

    def __call__(self, x: hm.Ciphertext, real: int) -> hm.Ciphertext:
        """The logits, at the lowest level, a batch of one.

        Args:
            x: the features.
            real: the number of tokens; the rest is padding.

        Raises:
            RangeError: for no tokens, or for more than the shape has.
        """
        padding = self.padding(real)
        for block in self.blocks:
            x = block(x, padding)
        return self.head(x).at_level(0)
