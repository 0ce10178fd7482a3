"""The levels of the steps of a block with one input."""

from __future__ import annotations

from dataclasses import dataclass

from hemera_apps.transformer.approximations import Approximations


@dataclass(frozen=True)
class SingleLevels:
    """The levels at which steps of a block begin, from its input to its output."""

    base: int
    """The lowest one, where bootstraps start."""
    fresh: int
    """The level of the block's input and output, and of its products with the weights of queries and keys."""
    values: int
    """The level of the products with the weights of values."""
    centred: int
    """The level of the first layer norm."""
    top: int
    """The least level at which bootstraps must end."""

    @classmethod
    def of(cls, functions: Approximations, base: int) -> SingleLevels:
        """The levels of a block whose bootstraps start at level `base`."""
        depths = functions.depths
        # Weights, masks, scores; exponentials and their squares; weighted sums and their division.
        attention = base + 3 + depths.exponential + 1 + 2
        # Normed features, hidden ones, squares; the second layer.
        centred = base + 3 + depths.gelu + 1
        # Squares and their sums over the features.
        first, second = (depth + 2 for depth in depths.inverse_roots)
        centred = max(centred, base + first)
        fresh = max(attention, centred + 1, base + second)
        # The inverse, and its places.
        top = max(fresh + 1, base + 2 + depths.inverse)
        return cls(base, fresh, base + 5, centred, top)
