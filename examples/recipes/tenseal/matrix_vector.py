"""A plain matrix times an encrypted vector, with TenSEAL."""

from typing import Any

import numpy as np
import tenseal as ts

rng = np.random.default_rng(2)
matrix, values = rng.normal(size=(128, 64)), rng.uniform(-1, 1, 128)
expected = values @ matrix
symmetric = ts.ENCRYPTION_TYPE.SYMMETRIC
context = ts.context(ts.SCHEME_TYPE.CKKS, 8192, -1, [60, 40, 60], symmetric, 2)
context.global_scale = 2**40
context.generate_galois_keys()


def run(x: Any) -> Any:
    """Encrypted, computed and decrypted."""
    return np.array(ts.ckks_vector(context, x).mm(matrix.tolist()).decrypt())


print(np.abs(run(values) - expected).max())
