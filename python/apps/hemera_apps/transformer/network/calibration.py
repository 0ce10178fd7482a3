"""The ranges of a network's values, from other inputs than those that are encrypted."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera.errors import ParameterError
from hemera_apps.transformer.clear import Ranges, clear_block
from hemera_apps.transformer.network.head import HeadFunctions
from hemera_apps.transformer.network.model import Network
from hemera_apps.transformer.planned import approximate_block
from hemera_apps.transformer.stages import agreement

Array = NDArray[np.float64]

_JUDGED = 4
"""Inputs that pass through the exact network as well, for the bits."""


@dataclass(frozen=True)
class Calibration:
    """The calibration of a network."""

    ranges: list[Ranges]
    """The ranges of each block."""
    pooled: float
    """The largest magnitude before the pooler's tanh."""
    bits: float
    """The bits that the polynomials leave of the logits of the first inputs."""

    @classmethod
    def of(cls, network: Network, x: Array, real: ArrayLike, margin: float = 0.2) -> Calibration:
        """Ranges with a margin, of inputs that pass through all blocks with the polynomials in the clear.

        Args:
            network: the network.
            x: features of words, of shape (inputs, tokens, features).
            real: the number of tokens of each input; the rest is padding.
            margin: see `Ranges.seen`.

        Raises:
            ParameterError: if a range is too wide. It names the block, the function and the range.
        """
        config, ranges = network.config, []
        exact, counts = x[:_JUDGED], np.asarray(real)[:_JUDGED]
        for weights in network.blocks:
            ranges.append(Ranges.seen(clear_block(weights, config.shape, x, real), margin))
            try:
                functions = config.functions(ranges[-1])
            except ParameterError as error:
                raise ParameterError(f"block {len(ranges)}: {error}") from error
            x = approximate_block(weights, config.shape, functions, x, real)
            exact = clear_block(weights, config.shape, exact, counts)["output"]
        sums = network.head.before_tanh(x)
        pooled = float(np.abs(sums).max()) * (1 + margin)
        near = HeadFunctions(pooled, config.degrees).approximate(sums[:_JUDGED, 0])
        expected = network.head.logits(np.tanh(network.head.before_tanh(exact)[:, 0]))
        return cls(ranges, pooled, agreement(network.head.logits(near), expected))

    def save(self, path: Path) -> None:
        """Save as a JSON file."""
        path.write_text(json.dumps(dataclasses.asdict(self), indent=1), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Calibration:
        """A file of `save`."""
        read = json.loads(path.read_text(encoding="utf-8"))
        ranges = []
        for each in read.pop("ranges"):
            first, second = (tuple(pair) for pair in each.pop("variances"))
            ranges.append(Ranges(**{**each, "sums": tuple(each["sums"]), "variances": (first, second)}))
        return cls(ranges, **read)
