"""The network: 512 of 784 pixels, 64 hidden units, squares in place of ReLU, 10 scores. `train.py` made its
weights, and chose the pixels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["PIXELS", "WEIGHTS", "Network"]

PIXELS = 512
"""The number of the 784 pixels that matter most: the others are dark in nearly all images."""
WEIGHTS = Path(__file__).with_name("weights.npz")


class Network:
    """A function of images [..., 512] with pixels from 0 to 1, on NumPy's arrays as on encrypted ones."""

    def __init__(self, path: Path = WEIGHTS) -> None:
        with np.load(path) as file:
            names = ("first", "first_bias", "second", "second_bias")
            self._weights = [file[name].astype(np.float64) for name in names]
            self.calibration = file["calibration"] / 255
            """Images of the training set whose hidden units and scores reach farthest."""
            self.kept = file["kept"].astype(int)
            """Which pixels of an image it takes."""

    def __call__(self, images: Any) -> Any:
        """The scores [..., 10]. The largest is the digit's."""
        first, first_bias, second, second_bias = self._weights
        return (images @ first + first_bias) ** 2 @ second + second_bias
