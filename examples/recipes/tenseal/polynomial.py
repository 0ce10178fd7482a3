"""A polynomial of degree 7 of 4,096 encrypted values, with TenSEAL."""

from typing import Any

import numpy as np
import tenseal as ts

rng = np.random.default_rng(6)
coefficients, values = rng.uniform(-1, 1, 8), rng.uniform(-1, 1, 4096)
expected = np.polyval(coefficients, values)
bits = [40, 30, 30, 30, 30, 40]
symmetric = ts.ENCRYPTION_TYPE.SYMMETRIC
context = ts.context(ts.SCHEME_TYPE.CKKS, 8192, -1, bits, symmetric, 2)
context.global_scale = 2**30
context.generate_galois_keys()


def run(x: Any) -> Any:
    """Encrypted, computed and decrypted."""
    return np.array(ts.ckks_vector(context, x).polyval(coefficients[::-1].tolist()).decrypt())


print(np.abs(run(values) - expected).max())
