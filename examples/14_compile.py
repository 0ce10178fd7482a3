"""A network on images as plain Python, compiled: layouts, rotations, levels and parameters are chosen."""

# Hidden from the server: the images and the results. It has the weights.

from typing import Any

import numpy as np

import hemera as hm
from hemera.arrays import conv

rng = np.random.default_rng(1)
kernel, bias = rng.normal(size=(5, 1, 2, 2)) / 2, rng.normal(size=5) / 10
hidden, output = rng.normal(size=(980, 100)) / 31, rng.normal(size=(100, 10)) / 10


def network(image: Any) -> Any:
    """Three layers with squares between them, as LoLA (A. Brutzkus, R. Gilad-Bachrach, O. Elisha, 2019)."""
    x = conv(image, kernel, bias, stride=2) ** 2
    return (x.reshape(980) @ hidden) ** 2 @ output


# The compiler: it calls the function once, without values, and takes ranges from samples.
samples = rng.uniform(size=(20, 1, 28, 28))
plan = hm.compile(network, samples[0], calibrate=samples, precision_bits=12)
print(plan.report())

# Both parties in this process. `plan.save(...)` writes the packaged model that `hemera serve` takes.
run = plan.local()
found, expected = run(samples[3]), network(samples[3])
print("largest difference", np.abs(found - expected).max())
assert np.abs(found - expected).max() < 2**-12 * np.abs(expected).max()

# The compiled program next to the function, on more samples.
print(plan.check(samples[:10], encrypted=0))
