"""A logistic regression scores encrypted samples: a dot product and a bias for each."""

from typing import Any

import numpy as np

import hemera.compat.tenseal as ts

rng = np.random.default_rng(1)
values = rng.normal(size=(10, 9))
weight, bias = rng.normal(size=9), [0.25]
expected = values @ weight + bias
context = ts.context(ts.SCHEME_TYPE.CKKS, 4096, -1, [40, 20, 40])
context.global_scale = 2**20
context.generate_galois_keys()


def run(samples: Any) -> Any:
    """Encrypted, scored and decrypted, one after another."""
    encrypted = [ts.ckks_vector(context, sample.tolist()) for sample in samples]
    scores = [x.dot(weight.tolist()) + bias for x in encrypted]
    return np.concatenate([score.decrypt() for score in scores])


print(np.abs(run(values) - expected).max())
