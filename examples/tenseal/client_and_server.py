"""A client and a server that share bytes alone: the server has no secret key."""

from typing import Any

import numpy as np

import hemera.compat.tenseal as ts

values = np.array([1.5, -0.5, 2.0, 0.25])
matrix = np.arange(8).reshape(4, 2) / 8
expected = (values**2) @ matrix
context = ts.context(ts.SCHEME_TYPE.CKKS, 8192, -1, [60, 40, 40, 60])
context.global_scale = 2**40
context.generate_galois_keys()
server = ts.context_from(context.serialize(save_secret_key=False))


def answered(data: bytes) -> bytes:
    """What the server sends back."""
    x = ts.ckks_vector_from(server, data)
    answer: bytes = (x * x).mm(matrix.tolist()).serialize()
    return answer


def run(vector: Any) -> Any:
    """Encrypted, sent, computed, sent back and decrypted."""
    data = answered(ts.ckks_vector(context, vector.tolist()).serialize())
    lazy = ts.lazy_ckks_vector_from(data)
    lazy.link_context(context)
    return np.array(lazy.decrypt())


print(server.is_public(), np.abs(run(values) - expected).max())
