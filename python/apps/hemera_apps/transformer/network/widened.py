"""Random weights whose values have ranges as wide as those of trained ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hemera_apps.transformer.network.config import NetworkConfig
from hemera_apps.transformer.network.model import random_state

_READERS = ("attention.self.query", "attention.self.key", "attention.self.value", "intermediate.dense")


@dataclass(frozen=True)
class Widening:
    """How much wider the values of random weights become.

    A few features of trained networks are many times as large as the others behind each layer norm, and so
    the variances of tokens differ. Here it is the first feature; weights that read it are smaller in the same
    measure.
    """

    sharpness: float = 5
    """See `random_state`."""
    outlier: float = 12
    """The factor of the first feature behind each layer norm."""
    hidden: float = 10
    """The factor of hidden values before GELU. The weights behind it are divided by it."""
    pooled: float = 7
    """The factor of the pooler's sums."""

    def state(self, config: NetworkConfig, seed: int) -> Mapping[str, NDArray[np.float32]]:
        """Weights by name."""
        found = random_state(config, seed, sharpness=self.sharpness)
        for number in range(config.blocks):
            prefix = f"bert.encoder.layer.{number}"
            for name in _READERS:
                found[f"{prefix}.{name}.weight"][:, 0] /= self.outlier
            for norm in ("attention.output.LayerNorm", "output.LayerNorm"):
                found[f"{prefix}.{norm}.weight"][0] *= self.outlier
            found[f"{prefix}.intermediate.dense.weight"] *= self.hidden
            found[f"{prefix}.output.dense.weight"] /= self.hidden
        found["bert.embeddings.LayerNorm.weight"][0] *= self.outlier
        found["bert.pooler.dense.weight"] *= self.pooled
        found["bert.pooler.dense.weight"][:, 0] /= self.outlier
        return found
