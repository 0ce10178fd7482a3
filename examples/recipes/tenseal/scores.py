"""Scores of logistic regression for an encrypted row, with a polynomial for the sigmoid, with TenSEAL."""

from typing import Any

import numpy as np
import tenseal as ts

rng = np.random.default_rng(3)
weights, values = rng.normal(size=30) / 6, rng.uniform(-1, 1, 30)
expected = np.polyval([-0.004, 0, 0.197, 0.5], values @ weights + 0.1)
symmetric = ts.ENCRYPTION_TYPE.SYMMETRIC
context = ts.context(ts.SCHEME_TYPE.CKKS, 8192, -1, [40, 30, 30, 30, 30, 40], symmetric, 2)
context.global_scale = 2**30
context.generate_galois_keys()


def run(row: Any) -> Any:
    """Encrypted, computed and decrypted: 0.5 + 0.197 z - 0.004 z^3."""
    z = ts.ckks_vector(context, row).dot(weights.tolist()) + 0.1
    return np.array(z.polyval([0.5, 0.197, 0, -0.004]).decrypt()[0])


print(run(values), expected)
