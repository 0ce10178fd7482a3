"""The value of a private stock at public prices, in cents: exact, with TenSEAL."""

from typing import Any

import numpy as np
import tenseal as ts

rng = np.random.default_rng(9)
prices, values = rng.integers(1, 200, 500), rng.integers(0, 20, 500)
expected = values @ prices
symmetric = ts.ENCRYPTION_TYPE.SYMMETRIC
context = ts.context(ts.SCHEME_TYPE.BFV, 8192, 4079617, [], symmetric, 2)
context.generate_galois_keys()


def run(counts: Any) -> Any:
    """Encrypted, computed and decrypted."""
    return np.array(ts.bfv_vector(context, counts.tolist()).dot(prices.tolist()).decrypt()[0])


print(run(values), expected)
