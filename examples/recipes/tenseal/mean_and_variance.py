"""Mean and variance of a private column, with TenSEAL."""

from typing import Any

import numpy as np
import tenseal as ts

values = np.random.default_rng(1).uniform(18, 90, 1000)
expected = np.array([values.mean(), values.var()])
symmetric = ts.ENCRYPTION_TYPE.SYMMETRIC
context = ts.context(ts.SCHEME_TYPE.CKKS, 8192, -1, [60, 40, 40, 60], symmetric, 2)
context.global_scale = 2**40
context.generate_galois_keys()


def run(ages: Any) -> Any:
    """Encrypted, computed and decrypted."""
    x = ts.ckks_vector(context, ages / 100)
    mean = x.sum() * (1 / len(ages))
    variance = x.square().sum() * (1 / len(ages)) - mean.square()
    return np.array([100 * mean.decrypt()[0], 10000 * variance.decrypt()[0]])


print(run(values), expected)
