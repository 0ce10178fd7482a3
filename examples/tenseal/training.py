"""A logistic regression is trained on encrypted samples: two epochs of gradient descent.

The sigmoid is 0.5 + 0.197 x - 0.004 x^3 (H. Chen et al., https://eprint.iacr.org/2018/462). The client
decrypts the model after each epoch, and encrypts it anew.
"""

from typing import Any

import numpy as np

import hemera.compat.tenseal as ts

SIGMOID = [0.5, 0.197, 0, -0.004]
rng = np.random.default_rng(2)
values = rng.normal(size=(6, 9))
labels = (values[:, 0] > values[:, 1]).astype(float)
start = rng.normal(size=9) / 3
context = ts.context(ts.SCHEME_TYPE.CKKS, 8192, -1, [40, 21, 21, 21, 21, 21, 21, 40])
context.global_scale = 2**21
context.generate_galois_keys()


def trained_in_clear(samples: Any) -> Any:
    """What NumPy gives: the weights, then the bias."""
    weight, bias = start, 0.0
    for _ in range(2):
        errors = np.polynomial.polynomial.polyval(samples @ weight + bias, SIGMOID) - labels
        weight = weight - samples.T @ errors / len(samples) - 0.05 * weight
        bias = bias - errors.mean()
    return np.append(weight, bias)


def epoch(samples: Any, targets: Any, weight: Any, bias: Any) -> Any:
    """The encrypted weights and bias after one epoch."""
    weight_step: Any = 0
    bias_step: Any = 0
    for x, y in zip(samples, targets, strict=True):
        error = (x.dot(weight) + bias).polyval(SIGMOID) - y
        weight_step += x * error
        bias_step += error
    weight -= weight_step * (1 / len(samples)) + weight * 0.05
    bias -= bias_step * (1 / len(samples))
    return weight, bias


def run(samples: Any) -> Any:
    """Encrypted, trained and decrypted."""
    encrypted = [ts.ckks_vector(context, sample.tolist()) for sample in samples]
    targets = [ts.ckks_vector(context, [label]) for label in labels]
    weight, bias = start.tolist(), [0.0]
    for _ in range(2):
        new = epoch(encrypted, targets, ts.ckks_vector(context, weight), ts.ckks_vector(context, bias))
        weight, bias = (each.decrypt() for each in new)
    return np.array(weight + bias)


expected = trained_in_clear(values)
print(np.abs(run(values) - expected).max())
