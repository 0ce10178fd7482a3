"""Mean and variance of a private column."""

from typing import Any

import numpy as np

import hemera as hm

values = np.random.default_rng(1).uniform(18, 90, 1000)
expected = np.array([values.mean(), values.var()])


def study(ages: Any) -> Any:
    """Both, as NumPy has them."""
    return np.stack([ages.mean(), ages.var()])


run = hm.compile(study, hm.ArraySpec((1000,), range=(0, 120)), precision_bits=12).local(threads=2)
print(run(values), expected)
