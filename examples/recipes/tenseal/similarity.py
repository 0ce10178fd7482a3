"""Distances of an encrypted vector to the vectors of a plain gallery, with TenSEAL."""

from typing import Any

import numpy as np
import tenseal as ts

rng = np.random.default_rng(5)
gallery, values = rng.uniform(-1, 1, (64, 128)), rng.uniform(-1, 1, 128)
expected = ((gallery - values) ** 2).sum(1)
symmetric = ts.ENCRYPTION_TYPE.SYMMETRIC
context = ts.context(ts.SCHEME_TYPE.CKKS, 8192, -1, [60, 40, 40, 60], symmetric, 2)
context.global_scale = 2**40
context.generate_galois_keys()


def run(vector: Any) -> Any:
    """Encrypted, computed and decrypted: the squares of Euclidean ones."""
    x = ts.ckks_vector(context, vector)
    products = x.mm((-2 * gallery.T).tolist())
    return np.array((products + x.dot(x) + (gallery**2).sum(1).tolist()).decrypt())


print(np.abs(run(values) - expected).max())
