"""A convolution, two dense layers and squares between them, on an encrypted image of 28 x 28."""

from typing import Any

import numpy as np

import hemera as hm
from hemera.arrays import conv

rng = np.random.default_rng(4)
kernels = rng.normal(size=(4, 1, 7, 7)) / 7
first, second = rng.normal(size=(256, 64)) / 16, rng.normal(size=(64, 10)) / 8
samples = rng.uniform(0, 1, (20, 1, 28, 28))
values = samples[0]


def network(image: Any) -> Any:
    """Scores of ten digits."""
    hidden = (conv(image, kernels, stride=3) ** 2).reshape(256) @ first
    return hidden**2 @ second


expected = network(values)
run = hm.compile(network, values, calibrate=samples, precision_bits=10).local(threads=2)
print(np.abs(run(values) - expected).max())
