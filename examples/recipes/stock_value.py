"""The value of a private stock at public prices, in cents: exact."""

from typing import Any

import numpy as np

import hemera as hm

rng = np.random.default_rng(9)
prices, values = rng.integers(1, 200, 500), rng.integers(0, 20, 500)
expected = values @ prices


def value(counts: Any) -> Any:
    """The value of all pieces."""
    return counts @ prices


run = hm.compile(value, hm.ArraySpec((500,), range=(0, 20)), scheme="bfv").local(threads=2)
print(run(values), expected)
