"""Tensors of approximate numbers: value by value, along axes, and as matrices."""

from typing import Any

import numpy as np

import hemera.compat.tenseal as ts

rng = np.random.default_rng(3)
values = rng.uniform(-1, 1, (2, 4, 4))
expected = ((values[0] * values[1] - 2 * values[0]) @ values[1]).sum(0)
context = ts.context(ts.SCHEME_TYPE.CKKS, 8192, coeff_mod_bit_sizes=[60, 40, 40, 60])
context.global_scale = 2**40


def run(pair: Any) -> Any:
    """Encrypted, computed and decrypted."""
    first, second = (ts.ckks_tensor(context, ts.plain_tensor(each)) for each in pair)
    product = (first * second - first * 2).mm(second)
    return np.array(product.sum(0).decrypt().tolist())


print(np.abs(run(values) - expected).max())
