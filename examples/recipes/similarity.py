"""Distances of an encrypted vector to the vectors of a plain gallery."""

from typing import Any

import numpy as np

import hemera as hm

rng = np.random.default_rng(5)
gallery, values = rng.uniform(-1, 1, (64, 128)), rng.uniform(-1, 1, 128)


def distances(x: Any) -> Any:
    """The squares of Euclidean ones."""
    return (gallery**2).sum(1) - 2 * (gallery @ x) + (x * x).sum()


expected = distances(values)
run = hm.compile(distances, hm.ArraySpec((128,), range=(-1, 1)), precision_bits=12).local(threads=2)
print(np.abs(run(values) - expected).max())
