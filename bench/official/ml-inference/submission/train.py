"""Trains the network on MNIST, with NumPy alone: `python train.py FOLDER` takes the folder of MNIST's four
files, with or without .gz, and writes weights.npz."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import numpy as np
from network import PIXELS, WEIGHTS, Network
from numpy.typing import NDArray

_ALL_PIXELS, _HIDDEN, _DIGITS = 784, 64, 10
_EPOCHS, _BATCH, _RATE, _DECAY = 40, 128, 2e-3, 1e-4
_CALIBRATION = 128
"""Images that are kept for the ranges of values."""

Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]


def read(folder: Path, name: str) -> Bytes:
    """The bytes of a file of MNIST after its header: four words of images, two of labels."""
    packed = folder / f"{name}.gz"
    data = gzip.decompress(packed.read_bytes()) if packed.exists() else (folder / name).read_bytes()
    return np.frombuffer(data, np.uint8, offset=16 if "images" in name else 8)


def train(images: Floats, labels: Bytes) -> list[Floats]:
    """Weights and biases by Adam (D. Kingma, J. Ba, 2014) on the cross-entropy, at a rate that falls as a
    cosine. Images are moved by up to one pixel."""
    random = np.random.default_rng(1)
    weights = [
        random.normal(0, _ALL_PIXELS**-0.5, (_ALL_PIXELS, _HIDDEN)).astype(np.float32),
        np.zeros(_HIDDEN, np.float32),
        random.normal(0, _HIDDEN**-0.5, (_HIDDEN, _DIGITS)).astype(np.float32),
        np.zeros(_DIGITS, np.float32),
    ]
    means = [np.zeros_like(part) for part in weights]
    squares = [np.zeros_like(part) for part in weights]
    step = 0
    for epoch in range(_EPOCHS):
        order = random.permutation(len(images))
        rate = _RATE / 2 * (1 + np.cos(np.pi * epoch / _EPOCHS))
        for start in range(0, len(images), _BATCH):
            chosen = order[start : start + _BATCH]
            moved = np.roll(images[chosen].reshape(-1, 28, 28), random.integers(-1, 2, 2), (1, 2))
            step += 1
            gradients = _gradients(weights, moved.reshape(-1, _ALL_PIXELS), labels[chosen])
            for part, gradient, mean, square in zip(weights, gradients, means, squares, strict=True):
                if part.ndim == 2:
                    gradient = gradient + np.float32(_DECAY) * part
                mean += np.float32(0.1) * (gradient - mean)
                square += np.float32(0.001) * (gradient**2 - square)
                part -= rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    return weights


def _gradients(weights: list[Floats], images: Floats, labels: Bytes) -> list[Floats]:
    """The gradients of the mean cross-entropy."""
    first, first_bias, second, second_bias = weights
    hidden = images @ first + first_bias
    scores = hidden**2 @ second + second_bias
    wrong = np.exp(scores - scores.max(1, keepdims=True))
    wrong /= wrong.sum(1, keepdims=True)
    wrong[np.arange(len(labels)), labels] -= 1
    wrong /= len(labels)
    back = wrong @ second.T * 2 * hidden
    return [images.T @ back, back.sum(0), (hidden**2).T @ wrong, wrong.sum(0)]


def farthest(weights: list[Floats], images: Floats) -> NDArray[np.intp]:
    """The images whose hidden units or scores have the largest magnitudes."""
    first, first_bias, second, second_bias = weights
    hidden = images @ first + first_bias
    scores = np.abs(hidden**2 @ second + second_bias).max(1)
    half = _CALIBRATION // 2
    return np.concatenate([np.argsort(values)[-half:] for values in (np.abs(hidden).max(1), scores)])


def kept_pixels(first: Floats, images: Floats) -> NDArray[np.intp]:
    """The pixels, in their order, that move hidden units most: by their root mean square in the images, and
    the norm of their weights."""
    moved = np.sqrt((images**2).mean(0)) * np.sqrt((first**2).sum(1))
    return np.sort(np.argsort(moved)[-PIXELS:])


def main() -> None:
    folder = Path(sys.argv[1])
    pixels = read(folder, "train-images-idx3-ubyte").reshape(-1, _ALL_PIXELS)
    images = pixels / np.float32(255)
    weights = train(images, read(folder, "train-labels-idx1-ubyte"))
    kept = kept_pixels(weights[0], images)
    weights[0], images, pixels = weights[0][kept], images[:, kept], pixels[:, kept]
    first, first_bias, second, second_bias = (part.astype(np.float16) for part in weights)
    np.savez_compressed(
        WEIGHTS,
        first=first,
        first_bias=first_bias,
        second=second,
        second_bias=second_bias,
        calibration=pixels[farthest(weights, images)],
        kept=kept.astype(np.uint16),
    )
    tests = read(folder, "t10k-images-idx3-ubyte").reshape(-1, _ALL_PIXELS)[:, kept] / 255
    found = Network()(tests).argmax(1)
    right = int((found == read(folder, "t10k-labels-idx1-ubyte")).sum())
    print(f"{right} of {len(tests)} test images")


if __name__ == "__main__":
    main()
