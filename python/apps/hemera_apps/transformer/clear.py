"""A block of BERT in the clear: its shape, random weights, and the values of all of its steps."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Trace = dict[str, Array]
"""The values of a block's steps by name; the first axis counts inputs."""

EPSILON = 1e-12
"""The number that BERT's layer norms add to a variance."""


@dataclass(frozen=True)
class Shape:
    """The sizes of a block. The heads share the features evenly."""

    tokens: int = 128
    features: int = 768
    heads: int = 12
    inner: int = 3072

    @property
    def width(self) -> int:
        """The features of a head."""
        return self.features // self.heads


@dataclass(frozen=True)
class Weights:
    """The weights of a block. Matrices have a row for each output."""

    query: Array
    key: Array
    value: Array
    output: Array
    up: Array
    down: Array
    biases: dict[str, Array]
    """The biases of the six matrices, by their names."""
    gains: tuple[Array, Array]
    """The gains of the two layer norms."""
    shifts: tuple[Array, Array]

    @classmethod
    def random(cls, shape: Shape, seed: int, *, sharpness: float = 1) -> Weights:
        """Matrices that keep the size of their inputs, and small biases. Scores have a deviation of about
        `sharpness`."""
        rng = np.random.default_rng(seed)
        features, inner = shape.features, shape.inner

        def matrix(rows: int, columns: int) -> Array:
            return rng.normal(0, columns**-0.5, (rows, columns))

        square = [matrix(features, features) for _ in range(4)]
        rows = dict.fromkeys(("query", "key", "value", "output", "down"), features) | {"up": inner}
        square[0] *= sharpness
        query, key, value, output = square
        return cls(
            query,
            key,
            value,
            output,
            matrix(inner, features),
            matrix(features, inner),
            {name: rng.normal(0, 0.05, count) for name, count in rows.items()},
            (rng.normal(1, 0.1, features), rng.normal(1, 0.1, features)),
            (rng.normal(0, 0.1, features), rng.normal(0, 0.1, features)),
        )


def random_inputs(shape: Shape, count: int, seed: int) -> Array:
    """Features as another block's layer norm gives them, of shape (inputs, tokens, features)."""
    x = np.random.default_rng(seed).normal(size=(count, shape.tokens, shape.features))
    centred = x - x.mean(-1, keepdims=True)
    return np.asarray(centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + EPSILON))


def gelu(x: Array) -> Array:
    """x times the normal distribution's P(X <= x)."""
    halves = np.array([math.erf(value) for value in (x.ravel() * math.sqrt(0.5)).tolist()])
    return np.asarray(x * (1 + halves.reshape(x.shape)) / 2)


def token_weights(shape: Shape, real: ArrayLike | None) -> Array:
    """The factors of a softmax's exponentials for each token, of shape (inputs or 1, 1, 1, tokens): 0 of
    padding, and tokens / real of the first `real` tokens of an input, so that sums of few tokens are as large
    as those of many. None: all tokens count."""
    counts = np.atleast_1d(np.asarray(shape.tokens if real is None else real))[:, None, None, None]
    return np.where(np.arange(shape.tokens) < counts, shape.tokens / counts, 0.0)


def clear_block(weights: Weights, shape: Shape, x: Array, real: ArrayLike | None = None) -> Trace:
    """The exact block.

    Args:
        x: of shape (inputs, tokens, features).
        real: the number of tokens of each input that others attend to: the rest is padding. None: all.

    Returns:
        "scores": (inputs, heads, tokens, tokens), 0 of padding; "sums", of their exponentials, weighted by
        `token_weights`: (inputs, heads, tokens); "mixed", "centred1", "scaled1", "normed", "hidden",
        "centred2", "scaled2", "output": (inputs, tokens, features), hidden values before GELU; "variance1",
        "variance2": (inputs, tokens).
    """
    inputs = len(x)

    def linear(matrix: Array, name: str, rows: Array) -> Array:
        return np.asarray(rows @ matrix.T + weights.biases[name])

    def split(rows: Array) -> Array:
        return np.asarray(rows.reshape(inputs, shape.tokens, shape.heads, shape.width).swapaxes(1, 2))

    query = split(linear(weights.query, "query", x))
    key = split(linear(weights.key, "key", x))
    value = split(linear(weights.value, "value", x))
    of_tokens = token_weights(shape, real)
    scores = query @ key.swapaxes(2, 3) / math.sqrt(shape.width) * (of_tokens > 0)
    exponentials = np.exp(scores) * of_tokens
    sums = exponentials.sum(-1)
    mixed = (exponentials @ value / sums[..., None]).swapaxes(1, 2).reshape(x.shape)
    trace: Trace = {"scores": scores, "sums": sums, "mixed": mixed}
    residual = x + linear(weights.output, "output", mixed)
    for step in (0, 1):
        centred = residual - residual.mean(-1, keepdims=True)
        variance = (centred * centred).mean(-1)
        scaled = centred / np.sqrt(variance + EPSILON)[..., None]
        normed = scaled * weights.gains[step] + weights.shifts[step]
        name = str(step + 1)
        trace |= {f"centred{name}": centred, f"variance{name}": variance, f"scaled{name}": scaled}
        if step == 0:
            hidden = linear(weights.up, "up", normed)
            trace |= {"normed": normed, "hidden": hidden}
            residual = normed + linear(weights.down, "down", np.stack([gelu(each) for each in hidden]))
    trace["output"] = normed
    return trace


@dataclass(frozen=True)
class Ranges:
    """The ranges of a block's values, for its polynomials and bootstraps."""

    score: float
    """The largest magnitude, as that of the next three."""
    mixed: float
    hidden: float
    centred: float
    """Before the second layer norm."""
    sums: tuple[float, float]
    """The sums of the exponentials of scores."""
    variances: tuple[tuple[float, float], tuple[float, float]]
    """The variances of both layer norms."""

    @classmethod
    def seen(cls, trace: Trace, margin: float) -> Ranges:
        """The ranges of a trace, and a margin: 0.2 is a fifth of each end more."""

        def largest(name: str) -> float:
            return float(np.abs(trace[name]).max()) * (1 + margin)

        def interval(name: str) -> tuple[float, float]:
            return float(trace[name].min()) / (1 + margin), float(trace[name].max()) * (1 + margin)

        low, high = interval("sums")
        return cls(
            largest("scores"),
            largest("mixed"),
            largest("hidden"),
            largest("centred2"),
            # The largest term of a sum grows with the score in its exponent.
            (low, high * math.exp(margin * float(np.abs(trace["scores"]).max()) / 2)),
            (interval("variance1"), interval("variance2")),
        )
