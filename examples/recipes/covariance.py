"""The covariance of two private columns."""

from typing import Any

import numpy as np

import hemera as hm

rng = np.random.default_rng(7)
heights = rng.uniform(150, 200, 1000)
values = np.stack([heights, heights / 2 + rng.uniform(-40, 40, 1000)])
expected = np.cov(values)[0, 1]


def covariance(columns: Any) -> Any:
    """Around the middles of the columns' ranges."""
    x, y = (columns[0] - 170) / 100, (columns[1] - 90) / 100
    return ((x - x.mean()) * (y - y.mean())).sum() * (1e4 / 999)


run = hm.compile(covariance, hm.ArraySpec((2, 1000), range=(30, 240)), precision_bits=12).local(threads=2)
print(run(values), expected)
