"""Scores of logistic regression for an encrypted row, with a polynomial for the sigmoid."""

from typing import Any

import numpy as np

import hemera as hm

rng = np.random.default_rng(3)
weights, values = rng.normal(size=30) / 6, rng.uniform(-1, 1, 30)


def score(row: Any) -> Any:
    """0.5 + 0.197 z - 0.004 z^3."""
    return np.polyval([-0.004, 0, 0.197, 0.5], row @ weights + 0.1)


expected = score(values)
run = hm.compile(score, hm.ArraySpec((30,), range=(-1, 1)), precision_bits=12).local(threads=2)
print(run(values), expected)
