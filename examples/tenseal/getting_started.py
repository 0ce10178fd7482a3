"""Integers, exact: sums, differences and products of encrypted vectors, and a context that becomes public."""

from typing import Any

import numpy as np

import hemera.compat.tenseal as ts

context = ts.context(ts.SCHEME_TYPE.BFV, poly_modulus_degree=4096, plain_modulus=1032193)
values = np.array([60, 66, 73, 81, 90])
plain = [1, 2, 3, 4, 5]
expected = ((values + plain) + (values - plain)) * ((values + plain) + (values - plain) - values)


def run(vector: Any) -> Any:
    """Encrypted, computed and decrypted."""
    encrypted = ts.bfv_vector(context, vector.tolist())
    total = (encrypted + plain) + (encrypted - plain)
    return np.array((total * (total - encrypted)).decrypt())


public = context.copy()
public.make_context_public()
print(context.is_private(), public.is_private())
print(run(values), expected)
