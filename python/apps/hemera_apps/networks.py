"""Neural networks as plain Python, with random weights: what `hemera bench networks` compiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemera.arrays import conv

__all__ = ["ACTIVATIONS", "lola", "resnet"]

Floats = NDArray[np.float64]
Network = Callable[[Any], Any]
"""A network from an image to scores, encrypted or plain."""


def _silu(x: Any) -> Any:
    def silu(v: Any) -> Any:
        return v / (1 + np.exp(-v))

    return silu(x) if isinstance(x, np.ndarray) else x.approximated(silu)


ACTIVATIONS: dict[str, Network] = {
    "relu": lambda x: np.maximum(x, 0),
    "silu": _silu,
    "square": lambda x: x * (0.1 * x + 0.5),
}


def resnet(blocks: int, activation: str = "relu", *, width: int = 16, seed: int = 20) -> Network:
    """A residual network for images of shape (3, size, size): three groups of `blocks` blocks, of `width`,
    twice and four times as many channels, with projections as shortcuts. 3 blocks and 16 channels are
    ResNet-20 (K. He, X. Zhang, S. Ren, J. Sun, "Deep residual learning for image recognition", CVPR 2016,
    section 4.2).

    Weights are those of He initialisation; each block halves its sum, so that values keep their size, as
    batch normalisation does.
    """
    rng = np.random.default_rng(seed)
    act = ACTIVATIONS[activation]

    def weights(results: int, channels: int, kernel: int) -> tuple[Floats, Floats]:
        size = (results, channels, kernel, kernel)
        return rng.normal(size=size) * np.sqrt(2 / (channels * kernel**2)), rng.normal(size=results) / 10

    first, channels, layers = weights(width, 3, 3), width, []
    for group in range(3):
        for at in range(blocks):
            own = width << group
            stride = 2 if group and not at else 1
            shortcut = weights(own, channels, 1) if stride == 2 else None
            layers.append((stride, weights(own, channels, 3), weights(own, own, 3), shortcut))
            channels = own
    scores = rng.normal(size=(channels, 10)) / np.sqrt(channels)

    def network(image: Any) -> Any:
        x = act(conv(image, *first, padding=1))
        for stride, before, after, shortcut in layers:
            y = conv(act(conv(x, *before, stride=stride, padding=1)), *after, padding=1)
            x = act(y / 2 + (x if shortcut is None else conv(x, *shortcut, stride=stride)))
        return x.mean(axis=(1, 2)) @ scores

    return network


def lola(seed: int = 1) -> Network:
    """Three layers with squares between them, for images of shape (1, 28, 28): A. Brutzkus,
    R. Gilad-Bachrach, O. Elisha, "Low latency privacy preserving inference" (ICML 2019)."""
    rng = np.random.default_rng(seed)
    kernel, bias = rng.normal(size=(5, 1, 2, 2)) / 2, rng.normal(size=5) / 10
    hidden, output = rng.normal(size=(980, 100)) / 31, rng.normal(size=(100, 10)) / 10

    def network(image: Any) -> Any:
        x = conv(image, kernel, bias, stride=2) ** 2
        return (x.reshape(980) @ hidden) ** 2 @ output

    return network
