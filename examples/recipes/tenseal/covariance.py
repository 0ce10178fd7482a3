"""The covariance of two private columns, with TenSEAL."""

from typing import Any

import numpy as np
import tenseal as ts

rng = np.random.default_rng(7)
heights = rng.uniform(150, 200, 1000)
values = np.stack([heights, heights / 2 + rng.uniform(-40, 40, 1000)])
expected = np.cov(values)[0, 1]
symmetric = ts.ENCRYPTION_TYPE.SYMMETRIC
context = ts.context(ts.SCHEME_TYPE.CKKS, 8192, -1, [60, 40, 40, 60], symmetric, 2)
context.global_scale = 2**40
context.generate_galois_keys()


def run(columns: Any) -> Any:
    """Encrypted, computed and decrypted, around the middles of the columns' ranges."""
    x = ts.ckks_vector(context, (columns[0] - 170) / 100)
    y = ts.ckks_vector(context, (columns[1] - 90) / 100)
    products = (x * y).sum() * (1 / 999)
    means = x.sum() * (1 / 999) * (y.sum() * (1 / 1000))
    return np.array(1e4 * (products - means).decrypt()[0])


print(run(values), expected)
