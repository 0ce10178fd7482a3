"""A network in the clear: embeddings, blocks, pooler and classifier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemera.errors import FormatError
from hemera_apps.transformer.clear import EPSILON, Trace, Weights, clear_block
from hemera_apps.transformer.network.config import NetworkConfig

Array = NDArray[np.float64]
State = Mapping[str, NDArray[np.floating]]
"""Weights by the names of `BertForSequenceClassification` of the package transformers."""

_EMBEDDINGS = "bert.embeddings."
_MATRICES = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "output": "attention.output.dense",
    "up": "intermediate.dense",
    "down": "output.dense",
}
_NORMS = ("attention.output.LayerNorm", "output.LayerNorm")


def _of(state: State, name: str, shape: tuple[int, ...]) -> Array:
    """FormatError if it is not there, or of another shape."""
    if name not in state or state[name].shape != shape:
        found = f"of shape {state[name].shape}" if name in state else "not there"
        raise FormatError(f"the weights {name} are {found}; their shape is {shape}")
    return np.asarray(state[name], np.float64)


class Embeddings:
    """The features of words, in the clear: the client's part of a network.

    Args:
        config: of the network.
        state: weights by name.

    Raises:
        FormatError: if weights are not there, or of other shapes.
    """

    def __init__(self, config: NetworkConfig, state: State) -> None:
        tokens, features = config.shape.tokens, config.shape.features
        self._words = _of(state, f"{_EMBEDDINGS}word_embeddings.weight", (config.vocabulary, features))
        positions = f"{_EMBEDDINGS}position_embeddings.weight"
        longest = len(state[positions]) if positions in state else tokens
        self._positions = _of(state, positions, (max(longest, tokens), features))[:tokens]
        self._types = _of(state, f"{_EMBEDDINGS}token_type_embeddings.weight", (2, features))
        self._gain, self._shift = (
            _of(state, f"{_EMBEDDINGS}LayerNorm.{name}", (features,)) for name in ("weight", "bias")
        )

    def __call__(self, words: ArrayLike, types: ArrayLike) -> Array:
        """Features of shape (inputs, tokens, features).

        Args:
            words: numbers of words, of shape (inputs, tokens).
            types: 0 of words of the first sentence, 1 of the second, of the same shape.
        """
        x = self._words[np.asarray(words)] + self._types[np.asarray(types)] + self._positions
        centred = x - x.mean(-1, keepdims=True)
        variance = (centred * centred).mean(-1, keepdims=True)
        return np.asarray(centred / np.sqrt(variance + EPSILON) * self._gain + self._shift)


@dataclass(frozen=True)
class HeadWeights:
    """The weights of the pooler, which takes the first token, and of the classifier behind it."""

    pooler: Array
    pooler_bias: Array
    classifier: Array
    classifier_bias: Array

    def before_tanh(self, x: Array) -> Array:
        """The pooler's sums of all tokens, of shape (inputs, tokens, features)."""
        return np.asarray(x @ self.pooler.T + self.pooler_bias)

    def logits(self, pooled: Array) -> Array:
        """The logits, of shape (inputs, classes), from tanh of the first token's sums."""
        return np.asarray(pooled @ self.classifier.T + self.classifier_bias)


