"""The network: ResNet-20 with squares in place of ReLU, and folded norms. `train.py` made its weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hemera.arrays import conv

__all__ = ["WEIGHTS", "Network"]

WEIGHTS = Path(__file__).with_name("weights.npz")


class Network:
    """A function of one image [3, rows, columns] with pixels from 0 to 1, on NumPy's arrays as on encrypted
    ones.

    Blocks have the pre-activation form: K. He, X. Zhang, S. Ren, J. Sun, "Identity mappings in deep residual
    networks" (ECCV 2016). The file has these arrays of block n:

    - "moved": added to the sum before its square; there is none, if the block has no square of the sum.
    - "inner" and "bias": the first convolution.
    - "outer": the second convolution.
    - "short": the convolution in place of the identity, of a block that halves the image.
    """

    def __init__(self, path: Path = WEIGHTS) -> None:
        with np.load(path) as file:
            parts = {name: file[name] for name in file.files}
        self.calibration = parts.pop("calibration") / 255
        """Images of the training set whose values reach farthest: [image, 3, rows, columns]."""
        self._parts = {name: part.astype(np.float64) for name, part in parts.items()}

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of an image."""
        return tuple(self.calibration.shape[1:])

    def __call__(self, image: Any) -> Any:
        """The scores [10]. The largest is the class'."""
        parts = self._parts
        x = conv(image - _columns(parts["mean"]), parts["first"], padding=1)
        block = 0
        while f"inner{block}" in parts:
            moved = parts.get(f"moved{block}")
            h = x if moved is None else (x + _columns(moved)) ** 2
            short = parts.get(f"short{block}")
            stride = 1 if short is None else 2
            y = conv(h, parts[f"inner{block}"], parts[f"bias{block}"], stride=stride, padding=1) ** 2
            y = conv(y, parts[f"outer{block}"], padding=1)
            x = y + (x if short is None else conv(h, short, stride=stride))
            block += 1
        return ((x + _columns(parts["moved"])) ** 2).mean(axis=(1, 2)) @ parts["last"] + parts["last_bias"]


def _columns(of_channels: Any) -> Any:
    """A number for each channel, for all pixels of it."""
    return of_channels[:, np.newaxis, np.newaxis]