class Network:
    """Blocks, pooler and classifier: the server's part of a network.

    Args:
        config: its sizes.
        state: weights by name.

    Raises:
        FormatError: if weights are not there, or of other shapes.
    """

    def __init__(self, config: NetworkConfig, state: State) -> None:
        self.config = config
        features, classes = config.shape.features, config.classes
        self.blocks = [_block(config, state, number) for number in range(config.blocks)]
        self.head = HeadWeights(
            _of(state, "bert.pooler.dense.weight", (features, features)),
            _of(state, "bert.pooler.dense.bias", (features,)),
            _of(state, "classifier.weight", (classes, features)),
            _of(state, "classifier.bias", (classes,)),
        )

    def traces(self, x: Array, real: ArrayLike) -> list[Trace]:
        """The exact values of each block, see `clear_block`.

        Args:
            x: the features of words, of shape (inputs, tokens, features).
            real: the number of tokens of each input; the rest is padding.
        """
        found: list[Trace] = []
        for weights in self.blocks:
            found.append(clear_block(weights, self.config.shape, x, real))
            x = found[-1]["output"]
        return found

    def logits(self, x: Array, real: ArrayLike) -> Array:
        """The exact logits, of shape (inputs, classes); `x` and `real` as of `traces`."""
        for weights in self.blocks:
            x = clear_block(weights, self.config.shape, x, real)["output"]
        return self.head.logits(np.tanh(self.head.before_tanh(x)[:, 0]))

    @staticmethod
    def save_state(state: State, folder: Path) -> None:
        """Write "embeddings.npz", for the client, and "weights.npz", for the server."""
        for file, client in (("embeddings", True), ("weights", False)):
            part: dict[str, Any] = {
                name: each for name, each in state.items() if name.startswith(_EMBEDDINGS) == client
            }
            np.savez(folder / f"{file}.npz", **part)


def _block(config: NetworkConfig, state: State, number: int) -> Weights:
    features, inner = config.shape.features, config.shape.inner
    prefix = f"bert.encoder.layer.{number}"

    def shape(name: str) -> tuple[int, int]:
        return (inner if name == "up" else features), (inner if name == "down" else features)

    matrices = {name: _of(state, f"{prefix}.{long}.weight", shape(name)) for name, long in _MATRICES.items()}
    biases = {name: _of(state, f"{prefix}.{long}.bias", shape(name)[:1]) for name, long in _MATRICES.items()}
    gains, shifts = (
        tuple(_of(state, f"{prefix}.{norm}.{kind}", (features,)) for norm in _NORMS)
        for kind in ("weight", "bias")
    )
    return Weights(**matrices, biases=biases, gains=(gains[0], gains[1]), shifts=(shifts[0], shifts[1]))


def random_state(
    config: NetworkConfig, seed: int, *, sharpness: float = 0.5
) -> dict[str, NDArray[np.float32]]:
    """Random weights of a network's shapes, whose first scores have a deviation of about `sharpness`. Tokens
    become alike from block to block, and with sharper scores sums of exponentials then differ a thousandfold
    between tokens."""
    rng = np.random.default_rng(seed)
    shape = config.shape
    found: dict[str, NDArray[np.float64]] = {
        f"{_EMBEDDINGS}{name}_embeddings.weight": rng.normal(0, deviation, (count, shape.features))
        for name, count, deviation in (
            ("word", config.vocabulary, 1),
            ("position", shape.tokens, 0.3),
            ("token_type", 2, 0.3),
        )
    }
    found |= {
        f"{_EMBEDDINGS}LayerNorm.weight": rng.normal(1, 0.1, shape.features),
        f"{_EMBEDDINGS}LayerNorm.bias": rng.normal(0, 0.1, shape.features),
    }
    for number in range(config.blocks):
        block, prefix = (
            Weights.random(shape, seed + 1 + number, sharpness=sharpness),
            f"bert.encoder.layer.{number}",
        )
        for name, long in _MATRICES.items():
            found[f"{prefix}.{long}.weight"] = getattr(block, name)
            found[f"{prefix}.{long}.bias"] = block.biases[name]
        for norm, gain, shift in zip(_NORMS, block.gains, block.shifts, strict=True):
            found |= {f"{prefix}.{norm}.weight": gain, f"{prefix}.{norm}.bias": shift}
    for name, rows in (("bert.pooler.dense", shape.features), ("classifier", config.classes)):
        found[f"{name}.weight"] = rng.normal(0, shape.features**-0.5, (rows, shape.features))
        found[f"{name}.bias"] = rng.normal(0, 0.05, rows)
    return {name: each.astype(np.float32) for name, each in found.items()}
